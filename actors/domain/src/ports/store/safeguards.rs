//! What an account lets its calls do at most.

use async_trait::async_trait;

use super::StoreResult;
use crate::{
    id::{AccountId, CampaignId},
    safeguards::{Rule, Safeguards},
};

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

    /// Replaces them. What the earlier ones put off is due at once where they change, and its campaigns look again: it is
    /// judged anew by its permit. `Stale`, `NotFound`.
    async fn set_safeguards(&self, account: AccountId, version: i64, new: Safeguards) -> StoreResult<SafeguardsRow>;

    /// How many attempts of a campaign wait because a rule put them off, by rule.
    async fn put_off(&self, campaign: CampaignId) -> StoreResult<Vec<(Rule, i64)>>;
}
