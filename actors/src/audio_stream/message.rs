//! Commands to an audio stream, and the facts it reports.

use std::sync::Arc;

pub use media::session::{Say, SessionEvent, SpeechId};
use ractor::RpcReplyPort;
use serde::Serialize;

use domain::{
    agent::Agent,
    ports::synthesizer::{SpeechError, SpeechPiece},
};

/// Messages to an audio stream.
pub enum StreamMessage {
    /// Speak.
    Say(Say),
    /// A held speech may play.
    Release(SpeechId),
    /// This agent speaks and listens from here on: with its voice, its recogniser and its patience.
    Adopt(Arc<Agent>),
    /// Drop everything not yet played.
    StopSpeaking,
    /// Press keys: over the socket where it takes them, else as tones in the place of what is being said.
    Press(String),
    /// Whether speech of the user now interrupts playout at all (false during the first 1.5 s after the answer).
    AllowBargeIn(bool),
    /// Send what is left, then close the media socket and stop.
    Close,
    /// Items wait in the inbound queue.
    InboundWaits,
    /// A piece of synthesised speech, own.
    Synthesized {
        /// Generation of the synthesis.
        generation: u64,
        /// The piece; none is the end of this text.
        piece: Option<Result<SpeechPiece, SpeechError>>,
    },
    /// What the recogniser heard waits, own.
    TranscriptWaits,
    /// The session's next deadline has come, own.
    Deadline {
        /// Which setting of the timer.
        generation: u64,
    },
    /// How the stream stands.
    Inspect(RpcReplyPort<StreamSnapshot>),
    /// Panics, for tests of supervision.
    #[cfg(feature = "testkit")]
    Sabotage,
}

/// Facts an audio stream reports to its call. Times are milliseconds since the stream opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StreamEvent {
    /// What was heard and said. [`SessionEvent::FinalWanted`] is never among it: the stream sees to that itself.
    Session(SessionEvent),
    /// A speech could not be synthesised; nothing more of it plays.
    SpeechFailed {
        /// Which.
        speech: SpeechId,
        /// Why.
        error: SpeechError,
    },
    /// A key was pressed.
    Digit(char),
    /// The recogniser failed for good.
    DeafnessBegan(SpeechError),
    /// The media socket died. What was said and heard until then is reported next, and then that it is closed.
    LineDied,
    /// The media socket is closed.
    MediaClosed {
        /// The carrier said goodbye first.
        clean: bool,
    },
}

impl From<SessionEvent> for StreamEvent {
    fn from(event: SessionEvent) -> Self {
        Self::Session(event)
    }
}

/// An audio stream at one moment.
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
