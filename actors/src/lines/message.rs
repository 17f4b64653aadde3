//! Messages to the line pool.

use ractor::RpcReplyPort;
use serde::Serialize;
use serde_json::{Map, Value};

use super::{
    inbound::HeldInbound,
    taken_over::{Asking, HeldReturn, NotGoingOn, ReturnReply},
};
use crate::{
    attempt::CallPlan,
    call::{
        CallCommand, CallMessage, CallReport, CallSnapshot, CommandAnswer, NoOutcome, Obstacle, OperateRefusal,
        OperatorLine,
    },
    dial_gate::HoldsBack,
    supervision::Reports,
};
use domain::{
    admission::Level,
    id::{AccountId, AgentId, AttemptId, CampaignId},
    ports::{
        carrier::{InboundCall, InboundRefusal, WayBack},
        store::{Claim, KeyTicket, Outcome, TestCall, TestMode},
    },
};

/// A dialer. Dialers share lines and dialing rate in turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Dialer {
    /// A campaign.
    Campaign(CampaignId),
    /// All calls that belong to no campaign.
    SingleCalls,
    /// All inbound calls. They take lines without a request and get no notices.
    Inbound,
}

/// Times with which a node shuts down, counted from the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Leave {
    /// Time in milliseconds that calls have to end.
    pub grace_ms: u64,
    /// Time in milliseconds for which inbound calls are still taken if there are other nodes, so that their sender
    /// notices that this node leaves.
    pub notice_ms: u64,
}

/// An agent that a call asks for by its id.
#[derive(Debug, Clone)]
pub struct WantedAgent {
    /// Account that owns it.
    pub account: AccountId,
    /// Id of the agent.
    pub agent: AgentId,
    /// Idempotency key of the request.
    pub ticket: Option<KeyTicket>,
    /// Placeholder values for this call.
    pub variables: Map<String, Value>,
    /// The test that the call is. The agent then need not take calls, and may not be saved.
    pub test: Option<TestCall>,
}

impl WantedAgent {
    /// Returns whether the call is held in text.
    pub(crate) fn is_text(&self) -> bool {
        self.test.as_ref().is_some_and(|test| test.mode == TestMode::Text)
    }
}

/// Receiver of the answer to an announced call.
pub type InboundReply = RpcReplyPort<Result<WayBack, InboundRefusal>>;

impl From<Option<CampaignId>> for Dialer {
    fn from(campaign: Option<CampaignId>) -> Self {
        campaign.map_or(Self::SingleCalls, Self::Campaign)
    }
}

/// Notices of the line pool to a dialer.
pub enum LinesNotice {
    /// This many lines are granted. Unused ones are returned.
    Granted(usize),
    /// No line is free.
    NoLineFree {
        /// Number of lines in all.
        lines: usize,
    },
    /// A call of the dialer is over. A dialer that was down reads the store when it comes back.
    CallEnded {
        /// Id of the call's attempt.
        attempt: AttemptId,
        /// The outcome, or the reason why there is none.
        outcome: Result<Outcome, NoOutcome>,
    },
    /// The carrier takes no calls at present.
    MetObstacle(Obstacle),
    /// The dialer's live calls, in answer to [`LinesMessage::Attach`].
    Attached(Vec<AttemptId>),
}

/// Receiver of a dialer's grants and call ends.
pub type Requester = Reports<LinesNotice>;

/// Messages to the line pool.
pub enum LinesMessage {
    /// A dialer requests lines. The free ones are granted now, at the dialing rate, and the rest later. A new
    /// request replaces the dialer's old one; zero withdraws it.
    RequestLines {
        /// The dialer.
        dialer: Dialer,
        /// Number of lines.
        want: usize,
        /// Receiver of the grants.
        requester: Requester,
    },
    /// Granted lines are returned unused. They name their dialer, so that a grant is never returned twice.
    ReturnLines {
        /// The dialer that had them.
        dialer: Dialer,
        /// Number of lines.
        lines: usize,
    },
    /// A dialer has waited long for its lines. It is notified if no line is free. Waiting for the dialing
    /// rate does not count, since that only makes all dialers take turns.
    StillWaiting(Dialer),
    /// A dialer wants no more lines for now. It returns the grants on their way itself.
    WithdrawWish(Dialer),
    /// A dialer's actor is gone: its request and its unused grants are taken back.
    Withdraw(Dialer),
    /// Places a call on a granted line.
    Dial(Box<CallPlan>),
    /// A carrier announces an inbound call, which takes a free line at once.
    Inbound {
        /// The announced call.
        call: InboundCall,
        /// The agent that is asked for. `None` asks for the agent of the number.
        wanted: Option<WantedAgent>,
        /// Receiver of the call's callback addresses.
        reply: InboundReply,
    },
    /// The attempt of an inbound call is on disk, or the call is not taken. Sent by the pool's own task.
    Received {
        /// The announced call.
        call: InboundCall,
        /// The attempt for which a line is held.
        attempt: AttemptId,
        /// The attempt to begin, or the refusal.
        taken: Result<HeldInbound, InboundRefusal>,
    },
    /// An inbound call that an agent answers needs a line. Sent by the pool's own task.
    TakeLine {
        /// The announced call.
        call: InboundCall,
        /// Attempt of the call.
        attempt: AttemptId,
        /// Account of a call whose media socket its creator has yet to open.
        waits_for_socket: Option<AccountId>,
        /// Whether it has a line now.
        reply: RpcReplyPort<Result<(), InboundRefusal>>,
    },
    /// Creating the attempt of an inbound call takes long. Sent by the pool's own task.
    TooSlow {
        /// The announced call.
        call: InboundCall,
        /// Attempt of the call.
        attempt: AttemptId,
    },
    /// An attempt created too late has waited long enough for its call to be announced again. Sent by the
    /// pool's own task.
    LetGo {
        /// The announced call.
        call: InboundCall,
        /// Attempt of the call.
        attempt: AttemptId,
    },
    /// A call reports.
    Call {
        /// Attempt of the call.
        attempt: AttemptId,
        /// The report.
        report: CallReport,
    },
    /// A carrier reports on a leg, or opens or asks for its media socket.
    ToCall {
        /// The carrier whose webhook received it. Calls of other carriers ignore it.
        carrier: &'static str,
        /// The attempt named in the address.
        attempt: AttemptId,
        /// `Progress`, `AskMedia` or `Media`.
        message: CallMessage,
    },
    /// A carrier asks how a call with a broken media socket goes on.
    CameBack {
        /// Data of the request.
        asking: Asking,
        /// Receiver of the answer.
        reply: ReturnReply,
    },
    /// A live call of another process now belongs to this node, or does not. Sent by the pool's own task.
    Returned {
        /// Attempt of the call.
        attempt: AttemptId,
        /// The call to begin, or `None` if the store is slow.
        taken: Option<Result<HeldReturn, NotGoingOn>>,
    },
    /// A restarted dialer asks for its live calls, answered by `Attached`. From now on it also gets their ends.
    Attach {
        /// The dialer.
        dialer: Dialer,
        /// Receiver of the grants: the dialer's new actor.
        requester: Requester,
    },
    /// Hangs up every call of a campaign.
    HangUpCampaign(CampaignId),
    /// Ends one call for good: an answered call is hung up, others are cancelled and not queued again.
    EndCall {
        /// Attempt of the call.
        attempt: AttemptId,
        /// Whether it lives here. The result is in its row.
        reply: RpcReplyPort<bool>,
    },
    /// A client's command to a live call.
    Command {
        /// Attempt of the call.
        attempt: AttemptId,
        /// The command.
        command: Box<CallCommand>,
        /// Reply port for the answer.
        reply: RpcReplyPort<CommandAnswer>,
    },
    /// A client follows a live call, or sees it in a list.
    Follow {
        /// Attempt of the call.
        attempt: AttemptId,
        /// `Follow` or `Present`. If the call is not here, the first is answered with `None`, and the other not at all.
        message: CallMessage,
    },
    /// An operator asks for a live call.
    Operate {
        /// Attempt of the call.
        attempt: AttemptId,
        /// Name of the key or user.
        by: String,
        /// Receives the operator's connection, or the reason why there is none.
        reply: RpcReplyPort<Result<OperatorLine, OperateRefusal>>,
    },
    /// Asks for a snapshot of a live call. There is no answer if it does not live here.
    InspectCall {
        /// Attempt of the call.
        attempt: AttemptId,
        /// Receives the snapshot.
        reply: RpcReplyPort<CallSnapshot>,
    },
    /// Asks whether an attempt is held here: being created, in a call, or being settled.
    Holds {
        /// The attempt.
        attempt: AttemptId,
        /// Whether it is held.
        reply: RpcReplyPort<bool>,
    },
    /// A call actor is gone (sent to itself from a supervision event).
    ChildGone {
        /// Attempt of the call.
        attempt: AttemptId,
        /// Text of the panic or error, if it crashed.
        crash: Option<String>,
    },
    /// A crashed call's outcome was written. Sent by the pool's own task.
    CrashSettled {
        /// Attempt of the call.
        attempt: AttemptId,
        /// The outcome written, or `None` if the attempt was no longer ours.
        outcome: Option<Outcome>,
    },
    /// The dialing rate allows more grants (a timer).
    Tick,
    /// Number of nodes that share the dialing rate. Sent after this node was confirmed as alive.
    Nodes(usize),
    /// This process was suspended, or another one reports that it took a call over: checks which calls are
    /// still its own.
    DoubtClaims {
        /// The attempt in doubt, or `None` for all.
        attempt: Option<AttemptId>,
    },
    /// These claims are lost. Sent by the pool's own task.
    ClaimsLost(Vec<Claim>),
    /// Level of work the node gives up because of overload. Sent repeatedly.
    Load(Level),
    /// Grants nothing more, and hangs up the remaining calls after the grace time.
    Drain(Leave),
    /// The notice time of a drain is over. Sent by the pool's own task.
    NoticeOver,
    /// Takes no inbound calls and no live calls of other nodes from now on. Answers with the number of calls
    /// left, including those on their way here and granted lines.
    TakeNoMore(RpcReplyPort<usize>),
    /// The grace time of a drain is over. Sent by the pool's own task.
    GraceOver,
    /// Asks for a snapshot.
    Inspect(RpcReplyPort<LinesSnapshot>),
    /// Makes a call or its audio stream panic, for tests of supervision.
    #[cfg(feature = "testkit")]
    Sabotage {
        /// Attempt of the call.
        attempt: AttemptId,
        /// Whether the stream panics instead of the call.
        stream: bool,
    },
}

/// A snapshot of the line pool.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LinesSnapshot {
    /// Number of lines.
    pub lines: usize,
    /// Number of lines granted and not used yet.
    pub granted: usize,
    /// Attempts of live calls.
    pub calls: Vec<AttemptId>,
    /// Reason why nothing is dialed at present, if any.
    pub holds_back: Option<HoldsBack>,
}
