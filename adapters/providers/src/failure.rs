//! Reasons why a provider did not fulfil a request, sorted by the reaction they need.

pub mod embeddings;
pub mod probe;

use std::time::Duration;

use domain::ports::{language_model::LanguageError, transcriber::SpeechError};
use net::{guard::Verdict, redact};

/// Failure of a request to a provider. Its texts are shown only through the errors of the ports, which redact them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Failure {
    /// The provider refuses our key or account, and will again.
    #[error("{0}")]
    Refused(String),
    /// The provider refuses the request, and will again.
    #[error("{0}")]
    OurFault(String),
    /// The provider is overloaded.
    #[error("overloaded")]
    Busy {
        /// Pause before the next request, if the provider named one.
        retry_after: Option<Duration>,
    },
    /// The provider cannot be reached or is unhealthy.
    #[error("{0}")]
    Unavailable(String),
    /// The answer is not in the provider's format.
    #[error("unexpected format: {0}")]
    Protocol(String),
    /// Says nothing about the provider's health: the circuit breaker is open, or a session has reached its limit.
    #[error("{0}")]
    NotCounted(String),
}

impl Failure {
    pub(crate) fn unavailable(words: impl Into<String>) -> Self {
        Self::Unavailable(words.into())
    }

    pub(crate) fn protocol(words: impl Into<String>) -> Self {
        Self::Protocol(words.into())
    }

    /// Returns the failure for the HTTP status of an answer that is not the expected one.
    pub(crate) fn of_status(status: u16, words: String, retry_after: Option<Duration>) -> Self {
        match status {
            401..=403 => Self::Refused(words),
            408 | 409 | 425 => Self::Unavailable(words),
            429 => Self::Busy { retry_after },
            400..=499 => Self::OurFault(words),
            _ => Self::Unavailable(words),
        }
    }

    /// Returns what the failure means for the provider's health.
    pub(crate) fn verdict(&self) -> Option<Verdict> {
        match self {
            Self::Refused(_) => Some(Verdict::Refused),
            Self::OurFault(_) => Some(Verdict::OurFault),
            Self::Busy { .. } | Self::Unavailable(_) | Self::Protocol(_) => Some(Verdict::Unhealthy),
            Self::NotCounted(_) => None,
        }
    }

    /// Returns whether the same request would fail again.
    pub(crate) fn is_permanent(&self) -> bool {
        matches!(self, Self::Refused(_) | Self::OurFault(_))
    }

    /// Returns whether the same provider may succeed when it is asked once more.
    pub(crate) fn may_pass(&self) -> bool {
        matches!(self, Self::Unavailable(_) | Self::Protocol(_))
    }
}

/// Converts the error of an answer that is not JSON, or not of the expected shape.
impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        Self::Protocol(error.to_string())
    }
}

impl From<Failure> for SpeechError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Refused(why) | Failure::OurFault(why) => Self::Rejected(redact::fit(&why)),
            Failure::Busy { retry_after } => Self::Busy { retry_after },
            Failure::Unavailable(why) | Failure::NotCounted(why) => Self::Unavailable(redact::fit(&why)),
            Failure::Protocol(why) => Self::Protocol(redact::fit(&why)),
        }
    }
}

impl From<Failure> for LanguageError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Refused(why) | Failure::OurFault(why) => Self::Rejected(redact::fit(&why)),
            Failure::Busy { retry_after } => Self::Busy { retry_after },
            Failure::Unavailable(why) | Failure::NotCounted(why) => Self::Unavailable(redact::fit(&why)),
            Failure::Protocol(why) => Self::Protocol(redact::fit(&why)),
        }
    }
}

#[cfg(test)]
mod tests {
    use net::key::Key;

    use super::*;

    #[test]
    fn a_status_says_what_to_do_next() {
        let verdict = |status| Failure::of_status(status, String::new(), None).verdict();
        for status in [401, 402, 403] {
            assert_eq!(verdict(status), Some(Verdict::Refused), "{status}");
        }
        for status in [400, 404, 413, 422] {
            assert_eq!(verdict(status), Some(Verdict::OurFault), "{status}");
        }
        for status in [301, 408, 409, 425, 429, 500, 529] {
            assert_eq!(verdict(status), Some(Verdict::Unhealthy), "{status}");
        }
        let pause = Some(Duration::from_secs(2));
        assert_eq!(
            Failure::of_status(429, String::new(), pause),
            Failure::Busy { retry_after: pause }
        );
    }

    #[test]
    fn no_providers_words_begin_a_line_of_a_log_or_hold_a_key() {
        let _key = Key::new("dg-canary-0123456789");
        let told = format!(
            "{}dg-canary-0123456789\r\nERROR forged\u{1b}[2J\u{2028}x",
            "x".repeat(190)
        );
        for failure in [
            Failure::of_status(401, told.clone(), None),
            Failure::of_status(400, told.clone(), None),
            Failure::of_status(500, told.clone(), None),
            Failure::unavailable(told.clone()),
            Failure::protocol(told.clone()),
            Failure::NotCounted(told.clone()),
        ] {
            let shown = [
                SpeechError::from(failure.clone()).to_string(),
                LanguageError::from(failure).to_string(),
            ];
            for words in shown {
                assert!(words.contains("forged") && !words.contains("canary"), "{words}");
                assert!(
                    !words.contains(|c: char| c.is_control() || c == '\u{2028}'),
                    "{words:?}"
                );
            }
        }
    }
}
