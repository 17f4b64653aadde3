//! The call's timers. There is one of each kind at a time, each setting has its own generation, and dropping stops all.

use std::{collections::HashMap, time::Duration};

use ractor::ActorRef;
use tokio::task::AbortHandle;

use crate::call::message::{CallMessage, CallTimer};

/// Running timers.
#[derive(Default)]
pub(super) struct Timers {
    running: HashMap<CallTimer, (u64, AbortHandle)>,
    generation: u64,
}

impl Timers {
    /// Starts or restarts a timer.
    pub(super) fn set(&mut self, timer: CallTimer, after_ms: u64, me: &ActorRef<CallMessage>) {
        self.cancel(timer);
        self.generation += 1;
        let generation = self.generation;
        let me = me.clone();
        let task = tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(after_ms)).await;
            // The call may be over by then.
            let _ = me.cast(CallMessage::Timer { generation, timer });
        });
        self.running.insert(timer, (generation, task.abort_handle()));
    }

    /// Stops a timer.
    pub(super) fn cancel(&mut self, timer: CallTimer) {
        if let Some((_, task)) = self.running.remove(&timer) {
            task.abort();
        }
    }

    /// Returns whether this firing belongs to the present setting, and clears that setting.
    pub(super) fn fired(&mut self, timer: CallTimer, generation: u64) -> bool {
        let present = self.running.get(&timer).is_some_and(|(known, _)| *known == generation);
        if present {
            self.running.remove(&timer);
        }
        present
    }
}

impl Drop for Timers {
    fn drop(&mut self) {
        for (_, task) in self.running.values() {
            task.abort();
        }
    }
}
