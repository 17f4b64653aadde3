//! Nodes, and the secret they share.

use std::time::Duration;

use async_trait::async_trait;

use super::MemoryStore;
use domain::{
    dial_token::DialToken,
    id::{AttemptId, NodeId},
    ports::store::{AttemptState, Claim, LiveNode, NodeStore, Owner, Pulse, StoreError, StoreResult},
    time::Timestamp,
};

/// Interval of a node's heartbeats. Two heartbeats twice as far apart have a gap between them.
const HEARTBEAT: Duration = Duration::from_secs(3);

/// Silence after which a node among others is dead.
const DEAD_AFTER: Duration = Duration::from_secs(15);

/// Registered nodes, in order.
#[derive(Default)]
pub(super) struct Nodes {
    entries: Vec<Entry>,
    secret: Option<String>,
    /// Whether several nodes may be alive at once.
    pub(super) many: bool,
}

struct Entry {
    id: NodeId,
    lives: bool,
    address: Option<String>,
    seen_at: Timestamp,
    steady_since: Timestamp,
}

impl Nodes {
    pub(super) fn lives(&self, node: NodeId) -> bool {
        self.entry(node).is_some_and(|entry| entry.lives)
    }

    /// Returns the node that was registered last.
    pub(super) fn last(&self) -> Option<NodeId> {
        self.entries.last().map(|entry| entry.id)
    }

    /// Declares nodes dead that were silent for too long, if this one was alive during all that time.
    pub(super) fn bury_silent(&mut self, node: NodeId, now: Timestamp) -> StoreResult<()> {
        if !self.many {
            return Ok(());
        }
        let own = self.entry(node).filter(|entry| entry.lives).ok_or(StoreError::Fenced)?;
        if now.since(own.steady_since) < DEAD_AFTER || now.since(own.seen_at) > HEARTBEAT * 2 {
            return Ok(());
        }
        for entry in self.entries.iter_mut().filter(|entry| entry.id != node) {
            entry.lives &= now.since(entry.seen_at) < DEAD_AFTER;
        }
        Ok(())
    }

    pub(super) fn bury(&mut self, node: NodeId) {
        let dead = self.entries.iter_mut().find(|entry| entry.id == node);
        dead.into_iter().for_each(|entry| entry.lives = false);
    }

    pub(super) fn seen_at(&self, node: NodeId) -> Option<Timestamp> {
        self.entry(node).map(|entry| entry.seen_at)
    }

    fn entry(&self, node: NodeId) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.id == node)
    }
}

#[async_trait]
impl NodeStore for MemoryStore {
    async fn register_node(&self, node: NodeId, address: Option<&str>) -> StoreResult<()> {
        let now = self.now();
        let nodes = &mut self.open()?.nodes;
        nodes.entries.retain(|entry| entry.id != node);
        if !nodes.many {
            nodes.entries.iter_mut().for_each(|entry| entry.lives = false);
        }
        nodes.entries.push(Entry {
            id: node,
            lives: true,
            address: address.map(str::to_owned),
            seen_at: now,
            steady_since: now,
        });
        Ok(())
    }

    async fn heartbeat(&self, node: NodeId) -> StoreResult<Pulse> {
        let now = self.now();
        let nodes = &mut self.open()?.nodes;
        let own = nodes.entries.iter_mut().find(|entry| entry.id == node && entry.lives);
        let own = own.ok_or(StoreError::Fenced)?;
        if now.since(own.seen_at) > HEARTBEAT * 2 {
            own.steady_since = now;
        }
        own.seen_at = now;
        Ok(Pulse {
            nodes: nodes.entries.iter().filter(|entry| entry.lives).count(),
            ahead_ms: 0,
        })
    }

    async fn sign_off(&self, node: NodeId) -> StoreResult<()> {
        self.open()?.nodes.bury(node);
        Ok(())
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

    async fn last_holder(&self, attempt: AttemptId) -> StoreResult<Option<Claim>> {
        let tables = self.open()?;
        let Some(entry) = tables.attempts.get(&attempt) else {
            return Ok(None);
        };
        let epoch = entry.epoch;
        Ok(entry.owner.map(|owner| Claim { attempt, owner, epoch }))
    }

    async fn lost_claims(&self, claims: &[Claim]) -> StoreResult<Vec<Claim>> {
        let mut tables = self.open()?;
        let lost = claims.iter().filter(|claim| tables.held(**claim).is_err());
        Ok(lost.copied().collect())
    }

    async fn cluster_secret(&self) -> StoreResult<String> {
        let secret = &mut self.open()?.nodes.secret;
        Ok(secret
            .get_or_insert_with(|| DialToken::random().as_stored().to_owned())
            .clone())
    }
}
