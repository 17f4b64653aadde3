//! Single calls, which belong to no campaign; also cancels any attempt that still waits.

use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Map, Value};

use super::{attempts::ClaimedAttempt, error::StoreResult, idempotency::KeyTicket, records::ConversationRow};
use crate::{
    id::{AccountId, AgentId, AttemptId, NodeId},
    phone_number::PhoneNumber,
    time::Timestamp,
};

/// Time after its due time during which a single call may still be dialed. The client does not expect it to
/// ring much later, for example after an outage of the service.
pub const DIAL_CALL_WITHIN: Duration = Duration::from_secs(300);

/// The `errorMessage` of a single call that could not be dialed in that time.
pub const NOT_DIALED_IN_TIME: &str = "carrier-error: not dialed within 5 minutes; no line was free in that time, the \
     number was busy with another call, or the service, the carrier or the agent's providers were away";

/// Beginning of the `errorMessage` if the last reason for the delay is known.
pub const NOT_DIALED_SINCE: &str = "carrier-error: not dialed within 5 minutes: ";

/// A call to be placed.
#[derive(Debug, Clone, PartialEq)]
pub struct NewCall {
    /// Agent that calls; must belong to the account (checked by the caller).
    pub agent: AgentId,
    /// Number to call.
    pub phone_number: PhoneNumber,
    /// The callee's name.
    pub name: Option<String>,
    /// Values of placeholders: strings, numbers and booleans.
    pub variables: Map<String, Value>,
}

/// Result of a request for a call.
#[derive(Debug, Clone, PartialEq)]
pub enum QueuedCall {
    /// It waits for a line.
    Queued(Box<ConversationRow>),
    /// The number is on the account's do-not-call list; no call was created.
    DoNotCall,
}

/// The waiting single calls of the whole store.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WaitingCalls {
    /// Calls that may be dialed now.
    pub due: i64,
    /// Time when the first of the others is due.
    pub next_due: Option<Timestamp>,
    /// Calls that waited too long ([`DIAL_CALL_WITHIN`]) and must be ended by [`CallStore::expire_calls`].
    pub expired: i64,
}

/// Single calls.
#[async_trait]
pub trait CallStore: Send + Sync {
    /// Queues a call that is due now, and settles the idempotency key. Returns `NotFound` for an unknown
    /// account or agent, and `Fenced` if the key is no longer held.
    async fn create_call(
        &self,
        account: AccountId,
        new: NewCall,
        ticket: Option<&KeyTicket>,
    ) -> StoreResult<QueuedCall>;

    /// Returns the waiting calls.
    async fn waiting_calls(&self) -> StoreResult<WaitingCalls>;

    /// Claims at most `limit` single calls that are due and have not waited too long, the longest due first.
    async fn claim_calls(&self, node: NodeId, limit: i64) -> StoreResult<Vec<ClaimedAttempt>>;

    /// Ends single calls that waited too long as `failed`, with [`NOT_DIALED_IN_TIME`] or
    /// [`NOT_DIALED_SINCE`]. Returns their number.
    async fn expire_calls(&self) -> StoreResult<u64>;

    /// Ends an attempt that waits in the queue as `cancelled`, with its contact, whether or not it belongs to
    /// a campaign. Returns `NotFound`, or `Stale` if it does not wait, or no longer.
    async fn cancel_queued(&self, account: AccountId, attempt: AttemptId) -> StoreResult<()>;

    /// Returns the values of placeholders given for a single call or a call from outside; none for any other attempt.
    async fn call_variables(&self, attempt: AttemptId) -> StoreResult<Map<String, Value>>;
}
