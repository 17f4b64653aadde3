//! The journal: one write at a time, flushed within 200 ms, retried while the store is unavailable. The
//! waiting facts are stored outside the actor, so that a new actor continues where a crashed one stopped.

use std::{sync::Arc, time::Duration};

use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort};

use super::{
    Backlog, JournalMessage,
    buffer::{Buffer, KEPT_BYTES},
};
use crate::supervision::{Backoff, TaskGuard, contained};
use domain::ports::store::{Store, StoreError, StoreResult};

/// Time a fact waits for further facts. With the write it is on disk within 200 ms.
const GATHER: Duration = Duration::from_millis(100);

/// Arguments with which the journal starts.
pub struct JournalArguments {
    /// Store that keeps the facts.
    pub store: Arc<dyn Store>,
    /// Facts to be written. It outlives a crash of this actor.
    pub backlog: Backlog,
}

/// The journal.
pub struct JournalActor;

/// State of the actor.
pub struct JournalState {
    store: Arc<dyn Store>,
    backlog: Backlog,
    reported: u64,
    /// Whether an alarm was logged because more than half of the room is taken.
    alarmed: bool,
    /// Requests that wait until the fact with this number is settled.
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

    /// Writes at once if a batch is full, else when its time is up. While the store fails, only the timer decides.
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
            // The end of the actor's own write is reported. A write that a crashed journal began is watched
            // by the timer.
            self.go_on(me);
            return;
        };
        let (me, store, backlog) = (me.clone(), Arc::clone(&self.store), self.backlog.clone());
        // Not bound to this actor: a batch is written and removed from the backlog even if the actor ends.
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
                tracing::warn!(error, "writing facts failed, trying again");
                self.write_after(me, wait);
            }
            Err(error) => {
                tracing::error!(%error, "facts refused");
                self.write(me);
            }
        }
    }

    fn report(&mut self) {
        let ((facts, bytes), dropped) = self.backlog.with(|buffer| (buffer.held(), buffer.dropped()));
        let filling = bytes > KEPT_BYTES / 2;
        if filling && !self.alarmed {
            tracing::error!(facts, bytes, "journal backlog more than half full");
        }
        self.alarmed = filling;
        // Logged once for each power of two, so that a long outage of the store does not fill the log too.
        if dropped > self.reported && (dropped.is_power_of_two() || dropped / 2 >= self.reported) {
            tracing::error!(dropped, "facts dropped");
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

/// Settles the batch in progress according to the result.
fn settle(backlog: &Backlog, result: &StoreResult<()>) {
    backlog.with(|buffer| match result {
        Ok(()) => buffer.written(),
        Err(StoreError::Unavailable(_)) => buffer.failed(),
        Err(_) => buffer.refused(),
    });
}
