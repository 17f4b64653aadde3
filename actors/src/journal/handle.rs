//! Handle to the journal. It adds facts to a backlog that outlives the actor, and then wakes the actor to write
//! them. A journal that crashes therefore loses no fact.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use ractor::{ActorRef, rpc::CallResult};
use tokio::{
    sync::broadcast,
    time::{Instant, sleep, timeout_at},
};

use super::{JournalMessage, LiveFact, buffer::Buffer};
use crate::supervision::Sibling;
use domain::{
    id::{AttemptId, CampaignId},
    ports::store::Fact,
};

/// Pause before a journal that was gone, or that died before it answered, is asked again.
const ASK_AGAIN: Duration = Duration::from_millis(20);

/// Facts on their way to the store, bounded like [`Buffer`]. Clones share it; the journal's supervisor keeps one.
#[derive(Debug, Clone, Default)]
pub struct Backlog(Arc<Mutex<Buffer>>);

/// Amount of data that the journal has yet to write.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BacklogFigures {
    /// Number of facts.
    pub facts: usize,
    /// Size of the facts in bytes.
    pub bytes: usize,
    /// Number of facts dropped since the start.
    pub dropped: u64,
}

impl Backlog {
    /// Returns the amount of data it holds.
    pub fn figures(&self) -> BacklogFigures {
        self.with(|buffer| {
            let (facts, bytes) = buffer.held();
            BacklogFigures {
                facts,
                bytes,
                dropped: buffer.dropped(),
            }
        })
    }

    pub(super) fn with<T>(&self, work: impl FnOnce(&mut Buffer) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Handle to record facts with the current journal actor. Clones share it.
#[derive(Clone)]
pub struct Journal {
    address: Sibling<JournalMessage>,
    backlog: Backlog,
    live: broadcast::Sender<LiveFact>,
}

impl Journal {
    /// Creates a handle to the journal at `address`, which writes `backlog`. Facts are also sent to the
    /// receivers of `live`.
    pub fn new(address: Sibling<JournalMessage>, backlog: Backlog, live: broadcast::Sender<LiveFact>) -> Self {
        Self { address, backlog, live }
    }

    /// Creates a handle to a journal actor with a backlog of its own, for tests.
    pub fn of(actor: ActorRef<JournalMessage>, live: broadcast::Sender<LiveFact>) -> Self {
        Self::new(actor.into(), Backlog::default(), live)
    }

    /// Records a fact. It is written in order, even if the journal is down now.
    pub fn record(&self, attempt: AttemptId, campaign: impl Into<Option<CampaignId>>, fact: Fact) {
        self.backlog.with(|buffer| buffer.push((attempt, fact.clone())));
        // An error only means that there is no receiver.
        let _ = self.live.send(LiveFact {
            attempt,
            campaign: campaign.into(),
            fact,
        });
        // A restarting journal looks into the backlog by itself.
        let _ = self.address.cast(JournalMessage::Recorded);
    }

    /// Waits until everything recorded before is on disk or dropped. Returns false if that took longer than `within`.
    pub async fn flush(&self, within: Duration) -> bool {
        let until = Instant::now() + within;
        while Instant::now() < until {
            if let Some(actor) = self.address.get()
                && let Ok(Ok(CallResult::Success(()))) =
                    timeout_at(until, actor.call(JournalMessage::Flush, None)).await
            {
                return true;
            }
            sleep(ASK_AGAIN).await;
        }
        false
    }
}
