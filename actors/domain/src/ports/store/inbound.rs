//! Incoming calls: the agent that answers a number, and the attempt of such a call.
//!
//! The attempt starts as `dialed`, because its leg exists. Fencing, recovery and outcomes are the same as for
//! any other attempt, and it is never queued again.

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{attempts::ClaimedAttempt, directory::AgentRow, error::StoreResult, idempotency::KeyTicket};
use crate::{
    dial_token::DialToken,
    id::{AccountId, AgentId, AttemptId, NodeId},
    phone_number::PhoneNumber,
    ports::carrier::CarrierCallId,
    time::Timestamp,
};

/// An incoming call that an agent should take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewInboundCall {
    /// Its id, chosen by the holder of its line.
    pub attempt: AttemptId,
    /// Owner of the agent.
    pub account: AccountId,
    /// Agent that answers.
    pub agent: AgentId,
    /// Its version.
    pub agent_version: i64,
    /// The carrier.
    pub carrier: String,
    /// The carrier's id of the leg.
    pub call: CarrierCallId,
    /// Number of the caller, or [`PhoneNumber::withheld`].
    pub from: PhoneNumber,
    /// Number that was called; [`PhoneNumber::withheld`] if the agent was requested by its id.
    pub to: PhoneNumber,
    /// Idempotency key of the request that creates it.
    pub ticket: Option<KeyTicket>,
    /// Values of placeholders that its client gave, with the language to begin in.
    pub variables: Map<String, Value>,
    /// The test that the call is; none for other calls.
    pub test: Option<TestCall>,
}

/// A call with which an agent is tried out. It makes no events, deliveries or analysis, is not counted, and is deleted a
/// day after its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestCall {
    /// Document of the agent if it is not saved. Its id is new, and no reader of agents finds it.
    pub unsaved: Option<Map<String, Value>>,
    /// Effect of the agent's actions.
    pub actions: TestActions,
    /// Medium of the conversation.
    pub mode: TestMode,
}

impl TestCall {
    /// Returns the row of the agent if it is not saved.
    pub fn unsaved_row(&self, account: AccountId, id: AgentId, now: Timestamp) -> Option<AgentRow> {
        let document = self.unsaved.clone()?;
        Some(AgentRow {
            id,
            account,
            document,
            version: 1,
            created_at: now,
            updated_at: now,
        })
    }
}

/// Effect of what an agent does outside a test call: tools, appointments and transfers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TestActions {
    /// They are only said to have happened.
    Simulated,
    /// They happen.
    Real,
}

/// Medium of a test call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TestMode {
    /// Audio over a WebSocket.
    #[default]
    Voice,
    /// Texts, without audio and speech providers.
    Text,
}

/// An incoming call with its attempt.
#[derive(Debug, Clone, PartialEq)]
pub struct ReceivedCall {
    /// The attempt, held by the calling node.
    pub attempt: ClaimedAttempt,
    /// Token that the proofs in the carrier's URLs are made from.
    pub token: DialToken,
    /// Effect of its actions if it is a test.
    pub test: Option<TestActions>,
}

/// Incoming calls.
#[async_trait]
pub trait InboundStore: Send + Sync {
    /// Returns the agent that answers this number, at whatever carrier; none if no agent does.
    async fn answering_agent(&self, number: &PhoneNumber) -> StoreResult<Option<AgentRow>>;

    /// Creates the attempt of an incoming call, `in_progress` from now on and held by `node`. Returns none if
    /// the agent no longer answers the number, or was requested by its id and is deleted. Returns
    /// `Exists("call")` if the leg already has an attempt. Returns `Fenced` if the node is not registered or
    /// was declared dead, or if the ticket is no longer held.
    async fn receive_call(&self, node: NodeId, new: NewInboundCall) -> StoreResult<Option<ReceivedCall>>;
}
