//! Commands to an audio stream, and the events it reports.

use std::sync::Arc;

pub use media::session::{Say, SessionEvent, SpeechId};
use media::turn::endpointing::Utterance;
use ractor::RpcReplyPort;
use serde::Serialize;

use super::OperatorLeg;
use crate::live_feed::LiveFeed;
use domain::{
    agent::Agent,
    ports::synthesizer::{SpeechError, SpeechPiece},
};

/// Messages to an audio stream.
pub enum StreamMessage {
    /// Speaks a text.
    Say(Say),
    /// Lets a held speech play.
    Release(SpeechId),
    /// Switches to this agent: its voice, its recogniser and its turn-taking settings.
    Adopt(Arc<Agent>),
    /// Drops everything that has not played yet.
    StopSpeaking,
    /// Presses keys: over the socket if it takes them, else as tones in place of the current speech.
    Press(String),
    /// Lets an operator speak in place of the agent, whose speech ends.
    OperatorJoins(OperatorLeg),
    /// Ends the operator's audio.
    OperatorLeaves,
    /// Audio of the operator is waiting.
    OperatorWaits,
    /// Sets whether the user's speech interrupts playout (false during the first 1.5 s after the answer).
    AllowBargeIn(bool),
    /// Sends what is left, then closes the media socket and stops.
    Close,
    /// Gives clients that follow the call what they get from here on.
    Feed(LiveFeed),
    /// Items are waiting in the inbound queue.
    InboundWaits,
    /// A piece of synthesised speech, sent by its own task.
    Synthesized {
        /// Generation of the synthesis.
        generation: u64,
        /// The piece, or `None` at the end of this text.
        piece: Option<Result<SpeechPiece, SpeechError>>,
    },
    /// Recogniser events are waiting, sent by the stream to itself.
    TranscriptWaits,
    /// The session's next deadline has come, sent by the stream to itself.
    Deadline {
        /// Number of the timer setting.
        generation: u64,
    },
    /// Asks for a snapshot of the stream.
    Inspect(RpcReplyPort<StreamSnapshot>),
    /// Panics, for tests of supervision.
    #[cfg(feature = "testkit")]
    Sabotage,
}

/// Events an audio stream reports to its call. Times are milliseconds since the stream opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StreamEvent {
    /// An event of the audio session. [`SessionEvent::FinalWanted`] is never reported, since the stream handles it itself.
    Session(SessionEvent),
    /// A speech could not be synthesised; nothing more of it plays.
    SpeechFailed {
        /// Id of the speech.
        speech: SpeechId,
        /// Reason why the synthesis failed.
        error: SpeechError,
    },
    /// An operator said something.
    OperatorSaid(Utterance),
    /// The operator has left, and all that they said was reported.
    OperatorSilent,
    /// A key was pressed.
    Digit(char),
    /// The recogniser failed for good.
    DeafnessBegan(SpeechError),
    /// The media socket died. The remaining events of what was said and heard follow, then `MediaClosed`.
    LineDied,
    /// The media socket is closed.
    MediaClosed {
        /// Whether the carrier closed it properly.
        clean: bool,
    },
}

impl From<SessionEvent> for StreamEvent {
    fn from(event: SessionEvent) -> Self {
        Self::Session(event)
    }
}

/// A snapshot of an audio stream.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StreamSnapshot {
    /// Frames received.
    pub frames_in: u64,
    /// Frames dropped because the stream was behind.
    pub frames_dropped: u64,
    /// Milliseconds of audio sent and not yet played.
    pub ahead_ms: u64,
}
