//! Order of the texts to calls that are held in text.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use domain::id::AttemptId;

/// Maximum texts of a call that wait or are being answered.
pub const MOST_TEXTS: usize = 16;

/// Texts of the calls of this node. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct TextQueues(Arc<Mutex<HashMap<AttemptId, Weak<tokio::sync::Mutex<()>>>>>);

impl TextQueues {
    /// Returns the lock of a call's texts, which a text holds while it is answered. It is given to the waiting texts in
    /// their order. Returns none if too many wait.
    pub fn lock_of(&self, call: AttemptId) -> Option<Arc<tokio::sync::Mutex<()>>> {
        let mut queues = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        queues.retain(|_, queue| queue.strong_count() > 0);
        let queue = queues.get(&call).and_then(Weak::upgrade).unwrap_or_default();
        queues.insert(call, Arc::downgrade(&queue));
        // Each text has one reference, waiting or not; this one is counted too.
        (Arc::strong_count(&queue) <= MOST_TEXTS).then_some(queue)
    }
}
