//! Text to speech.

use std::time::Duration;

use futures_util::stream::BoxStream;
pub use media::playout::WordEnd;
use media::{format::LineFormat, session::Cue};

use super::usage::Meter;
use crate::agent::PronunciationDictionary;

/// Voice settings of one call's agent.
#[derive(Debug, Clone)]
pub struct VoiceConfig {
    /// Its provider; none for the service's default.
    pub provider: Option<String>,
    /// The voice's name at its provider; empty for the provider's default.
    pub voice: String,
    /// Language code, such as `en`.
    pub language: String,
    /// Wanted rate in Hz: 8000 or 16000.
    pub sample_rate: u32,
    /// Format to request from the provider and to convert from. None for the usual one of that rate.
    pub format: Option<LineFormat>,
    /// Speaking rate, 1 is normal.
    pub speed: f32,
    /// Stability from 0 (lively) to 1 (steady).
    pub stability: f32,
    /// Similarity to the voice's original, 0 to 1.
    pub similarity_boost: f32,
    /// Latency preference from 0 (best quality) to 4 (fastest).
    pub latency: u8,
    /// Pronunciation dictionaries at all providers.
    pub dictionaries: Vec<PronunciationDictionary>,
    /// Counts usage.
    pub meter: Meter,
}

impl VoiceConfig {
    /// Returns whether both are the same voice with the same settings, whatever meter they have.
    pub fn sounds_like(&self, other: &Self) -> bool {
        let names = |voice: &Self| (voice.provider.clone(), voice.voice.clone(), voice.language.clone());
        let figures = |voice: &Self| [voice.speed, voice.stability, voice.similarity_boost];
        let whole = |voice: &Self| (voice.sample_rate, voice.format, voice.latency);
        let same_dictionaries = self.dictionaries == other.dictionaries;
        names(self) == names(other)
            && figures(self) == figures(other)
            && whole(self) == whole(other)
            && same_dictionaries
    }
}

/// A piece of speech, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpeechPiece {
    /// Mono samples at the requested rate.
    pub samples: Vec<i16>,
    /// Words that end in this piece; empty if the provider gives no timing.
    pub words: Vec<WordEnd>,
}

/// A speech request that failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpeechError {
    /// The provider rejects the request and would do so again.
    #[error("refused by the speech provider: {0}")]
    Rejected(String),
    /// The provider is busy.
    #[error("speech provider is busy")]
    Busy {
        /// Pause requested by the provider, if it named one.
        retry_after: Option<Duration>,
    },
    /// The provider is unreachable or unhealthy.
    #[error("speech provider unavailable: {0}")]
    Unavailable(String),
    /// The answer breaks the provider's own format.
    #[error("invalid answer from the speech provider: {0}")]
    Protocol(String),
}

/// A speech in progress. It ends with the text; dropping it cancels the rest.
pub type SpeechStream = BoxStream<'static, Result<SpeechPiece, SpeechError>>;

/// A provider of voices.
pub trait Synthesizer: Send + Sync {
    /// Opens the voice of one call. Returns at once; a connection to the provider is made in the background.
    fn open(&self, config: VoiceConfig) -> Box<dyn Voice>;

    /// Returns whether such a voice acts on directions in a text, such as `laughs`.
    fn takes_cues(&self, config: &VoiceConfig) -> bool {
        let _ = config;
        false
    }
}

/// A text that is likely to be spoken soon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Likely {
    /// Text that is likely to be spoken.
    pub text: String,
    /// Whether nothing in it comes from a contact or a conversation, so that its speech may be stored beyond
    /// this process.
    pub fixed: bool,
}

/// One call's voice. Dropping it closes its connection.
pub trait Voice: Send {
    /// Speaks a text of plain words without markup. Returns at once. Texts are spoken one after the other; a
    /// new text may begin while the stream of an old one is dropped.
    fn speak(&mut self, text: String) -> SpeechStream;

    /// Speaks a text with directions. The directions are not words of it: word times count the text alone. A
    /// voice that does not support directions speaks only the words.
    fn perform(&mut self, text: String, cues: Vec<Cue>) -> SpeechStream {
        let _ = cues;
        self.speak(text)
    }

    /// Lets a voice that caches its speech fetch this text now. Text that is not marked as fixed here may be
    /// kept in memory only.
    fn prepare(&mut self, likely: &Likely) {
        let _ = likely;
    }
}
