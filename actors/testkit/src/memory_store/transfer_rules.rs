//! Transfer rules in memory.

use std::cmp::Reverse;

use async_trait::async_trait;

use super::{MemoryStore, tables::Tables};
use domain::{
    agent::{TransferRule, referenced_rules},
    id::{AccountId, TransferRuleId},
    ports::store::{CREATED, KeyTicket, Removal, StoreError, StoreResult, TransferRuleRow, TransferRuleStore},
    time::Timestamp,
};

impl Tables {
    fn rule_of(&self, account: AccountId, id: TransferRuleId) -> StoreResult<&TransferRuleRow> {
        let found = self.transfer_rules.get(&id).filter(|row| row.account == account);
        found.ok_or(StoreError::NotFound)
    }
}

#[async_trait]
impl TransferRuleStore for MemoryStore {
    async fn create_transfer_rule(
        &self,
        account: AccountId,
        new: TransferRule,
        ticket: Option<&KeyTicket>,
    ) -> StoreResult<TransferRuleRow> {
        let mut tables = self.open()?;
        tables.require_account(account)?;
        let now = self.now();
        let row = TransferRuleRow {
            id: TransferRuleId::new(),
            account,
            rule: new,
            version: 1,
            created_at: now,
            updated_at: now,
        };
        tables.settle(ticket, (CREATED, row.id.to_string()), now)?;
        tables.transfer_rules.insert(row.id, row.clone());
        Ok(row)
    }

    async fn transfer_rule(&self, account: AccountId, id: TransferRuleId) -> StoreResult<TransferRuleRow> {
        self.open()?.rule_of(account, id).cloned()
    }

    async fn transfer_rules(
        &self,
        account: AccountId,
        after: Option<(Timestamp, TransferRuleId)>,
        limit: i64,
    ) -> StoreResult<Vec<TransferRuleRow>> {
        let tables = self.open()?;
        let own = tables.transfer_rules.values().filter(|row| row.account == account);
        let mut found: Vec<TransferRuleRow> = own.cloned().collect();
        found.retain(|row| after.is_none_or(|last| (row.created_at, row.id) < last));
        found.sort_by_key(|row| Reverse((row.created_at, row.id)));
        found.truncate(usize::try_from(limit).unwrap_or(0));
        Ok(found)
    }

    async fn transfer_rules_of(&self, account: AccountId, ids: &[TransferRuleId]) -> StoreResult<Vec<TransferRuleRow>> {
        let tables = self.open()?;
        let known = ids.iter().filter_map(|id| tables.rule_of(account, *id).ok());
        Ok(known.cloned().collect())
    }

    async fn update_transfer_rule(
        &self,
        account: AccountId,
        id: TransferRuleId,
        version: i64,
        new: TransferRule,
    ) -> StoreResult<TransferRuleRow> {
        let mut tables = self.open()?;
        let mut row = tables.rule_of(account, id)?.clone();
        if row.version != version {
            return Err(StoreError::Stale);
        }
        row.rule = new;
        row.version += 1;
        row.updated_at = self.now();
        tables.transfer_rules.insert(id, row.clone());
        Ok(row)
    }

    async fn delete_transfer_rule(&self, account: AccountId, id: TransferRuleId) -> StoreResult<Removal> {
        let mut tables = self.open()?;
        tables.rule_of(account, id)?;
        let holders = tables.holders(&id.to_string(), referenced_rules);
        if !holders.is_empty() {
            return Ok(Removal::Held(holders));
        }
        tables.transfer_rules.remove(&id);
        Ok(Removal::Done)
    }
}
