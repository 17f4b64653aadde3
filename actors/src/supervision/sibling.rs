//! The address of an actor that may be restarted: a dead child's `ActorRef` stays dead, so siblings look it up.

use std::{
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use ractor::{ActorRef, Message, RpcReplyPort};
use tokio::{
    sync::oneshot,
    time::{Instant, sleep, timeout_at},
};

/// How long a question waits for an actor that is not there: the first restarts of a minute take less.
const RESTART: Duration = Duration::from_millis(500);

/// How often it looks for it.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

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

    /// Asks a question; none when there is no answer within the time. One that finds nobody waits for the actor's
    /// restart; one that was taken and not answered is not asked again, as nobody knows what became of it.
    pub async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(RpcReplyPort<T>) -> M,
        within: Duration,
    ) -> Option<T> {
        let now = Instant::now();
        let (limit, restarted) = (now + within, now + RESTART.min(within));
        let (reply, answer) = oneshot::channel();
        let mut message = question(reply.into());
        while let Err(back) = self.cast(message) {
            message = back?;
            if Instant::now() >= restarted {
                return None;
            }
            sleep(LOOK_AGAIN).await;
        }
        timeout_at(limit, answer).await.ok()?.ok()
    }
}

/// The message out of a failed send.
pub fn undelivered<M>(error: ractor::MessagingErr<M>) -> Option<M> {
    match error {
        ractor::MessagingErr::SendErr(message) => Some(message),
        _ => None,
    }
}
