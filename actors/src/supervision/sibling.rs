//! Address of an actor that may be restarted. A dead child's `ActorRef` stays dead, so siblings look the
//! present one up.

use std::{
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use ractor::{ActorRef, Message, RpcReplyPort};
use tokio::{
    sync::oneshot,
    time::{Instant, sleep, timeout_at},
};

/// Time a question waits for an actor that is down. The first restarts of a minute take less.
const RESTART: Duration = Duration::from_millis(500);

/// Interval at which the restarted actor is looked up.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// Address of the present actor. Clones share it.
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
    /// Sets the present actor.
    pub fn set(&self, actor: ActorRef<M>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Some(actor);
    }

    /// Returns the present actor, or `None` before its first start.
    pub fn get(&self) -> Option<ActorRef<M>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Sends a message. Returns the message if the actor is gone.
    pub fn cast(&self, message: M) -> Result<(), Option<M>> {
        let Some(actor) = self.get() else {
            return Err(Some(message));
        };
        actor.cast(message).map_err(undelivered)
    }

    /// Asks a question. Returns `None` if there is no answer in time. A question that finds no actor waits
    /// for the restart. A question that was taken and not answered is not repeated, since its effect is
    /// unknown.
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

/// Returns the message of a failed send.
pub fn undelivered<M>(error: ractor::MessagingErr<M>) -> Option<M> {
    match error {
        ractor::MessagingErr::SendErr(message) => Some(message),
        _ => None,
    }
}
