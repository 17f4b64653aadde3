//! Who holds what, as the database knows it.

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

/// A living node that holds an attempt and can be reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// This start of its process.
    pub node: NodeId,
    /// Where the others reach it, without a slash at its end.
    pub address: String,
    /// What proofs of the attempt are made from; none before its permit.
    pub token: Option<DialToken>,
}

/// Answers from what all nodes share.
#[async_trait]
pub trait Directory: Send + Sync {
    /// Who holds an attempt; none where nobody does who lives and can be reached.
    async fn holder(&self, attempt: AttemptId) -> StoreResult<Option<Holder>>;

    /// The attempt that has this call of a carrier.
    async fn attempt_of_call(&self, carrier: &str, call: &CarrierCallId) -> StoreResult<Option<AttemptId>>;

    /// Where the living nodes beside this one are reached.
    async fn others(&self, me: NodeId) -> StoreResult<Vec<String>>;

    /// What only nodes of this installation know.
    async fn secret(&self) -> StoreResult<String>;
}

/// Answers from the store.
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
