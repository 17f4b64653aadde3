//! Telnyx's webhooks: a JSON object with an event and the state of its leg. Pure.

use std::borrow::Cow;

use domain::{
    id::AttemptId,
    phone_number::PhoneNumber,
    ports::carrier::{CallProgress, CarrierCallId, EndCause, LegReport, MachineVerdict},
};
use serde::Deserialize;

use super::mark;
use crate::{
    http::words::plain_words,
    protocol::number::Written,
    webhooks::{Announcement, WebhookError},
};

/// The parts of a webhook that we use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Webhook {
    /// Attempt in its `client_state`.
    pub attempt: Option<AttemptId>,
    /// Number of the try, if the leg is a transfer destination of the attempt's call.
    pub destination: Option<u32>,
    /// Carrier's id of the leg.
    pub call: Option<CarrierCallId>,
    /// Content of the webhook.
    pub news: News,
}

/// Content of a webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum News {
    /// Progress of a leg.
    Leg(LegReport),
    /// Announcement of an inbound call.
    Announced(Announcement),
    /// A leg was joined with another one.
    Bridged,
    /// A call was transferred by SIP REFER, or the reason why not.
    Referred(Result<(), String>),
    /// The media socket could not be opened, or broke; contains Telnyx's text.
    StreamFailed(String),
    /// Nothing that we act on.
    Nothing,
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
    from: Option<String>,
    to: Option<String>,
    result: Option<String>,
    hangup_cause: Option<String>,
    sip_hangup_cause: Option<String>,
    failure_reason: Option<String>,
    sip_notify_response: Option<Written>,
}

/// An event about a call that does not name it.
const NO_CALL: WebhookError = WebhookError::Missing("payload.call_control_id");

/// Parses the body of a webhook. An unknown event is [`News::Nothing`].
pub fn parse(body: &[u8]) -> Result<Webhook, WebhookError> {
    let envelope: Envelope<'_> = serde_json::from_slice(body)?;
    let payload = envelope.data.payload.unwrap_or_default();
    let event = envelope.data.event_type.as_ref();
    let state = payload.client_state.as_deref();
    let destination = state.and_then(mark::destination);
    let attempt = destination.map(|(attempt, _)| attempt);
    Ok(Webhook {
        attempt: attempt.or_else(|| state.and_then(mark::attempt)),
        destination: destination.map(|(_, try_no)| try_no),
        call: payload.call_control_id.as_deref().and_then(CarrierCallId::checked),
        news: news(event, &payload)?,
    })
}

fn news(event: &str, payload: &Payload) -> Result<News, WebhookError> {
    let comes_in = payload.direction.as_deref() == Some("incoming");
    let words = || plain_words(payload.failure_reason.as_deref().unwrap_or_default());
    Ok(match event {
        "call.initiated" if comes_in => News::Announced(announcement(payload)?),
        "call.initiated" => leg(payload, CallProgress::Placed)?,
        "call.answered" => leg(payload, CallProgress::Answered)?,
        "call.hangup" => leg(payload, CallProgress::Ended(end_cause(payload)))?,
        "call.bridged" => News::Bridged,
        "call.refer.completed" => News::Referred(Ok(())),
        "call.refer.failed" => News::Referred(Err(refused(payload))),
        "streaming.failed" => News::StreamFailed(words()),
        "call.machine.detection.ended" | "call.machine.premium.detection.ended" => match who_answered(payload) {
            Some(verdict) => leg(payload, CallProgress::Machine(verdict))?,
            None => News::Nothing,
        },
        "call.machine.greeting.ended" | "call.machine.premium.greeting.ended" => match payload.result.as_deref() {
            Some("beep_detected" | "ended") => {
                let records = CallProgress::Machine(MachineVerdict::Beep);
                leg(payload, records)?
            }
            _ => News::Nothing,
        },
        // Keys also arrive through the media socket, and only those are used.
        _ => News::Nothing,
    })
}

fn id(payload: &Payload) -> Result<CarrierCallId, WebhookError> {
    let id = payload.call_control_id.as_deref().and_then(CarrierCallId::checked);
    id.ok_or(NO_CALL)
}

fn leg(payload: &Payload, progress: CallProgress) -> Result<News, WebhookError> {
    let call = Some(id(payload)?);
    Ok(News::Leg(LegReport { call, progress }))
}

fn announcement(payload: &Payload) -> Result<Announcement, WebhookError> {
    let number = |text: &Option<String>| text.as_deref().and_then(PhoneNumber::of_carrier);
    Ok(Announcement {
        call: id(payload)?,
        from: number(&payload.from),
        to: number(&payload.to),
    })
}

/// Returns who answered. Silence and uncertain results are left to our own detection.
fn who_answered(payload: &Payload) -> Option<MachineVerdict> {
    match payload.result.as_deref()? {
        "human" | "human_residence" | "human_business" => Some(MachineVerdict::Human),
        "machine" => Some(MachineVerdict::Machine),
        "fax_detected" => Some(MachineVerdict::Fax),
        _ => None,
    }
}

fn refused(payload: &Payload) -> String {
    let answer = payload.sip_notify_response.as_ref().map(ToString::to_string);
    plain_words(&answer.map_or_else(|| "refused".to_owned(), |code| format!("SIP {code}")))
}

/// Returns how a leg ended. If Telnyx gives no cause of its own, the SIP status decides.
fn end_cause(payload: &Payload) -> EndCause {
    let cause = payload.hangup_cause.as_deref().unwrap_or_default();
    let sip = payload.sip_hangup_cause.as_deref().unwrap_or_default();
    // These are caused by our account: its limit of concurrent calls or call rate, a disabled connection, or
    // a used-up balance. They say nothing about the callee. A 404 may be either, and then has a cause of its
    // own.
    if matches!(sip, "401" | "402" | "403" | "407") {
        return EndCause::Failed(words(cause, sip));
    }
    match cause {
        // A leg that was never answered may also end with normal clearing.
        "normal_clearing" => from_sip(sip).unwrap_or(EndCause::Completed),
        "time_limit" => EndCause::Completed,
        "user_busy" => EndCause::Busy,
        "timeout" | "no_answer" => EndCause::NoAnswer,
        "call_rejected" => EndCause::Rejected,
        "not_found" => EndCause::InvalidNumber,
        "originator_cancel" => EndCause::Canceled,
        _ => from_sip(sip).unwrap_or_else(|| EndCause::Failed(words(cause, sip))),
    }
}

/// Returns the meaning of a SIP status for an unanswered call (RFC 3261, section 21; 607 is in RFC 8197).
fn from_sip(code: &str) -> Option<EndCause> {
    match code {
        "486" | "600" => Some(EndCause::Busy),
        "408" | "480" => Some(EndCause::NoAnswer),
        "603" | "607" => Some(EndCause::Rejected),
        "410" | "484" | "604" => Some(EndCause::InvalidNumber),
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
            "call.dtmf.received",
            "call.refer.started",
            "streaming.started",
            "streaming.stopped",
            "call.machine.detection.ended",
            "call.machine.premium.greeting.ended",
            "call.machine.premium.call_screening.detected",
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
            ("normal_clearing", "", EndCause::Completed),
            ("normal_clearing", "486", EndCause::Busy),
            ("time_limit", "200", EndCause::Completed),
            ("user_busy", "486", EndCause::Busy),
            ("timeout", "487", EndCause::NoAnswer),
            ("no_answer", "480", EndCause::NoAnswer),
            ("call_rejected", "603", EndCause::Rejected),
            (
                "call_rejected",
                "403",
                EndCause::Failed("call_rejected, SIP 403".into()),
            ),
            ("normal_clearing", "404", EndCause::Completed),
            ("unspecified", "404", EndCause::Failed("unspecified, SIP 404".into())),
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
    fn a_call_that_comes_in_is_announced_and_then_a_leg_like_others() {
        let announced = |fields: &Value| {
            let mut all = json!({ "direction": "incoming" });
            all.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
            match news("call.initiated", &all) {
                News::Announced(announced) => {
                    let number = |number: Option<PhoneNumber>| number.map(|number| number.as_str().to_owned());
                    (announced.call.0, number(announced.from), number(announced.to))
                }
                other => panic!("{other:?}"),
            }
        };
        let number = |text: &str| Some(text.to_owned());
        let call = "v3:a_b-c".to_owned();
        assert_eq!(
            announced(&json!({})),
            (call.clone(), number("+14155550100"), number("+14155550199"))
        );
        assert_eq!(
            announced(&json!({ "from": "anonymous", "to": "sip:desk@x.example" })),
            (call, None, None)
        );
        let answered = news("call.answered", &json!({ "direction": "incoming" }));
        assert_eq!(answered, told(CallProgress::Answered));
        let nameless = json!({ "direction": "incoming", "call_control_id": null });
        assert_eq!(parse(&body("call.initiated", &nameless)), Err(NO_CALL));
    }

    #[test]
    fn every_verdict_on_who_answered_has_its_meaning() {
        use MachineVerdict::{Beep, Fax, Human, Machine};
        for (event, result, verdict) in [
            ("detection", "human", Some(Human)),
            ("detection", "machine", Some(Machine)),
            ("detection", "not_sure", None),
            ("premium.detection", "human_residence", Some(Human)),
            ("premium.detection", "human_business", Some(Human)),
            ("premium.detection", "machine", Some(Machine)),
            ("premium.detection", "silence", None),
            ("premium.detection", "fax_detected", Some(Fax)),
            ("premium.detection", "not_sure", None),
            ("greeting", "beep_detected", Some(Beep)),
            ("greeting", "ended", Some(Beep)),
            ("greeting", "not_sure", None),
            ("premium.greeting", "beep_detected", Some(Beep)),
            ("premium.greeting", "no_beep_detected", None),
            // The prompt of a call screening is no mailbox's greeting.
            ("premium.greeting", "prompt_ended", None),
        ] {
            let said = news(&format!("call.machine.{event}.ended"), &json!({ "result": result }));
            let expected = verdict.map_or(News::Nothing, |verdict| told(CallProgress::Machine(verdict)));
            assert_eq!(said, expected, "{event} {result}");
        }
    }

    #[test]
    fn calls_that_are_handed_on_are_told_from_their_destinations() {
        let id = AttemptId::new();
        let state = mark::destination_state(id, 3);
        let webhook = parse(&body("call.bridged", &json!({ "client_state": state }))).unwrap();
        assert_eq!((webhook.attempt, webhook.destination), (Some(id), Some(3)));
        assert_eq!(webhook.news, News::Bridged);
        assert_eq!(webhook.call, CarrierCallId::checked("v3:a_b-c"));
        let own = parse(&body(
            "call.bridged",
            &json!({ "client_state": mark::client_state(id) }),
        ))
        .unwrap();
        assert_eq!((own.attempt, own.destination), (Some(id), None));
        assert_eq!(news("call.refer.completed", &json!({})), News::Referred(Ok(())));
        for (answer, words) in [
            (json!(603), "SIP 603"),
            (json!("486"), "SIP 486"),
            (json!(null), "refused"),
        ] {
            let said = news("call.refer.failed", &json!({ "sip_notify_response": answer }));
            assert_eq!(said, News::Referred(Err(words.to_owned())));
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
            assert_eq!(answer, Err(NO_CALL));
        }
        let bare = parse(br#"{"data":{"event_type":"call.hangup"}}"#);
        assert_eq!(bare, Err(NO_CALL));
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
