//! Meaning of Telnyx's errors for the dialer: by status, error code and the field they point at. Pure.
//!
//! Source: <https://developers.telnyx.com/development/api-fundamentals/api-errors>

use std::borrow::Cow;

use domain::ports::carrier::CarrierError;
use reqwest::StatusCode;
use serde::Deserialize;
use serde_json::Value;

use crate::{
    http::{Codes, Concerns, Refusal, look_up, unexpected, words_or},
    protocol::number::Written,
};

/// Error code of a command for a finished call: "Call has already ended".
pub const ALREADY_ENDED: &str = "90018";
/// Error code of a command for a call that Telnyx does not know: "Invalid Call Control ID".
const UNKNOWN_CALL: &str = "90015";
/// Error code of too many requests, with any status.
const TOO_MANY: &str = "10011";
/// Error code of too many dials in a second.
const TOO_MANY_DIALS: &str = "90103";

/// An error response; the first of its errors counts.
#[derive(Debug, Default)]
pub struct ErrorAnswer {
    /// Telnyx's error code.
    pub code: String,
    words: String,
    /// Pointer to the invalid request field, such as `/to`.
    pointer: String,
    /// Telnyx's own code for a refused call, if it is given apart.
    detail_code: String,
}

#[derive(Deserialize)]
struct Body {
    #[serde(default)]
    errors: Vec<Item>,
    #[serde(default)]
    telnyx_error: Value,
}

#[derive(Default, Deserialize)]
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
        let Ok(Body { errors, telnyx_error }) = serde_json::from_slice(body) else {
            return Self::default();
        };
        let first = errors.into_iter().next().unwrap_or_default();
        Self {
            code: first.code.as_ref().map(ToString::to_string).unwrap_or_default(),
            words: first.detail.or(first.title).unwrap_or_default(),
            pointer: first.source.and_then(|source| source.pointer).unwrap_or_default(),
            detail_code: telnyx_error["error_code"].as_str().unwrap_or_default().to_owned(),
        }
    }

    fn code(&self) -> Cow<'_, str> {
        let detail = self.detail_code();
        let code = if detail.is_empty() { &*self.code } else { detail };
        code.into()
    }

    fn words(&self) -> &str {
        &self.words
    }

    fn concerns(&self, status: StatusCode) -> Option<Concerns> {
        look_up(DETAIL_CODES, self.detail_code()).or(match (&*self.code, &*self.pointer) {
            (TOO_MANY | TOO_MANY_DIALS, _) => Some(Concerns::Capacity),
            _ if !status.is_client_error() => None,
            (_, "/to") if status == StatusCode::FORBIDDEN => Some(Concerns::Destination),
            (_, "/to") => Some(Concerns::InvalidNumber),
            // A field that is sent with every call.
            (_, field) if field.starts_with('/') => Some(Concerns::Account),
            ("10002" | "10016", _) => Some(Concerns::InvalidNumber),
            // Keys, accounts and funds.
            (code, _) if code.len() == 5 && code.starts_with("20") => Some(Concerns::Account),
            _ => None,
        })
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

impl ErrorAnswer {
    /// Returns Telnyx's own code for a refused call, such as `D13`: given apart, or the last known one in its words.
    fn detail_code(&self) -> &str {
        let words = self.words.split(|c: char| !c.is_ascii_alphanumeric()).rev();
        let mut codes = std::iter::once(&*self.detail_code).chain(words);
        let known = codes.find(|code| look_up(DETAIL_CODES, code).is_some());
        known.unwrap_or(&self.detail_code)
    }
}

/// Codes with which Telnyx explains why it refuses a call, in the words of error 10010.
///
/// Source: <https://support.telnyx.com/en/articles/4409457-telnyx-sip-response-codes>
const DETAIL_CODES: &Codes = &[
    (Concerns::InvalidNumber, "D11 D14 D50 P18"),
    // Countries, prefixes, rates and service plans of the outbound voice profile; short and special numbers.
    (
        Concerns::Destination,
        "D12 D13 D24 D30 D31 D37 D40 D41 D53 D58 D59 D60 TM1",
    ),
    (Concerns::Capacity, "D1 D2 D3 D4 D5 D9 D10 D22 D56 P05 P15"),
    // The account, its connection, its outbound voice profile, its balance and its caller ID.
    (
        Concerns::Account,
        "D7 D8 D15 D16 D17 D18 D19 D21 D25 D26 D29 D34 D35 D36 D38 D39 D44 D46 D48 D49 D51 D52 D54 D57 D63 D64 D65",
    ),
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
        let unclassified = |kind: &str, said: &str| DialError::Unclassified {
            kind: words(kind),
            words: words(said),
        };
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
            (400, words("<html>"), unclassified("400", "400 Bad Request")),
            (403, words("<html>"), unclassified("403", "403 Forbidden")),
            (422, error("10015", "what", ""), unclassified("422 10015", "what")),
            (429, error("90103", "too fast", ""), busy.clone()),
            (
                400,
                error("20100", "no funds", ""),
                DialError::AccountRefused(words("no funds")),
            ),
            (
                401,
                error("10009", "no key", ""),
                DialError::AccountRefused(words("no key")),
            ),
            (402, words(""), DialError::AccountRefused(words("402 Payment Required"))),
            (403, error("10010", "no", ""), unclassified("403 10010", "no")),
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

    #[test]
    fn a_refused_call_is_sorted_by_the_code_in_its_words_or_beside_them() {
        let of_code = |code: &str| {
            of(
                403,
                &error("10010", &format!("Dialed number +1555 is refused {code}"), ""),
            )
        };
        for code in ["D11", "D14", "D50"] {
            assert!(matches!(of_code(code), DialError::InvalidNumber(_)), "{code}");
        }
        for code in ["D12", "D13", "D13.", "D24", "D41", "D53", "D58", "D60"] {
            assert!(matches!(of_code(code), DialError::Rejected(_)), "{code}");
        }
        for code in ["D1", "D2", "D3", "D10", "D22", "D56"] {
            assert!(matches!(of_code(code), DialError::Busy { .. }), "{code}");
        }
        for code in [
            "D7", "D15", "D16", "D17", "D35", "D36", "D38", "D39", "D51", "D54", "D63",
        ] {
            assert!(matches!(of_code(code), DialError::AccountRefused(_)), "{code}");
        }
        let unknown = |kind: &str, said: DialError| match said {
            DialError::Unclassified { kind: shown, .. } => assert_eq!(shown, kind),
            other => panic!("{other:?}"),
        };
        unknown("403 10010", of_code("D99"));
        unknown("403 10010", of_code("D130"));
        let beside = |code: &str, words: &str| {
            let errors = serde_json::json!([{ "code": "10010", "title": "Authorization failed", "detail": words }]);
            let body = serde_json::json!({ "errors": errors, "telnyx_error": { "error_code": code } });
            of(403, &body.to_string())
        };
        assert!(matches!(beside("D13", "no"), DialError::Rejected(_)));
        unknown("403 D99", beside("D99", "no"));
        // A list of numbers or countries before the code is no code.
        assert!(matches!(of_code("in D1 to D2: CA, US D13"), DialError::Rejected(_)));
        let odd = of(
            403,
            r#"{"errors":[{"code":"10010","detail":"no D11"}],"telnyx_error":"odd"}"#,
        );
        assert_eq!(odd, DialError::InvalidNumber("no D11".to_owned()));
    }
}
