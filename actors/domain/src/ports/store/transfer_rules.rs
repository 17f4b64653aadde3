//! Transfer rules of an account, and the agents that use them.

use async_trait::async_trait;

use super::{
    directory::{AgentRow, DirectoryStore},
    error::StoreResult,
    idempotency::KeyTicket,
    knowledge::Removal,
};
use crate::{
    agent::{TransferRule, add_transfers, referenced_rules},
    id::{AccountId, AgentId, TransferRuleId},
    time::Timestamp,
};

/// A transfer rule as it is stored.
#[derive(Debug, Clone, PartialEq)]
pub struct TransferRuleRow {
    /// Id of the rule.
    pub id: TransferRuleId,
    /// Account that owns the rule.
    pub account: AccountId,
    /// The rule.
    pub rule: TransferRule,
    /// Number of the version, from 1.
    pub version: i64,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
}

/// Transfer rules. An agent whose document names a missing rule is stored all the same.
#[async_trait]
pub trait TransferRuleStore: Send + Sync {
    /// Creates a rule. Returns `NotFound` if there is no such account.
    async fn create_transfer_rule(
        &self,
        account: AccountId,
        new: TransferRule,
        ticket: Option<&KeyTicket>,
    ) -> StoreResult<TransferRuleRow>;

    /// Returns a rule. Returns `NotFound`.
    async fn transfer_rule(&self, account: AccountId, id: TransferRuleId) -> StoreResult<TransferRuleRow>;

    /// Returns the account's rules, newest first, after a position in the list, at most `limit`.
    async fn transfer_rules(
        &self,
        account: AccountId,
        after: Option<(Timestamp, TransferRuleId)>,
        limit: i64,
    ) -> StoreResult<Vec<TransferRuleRow>>;

    /// Returns those of `ids` that are rules of the account, in any order.
    async fn transfer_rules_of(&self, account: AccountId, ids: &[TransferRuleId]) -> StoreResult<Vec<TransferRuleRow>>;

    /// Changes a rule. Returns `NotFound`; `Stale` if it has another version.
    async fn update_transfer_rule(
        &self,
        account: AccountId,
        id: TransferRuleId,
        version: i64,
        new: TransferRule,
    ) -> StoreResult<TransferRuleRow>;

    /// Deletes a rule that no agent uses. Returns `NotFound`; `Stale` if an agent began to use it meanwhile.
    async fn delete_transfer_rule(&self, account: AccountId, id: TransferRuleId) -> StoreResult<Removal>;
}

/// Returns an agent as its calls need it: its transfer rules follow its own transfers. Returns `NotFound`.
pub async fn agent_for_calls<S>(store: &S, account: AccountId, id: AgentId) -> StoreResult<AgentRow>
where
    S: DirectoryStore + TransferRuleStore + ?Sized,
{
    with_transfer_rules(store, store.agent(account, id).await?).await
}

/// Puts an agent's transfer rules after its own transfers. Ids that are no rules are ignored.
pub async fn with_transfer_rules<S: TransferRuleStore + ?Sized>(store: &S, mut row: AgentRow) -> StoreResult<AgentRow> {
    let named = referenced_rules(&row.document);
    let ids: Vec<TransferRuleId> = named.iter().filter_map(|(_, text)| text.parse().ok()).collect();
    if ids.is_empty() {
        return Ok(row);
    }
    let found = store.transfer_rules_of(row.account, &ids).await?;
    let rules = ids.iter().filter_map(|id| found.iter().find(|row| row.id == *id));
    add_transfers(&mut row.document, rules.map(|row| &row.rule));
    Ok(row)
}
