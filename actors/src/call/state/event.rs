//! What happens to a call, and what it wants done.

use serde_json::Value;

use super::Rules;

use crate::{
    audio_stream::{Say, SpeechId, StreamEvent},
    call::{CallTimer, outcome::Ending},
};
use domain::{
    callback_time::SpokenTime,
    id::AgentId,
    ports::{
        carrier::{CallProgress, CarrierCallId, Destination, DialError, TransferKind},
        language_model::{LanguageError, ReplyEvent},
        store::{Fact, StoreError},
    },
};

/// The answer to the permit request, as far as the state machine cares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PermitAnswer {
    /// Granted, and there is still time to send.
    Granted,
    /// Granted too late to send.
    Late,
    /// Refused; the attempt is where it belongs.
    Refused,
    /// The number may not be dialed: `do-not-call` or `restricted`, written already.
    Forbidden(&'static str),
    /// A safeguard never allows it, for this reason, written already.
    NotAllowed(String),
    /// The claim is no longer ours.
    Lost,
    /// The database did not answer; the permit may be on disk or not.
    Unanswered,
}

/// The carrier's answer to a wish to hand the call on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TransferAnswer {
    /// It has taken the wish.
    Taken,
    /// It has not, for this reason.
    Refused(String),
    /// Nobody knows: the answer was lost, for this reason.
    Lost(String),
}

/// Why another agent cannot take the call over.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AgentUnavailable {
    /// The store has no such agent, or cannot be asked.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Its stored document cannot be read.
    #[error("{0}")]
    Unreadable(String),
    /// The look-up panicked.
    #[error("the look-up crashed")]
    Crashed,
    /// The store did not answer in time.
    #[error("no answer")]
    NoAnswer,
}

/// What a run of a tool came to.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolAnswer {
    /// Which run of the call.
    pub run: u64,
    /// Its result, or why there is none, in words for the model.
    pub result: Result<Value, String>,
    /// How long it took, in milliseconds.
    pub took_ms: u64,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// The permit's answer.
    Permitted(PermitAnswer),
    /// The carrier's answer to the dial, or a call found in its listing.
    Dialed(Result<CarrierCallId, DialError>),
    /// The carrier has nothing of a lost dial that rings or talks, and will not have it any more.
    NotPlaced,
    /// The store has bound another call to this attempt, or this call to another attempt.
    NotOurLeg {
        /// It is another attempt's call.
        anothers: bool,
    },
    /// The carrier reported.
    Progress(CallProgress),
    /// The media socket opened.
    MediaOpened,
    /// The carrier asks how the call goes on, as it has no media socket.
    CameBack,
    /// The carrier's answer to the wish to hand the call on.
    TransferAsked {
        /// Which wish of the call.
        try_no: u32,
        /// Its answer.
        answer: TransferAnswer,
    },
    /// The carrier will not open the media socket again.
    NotReopened {
        /// Which wish of the call.
        try_no: u32,
    },
    /// The audio stream reported.
    Stream(StreamEvent),
    /// The audio stream is gone.
    StreamGone {
        /// By a panic or an error, not by its own end.
        crashed: bool,
    },
    /// A piece of the present reply; none is its end.
    Reply(Option<Result<ReplyEvent, LanguageError>>),
    /// The tools outside the call that the model may use from now on, by name.
    ToolsOffered(Vec<String>),
    /// A tool outside the call has answered.
    ToolAnswered(ToolAnswer),
    /// Another agent was looked up, to take the call over.
    AgentFound {
        /// Which hand-over of the call.
        try_no: u32,
        /// The figures and texts that govern the call from then on, or why it cannot be had.
        found: Result<Box<Rules>, AgentUnavailable>,
    },
    /// A timer fired.
    Timer(CallTimer),
    /// We are to end the call; one that was not sent may be placed later.
    HangUp,
    /// We are to end the call for good.
    End,
}

/// Something to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Ask the store for the permit.
    AskPermit,
    /// Send the one dial request.
    Dial,
    /// Write the leg's id, and tell the line pool.
    WriteDialed(CarrierCallId),
    /// Write that it was answered.
    WriteAnswered,
    /// Write that the dial's fate is not known, and look for the call in the carrier's listing.
    WriteUnknown,
    /// Keep what was collected so far, for whoever takes the call over.
    KeepCollected,
    /// Put the callee on the account's do-not-call list.
    WriteOptOut,
    /// Call the callee again then, once this call is over.
    PlanCallBack(SpokenTime),
    /// Start the audio stream on the media leg that just came.
    OpenStream,
    /// Speak.
    Say(Say),
    /// Let a held speech play.
    Release(SpeechId),
    /// Drop what is not yet played.
    StopSpeaking,
    /// Whether the user's voice interrupts.
    AllowBargeIn(bool),
    /// Press keys.
    Press(String),
    /// Ask the carrier to hand the call on.
    Transfer {
        /// Which wish of the call.
        try_no: u32,
        /// How.
        kind: TransferKind,
        /// To whom.
        to: Destination,
    },
    /// Ask the carrier to open the media socket again.
    ReopenMedia {
        /// Which wish of the call.
        try_no: u32,
    },
    /// Close the media socket.
    CloseStream,
    /// Ask the model, dropping an unfinished reply.
    StartReply,
    /// Drop the reply.
    CancelReply,
    /// Run a tool outside the call.
    RunTool {
        /// Which run of the call.
        run: u64,
        /// The tool's name, one of those that are offered.
        name: String,
        /// What the model gave.
        arguments: Value,
    },
    /// Look another agent up, after so many milliseconds.
    LookUpAgent {
        /// Which hand-over of the call.
        try_no: u32,
        /// Which agent of the account.
        agent: AgentId,
        /// How long to wait before.
        after_ms: u64,
    },
    /// The agent that was looked up is the call's from here on.
    AdoptAgent {
        /// Which hand-over of the call.
        try_no: u32,
    },
    /// The agent goes on in another of its languages.
    SwitchLanguage(String),
    /// Start or restart a timer.
    SetTimer(CallTimer, u64),
    /// Stop a timer.
    CancelTimer(CallTimer),
    /// Keep a fact.
    Record(Fact),
    /// End the leg over REST; without an id it is looked up first.
    HangUpLeg(Option<CarrierCallId>),
    /// The call is over: write this, tell the line pool, stop. Comes exactly once.
    Finish(Ending),
}
