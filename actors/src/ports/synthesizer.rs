//! Text to speech.

use futures_util::stream::BoxStream;

/// What is to be spoken, and how.
#[derive(Debug, Clone, PartialEq)]
pub struct SpeechRequest {
    /// Plain text, no markup.
    pub text: String,
    /// The voice's name at its provider; empty for the provider's default.
    pub voice: String,
    /// Wanted rate in Hz: 8000 or 16000.
    pub sample_rate: u32,
    /// Speaking rate, 1 is normal.
    pub speed: f32,
}

/// Where a word lies in a speech.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WordTiming {
    /// Byte offset in the request's text one past the word.
    pub text_end: usize,
    /// Sample offset from the start of the request's audio one past the word.
    pub sample_end: u64,
}

/// A piece of speech, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpeechPiece {
    /// Mono samples at the rate asked for.
    pub samples: Vec<i16>,
    /// The words that end in this piece; empty where the provider gives no timing.
    pub words: Vec<WordTiming>,
}

/// A speech request that failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpeechError {
    /// The provider refuses it and will again.
    #[error("refused by the speech provider: {0}")]
    Rejected(String),
    /// The provider is not reachable or not well.
    #[error("speech provider unavailable: {0}")]
    Unavailable(String),
    /// Not in the provider's own format.
    #[error("speech provider spoke out of turn: {0}")]
    Protocol(String),
}

/// A voice.
pub trait Synthesizer: Send + Sync {
    /// Speaks a text. Dropping the stream cancels the rest.
    fn synthesize(&self, request: SpeechRequest) -> BoxStream<'static, Result<SpeechPiece, SpeechError>>;
}
