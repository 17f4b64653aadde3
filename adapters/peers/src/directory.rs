//! Lookups of attempt owners and node addresses in the database.

use std::sync::Arc;

use async_trait::async_trait;
use domain::{
    dial_token::DialToken,
    id::{AttemptId, NodeId},
    ports::{
        carrier::CarrierCallId,
        store::{Store, StoreError, StoreResult},
    },
};

/// A living, reachable node that holds an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// Id of this run of the node's process.
    pub node: NodeId,
    /// Base URL at which other nodes reach it, without a trailing slash.
    pub address: String,
    /// Token that the attempt's proofs are made from; none before the attempt has its permit.
    pub token: Option<DialToken>,
}

/// Lookups in the data that all nodes share.
#[async_trait]
pub trait Directory: Send + Sync {
    /// Returns the node that holds an attempt; none if no living, reachable node holds it.
    async fn holder(&self, attempt: AttemptId) -> StoreResult<Option<Holder>>;

    /// Returns the attempt that belongs to this call of a carrier.
    async fn attempt_of_call(&self, carrier: &str, call: &CarrierCallId) -> StoreResult<Option<AttemptId>>;

    /// Returns the addresses of the other living nodes.
    async fn others(&self, me: NodeId) -> StoreResult<Vec<String>>;

    /// Returns the secret that only nodes of this installation know.
    async fn secret(&self) -> StoreResult<String>;
}

/// Directory backed by the store.
pub struct StoreDirectory(pub Arc<dyn Store>);

#[async_trait]
impl Directory for StoreDirectory {
    async fn holder(&self, attempt: AttemptId) -> StoreResult<Option<Holder>> {
        let Some(owner) = self.0.owner_of(attempt).await? else {
            return Ok(None);
        };
        let Some(address) = owner.address.filter(|_| owner.alive) else {
            return Ok(None);
        };
        let token = match self.0.dial_token(attempt).await {
            Ok(token) => Some(token),
            Err(StoreError::NotFound) => None,
            Err(error) => return Err(error),
        };
        let node = owner.node;
        Ok(Some(Holder { node, address, token }))
    }

    async fn attempt_of_call(&self, carrier: &str, call: &CarrierCallId) -> StoreResult<Option<AttemptId>> {
        self.0.attempt_of_call(carrier, call).await
    }

    async fn others(&self, me: NodeId) -> StoreResult<Vec<String>> {
        let nodes = self.0.live_nodes().await?;
        let others = nodes.into_iter().filter(|node| node.id != me);
        Ok(others.filter_map(|node| node.address).collect())
    }

    async fn secret(&self) -> StoreResult<String> {
        self.0.cluster_secret().await
    }
}
