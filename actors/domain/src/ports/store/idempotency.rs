//! Idempotency keys: a client's name for a request, so that sending it again creates nothing twice.
//!
//! A key is reserved before the work, settled in the transaction that creates the resource, and kept for a
//! day. Only a successful request uses it up.

use async_trait::async_trait;
use uuid::Uuid;

use super::error::StoreResult;
use crate::id::AccountId;

/// Time that a reservation lasts without renewal, in microseconds. After it the key of a request that died is
/// free again.
pub const KEY_LEASE_US: i64 = 30 * 1_000_000;

/// Time that a settled key answers its request again, in microseconds.
pub const KEY_KEPT_US: i64 = 24 * 3_600 * 1_000_000;

/// Status that is stored with a settled key for a request that created something.
pub const CREATED: i64 = 201;

/// A reserved key. The operation that creates the resource settles it in the same transaction. If the
/// reservation is no longer held, that operation returns `Fenced` and creates nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyTicket {
    /// Owner of the key.
    pub account: AccountId,
    /// The key as the client sent it.
    pub key: String,
    /// New with every reservation.
    pub lease: Uuid,
}

/// Result of a reservation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reservation {
    /// The key now belongs to this request: do the work and settle the key, or release it.
    Fresh(KeyTicket),
    /// The same request succeeded before.
    Replay {
        /// The status of its answer.
        status: i64,
        /// Id of the resource it created.
        resource: String,
    },
    /// The key was used with another body or another operation.
    OtherRequest,
    /// The same request is in progress.
    InProgress,
}

/// Idempotency keys.
#[async_trait]
pub trait IdempotencyStore: Send + Sync {
    /// Reserves a key for a request, identified by its operation and the hash of its body, or returns the
    /// state of the key. Also deletes a few expired keys. Returns `NotFound` if there is no such account.
    async fn reserve_key(
        &self,
        account: AccountId,
        key: &str,
        operation: &str,
        request_hash: &str,
    ) -> StoreResult<Reservation>;

    /// Renews the lease of a request that takes longer. Returns `Fenced` if the key no longer belongs to it.
    async fn renew_key(&self, ticket: &KeyTicket) -> StoreResult<()>;

    /// Frees the key of a failed request. A key that was settled, or belongs to another request by now, stays.
    async fn release_key(&self, ticket: &KeyTicket) -> StoreResult<()>;
}
