//! Messages to the actor of single calls.

use std::{collections::HashMap, sync::Arc};

use ractor::RpcReplyPort;

use crate::lines::{HeldClaims, LinesNotice};
use domain::{
    agent::Agent,
    id::{AccountId, AgentId},
    ports::store::{KeyTicket, NewCall, QueuedCall, StoreError, WaitingCalls},
};

/// Why a call was not queued.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlaceError {
    /// The node takes no new work.
    #[error("unavailable: {0}")]
    Refused(&'static str),
    /// The store refused it.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Where the answer to a call that was asked for goes.
pub type PlaceReply = RpcReplyPort<Result<QueuedCall, PlaceError>>;

/// Messages to the actor of single calls. Results of its own tasks that are no longer wanted are dropped.
pub enum SingleCallsMessage {
    /// Queue a call; answered after its commit.
    Place {
        /// Owner.
        account: AccountId,
        /// The call.
        new: Box<NewCall>,
        /// The request's idempotency key.
        ticket: Option<KeyTicket>,
        /// What became of it.
        reply: PlaceReply,
    },
    /// Calls may be dialed: this process is registered with the store.
    Resume,
    /// Dial nothing more; the node is going down.
    Drain,
    /// Whether other nodes live. They dial what a node that is going down still queues.
    OtherNodes(bool),
    /// What the line pool tells.
    Lines(LinesNotice),
    /// The line pool was restarted: it knows of no wish.
    LinesRestarted,
    /// Look again for something to do: a timer, or a call that was just queued.
    Look,
    /// What waits was counted, own.
    Counted(Result<WaitingCalls, StoreError>),
    /// Claims arrived, own.
    Claimed {
        /// How many lines were set aside for them.
        lines: usize,
        /// The attempts; those not handed on to a call go back to the queue.
        claimed: Result<ReadyCalls, StoreError>,
    },
}

/// Claimed single calls with their agents.
pub struct ReadyCalls {
    /// The attempts.
    pub held: HeldClaims,
    /// The agent of each.
    pub agents: HashMap<AgentId, Arc<Agent>>,
}
