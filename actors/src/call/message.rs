//! Messages to a call, its reports, and its snapshot.

use std::sync::Arc;

use ractor::{ActorId, RpcReplyPort};
use serde::Serialize;
use serde_json::Value;

use super::{
    command::{CallCommand, CommandAnswer},
    operator::OperatorLine,
    outcome::{NoOutcome, Obstacle},
    owner::Owner,
    state::{AgentUnavailable, Event, OperateRefusal, OperatorLeft},
};
use crate::{
    audio_stream::StreamEvent,
    live_feed::{Following, LivePresent},
};
use domain::{
    agent::Agent,
    id::AgentId,
    knowledge::Excerpt,
    ports::{
        carrier::{CarrierCallId, CarrierError, DialError, LegReport, WayBack},
        language_model::{LanguageError, ReplyEvent},
        media_leg::MediaLeg,
        store::{Claim, Outcome, Permit, StoreError},
        tool_runner::ToolOffer,
    },
    time::Timestamp,
};

/// Answer to a carrier that asks how a call goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GoesOn {
    /// Addresses of the call.
    pub back: WayBack,
    /// How often this process was asked before.
    pub asked_before: u32,
}

/// Reason why a callback or a media socket was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LegRefusal {
    /// No live call of this node has this attempt.
    #[error("no such call on this node")]
    UnknownCall,
    /// The proof in the address does not match the call's present permit.
    #[error("proof does not match")]
    BadProof,
    /// The call has another leg; this one is hung up.
    #[error("call has another leg")]
    AnotherLeg,
    /// The call has a media socket already, or has ended.
    #[error("call takes no media now")]
    NotNow,
}

/// Reply port for a carrier's report or media socket.
pub type LegReply = RpcReplyPort<Result<(), LegRefusal>>;

/// How much of a reply is prepared during a pause that may end the user's turn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Speculation {
    /// Nothing: the model is asked when the turn is over.
    Off,
    /// The model is asked with the words so far.
    Text,
    /// Like `Text`, and the first piece of the reply is synthesised.
    #[default]
    Voice,
}

/// Messages to a call. Results of the call's own tasks carry the generation they belong to; stale ones are dropped.
pub enum CallMessage {
    /// Event for the state machine: a request to end the call, or the result of one of its own tasks.
    Happened(Event),
    /// The carrier reports on the leg.
    Progress {
        /// Proof from the callback's address.
        proof: String,
        /// Content of the report.
        report: LegReport,
        /// Tells whether the report was accepted.
        reply: LegReply,
    },
    /// The carrier asks to open the media socket.
    AskMedia {
        /// Proof from the socket's address.
        proof: String,
        /// Whether the socket may also replace an open one.
        replacing: bool,
        /// Tells whether a socket would be accepted now.
        reply: LegReply,
    },
    /// The carrier opened the media socket.
    Media {
        /// Proof from the socket's address.
        proof: String,
        /// The opened socket.
        leg: MediaLeg,
        /// Tells whether the socket was accepted.
        reply: LegReply,
    },
    /// From an own task: the call's owner was looked up before a request for its media is answered.
    OwnerKnown {
        /// Owner of the call.
        owner: Owner,
        /// Pending request: `AskMedia` or `Media`.
        asked: Box<CallMessage>,
    },
    /// The carrier asks how a call goes on after its media socket broke.
    CameBack {
        /// Proof from the address.
        proof: String,
        /// Carrier's id of the leg.
        leg: CarrierCallId,
        /// Tells how the call goes on.
        reply: RpcReplyPort<Result<GoesOn, LegRefusal>>,
    },
    /// Event of an audio stream.
    Stream {
        /// Number of the stream within the call, from 1. Events of a replaced stream are ignored.
        number: u32,
        /// Event that the stream reports.
        event: StreamEvent,
    },
    /// The audio stream is gone (sent to itself from a supervision event).
    StreamGone {
        /// Stream that is gone; `None` means the present one.
        stream: Option<ActorId>,
        /// Text of the panic or error, if the stream crashed.
        crash: Option<String>,
    },
    /// From an own task: the permit was given or refused.
    Permitted(Result<Permit, StoreError>),
    /// From an own task: the carrier answered the dial.
    Dialed(Result<CarrierCallId, DialError>),
    /// From an own task: the carrier answered the transfer request.
    TransferAsked {
        /// Number of the transfer request.
        try_no: u32,
        /// Answer of the carrier.
        answer: Result<(), CarrierError>,
    },
    /// From an own task: a part of a reply.
    Reply {
        /// Generation of the reply.
        generation: u64,
        /// Piece of the reply; `None` is its end.
        event: Option<Result<ReplyEvent, LanguageError>>,
    },
    /// From an own task: passages that the model is given, in a test call.
    KnowledgeGiven {
        /// Generation of the reply.
        generation: u64,
        /// Passages of the agent's documents.
        passages: Vec<Excerpt>,
    },
    /// From an own task: the agent's tools outside the call are known.
    ToolsOffered {
        /// Number of the agent within the call, from 0.
        generation: u64,
        /// Tools of the agent.
        offers: Arc<[ToolOffer]>,
    },
    /// From an own task: arguments for the tools of a node were chosen.
    ArgumentsChosen {
        /// Number of the choice.
        number: u64,
        /// The tools; empty if one of them is unavailable.
        offers: Arc<[ToolOffer]>,
        /// Arguments by the names of the tools.
        chosen: Vec<(String, Value)>,
    },
    /// From an own task: another agent was looked up.
    AgentFound {
        /// Number of the hand-over.
        try_no: u32,
        /// The agent with its defaults filled in, or the reason why it cannot be had.
        found: Result<(AgentId, Arc<Agent>), AgentUnavailable>,
    },
    /// From an own task: fixed sentences in the agent's language were made.
    PhrasesMade,
    /// From an own task: a timer fired.
    Timer {
        /// Generation of the timer's setting.
        generation: u64,
        /// Timer that fired.
        timer: CallTimer,
    },
    /// From an own task: the outcome was written, or refused.
    Finished(Result<(), StoreError>),
    /// A client's command.
    Command {
        /// The command.
        command: Box<CallCommand>,
        /// Reply port for the answer.
        reply: RpcReplyPort<CommandAnswer>,
    },
    /// A client follows the call.
    Follow {
        /// Name of the client if it also listens.
        listener: Option<String>,
        /// Reply port for its place. The line pool answers `None` if it has no such call.
        reply: RpcReplyPort<Option<Following>>,
    },
    /// A client sees the call in a list.
    Present(RpcReplyPort<LivePresent>),
    /// A listener left.
    ListenerLeft {
        /// Name of the client.
        by: String,
    },
    /// An operator asks for the call.
    Operate {
        /// Name of the key or user.
        by: String,
        /// Receives the operator's connection, or the reason why there is none.
        reply: RpcReplyPort<Result<OperatorLine, OperateRefusal>>,
    },
    /// An operator leaves the call.
    OperatorLeft {
        /// Number of the operator within the call. Others than the present one are ignored.
        number: u32,
        /// How the operator leaves.
        left: OperatorLeft,
    },
    /// Asks for a snapshot of the call.
    Inspect(RpcReplyPort<CallSnapshot>),
    /// Panics, or makes the audio stream panic, for tests of supervision.
    #[cfg(feature = "testkit")]
    Sabotage {
        /// Whether the stream panics instead of the call.
        stream: bool,
    },
}

/// Timers of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CallTimer {
    /// The call has rung long enough.
    Ring,
    /// The call was answered, but no media socket came.
    MediaWait,
    /// The callee has said nothing since picking up: greet.
    PickUp,
    /// The user has been silent for `turnTimeout`.
    Turn,
    /// The user has been silent for `silenceEndCallTimeout`.
    Silence,
    /// `maxDurationSeconds` is near: say the closing sentence.
    MaxDuration,
    /// The reply takes long: say a filler.
    Filler,
    /// The closing sentence had its time.
    Closing,
    /// A machine was given enough time.
    Machine,
    /// A machine has been silent for a while.
    Quiet,
    /// A dial with an unknown outcome was matched to no call in time.
    Settle,
    /// The pick-up is over: from now on the user's voice interrupts.
    BargeIn,
    /// The carrier, or the audio stream, did not report the end.
    EndReport,
    /// The pause lasts: a reply may be prepared.
    Speculate,
    /// The user presses no more keys.
    Keys,
    /// A transfer had its time.
    Transfer,
    /// A broken media socket is requested again, either during a transfer or because the carrier should have
    /// brought the call back and has not.
    Reopen,
}

/// Phase of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CallPhase {
    /// Waiting for the permit.
    Scheduled,
    /// The carrier was asked to dial.
    Dialing,
    /// Ringing.
    Ringing,
    /// Answered; the pick-up rule runs.
    Answered,
    /// The greeting plays.
    Greeting,
    /// The user has the turn.
    Listening,
    /// A reply is being made.
    Thinking,
    /// The agent speaks.
    Speaking,
    /// A machine answered: a mailbox, a menu, or an assistant that asks who is calling.
    Voicemail,
    /// The call is being transferred.
    Transferring,
    /// An operator speaks in place of the agent.
    Operator,
    /// The last words play.
    Closing,
    /// The call has ended.
    Ended,
}

/// State of a call at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CallSnapshot {
    /// Present phase.
    pub phase: CallPhase,
    /// Number of turns so far.
    pub turns: usize,
    /// Name of the operator who has the call.
    pub operator: Option<String>,
    /// Whether it is held in text.
    pub is_text: bool,
}

/// Reports of a call to the line pool.
pub enum CallReport {
    /// The carrier gave the leg an id. The line pool hangs the leg up if the call dies.
    LegKnown(CarrierCallId),
    /// The call was answered at this time. The line pool repeats this to a store that lost it.
    Answered(Timestamp),
    /// It is certain that the attempt is not dialed by this call: it got no permit, or too late.
    NotDialed,
    /// The carrier takes no calls at present.
    MetObstacle(Obstacle),
    /// The call has ended. Holds the outcome that is on disk, or the reason why there is none.
    Ended(Result<Outcome, NoOutcome>),
    /// Another node has taken the call over.
    Lost(Claim),
}
