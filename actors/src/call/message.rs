//! What a call is given, what it is told, and what it shows.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use ractor::{ActorId, ActorRef, RpcReplyPort};
use serde::Serialize;

use super::{Whose, state::ToolAnswer};
use crate::{audio_stream::StreamEvent, campaign::Ended, switchboard::DoorRefusal};
use domain::{
    agent::Agent,
    dial_token::DialToken,
    id::AgentId,
    phone_number::PhoneNumber,
    ports::{
        carrier::{Carrier, CarrierCallId, CarrierError, DialError, LegReport, WayBack},
        language_model::{LanguageError, ReplyEvent},
        media_leg::MediaLeg,
        store::{CallDirection, CallerId, ClaimedAttempt, Permit, ReturnedCall, StoreError},
        tool_runner::ToolOffer,
    },
};

/// Everything a call needs to know about itself.
#[derive(Clone)]
pub struct CallPlan {
    /// The claimed attempt.
    pub attempt: ClaimedAttempt,
    /// The agent's id.
    pub agent_id: AgentId,
    /// The agent.
    pub agent: Arc<Agent>,
    /// Values of the placeholders.
    pub variables: Arc<BTreeMap<String, String>>,
    /// Who places it.
    pub carrier: Arc<dyn Carrier>,
    /// Caller ID, or those that take turns; none where nothing is dialed.
    pub caller_id: Option<CallerId>,
    /// How long it may ring.
    pub ring_timeout: Duration,
    /// Of a call from outside.
    pub inbound: Option<InboundLeg>,
    /// Of a call that another process held, and that lives.
    pub inherited: Option<Arc<Inheritance>>,
}

/// What a call is taken over with.
#[derive(Debug, Clone, PartialEq)]
pub struct Inheritance {
    /// The carrier's id of its leg.
    pub leg: CarrierCallId,
    /// The call as it was left.
    pub call: ReturnedCall,
    /// The agent it began with, where another one has taken it over since.
    pub began_with: Option<Arc<Agent>>,
}

/// How a call goes on whose carrier asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GoesOn {
    /// The addresses of the call.
    pub back: WayBack,
    /// How often it was asked before at this process.
    pub asked_before: u32,
}

/// The leg of a call from outside: it stands before the call begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InboundLeg {
    /// The carrier's id.
    pub call: CarrierCallId,
    /// What the carrier's addresses are proved by.
    pub token: DialToken,
    /// The number that was called.
    pub to: PhoneNumber,
}

impl CallPlan {
    /// Who began the call.
    pub fn direction(&self) -> CallDirection {
        match (&self.inbound, &self.inherited) {
            (Some(_), _) => CallDirection::Inbound,
            (None, Some(inherited)) => inherited.call.direction,
            (None, None) => CallDirection::Outbound,
        }
    }

    /// The carrier's id of the leg, where it stands before the call begins here.
    pub fn leg(&self) -> Option<&CarrierCallId> {
        let inherited = self.inherited.as_ref().map(|inherited| &inherited.leg);
        inherited.or(self.inbound.as_ref().map(|leg| &leg.call))
    }

    /// The attempt, for when it ends.
    pub fn ended(&self) -> Ended {
        Ended {
            direction: self.direction(),
            ..Ended::from(&self.attempt)
        }
    }
}

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
    /// End the call: before the answer it is cancelled, after it hung up.
    HangUp,
    /// The same, and a call that was not sent is cancelled instead of queued again.
    End,
    /// The carrier reports on the leg.
    Progress {
        /// Proof from the callback's address.
        proof: String,
        /// What it tells.
        report: LegReport,
        /// Whether it was taken.
        reply: RpcReplyPort<Result<(), DoorRefusal>>,
    },
    /// The carrier asks to open the media socket.
    AskMedia {
        /// Proof from the socket's address.
        proof: String,
        /// Whether a socket in the place of an open one is meant, too.
        replacing: bool,
        /// Whether it would be taken now.
        reply: RpcReplyPort<Result<(), DoorRefusal>>,
    },
    /// The carrier opened the media socket.
    Media {
        /// Proof from the socket's address.
        proof: String,
        /// The socket.
        leg: MediaLeg,
        /// Whether it was taken.
        reply: RpcReplyPort<Result<(), DoorRefusal>>,
    },
    /// It was looked up whose the call is before somebody was answered who asks for its media, own.
    MadeSure {
        /// Whose it is.
        whose: Whose,
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
        reply: RpcReplyPort<Result<GoesOn, DoorRefusal>>,
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
    /// The carrier has nothing of a lost dial that rings or talks.
    NotPlaced,
    /// The store has bound another call to this attempt, or this call to another attempt, own.
    NotOurLeg {
        /// It is another attempt's call.
        anothers: bool,
    },
    /// The carrier answered the wish to hand the call on, own.
    TransferAsked {
        /// Which wish.
        try_no: u32,
        /// Its answer.
        answer: Result<(), CarrierError>,
    },
    /// The carrier will not open the media socket again, own.
    NotReopened {
        /// Which wish.
        try_no: u32,
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
    /// A tool outside the call has answered, own.
    ToolAnswered(ToolAnswer),
    /// Another agent was looked up, own.
    AgentFound {
        /// Which hand-over.
        try_no: u32,
        /// The agent, complete with defaults, or why it cannot be had.
        found: Result<(AgentId, Arc<Agent>), String>,
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

/// Whom a call tells.
#[derive(Clone)]
pub struct CallParents {
    /// The line pool.
    pub lines: ActorRef<crate::lines::LinesMessage>,
    /// Where its facts go.
    pub journal: crate::journal::Journal,
}
