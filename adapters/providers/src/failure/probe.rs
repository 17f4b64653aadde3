//! Reasons why a probe of a provider failed.

use std::time::Duration;

use domain::ports::{language_model::LanguageError, synthesizer::SpeechError};

use super::embeddings::EmbeddingsError;
use crate::endpoint::NotConfigured;

/// Problem of a provider, in words for its operator.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProbeError {
    /// The provider is unknown or not configured.
    #[error(transparent)]
    NotConfigured(#[from] NotConfigured),
    /// The recogniser is not one of the service's.
    #[error("recogniser `{0}` is not among those configured")]
    NotListed(String),
    /// The language model failed.
    #[error(transparent)]
    LanguageModel(#[from] LanguageError),
    /// The voice or the recogniser failed.
    #[error(transparent)]
    Speech(#[from] SpeechError),
    /// The embeddings model failed.
    #[error(transparent)]
    Embeddings(#[from] EmbeddingsError),
    /// The language model took too long.
    #[error("no answer within {} s", .0.as_secs())]
    NoAnswer(Duration),
    /// The voice took too long.
    #[error("nothing more came within {} s", .0.as_secs())]
    NoMoreSpeech(Duration),
    /// The recogniser took too long.
    #[error("no words within {} s", .0.as_secs())]
    NoWords(Duration),
    /// The language model's answer was empty.
    #[error("empty answer")]
    WithoutAWord,
    /// The speech was shorter than its text requires.
    #[error("{provider} spoke for {sounded_ms} ms: too short for {text:?}")]
    TooShort {
        /// Name of the provider.
        provider: String,
        /// Duration of audible speech, in milliseconds.
        sounded_ms: u64,
        /// Text to be spoken.
        text: &'static str,
    },
    /// The recogniser finished without a word.
    #[error("no words recognised")]
    NothingUnderstood,
    /// The recogniser ended without a result.
    #[error("ended without a result")]
    Gone,
}
