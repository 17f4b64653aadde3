//! Nodes: the processes that hold claims, how they find each other, and the data they share.

use async_trait::async_trait;

use super::{attempts::Claim, error::StoreResult};
use crate::id::{AttemptId, NodeId};

/// A node that counts as alive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveNode {
    /// Id of this run of the node's process.
    pub id: NodeId,
    /// Base URL at which other nodes reach it; none if they cannot.
    pub address: Option<String>,
}

/// The store's answer to a sign of life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pulse {
    /// Number of nodes that count as alive, including this one.
    pub nodes: usize,
    /// Milliseconds by which the store's clock is ahead of the node's, if the store has its own clock.
    pub ahead_ms: i64,
}

/// Owner of an open attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// The node.
    pub node: NodeId,
    /// Epoch of the claim.
    pub epoch: i64,
    /// Whether it counts as alive. A node that died a moment ago still does.
    pub alive: bool,
    /// Base URL at which other nodes reach it.
    pub address: Option<String>,
}

/// Nodes.
#[async_trait]
pub trait NodeStore: Send + Sync {
    /// Registers this process and its address. If a database may have one process only, every earlier one is
    /// dead from now on. If it may have several, a process is dead after a period without a sign of life.
    /// Returns `OtherTimes` while other live nodes use different timings.
    async fn register_node(&self, node: NodeId, address: Option<&str>) -> StoreResult<()>;

    /// Records a sign of life. Returns `Fenced` if this process was declared dead.
    async fn heartbeat(&self, node: NodeId) -> StoreResult<Pulse>;

    /// Signs a process off after it has stopped dialing. It counts as dead from now on, and other nodes take
    /// over what it still holds. Repeating this has no effect.
    async fn sign_off(&self, node: NodeId) -> StoreResult<()>;

    /// Returns the nodes that count as alive, the oldest first.
    async fn live_nodes(&self) -> StoreResult<Vec<LiveNode>>;

    /// Returns the owner of an attempt that is claimed or in a call; none if it waits, is over or does not exist.
    async fn owner_of(&self, attempt: AttemptId) -> StoreResult<Option<Owner>>;

    /// Returns the last owner and epoch of an attempt, even if it is over by now; none if it waits, was never
    /// held or does not exist.
    async fn last_holder(&self, attempt: AttemptId) -> StoreResult<Option<Claim>>;

    /// Returns those of the claims that no longer hold: their attempts have another owner, wait again, or are over.
    async fn lost_claims(&self, claims: &[Claim]) -> StoreResult<Vec<Claim>>;

    /// Returns the secret with which nodes prove that they belong to one installation. It is created once and
    /// the same for all.
    async fn cluster_secret(&self) -> StoreResult<String>;
}
