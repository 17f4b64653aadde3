//! Id of a node in the store. A process that was declared dead continues under a new one.

use std::sync::{Arc, PoisonError, RwLock};

use domain::id::NodeId;

/// The present id of this process in the store. Clones share it.
#[derive(Debug, Clone)]
pub struct Incarnation(Arc<RwLock<NodeId>>);

impl Incarnation {
    /// Creates the handle with the first id.
    pub fn new(node: NodeId) -> Self {
        Self(Arc::new(RwLock::new(node)))
    }

    /// Returns the present id.
    pub fn get(&self) -> NodeId {
        *self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the id.
    pub(super) fn set(&self, node: NodeId) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = node;
    }
}
