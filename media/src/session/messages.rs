//! Configuration of a session, its inputs and its outputs.

use crate::{
    amd::Finding,
    format::LineFormat,
    playout::LineAbilities,
    resample::ResampleError,
    turn::endpointing::{PausePolicy, Utterance},
};

/// Configuration of a session.
#[derive(Debug, Clone, Copy)]
pub struct SessionConfig {
    /// Encoding and rate of the line, 8000 or 16000 Hz.
    pub format: LineFormat,
    /// Abilities of the line.
    pub abilities: LineAbilities,
    /// Rate of the recogniser's samples in Hz.
    pub recogniser_rate: u32,
    /// Policy that decides when the user's turn is over.
    pub pause: PausePolicy,
    /// Whether to keep a recording.
    pub record: bool,
}

/// Id of one speech of the agent, such as a greeting or a reply. It counts up in a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SpeechId(pub u64);

/// A piece of text to be spoken. Pieces of one speech play in order without a gap; a new speech drops an unfinished one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Say {
    /// The speech to which it belongs.
    pub speech: SpeechId,
    /// The words; may be empty with `last`.
    pub text: String,
    /// Manner of speaking.
    pub manner: Manner,
    /// Whether nothing more of this speech follows.
    pub last: bool,
    /// Whether barge-in does not stop it.
    pub protected: bool,
    /// For the first text of a speech: prepare its audio, and send it only after [`super::AudioSession::release`].
    pub held: bool,
}

/// Error: a session that cannot be created.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SessionError {
    /// A rate of the line that sessions do not support.
    #[error("the line runs at {0} Hz; 8000 and 16000 Hz are supported")]
    Line(u32),
    /// A rate of the recogniser to which the line cannot be converted.
    #[error("recogniser: {0}")]
    Recogniser(#[from] ResampleError),
}

/// Facts of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionEvent {
    /// The user began to speak.
    SpeechStarted {
        /// Time in milliseconds.
        at_ms: u64,
    },
    /// The words so far of the user's turn changed.
    Interim {
        /// Words of the turn so far.
        text: String,
    },
    /// The recogniser should give its final words now.
    FinalWanted,
    /// The voice has stopped, and these words may be the whole turn. Sent again if the words change.
    TurnPaused {
        /// The words so far; never empty.
        text: String,
        /// Time in milliseconds.
        at_ms: u64,
    },
    /// There is voice again before the turn was over, so it continues.
    TurnResumed {
        /// Time in milliseconds.
        at_ms: u64,
    },
    /// The user's turn is over.
    UtteranceEnded(Utterance),
    /// Audio of a speech began to play.
    SpeakingStarted {
        /// Id of the speech.
        speech: SpeechId,
        /// Time in milliseconds.
        at_ms: u64,
        /// Time of its first synthesised audio, held or not.
        audio_ms: Option<u64>,
    },
    /// Somebody may be interrupting a speech: playout has stopped, and its rest is kept.
    PlayoutPaused {
        /// Id of the speech.
        speech: SpeechId,
        /// Time in milliseconds.
        at_ms: u64,
    },
    /// It was not an interruption: the speech resumes from the start of the word where it was cut.
    PlayoutResumed {
        /// Id of the speech.
        speech: SpeechId,
        /// Time in milliseconds.
        at_ms: u64,
    },
    /// Voice on the line was the echo of the agent's own, not speech of the user.
    EchoIgnored {
        /// Time in milliseconds.
        at_ms: u64,
    },
    /// The user interrupted a speech.
    BargedIn {
        /// Id of the speech.
        speech: SpeechId,
        /// The words whose audio was played.
        heard: String,
        /// Time in milliseconds.
        at_ms: u64,
    },
    /// A speech was played to its end, or dropped by the agent.
    SpeakingEnded {
        /// Id of the speech.
        speech: SpeechId,
        /// The words whose audio was played.
        heard: String,
        /// Time in milliseconds.
        at_ms: u64,
    },
    /// A single steady tone ended.
    BeepEnded {
        /// Time in milliseconds.
        at_ms: u64,
    },
    /// There is a verdict, or a better one, on who answered. A machine's verdict comes before the end of the
    /// turn it is based on, a person's after it.
    Amd(Finding),
}

/// Output for the line, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LineOutput {
    /// Audio in the line's encoding.
    Audio(Vec<u8>),
    /// Requests a notice when everything before this has been played.
    Mark(String),
    /// Drops audio that is not played yet.
    Clear,
}

/// A text to be synthesised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SynthesisJob {
    /// Number to return with its audio.
    pub generation: u64,
    /// Text to synthesise.
    pub text: String,
    /// Manner of speaking.
    pub manner: Manner,
}

/// Manner in which a text is spoken. The session keeps it with the text and does not interpret it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Manner {
    /// Index of the agent's voice: 0 is its usual one.
    pub voice: usize,
    /// Directions for the voice within the text, in order.
    pub cues: Vec<Cue>,
}

/// A direction for a voice at one place of a text. It is not spoken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cue {
    /// Byte offset in the text before which it applies.
    pub at: usize,
    /// The direction, such as `laughs`.
    pub tag: String,
}
