//! Interface of recognisers on a socket, and code that their protocols share.

use std::time::Duration;

use domain::ports::transcriber::{Capabilities, TranscriberConfig};
use tokio_tungstenite::tungstenite::{Message, protocol::CloseFrame};
use url::form_urlencoded::Serializer;

use crate::{endpoint::Endpoint, failure::Failure};
use net::redact;

/// Message of a recogniser, independent of its protocol.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum RecogniserEvent {
    /// The recogniser accepts audio now.
    Ready,
    /// Words since the last final.
    Interim(String),
    /// Words that will not change.
    Final {
        /// Words; may be empty.
        text: String,
        /// End of the covered audio of this connection, in seconds; `None` means up to where it was requested.
        up_to_s: Option<f64>,
        /// Whether it answers a request for a final.
        answers: bool,
    },
    /// The recogniser considers the turn over. Holds the words of it that were not final yet.
    TurnEnded {
        /// Words of the turn that were not final yet.
        text: String,
        /// End of the covered audio of this connection, in seconds.
        up_to_s: f64,
    },
    /// The turn may be over.
    TurnPaused {
        /// Words of the turn.
        text: String,
    },
    /// The turn is not over after all.
    TurnResumed {
        /// Words of the turn.
        text: String,
    },
    /// The requested words are not available now, so the request must be repeated.
    AskAgain,
}

impl RecogniserEvent {
    /// Returns the number of bytes of words.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Ready | Self::AskAgain => 0,
            Self::Interim(text)
            | Self::Final { text, .. }
            | Self::TurnEnded { text, .. }
            | Self::TurnPaused { text }
            | Self::TurnResumed { text } => text.len(),
        }
    }
}

/// Returns the failure for an HTTP status at a handshake or in an answer, with the recogniser's text.
pub(crate) fn refused(status: u16, words: &str, retry_after: Option<Duration>) -> Failure {
    Failure::of_status(status, format!("{status}: {}", redact::fit(words)), retry_after)
}

/// Returns the failure for a session that has reached its limit. Nothing is wrong with the provider.
pub(crate) fn expired() -> Failure {
    Failure::NotCounted("the session reached its limit".into())
}

/// Request for a connection.
pub(crate) struct Request {
    /// Address with its query.
    pub(crate) url: String,
    /// Headers with the key.
    pub(crate) headers: Vec<(&'static str, String)>,
    /// Model for usage records.
    pub(crate) model: String,
}

impl Request {
    /// Returns the request for a connection to a path at a provider.
    pub(crate) fn new(endpoint: &Endpoint, path: &str, model: &str, mut query: Serializer<'_, String>) -> Self {
        let query = query.extend_pairs(endpoint.privacy).finish();
        Self {
            url: format!("{}?{query}", endpoint.socket_url(path)),
            headers: endpoint.headers(),
            model: model.to_owned(),
        }
    }
}

/// Returns the promise of a recogniser that sends interims and answers each request within this time.
pub(crate) fn promised(final_within: Duration) -> Capabilities {
    Capabilities {
        final_within,
        answers_each: true,
        ..Capabilities::default()
    }
}

/// Returns the first of a call's key terms that are not blank.
pub(crate) fn keywords(config: &TranscriberConfig, most: usize) -> impl Iterator<Item = &str> {
    let keywords = config.keywords.iter().map(|word| word.trim());
    keywords.filter(|word| !word.is_empty()).take(most)
}

/// Way of keeping an idle connection open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Idle {
    /// Time without audio after which something is sent, again and again.
    pub(crate) after: Duration,
    /// Keep-alive message; `None` means silent audio.
    pub(crate) message: Option<&'static str>,
}

impl Idle {
    /// Returns the way in which silent audio is sent after this time.
    pub(crate) fn silence(after: Duration) -> Self {
        Self { after, message: None }
    }
}

/// Protocol of a recogniser. It knows neither time nor socket.
pub(crate) trait RecogniserProtocol: Send + Sync {
    /// Returns the request for a connection.
    fn request(&self) -> &Request;

    /// Returns whether the recogniser sends [`RecogniserEvent::Ready`] before it accepts audio.
    fn greets(&self) -> bool {
        false
    }

    /// Returns what the recogniser promises.
    fn capabilities(&self) -> Capabilities;

    /// Encodes a piece of audio, which is never empty.
    fn audio(&self, bytes: &[u8]) -> Message {
        Message::binary(bytes.to_vec())
    }

    /// Returns the message that requests a final, or `None` if there is nothing to request.
    fn finalize(&mut self) -> Option<Message>;

    /// Returns how an idle connection is kept open.
    fn idle(&self) -> Idle;

    /// Returns the message that ends the session.
    fn goodbye(&self) -> Option<Message> {
        None
    }

    /// Parses a text message. Returns `None` for messages that do not matter.
    fn read(&mut self, text: &str) -> Result<Option<RecogniserEvent>, Failure>;

    /// Returns the failure for a close frame.
    fn closed(&self, frame: Option<&CloseFrame>) -> Failure {
        Failure::Unavailable(match frame {
            Some(frame) => format!("closed: {} {}", u16::from(frame.code), frame.reason),
            None => "closed".into(),
        })
    }

    /// Resets the state for a new connection.
    fn restarted(&mut self) {}
}
