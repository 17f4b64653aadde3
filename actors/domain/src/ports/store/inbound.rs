//! Calls from outside: who answers a number, and the attempt that such a call becomes.
//!
//! The attempt is `dialed` from its first moment, as its leg stands: fencing, orphans and outcomes are those of every
//! other attempt, and nothing ever queues it again.

use async_trait::async_trait;

use super::{AgentRow, ClaimedAttempt, KeyTicket, StoreResult};
use crate::{
    dial_token::DialToken,
    id::{AccountId, AgentId, AttemptId, NodeId},
    phone_number::PhoneNumber,
    ports::carrier::CarrierCallId,
};

/// A call from outside that an agent is to take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewInboundCall {
    /// Its id, chosen by whoever holds the line for it.
    pub attempt: AttemptId,
    /// Owner of the agent.
    pub account: AccountId,
    /// Who answers.
    pub agent: AgentId,
    /// The carrier.
    pub carrier: String,
    /// The carrier's id of the leg.
    pub call: CarrierCallId,
    /// Who calls, or [`PhoneNumber::withheld`].
    pub from: PhoneNumber,
    /// The number that was called; [`PhoneNumber::withheld`] where the agent was asked for by its id.
    pub to: PhoneNumber,
    /// The idempotency key of the request that makes it.
    pub ticket: Option<KeyTicket>,
}

/// A call from outside that has its attempt.
#[derive(Debug, Clone, PartialEq)]
pub struct ReceivedCall {
    /// Held by the node that asked.
    pub attempt: ClaimedAttempt,
    /// What its carrier's addresses are proved by.
    pub token: DialToken,
}

/// Calls from outside.
#[async_trait]
pub trait InboundStore: Send + Sync {
    /// The agent that answers this number, whatever carrier it has it at; none if nobody does.
    async fn answering_agent(&self, number: &PhoneNumber) -> StoreResult<Option<AgentRow>>;

    /// Makes the attempt of a call from outside, `in_progress` since now, held by `node`. None when the agent no longer
    /// answers the number, or, asked for by its id, is gone. `Exists("call")` for a leg that has an attempt already, `Fenced` when the node is not
    /// registered or was declared dead, or the ticket is no longer held.
    async fn receive_call(&self, node: NodeId, new: NewInboundCall) -> StoreResult<Option<ReceivedCall>>;
}
