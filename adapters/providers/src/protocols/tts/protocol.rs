//! Interface of the providers' socket protocols, as [`super::socket`] uses them. It contains no socket.

use std::{borrow::Cow, time::Duration};

use domain::ports::synthesizer::VoiceConfig;
use media::format::LineFormat;

use crate::{endpoint::Endpoint, failure::Failure, json};

/// Protocol of a provider on a socket that is kept for a call.
pub(crate) trait VoiceProtocol: Send + Sync + 'static {
    /// Returns the provider's address and key.
    fn endpoint(&self) -> &Endpoint;

    /// Returns the model for usage records, or the voice if voices are models.
    fn model(&self) -> &str;

    /// Returns the socket's address.
    fn url(&self) -> String;

    /// Returns the format of the audio.
    fn format(&self) -> LineFormat;

    /// Returns how many texts may be in progress at once. Cancelled ones count until they are acknowledged.
    fn most_open(&self) -> usize;

    /// Adds the messages that request a text's speech.
    fn begin(&self, id: u64, text: &str, out: &mut Vec<String>);

    /// Adds the messages that cancel a text, if there are any.
    fn cancel(&self, id: u64, out: &mut Vec<String>);

    /// Returns whether a cancelled text is acknowledged by a "cleared" message and by nothing else.
    fn clears(&self) -> bool {
        false
    }

    /// Returns the quiet time after which a keep-alive message must be sent, and that message.
    fn keep_alive(&self) -> Option<(Duration, String)> {
        None
    }

    /// Returns the message to send before the socket is closed.
    fn goodbye(&self) -> Option<String> {
        None
    }

    /// Parses a text message. Unknown messages are ignored.
    fn read<'m>(&self, message: &'m str) -> Result<VoiceEvent<'m>, Failure>;
}

/// Parses a provider's message.
pub(crate) fn read_json<'m, T: serde::Deserialize<'m>>(endpoint: &Endpoint, message: &'m str) -> Result<T, Failure> {
    json::read(message).map_err(|error| Failure::Protocol(format!("{}: {error}", endpoint.provider)))
}

/// Content of a message.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct VoiceEvent<'m> {
    /// Number of the text; `None` means all texts.
    pub id: Option<u64>,
    /// Audio in base64.
    pub audio: Option<Cow<'m, str>>,
    /// Spoken characters or words with their times.
    pub spoken: Vec<Spoken<'m>>,
    /// Whether the text is complete.
    pub ended: bool,
    /// Whether the cancelled text was cleared.
    pub cleared: bool,
    /// Failure of the text.
    pub failed: Option<Failure>,
}

/// Spoken character or word with its end.
#[derive(Debug, PartialEq)]
pub(crate) struct Spoken<'m> {
    /// Spelling of the provider.
    pub text: Cow<'m, str>,
    /// Whether it is a whole word instead of a character.
    pub is_word: bool,
    /// End of the character or word, in milliseconds.
    pub end_ms: f64,
    /// Whether the time counts from the start of this message's audio instead of the text's audio.
    pub from_here: bool,
}

/// Returns the audio format to request: the agent's, otherwise the line's usual one. Of that, mu-law at 8 kHz
/// takes half the bytes.
pub(crate) fn line_format(config: &VoiceConfig) -> LineFormat {
    config.format.unwrap_or(LineFormat::of_rate(config.sample_rate))
}

/// Returns the language without its region: `en` for `en-US`.
pub(crate) fn plain_language(config: &VoiceConfig) -> String {
    crate::name::plain_language(&config.language).to_ascii_lowercase()
}

/// Rounds to three decimals, which removes the noise of 32-bit numbers.
pub(crate) fn rounded(value: f32) -> f64 {
    (f64::from(value) * 1_000.0).round() / 1_000.0
}
