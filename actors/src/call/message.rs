//! What a call is given, what it is told, and what it shows.

use std::sync::Arc;

use ractor::{ActorId, RpcReplyPort};
use serde::Serialize;

use super::{
    NoOutcome, Obstacle, Owner,
    state::{AgentUnavailable, Event},
};
use crate::audio_stream::StreamEvent;
use domain::{
    agent::Agent,
    id::AgentId,
    ports::{
        carrier::{CarrierCallId, CarrierError, DialError, LegReport, WayBack},
        language_model::{LanguageError, ReplyEvent},
        media_leg::MediaLeg,
        store::{Claim, Outcome, Permit, StoreError},
        tool_runner::ToolOffer,
    },
    time::Timestamp,
};

/// How a call goes on whose carrier asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GoesOn {
    /// The addresses of the call.
    pub back: WayBack,
    /// How often it was asked before at this process.
    pub asked_before: u32,
}

/// Why a callback or a media socket was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LegRefusal {
    /// No live call of this node has this attempt.
    #[error("no such call here")]
    UnknownCall,
    /// The proof in the address is not of the call's present permit.
    #[error("proof does not match")]
    BadProof,
    /// The call has another leg; this one is hung up.
    #[error("call has another leg")]
    AnotherLeg,
    /// The call has a media socket already, or is over.
    #[error("call takes no media now")]
    NotNow,
}

/// Where the answer to a carrier's report or media socket goes.
pub type LegReply = RpcReplyPort<Result<(), LegRefusal>>;

/// How far a reply is made ahead, in the pause that may end the user's turn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Speculation {
    /// Not at all: the model is asked when the turn is over.
    Off,
    /// The model is asked on the words so far.
    Text,
    /// The same, and the first piece of its reply is synthesised.
    #[default]
    Voice,
}

/// Messages to a call. Results of its own tasks carry the generation they belong to; stale ones are dropped.
pub enum CallMessage {
    /// What the state machine takes as it is: that the call is to end, or the result of one of its own tasks.
    Happened(Event),
    /// The carrier reports on the leg.
    Progress {
        /// Proof from the callback's address.
        proof: String,
        /// What it tells.
        report: LegReport,
        /// Whether it was taken.
        reply: LegReply,
    },
    /// The carrier asks to open the media socket.
    AskMedia {
        /// Proof from the socket's address.
        proof: String,
        /// Whether a socket in the place of an open one is meant, too.
        replacing: bool,
        /// Whether it would be taken now.
        reply: LegReply,
    },
    /// The carrier opened the media socket.
    Media {
        /// Proof from the socket's address.
        proof: String,
        /// The socket.
        leg: MediaLeg,
        /// Whether it was taken.
        reply: LegReply,
    },
    /// The owner of the call was looked up before somebody was answered who asks for its media, own.
    OwnerKnown {
        /// Who holds it.
        owner: Owner,
        /// `AskMedia` or `Media`.
        asked: Box<CallMessage>,
    },
    /// The carrier asks how the call goes on whose media socket broke.
    CameBack {
        /// Proof from the address.
        proof: String,
        /// The carrier's id of the leg.
        leg: CarrierCallId,
        /// How it goes on.
        reply: RpcReplyPort<Result<GoesOn, LegRefusal>>,
    },
    /// A fact from an audio stream.
    Stream {
        /// Which of the call's, from 1 on. What one tells that another has taken the place of is of no concern.
        number: u32,
        /// The fact.
        event: StreamEvent,
    },
    /// The audio stream is gone (sent to itself from a supervision event).
    StreamGone {
        /// Which; none is the present one.
        stream: Option<ActorId>,
        /// The panic's or error's text, if it crashed.
        crash: Option<String>,
    },
    /// The permit was given or refused, own.
    Permitted(Result<Permit, StoreError>),
    /// The carrier answered the dial, own.
    Dialed(Result<CarrierCallId, DialError>),
    /// The carrier answered the wish to hand the call on, own.
    TransferAsked {
        /// Which wish.
        try_no: u32,
        /// Its answer.
        answer: Result<(), CarrierError>,
    },
    /// Something of a reply, own.
    Reply {
        /// Which reply.
        generation: u64,
        /// The piece; none is the end.
        event: Option<Result<ReplyEvent, LanguageError>>,
    },
    /// What runs outside the call is known for the agent, own.
    ToolsOffered {
        /// Which agent of the call, from 0 on.
        generation: u64,
        /// Its tools.
        offers: Arc<[ToolOffer]>,
    },
    /// Another agent was looked up, own.
    AgentFound {
        /// Which hand-over.
        try_no: u32,
        /// The agent, complete with defaults, or why it cannot be had.
        found: Result<(AgentId, Arc<Agent>), AgentUnavailable>,
    },
    /// A timer fired, own.
    Timer {
        /// Which setting of the timer.
        generation: u64,
        /// Which timer.
        timer: CallTimer,
    },
    /// The outcome is on disk (or was refused), own.
    Finished(Result<(), StoreError>),
    /// How the call stands.
    Inspect(RpcReplyPort<CallSnapshot>),
    /// Panics, or makes the audio stream panic, for tests of supervision.
    #[cfg(feature = "testkit")]
    Sabotage {
        /// The stream instead of the call.
        stream: bool,
    },
}

/// A call's timers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CallTimer {
    /// It has rung long enough.
    Ring,
    /// Answered, but no media socket came.
    MediaWait,
    /// The callee has said nothing since picking up: greet.
    PickUp,
    /// The user has been silent for `turnTimeout`.
    Turn,
    /// The user has been silent for `silenceEndCallTimeout`.
    Silence,
    /// `maxDurationSeconds` is near: say the closing sentence.
    MaxDuration,
    /// The answer takes long: say so.
    Filler,
    /// The closing sentence had its time.
    Closing,
    /// A machine was given enough time.
    Machine,
    /// A machine has been silent for a while.
    Quiet,
    /// A dial whose fate is not known was adopted by nobody.
    Settle,
    /// The pick-up is over: from now on the user's voice interrupts.
    BargeIn,
    /// The carrier, or the audio stream, did not report the end.
    EndReport,
    /// The pause lasts: a reply may be made ahead.
    Speculate,
    /// The user presses no more keys.
    Keys,
    /// A transfer had its time.
    Transfer,
    /// A media socket that died is asked for again: while the call is handed on, or where the carrier was to bring the call
    /// back and has not.
    Reopen,
}

/// Where a call stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CallPhase {
    /// Waits for the permit.
    Scheduled,
    /// The carrier was asked.
    Dialing,
    /// It rings.
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
    /// A machine answered: a mailbox, a menu, or an assistant that asks who calls.
    Voicemail,
    /// It is handed on.
    Transferring,
    /// The last words play.
    Closing,
    /// Over.
    Ended,
}

/// A call at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CallSnapshot {
    /// Where it stands.
    pub phase: CallPhase,
    /// Turns so far.
    pub turns: usize,
}

/// What a call reports to the line pool.
pub enum CallReport {
    /// The carrier gave its leg an id: it is hung up if the call dies.
    LegKnown(CarrierCallId),
    /// It was answered at this time: a store that forgets it is told again.
    Answered(Timestamp),
    /// The carrier takes no call at present.
    MetObstacle(Obstacle),
    /// It is over and its outcome is on disk, or why there is no outcome.
    Ended(Result<Outcome, NoOutcome>),
    /// Another node has taken it over.
    Lost(Claim),
}
