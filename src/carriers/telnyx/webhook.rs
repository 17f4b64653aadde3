//! Telnyx's webhooks: a JSON object with an event and the state of its call leg. Pure.

use std::borrow::Cow;

use actors::{
    id::AttemptId,
    ports::carrier::{CallProgress, CarrierCallId, EndCause, LegReport, plain_words},
};
use serde::Deserialize;

use super::mark;

/// A webhook, as far as it concerns us.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Webhook {
    /// The attempt its `client_state` names.
    pub attempt: Option<AttemptId>,
    /// What it tells.
    pub news: News,
}

/// What a webhook tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum News {
    /// How a leg that we placed fares.
    Leg(LegReport),
    /// The media socket could not be opened, or broke; Telnyx's words.
    StreamFailed(String),
    /// Nothing that we act on.
    Nothing,
}

/// A body that is no webhook.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum WebhookError {
    /// Not the JSON object it should be.
    #[error("malformed webhook: {0}")]
    Malformed(String),
    /// An event about a call that does not say which.
    #[error("`{0}` without `payload.call_control_id`")]
    NoCall(&'static str),
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    data: Data<'a>,
}

#[derive(Deserialize)]
struct Data<'a> {
    #[serde(borrow)]
    event_type: Cow<'a, str>,
    #[serde(default)]
    payload: Option<Payload>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Payload {
    call_control_id: Option<String>,
    client_state: Option<String>,
    direction: Option<String>,
    hangup_cause: Option<String>,
    sip_hangup_cause: Option<String>,
    failure_reason: Option<String>,
}

/// Reads a webhook's body. An event of a kind that is not known is [`News::Nothing`].
///
/// # Errors
///
/// When it is not Telnyx's.
pub fn parse(body: &[u8]) -> Result<Webhook, WebhookError> {
    let envelope: Envelope<'_> =
        serde_json::from_slice(body).map_err(|error| WebhookError::Malformed(error.to_string()))?;
    let payload = envelope.data.payload.unwrap_or_default();
    // `direction` is not in every event; a call that came in has no mark of ours either.
    let placed_by_us = payload.direction.as_deref() != Some("incoming");
    let news = match envelope.data.event_type.as_ref() {
        "call.initiated" if placed_by_us => leg("call.initiated", &payload, CallProgress::Placed)?,
        "call.answered" if placed_by_us => leg("call.answered", &payload, CallProgress::Answered)?,
        "call.hangup" if placed_by_us => leg("call.hangup", &payload, CallProgress::Ended(end_cause(&payload)))?,
        "streaming.failed" => News::StreamFailed(plain_words(payload.failure_reason.as_deref().unwrap_or_default())),
        _ => News::Nothing,
    };
    let attempt = payload.client_state.as_deref().and_then(mark::attempt);
    Ok(Webhook { attempt, news })
}

fn leg(event: &'static str, payload: &Payload, progress: CallProgress) -> Result<News, WebhookError> {
    let id = payload.call_control_id.as_deref().and_then(CarrierCallId::checked);
    let call = Some(id.ok_or(WebhookError::NoCall(event))?);
    Ok(News::Leg(LegReport { call, progress }))
}

/// How a leg ended. Where Telnyx names no cause of its own, the answer of the network does.
fn end_cause(payload: &Payload) -> EndCause {
    let cause = payload.hangup_cause.as_deref().unwrap_or_default();
    let sip = payload.sip_hangup_cause.as_deref().unwrap_or_default();
    match cause {
        "normal_clearing" | "time_limit" => EndCause::Completed,
        "user_busy" => EndCause::Busy,
        "timeout" | "no_answer" => EndCause::NoAnswer,
        "call_rejected" => EndCause::Rejected,
        "not_found" => EndCause::InvalidNumber,
        "originator_cancel" => EndCause::Canceled,
        _ => from_sip(sip).unwrap_or_else(|| EndCause::Failed(words(cause, sip))),
    }
}

/// What an answer of the network means for a call that was not answered (RFC 3261, section 21; 607 is in RFC 8197).
fn from_sip(code: &str) -> Option<EndCause> {
    match code {
        "486" | "600" => Some(EndCause::Busy),
        "408" | "480" => Some(EndCause::NoAnswer),
        "603" | "607" => Some(EndCause::Rejected),
        "404" | "410" | "484" | "604" => Some(EndCause::InvalidNumber),
        "487" => Some(EndCause::Canceled),
        _ => None,
    }
}

fn words(cause: &str, sip: &str) -> String {
    let cause = if cause.is_empty() { "unspecified" } else { cause };
    let said = if sip.is_empty() {
        cause.to_owned()
    } else {
        format!("{cause}, SIP {sip}")
    };
    plain_words(&said)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn body(event: &str, more: &Value) -> Vec<u8> {
        let mut payload = json!({
            "call_control_id": "v3:a_b-c", "call_leg_id": "l", "call_session_id": "s", "connection_id": "7",
            "from": "+14155550100", "to": "+14155550199", "direction": "outgoing",
        });
        let fields = payload.as_object_mut().unwrap();
        fields.extend(more.as_object().unwrap().clone());
        let data = json!({
            "record_type": "event", "event_type": event, "id": "e1", "occurred_at": "2026-01-01T00:00:00Z",
            "payload": payload,
        });
        let meta = json!({ "attempt": 1, "delivered_to": "https://ringback.example/" });
        json!({ "data": data, "meta": meta }).to_string().into_bytes()
    }

    fn news(event: &str, more: &Value) -> News {
        parse(&body(event, more)).unwrap().news
    }

    fn told(progress: CallProgress) -> News {
        let call = CarrierCallId::checked("v3:a_b-c");
        News::Leg(LegReport { call, progress })
    }

    #[test]
    fn every_event_of_a_call_that_was_placed_is_read() {
        for (event, progress) in [
            ("call.initiated", CallProgress::Placed),
            ("call.answered", CallProgress::Answered),
        ] {
            assert_eq!(news(event, &json!({})), told(progress), "{event}");
        }
        for event in [
            "call.bridged",
            "call.dtmf.received",
            "streaming.started",
            "streaming.stopped",
            "call.machine.detection.ended",
            "call.recording.saved",
            "weather.changed",
        ] {
            assert_eq!(news(event, &json!({})), News::Nothing, "{event}");
        }
        let failed = news(
            "streaming.failed",
            &json!({ "failure_reason": "connection\u{0} refused" }),
        );
        assert_eq!(failed, News::StreamFailed("connection refused".into()));
    }

    #[test]
    fn every_cause_of_a_hang_up_has_its_meaning() {
        let failed = |words: &str| EndCause::Failed(words.to_owned());
        for (cause, sip, meaning) in [
            ("normal_clearing", "200", EndCause::Completed),
            ("time_limit", "200", EndCause::Completed),
            ("user_busy", "486", EndCause::Busy),
            ("timeout", "487", EndCause::NoAnswer),
            ("no_answer", "480", EndCause::NoAnswer),
            ("call_rejected", "603", EndCause::Rejected),
            ("not_found", "404", EndCause::InvalidNumber),
            ("originator_cancel", "487", EndCause::Canceled),
            ("unspecified", "486", EndCause::Busy),
            ("unspecified", "600", EndCause::Busy),
            ("unspecified", "480", EndCause::NoAnswer),
            ("unspecified", "408", EndCause::NoAnswer),
            ("unspecified", "607", EndCause::Rejected),
            ("unspecified", "604", EndCause::InvalidNumber),
            ("unspecified", "487", EndCause::Canceled),
            ("unspecified", "503", failed("unspecified, SIP 503")),
            ("unspecified", "", failed("unspecified")),
            ("", "", failed("unspecified")),
            ("solar_flare", "", failed("solar_flare")),
        ] {
            let said = news(
                "call.hangup",
                &json!({ "hangup_cause": cause, "sip_hangup_cause": sip }),
            );
            assert_eq!(said, told(CallProgress::Ended(meaning)), "{cause} {sip}");
        }
        let nothing_said = news("call.hangup", &json!({ "hangup_cause": null }));
        assert_eq!(nothing_said, told(CallProgress::Ended(failed("unspecified"))));
    }

    #[test]
    fn a_call_that_came_in_is_not_one_of_those_we_placed() {
        for event in ["call.initiated", "call.answered", "call.hangup"] {
            assert_eq!(news(event, &json!({ "direction": "incoming" })), News::Nothing);
        }
    }

    #[test]
    fn the_attempt_is_read_from_the_client_state() {
        let id = AttemptId::new();
        let read = |state: Value| {
            let body = body("call.answered", &json!({ "client_state": state }));
            parse(&body).unwrap().attempt
        };
        assert_eq!(read(json!(mark::client_state(id))), Some(id));
        assert_eq!(read(json!("bm90IG91cnM=")), None);
        assert_eq!(read(json!(null)), None);
    }

    #[test]
    fn a_damaged_webhook_is_an_error() {
        for body in [
            "",
            "null",
            "[]",
            r#"{"data":{}}"#,
            r#"{"data":{"event_type":7}}"#,
            r#"{"data":{"event_type":"call.hangup","payload":{"hangup_cause":7}}}"#,
            r#"{"data":{"event_type":"call.hangup","payload":"x"}}"#,
            r#"{"event_type":"call.hangup"}"#,
        ] {
            let answer = parse(body.as_bytes());
            assert!(matches!(answer, Err(WebhookError::Malformed(_))), "{body}");
        }
        for id in [
            json!(null),
            json!(""),
            json!(".."),
            json!("a b"),
            json!("x".repeat(257)),
        ] {
            let answer = parse(&body("call.answered", &json!({ "call_control_id": id })));
            assert_eq!(answer, Err(WebhookError::NoCall("call.answered")));
        }
        let bare = parse(br#"{"data":{"event_type":"call.hangup"}}"#);
        assert_eq!(bare, Err(WebhookError::NoCall("call.hangup")));
    }

    proptest! {
        #[test]
        fn nothing_makes_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), at in any::<prop::sample::Index>(), with in any::<u8>()) {
            let _ = parse(&bytes);
            let mut damaged = body("call.hangup", &json!({ "hangup_cause": "user_busy" }));
            let at = at.index(damaged.len());
            damaged[at] = with;
            let _ = parse(&damaged);
        }

        #[test]
        fn any_words_of_an_end_are_kept_plain(cause in any::<String>(), sip in any::<String>()) {
            let said = parse(&body("call.hangup", &json!({ "hangup_cause": cause, "sip_hangup_cause": sip })));
            if let News::Leg(LegReport { progress: CallProgress::Ended(EndCause::Failed(words)), .. }) = said.unwrap().news {
                prop_assert_eq!(plain_words(&words), words);
            }
        }
    }
}
