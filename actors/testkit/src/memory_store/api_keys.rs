//! API keys in memory.

use std::cmp::Reverse;

use async_trait::async_trait;

use super::MemoryStore;
use domain::{
    id::{AccountId, ApiKeyId, SessionId},
    ports::store::{
        ADDED_KEYS, ApiKeyChange, ApiKeyRow, ApiKeyStore, FoundKey, NewApiKey, StoreError, StoreResult, StoredApiKey,
        USE_RECORDED_EVERY_US,
    },
};

#[async_trait]
impl ApiKeyStore for MemoryStore {
    async fn api_keys(&self, prefix: &str) -> StoreResult<Vec<FoundKey>> {
        let tables = self.open()?;
        let matching = tables.keys.iter().filter(|(stored, _)| stored.prefix == prefix);
        let found = matching.filter_map(|(stored, row)| {
            Some(FoundKey {
                stored: stored.clone(),
                account: tables.accounts.get(&row.account)?.clone(),
                row: row.clone(),
                read_at: self.now(),
            })
        });
        Ok(found.collect())
    }

    async fn replace_api_key(&self, email: &str, key: StoredApiKey, keep: Option<SessionId>) -> StoreResult<()> {
        let mut tables = self.open()?;
        let account = tables.accounts.values().find(|account| account.email == email);
        let id = account.map(|account| account.id).ok_or(StoreError::NotFound)?;
        tables.follow_key(id.into(), keep, Some(&key));
        tables.keys.retain(|(_, row)| row.id != id.into());
        let own = ApiKeyRow::own(id, key.prefix.clone(), self.now(), None);
        tables.keys.push((key, own));
        Ok(())
    }

    async fn add_api_key(&self, account: AccountId, new: NewApiKey) -> StoreResult<Option<ApiKeyRow>> {
        let mut tables = self.open()?;
        tables.accounts.get(&account).ok_or(StoreError::NotFound)?;
        let added = tables
            .keys
            .iter()
            .filter(|(_, row)| row.account == account && !row.is_own());
        if added.count() >= ADDED_KEYS {
            return Ok(None);
        }
        let row = ApiKeyRow {
            id: ApiKeyId::new(),
            account,
            name: new.name,
            prefix: new.stored.prefix.clone(),
            scopes: new.scopes,
            created_at: self.now(),
            last_used_at: None,
            expires_at: new.expires_at,
        };
        tables.keys.push((new.stored, row.clone()));
        Ok(Some(row))
    }

    async fn keys_of_account(&self, account: AccountId) -> StoreResult<Vec<ApiKeyRow>> {
        let tables = self.open()?;
        let own = tables.keys.iter().filter(|(_, row)| row.account == account);
        let mut rows: Vec<ApiKeyRow> = own.map(|(_, row)| row.clone()).collect();
        rows.sort_by_key(|row| Reverse((row.created_at, row.id)));
        Ok(rows)
    }

    async fn change_api_key(&self, account: AccountId, id: ApiKeyId, change: ApiKeyChange) -> StoreResult<ApiKeyRow> {
        let mut tables = self.open()?;
        let mut keys = tables.keys.iter_mut().map(|(_, row)| row);
        let row = keys.find(|row| row.account == account && row.id == id && !row.is_own());
        let row = row.ok_or(StoreError::NotFound)?;
        row.name = change.name.unwrap_or_else(|| row.name.clone());
        row.scopes = change.scopes.unwrap_or_else(|| row.scopes.clone());
        row.expires_at = change.expires_at.unwrap_or(row.expires_at);
        Ok(row.clone())
    }

    async fn delete_api_key(&self, account: AccountId, id: ApiKeyId, keep: Option<SessionId>) -> StoreResult<()> {
        let mut tables = self.open()?;
        let before = tables.keys.len();
        let mut rows = tables.keys.iter().map(|(_, row)| row);
        if rows.any(|row| row.account == account && row.id == id && !row.is_own()) {
            tables.follow_key(id, keep, None);
        }
        tables
            .keys
            .retain(|(_, row)| row.account != account || row.id != id || row.is_own());
        if tables.keys.len() < before {
            Ok(())
        } else {
            Err(StoreError::NotFound)
        }
    }

    async fn api_key_used(&self, id: ApiKeyId) -> StoreResult<()> {
        let (mut tables, now) = (self.open()?, self.now());
        for (_, row) in tables.keys.iter_mut().filter(|(_, row)| row.id == id) {
            if row.last_used_at.is_none_or(|at| at.0 <= now.0 - USE_RECORDED_EVERY_US) {
                row.last_used_at = Some(now);
            }
        }
        Ok(())
    }
}
