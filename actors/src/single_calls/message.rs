//! Messages to the actor of single calls.

use std::{collections::HashMap, sync::Arc};

use ractor::RpcReplyPort;

use crate::lines::{HeldClaims, LinesNotice};
use domain::{
    agent::Agent,
    id::{AccountId, AgentId},
    ports::store::{KeyTicket, NewCall, QueuedCall, StoreError, WaitingCalls},
};

/// Reason why a call was not queued.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlaceError {
    /// The node takes no new work.
    #[error("unavailable: {0}")]
    Refused(&'static str),
    /// The store refused it.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Receiver of the answer to a call request.
pub type PlaceReply = RpcReplyPort<Result<QueuedCall, PlaceError>>;

/// Messages to the actor of single calls. Results of its own tasks that are no longer wanted are dropped.
pub enum SingleCallsMessage {
    /// Queues a call. Answered after its commit.
    Place {
        /// Account that owns the call.
        account: AccountId,
        /// The call.
        new: Box<NewCall>,
        /// The request's idempotency key.
        ticket: Option<KeyTicket>,
        /// Receiver of the result.
        reply: PlaceReply,
    },
    /// Calls may be dialed, since this process is registered with the store.
    Resume,
    /// The node is shutting down: dial nothing more.
    Drain,
    /// Tells whether other nodes are alive. They dial the calls that a node still queues while it shuts down.
    OtherNodes(bool),
    /// A notice of the line pool.
    Lines(LinesNotice),
    /// The line pool was restarted and has lost all requests.
    LinesRestarted,
    /// A timer fired or a call was just queued: look for something to do.
    Look,
    /// The waiting calls were counted, sent by the actor's own task.
    Counted(Result<WaitingCalls, StoreError>),
    /// Claims arrived, sent by the actor's own task.
    Claimed {
        /// Number of lines set aside for them.
        lines: usize,
        /// The attempts. Those not handed to a call return to the queue.
        claimed: Result<ReadyCalls, StoreError>,
    },
}

/// Claimed single calls with their agents.
pub struct ReadyCalls {
    /// The attempts.
    pub held: HeldClaims,
    /// The agents with their versions, by id.
    pub agents: HashMap<AgentId, (Arc<Agent>, i64)>,
}
