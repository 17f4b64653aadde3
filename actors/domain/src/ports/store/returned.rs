//! Live calls whose media socket broke and which their carrier brings to whichever node answers. If the owner
//! cannot take a call back, it moves to another node under the next epoch.

use std::collections::BTreeMap;

use async_trait::async_trait;

use super::{
    attempts::{CallDirection, Claim, ClaimedAttempt},
    calls_in_progress::{OPERATOR_JOINED, OPERATOR_LEFT},
    error::StoreResult,
};
pub use crate::node_times::Patience;
use crate::{
    dial_token::DialToken,
    history::{EventFact, TurnFact},
    id::NodeId,
    phone_number::PhoneNumber,
    ports::carrier::CarrierCallId,
};

/// Name of the event for each time a call moved to another node.
pub const TAKEN_OVER: &str = "taken_over";

/// Maximum number of takeovers of one call. The call itself may have crashed its nodes.
pub const MOST_TAKEN_OVER: usize = 2;

/// Name of the event with the call-back time that the agent promised; the last one applies.
pub const CALL_BACK: &str = "call_back";

/// Name of the event for the callee's wish never to be called again.
pub const OPTED_OUT: &str = "opted_out";

/// Name of the event for the start of a tool outside the call.
pub const TOOL_BEGUN: &str = "tool_begun";

/// Name of the event for such a tool's answer.
pub const TOOL: &str = "tool";

/// Name of the event for a carrier that transfers the call.
pub const TRANSFER_TAKEN: &str = "transfer_taken";

/// Name of the event for a transfer that reached nobody, so that the call continues.
pub const TRANSFER_FAILED: &str = "transfer_failed";

/// Name of the fact for an agent that wants a person, whether or not a transfer follows. The account is told.
pub const PERSON_WANTED: &str = "person_wanted";

/// Name of the event for the end of a call.
pub const ENDED: &str = "ended";

/// Name of the event for a client's note to the model.
pub const INSTRUCTIONS: &str = "instructions";

/// Name of the event for each move in the conversation graph.
pub const WORKFLOW_HOP: &str = "workflow_hop";

/// Name of the event for the words that tell that an AI speaks: `text`, and whether they were `heard` to their end.
pub const DISCLOSURE: &str = "disclosure";

/// Events of a call that its new owner receives.
pub const EVENTS_FOR_HEIRS: [&str; 16] = [
    "agent_transfer",
    "agent_transfer_failed",
    "amd",
    CALL_BACK,
    DISCLOSURE,
    INSTRUCTIONS,
    "language",
    OPERATOR_JOINED,
    OPERATOR_LEFT,
    TOOL,
    TOOL_BEGUN,
    "transfer",
    TRANSFER_FAILED,
    TRANSFER_TAKEN,
    TAKEN_OVER,
    WORKFLOW_HOP,
];

/// Returns the place of the last hand-over to another agent that did not fail.
pub fn last_handed_over(events: &[EventFact]) -> Option<usize> {
    let mut failed = false;
    events.iter().rposition(|event| match event.name.as_str() {
        "agent_transfer_failed" => {
            failed = true;
            false
        }
        "agent_transfer" => !std::mem::take(&mut failed),
        _ => false,
    })
}

/// A live call that its carrier brought to another node than its owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReturningCall {
    /// Claim found by the lookup: if the owner changed since, this node does not get the call.
    pub held: Claim,
    /// Carrier that brings it.
    pub carrier: String,
    /// The carrier's id of the leg.
    pub call: CarrierCallId,
}

/// A live call as its new owner receives it.
#[derive(Debug, Clone, PartialEq)]
pub struct ReturnedCall {
    /// The attempt, held by the calling node under the next epoch.
    pub attempt: ClaimedAttempt,
    /// Direction of the call.
    pub direction: CallDirection,
    /// Token that the proofs in the carrier's URLs are made from.
    pub token: DialToken,
    /// Our number on the line.
    pub caller_id: Option<PhoneNumber>,
    /// Milliseconds since the answer.
    pub elapsed_ms: i64,
    /// Turns so far, in order.
    pub turns: Vec<TurnFact>,
    /// The [`EVENTS_FOR_HEIRS`] of the call, oldest first, without the event of this takeover.
    pub events: Vec<EventFact>,
    /// Values collected so far, by entity.
    pub collected: BTreeMap<String, String>,
    /// Whether the person is on the account's do-not-call list. They asked for it in this call, or it would
    /// not have been placed.
    pub opted_out: bool,
}

/// Live calls that move between nodes.
#[async_trait]
pub trait ReturnStore: Send + Sync {
    /// Moves a call that was sent and is not over to this node, sets it to `answered` if it was not, and adds
    /// the event [`TAKEN_OVER`]. On an error nothing changes. Returns `Fenced` if another node holds it by
    /// now, if it is over, or if `node` does not count as alive. Returns `Exists("call")` if the attempt
    /// belongs to another carrier or has another leg, or if the leg has another attempt. Returns
    /// `Exists("heirs")` if it was taken over [`MOST_TAKEN_OVER`] times already.
    async fn take_over(&self, node: NodeId, returning: ReturningCall) -> StoreResult<ReturnedCall>;

    /// Stores the values collected so far, for a new owner and for readers. Returns `Fenced`.
    async fn keep_collected(&self, claim: Claim, collected: BTreeMap<String, String>) -> StoreResult<()>;
}
