//! Accounts, API keys, agents, contacts and the do-not-call list.

use async_trait::async_trait;
use serde_json::{Map, Value};

use super::{KeyTicket, Removal, StoreResult};
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

impl AgentRow {
    /// Whether this is one of its tags.
    pub fn has_tag(&self, tag: &str) -> bool {
        let tags = self.document.get("tags").and_then(Value::as_array);
        tags.is_some_and(|tags| tags.iter().any(|own| own == tag))
    }
}

/// Filters of the agents list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentFilter {
    /// It has this tag.
    pub tag: Option<String>,
    /// Behind this row of the order (newest first, then id): the cursor.
    pub after: Option<(Timestamp, AgentId)>,
}

/// Some agents of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentPage {
    /// In the order of the list.
    pub rows: Vec<AgentRow>,
    /// Whether there are further ones.
    pub more: bool,
}

/// Bytes of documents after which a page of agents ends early.
pub const AGENT_PAGE_BYTES: usize = 4 * 1024 * 1024;

/// The secrets that sign an account's deliveries.
#[derive(Clone, PartialEq, Eq)]
pub struct WebhookSecrets {
    /// Signs.
    pub current: String,
    /// Still valid, for a day after the rotation that replaced it.
    pub previous: Option<String>,
}

/// For how long a replaced secret stays valid, in microseconds.
pub const SECRET_KEPT_US: i64 = 24 * 3_600 * 1_000_000;

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
    /// +1 with each change.
    pub version: i64,
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

/// Filters of the contacts list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ContactFilter {
    /// The name contains this, in any case; or the number, if that is asked for too.
    pub name: Option<String>,
    /// The number contains this.
    pub number: Option<String>,
    /// Behind this row of the order (newest first, then id): the cursor.
    pub after: Option<(Timestamp, ContactId)>,
}

/// A number that is not to be called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DoNotCallRow {
    /// The number.
    pub phone_number: PhoneNumber,
    /// Since when.
    pub created_at: Timestamp,
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

    /// The secrets that sign the account's deliveries. `NotFound`.
    async fn webhook_secrets(&self, account: AccountId) -> StoreResult<WebhookSecrets>;

    /// Replaces the secret; the old one stays valid for a day. `NotFound`.
    async fn rotate_webhook_secret(&self, account: AccountId, secret: String) -> StoreResult<()>;

    /// Makes an agent (version 1), which holds the documents, groups and agents it names. `Stale` when one of them is
    /// gone, `Exists("number")` when a number is another account's or another agent answers it.
    async fn create_agent(
        &self,
        account: AccountId,
        document: Map<String, Value>,
        ticket: Option<&KeyTicket>,
    ) -> StoreResult<AgentRow>;

    /// One agent. `NotFound`.
    async fn agent(&self, account: AccountId, id: AgentId) -> StoreResult<AgentRow>;

    /// One agent, also one that was deleted: for what is still to be done for its calls. `NotFound`.
    async fn kept_agent(&self, account: AccountId, id: AgentId) -> StoreResult<AgentRow>;

    /// One agent, whoever owns it: for what everybody may see of it. `NotFound`.
    async fn any_agent(&self, id: AgentId) -> StoreResult<AgentRow>;

    /// The account's agents, newest first, at most `limit`; fewer where documents are large.
    async fn agents(&self, account: AccountId, filter: AgentFilter, limit: i64) -> StoreResult<AgentPage>;

    /// Those numbers of a document of `agent` (none: a new one) that it cannot have, as they are now.
    async fn taken_numbers(
        &self,
        account: AccountId,
        agent: Option<AgentId>,
        document: &Map<String, Value>,
    ) -> StoreResult<Vec<PhoneNumber>>;

    /// Deletes an agent that no waiting, running, paused or delayed campaign uses, no other agent hands calls to, and no
    /// call has that is not over. Its conversations stay, its numbers are free. `NotFound`.
    async fn delete_agent(&self, account: AccountId, id: AgentId) -> StoreResult<Removal>;

    /// Replaces the document if the version is still `version`, and with it which documents, groups and agents the
    /// agent holds. `NotFound`; `Stale`, also when one of those is gone; `Exists("number")`.
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

    /// The account's contacts, newest first, at most `limit`.
    async fn contacts(&self, account: AccountId, filter: ContactFilter, limit: i64) -> StoreResult<Vec<ContactRow>>;

    /// Replaces a contact's fields if the version is still `version`. `NotFound`, `Stale`, `Exists("phoneNumber")`.
    async fn update_contact(
        &self,
        account: AccountId,
        id: ContactId,
        version: i64,
        new: NewContact,
    ) -> StoreResult<ContactRow>;

    /// Deletes a contact and frees its number. `NotFound`.
    async fn delete_contact(&self, account: AccountId, id: ContactId) -> StoreResult<()>;

    /// Puts a number on the account's do-not-call list; one already there stays as it is. `NotFound` without the
    /// account.
    async fn add_do_not_call(&self, account: AccountId, number: &PhoneNumber) -> StoreResult<DoNotCallRow>;

    /// The account's do-not-call list, newest first, behind `after`, at most `limit`.
    async fn do_not_call(
        &self,
        account: AccountId,
        after: Option<(Timestamp, PhoneNumber)>,
        limit: i64,
    ) -> StoreResult<Vec<DoNotCallRow>>;

    /// Takes a number off the list. `NotFound`.
    async fn remove_do_not_call(&self, account: AccountId, number: &PhoneNumber) -> StoreResult<()>;
}
