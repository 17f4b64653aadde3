//! What a session is made of, and what comes out of it.

use crate::{
    amd::Finding,
    format::LineFormat,
    playout::LineAbilities,
    turn::endpointing::{PausePolicy, Utterance},
};

/// How a session is set up.
#[derive(Debug, Clone, Copy)]
pub struct SessionConfig {
    /// Encoding and rate of the line, 8000 or 16000 Hz.
    pub format: LineFormat,
    /// What the line can do.
    pub abilities: LineAbilities,
    /// Rate of the recogniser's samples, 8000 or 16000 Hz.
    pub recogniser_rate: u32,
    /// When the user's turn is over.
    pub pause: PausePolicy,
    /// Keep a recording.
    pub record: bool,
}

/// One speech of the agent: a greeting, a reply. Counts up in a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SpeechId(pub u64);

/// A piece of text to be spoken. Pieces of one speech play in order without a gap; a new speech drops an unfinished one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Say {
    /// Which speech it belongs to.
    pub speech: SpeechId,
    /// The words; may be empty with `last`.
    pub text: String,
    /// How they are to be spoken.
    pub manner: Manner,
    /// Nothing more of this speech follows.
    pub last: bool,
    /// Barge-in does not stop it.
    pub protected: bool,
    /// Of the first text of a speech: make its audio ready, and send it after [`super::AudioSession::release`] only.
    pub held: bool,
}

/// A session that cannot be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SessionError {
    /// A rate no session runs at.
    #[error("the {side} runs at {rate} Hz; 8000 and 16000 Hz are supported")]
    Rate {
        /// `line` or `recogniser`.
        side: &'static str,
        /// The rate.
        rate: u32,
    },
}

/// Facts of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionEvent {
    /// The user began to speak.
    SpeechStarted {
        /// When.
        at_ms: u64,
    },
    /// The words so far of the user's turn changed.
    Interim {
        /// The words.
        text: String,
    },
    /// The recogniser is to give its final words now.
    FinalWanted,
    /// The voice has stopped, and these words may be the whole turn. Comes again when the words change.
    TurnPaused {
        /// The words so far; never empty.
        text: String,
        /// When.
        at_ms: u64,
    },
    /// There is voice again before the turn was over: it goes on.
    TurnResumed {
        /// When.
        at_ms: u64,
    },
    /// The user's turn is over.
    UtteranceEnded(Utterance),
    /// Audio of a speech began to play.
    SpeakingStarted {
        /// Which.
        speech: SpeechId,
        /// When.
        at_ms: u64,
        /// When its first synthesised audio came, held or not.
        audio_ms: Option<u64>,
    },
    /// Somebody may be interrupting a speech: playout has stopped, and its rest is kept.
    PlayoutPaused {
        /// Which.
        speech: SpeechId,
        /// When.
        at_ms: u64,
    },
    /// It was no interruption: the speech goes on from the start of the word where it was cut.
    PlayoutResumed {
        /// Which.
        speech: SpeechId,
        /// When.
        at_ms: u64,
    },
    /// Voice on the line was the agent's own, come back: it is no speech of the user.
    EchoIgnored {
        /// When.
        at_ms: u64,
    },
    /// The user interrupted a speech.
    BargedIn {
        /// Which.
        speech: SpeechId,
        /// The words whose audio was played.
        heard: String,
        /// When.
        at_ms: u64,
    },
    /// A speech was played to its end, or dropped by the agent.
    SpeakingEnded {
        /// Which.
        speech: SpeechId,
        /// The words whose audio was played.
        heard: String,
        /// When.
        at_ms: u64,
    },
    /// A single steady tone ended.
    BeepEnded {
        /// When.
        at_ms: u64,
    },
    /// It is known, or better known, who answered. A machine's verdict comes before the turn it rests on ends, a
    /// person's after it.
    Amd(Finding),
}

/// What is sent to the line, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LineOutput {
    /// Audio in the line's encoding.
    Audio(Vec<u8>),
    /// Ask to be told when everything before this has been played.
    Mark(String),
    /// Drop what is not yet played.
    Clear,
}

/// A text to be synthesised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SynthesisJob {
    /// To be returned with its audio.
    pub generation: u64,
    /// The text.
    pub text: String,
    /// How it is to be spoken.
    pub manner: Manner,
}

/// How a text is to be spoken. The session keeps it with the text and does not look at it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Manner {
    /// Which of the agent's voices: 0 is its usual one.
    pub voice: usize,
    /// What the voice is to do within the text, in order.
    pub cues: Vec<Cue>,
}

/// A direction for a voice at one place of a text; no word of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cue {
    /// Byte offset in the text that it stands before.
    pub at: usize,
    /// What to do, such as `laughs`.
    pub tag: String,
}
