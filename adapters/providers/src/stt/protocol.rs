//! What the recognisers that listen on a socket have in common, and where each has its own words.

use std::time::Duration;

use domain::ports::transcriber::{Promise, TranscriberConfig};
use tokio_tungstenite::tungstenite::{Message, protocol::CloseFrame};

use crate::failure::Failure;
use net::redact;

/// One message of a recogniser, in our terms.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum RecogniserEvent {
    /// It takes audio now.
    Ready,
    /// The words since its last final.
    Interim(String),
    /// Words that stay.
    Final {
        /// The words; may be none.
        text: String,
        /// Up to where in the connection's audio, in seconds; none is up to where it was asked.
        up_to_s: Option<f64>,
        /// It is the answer to our asking.
        answers: bool,
    },
    /// It takes the turn for over, with these words of it that were not final yet.
    TurnEnded {
        /// The words.
        text: String,
        /// Up to where in the connection's audio, in seconds.
        up_to_s: f64,
    },
    /// The turn may be over.
    TurnPaused {
        /// Its words.
        text: String,
    },
    /// It is not.
    TurnResumed {
        /// Its words.
        text: String,
    },
    /// The words that were asked for are not to be had now; the same is to be asked again.
    AskAgain,
}

impl RecogniserEvent {
    /// How many bytes of words there are.
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

/// A recogniser's refusal: an HTTP status, at a handshake or in an answer, with its words.
pub(crate) fn refused(status: u16, words: &str, retry_after: Option<Duration>) -> Failure {
    Failure::of_status(status, format!("{status}: {}", redact::fit(words)), retry_after)
}

/// The session has reached its limit; nothing is wrong.
pub(crate) fn expired() -> Failure {
    Failure::NotCounted("the session reached its limit".into())
}

/// A connection that is asked for.
pub(crate) struct Request {
    /// With its query.
    pub(crate) url: String,
    /// The key's.
    pub(crate) headers: Vec<(&'static str, String)>,
    /// The model it is charged by.
    pub(crate) model: String,
}

/// What a recogniser promises that sends interims and answers within this time.
pub(crate) fn promised(final_within: Duration) -> Promise {
    Promise {
        final_within,
        answers_each: true,
        ..Promise::default()
    }
}

/// The first of a call's key terms that are no blanks.
pub(crate) fn keywords(config: &TranscriberConfig, most: usize) -> impl Iterator<Item = &str> {
    let keywords = config.keywords.iter().map(|word| word.trim());
    keywords.filter(|word| !word.is_empty()).take(most)
}

/// What keeps an idle connection open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Idle {
    /// After so much time without audio, and each time again.
    pub(crate) after: Duration,
    /// A message of its own; none is silent audio.
    pub(crate) message: Option<&'static str>,
}

/// A recogniser's language. It knows no time and no socket.
pub(crate) trait RecogniserProtocol: Send + Sync {
    /// What is asked for.
    fn request(&self) -> &Request;

    /// It says [`RecogniserEvent::Ready`] before it takes audio.
    fn greets(&self) -> bool {
        false
    }

    /// What it promises.
    fn promise(&self) -> Promise;

    /// A piece of audio; never empty.
    fn audio(&self, bytes: &[u8]) -> Message {
        Message::binary(bytes.to_vec())
    }

    /// Asks for a final; none where there is nothing it could be asked for.
    fn finalize(&mut self) -> Option<Message>;

    /// How an idle connection is kept.
    fn idle(&self) -> Idle;

    /// The end.
    fn goodbye(&self) -> Option<Message> {
        None
    }

    /// Reads a text message. Of no meaning for us: nothing.
    fn read(&mut self, text: &str) -> Result<Option<RecogniserEvent>, Failure>;

    /// What a close frame says.
    fn closed(&self, frame: Option<&CloseFrame>) -> Failure {
        Failure::Unavailable(match frame {
            Some(frame) => format!("closed: {} {}", u16::from(frame.code), frame.reason),
            None => "closed".into(),
        })
    }

    /// A new connection begins.
    fn restarted(&mut self) {}
}
