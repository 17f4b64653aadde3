//! Idempotency keys: a client's name for a request, so that sending it again makes nothing twice.
//!
//! A key is reserved before the work, settled in the transaction that makes the resource, and kept for a day. Only a
//! success uses it up.

use async_trait::async_trait;
use uuid::Uuid;

use super::StoreResult;
use crate::id::AccountId;

/// For how long a reservation holds without a sign of life, in microseconds: the key of a request that died is free
/// then.
pub const KEY_LEASE_US: i64 = 30 * 1_000_000;

/// For how long a settled key answers its request again, in microseconds.
pub const KEY_KEPT_US: i64 = 24 * 3_600 * 1_000_000;

/// The status a settled key keeps for a request that made something.
pub const CREATED: i64 = 201;

/// A reserved key: who makes the resource settles it in the same transaction. `Fenced` there when the reservation is
/// no longer held, and then nothing is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyTicket {
    /// Whose key.
    pub account: AccountId,
    /// The key as the client sent it.
    pub key: String,
    /// New with every reservation.
    pub lease: Uuid,
}

/// The answer to a reservation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reservation {
    /// The key is this request's: do the work and settle, or release.
    Fresh(KeyTicket),
    /// The same request succeeded before.
    Replay {
        /// The status of its answer.
        status: i64,
        /// The id of what it made.
        resource: String,
    },
    /// Another body or another operation uses this key.
    OtherRequest,
    /// The same request is being worked on.
    InProgress,
}

/// Idempotency keys.
#[async_trait]
pub trait IdempotencyStore: Send + Sync {
    /// Reserves a key for a request, known by its operation and the hash of its body; or says what became of it.
    /// Also clears away a few keys whose day is over. `NotFound` without the account.
    async fn reserve_key(
        &self,
        account: AccountId,
        key: &str,
        operation: &str,
        request_hash: &str,
    ) -> StoreResult<Reservation>;

    /// A sign of life of a request that takes longer than the lease. `Fenced` when the key is no longer its own.
    async fn renew_key(&self, ticket: &KeyTicket) -> StoreResult<()>;

    /// The request failed: the key is free again. One that was settled, or is another's by now, stays.
    async fn release_key(&self, ticket: &KeyTicket) -> StoreResult<()>;
}
