//! Writes a call's decisions, one after the other, each tried until the database takes it. The outcome is the last.

use std::{collections::BTreeMap, panic::AssertUnwindSafe, time::Duration};

use futures_util::FutureExt;
use ractor::ActorRef;
use tokio::{
    sync::mpsc::{self, error::TrySendError},
    task::JoinHandle,
};

use super::{CallMessage, Event, outcome::Ending};
use crate::{
    attempt::{Ended, finish},
    journal::Journal,
};
use domain::{
    id::AccountId,
    phone_number::PhoneNumber,
    ports::{
        Ports,
        carrier::CarrierCallId,
        store::{CallTimes, Outcome, StoreError, StoreResult},
    },
    retry::CallBackWish,
    time::Timestamp,
};

/// First and longest pause between tries.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
/// A line is free again only when its call's outcome is on disk: it must not be long after the database is back.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// About a quarter of an hour; an attempt given up on is found by the next process that takes orphans.
const TRIES: u32 = 450;

/// More than a call has to write: its leg, its answer, a lost dial, an opt-out, what it collects, and the end.
const MOST_WRITES: usize = 16;
/// What is collected stands in the outcome, too: as long as so much waits, it is not written before.
const LEAVES_ROOM: usize = 8;

/// How long the journal has to bring the last facts to disk before the outcome is written.
const FLUSH_WITHIN: Duration = Duration::from_secs(2);

/// Something to write.
pub(super) enum Write {
    /// The leg's id.
    Dialed(CarrierCallId),
    /// It was answered, and when.
    Answered(Timestamp),
    /// The dial's fate is not known.
    Unknown,
    /// What was collected so far.
    Collected(BTreeMap<String, String>),
    /// The callee is not to be called again by this account.
    OptOut(AccountId, PhoneNumber),
    /// The end; nothing follows.
    Finish {
        /// What to write.
        ending: Ending,
        /// When the call was over.
        ended_at: Timestamp,
        /// What the callee asked for; it is written with the outcome.
        call_back: Option<CallBackWish>,
        /// Hang-ups to wait for.
        hang_ups: Vec<JoinHandle<()>>,
    },
}

/// The way to the writer.
pub(super) struct Writes(mpsc::Sender<Write>);

impl Writes {
    /// Hands it to the writer.
    pub(super) fn push(&self, write: Write) {
        if matches!(write, Write::Collected(_)) && self.0.capacity() <= LEAVES_ROOM {
            return;
        }
        match self.0.try_send(write) {
            Ok(()) => {}
            // The writer ends only after the outcome or a lost claim; nothing is to be written then.
            Err(TrySendError::Closed(_)) => {}
            Err(TrySendError::Full(_)) => tracing::error!("a call writes more than a call has to write"),
        }
    }
}

/// A way to a writer.
pub(super) fn writes() -> (Writes, mpsc::Receiver<Write>) {
    let (sender, receiver) = mpsc::channel(MOST_WRITES);
    (Writes(sender), receiver)
}

/// What the writer needs.
pub(super) struct Writer {
    pub(super) ports: Ports,
    pub(super) carrier: &'static str,
    pub(super) ended: Ended,
    /// What it knows of the call's times; written again with the outcome.
    pub(super) times: CallTimes,
    pub(super) journal: Journal,
    pub(super) me: ActorRef<CallMessage>,
}

impl Writer {
    /// Runs until the end was written or the claim is lost, then sends `Finished`. A crash stops the call: whoever
    /// started it settles what it left.
    pub(super) async fn run(self, writes: mpsc::Receiver<Write>) {
        let me = self.me.clone();
        if AssertUnwindSafe(self.write_all(writes)).catch_unwind().await.is_err() {
            me.stop(Some("the call's writer crashed".to_owned()));
        }
    }

    async fn write_all(mut self, mut writes: mpsc::Receiver<Write>) {
        while let Some(write) = writes.recv().await {
            let mut leg = None;
            match &write {
                Write::Dialed(id) => leg = Some(id.clone()),
                Write::Answered(at) => self.times.answered_at = Some(*at),
                Write::Finish {
                    call_back, ended_at, ..
                } => {
                    self.ended.call_back = *call_back;
                    self.times.ended_at = Some(*ended_at);
                }
                _ => {}
            }
            let last = matches!(write, Write::Finish { .. });
            let result = self.perform(write).await;
            if last || result == Err(StoreError::Fenced) {
                // The call may have been stopped from above meanwhile.
                let _ = self.me.cast(CallMessage::Finished(result));
                return;
            }
            if let (Err(StoreError::Exists(_)), Some(leg)) = (&result, leg) {
                self.not_ours(&leg).await;
            }
            if let Err(error) = result {
                tracing::error!(attempt = %self.ended.claim.attempt, %error, "call fact not written");
            }
        }
    }

    /// The first binding holds: the attempt has another leg, which makes this one a second, or the leg has another attempt,
    /// whose call goes on. When in doubt it is not hung up.
    async fn not_ours(&self, leg: &CarrierCallId) {
        let holder = self
            .insist(|| self.ports.store.attempt_of_call(self.carrier, leg))
            .await;
        let anothers = !matches!(holder, Ok(None));
        let _ = self.me.cast(CallMessage::Happened(Event::NotOurLeg { anothers }));
    }

    async fn perform(&self, write: Write) -> StoreResult<()> {
        match write {
            Write::Dialed(id) => self.insist(|| self.ports.store.dialed(self.ended.claim, &id)).await,
            Write::Answered(at) => self.insist(|| self.ports.store.answered(self.ended.claim, at)).await,
            // Not worth a wait: the next value brings it, or the outcome.
            Write::Collected(collected) => match self.ports.store.keep_collected(self.ended.claim, collected).await {
                Err(StoreError::Unavailable(_)) => Ok(()),
                kept => kept,
            },
            Write::Unknown => self.insist(|| self.ports.store.unknown(self.ended.claim)).await,
            Write::OptOut(account, number) => {
                let list = || async { self.ports.store.add_do_not_call(account, &number).await.map(drop) };
                self.insist(list).await
            }
            Write::Finish { ending, hang_ups, .. } => {
                let result = self.finish(ending).await;
                for hang_up in hang_ups {
                    // It logs its own failure.
                    let _ = hang_up.await;
                }
                result
            }
        }
    }

    async fn finish(&self, ending: Ending) -> StoreResult<()> {
        match ending {
            Ending::Outcome(outcome) => {
                // Facts are never worth more than the outcome: a journal that does not answer is not waited for.
                let facts_follow = !self.journal.flush(FLUSH_WITHIN).await;
                if facts_follow {
                    tracing::warn!(attempt = %self.ended.claim.attempt, "outcome is written before the last facts");
                }
                let outcome = Outcome {
                    times: self.times,
                    facts_follow,
                    ..outcome
                };
                self.insist(|| finish(&self.ports, &self.ended, &outcome)).await
            }
            Ending::NotSent { delay_ms, why } => {
                // A campaign says by itself what keeps its calls from being placed.
                let why = why.filter(|_| self.ended.campaign.is_none());
                self.insist(|| self.ports.store.not_sent(self.ended.claim, delay_ms, why.clone()))
                    .await
            }
            Ending::Written(_) | Ending::Nothing => Ok(()),
        }
    }

    async fn insist<T, F, Fut>(&self, mut write: F) -> StoreResult<T>
    where
        F: FnMut() -> Fut,
        Fut: Future<Output = StoreResult<T>>,
    {
        let mut pause = FIRST_PAUSE;
        let mut result = write().await;
        for _ in 1..TRIES {
            if !matches!(result, Err(StoreError::Unavailable(_))) {
                break;
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
            result = write().await;
        }
        result
    }
}
