//! Nodes, and the secret they share.

use async_trait::async_trait;

use super::MemoryStore;
use crate::{
    dial_token::DialToken,
    id::{AttemptId, NodeId},
    ports::store::{AttemptState, LiveNode, NodeStore, Owner, StoreError, StoreResult},
};

/// Those that were registered, in their order.
#[derive(Default)]
pub(super) struct Nodes {
    entries: Vec<Entry>,
    secret: Option<String>,
}

struct Entry {
    id: NodeId,
    lives: bool,
    address: Option<String>,
}

impl Nodes {
    pub(super) fn lives(&self, node: NodeId) -> bool {
        self.entry(node).is_some_and(|entry| entry.lives)
    }

    /// The one that was registered last.
    pub(super) fn last(&self) -> Option<NodeId> {
        self.entries.last().map(|entry| entry.id)
    }

    fn entry(&self, node: NodeId) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.id == node)
    }
}

#[async_trait]
impl NodeStore for MemoryStore {
    async fn register_node(&self, node: NodeId, address: Option<&str>) -> StoreResult<()> {
        let nodes = &mut self.open()?.nodes;
        nodes.entries.retain(|entry| entry.id != node);
        nodes.entries.iter_mut().for_each(|entry| entry.lives = false);
        nodes.entries.push(Entry {
            id: node,
            lives: true,
            address: address.map(str::to_owned),
        });
        Ok(())
    }

    async fn heartbeat(&self, node: NodeId) -> StoreResult<()> {
        match self.open()?.nodes.lives(node) {
            true => Ok(()),
            false => Err(StoreError::Fenced),
        }
    }

    async fn live_nodes(&self) -> StoreResult<Vec<LiveNode>> {
        let tables = self.open()?;
        let live = tables.nodes.entries.iter().filter(|entry| entry.lives);
        let live = live.map(|entry| LiveNode {
            id: entry.id,
            address: entry.address.clone(),
        });
        Ok(live.collect())
    }

    async fn owner_of(&self, attempt: AttemptId) -> StoreResult<Option<Owner>> {
        let tables = self.open()?;
        let Some(entry) = tables.attempts.get(&attempt) else {
            return Ok(None);
        };
        if entry.state != AttemptState::Claimed && !entry.is_sent() {
            return Ok(None);
        }
        Ok(entry.owner.map(|node| Owner {
            node,
            epoch: entry.epoch,
            alive: tables.nodes.lives(node),
            address: tables.nodes.entry(node).and_then(|entry| entry.address.clone()),
        }))
    }

    async fn cluster_secret(&self) -> StoreResult<String> {
        let secret = &mut self.open()?.nodes.secret;
        Ok(secret
            .get_or_insert_with(|| DialToken::random().as_stored().to_owned())
            .clone())
    }
}
