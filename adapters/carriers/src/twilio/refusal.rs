//! Meaning of Twilio's error codes for the dialer. Pure.
//!
//! Source: <https://www.twilio.com/docs/api/errors>

use std::borrow::Cow;

use domain::ports::carrier::CarrierError;
use reqwest::StatusCode;
use serde::Deserialize;

use crate::http::{Codes, Concerns, Refusal, look_up, unexpected, words_or};

/// An error response.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ErrorAnswer {
    /// Twilio's error code.
    pub code: Code,
    /// Text of the error.
    pub message: String,
    /// Error codes with a meaning of their own at this carrier.
    #[serde(skip)]
    own: &'static Codes,
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

    fn code(&self) -> Cow<'_, str> {
        self.code.0.to_string().into()
    }

    fn words(&self) -> &str {
        &self.message
    }

    fn concerns(&self, _: StatusCode) -> Option<Concerns> {
        look_up(self.own, &self.code()).or_else(|| look_up(CODES, &self.code()))
    }
}

impl ErrorAnswer {
    /// Reads an error response of SignalWire.
    pub fn of_signalwire(body: &[u8]) -> Self {
        Self {
            own: SIGNALWIRE_CODES,
            ..Self::read(body)
        }
    }
}

/// Error codes that may refuse a call.
const CODES: &Codes = &[
    (
        Concerns::InvalidNumber,
        "13223 13224 13226 21201 21211 21214 21217 21401 21421 21614",
    ),
    // Premium and blocked numbers, geographic permissions, unverified numbers of a trial account, opt-outs.
    (
        Concerns::Destination,
        "13225 13227 21202 21203 21215 21216 21219 21408 21608 21610 21612 32205",
    ),
    (Concerns::Capacity, "10004 20429"),
    // The account is closed, on trial or suspended; the caller ID is not one of its numbers; or a field that is
    // sent with every call is refused.
    (
        Concerns::Account,
        "10001 10002 10003 10005 20003 20005 20006 20008 20403 20404 21205 21206 21207 21208 21209 21210 21212 21213 \
         21218 21264 21471 21472 21606 21609 21626",
    ),
];

/// Error codes to which SignalWire gives another meaning.
///
/// Source: <https://developer.signalwire.com/rest/compatibility-api/overview/error-codes>
const SIGNALWIRE_CODES: &Codes = &[
    (Concerns::Capacity, "15002"),
    (Concerns::Account, "4001 10000 10001 10002 10003 10004"),
];

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use domain::ports::carrier::DialError;

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
        let unclassified = |kind: &str, said: &str| DialError::Unclassified {
            kind: words(kind),
            words: words(said),
        };
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
                unclassified("422 0", "no"),
            ),
            (400, "<html>", unclassified("400 0", "400 Bad Request")),
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
            (403, "", unclassified("403 0", "403 Forbidden")),
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

    #[test]
    fn every_known_code_is_sorted_whatever_its_status() {
        let of_code = |status: u16, code: u64| of(status, &format!(r#"{{"code":{code},"message":"no"}}"#));
        for status in [400, 401, 403, 422] {
            for code in [13_223, 13_224, 13_226, 21_211, 21_217, 21_401, 21_614] {
                assert!(matches!(of_code(status, code), DialError::InvalidNumber(_)), "{code}");
            }
            for code in [13_225, 13_227, 21_215, 21_216, 21_219, 21_610, 32_205] {
                assert!(matches!(of_code(status, code), DialError::Rejected(_)), "{code}");
            }
            for code in [10_004, 20_429] {
                assert!(matches!(of_code(status, code), DialError::Busy { .. }), "{code}");
            }
            for code in [
                10_001, 10_002, 10_003, 20_003, 20_005, 21_210, 21_212, 21_213, 21_218, 21_609,
            ] {
                assert!(matches!(of_code(status, code), DialError::AccountRefused(_)), "{code}");
            }
        }
        let unknown = DialError::Unclassified {
            kind: "400 99999".to_owned(),
            words: "no".to_owned(),
        };
        assert_eq!(of_code(400, 99_999), unknown);
    }

    #[test]
    fn signalwire_has_meanings_of_its_own() {
        let of_code = |code: u64| {
            let body = format!(r#"{{"code":"{code}","message":"no"}}"#);
            ErrorAnswer::of_signalwire(body.as_bytes()).of_dial(StatusCode::UNPROCESSABLE_ENTITY, None)
        };
        for code in [4_001, 10_000, 10_001, 10_002, 10_003, 10_004, 21_210, 21_212] {
            assert!(matches!(of_code(code), DialError::AccountRefused(_)), "{code}");
        }
        assert_eq!(of_code(15_002), DialError::Busy { retry_after: None });
        assert_eq!(of_code(21_217), DialError::InvalidNumber("no".to_owned()));
        assert_eq!(of_code(21_219), DialError::Rejected("no".to_owned()));
    }
}
