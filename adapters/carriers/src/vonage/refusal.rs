//! Meaning of Vonage's errors: by status and by the parameter they point at. Pure.
//!
//! Source: <https://developer.vonage.com/en/api-errors>

use std::borrow::Cow;

use reqwest::StatusCode;
use serde::Deserialize;

use crate::http::{Codes, Concerns, Refusal, look_up};

/// An error response.
#[derive(Debug, Default)]
pub struct ErrorAnswer {
    words: String,
    /// Invalid parameter, such as `to` or `to[0].number`.
    parameter: String,
    /// Address of the error's description, which ends with its kind.
    address: String,
}

#[derive(Deserialize)]
struct Body {
    #[serde(default, rename = "type")]
    address: Option<String>,
    #[serde(default)]
    title: Option<String>,
    /// Name of the title field in responses of Vonage's older services.
    #[serde(default)]
    error_title: Option<String>,
    #[serde(default)]
    detail: Option<String>,
    #[serde(default)]
    invalid_parameters: Vec<Parameter>,
}

#[derive(Deserialize)]
struct Parameter {
    #[serde(default)]
    name: String,
    #[serde(default)]
    reason: Option<String>,
}

impl ErrorAnswer {
    /// Returns the invalid part of a request: `to` for `to[0].number`.
    fn part(&self) -> &str {
        self.parameter.split(['.', '[']).next().unwrap_or_default()
    }

    /// Returns the kind of the error, such as `low-balance`.
    fn kind(&self) -> &str {
        self.address.rsplit(['#', '/']).next().unwrap_or_default()
    }
}

/// Kinds of errors: what follows the `#` of an error's type.
const KINDS: &Codes = &[
    (Concerns::Capacity, "rate-limit throttled"),
    (
        Concerns::Account,
        "low-balance out-of-credit unauthorized forbidden not-found unprovisioned",
    ),
];

impl Refusal for ErrorAnswer {
    fn read(body: &[u8]) -> Self {
        let Ok(body) = serde_json::from_slice::<Body>(body) else {
            return Self::default();
        };
        let first = body.invalid_parameters.into_iter().next();
        let (parameter, reason) = first.map_or_else(Default::default, |first| (first.name, first.reason));
        let words = reason.or(body.detail).or(body.title).or(body.error_title);
        Self {
            words: words.unwrap_or_default(),
            parameter,
            address: body.address.unwrap_or_default(),
        }
    }

    fn code(&self) -> Cow<'_, str> {
        self.kind().into()
    }

    fn words(&self) -> &str {
        &self.words
    }

    fn concerns(&self, status: StatusCode) -> Option<Concerns> {
        match (status.as_u16(), self.part()) {
            // This number must not or cannot be called; the next one may.
            (403, "to") => Some(Concerns::Destination),
            (400 | 422, "to") => Some(Concerns::InvalidNumber),
            // A field that is sent with every call.
            (400 | 403 | 422, part) if !part.is_empty() => Some(Concerns::Account),
            _ => look_up(KINDS, self.kind()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use domain::ports::carrier::{CarrierError, DialError};
    use serde_json::json;

    use super::*;

    fn body(parameter: &str, reason: &str) -> String {
        let parameters = json!([{ "name": parameter, "reason": reason }]);
        json!({ "type": "x", "title": "Bad Request", "detail": "Invalid params", "invalid_parameters": parameters })
            .to_string()
    }

    fn answer(status: u16, body: &str) -> (ErrorAnswer, StatusCode) {
        (
            ErrorAnswer::read(body.as_bytes()),
            StatusCode::from_u16(status).unwrap(),
        )
    }

    #[test]
    fn each_refusal_of_a_dial_is_sorted_by_what_the_dialer_does_next() {
        let retry_after = Some(Duration::from_secs(2));
        let words = |words: &str| words.to_owned();
        let unclassified = |kind: &str, said: &str| DialError::Unclassified {
            kind: words(kind),
            words: words(said),
        };
        let kind = |kind: &str| {
            let address = format!("https://developer.vonage.com/api-errors#{kind}");
            json!({ "type": address, "title": "Title", "detail": "words" }).to_string()
        };
        for (status, body, expected) in [
            (
                400,
                body("to", "no number"),
                DialError::InvalidNumber(words("no number")),
            ),
            (
                422,
                body("to[0].number", "no number"),
                DialError::InvalidNumber(words("no number")),
            ),
            (403, body("to", "country"), DialError::Rejected(words("country"))),
            (
                400,
                body("from.number", "not yours"),
                DialError::AccountRefused(words("not yours")),
            ),
            (
                400,
                body("ncco", "Syntax error"),
                DialError::AccountRefused(words("Syntax error")),
            ),
            (400, body("total", "odd"), DialError::AccountRefused(words("odd"))),
            (400, words("<html>"), unclassified("400", "400 Bad Request")),
            (409, words("{}"), unclassified("409", "409 Conflict")),
            (420, kind("odd"), unclassified("420 odd", "words")),
            (403, kind("low-balance"), DialError::AccountRefused(words("words"))),
            (403, kind("forbidden"), DialError::AccountRefused(words("words"))),
            (403, kind("rate-limit"), DialError::Busy { retry_after }),
            (
                401,
                words(r#"{"type":"UNAUTHORIZED","error_title":"Unauthorized"}"#),
                DialError::AccountRefused(words("Unauthorized")),
            ),
            (
                402,
                words(r#"{"title":"Low balance"}"#),
                DialError::AccountRefused(words("Low balance")),
            ),
            (403, words(""), unclassified("403", "403 Forbidden")),
            (404, words(""), DialError::AccountRefused(words("404 Not Found"))),
            (429, words(""), DialError::Busy { retry_after }),
            (
                500,
                words(""),
                DialError::Unknown(words(
                    "carrier answered 500 Internal Server Error: 500 Internal Server Error",
                )),
            ),
            (
                302,
                words(""),
                DialError::Unknown(words("carrier answered 302 Found: 302 Found")),
            ),
        ] {
            let (answer, code) = answer(status, &body);
            assert_eq!(answer.of_dial(code, retry_after), expected, "{status} {body}");
        }
    }

    #[test]
    fn each_refusal_of_a_wish_tells_whether_it_may_be_asked_again() {
        for (status, expected) in [
            (404, CarrierError::NotFound),
            (429, CarrierError::Unavailable("too many requests".into())),
            (503, CarrierError::Unavailable("503 Service Unavailable".into())),
            (400, CarrierError::Refused("no number".into())),
            (401, CarrierError::Refused("no number".into())),
            (302, CarrierError::Protocol("answered 302 Found".into())),
        ] {
            let (answer, code) = answer(status, &body("to", "no number"));
            assert_eq!(answer.of_wish(code), expected, "{status}");
        }
    }
}
