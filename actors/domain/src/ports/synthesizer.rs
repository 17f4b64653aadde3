//! Text to speech.

use std::time::Duration;

use futures_util::stream::BoxStream;
pub use media::playout::WordEnd;
use media::session::Cue;

use super::usage::Meter;

/// How one call's agent sounds.
#[derive(Debug, Clone)]
pub struct VoiceConfig {
    /// Its provider; none is the service's default.
    pub provider: Option<String>,
    /// The voice's name at its provider; empty for the provider's default.
    pub voice: String,
    /// Language code, such as `en`.
    pub language: String,
    /// Wanted rate in Hz: 8000 or 16000.
    pub sample_rate: u32,
    /// Speaking rate, 1 is normal.
    pub speed: f32,
    /// 0 (lively) to 1 (steady).
    pub stability: f32,
    /// 0 to 1, how close to the voice's original.
    pub similarity_boost: f32,
    /// 0 (best quality) to 4 (fastest).
    pub latency: u8,
    /// Counts what is used.
    pub meter: Meter,
}

impl VoiceConfig {
    /// Whether both are the same voice with the same settings, whoever counts what they use.
    pub fn sounds_like(&self, other: &Self) -> bool {
        let names = |voice: &Self| (voice.provider.clone(), voice.voice.clone(), voice.language.clone());
        let figures = |voice: &Self| [voice.speed, voice.stability, voice.similarity_boost];
        let whole = |voice: &Self| (voice.sample_rate, voice.latency);
        names(self) == names(other) && figures(self) == figures(other) && whole(self) == whole(other)
    }
}

/// A piece of speech, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpeechPiece {
    /// Mono samples at the rate asked for.
    pub samples: Vec<i16>,
    /// The words that end in this piece; empty where the provider gives no timing.
    pub words: Vec<WordEnd>,
}

/// A speech request that failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpeechError {
    /// The provider refuses it and will again.
    #[error("refused by the speech provider: {0}")]
    Rejected(String),
    /// The provider has too much to do.
    #[error("speech provider is busy")]
    Busy {
        /// When to ask again, if it said so.
        retry_after: Option<Duration>,
    },
    /// The provider is not reachable or not well.
    #[error("speech provider unavailable: {0}")]
    Unavailable(String),
    /// Not in the provider's own format.
    #[error("speech provider spoke out of turn: {0}")]
    Protocol(String),
}

/// A speech under way. Its end is the end of the text; dropping it cancels the rest.
pub type SpeechStream = BoxStream<'static, Result<SpeechPiece, SpeechError>>;

/// A provider of voices.
pub trait Synthesizer: Send + Sync {
    /// Opens the voice of one call. Returns at once; where the provider keeps a connection it is made behind it.
    fn open(&self, config: VoiceConfig) -> Box<dyn Voice>;

    /// Whether such a voice acts on directions in what it speaks, such as `laughs`.
    fn takes_cues(&self, config: &VoiceConfig) -> bool {
        let _ = config;
        false
    }
}

/// A text that is likely to be spoken soon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Likely {
    /// The words.
    pub text: String,
    /// Nothing in it comes from a contact or a conversation: its speech may be kept for longer than this process.
    pub fixed: bool,
}

/// One call's voice. Dropping it closes its connection.
pub trait Voice: Send {
    /// Speaks a text: plain words, no markup. Returns at once. One text is spoken after the other; a new one may be
    /// begun while an old one's stream is dropped.
    fn speak(&mut self, text: String) -> SpeechStream;

    /// Speaks a text with directions in it. They are no words of it: times count the text alone. A voice that takes no
    /// directions speaks the words.
    fn perform(&mut self, text: String, cues: Vec<Cue>) -> SpeechStream {
        let _ = cues;
        self.speak(text)
    }

    /// A voice that keeps what it once said may fetch this now. What is not told here as fixed it may keep in memory only.
    fn prepare(&mut self, likely: &Likely) {
        let _ = likely;
    }
}
