//! The single timer of an audio stream. An earlier deadline is set at once, a later one lazily: a timer that
//! fires too soon costs less than resetting it with every frame.

use std::time::Duration;

use ractor::ActorRef;
use tokio::{task::AbortHandle, time::Instant};

use super::StreamMessage;

/// The timer. Dropping it stops it.
pub(super) struct Deadline {
    started: Instant,
    me: ActorRef<StreamMessage>,
    generation: u64,
    armed: Option<(u64, AbortHandle)>,
}

impl Deadline {
    /// Creates a timer whose milliseconds count from `started`.
    pub(super) fn new(started: Instant, me: ActorRef<StreamMessage>) -> Self {
        Self {
            started,
            me,
            generation: 0,
            armed: None,
        }
    }

    /// Ensures that the actor is woken at `at_ms` or earlier.
    pub(super) fn arm(&mut self, at_ms: Option<u64>) {
        let Some(at_ms) = at_ms else { return };
        if self.armed.as_ref().is_some_and(|(armed_ms, _)| *armed_ms <= at_ms) {
            return;
        }
        self.disarm();
        self.generation += 1;
        let (me, generation) = (self.me.clone(), self.generation);
        let until = self.started + Duration::from_millis(at_ms);
        let task = tokio::spawn(async move {
            tokio::time::sleep_until(until).await;
            // The actor may be gone.
            let _ = me.cast(StreamMessage::Deadline { generation });
        });
        self.armed = Some((at_ms, task.abort_handle()));
    }

    /// Returns whether this firing belongs to the latest setting of the timer, and clears that setting.
    pub(super) fn fired(&mut self, generation: u64) -> bool {
        let current = generation == self.generation;
        if current {
            self.armed = None;
        }
        current
    }

    fn disarm(&mut self) {
        if let Some((_, task)) = self.armed.take() {
            task.abort();
        }
    }
}

impl Drop for Deadline {
    fn drop(&mut self) {
        self.disarm();
    }
}
