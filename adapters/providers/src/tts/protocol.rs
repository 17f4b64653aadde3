//! How a provider is spoken to over its socket: what [`super::socket`] needs to know of each, without a socket.

use std::{borrow::Cow, time::Duration};

use domain::ports::synthesizer::VoiceConfig;
use media::format::{Encoding, LineFormat};

use crate::failure::Failure;
use crate::settings::Endpoint;

/// A provider's language on a socket that is kept for a call.
pub(crate) trait VoiceProtocol: Send + Sync + 'static {
    /// Where it is.
    fn endpoint(&self) -> &Endpoint;

    /// What it charges by: the model, or the voice where voices are models.
    fn model(&self) -> &str;

    /// The socket's address.
    fn url(&self) -> String;

    /// The headers of the handshake.
    fn headers(&self) -> Vec<(&'static str, String)>;

    /// What its audio is.
    fn format(&self) -> LineFormat;

    /// Texts that may be under way at once, cancelled ones included until they are acknowledged.
    fn most_open(&self) -> usize;

    /// The messages that have a text spoken.
    fn begin(&self, id: u64, text: &str, out: &mut Vec<String>);

    /// The messages that cancel it.
    fn cancel(&self, id: u64, out: &mut Vec<String>);

    /// Whether a cancelled text is acknowledged as cleared, and by nothing else.
    fn clears(&self) -> bool {
        false
    }

    /// After how much quiet something must be said to keep the socket, and what.
    fn keep_alive(&self) -> Option<(Duration, String)> {
        None
    }

    /// What is said before the socket is closed.
    fn goodbye(&self) -> Option<String> {
        None
    }

    /// Reads a text message. What is not known is ignored.
    ///
    /// # Errors
    ///
    /// When it is not in the provider's format.
    fn read<'m>(&self, message: &'m str) -> Result<VoiceEvent<'m>, Failure>;
}

/// Reads a message of a provider's.
///
/// # Errors
///
/// When it is not in the provider's format.
pub(crate) fn read_json<'m, T: serde::Deserialize<'m>>(endpoint: &Endpoint, message: &'m str) -> Result<T, Failure> {
    serde_json::from_str(message).map_err(|error| Failure::Protocol(format!("{}: {error}", endpoint.provider)))
}

/// What a message says.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct VoiceEvent<'m> {
    /// Of which text; of all when none.
    pub id: Option<u64>,
    /// Audio in base64.
    pub audio: Option<Cow<'m, str>>,
    /// What is spoken when.
    pub spoken: Vec<Spoken<'m>>,
    /// Nothing more comes of it.
    pub ended: bool,
    /// What was cancelled is gone.
    pub cleared: bool,
    /// It failed.
    pub failed: Option<Failure>,
}

/// A character or a word, and where it ends.
#[derive(Debug, PartialEq)]
pub(crate) struct Spoken<'m> {
    /// As the provider writes it.
    pub text: Cow<'m, str>,
    /// A whole word, or a character of one.
    pub is_word: bool,
    /// In milliseconds.
    pub end_ms: f64,
    /// From the start of this message's audio rather than of the text's.
    pub from_here: bool,
}

/// What a line can use: mu-law on one of 8 kHz, which is half the bytes, else linear.
pub(crate) fn line_format(config: &VoiceConfig) -> LineFormat {
    match config.sample_rate {
        8_000 => LineFormat::MULAW_8000,
        _ => LineFormat {
            encoding: Encoding::Linear16,
            sample_rate: 16_000,
        },
    }
}

/// The language without its region: `en` of `en-US`.
pub(crate) fn plain_language(config: &VoiceConfig) -> String {
    crate::name::plain_language(&config.language).to_ascii_lowercase()
}

/// Without the digits that a 32-bit number only seems to have.
pub(crate) fn rounded(value: f32) -> f64 {
    (f64::from(value) * 1_000.0).round() / 1_000.0
}
