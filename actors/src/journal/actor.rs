//! The journal: one write under way, flushed within 200 ms, tried again while the store is away. What is to be written
//! lies outside the actor; a new one goes on where a crashed one was.

use std::{sync::Arc, time::Duration};

use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort};

use super::{
    Backlog, JournalMessage,
    buffer::{Buffer, KEPT_BYTES},
};
use crate::supervision::{Backoff, TaskGuard, contained};
use domain::ports::store::{Store, StoreError, StoreResult};

/// How long a fact waits for company; with the write it is on disk within 200 ms.
const GATHER: Duration = Duration::from_millis(100);

/// What the journal is started with.
pub struct JournalArguments {
    /// Where facts are kept.
    pub store: Arc<dyn Store>,
    /// What waits to be written; outlives a crash of this actor.
    pub backlog: Backlog,
}

/// The journal.
pub struct JournalActor;

/// Its state.
pub struct JournalState {
    store: Arc<dyn Store>,
    backlog: Backlog,
    reported: u64,
    /// It was said that more than half of the room is taken.
    alarmed: bool,
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
        me: ActorRef<JournalMessage>,
        arguments: JournalArguments,
    ) -> Result<JournalState, ActorProcessingErr> {
        let mut state = JournalState {
            store: arguments.store,
            backlog: arguments.backlog,
            reported: 0,
            alarmed: false,
            waiting: Vec::new(),
            trouble: Backoff::new(Duration::from_millis(200), Duration::from_secs(2)),
            timer: None,
        };
        // A journal that crashed may have left facts.
        state.go_on(&me);
        Ok(state)
    }

    async fn handle(
        &self,
        me: ActorRef<JournalMessage>,
        message: JournalMessage,
        state: &mut JournalState,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            JournalMessage::Recorded => state.go_on(&me),
            JournalMessage::Flush(reply) => {
                state.waiting.push((state.backlog.with(|buffer| buffer.end()), reply));
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
    fn go_on(&mut self, me: &ActorRef<JournalMessage>) {
        let (full, writing, empty) = self.backlog.with(|b| (b.full(), b.writing(), b.is_empty()));
        if full && !writing && !self.in_trouble() {
            self.write(me);
        } else if !empty && self.timer.is_none() {
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
        let Some(batch) = self.backlog.with(Buffer::begin) else {
            // Its own write says when it is over; the one that a crashed journal began is looked after by the timer.
            self.go_on(me);
            return;
        };
        let (me, store, backlog) = (me.clone(), Arc::clone(&self.store), self.backlog.clone());
        // Not bound to this actor: what it has handed over is written and taken off the backlog even if it ends.
        tokio::spawn(async move {
            let result = contained(async move { store.append_facts(&batch).await }).await;
            settle(&backlog, &result);
            let _ = me.cast(JournalMessage::Written(result));
        });
    }

    fn written(&mut self, me: &ActorRef<JournalMessage>, result: StoreResult<()>) {
        match result {
            Ok(()) => {
                self.trouble.reset();
                if self.waiting.is_empty() {
                    self.go_on(me);
                } else {
                    self.write(me);
                }
            }
            Err(StoreError::Unavailable(error)) => {
                let wait = self.trouble.failed();
                tracing::warn!(error, "facts could not be written, trying again");
                self.write_after(me, wait);
            }
            Err(error) => {
                tracing::error!(%error, "facts were refused");
                self.write(me);
            }
        }
    }

    fn report(&mut self) {
        let ((facts, bytes), dropped) = self.backlog.with(|buffer| (buffer.held(), buffer.dropped()));
        let filling = bytes > KEPT_BYTES / 2;
        if filling && !self.alarmed {
            tracing::error!(facts, bytes, "facts pile up in memory: the store does not take them");
        }
        self.alarmed = filling;
        // One line for each power of two: a store that is away for long is not to fill the log too.
        if dropped > self.reported && (dropped.is_power_of_two() || dropped / 2 >= self.reported) {
            tracing::error!(dropped, "facts were given up");
            self.reported = dropped;
        }
    }

    fn answer(&mut self) {
        let settled = self.backlog.with(|buffer| buffer.settled());
        for (_, reply) in self.waiting.extract_if(.., |(until, _)| *until <= settled) {
            let _ = reply.send(());
        }
    }
}

/// What became of the batch under way.
fn settle(backlog: &Backlog, result: &StoreResult<()>) {
    backlog.with(|buffer| match result {
        Ok(()) => buffer.written(),
        Err(StoreError::Unavailable(_)) => buffer.failed(),
        Err(_) => buffer.refused(),
    });
}
