//! Errors of speech providers, with advice on what to check. They are read from statuses, message codes and
//! close frames.

use std::time::Duration;

use serde_json::Value;

use crate::{
    endpoint::{Address, Endpoint},
    failure::Failure,
};
use net::{redact, socket::ConnectError};

/// Maximum length of a provider's error code.
const LONGEST_CODE: usize = 64;

/// Maximum length of a provider's error text, so that the advice after it is still shown.
const MOST_SAID: usize = 200;

impl Failure {
    /// Returns the failure for an unexpected HTTP status.
    pub(crate) fn of_speech_status(
        endpoint: &Endpoint,
        status: u16,
        words: &str,
        retry_after: Option<Duration>,
    ) -> Self {
        let provider = endpoint.provider;
        let words = said(words);
        let Address { key, base, .. } = endpoint.address;
        let check = match status {
            401 | 403 => format!("; check {key}"),
            402 => format!("; check the account of {key}"),
            // Something other than the provider answered: the address has moved, or it is a sign-in page.
            300..=399 => format!("; check {base}"),
            404 => format!("; check the voice, the model and {base}"),
            408 | 409 | 425 | 429 | 500.. => String::new(),
            _ => "; check the voice and the model".to_owned(),
        };
        Self::of_status(
            status,
            format!("{provider} answers {status}: {words}{check}"),
            retry_after,
        )
    }

    /// Returns the failure for a socket that could not be opened.
    pub(crate) fn of_connect(endpoint: &Endpoint, error: &ConnectError) -> Self {
        match error {
            ConnectError::Refused { status, words } => Self::of_speech_status(endpoint, *status, words, None),
            ConnectError::Unreachable(why) => Self::Unavailable(format!("{}: {why}", endpoint.provider)),
        }
    }

    /// Returns the failure for an error on a socket. `codes` are the provider's error codes and HTTP
    /// statuses, the most specific first. `words` are for people. They may repeat what was sent, such as a
    /// voice's name or a text, so they do not affect the result.
    pub(crate) fn of_codes(endpoint: &Endpoint, codes: &[&str], words: &str) -> Self {
        let told = codes.iter().map(|code| code.trim()).filter(|code| !code.is_empty());
        let text = said(&told.clone().chain([words.trim()]).collect::<Vec<_>>().join(" "));
        told.into_iter()
            .find_map(|code| Self::of_code(endpoint, code, &text))
            .unwrap_or_else(|| Self::Unavailable(format!("{}: {text}", endpoint.provider)))
    }

    /// Returns the failure for a socket closed with 1008, for a broken rule or a limit. The reason may begin
    /// with a code.
    pub(crate) fn of_rule(endpoint: &Endpoint, reason: &str) -> Self {
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let name = reason.split(|c| !is_name(c)).next().unwrap_or_default();
        match Self::of_codes(endpoint, &[name], &format!("(closed 1008) {reason}")) {
            // A new socket may work, so only a wrong key is permanent.
            Self::OurFault(why) => Self::Protocol(why),
            other => other,
        }
    }

    /// Returns the failure for one code or status, if it is known.
    fn of_code(endpoint: &Endpoint, code: &str, text: &str) -> Option<Self> {
        if let Some(status) = code.parse().ok().filter(|status| (400..600).contains(status)) {
            return Some(Self::of_speech_status(endpoint, status, text, None));
        }
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if code.len() > LONGEST_CODE || !code.chars().all(is_name) {
            // This is a sentence, not a code.
            return None;
        }
        let code = code.to_ascii_lowercase();
        let is = |parts: &[&str]| parts.iter().any(|part| code.contains(part));
        let provider = endpoint.provider;
        if is(&["api_key", "auth", "quota", "payment", "credit", "forbidden"]) {
            let why = format!("{provider}: {text}; check {} and its account", endpoint.address.key);
            return Some(Self::Refused(why));
        }
        if is(&["too_many", "system_busy", "rate_limit", "concurren"]) {
            return Some(Self::Busy { retry_after: None });
        }
        let unfit = is(&[
            "not_found",
            "invalid",
            "unsupported",
            "max_character_limit",
            "validation",
        ]);
        unfit.then(|| Self::OurFault(format!("{provider}: {text}; check the voice and the model")))
    }
}

/// Returns a provider's error text, shortened. In JSON this is the message field.
fn said(body: &str) -> String {
    let parsed = serde_json::from_str::<Value>(body).ok();
    let message = parsed.as_ref().and_then(message_in);
    let short: String = redact::fit(message.unwrap_or(body).trim())
        .chars()
        .take(MOST_SAID)
        .collect();
    if short.is_empty() {
        "no reason given".into()
    } else {
        short
    }
}

/// Returns a field of an error as text, or an empty text if there is none.
pub(crate) fn in_words(value: &Option<Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Null | Value::Bool(false)) | None => String::new(),
        Some(other) => other.to_string(),
    }
}

/// Returns the first text under one of the names that providers use.
fn message_in(value: &Value) -> Option<&str> {
    ["message", "err_msg", "error", "detail", "title"]
        .iter()
        .filter_map(|name| value.get(name))
        .find_map(|found| found.as_str().or_else(|| message_in(found)))
}

#[cfg(test)]
mod tests {
    use domain::ports::synthesizer::SpeechError;
    use net::guard::Verdict;

    use super::*;
    use crate::endpoint::hosted;

    fn endpoint() -> Endpoint {
        static ADDRESS: Address = hosted!("ELEVENLABS", "");
        Endpoint::new("elevenlabs", &ADDRESS, "http://127.0.0.1:1")
    }

    #[test]
    fn a_status_tells_whom_to_ask_next_and_what_to_set() {
        let body = r#"{"detail":{"status":"invalid_api_key","message":"Invalid API key"}}"#;
        let of = |status| Failure::of_speech_status(&endpoint(), status, body, None);
        for (status, verdict, again) in [
            (301, Verdict::Unhealthy, true),
            (307, Verdict::Unhealthy, true),
            (401, Verdict::Refused, false),
            (402, Verdict::Refused, false),
            (403, Verdict::Refused, false),
            (400, Verdict::OurFault, false),
            (404, Verdict::OurFault, false),
            (422, Verdict::OurFault, false),
            (408, Verdict::Unhealthy, true),
            (429, Verdict::Unhealthy, false),
            (500, Verdict::Unhealthy, true),
            (529, Verdict::Unhealthy, true),
        ] {
            assert_eq!(
                (of(status).verdict(), of(status).may_pass()),
                (Some(verdict), again),
                "{status}"
            );
        }
        let why = SpeechError::from(of(401)).to_string();
        assert!(
            why.contains("Invalid API key") && why.contains("ELEVENLABS_API_KEY"),
            "{why}"
        );
    }

    #[test]
    fn words_of_any_shape_are_kept_short() {
        for (body, words) in [
            ("plain", "plain"),
            ("", "no reason given"),
            (r#"{"err_code":"X","err_msg":"no credit"}"#, "no credit"),
            (r#"{"error":{"message":"down","type":"x"}}"#, "down"),
            (r#"{"error":"down"}"#, "down"),
            (r#"{"detail":[1]}"#, r#"{"detail":[1]}"#),
        ] {
            assert_eq!(said(body), words);
        }
        assert_eq!(said(&"x".repeat(10_000)).len(), MOST_SAID);
    }

    #[test]
    fn what_to_check_is_told_behind_the_longest_words() {
        for status in [302, 401, 404, 422] {
            let failure = Failure::of_speech_status(&endpoint(), status, &"x".repeat(10_000), None);
            let why = SpeechError::from(failure).to_string();
            assert!(why.contains("; check ") && why.chars().count() < 400, "{status}: {why}");
        }
    }

    #[test]
    fn errors_on_a_socket_are_told_apart_by_their_codes() {
        let of = |codes: &[&str], words| Failure::of_codes(&endpoint(), codes, words).verdict();
        assert_eq!(of(&["quota_exceeded"], "no characters left"), Some(Verdict::Refused));
        assert_eq!(of(&["voice_not_found"], ""), Some(Verdict::OurFault));
        assert_eq!(of(&["", "INVALID_AUTH"], ""), Some(Verdict::Refused));
        assert_eq!(of(&["odd", "402"], ""), Some(Verdict::Refused));
        assert_eq!(of(&["odd", "503"], ""), Some(Verdict::Unhealthy));
        assert_eq!(of(&[], "something broke"), Some(Verdict::Unhealthy));
        let busy = Failure::of_codes(&endpoint(), &["too_many_concurrent_requests"], "");
        assert_eq!(busy, Failure::Busy { retry_after: None });
        let why = SpeechError::from(Failure::of_codes(
            &endpoint(),
            &["quota_exceeded", "1008"],
            "no characters left",
        ));
        assert!(
            why.to_string().contains("quota_exceeded 1008 no characters left"),
            "{why}"
        );
    }

    #[test]
    fn a_closed_socket_is_sorted_by_the_name_before_its_words() {
        let of = |reason| Failure::of_rule(&endpoint(), reason);
        assert_eq!(
            of("quota_exceeded: no characters left").verdict(),
            Some(Verdict::Refused)
        );
        assert!(
            matches!(of("invalid_message: x"), Failure::Protocol(_)),
            "only of this socket"
        );
        for reason in ["", "voice quota is unknown", "no voice invalid_api_key"] {
            assert!(matches!(of(reason), Failure::Unavailable(_)), "{reason}");
        }
    }

    #[test]
    fn what_we_sent_comes_back_and_decides_nothing() {
        for echo in [
            "quota",
            "forbidden",
            "invalid_api_key",
            "credit",
            "too_many",
            "not_found",
            "401",
        ] {
            let words = format!("the voice {echo} cannot say: pay the {echo}");
            let of = |codes: &[&str]| Failure::of_codes(&endpoint(), codes, &words).verdict();
            assert_eq!(of(&[]), Some(Verdict::Unhealthy), "{words}");
            assert_eq!(of(&["internal", ""]), Some(Verdict::Unhealthy), "{words}");
            assert_eq!(
                of(&[&words]),
                Some(Verdict::Unhealthy),
                "a sentence is no code: {words}"
            );
            assert_eq!(of(&["voice_not_found"]), Some(Verdict::OurFault), "{words}");
        }
    }
}
