//! API keys of an account: its own key, and added keys with scopes.

use async_trait::async_trait;

use super::{
    directory::{Account, StoredApiKey},
    error::StoreResult,
};
use crate::{
    id::{AccountId, ApiKeyId, SessionId},
    scope::Scopes,
    time::Timestamp,
};

/// Maximum number of added keys of an account.
pub const ADDED_KEYS: usize = 100;

/// Name of an account's own key.
pub const OWN_KEY: &str = "account key";

/// Minimum interval between two records of a key's use, in microseconds.
pub const USE_RECORDED_EVERY_US: i64 = 60 * 1_000_000;

/// An API key without its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiKeyRow {
    /// Id of the key. The id of the account's own key is derived from the account's id, so a replacement keeps it.
    pub id: ApiKeyId,
    /// Account that owns the key.
    pub account: AccountId,
    /// Name; not unique.
    pub name: String,
    /// Public first part of the key.
    pub prefix: String,
    /// Rights of the key.
    pub scopes: Scopes,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time of the last use, up to a minute old; `None` if it was never used.
    pub last_used_at: Option<Timestamp>,
    /// Time from which the key is refused; `None` if it does not expire.
    pub expires_at: Option<Timestamp>,
}

impl ApiKeyRow {
    /// Returns the row of an account's own key, which has all scopes and never expires.
    pub fn own(account: AccountId, prefix: String, created_at: Timestamp, last_used_at: Option<Timestamp>) -> Self {
        Self {
            id: account.into(),
            account,
            name: OWN_KEY.to_owned(),
            prefix,
            scopes: Scopes::all(),
            created_at,
            last_used_at,
            expires_at: None,
        }
    }

    /// Returns whether this is the account's own key.
    pub fn is_own(&self) -> bool {
        self.id == self.account.into()
    }
}

/// A key that was looked up by its prefix.
#[derive(Clone, PartialEq, Eq)]
pub struct FoundKey {
    /// Hash of the key.
    pub stored: StoredApiKey,
    /// Account that owns the key.
    pub account: Account,
    /// The key.
    pub row: ApiKeyRow,
    /// Present time of the store.
    pub read_at: Timestamp,
}

/// Values of a new key.
#[derive(Clone)]
pub struct NewApiKey {
    /// Name.
    pub name: String,
    /// Stored form.
    pub stored: StoredApiKey,
    /// Rights of the key.
    pub scopes: Scopes,
    /// Time from which the key is refused.
    pub expires_at: Option<Timestamp>,
}

/// Change of a key; a field that is `None` stays.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ApiKeyChange {
    /// New name.
    pub name: Option<String>,
    /// New scopes.
    pub scopes: Option<Scopes>,
    /// New expiry; `Some(None)` removes it.
    pub expires_at: Option<Option<Timestamp>>,
}

/// API keys. A node of an older release accepts only accounts' own keys.
#[async_trait]
pub trait ApiKeyStore: Send + Sync {
    /// Returns the keys with this prefix. The caller compares hashes in constant time and checks the expiry.
    async fn api_keys(&self, prefix: &str) -> StoreResult<Vec<FoundKey>>;

    /// Replaces the account's own key; the old one stops working at once, and added keys stay. The sessions opened with
    /// it end, except `keep`, which goes on with the new key. Returns `NotFound` if there is no such account.
    async fn replace_api_key(&self, email: &str, key: StoredApiKey, keep: Option<SessionId>) -> StoreResult<()>;

    /// Adds a key. Returns `None` if the account has [`ADDED_KEYS`] already, `NotFound` if there is no such account.
    async fn add_api_key(&self, account: AccountId, new: NewApiKey) -> StoreResult<Option<ApiKeyRow>>;

    /// Returns all keys of an account, newest first.
    async fn keys_of_account(&self, account: AccountId) -> StoreResult<Vec<ApiKeyRow>>;

    /// Changes an added key. Returns `NotFound` for an unknown key and for the account's own key.
    async fn change_api_key(&self, account: AccountId, id: ApiKeyId, change: ApiKeyChange) -> StoreResult<ApiKeyRow>;

    /// Deletes an added key; it stops working at once. The sessions opened with it end, except `keep`, which goes on with
    /// the key's scopes and end. Returns `NotFound` for an unknown key and for the account's own key.
    async fn delete_api_key(&self, account: AccountId, id: ApiKeyId, keep: Option<SessionId>) -> StoreResult<()>;

    /// Records that a key is used now, unless a use within the last minute is already recorded.
    async fn api_key_used(&self, id: ApiKeyId) -> StoreResult<()>;
}
