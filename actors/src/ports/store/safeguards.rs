//! What an account lets its calls do at most.

use async_trait::async_trait;

use super::StoreResult;
use crate::{id::AccountId, safeguards::Safeguards};

/// An account's rules.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SafeguardsRow {
    /// The rules.
    pub safeguards: Safeguards,
    /// Grows with each change; 0 before the first.
    pub version: i64,
}

/// Rules of accounts. Every permit asks them, in its own transaction.
#[async_trait]
pub trait SafeguardStore: Send + Sync {
    /// The account's rules; those of one that never set any are off.
    async fn safeguards(&self, account: AccountId) -> StoreResult<SafeguardsRow>;

    /// Replaces them. `Stale`, `NotFound`.
    async fn set_safeguards(&self, account: AccountId, version: i64, new: Safeguards) -> StoreResult<SafeguardsRow>;
}
