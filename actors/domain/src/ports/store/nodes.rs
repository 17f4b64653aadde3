//! Nodes: the processes that hold claims, how they know of each other, and what they share.

use async_trait::async_trait;

use super::{Claim, StoreResult};
use crate::id::{AttemptId, NodeId};

/// A node that counts as alive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveNode {
    /// This start of its process.
    pub id: NodeId,
    /// The base URL at which the others reach it; none where they cannot.
    pub address: Option<String>,
}

/// What a node hears at a sign of life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pulse {
    /// How many count as alive, itself among them.
    pub nodes: usize,
    /// How many milliseconds the store's clock is ahead of the node's, where it has one of its own.
    pub ahead_ms: i64,
}

/// Who holds an open attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// The node.
    pub node: NodeId,
    /// Since which change of owner.
    pub epoch: i64,
    /// Whether it counts as alive. One that died a moment ago still does.
    pub alive: bool,
    /// The base URL at which the others reach it.
    pub address: Option<String>,
}

/// Nodes.
#[async_trait]
pub trait NodeStore: Send + Sync {
    /// Registers this process, and where the others reach it. Where a database has one process every earlier one is
    /// dead from now on; where it may have several, one is dead that gave no sign of life for a while, and `OtherTimes`
    /// is the answer while others live by other times than this process.
    async fn register_node(&self, node: NodeId, address: Option<&str>) -> StoreResult<()>;

    /// Sign of life. `Fenced` when this process was declared dead.
    async fn heartbeat(&self, node: NodeId) -> StoreResult<Pulse>;

    /// The last word of a process that has stopped dialing: it counts as dead from now on, and what it still holds goes to
    /// others. Said again, it changes nothing.
    async fn sign_off(&self, node: NodeId) -> StoreResult<()>;

    /// Those that count as alive, the oldest first.
    async fn live_nodes(&self) -> StoreResult<Vec<LiveNode>>;

    /// Who holds an attempt that is claimed or in a call; none for one that waits, is over or is not there.
    async fn owner_of(&self, attempt: AttemptId) -> StoreResult<Option<Owner>>;

    /// Who held an attempt last, and since which change of owner, also where it is over by now; none for one that waits, that
    /// nobody held yet, or that is not there.
    async fn last_holder(&self, attempt: AttemptId) -> StoreResult<Option<Claim>>;

    /// Those of the claims that do not hold any more: their attempts have another owner, wait again, or are over.
    async fn lost_claims(&self, claims: &[Claim]) -> StoreResult<Vec<Claim>>;

    /// What the nodes prove to each other that they are of one installation: made once, the same for all of them.
    async fn cluster_secret(&self) -> StoreResult<String>;
}
