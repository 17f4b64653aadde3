//! Accounts, keys, agents and contacts in memory.

use async_trait::async_trait;
use serde_json::{Map, Value};

use super::MemoryStore;
use crate::{
    id::{AccountId, AgentId, ContactId},
    phone_number::PhoneNumber,
    ports::store::{
        Account, AgentRow, CREATED, ContactRow, DirectoryStore, KeyTicket, NewAccount, NewContact, StoreError,
        StoreResult, StoredApiKey,
    },
};

#[async_trait]
impl DirectoryStore for MemoryStore {
    async fn create_account(&self, new: NewAccount) -> StoreResult<()> {
        let mut tables = self.open()?;
        if tables.accounts.values().any(|other| other.email == new.account.email) {
            return Err(StoreError::Exists("email"));
        }
        tables.keys.push((new.account.id, new.key));
        tables.accounts.insert(new.account.id, new.account);
        Ok(())
    }

    async fn api_keys(&self, prefix: &str) -> StoreResult<Vec<(StoredApiKey, Account)>> {
        let tables = self.open()?;
        let matching = tables.keys.iter().filter(|(_, key)| key.prefix == prefix);
        Ok(matching
            .filter_map(|(id, key)| Some((key.clone(), tables.accounts.get(id)?.clone())))
            .collect())
    }

    async fn replace_api_key(&self, email: &str, key: StoredApiKey) -> StoreResult<()> {
        let mut tables = self.open()?;
        let account = tables.accounts.values().find(|account| account.email == email);
        let id = account.map(|account| account.id).ok_or(StoreError::NotFound)?;
        tables.keys.retain(|(owner, _)| *owner != id);
        tables.keys.push((id, key));
        Ok(())
    }

    async fn create_agent(
        &self,
        account: AccountId,
        document: Map<String, Value>,
        ticket: Option<&KeyTicket>,
    ) -> StoreResult<AgentRow> {
        let mut tables = self.open()?;
        tables.require_account(account)?;
        tables.require_knowledge(account, &document)?;
        let now = self.now();
        let row = AgentRow {
            id: AgentId::new(),
            account,
            document,
            version: 1,
            created_at: now,
            updated_at: now,
        };
        tables.settle(ticket, (CREATED, row.id.to_string()), now)?;
        tables.agents.insert(row.id, row.clone());
        Ok(row)
    }

    async fn agent(&self, account: AccountId, id: AgentId) -> StoreResult<AgentRow> {
        let tables = self.open()?;
        let row = tables.agents.get(&id).filter(|row| row.account == account);
        row.cloned().ok_or(StoreError::NotFound)
    }

    async fn update_agent(
        &self,
        account: AccountId,
        id: AgentId,
        version: i64,
        document: Map<String, Value>,
    ) -> StoreResult<AgentRow> {
        let mut tables = self.open()?;
        let knowledge = tables.require_knowledge(account, &document);
        let row = tables.agents.get_mut(&id).filter(|row| row.account == account);
        let row = row.ok_or(StoreError::NotFound)?;
        knowledge?;
        if row.version != version {
            return Err(StoreError::Stale);
        }
        row.document = document;
        row.version += 1;
        row.updated_at = self.now();
        Ok(row.clone())
    }

    async fn create_contact(
        &self,
        account: AccountId,
        new: NewContact,
        ticket: Option<&KeyTicket>,
    ) -> StoreResult<ContactRow> {
        let mut tables = self.open()?;
        tables.require_account(account)?;
        let taken = |row: &ContactRow| row.account == account && row.phone_number == new.phone_number;
        if tables.contacts.values().any(taken) {
            return Err(StoreError::Exists("phoneNumber"));
        }
        let row = ContactRow {
            id: ContactId::new(),
            account,
            phone_number: new.phone_number,
            name: new.name,
            email: new.email,
            extra: new.extra,
            created_at: self.now(),
        };
        tables.settle(ticket, (CREATED, row.id.to_string()), row.created_at)?;
        tables.contacts.insert(row.id, row.clone());
        Ok(row)
    }

    async fn contact(&self, account: AccountId, id: ContactId) -> StoreResult<ContactRow> {
        let tables = self.open()?;
        let row = tables.contacts.get(&id).filter(|row| row.account == account);
        row.cloned().ok_or(StoreError::NotFound)
    }

    async fn delete_contact(&self, account: AccountId, id: ContactId) -> StoreResult<()> {
        let mut tables = self.open()?;
        let row = tables.contacts.get(&id).filter(|row| row.account == account);
        row.ok_or(StoreError::NotFound)?;
        tables.contacts.remove(&id);
        Ok(())
    }

    async fn add_do_not_call(&self, account: AccountId, number: &PhoneNumber) -> StoreResult<()> {
        let mut tables = self.open()?;
        tables.require_account(account)?;
        tables.do_not_call.insert((account, number.clone()));
        Ok(())
    }
}
