//! Rules that limit an account's calls.

use async_trait::async_trait;

use super::error::StoreResult;
use crate::{
    id::{AccountId, CampaignId},
    safeguards::{Rule, Safeguards},
};

/// An account's rules.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SafeguardsRow {
    /// The rules.
    pub safeguards: Safeguards,
    /// Increases with each change; 0 before the first.
    pub version: i64,
}

/// Rules of accounts. Every permit checks them in its own transaction.
#[async_trait]
pub trait SafeguardStore: Send + Sync {
    /// Returns the account's rules; all rules are off for an account that never set any.
    async fn safeguards(&self, account: AccountId) -> StoreResult<SafeguardsRow>;

    /// Replaces the rules. If they change, attempts that the earlier rules delayed are due at once, their
    /// campaigns check again, and each attempt's permit applies the new rules. Returns `Stale`, `NotFound`.
    async fn set_safeguards(&self, account: AccountId, version: i64, new: Safeguards) -> StoreResult<SafeguardsRow>;

    /// Returns the number of attempts of a campaign that a rule delays, by rule.
    async fn put_off(&self, campaign: CampaignId) -> StoreResult<Vec<(Rule, i64)>>;
}
