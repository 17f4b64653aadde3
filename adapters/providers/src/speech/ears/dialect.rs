//! What the recognisers that listen on a socket have in common, and where each has its own words.

use std::time::Duration;

use domain::ports::transcriber::{Promise, SpeechError};
use tokio_tungstenite::tungstenite::{Message, protocol::CloseFrame};

use net::{guard::Verdict, redact};

/// One message of a recogniser, in our terms.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::speech) enum Heard {
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

impl Heard {
    /// How many bytes of words there are.
    pub(in crate::speech) fn bytes(&self) -> usize {
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

/// Why a recogniser cannot go on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(in crate::speech) enum Trouble {
    /// Our key or account is refused, and will be.
    #[error("{0}")]
    Refused(String),
    /// What we asked is refused, and will be.
    #[error("{0}")]
    OurFault(String),
    /// It has too much to do.
    #[error("it has too much to do")]
    Busy(Option<Duration>),
    /// It is not well, or the connection is gone.
    #[error("{0}")]
    Unwell(String),
    /// It is not in its format.
    #[error("not in its format: {0}")]
    Protocol(String),
    /// The session has reached its limit; nothing is wrong.
    #[error("the session has reached its limit")]
    Expired,
}

impl Trouble {
    /// Of an HTTP status, at a handshake or in an answer, with its words.
    pub(in crate::speech) fn of_status(status: u16, words: &str, retry_after: Option<Duration>) -> Self {
        let words = format!("{status}: {}", redact::fit(words));
        match status {
            401..=403 => Self::Refused(words),
            408 | 425 => Self::Unwell(words),
            429 => Self::Busy(retry_after),
            400..=499 => Self::OurFault(words),
            _ => Self::Unwell(words),
        }
    }

    /// What it says about the provider; nothing if nothing is wrong.
    pub(in crate::speech) fn verdict(&self) -> Option<Verdict> {
        match self {
            Self::Refused(_) => Some(Verdict::Refused),
            Self::OurFault(_) => Some(Verdict::OurFault),
            Self::Busy(_) | Self::Unwell(_) | Self::Protocol(_) => Some(Verdict::Unwell),
            Self::Expired => None,
        }
    }

    /// Whether the same would happen again.
    pub(in crate::speech) fn is_permanent(&self) -> bool {
        matches!(self, Self::Refused(_) | Self::OurFault(_))
    }
}

impl From<Trouble> for SpeechError {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Refused(why) | Trouble::OurFault(why) => Self::Rejected(redact::fit(&why)),
            Trouble::Busy(retry_after) => Self::Busy { retry_after },
            Trouble::Unwell(why) => Self::Unavailable(redact::fit(&why)),
            Trouble::Protocol(why) => Self::Protocol(redact::fit(&why)),
            Trouble::Expired => Self::Unavailable("the session reached its limit".into()),
        }
    }
}

/// What keeps an idle connection open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::speech) struct Idle {
    /// After so much time without audio, and each time again.
    pub(in crate::speech) after: Duration,
    /// A message of its own; none is silent audio.
    pub(in crate::speech) message: Option<&'static str>,
}

/// A recogniser's language. It knows no time and no socket.
pub(in crate::speech) trait Dialect: Send + Sync {
    /// Address and headers of a connection.
    fn request(&self) -> (String, Vec<(&'static str, String)>);

    /// The model it asks for.
    fn model(&self) -> &str;

    /// It says [`Heard::Ready`] before it takes audio.
    fn greets(&self) -> bool {
        false
    }

    /// What it promises.
    fn promise(&self) -> Promise;

    /// A piece of audio; never empty.
    fn audio(&self, bytes: &[u8]) -> Message;

    /// Asks for a final; none where there is nothing it could be asked for.
    fn finalize(&mut self) -> Option<Message>;

    /// How an idle connection is kept.
    fn idle(&self) -> Idle;

    /// The end.
    fn goodbye(&self) -> Option<Message>;

    /// Reads a text message. Of no meaning for us: nothing.
    fn read(&mut self, text: &str) -> Result<Option<Heard>, Trouble>;

    /// What a close frame says.
    fn closed(&self, frame: Option<&CloseFrame>) -> Trouble {
        Trouble::Unwell(match frame {
            Some(frame) => format!("closed: {} {}", u16::from(frame.code), frame.reason),
            None => "closed".into(),
        })
    }

    /// A new connection begins.
    fn restarted(&mut self) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use net::key::Key;

    #[test]
    fn no_recognisers_words_begin_a_line_of_a_log_or_hold_a_key() {
        let _key = Key::new("dg-canary-0123456789");
        let told = format!("{}dg-canary-0123456789\r\nERROR forged\u{1b}[2J", "x".repeat(190));
        for trouble in [
            Trouble::of_status(401, &told, None),
            Trouble::of_status(400, &told, None),
            Trouble::of_status(500, &told, None),
            Trouble::Refused(told.clone()),
            Trouble::OurFault(told.clone()),
            Trouble::Unwell(told.clone()),
            Trouble::Protocol(told.clone()),
        ] {
            let words = SpeechError::from(trouble).to_string();
            assert!(words.contains("forged") && !words.contains("canary"), "{words}");
            assert!(!words.contains(char::is_control), "{words:?}");
        }
    }
}
