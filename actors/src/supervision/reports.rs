//! Reports of an actor to an actor above it, whose type it does not know.

use std::sync::Arc;

use ractor::{ActorRef, Message};

/// Receiver of an actor's reports. Clones lead to the same actor.
pub struct Reports<R>(Arc<dyn Fn(R) -> bool + Send + Sync>);

impl<R> Clone for Reports<R> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<R> Reports<R> {
    /// Creates a receiver that turns reports into messages of `actor`.
    pub fn to<M: Message>(actor: &ActorRef<M>, message: impl Fn(R) -> M + Send + Sync + 'static) -> Self {
        let actor = actor.clone();
        Self(Arc::new(move |report| actor.cast(message(report)).is_ok()))
    }

    /// Sends a report. Returns false if the receiver is gone.
    pub fn send(&self, report: R) -> bool {
        (self.0)(report)
    }
}
