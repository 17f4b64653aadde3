//! Browser sessions of an account, and the login links that open one.

use async_trait::async_trait;

use super::{directory::Account, error::StoreResult};
use crate::{
    id::{AccountId, SessionId},
    scope::Scopes,
    secret_token::TokenHash,
    time::Timestamp,
};

/// Maximum number of sessions of an account. A further one ends the oldest.
pub const SESSIONS: usize = 20;

/// Time without a request after which a session ends, in microseconds: 12 hours.
pub const SESSION_IDLE_US: i64 = 12 * 3_600 * 1_000_000;

/// Time after which a session ends in any case, in microseconds: 30 days.
pub const SESSION_LASTS_US: i64 = 30 * 24 * 3_600 * 1_000_000;

/// Time for which a login link can be used, in microseconds: 10 minutes.
pub const LOGIN_LINK_LASTS_US: i64 = 10 * 60 * 1_000_000;

/// A session that has not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRow {
    /// Id of the session.
    pub id: SessionId,
    /// Account that the session belongs to.
    pub account: AccountId,
    /// Name of the key that it was opened with; `None` for a login link.
    pub key_name: Option<String>,
    /// Rights: those of the key, as it is now, or all for a login link.
    pub scopes: Scopes,
    /// End of the key; `None` if it does not expire.
    pub key_expires_at: Option<Timestamp>,
    /// Time of signing in.
    pub created_at: Timestamp,
    /// Time of the last request, up to a minute old.
    pub last_used_at: Timestamp,
    /// End of the session, however often it is used.
    pub expires_at: Timestamp,
}

/// A session and its account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundSession {
    /// The account.
    pub account: Account,
    /// The session.
    pub row: SessionRow,
    /// Present time of the store.
    pub read_at: Timestamp,
}

/// Proof with which a session is opened.
#[derive(Debug, Clone)]
pub enum OpenedWith {
    /// A key that was checked.
    Key {
        /// Account of the key.
        account: AccountId,
        /// Hash of the key.
        hash: [u8; 32],
        /// Name of the key.
        name: String,
        /// Scopes of the key.
        scopes: Scopes,
    },
    /// A login link with this hash, which is used up.
    Link(TokenHash),
}

/// Sessions. A session that was opened with a key is valid while that key is.
#[async_trait]
pub trait SessionStore: Send + Sync {
    /// Opens a session and ends the account's oldest one if it has [`SESSIONS`] already. Returns `NotFound` if the login
    /// link is unknown, used or too old, or the key has become invalid.
    async fn open_session(&self, token: TokenHash, with: OpenedWith) -> StoreResult<FoundSession>;

    /// Returns the session with this token, unless it has ended.
    async fn session(&self, token: TokenHash) -> StoreResult<Option<FoundSession>>;

    /// Returns the sessions of an account that have not ended, newest first.
    async fn sessions_of(&self, account: AccountId) -> StoreResult<Vec<SessionRow>>;

    /// Ends a session. Returns `NotFound` if it is unknown or has ended.
    async fn end_session(&self, account: AccountId, id: SessionId) -> StoreResult<()>;

    /// Records that a session is used now, unless a use within the last minute is already recorded.
    async fn session_used(&self, id: SessionId) -> StoreResult<()>;

    /// Adds a login link for the account with this e-mail address. Returns `NotFound` if there is none.
    async fn add_login_link(&self, email: &str, token: TokenHash) -> StoreResult<()>;

    /// Returns the first accounts, oldest first.
    async fn first_accounts(&self, limit: i64) -> StoreResult<Vec<Account>>;
}
