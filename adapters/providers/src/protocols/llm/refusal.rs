//! Errors of language model providers, read from the status, the error type within the stream, and the named field.

use std::time::Duration;

use reqwest::header::HeaderMap;
use serde_json::Value;

use crate::failure::Failure;
use net::redact;

impl Failure {
    /// Returns the failure for a status other than 200, using the beginning of the body.
    pub(crate) fn of_answer(status: u16, headers: &HeaderMap, body: &[u8]) -> Self {
        let told = Told::read(body);
        let words = format!("HTTP {status}: {}", told.words);
        match status {
            // An account without money answers 429 until it is topped up.
            429 if told.is_about_money() => Self::Refused(words),
            503 if !headers.contains_key("retry-after") => Self::Unavailable(words),
            429 | 503 | 529 => Self::Busy {
                retry_after: retry_after(headers),
            },
            400..=599 => Self::of_status(status, words, None),
            _ => Self::Protocol(words),
        }
    }

    /// Returns the failure for an error within the stream, in OpenAI's or Anthropic's form.
    pub(crate) fn of_error(error: &Value) -> Self {
        let told = Told::of(error);
        let words = told.words.clone();
        if told.is_about_money() {
            return Self::Refused(words);
        }
        let names = [told.code.as_str(), told.kind.as_str()];
        let sorted = names.iter().find_map(|name| Self::of_name(name, &words));
        sorted.unwrap_or(Self::Unavailable(words))
    }

    /// Returns the failure for a provider's error name, if it is known.
    fn of_name(name: &str, words: &str) -> Option<Self> {
        Some(match name {
            "authentication_error" | "permission_error" | "billing_error" | "invalid_api_key" => {
                Self::Refused(words.to_owned())
            }
            "invalid_request_error" | "not_found_error" | "request_too_large" => Self::OurFault(words.to_owned()),
            "overloaded_error" | "rate_limit_error" | "rate_limit_exceeded" | "tokens" | "requests" => {
                Self::Busy { retry_after: None }
            }
            _ => return None,
        })
    }
}

/// Relation of an error to a request field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum About {
    /// The provider names it as the wrong field.
    Named,
    /// It occurs in the error text, which may repeat what was sent.
    Mentioned,
}

/// Error response of a provider.
pub(crate) struct Told {
    words: String,
    /// Value of `type`.
    kind: String,
    /// Request field that was wrong.
    field: Option<String>,
    code: String,
}

impl Told {
    /// Reads a body: an object with `error`, such an object in a list, or plain text.
    pub(crate) fn read(body: &[u8]) -> Self {
        let Ok(value) = serde_json::from_slice::<Value>(body) else {
            let text = String::from_utf8_lossy(body);
            return Self::of(&Value::from(text.trim()));
        };
        let value = value.get(0).unwrap_or(&value);
        Self::of(value.get("error").unwrap_or(value))
    }

    fn of(error: &Value) -> Self {
        let text = |name: &str| error.get(name).and_then(Value::as_str).map(str::to_owned);
        let words = match error {
            Value::String(text) => text.clone(),
            _ => text("message")
                .or_else(|| text("detail"))
                .unwrap_or_else(|| error.to_string()),
        };
        let words = redact::fit(&words);
        Self {
            words: if words.is_empty() {
                "no reason given".into()
            } else {
                words
            },
            kind: text("type").unwrap_or_default(),
            field: text("param"),
            code: text("code").unwrap_or_default(),
        }
    }

    fn is_about_money(&self) -> bool {
        [self.kind.as_str(), self.code.as_str()].contains(&"insufficient_quota")
    }

    /// Returns how the error relates to a request field, and by which of its words. The first of them is its name.
    pub(crate) fn about<'w>(&self, words: &[&'w str]) -> Option<(About, &'w str)> {
        let name = words.first().copied()?;
        match &self.field {
            Some(named) => (named.split(['.', '[']).next() == Some(name)).then_some((About::Named, name)),
            None => {
                let word = words.iter().copied().find(|word| self.words.contains(word));
                word.map(|word| (About::Mentioned, word))
            }
        }
    }

    /// Returns whether the error text contains a word, such as a value that is accepted.
    pub(crate) fn contains_word(&self, word: &str) -> bool {
        let mut words = self.words.split(|c: char| !c.is_alphanumeric());
        words.any(|told| told == word)
    }
}

/// Reads the requested pause from `retry-after-ms`, or from `retry-after` in seconds. Dates are not supported.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let figure = |name: &str| headers.get(name)?.to_str().ok()?.trim().parse::<f64>().ok();
    let seconds = figure("retry-after-ms")
        .map(|ms| ms / 1000.0)
        .or_else(|| figure("retry-after"))?;
    Duration::try_from_secs_f64(seconds).ok()
}

#[cfg(test)]
mod tests {
    use domain::ports::language_model::LanguageError;
    use net::{guard::Verdict, key::Key};

    use super::*;

    const BUSY: Failure = Failure::Busy { retry_after: None };

    fn of(status: u16, header: &[(&'static str, &'static str)], body: &str) -> Failure {
        let headers = header.iter().map(|(name, value)| {
            (
                reqwest::header::HeaderName::from_static(name),
                reqwest::header::HeaderValue::from_static(value),
            )
        });
        Failure::of_answer(status, &headers.collect(), body.as_bytes())
    }

    #[test]
    fn a_status_is_told_with_the_providers_words() {
        let body =
            r#"{"error":{"message":"no such model","type":"invalid_request_error","param":"model","code":null}}"#;
        assert_eq!(of(404, &[], body), Failure::OurFault("HTTP 404: no such model".into()));
        assert_eq!(of(402, &[], body), Failure::Refused("HTTP 402: no such model".into()));
        assert_eq!(of(500, &[], "oops"), Failure::unavailable("HTTP 500: oops"));
        assert_eq!(of(503, &[], "oops"), Failure::unavailable("HTTP 503: oops"));
        assert_eq!(of(529, &[], ""), BUSY);
        assert_eq!(of(302, &[], ""), Failure::protocol("HTTP 302: no reason given"));
    }

    #[test]
    fn the_pause_that_is_asked_for_is_read_in_both_units() {
        let busy = |ms: u64| Failure::Busy {
            retry_after: Some(Duration::from_millis(ms)),
        };
        assert_eq!(of(429, &[("retry-after", "2")], ""), busy(2_000));
        assert_eq!(
            of(429, &[("retry-after", "9"), ("retry-after-ms", "250")], ""),
            busy(250)
        );
        for odd in ["-1", "NaN", "Wed, 21 Oct 2026 07:28:00 GMT", "1e300", ""] {
            assert_eq!(of(429, &[("retry-after", odd)], ""), BUSY, "{odd}");
        }
        let broke = r#"{"error":{"message":"You exceeded your current quota","type":"insufficient_quota"}}"#;
        assert_eq!(of(429, &[], broke).verdict(), Some(Verdict::Refused));
    }

    #[test]
    fn words_are_found_in_every_form_bounded_and_without_the_key() {
        let words = |body: &str| match LanguageError::from(of(500, &[], body)) {
            LanguageError::Unavailable(words) => words,
            other => panic!("{other}"),
        };
        assert_eq!(
            words(r#"[{"error":{"code":500,"message":"a","status":"INTERNAL"}}]"#),
            "HTTP 500: a"
        );
        assert_eq!(words(r#"{"error":"b"}"#), "HTTP 500: b");
        assert_eq!(words(r#"{"detail":"c"}"#), "HTTP 500: c");
        assert_eq!(words(&"é".repeat(10_000)).chars().count(), 300);
        let _key = Key::new("zk-1");
        assert_eq!(words("bad key zk-1"), "HTTP 500: bad key ***");
    }

    #[test]
    fn no_providers_words_begin_a_line_of_a_log() {
        let told = "down\r\n2026-01-01 ERROR forged\u{1b}[2J\u{2028}x";
        let quoted = serde_json::json!({ "error": { "message": told } }).to_string();
        for failure in [
            of(500, &[], told),
            of(400, &[], &quoted),
            Failure::of_error(&Value::from(told)),
            Failure::protocol(told),
            Failure::unavailable(told),
        ] {
            let words = LanguageError::from(failure).to_string();
            assert!(words.contains("forged"), "{words}");
            assert!(
                !words.contains(|c: char| c.is_control() || c == '\u{2028}'),
                "{words:?}"
            );
        }
    }

    #[test]
    fn an_error_within_the_stream_is_sorted_by_its_type() {
        let of = |kind: &str| Failure::of_error(&serde_json::json!({ "type": kind, "message": "m" }));
        assert_eq!(of("overloaded_error"), BUSY);
        assert_eq!(of("authentication_error").verdict(), Some(Verdict::Refused));
        assert_eq!(of("invalid_request_error").verdict(), Some(Verdict::OurFault));
        assert_eq!(of("api_error"), Failure::unavailable("m"));
        let finer = serde_json::json!({ "type": "server_error", "code": "rate_limit_exceeded", "message": "m" });
        assert_eq!(Failure::of_error(&finer), BUSY);
        let echo = serde_json::json!({ "type": "api_error", "message": "insufficient_quota authentication_error" });
        assert_eq!(Failure::of_error(&echo).verdict(), Some(Verdict::Unhealthy));
        assert_eq!(Failure::of_error(&Value::Null), Failure::unavailable("null"));
    }
}
