//! Meaning of Telnyx's errors for the dialer: by status, error code and the field they point at. Pure.
//!
//! Source: <https://developers.telnyx.com/development/api-fundamentals/api-errors>

use std::time::Duration;

use domain::ports::carrier::{CarrierError, DialError};
use reqwest::StatusCode;
use serde::Deserialize;

use crate::{
    http::{Refusal, unexpected, words_or},
    protocol::number::Written,
};

/// Error code of a command for a finished call: "Call has already ended".
pub const ALREADY_ENDED: &str = "90018";
/// Error code of a command for a call that Telnyx does not know: "Invalid Call Control ID".
const UNKNOWN_CALL: &str = "90015";
/// Error code of too many requests, with any status.
const TOO_MANY: &str = "10011";

/// An error response; the first of its errors counts.
#[derive(Debug, Default)]
pub struct ErrorAnswer {
    /// Telnyx's error code.
    pub code: String,
    words: String,
    /// Pointer to the invalid request field, such as `/to`.
    pointer: String,
}

#[derive(Deserialize)]
struct Body {
    #[serde(default)]
    errors: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    code: Option<Written>,
    title: Option<String>,
    detail: Option<String>,
    source: Option<Source>,
}

#[derive(Deserialize)]
struct Source {
    pointer: Option<String>,
}

impl Refusal for ErrorAnswer {
    fn read(body: &[u8]) -> Self {
        let errors = serde_json::from_slice(body).map_or_else(|_| Vec::new(), |body: Body| body.errors);
        let Some(first) = errors.into_iter().next() else {
            return Self::default();
        };
        Self {
            code: first.code.as_ref().map(ToString::to_string).unwrap_or_default(),
            words: first.detail.or(first.title).unwrap_or_default(),
            pointer: first.source.and_then(|source| source.pointer).unwrap_or_default(),
        }
    }

    fn of_dial(&self, status: StatusCode, retry_after: Option<Duration>) -> DialError {
        let words = words_or(&self.words, status);
        match (status.as_u16(), &*self.code, &*self.pointer) {
            (429, ..) | (400..=499, TOO_MANY, _) => DialError::Busy { retry_after },
            // This number must not or cannot be called; the next one may.
            (403, _, "/to") => DialError::Rejected(words),
            (400 | 422, _, "/to") | (400 | 422, "10002" | "10016", "") => DialError::InvalidNumber(words),
            // The cause is the key, the balance, the application, the caller ID or something else that we
            // send with every call. No number is given up for that.
            (401..=404, ..) => DialError::AccountRefused(words),
            (400 | 422, _, field) if field.starts_with('/') => DialError::AccountRefused(words),
            (400 | 422, ..) => DialError::Rejected(words),
            _ => DialError::Unknown(format!("carrier answered {status}: {words}")),
        }
    }

    fn of_wish(&self, status: StatusCode) -> CarrierError {
        match (status.as_u16(), &*self.code) {
            (400..=499, ALREADY_ENDED | UNKNOWN_CALL) => CarrierError::NotFound,
            (400..=499, TOO_MANY) => CarrierError::Unavailable("too many requests".to_owned()),
            (404 | 429 | 500.., _) => unexpected(status),
            (400..=499, _) => CarrierError::Refused(words_or(&self.words, status)),
            _ => unexpected(status),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(status: u16, body: &str) -> DialError {
        let status = StatusCode::from_u16(status).unwrap();
        ErrorAnswer::read(body.as_bytes()).of_dial(status, Some(Duration::from_secs(2)))
    }

    fn error(code: &str, detail: &str, pointer: &str) -> String {
        let source = serde_json::json!({ "pointer": pointer });
        let error = serde_json::json!({ "code": code, "title": "Title", "detail": detail, "source": source });
        serde_json::json!({ "errors": [error] }).to_string()
    }

    #[test]
    fn a_wish_is_refused_for_good_or_may_be_asked_again() {
        let of = |status: u16, body: &str| {
            let status = StatusCode::from_u16(status).unwrap();
            ErrorAnswer::read(body.as_bytes()).of_wish(status)
        };
        let unavailable = |words: &str| CarrierError::Unavailable(words.to_owned());
        for (status, body, expected) in [
            (422, error("90018", "over", ""), CarrierError::NotFound),
            (404, error("10005", "unknown", ""), CarrierError::NotFound),
            (
                422,
                error("90015", "not valid", "/call_control_id"),
                CarrierError::NotFound,
            ),
            (403, error("10011", "slow down", ""), unavailable("too many requests")),
            (429, String::new(), unavailable("too many requests")),
            (503, String::new(), unavailable("503 Service Unavailable")),
            (
                422,
                error("90034", "not yet answered", ""),
                CarrierError::Refused("not yet answered".to_owned()),
            ),
            (
                302,
                String::new(),
                CarrierError::Protocol("answered 302 Found".to_owned()),
            ),
        ] {
            assert_eq!(of(status, &body), expected, "{status} {body}");
        }
    }

    #[test]
    fn each_refusal_is_sorted_by_what_the_dialer_does_next() {
        let busy = DialError::Busy {
            retry_after: Some(Duration::from_secs(2)),
        };
        let words = |words: &str| words.to_owned();
        for (status, body, expected) in [
            (
                422,
                error("10016", "not E.164", "/to"),
                DialError::InvalidNumber(words("not E.164")),
            ),
            (
                422,
                error("10016", "not E.164", ""),
                DialError::InvalidNumber(words("not E.164")),
            ),
            (
                400,
                error("10015", "no number", "/to"),
                DialError::InvalidNumber(words("no number")),
            ),
            (
                422,
                error("10016", "not yours", "/from"),
                DialError::AccountRefused(words("not yours")),
            ),
            (
                422,
                error("10015", "no app", "/connection_id"),
                DialError::AccountRefused(words("no app")),
            ),
            (
                422,
                error("10015", "", "/stream_url"),
                DialError::AccountRefused(words("422 Unprocessable Entity")),
            ),
            (400, words("<html>"), DialError::Rejected(words("400 Bad Request"))),
            (
                401,
                error("10009", "no key", ""),
                DialError::AccountRefused(words("no key")),
            ),
            (402, words(""), DialError::AccountRefused(words("402 Payment Required"))),
            (403, error("10010", "no", ""), DialError::AccountRefused(words("no"))),
            (
                403,
                error("10010", "country", "/to"),
                DialError::Rejected(words("country")),
            ),
            (404, words("{}"), DialError::AccountRefused(words("404 Not Found"))),
            (429, words(""), busy.clone()),
            (403, error("10011", "slow down", ""), busy),
            (
                500,
                error("10007", "oh", ""),
                DialError::Unknown(words("carrier answered 500 Internal Server Error: oh")),
            ),
            (
                302,
                words(""),
                DialError::Unknown(words("carrier answered 302 Found: 302 Found")),
            ),
        ] {
            assert_eq!(of(status, &body), expected, "{status} {body}");
        }
        let numbers = ErrorAnswer::read(br#"{"errors":[{"code":90018,"title":"Call has already ended"}]}"#);
        assert_eq!(
            (&*numbers.code, &*numbers.words),
            (ALREADY_ENDED, "Call has already ended")
        );
    }
}
