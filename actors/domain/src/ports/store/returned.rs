//! Live calls whose media socket broke, and which their carrier brings to whatever node answers: one that their owner cannot
//! take back becomes another node's, under the next epoch.

use std::{collections::BTreeMap, time::Duration};

use async_trait::async_trait;

use super::{CallDirection, Claim, ClaimedAttempt, EventFact, StoreResult, TurnFact};
use crate::{dial_token::DialToken, id::NodeId, phone_number::PhoneNumber, ports::carrier::CarrierCallId};

/// The name of the event that tells of each time a call went to another node.
pub const TAKEN_OVER: &str = "taken_over";

/// How often one call is taken over. What it does may be what its nodes died of.
pub const MOST_TAKEN_OVER: usize = 2;

/// The name of the event that tells when they are called back, as the agent promised; the last one holds.
pub const CALL_BACK: &str = "call_back";

/// The name of the event that tells that a tool outside the call was begun.
pub const TOOL_BEGUN: &str = "tool_begun";

/// The name of the event that tells that it has answered.
pub const TOOL: &str = "tool";

/// The event of a carrier that hands the call on.
pub const TRANSFER_TAKEN: &str = "transfer_taken";

/// The event of a transfer that reached nobody: the call goes on.
pub const TRANSFER_FAILED: &str = "transfer_failed";

/// The events of a call that whoever takes it over is told.
pub const EVENTS_FOR_HEIRS: [&str; 11] = [
    "agent_transfer",
    "agent_transfer_failed",
    "amd",
    CALL_BACK,
    "language",
    TOOL,
    TOOL_BEGUN,
    "transfer",
    TRANSFER_FAILED,
    TRANSFER_TAKEN,
    TAKEN_OVER,
];

/// A live call that its carrier brought to another node than its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReturningCall {
    /// Who held it when that was looked up, and since which epoch: whoever was faster keeps it.
    pub held: Claim,
    /// The carrier that brings it.
    pub carrier: String,
    /// The carrier's id of the leg that asks.
    pub call: CarrierCallId,
}

/// A live call as its new owner finds it.
#[derive(Debug, Clone, PartialEq)]
pub struct ReturnedCall {
    /// Held by the node that asked, under the next epoch.
    pub attempt: ClaimedAttempt,
    /// Who began it.
    pub direction: CallDirection,
    /// What its carrier's addresses are proved by.
    pub token: DialToken,
    /// Our number on the line.
    pub caller_id: Option<PhoneNumber>,
    /// Milliseconds since the answer.
    pub elapsed_ms: i64,
    /// What was said, in order.
    pub turns: Vec<TurnFact>,
    /// Those of [`EVENTS_FOR_HEIRS`], oldest first; without the one that tells of this time.
    pub events: Vec<EventFact>,
    /// What was collected so far, entity to value.
    pub collected: BTreeMap<String, String>,
    /// The person is on the account's do-not-call list: they wished so in this call, or it would not have been placed.
    pub opted_out: bool,
}

/// How long a dead process's calls that were answered are left alone: their carriers may bring them to a living node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Patience {
    /// The carriers that ask how a call goes on whose media socket broke.
    pub carriers: Vec<String>,
    /// After their owner's last sign of life.
    pub talking: Duration,
    /// The same where the carrier was told to hand the call on: it asks when nobody answers there.
    pub handed_on: Duration,
}

impl Patience {
    /// Whether a call of such a carrier is left alone, `silent` after its owner's last sign of life; none where that is
    /// not known.
    pub fn waits(&self, carrier: &str, is_handed_on: bool, silent: Option<Duration>) -> bool {
        let most = match is_handed_on {
            true => self.handed_on,
            false => self.talking,
        };
        silent.is_some_and(|silent| silent < most) && self.carriers.iter().any(|known| known == carrier)
    }
}

/// Live calls that go from node to node.
#[async_trait]
pub trait ReturnStore: Send + Sync {
    /// Makes a call that was sent and is not over this node's, `answered` from now on if it was not before, and adds the
    /// event [`TAKEN_OVER`]. `Fenced` when somebody else holds it by now or it is over, or when `node` does not count as
    /// alive; `Exists("call")` when the attempt is of another carrier or has another leg, or the leg another attempt;
    /// `Exists("heirs")` when it was taken over [`MOST_TAKEN_OVER`] times already: nothing has changed then.
    async fn take_over(&self, node: NodeId, returning: ReturningCall) -> StoreResult<ReturnedCall>;

    /// Keeps what a call has collected so far, for whoever takes it over and for readers. `Fenced`.
    async fn keep_collected(&self, claim: Claim, collected: BTreeMap<String, String>) -> StoreResult<()>;
}
