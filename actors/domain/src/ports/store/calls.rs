//! Single calls: attempts that belong to no campaign, and the end of any attempt that still waits.

use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Map, Value};

use super::{ClaimedAttempt, ConversationRow, KeyTicket, StoreResult};
use crate::{
    id::{AccountId, AgentId, AttemptId, NodeId},
    phone_number::PhoneNumber,
    time::Timestamp,
};

/// How long after its due time a single call may still be dialed. Whoever asked for it does not expect it to ring
/// long after, such as when the service was down meanwhile.
pub const DIAL_CALL_WITHIN: Duration = Duration::from_secs(300);

/// The `errorMessage` of a single call that could not be dialed in that time.
pub const NOT_DIALED_IN_TIME: &str = "carrier-error: not dialed within 5 minutes; no line was free in that time, the \
     number was busy with another call, or the service, the carrier or the agent's providers were away";

/// What it begins with instead where something is known of why: the last that was found.
pub const NOT_DIALED_SINCE: &str = "carrier-error: not dialed within 5 minutes: ";

/// A call to be placed.
#[derive(Debug, Clone, PartialEq)]
pub struct NewCall {
    /// Who dials; must belong to the account (checked by the caller).
    pub agent: AgentId,
    /// Who is dialed.
    pub phone_number: PhoneNumber,
    /// The callee's name.
    pub name: Option<String>,
    /// Values of placeholders: strings, numbers and booleans.
    pub variables: Map<String, Value>,
}

/// What became of a call that was asked for.
#[derive(Debug, Clone, PartialEq)]
pub enum QueuedCall {
    /// It waits for a line.
    Queued(Box<ConversationRow>),
    /// The number is on the account's do-not-call list: nothing was made.
    DoNotCall,
}

/// The single calls of the whole store that wait.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WaitingCalls {
    /// May be dialed now.
    pub due: i64,
    /// When the first of the others is due.
    pub next_due: Option<Timestamp>,
    /// Waited too long ([`DIAL_CALL_WITHIN`]): to be ended by [`CallStore::expire_calls`].
    pub expired: i64,
}

/// Single calls.
#[async_trait]
pub trait CallStore: Send + Sync {
    /// Queues a call that is due now, and settles the idempotency key. `NotFound` for an unknown account or agent,
    /// `Fenced` when the key is no longer held.
    async fn create_call(
        &self,
        account: AccountId,
        new: NewCall,
        ticket: Option<&KeyTicket>,
    ) -> StoreResult<QueuedCall>;

    /// What waits.
    async fn waiting_calls(&self) -> StoreResult<WaitingCalls>;

    /// Claims at most `limit` single calls that are due and have not waited too long, the longest due first.
    async fn claim_calls(&self, node: NodeId, limit: i64) -> StoreResult<Vec<ClaimedAttempt>>;

    /// Ends single calls that waited too long: `failed`, [`NOT_DIALED_IN_TIME`] or [`NOT_DIALED_SINCE`]. Returns how many.
    async fn expire_calls(&self) -> StoreResult<u64>;

    /// Ends an attempt that waits in the queue, of a campaign or not: `cancelled`, as its contact. `NotFound`, and
    /// `Stale` when it does not wait (any more).
    async fn cancel_queued(&self, account: AccountId, attempt: AttemptId) -> StoreResult<()>;

    /// The values of placeholders that a single call was given; none for any other attempt.
    async fn call_variables(&self, attempt: AttemptId) -> StoreResult<Map<String, Value>>;
}
