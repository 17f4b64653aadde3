//! Meaning of a receiver's answer for a delivery.

use std::time::Duration;

use chrono::DateTime;
use domain::{
    deliveries::next_try,
    ports::store::{Delivery, Settled},
    time::Timestamp,
};

/// Maximum characters of an error that are stored.
const ERROR_CHARS: usize = 500;

/// Pause that the receiver asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wish {
    /// Length of the pause.
    pub pause: Duration,
    /// Whether it applies to all deliveries to this receiver (429, 503).
    pub lane_too: bool,
}

/// Result of a delivery attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The delivery arrived.
    Arrived,
    /// The receiver wants no more deliveries.
    Gone(String),
    /// The delivery failed.
    Failed {
        /// Error message.
        error: String,
        /// Pause that the receiver asked for.
        wish: Option<Wish>,
    },
}

impl Answer {
    /// Creates a failure without a requested pause.
    pub fn failed(error: impl Into<String>) -> Self {
        Self::Failed {
            error: error.into(),
            wish: None,
        }
    }

    /// Returns the result for an HTTP status, with the value of `Retry-After`.
    pub fn of_status(status: u16, retry_after: Option<&str>, now: Timestamp) -> Self {
        let error = format!("the receiver answered {status}");
        match status {
            200..=299 => Self::Arrived,
            410 => Self::Gone(error),
            300..=399 => Self::failed(format!("{error}; redirects are not followed")),
            _ => Self::Failed {
                error,
                wish: retry_after.and_then(|text| pause(text, now)).map(|pause| Wish {
                    pause,
                    lane_too: matches!(status, 429 | 503),
                }),
            },
        }
    }

    /// Returns the new state of the delivery, whose target is where it was sent to.
    pub fn settles(self, delivery: &Delivery) -> Settled {
        match self {
            Self::Arrived => Settled::Delivered,
            Self::Gone(error) => Settled::Gone {
                error: shortened(&error),
                url: delivery.target.clone(),
            },
            Self::Failed { error, wish } => {
                let error = shortened(&error);
                match next_try(delivery.failed, wish.map(|wish| wish.pause)) {
                    None => Settled::GivenUp { error },
                    Some(pause) => Settled::PutOff {
                        pause,
                        lane_too: wish.is_some_and(|wish| wish.lane_too),
                        error,
                    },
                }
            }
        }
    }
}

/// Removes control characters, which some databases refuse, and limits the length.
fn shortened(error: &str) -> String {
    error.chars().filter(|c| !c.is_control()).take(ERROR_CHARS).collect()
}

/// Parses `Retry-After`: seconds, or a date (RFC 9110, section 10.2.3).
fn pause(text: &str, now: Timestamp) -> Option<Duration> {
    let text = text.trim();
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.parse().ok().map(Duration::from_secs);
    }
    let until = DateTime::parse_from_rfc2822(text).ok()?;
    Some(Timestamp::from(until.to_utc()).since(now))
}

#[cfg(test)]
mod tests {
    use domain::{
        deliveries::DeliveryKind,
        id::{AccountId, AttemptId, DeliveryId},
    };

    use super::*;

    fn delivery(failed: i64) -> Delivery {
        Delivery {
            id: DeliveryId::new(),
            account: AccountId::new(),
            attempt: Some(AttemptId::new()),
            kind: DeliveryKind::Webhook,
            target: String::new(),
            lane: String::new(),
            failed,
            lease: 1,
            created_at: Timestamp(0),
            reply: None,
        }
    }

    fn settled(status: u16, retry_after: Option<&str>, failed: i64) -> String {
        // 2026-01-01T00:00:00Z.
        let answer = Answer::of_status(status, retry_after, Timestamp(1_767_225_600_000_000));
        match answer.settles(&delivery(failed)) {
            Settled::Delivered => "delivered".to_owned(),
            Settled::PutOff { pause, lane_too, .. } => format!("{} s, lane {lane_too}", pause.as_secs()),
            Settled::GivenUp { .. } => "given up".to_owned(),
            Settled::Gone { .. } => "gone".to_owned(),
        }
    }

    #[test]
    fn every_status_has_its_meaning() {
        for (status, retry_after, failed, expected) in [
            (200, None, 0, "delivered"),
            (204, None, 7, "delivered"),
            (299, None, 0, "delivered"),
            (410, None, 0, "gone"),
            (301, None, 0, "5 s, lane false"),
            (307, Some("100"), 1, "300 s, lane false"),
            (404, None, 6, "36000 s, lane false"),
            (500, None, 7, "given up"),
            (429, Some("60"), 0, "60 s, lane true"),
            (429, Some(" 2 "), 0, "5 s, lane true"),
            (503, Some("Thu, 01 Jan 2026 00:10:00 GMT"), 0, "600 s, lane true"),
            (503, Some("Wed, 31 Dec 2025 00:10:00 GMT"), 0, "5 s, lane true"),
            (500, Some("60"), 0, "60 s, lane false"),
            (429, Some("99999999999999999999"), 0, "5 s, lane false"),
            (429, Some("999999999"), 0, "36000 s, lane true"),
            (429, Some("soon"), 0, "5 s, lane false"),
            (429, Some("99"), 7, "given up"),
        ] {
            assert_eq!(
                settled(status, retry_after, failed),
                expected,
                "{status} {retry_after:?} {failed}"
            );
        }
    }

    #[test]
    fn an_error_has_nothing_in_it_that_a_database_would_refuse() {
        let answer = Answer::failed(format!("a\0b\n{}", "ü".repeat(1_000)));
        let Settled::PutOff { error, .. } = answer.settles(&delivery(0)) else {
            panic!("not put off");
        };
        assert_eq!((error.chars().count(), error.starts_with("abü")), (ERROR_CHARS, true));
    }
}
