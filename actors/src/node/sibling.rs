//! The address of an actor that may be restarted: a dead child's `ActorRef` stays dead, so siblings look it up.

use std::sync::{Arc, PoisonError, RwLock};

use ractor::{ActorRef, Message};

/// Where an actor of the tree is reached now. Clones share the address.
pub struct Sibling<M>(Arc<RwLock<Option<ActorRef<M>>>>);

impl<M> Clone for Sibling<M> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<M> Default for Sibling<M> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<M> From<ActorRef<M>> for Sibling<M> {
    fn from(actor: ActorRef<M>) -> Self {
        Self(Arc::new(RwLock::new(Some(actor))))
    }
}

impl<M: Message> Sibling<M> {
    /// Makes `actor` the one that is reached from now on.
    pub fn set(&self, actor: ActorRef<M>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Some(actor);
    }

    /// The present actor; none before its first start.
    pub fn get(&self) -> Option<ActorRef<M>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Sends a message; gives it back when nobody is there to take it.
    pub fn cast(&self, message: M) -> Result<(), Option<M>> {
        let Some(actor) = self.get() else {
            return Err(Some(message));
        };
        actor.cast(message).map_err(undelivered)
    }
}

/// The message out of a failed send.
pub fn undelivered<M>(error: ractor::MessagingErr<M>) -> Option<M> {
    match error {
        ractor::MessagingErr::SendErr(message) => Some(message),
        _ => None,
    }
}
