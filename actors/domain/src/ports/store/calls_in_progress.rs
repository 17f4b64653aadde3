//! Calls in progress of an account, over all nodes, as the store knows them.

use super::{attempts::CallDirection, callee_record::CalleeRecord};
use crate::{
    id::{AgentId, AttemptId, CampaignId},
    phone_number::PhoneNumber,
    time::Timestamp,
};

/// Event of a call that an operator has taken over. Its `by` names the operator.
pub const OPERATOR_JOINED: &str = "operator_joined";

/// Event of a call that an operator has given back, lost or left.
pub const OPERATOR_LEFT: &str = "operator_left";

/// A call between its dial or announcement and its end.
#[derive(Debug, Clone, PartialEq)]
pub struct CallInProgress {
    /// Id of the attempt.
    pub id: AttemptId,
    /// Agent with which it began.
    pub agent: AgentId,
    /// The agent's name.
    pub agent_name: String,
    /// Campaign and its name, if it belongs to one.
    pub campaign: Option<(CampaignId, String)>,
    /// The other person at the start of the call.
    pub callee: CalleeRecord,
    /// Number of the other person, who was called or who called.
    pub phone_number: PhoneNumber,
    /// Direction of the call.
    pub direction: CallDirection,
    /// Time when it was dialed or came in.
    pub started_at: Timestamp,
    /// Time of the answer.
    pub answered_at: Option<Timestamp>,
    /// Operator that has the call now.
    pub operator: Option<CallOperator>,
    /// Whether it is a test call.
    pub is_test: bool,
}

/// A person who has taken over a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallOperator {
    /// Name, as in the events of the call.
    pub by: String,
    /// Time when the takeover was stored.
    pub since: Timestamp,
}

impl CallOperator {
    /// Reads the `detail` of an [`OPERATOR_JOINED`] event that was stored at this time.
    pub fn of_detail(detail: &str, since: Timestamp) -> Self {
        let detail: serde_json::Value = serde_json::from_str(detail).unwrap_or_default();
        let by = detail["by"].as_str().unwrap_or_default().to_owned();
        Self { by, since }
    }
}

/// Filters of calls in progress.
#[derive(Debug, Clone, Default)]
pub struct InProgressFilter {
    /// Agent.
    pub agent: Option<AgentId>,
    /// Campaign.
    pub campaign: Option<CampaignId>,
    /// Only test calls, or only others.
    pub is_test: Option<bool>,
    /// The cursor: list only calls after this one (newest first by start, then id).
    pub after: Option<(Timestamp, AttemptId)>,
}
