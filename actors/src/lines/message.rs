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
    call::{CallMessage, CallReport, NoOutcome, Obstacle},
    dial_gate::HoldsBack,
    supervision::Reports,
};
use domain::{
    admission::Level,
    id::{AccountId, AgentId, AttemptId, CampaignId},
    ports::{
        carrier::{InboundCall, InboundRefusal, WayBack},
        store::{Claim, KeyTicket, Outcome},
    },
};

/// Who dials. Lines and dialing rate are shared among dialers in turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Dialer {
    /// A campaign.
    Campaign(CampaignId),
    /// The calls that belong to no campaign, all together.
    SingleCalls,
    /// Nobody: the calls from outside, all together. They take lines without a wish and are told nothing.
    Inbound,
}

/// How a node leaves, from the moment it is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Leave {
    /// How long calls have to end, in milliseconds.
    pub grace_ms: u64,
    /// How long calls from outside are taken yet, in milliseconds: there are other nodes, and whoever sends the calls has to
    /// hear that this one takes none.
    pub notice_ms: u64,
}

/// The agent that a call asks for by its id.
#[derive(Debug, Clone)]
pub struct WantedAgent {
    /// Its owner.
    pub account: AccountId,
    /// Which.
    pub agent: AgentId,
    /// The idempotency key of the request that asks.
    pub ticket: Option<KeyTicket>,
    /// Values of the placeholders in this call.
    pub variables: Map<String, Value>,
}

/// Where the answer to an announced call goes.
pub type InboundReply = RpcReplyPort<Result<WayBack, InboundRefusal>>;

impl From<Option<CampaignId>> for Dialer {
    fn from(campaign: Option<CampaignId>) -> Self {
        campaign.map_or(Self::SingleCalls, Self::Campaign)
    }
}

/// What the line pool tells a dialer.
pub enum LinesNotice {
    /// So many lines are granted; those not used are given back.
    Granted(usize),
    /// None of so many lines is free.
    NoLineFree {
        /// How many there are.
        lines: usize,
    },
    /// A call of it is over. A dialer that was gone meanwhile looks at the store when it comes back.
    CallEnded {
        /// Which.
        attempt: AttemptId,
        /// How, or why there is no outcome.
        outcome: Result<Outcome, NoOutcome>,
    },
    /// The carrier takes no call at present.
    MetObstacle(Obstacle),
    /// Its calls that live: the answer to [`LinesMessage::Attach`].
    Attached(Vec<AttemptId>),
}

/// Where a dialer is told of its grants and its calls' ends.
pub type Requester = Reports<LinesNotice>;

/// Messages to the line pool.
pub enum LinesMessage {
    /// A dialer wants lines. It is granted what is free now, at the dialing rate; the rest of the wish waits and is
    /// granted later. A new wish replaces the dialer's old one; zero withdraws it.
    RequestLines {
        /// Who.
        dialer: Dialer,
        /// How many.
        want: usize,
        /// Where grants go.
        requester: Requester,
    },
    /// Lines granted but not needed. They name their dialer, so that a grant is never given back twice.
    ReturnLines {
        /// Who had them.
        dialer: Dialer,
        /// How many.
        lines: usize,
    },
    /// A dialer has waited long for its wish; it is told if that is because no line is free. The dialing rate is not
    /// in the way: it makes everybody wait their turn.
    StillWaiting(Dialer),
    /// A dialer wants no more lines for now. Grants on their way it gives back itself.
    WithdrawWish(Dialer),
    /// A dialer's actor is gone: its wish and its unused grants are taken back.
    Withdraw(Dialer),
    /// Place a call on a granted line.
    Dial(Box<CallPlan>),
    /// A carrier announces a call from outside: it takes a free line at once.
    Inbound {
        /// The call.
        call: InboundCall,
        /// The agent that is asked for; none asks for whoever answers the number.
        wanted: Option<WantedAgent>,
        /// The way to it.
        reply: InboundReply,
    },
    /// A call from outside has its attempt on disk, or is not taken, own.
    Received {
        /// The call.
        call: InboundCall,
        /// The attempt for which a line is held.
        attempt: AttemptId,
        /// What is to be begun.
        taken: Result<HeldInbound, InboundRefusal>,
    },
    /// A call from outside that somebody answers needs a line, own.
    TakeLine {
        /// The call.
        call: InboundCall,
        /// Its attempt.
        attempt: AttemptId,
        /// Its owner, where it has yet to be brought a media socket by whoever began it.
        waits_for_socket: Option<AccountId>,
        /// Whether it has one now.
        reply: RpcReplyPort<Result<(), InboundRefusal>>,
    },
    /// The attempt of a call from outside takes long to be made, own.
    TooSlow {
        /// The call.
        call: InboundCall,
        /// Its attempt.
        attempt: AttemptId,
    },
    /// An attempt that was made too late has waited long enough for its call to be announced again, own.
    LetGo {
        /// The call.
        call: InboundCall,
        /// Its attempt.
        attempt: AttemptId,
    },
    /// What a call reports.
    Call {
        /// Which.
        attempt: AttemptId,
        /// Its report.
        report: CallReport,
    },
    /// A carrier reports on a leg, or has or asks for its media socket.
    ToCall {
        /// The carrier whose endpoint it came to; a call of another carrier takes nothing from it.
        carrier: &'static str,
        /// The attempt named in the address.
        attempt: AttemptId,
        /// `Progress`, `AskMedia` or `Media`.
        message: CallMessage,
    },
    /// A carrier asks how a call goes on whose media socket broke.
    CameBack {
        /// What it shows.
        asking: Asking,
        /// How it goes on.
        reply: ReturnReply,
    },
    /// A live call of another process is this node's by now, or not, own.
    Returned {
        /// Which.
        attempt: AttemptId,
        /// What is to be begun; none where the store is slow.
        taken: Option<Result<HeldReturn, NotGoingOn>>,
    },
    /// A restarted dialer asks for its live calls, answered by `Attached`; their ends go to it from now on.
    Attach {
        /// Which.
        dialer: Dialer,
        /// Its new actor.
        requester: Requester,
    },
    /// Hang up every call of a campaign.
    HangUpCampaign(CampaignId),
    /// End one call for good: hung up if it was answered, else cancelled and not queued again.
    EndCall {
        /// Which.
        attempt: AttemptId,
        /// Whether it lives here; what it makes of it is told by its row.
        reply: RpcReplyPort<bool>,
    },
    /// Asks whether an attempt is held here: one that is being made, in a call, or being settled.
    Holds {
        /// Which.
        attempt: AttemptId,
        /// Whether it is.
        reply: RpcReplyPort<bool>,
    },
    /// A call actor is gone (sent to itself from a supervision event).
    ChildGone {
        /// Which.
        attempt: AttemptId,
        /// The panic's or error's text, if it crashed.
        crash: Option<String>,
    },
    /// A crashed call's outcome was written, own.
    CrashSettled {
        /// Which.
        attempt: AttemptId,
        /// What was written; none when the attempt was no longer ours.
        outcome: Option<Outcome>,
    },
    /// The dialing rate allows more grants (a timer).
    Tick,
    /// So many nodes share the dialing rate; this one was just told that it lives.
    Nodes(usize),
    /// This process stood still, or another one says that it took a call over: which calls are still its own?
    DoubtClaims {
        /// The one in doubt; none is all of them.
        attempt: Option<AttemptId>,
    },
    /// These are not, own.
    ClaimsLost(Vec<Claim>),
    /// What the node gives up because it has too much to do; told again and again.
    Load(Level),
    /// Grant nothing more; hang up what still lives after the grace time.
    Drain(Leave),
    /// Whoever sends calls from outside had time to hear that this node leaves, own.
    NoticeOver,
    /// From now on no call from outside is taken, and no live call of another node taken over. How many calls are left, with
    /// those on their way here and lines that are granted.
    TakeNoMore(RpcReplyPort<usize>),
    /// The grace time of a drain is over, own.
    GraceOver,
    /// Figures.
    Inspect(RpcReplyPort<LinesSnapshot>),
    /// Makes a call or its audio stream panic, for tests of supervision.
    #[cfg(feature = "testkit")]
    Sabotage {
        /// Which call.
        attempt: AttemptId,
        /// The stream instead of the call.
        stream: bool,
    },
}

/// The line pool at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LinesSnapshot {
    /// Lines in all.
    pub lines: usize,
    /// Lines granted and not yet used.
    pub granted: usize,
    /// Live calls.
    pub calls: Vec<AttemptId>,
    /// Why nothing is dialed at present, if so.
    pub holds_back: Option<HoldsBack>,
}
