//! Who a node is in the store: a process that was declared dead goes on as another one.

use std::sync::{Arc, PoisonError, RwLock};

use domain::id::NodeId;

/// The present id of this process in the store. Clones share it.
#[derive(Debug, Clone)]
pub struct Incarnation(Arc<RwLock<NodeId>>);

impl Incarnation {
    /// The first one.
    pub fn new(node: NodeId) -> Self {
        Self(Arc::new(RwLock::new(node)))
    }

    /// The present one.
    pub fn get(&self) -> NodeId {
        *self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on it is this one.
    pub(super) fn set(&self, node: NodeId) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = node;
    }
}
