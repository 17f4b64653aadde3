//! The journal: one write under way, flushed within 200 ms, tried again while the store is away.

use std::{sync::Arc, time::Duration};

use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort};
use tokio::sync::broadcast;

use super::{JournalMessage, LiveFact, buffer::Buffer};
use crate::{
    node::{Backoff, TaskGuard, contained},
    ports::store::{Store, StoreError},
};

/// How long a fact waits for company; with the write it is on disk within 200 ms.
const GATHER: Duration = Duration::from_millis(100);

/// What the journal is started with.
pub struct JournalArguments {
    /// Where facts are kept.
    pub store: Arc<dyn Store>,
    /// Who watches.
    pub live: broadcast::Sender<LiveFact>,
}

/// The journal.
pub struct JournalActor;

/// Its state.
pub struct JournalState {
    store: Arc<dyn Store>,
    live: broadcast::Sender<LiveFact>,
    buffer: Buffer,
    reported: u64,
    /// Who waits until which fact is settled.
    waiting: Vec<(u64, RpcReplyPort<()>)>,
    trouble: Backoff,
    timer: Option<TaskGuard>,
}

impl Actor for JournalActor {
    type Msg = JournalMessage;
    type State = JournalState;
    type Arguments = JournalArguments;

    async fn pre_start(
        &self,
        _me: ActorRef<JournalMessage>,
        arguments: JournalArguments,
    ) -> Result<JournalState, ActorProcessingErr> {
        Ok(JournalState {
            store: arguments.store,
            live: arguments.live,
            buffer: Buffer::default(),
            reported: 0,
            waiting: Vec::new(),
            trouble: Backoff::new(Duration::from_millis(200), Duration::from_secs(5)),
            timer: None,
        })
    }

    async fn handle(
        &self,
        me: ActorRef<JournalMessage>,
        message: JournalMessage,
        state: &mut JournalState,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            JournalMessage::Record {
                attempt,
                campaign,
                fact,
            } => {
                state.buffer.push((attempt, fact.clone()));
                // An error only says that nobody watches.
                let _ = state.live.send(LiveFact {
                    attempt,
                    campaign,
                    fact,
                });
                state.schedule(&me);
            }
            JournalMessage::Flush(reply) => {
                state.waiting.push((state.buffer.end(), reply));
                state.write(&me);
            }
            JournalMessage::Tick => {
                state.timer = None;
                state.write(&me);
            }
            JournalMessage::Written(result) => state.written(&me, result),
        }
        state.report();
        state.answer();
        Ok(())
    }
}

impl JournalState {
    fn in_trouble(&self) -> bool {
        self.trouble.failures() > 0
    }

    /// Writes at once when a batch is full, else when its time is up. In trouble only the timer decides.
    fn schedule(&mut self, me: &ActorRef<JournalMessage>) {
        if self.buffer.full() && !self.in_trouble() {
            self.write(me);
        } else if self.timer.is_none() && !self.buffer.writing() {
            self.write_after(me, GATHER);
        }
    }

    fn write_after(&mut self, me: &ActorRef<JournalMessage>, wait: Duration) {
        let me = me.clone();
        self.timer = Some(TaskGuard::spawn(async move {
            tokio::time::sleep(wait).await;
            let _ = me.cast(JournalMessage::Tick);
        }));
    }

    fn write(&mut self, me: &ActorRef<JournalMessage>) {
        let Some(batch) = self.buffer.begin() else { return };
        let (me, store) = (me.clone(), Arc::clone(&self.store));
        // Not bound to this actor: what it has handed over is to be written even if it ends.
        tokio::spawn(async move {
            let result = contained(async move { store.append_facts(&batch).await }).await;
            let _ = me.cast(JournalMessage::Written(result));
        });
    }

    fn written(&mut self, me: &ActorRef<JournalMessage>, result: Result<(), StoreError>) {
        match result {
            Ok(()) => {
                self.trouble.reset();
                self.buffer.written();
                if !self.waiting.is_empty() || self.buffer.full() {
                    self.write(me);
                } else if !self.buffer.is_empty() {
                    self.write_after(me, GATHER);
                }
            }
            Err(StoreError::Unavailable(error)) => {
                self.buffer.failed();
                let wait = self.trouble.failed();
                tracing::warn!(error, "facts could not be written, trying again");
                self.write_after(me, wait);
            }
            Err(error) => {
                tracing::error!(%error, "facts were refused");
                self.buffer.refused();
                self.write(me);
            }
        }
    }

    fn report(&mut self) {
        let dropped = self.buffer.dropped();
        // One line for each power of two: a store that is away for long is not to fill the log too.
        if dropped > self.reported && (dropped.is_power_of_two() || dropped / 2 >= self.reported) {
            tracing::error!(dropped, "facts were given up");
            self.reported = dropped;
        }
    }

    fn answer(&mut self) {
        let settled = self.buffer.settled();
        for (_, reply) in self.waiting.extract_if(.., |(until, _)| *until <= settled) {
            let _ = reply.send(());
        }
    }
}
