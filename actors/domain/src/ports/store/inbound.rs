//! Incoming calls: the agent that answers a number, and the attempt of such a call.
//!
//! The attempt starts as `dialed`, because its leg exists. Fencing, recovery and outcomes are the same as for
//! any other attempt, and it is never queued again.

use async_trait::async_trait;
use serde_json::{Map, Value};

use super::{AgentRow, ClaimedAttempt, KeyTicket, StoreResult};
use crate::{
    dial_token::DialToken,
    id::{AccountId, AgentId, AttemptId, NodeId},
    phone_number::PhoneNumber,
    ports::carrier::CarrierCallId,
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
}

/// An incoming call with its attempt.
#[derive(Debug, Clone, PartialEq)]
pub struct ReceivedCall {
    /// The attempt, held by the calling node.
    pub attempt: ClaimedAttempt,
    /// Token that the proofs in the carrier's URLs are made from.
    pub token: DialToken,
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
