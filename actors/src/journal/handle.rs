//! The way to the journal: facts go into a backlog that outlives the actor, which is told to write it. So a journal
//! that crashes costs no fact.

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

/// How soon a journal that was not there, or that died before it answered, is asked again.
const ASK_AGAIN: Duration = Duration::from_millis(20);

/// Facts on their way to the store, bounded as [`Buffer`] is. Clones share it; it is kept by whoever may start the
/// journal again.
#[derive(Debug, Clone, Default)]
pub struct Backlog(Arc<Mutex<Buffer>>);

/// What the journal has yet to write.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BacklogFigures {
    /// Facts.
    pub facts: usize,
    /// What they take.
    pub bytes: usize,
    /// Facts given up since the start.
    pub dropped: u64,
}

impl Backlog {
    /// How much it holds.
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

/// Where facts are recorded, whichever actor is the journal at the moment. Clones lead to the same.
#[derive(Clone)]
pub struct Journal {
    address: Sibling<JournalMessage>,
    backlog: Backlog,
    live: broadcast::Sender<LiveFact>,
}

impl Journal {
    /// The journal at `address`, which writes `backlog`; facts are shown to those who watch `live`.
    pub fn new(address: Sibling<JournalMessage>, backlog: Backlog, live: broadcast::Sender<LiveFact>) -> Self {
        Self { address, backlog, live }
    }

    /// A journal actor with a backlog of its own, such as a test's.
    pub fn of(actor: ActorRef<JournalMessage>, live: broadcast::Sender<LiveFact>) -> Self {
        Self::new(actor.into(), Backlog::default(), live)
    }

    /// Keeps a fact. It is written in order, and also if the journal is not there now.
    pub fn record(&self, attempt: AttemptId, campaign: impl Into<Option<CampaignId>>, fact: Fact) {
        self.backlog.with(|buffer| buffer.push((attempt, fact.clone())));
        // An error only says that nobody watches.
        let _ = self.live.send(LiveFact {
            attempt,
            campaign: campaign.into(),
            fact,
        });
        // A journal that is being started again looks into the backlog by itself.
        let _ = self.address.cast(JournalMessage::Recorded);
    }

    /// Waits until everything recorded before is on disk or given up; false when that took longer than `within`.
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
