//! The store's directory: accounts, keys, agents, contacts.

use actors::{
    id::{AccountId, AgentId, ContactId},
    phone_number::PhoneNumber,
    ports::store::{
        Account, AgentRow, ContactRow, DirectoryStore, KeyTicket, NewAccount, NewContact, StoreResult, StoredApiKey,
    },
};
use async_trait::async_trait;
use serde_json::{Map, Value};

use super::{SqlStore, accounts, agents, contacts};

#[async_trait]
impl DirectoryStore for SqlStore {
    async fn create_account(&self, new: NewAccount) -> StoreResult<()> {
        self.write(move |work| Box::pin(accounts::create(work, new))).await
    }

    async fn api_keys(&self, prefix: &str) -> StoreResult<Vec<(StoredApiKey, Account)>> {
        let prefix = prefix.to_owned();
        self.read(move |work| Box::pin(accounts::keys(work, prefix))).await
    }

    async fn replace_api_key(&self, email: &str, key: StoredApiKey) -> StoreResult<()> {
        let email = email.to_owned();
        self.write(move |work| Box::pin(accounts::replace_key(work, email, key)))
            .await
    }

    async fn create_agent(
        &self,
        account: AccountId,
        document: Map<String, Value>,
        ticket: Option<&KeyTicket>,
    ) -> StoreResult<AgentRow> {
        let ticket = ticket.cloned();
        self.write(move |work| Box::pin(agents::create(work, account, document, ticket)))
            .await
    }

    async fn agent(&self, account: AccountId, id: AgentId) -> StoreResult<AgentRow> {
        self.read(move |work| Box::pin(agents::get(work, account, id))).await
    }

    async fn update_agent(
        &self,
        account: AccountId,
        id: AgentId,
        version: i64,
        document: Map<String, Value>,
    ) -> StoreResult<AgentRow> {
        self.write(move |work| Box::pin(agents::update(work, (account, id), version, document)))
            .await
    }

    async fn create_contact(
        &self,
        account: AccountId,
        new: NewContact,
        ticket: Option<&KeyTicket>,
    ) -> StoreResult<ContactRow> {
        let ticket = ticket.cloned();
        self.write(move |work| Box::pin(contacts::create(work, account, new, ticket)))
            .await
    }

    async fn contact(&self, account: AccountId, id: ContactId) -> StoreResult<ContactRow> {
        self.read(move |work| Box::pin(contacts::get(work, account, id))).await
    }

    async fn delete_contact(&self, account: AccountId, id: ContactId) -> StoreResult<()> {
        self.write(move |work| Box::pin(contacts::delete(work, account, id)))
            .await
    }

    async fn add_do_not_call(&self, account: AccountId, number: &PhoneNumber) -> StoreResult<()> {
        let number = number.clone();
        self.write(move |work| Box::pin(accounts::add_do_not_call(work, account, number)))
            .await
    }
}
