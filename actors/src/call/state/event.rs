//! Events of a call and the effects it asks for.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Judgement, OperatorLeft, Rules};

use crate::{
    audio_stream::{Say, SpeechId, StreamEvent},
    call::{CallCommand, CallTimer, outcome::Ending},
};
use domain::{
    callback_time::SpokenTime,
    id::{AgentId, ToolId},
    ports::{
        carrier::{CallProgress, CarrierCallId, Destination, DialError, TransferKind},
        language_model::{LanguageError, ReplyEvent},
        store::{Fact, StoreError},
    },
    workflow::{Candidate, Question},
};

/// Answer to the permit request, as far as the state machine needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PermitAnswer {
    /// Granted, with time left to send.
    Granted,
    /// Granted too late to send.
    Late,
    /// Refused; the attempt was already put back where it belongs.
    Refused,
    /// The number must not be dialed: `do-not-call` or `restricted`. This is already written.
    Forbidden(&'static str),
    /// A safeguard never allows the call. Holds the reason, which is already written.
    NotAllowed(String),
    /// The claim is no longer ours.
    Lost,
    /// The database did not answer, so the permit may or may not be on disk.
    Unanswered,
}

/// Carrier's answer to a transfer request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TransferAnswer {
    /// Accepted.
    Taken,
    /// Refused, with the reason.
    Refused(String),
    /// Unknown because the answer was lost, with the reason.
    Lost(String),
}

/// Reason why another agent cannot take the call over.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AgentUnavailable {
    /// The store has no such agent, or is unavailable.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The agent's stored document cannot be read.
    #[error("{0}")]
    Unreadable(String),
    /// The look-up panicked.
    #[error("the look-up crashed")]
    Crashed,
    /// The store did not answer in time.
    #[error("no answer")]
    NoAnswer,
}

/// Result of a tool run.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolAnswer {
    /// Number of the run within the call.
    pub run: u64,
    /// Result, or the reason why there is none, in words for the model.
    pub result: Result<Value, String>,
    /// Duration of the run in milliseconds.
    pub took_ms: u64,
}

/// Input of the state machine.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// Answer to the permit request.
    Permitted(PermitAnswer),
    /// The carrier answered the dial, or the call was found in its listing.
    Dialed(Result<CarrierCallId, DialError>),
    /// The carrier has no ringing or live call for a dial with an unknown outcome, and will not have one any more.
    NotPlaced,
    /// The store has bound another call to this attempt, or this call to another attempt.
    NotOurLeg {
        /// Whether this call belongs to another attempt.
        anothers: bool,
    },
    /// Report of the carrier.
    Progress(CallProgress),
    /// The media socket opened.
    MediaOpened,
    /// The carrier asks how the call goes on, as it has no media socket.
    CameBack,
    /// The carrier answered the transfer request.
    TransferAsked {
        /// Number of the request within the call.
        try_no: u32,
        /// Answer of the carrier.
        answer: TransferAnswer,
    },
    /// The carrier will not open the media socket again.
    NotReopened {
        /// Number of the request within the call.
        try_no: u32,
    },
    /// Report of the audio stream.
    Stream(StreamEvent),
    /// The audio stream is gone.
    StreamGone {
        /// Whether it ended by a panic or an error.
        crashed: bool,
    },
    /// Piece of the present reply; `None` is its end.
    Reply(Option<Result<ReplyEvent, LanguageError>>),
    /// Names of the tools outside the call that the model may use from now on.
    ToolsOffered(Vec<String>),
    /// A tool outside the call has answered.
    ToolAnswered(ToolAnswer),
    /// The router answered.
    RouterAnswered {
        /// Number of the question within the walk.
        number: u64,
        /// Its choice, and the values that were asked for.
        judgement: Judgement,
    },
    /// Arguments for the tools of a node were chosen.
    ArgumentsChosen {
        /// Number of the choice within the walk.
        number: u64,
        /// Names of the tools with their arguments; empty if one of the tools is unavailable.
        chosen: Vec<(String, Value)>,
    },
    /// Another agent was looked up to take the call over.
    AgentFound {
        /// Number of the hand-over within the call.
        try_no: u32,
        /// Rules of the call from then on, or the reason why the agent cannot be had.
        found: Result<Box<Rules>, AgentUnavailable>,
    },
    /// A timer fired.
    Timer(CallTimer),
    /// A client's command that is possible now.
    Commanded(Box<CallCommand>),
    /// An operator takes the call.
    OperatorJoined {
        /// Name of the key or user.
        by: String,
    },
    /// The operator who has the call leaves it.
    OperatorLeft(OperatorLeft),
    /// Request to end the call. A call that was not sent may be placed later.
    HangUp,
    /// Request to end the call for good.
    End,
}

/// Action that the state machine asks for.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Ask the store for the permit.
    AskPermit,
    /// Send the one dial request.
    Dial,
    /// Write the leg's id and tell the line pool.
    WriteDialed(CarrierCallId),
    /// Write that the call was answered.
    WriteAnswered,
    /// Write that the dial's outcome is unknown, and look for the call in the carrier's listing.
    WriteUnknown,
    /// Store the values collected so far, for a node that takes the call over.
    KeepCollected,
    /// Put the callee on the account's do-not-call list.
    WriteOptOut,
    /// Schedule another call to the callee at this time, once this call is over.
    PlanCallBack(SpokenTime),
    /// Start the audio stream on the media leg that just came.
    OpenStream,
    /// Speak a text.
    Say(Say),
    /// Let a held speech play.
    Release(SpeechId),
    /// Drop what is not yet played.
    StopSpeaking,
    /// Set whether the user's voice interrupts.
    AllowBargeIn(bool),
    /// Press keys.
    Press(String),
    /// Ask the carrier to transfer the call.
    Transfer {
        /// Number of the request within the call.
        try_no: u32,
        /// Kind of transfer.
        kind: TransferKind,
        /// Destination.
        to: Destination,
    },
    /// Let the operator who was accepted last speak in place of the agent.
    SeatOperator,
    /// Let the operator speak no more.
    UnseatOperator,
    /// Ask the carrier to open the media socket again.
    ReopenMedia {
        /// Number of the request within the call.
        try_no: u32,
    },
    /// Close the media socket.
    CloseStream,
    /// Ask the model, dropping an unfinished reply.
    StartReply,
    /// Do the same with the agent as it talks in this node.
    StartReplyIn(String),
    /// Drop the reply.
    CancelReply,
    /// Run a tool outside the call.
    RunTool {
        /// Number of the run within the call.
        run: u64,
        /// Name of the tool, one of those on offer.
        name: String,
        /// Arguments from the model.
        arguments: Value,
    },
    /// Use a node's changes of the agent from now on, in place of those of the node before. None for no changes.
    AdoptNode(Option<String>),
    /// Set values of placeholders.
    SetVariables(BTreeMap<String, String>),
    /// Ask the router, dropping an unanswered question.
    AskRouter {
        /// Number of the question within the walk.
        number: u64,
        /// Conditions to choose from.
        candidates: Vec<Candidate>,
        /// Values to get from the conversation.
        questions: Vec<Question>,
    },
    /// Choose arguments for the tools of a node.
    ChooseArguments {
        /// Number of the choice within the walk.
        number: u64,
        /// Ids of the tools.
        tools: Vec<ToolId>,
    },
    /// Drop the question to the router, or the choice of arguments.
    CancelRouter,
    /// Look up another agent after a delay.
    LookUpAgent {
        /// Number of the hand-over within the call.
        try_no: u32,
        /// Id of the agent, within the account.
        agent: AgentId,
        /// Delay before the look-up, in milliseconds.
        after_ms: u64,
    },
    /// Make the agent that was looked up the call's agent.
    AdoptAgent {
        /// Number of the hand-over within the call.
        try_no: u32,
    },
    /// Switch the agent to another of its languages.
    SwitchLanguage(String),
    /// Start or restart a timer, in milliseconds.
    SetTimer(CallTimer, u64),
    /// Stop a timer.
    CancelTimer(CallTimer),
    /// Record a fact.
    Record(Fact),
    /// End the leg over REST. If there is no id, it is looked up first.
    HangUpLeg(Option<CarrierCallId>),
    /// End the call actor: write this outcome, tell the line pool, stop. Comes exactly once.
    Finish(Ending),
}
