//! Meaning of Twilio's error codes for the dialer. Pure.
//!
//! Source: <https://www.twilio.com/docs/api/errors>

use std::time::Duration;

use domain::ports::carrier::{CarrierError, DialError};
use reqwest::StatusCode;
use serde::Deserialize;

use crate::http::{Refusal, unexpected, words_or};

/// An error response.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ErrorAnswer {
    /// Twilio's error code.
    pub code: Code,
    /// Text of the error.
    pub message: String,
}

/// An error code; SignalWire writes some as text.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "serde_json::Value")]
pub struct Code(pub u64);

impl From<serde_json::Value> for Code {
    fn from(value: serde_json::Value) -> Self {
        let number = value.as_u64().or_else(|| value.as_str()?.parse().ok());
        Self(number.unwrap_or_default())
    }
}

/// Error code of a change that does not fit the call's state: "Call is not in-progress. Cannot redirect."
pub const NOT_IN_STATE: u64 = 21_220;

impl Refusal for ErrorAnswer {
    fn read(body: &[u8]) -> Self {
        serde_json::from_slice(body).unwrap_or_default()
    }

    fn of_wish(&self, status: StatusCode) -> CarrierError {
        match (status.as_u16(), self.code.0) {
            (_, NOT_IN_STATE) => CarrierError::NotFound,
            (400 | 401 | 403 | 422, _) => CarrierError::Refused(words_or(&self.message, status)),
            _ => unexpected(status),
        }
    }

    fn of_dial(&self, status: StatusCode, retry_after: Option<Duration>) -> DialError {
        let words = words_or(&self.message, status);
        match (status.as_u16(), self.code.0) {
            // The limit of concurrent calls also comes with other statuses.
            (429, _) | (400 | 403, 10_004 | 20_429) => DialError::Busy { retry_after },
            // The account is closed, on trial or suspended; the caller ID is not one of its numbers; or it
            // rejects an address of ours. All of this affects every call. No number is given up for that.
            (401 | 403 | 404, _)
            | (400, 10_001 | 10_002 | 20_003 | 20_005)
            | (400, 21_205 | 21_210 | 21_212 | 21_213 | 21_609 | 21_626) => DialError::AccountRefused(words),
            // The number is malformed, unreachable, or of a kind that cannot be called.
            (400 | 422, 13_223 | 13_224 | 21_211 | 21_214 | 21_217 | 21_401 | 21_421) => {
                DialError::InvalidNumber(words)
            }
            (400 | 422, _) => DialError::Rejected(words),
            _ => DialError::Unknown(format!("carrier answered {status}: {words}")),
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

    #[test]
    fn a_change_of_a_call_that_is_over_finds_none() {
        let of = |status: u16, body: &str| {
            let status = StatusCode::from_u16(status).unwrap();
            ErrorAnswer::read(body.as_bytes()).of_wish(status)
        };
        let over = r#"{"code":21220,"message":"Call is not in-progress. Cannot redirect."}"#;
        for (status, body, expected) in [
            (400, over, CarrierError::NotFound),
            (404, r#"{"code":20404}"#, CarrierError::NotFound),
            (
                400,
                r#"{"code":21218,"message":"bad"}"#,
                CarrierError::Refused("bad".into()),
            ),
            (401, "", CarrierError::Refused("401 Unauthorized".into())),
            (429, "", CarrierError::Unavailable("too many requests".into())),
            (503, "", CarrierError::Unavailable("503 Service Unavailable".into())),
        ] {
            assert_eq!(of(status, body), expected, "{status} {body}");
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
                400,
                r#"{"code":21211,"message":"no number","status":400}"#,
                DialError::InvalidNumber(words("no number")),
            ),
            (
                400,
                r#"{"code":"21211","message":"no number"}"#,
                DialError::InvalidNumber(words("no number")),
            ),
            (
                400,
                r#"{"code":21216,"message":"blocked"}"#,
                DialError::Rejected(words("blocked")),
            ),
            (
                422,
                r#"{"code":"whatever","message":"no"}"#,
                DialError::Rejected(words("no")),
            ),
            (400, "<html>", DialError::Rejected(words("400 Bad Request"))),
            (
                400,
                r#"{"code":21212,"message":"not your number"}"#,
                DialError::AccountRefused(words("not your number")),
            ),
            (
                401,
                r#"{"code":20003,"message":"Authenticate"}"#,
                DialError::AccountRefused(words("Authenticate")),
            ),
            (403, "", DialError::AccountRefused(words("403 Forbidden"))),
            (
                404,
                r#"{"code":20404,"message":"no account"}"#,
                DialError::AccountRefused(words("no account")),
            ),
            (429, r#"{"code":20429,"message":"slow down"}"#, busy.clone()),
            (403, r#"{"code":10004,"message":"too many calls"}"#, busy),
            (
                500,
                r#"{"message":"oh"}"#,
                DialError::Unknown(words("carrier answered 500 Internal Server Error: oh")),
            ),
            (
                302,
                "",
                DialError::Unknown(words("carrier answered 302 Found: 302 Found")),
            ),
        ] {
            assert_eq!(of(status, body), expected, "{status} {body}");
        }
    }
}
