//! Commands to an audio stream, and the facts it reports.

use std::sync::Arc;

use media::amd::Finding;
pub use media::session::{Say, SpeechId};
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
    /// The user began to speak.
    SpeechStarted {
        /// When.
        at_ms: u64,
    },
    /// The words so far of the user's turn.
    Interim {
        /// The words.
        text: String,
    },
    /// The user's turn is over.
    UtteranceEnded {
        /// Its words; empty when no word was understood.
        text: String,
        /// Part of it was not understood. Without words: there was voice, more than a noise such as a cough.
        damaged: bool,
        /// When it began.
        started_ms: u64,
        /// When its last voiced frame was heard.
        ended_ms: u64,
        /// When the recogniser's last final words came; none where none came in this turn.
        final_ms: Option<u64>,
    },
    /// The voice has stopped, and these words may be the whole turn. Comes again when they change.
    TurnPaused {
        /// The words; never empty.
        text: String,
        /// When.
        at_ms: u64,
    },
    /// There is voice again before the turn ended.
    TurnResumed {
        /// When.
        at_ms: u64,
    },
    /// The user's voice stopped playout for the moment; the rest is kept.
    PlayoutPaused {
        /// Of which speech.
        speech: SpeechId,
        /// When.
        at_ms: u64,
    },
    /// It was no barge-in: playout goes on.
    PlayoutResumed {
        /// Of which speech.
        speech: SpeechId,
        /// When.
        at_ms: u64,
    },
    /// A sound was taken for the agent's own voice coming back, and ignored.
    EchoIgnored {
        /// When.
        at_ms: u64,
    },
    /// Audio of a speech began to play.
    SpeakingStarted {
        /// Which.
        speech: SpeechId,
        /// When.
        at_ms: u64,
        /// When its first synthesised audio came, held or not.
        audio_ms: Option<u64>,
    },
    /// The user interrupted a speech; the rest of it is dropped.
    BargedIn {
        /// Which.
        speech: SpeechId,
        /// The words whose audio was played.
        heard: String,
        /// When playout was stopped.
        at_ms: u64,
    },
    /// A speech was played to its end (or dropped by `StopSpeaking`).
    SpeakingEnded {
        /// Which.
        speech: SpeechId,
        /// The words whose audio was played.
        heard: String,
        /// When.
        at_ms: u64,
    },
    /// A speech could not be synthesised; nothing more of it plays.
    SpeechFailed {
        /// Which.
        speech: SpeechId,
        /// Why.
        error: SpeechError,
    },
    /// A single steady tone ended, as an answering machine's beep.
    BeepEnded {
        /// When.
        at_ms: u64,
    },
    /// It is known, or better known, who answered.
    Amd(Finding),
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
