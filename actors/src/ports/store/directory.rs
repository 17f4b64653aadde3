//! Accounts, API keys, agents, contacts and the do-not-call list.

use async_trait::async_trait;
use serde_json::{Map, Value};

use super::{KeyTicket, StoreResult};
use crate::{
    id::{AccountId, AgentId, ContactId},
    phone_number::PhoneNumber,
    time::Timestamp,
};

/// An account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// Its id; `userId` in REST.
    pub id: AccountId,
    /// Its e-mail address, unique.
    pub email: String,
}

/// An API key as it is stored.
#[derive(Clone, PartialEq, Eq)]
pub struct StoredApiKey {
    /// The key's public first part, by which it is looked up. Not unique.
    pub prefix: String,
    /// SHA-256 of the whole key.
    pub hash: [u8; 32],
}

/// A new account with its first key.
#[derive(Clone)]
pub struct NewAccount {
    /// The account.
    pub account: Account,
    /// Signs deliveries.
    pub webhook_secret: String,
    /// The first key.
    pub key: StoredApiKey,
}

/// An agent's row. The document is kept sparse, as the client gave it; defaults are filled in when it is read.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentRow {
    /// Its id.
    pub id: AgentId,
    /// Its owner.
    pub account: AccountId,
    /// `name direction tags conversationConfig platformSettings phoneNumbers workflow`, those that were set.
    pub document: Map<String, Value>,
    /// +1 with each change.
    pub version: i64,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
}

/// A saved contact.
#[derive(Debug, Clone, PartialEq)]
pub struct ContactRow {
    /// Its id.
    pub id: ContactId,
    /// Its owner.
    pub account: AccountId,
    /// Unique in the account.
    pub phone_number: PhoneNumber,
    /// Name, when given.
    pub name: Option<String>,
    /// E-mail, when given.
    pub email: Option<String>,
    /// Further fields, kept as given.
    pub extra: Map<String, Value>,
    /// When it was made.
    pub created_at: Timestamp,
}

/// What is needed to make a contact.
#[derive(Debug, Clone, PartialEq)]
pub struct NewContact {
    /// Unique in the account.
    pub phone_number: PhoneNumber,
    /// Name.
    pub name: Option<String>,
    /// E-mail.
    pub email: Option<String>,
    /// Further fields.
    pub extra: Map<String, Value>,
}

/// Accounts, keys, agents, contacts.
#[async_trait]
pub trait DirectoryStore: Send + Sync {
    /// Makes an account. `Exists("email")`.
    async fn create_account(&self, new: NewAccount) -> StoreResult<()>;

    /// The keys with this prefix and their accounts. The caller compares hashes in constant time.
    async fn api_keys(&self, prefix: &str) -> StoreResult<Vec<(StoredApiKey, Account)>>;

    /// Replaces the account's key; the old one stops working at once. `NotFound`.
    async fn replace_api_key(&self, email: &str, key: StoredApiKey) -> StoreResult<()>;

    /// Makes an agent (version 1), which holds the documents and groups it names. `Stale` when one of them is gone.
    async fn create_agent(&self, account: AccountId, document: Map<String, Value>) -> StoreResult<AgentRow>;

    /// One agent. `NotFound`.
    async fn agent(&self, account: AccountId, id: AgentId) -> StoreResult<AgentRow>;

    /// Replaces the document if the version is still `version`, and with it which documents and groups the agent
    /// holds. `NotFound`; `Stale`, also when one of those is gone.
    async fn update_agent(
        &self,
        account: AccountId,
        id: AgentId,
        version: i64,
        document: Map<String, Value>,
    ) -> StoreResult<AgentRow>;

    /// Makes a contact. `Exists("phoneNumber")`.
    async fn create_contact(
        &self,
        account: AccountId,
        new: NewContact,
        ticket: Option<&KeyTicket>,
    ) -> StoreResult<ContactRow>;

    /// One contact. `NotFound`.
    async fn contact(&self, account: AccountId, id: ContactId) -> StoreResult<ContactRow>;

    /// Deletes a contact and frees its number. `NotFound`.
    async fn delete_contact(&self, account: AccountId, id: ContactId) -> StoreResult<()>;

    /// Puts a number on the account's do-not-call list; one already there stays.
    async fn add_do_not_call(&self, account: AccountId, number: &PhoneNumber) -> StoreResult<()>;
}
