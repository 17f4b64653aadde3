//! Reports of an actor to one above it, which it does not know.

use std::sync::Arc;

use ractor::{ActorRef, Message};

/// Where an actor reports. Clones lead to the same actor.
pub struct Reports<R>(Arc<dyn Fn(R) -> bool + Send + Sync>);

impl<R> Clone for Reports<R> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<R> Reports<R> {
    /// Reports become messages of `actor`.
    pub fn to<M: Message>(actor: &ActorRef<M>, message: impl Fn(R) -> M + Send + Sync + 'static) -> Self {
        let actor = actor.clone();
        Self(Arc::new(move |report| actor.cast(message(report)).is_ok()))
    }

    /// Sends a report. False when nobody is there to take it.
    pub fn send(&self, report: R) -> bool {
        (self.0)(report)
    }
}
