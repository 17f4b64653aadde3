//! Accounts, agents, contacts and the do-not-call list.

use std::collections::HashSet;

use async_trait::async_trait;
use serde_json::{Map, Value};

use super::{error::StoreResult, idempotency::KeyTicket, knowledge::Removal};
use crate::{
    account_settings::AccountSettings,
    id::{AccountId, AgentId, AttemptId, ContactId},
    phone_number::PhoneNumber,
    time::Timestamp,
};

/// An account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// Its id; `userId` in REST.
    pub id: AccountId,
    /// E-mail address, unique.
    pub email: String,
    /// Settings.
    pub settings: AccountSettings,
}

impl Account {
    /// Returns a new account with default settings.
    pub fn new(email: &str) -> Self {
        Self {
            id: AccountId::new(),
            email: email.to_owned(),
            settings: AccountSettings::default(),
        }
    }
}

/// An API key in its stored form.
#[derive(Clone, PartialEq, Eq)]
pub struct StoredApiKey {
    /// Public first part of the key, used to look it up. Not unique.
    pub prefix: String,
    /// SHA-256 of the whole key.
    pub hash: [u8; 32],
}

/// A new account with its first key.
#[derive(Clone)]
pub struct NewAccount {
    /// The account.
    pub account: Account,
    /// Secret that signs deliveries.
    pub webhook_secret: String,
    /// The first key.
    pub key: StoredApiKey,
}

/// An agent's row. The document is stored sparse, as the client sent it; defaults are filled in when it is read.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentRow {
    /// Id of the agent.
    pub id: AgentId,
    /// Account that owns the agent.
    pub account: AccountId,
    /// Fields that were set, of `name direction tags conversationConfig platformSettings phoneNumbers workflow`.
    pub document: Map<String, Value>,
    /// Increases by 1 with each change.
    pub version: i64,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
}

impl AgentRow {
    /// Returns the name.
    pub fn name(&self) -> &str {
        let name = self.document.get("name").and_then(Value::as_str);
        name.unwrap_or_default()
    }

    /// Returns whether the agent passes the filters of a list; `after` is not looked at.
    pub fn fits(&self, filter: &AgentFilter) -> bool {
        let contains = |text: &String| self.name().to_lowercase().contains(&text.to_lowercase());
        filter.tag.as_deref().is_none_or(|tag| self.has_tag(tag)) && filter.name.as_ref().is_none_or(contains)
    }

    /// Returns whether this is one of its tags.
    fn has_tag(&self, tag: &str) -> bool {
        let tags = self.document.get("tags").and_then(Value::as_array);
        tags.is_some_and(|tags| tags.iter().any(|own| own == tag))
    }
}

/// Filters of the agents list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentFilter {
    /// Tag that the agent must have.
    pub tag: Option<String>,
    /// Text that the name contains, in any case.
    pub name: Option<String>,
    /// The cursor: list only rows after this one (newest first, then id).
    pub after: Option<(Timestamp, AgentId)>,
}

/// A phone number that an agent names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NumberUse {
    /// The number.
    pub phone_number: PhoneNumber,
    /// Agent that names it.
    pub agent: AgentId,
    /// Name of the agent.
    pub agent_name: String,
    /// Whether the agent answers calls to it.
    pub answered: bool,
}

/// Filters of the list of numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NumberFilter {
    /// List only this number.
    pub only: Option<PhoneNumber>,
    /// The cursor: list only numbers after this one.
    pub after: Option<PhoneNumber>,
}

/// A kept version of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentVersion {
    /// Number of the version.
    pub version: i64,
    /// Time at which it was saved.
    pub saved_at: Timestamp,
    /// Paths of the fields that the save changed, at most [`DIFFERENCES_LISTED`](crate::agent::DIFFERENCES_LISTED);
    /// none for a new agent.
    pub changed: Vec<String>,
}

/// Number of versions that are kept of an agent. A save drops the ones before them.
pub const AGENT_VERSIONS_KEPT: i64 = 200;

/// A page of a list of agents.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentPage {
    /// The agents in the order of the list.
    pub rows: Vec<AgentRow>,
    /// Whether more agents follow.
    pub more: bool,
}

/// Size of documents, in bytes, after which a page of agents ends early.
pub const AGENT_PAGE_BYTES: usize = 4 * 1024 * 1024;

/// Secrets that sign an account's deliveries.
#[derive(Clone, PartialEq, Eq)]
pub struct WebhookSecrets {
    /// The secret that signs.
    pub current: String,
    /// The replaced secret, which stays valid for a day after the rotation.
    pub previous: Option<String>,
}

/// Time that a replaced secret stays valid, in microseconds.
pub const SECRET_KEPT_US: i64 = 24 * 3_600 * 1_000_000;

/// A saved contact.
#[derive(Debug, Clone, PartialEq)]
pub struct ContactRow {
    /// Id of the contact.
    pub id: ContactId,
    /// Account that owns the contact.
    pub account: AccountId,
    /// Number, unique in the account.
    pub phone_number: PhoneNumber,
    /// Name, if given.
    pub name: Option<String>,
    /// E-mail address, if given.
    pub email: Option<String>,
    /// Further fields, stored as given.
    pub extra: Map<String, Value>,
    /// Increases by 1 with each change.
    pub version: i64,
    /// Time of creation.
    pub created_at: Timestamp,
}

/// Values of a new contact.
#[derive(Debug, Clone, PartialEq)]
pub struct NewContact {
    /// Number, unique in the account.
    pub phone_number: PhoneNumber,
    /// Name.
    pub name: Option<String>,
    /// E-mail address.
    pub email: Option<String>,
    /// Further fields.
    pub extra: Map<String, Value>,
}

/// One contact of a campaign.
#[derive(Debug, Clone, PartialEq)]
pub struct CampaignContact {
    /// Number in E.164.
    pub phone_number: PhoneNumber,
    /// The saved contact with this number, if there is one (filled in by the store).
    pub contact: Option<ContactId>,
    /// Name.
    pub name: Option<String>,
    /// E-mail address.
    pub email: Option<String>,
    /// All other fields, which are dynamic variables.
    pub extra: Map<String, Value>,
}

/// Filters of the contacts list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ContactFilter {
    /// Text that the name contains, in any case; or that the number contains, if `number` is set too.
    pub name: Option<String>,
    /// Digits that the number contains.
    pub number: Option<String>,
    /// The cursor: list only rows after this one (newest first, then id).
    pub after: Option<(Timestamp, ContactId)>,
}

/// A number that must not be called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DoNotCallRow {
    /// The number.
    pub phone_number: PhoneNumber,
    /// Time when it was added.
    pub created_at: Timestamp,
    /// Call in which the person opted out; none if the number was added otherwise, and after its erasure.
    pub call: Option<AttemptId>,
}

/// Accounts, agents, contacts.
#[async_trait]
pub trait DirectoryStore: Send + Sync {
    /// Creates an account. Returns `Exists("email")`.
    async fn create_account(&self, new: NewAccount) -> StoreResult<()>;

    /// Returns the secrets that sign the account's deliveries. Returns `NotFound`.
    async fn webhook_secrets(&self, account: AccountId) -> StoreResult<WebhookSecrets>;

    /// Replaces the secret; the old one stays valid for a day. Returns `NotFound`.
    async fn rotate_webhook_secret(&self, account: AccountId, secret: String) -> StoreResult<()>;

    /// Replaces settings that are `before` now. Returns `Stale` if they are others.
    async fn set_account_settings(
        &self,
        account: AccountId,
        before: AccountSettings,
        after: AccountSettings,
    ) -> StoreResult<()>;

    /// Creates an agent (version 1) with its references to the documents, groups and agents it names. Returns
    /// `Stale` if one of them is deleted, and `Exists("number")` if a number belongs to another account or
    /// another agent answers it.
    async fn create_agent(
        &self,
        account: AccountId,
        document: Map<String, Value>,
        ticket: Option<&KeyTicket>,
    ) -> StoreResult<AgentRow>;

    /// Returns an agent. Returns `NotFound`.
    async fn agent(&self, account: AccountId, id: AgentId) -> StoreResult<AgentRow>;

    /// Returns an agent even if it is deleted, for work that its calls still need. Returns `NotFound`.
    async fn kept_agent(&self, account: AccountId, id: AgentId) -> StoreResult<AgentRow>;

    /// Returns an agent of any owner, for the parts of it that are public. Returns `NotFound`.
    async fn any_agent(&self, id: AgentId) -> StoreResult<AgentRow>;

    /// Returns the account's agents, newest first, at most `limit`; fewer if documents are large.
    async fn agents(&self, account: AccountId, filter: AgentFilter, limit: i64) -> StoreResult<AgentPage>;

    /// Returns the agents that name each of the account's numbers, oldest first. Returns at most `limit` numbers, in
    /// the order of their digits.
    async fn number_uses(&self, account: AccountId, filter: NumberFilter, limit: i64) -> StoreResult<Vec<NumberUse>>;

    /// Returns the numbers in a document of `agent` (none for a new one) that the agent cannot have now.
    async fn taken_numbers(
        &self,
        account: AccountId,
        agent: Option<AgentId>,
        document: &Map<String, Value>,
    ) -> StoreResult<Vec<PhoneNumber>>;

    /// Returns the kept versions of an agent below `before`, newest first, at most `limit`. A version that a node of an
    /// older release saved is not kept. Returns `NotFound` if there is no such agent.
    async fn agent_versions(
        &self,
        account: AccountId,
        id: AgentId,
        before: Option<i64>,
        limit: i64,
    ) -> StoreResult<Vec<AgentVersion>>;

    /// Returns an agent as it was in a kept version. Returns `NotFound`.
    async fn agent_version(&self, account: AccountId, id: AgentId, version: i64) -> StoreResult<AgentRow>;

    /// Deletes an agent, unless a waiting, running, paused or delayed campaign uses it, another agent
    /// transfers calls to it, or it has a call that is not over. Its versions go, its conversations stay and its
    /// numbers become free. Returns `NotFound`.
    async fn delete_agent(&self, account: AccountId, id: AgentId) -> StoreResult<Removal>;

    /// Replaces the document if the version is still `version`, together with its references to documents,
    /// groups and agents, and keeps the new version. Returns `NotFound`; `Stale`, also if one of those is deleted;
    /// `Exists("number")`.
    async fn update_agent(
        &self,
        account: AccountId,
        id: AgentId,
        version: i64,
        document: Map<String, Value>,
    ) -> StoreResult<AgentRow>;

    /// Creates a contact. Returns `Exists("phoneNumber")`.
    async fn create_contact(
        &self,
        account: AccountId,
        new: NewContact,
        ticket: Option<&KeyTicket>,
    ) -> StoreResult<ContactRow>;

    /// Returns a contact. Returns `NotFound`.
    async fn contact(&self, account: AccountId, id: ContactId) -> StoreResult<ContactRow>;

    /// Returns the account's contacts, newest first, at most `limit`.
    async fn contacts(&self, account: AccountId, filter: ContactFilter, limit: i64) -> StoreResult<Vec<ContactRow>>;

    /// Replaces a contact's fields if the version is still `version`. Returns `NotFound`, `Stale`,
    /// `Exists("phoneNumber")`.
    async fn update_contact(
        &self,
        account: AccountId,
        id: ContactId,
        version: i64,
        new: NewContact,
    ) -> StoreResult<ContactRow>;

    /// Deletes a contact and frees its number. Returns `NotFound`.
    async fn delete_contact(&self, account: AccountId, id: ContactId) -> StoreResult<()>;

    /// Adds a number to the account's do-not-call list; an existing entry stays as it is. Returns `NotFound`
    /// if there is no such account.
    async fn add_do_not_call(&self, account: AccountId, number: &PhoneNumber) -> StoreResult<DoNotCallRow>;

    /// Adds a number like [`DirectoryStore::add_do_not_call`], because the person in a call asked for it.
    async fn opt_out(&self, account: AccountId, number: &PhoneNumber, call: AttemptId) -> StoreResult<()>;

    /// Returns the numbers on the account's do-not-call list that contain `search`, newest first, after `after`, at most
    /// `limit`.
    async fn do_not_call(
        &self,
        account: AccountId,
        search: Option<String>,
        after: Option<(Timestamp, PhoneNumber)>,
        limit: i64,
    ) -> StoreResult<Vec<DoNotCallRow>>;

    /// Returns those of these numbers that are on the account's do-not-call list.
    async fn among_do_not_call(&self, account: AccountId, numbers: &[PhoneNumber])
    -> StoreResult<HashSet<PhoneNumber>>;

    /// Removes a number from the list. Returns `NotFound`.
    async fn remove_do_not_call(&self, account: AccountId, number: &PhoneNumber) -> StoreResult<()>;
}
