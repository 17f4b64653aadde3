//! Writes a call's decisions in order. Each is tried until the database takes it, and the outcome is the last.

use std::{collections::BTreeMap, panic::AssertUnwindSafe, time::Duration};

use futures_util::FutureExt;
use ractor::ActorRef;
use tokio::{
    sync::mpsc::{self, error::TrySendError},
    task::JoinHandle,
};

use crate::call::{message::CallMessage, outcome::Ending, state::Event};
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

/// First pause between tries.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
/// Longest pause between tries. A line is free again only when its call's outcome is on disk, so this must
/// not be long after the database is back.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// Number of tries: about 15 minutes. An attempt that is given up is found by the next process that recovers
/// orphaned attempts.
const TRIES: u32 = 450;

/// Queue capacity, more than a call has to write: its leg, its answer, a lost dial, an opt-out, the collected
/// values, and the end.
const MOST_WRITES: usize = 16;
/// Free places below which collected values are not written, since the outcome contains them too.
const LEAVES_ROOM: usize = 8;

/// Time the journal has to write the last facts to disk before the outcome is written.
const FLUSH_WITHIN: Duration = Duration::from_secs(2);

/// A write of the call.
pub(super) enum Write {
    /// The leg's id.
    Dialed(CarrierCallId),
    /// The time of the answer.
    Answered(Timestamp),
    /// The outcome of the dial is not known.
    Unknown,
    /// The values collected so far.
    Collected(BTreeMap<String, String>),
    /// This account must not call the callee again.
    OptOut(AccountId, PhoneNumber),
    /// The end; nothing follows.
    Finish {
        /// The ending to write.
        ending: Ending,
        /// Time at which the call was over.
        ended_at: Timestamp,
        /// The callee's call-back wish, written with the outcome.
        call_back: Option<CallBackWish>,
        /// Hang-ups to wait for.
        hang_ups: Vec<JoinHandle<()>>,
    },
}

/// Queue to the writer.
pub(super) struct Writes(mpsc::Sender<Write>);

impl Writes {
    /// Queues a write.
    pub(super) fn push(&self, write: Write) {
        if matches!(write, Write::Collected(_)) && self.0.capacity() <= LEAVES_ROOM {
            return;
        }
        match self.0.try_send(write) {
            Ok(()) => {}
            // The writer ends only after the outcome or a lost claim. Nothing must be written then.
            Err(TrySendError::Closed(_)) => {}
            Err(TrySendError::Full(_)) => tracing::error!("write dropped: call's write queue is full"),
        }
    }
}

/// Creates a queue to a writer.
pub(super) fn writes() -> (Writes, mpsc::Receiver<Write>) {
    let (sender, receiver) = mpsc::channel(MOST_WRITES);
    (Writes(sender), receiver)
}

/// Data and ports of the writer.
pub(super) struct Writer {
    pub(super) ports: Ports,
    pub(super) carrier: &'static str,
    pub(super) ended: Ended,
    /// The call's times as far as the writer knows them; written again with the outcome.
    pub(super) times: CallTimes,
    pub(super) journal: Journal,
    pub(super) me: ActorRef<CallMessage>,
}

impl Writer {
    /// Writes until the outcome is stored or the claim is lost, then sends `Finished`. If it panics, the Call
    /// stops, and Lines settles it.
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

    /// Handles a leg or an attempt that is already bound otherwise. The first binding holds. Either the
    /// attempt has another leg, and this one is a second, or the leg belongs to another attempt, whose call
    /// goes on. In doubt it is not hung up.
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
            // Collected values are not worth a wait: the next value or the outcome brings them.
            Write::Collected(collected) => match self.ports.store.keep_collected(self.ended.claim, collected).await {
                Err(StoreError::Unavailable(_)) => Ok(()),
                kept => kept,
            },
            Write::Unknown => self.insist(|| self.ports.store.unknown(self.ended.claim)).await,
            Write::OptOut(account, number) => {
                let call = self.ended.claim.attempt;
                self.insist(|| self.ports.store.opt_out(account, &number, call)).await
            }
            Write::Finish { ending, hang_ups, .. } => {
                let result = self.finish(ending).await;
                for hang_up in hang_ups {
                    // The task logs its own failure.
                    let _ = hang_up.await;
                }
                result
            }
        }
    }

    async fn finish(&self, ending: Ending) -> StoreResult<()> {
        match ending {
            Ending::Outcome(outcome) => {
                // Facts are less important than the outcome, so a journal that does not answer is not waited for.
                let facts_follow = !self.journal.flush(FLUSH_WITHIN).await;
                if facts_follow {
                    tracing::warn!(attempt = %self.ended.claim.attempt, "journal flush timed out, writing outcome first");
                }
                let outcome = Outcome {
                    times: self.times,
                    facts_follow,
                    ..outcome
                };
                self.insist(|| finish(&self.ports, &self.ended, &outcome)).await
            }
            Ending::NotSent { delay_ms, why } => {
                // A campaign itself tells what keeps its calls from being placed.
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
