//! Vonage's webhooks: a JSON object about one leg, and the announcement of an inbound call. Pure.
//!
//! Source: <https://developer.vonage.com/en/voice/voice-api/webhook-reference>

use domain::{
    phone_number::PhoneNumber,
    ports::carrier::{CallProgress, CarrierCallId, EndCause, MachineVerdict},
};
use serde::Deserialize;
use serde_json::Value;

use crate::{
    http::words::plain_words,
    webhooks::{Announcement, WebhookError},
};

/// Content of a webhook about a leg.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Id of the leg.
    pub call: CarrierCallId,
    /// Whether the leg is a media socket. Vonage treats those as legs, too.
    pub is_socket: bool,
    /// Event of the leg.
    pub news: News,
}

/// An event of a leg.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum News {
    /// Progress of the leg.
    Progress(CallProgress),
    /// The connection of a media socket was lost.
    Disconnected,
}

#[derive(Deserialize)]
struct Body {
    #[serde(default)]
    status: Option<String>,
    #[serde(default)]
    uuid: Option<String>,
    /// Replaces `uuid` in the results of machine detection.
    #[serde(default)]
    call_uuid: Option<String>,
    #[serde(default)]
    from: Value,
    #[serde(default)]
    to: Value,
    #[serde(default)]
    detail: Option<String>,
    #[serde(default)]
    sub_state: Option<String>,
}

impl Body {
    fn read(body: &[u8]) -> Result<Self, WebhookError> {
        // Serde would parse a list as an object without any field.
        if body.trim_ascii_start().first() != Some(&b'{') {
            return Err(WebhookError::Malformed("not a JSON object".to_owned()));
        }
        Ok(serde_json::from_slice(body)?)
    }

    fn call(&self) -> Result<CarrierCallId, WebhookError> {
        let id = self.uuid.as_deref().or(self.call_uuid.as_deref());
        id.and_then(CarrierCallId::checked).ok_or(WebhookError::Missing("uuid"))
    }

    fn news(&self) -> Option<News> {
        let progress = match self.status.as_deref()? {
            "started" => CallProgress::Placed,
            "ringing" => CallProgress::Ringing,
            "answered" => CallProgress::Answered,
            "human" => CallProgress::Machine(MachineVerdict::Human),
            "machine" => CallProgress::Machine(match self.sub_state.as_deref() {
                Some("beep_start") => MachineVerdict::Beep,
                _ => MachineVerdict::Machine,
            }),
            "busy" => CallProgress::Ended(EndCause::Busy),
            "unanswered" | "timeout" => CallProgress::Ended(EndCause::NoAnswer),
            "cancelled" => CallProgress::Ended(EndCause::Canceled),
            "completed" => CallProgress::Ended(EndCause::Completed),
            status @ ("rejected" | "failed") => CallProgress::Ended(refused(status, self.detail.as_deref())),
            "disconnected" => return Some(News::Disconnected),
            _ => return None,
        };
        Some(News::Progress(progress))
    }
}

/// Returns why a leg was refused, by Vonage's detail. Without one, `rejected` means that the callee declined.
fn refused(status: &str, detail: Option<&str>) -> EndCause {
    match (status, detail) {
        (_, Some("invalid_number" | "number_out_of_service")) => EndCause::InvalidNumber,
        (_, Some("declined")) | ("rejected", None) => EndCause::Rejected,
        (_, detail) => EndCause::Failed(plain_words(detail.unwrap_or(status))),
    }
}

/// Parses a webhook about a leg. Returns `None` if there is nothing that we act on, such as an unknown status.
pub fn parse(body: &[u8]) -> Result<Option<Event>, WebhookError> {
    let body = Body::read(body)?;
    let Some(news) = body.news() else { return Ok(None) };
    Ok(Some(Event {
        call: body.call()?,
        is_socket: body.to.as_str().is_some_and(|to| to.contains("://")),
        news,
    }))
}

/// Parses the announcement of an inbound call.
pub fn announcement(body: &[u8]) -> Result<Announcement, WebhookError> {
    let body = Body::read(body)?;
    Ok(Announcement {
        call: body.call()?,
        from: body.from.as_str().and_then(PhoneNumber::of_carrier),
        to: body.to.as_str().and_then(PhoneNumber::of_carrier),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn read(fields: &Value) -> Option<Event> {
        let mut body = json!({
            "uuid": "aaaaaaaa-bbbb-cccc-dddd-0123456789ab", "conversation_uuid": "CON-1", "from": "15550000001",
            "to": "15550000002", "direction": "outbound", "timestamp": "2026-01-01T12:00:00.000Z",
        });
        body.as_object_mut()
            .unwrap()
            .extend(fields.as_object().unwrap().clone());
        parse(body.to_string().as_bytes()).unwrap()
    }

    fn progress(fields: &Value) -> CallProgress {
        let event = read(fields).unwrap();
        assert!(!event.is_socket && event.call.0 == "aaaaaaaa-bbbb-cccc-dddd-0123456789ab");
        match event.news {
            News::Progress(progress) => progress,
            News::Disconnected => panic!("{fields}"),
        }
    }

    #[test]
    fn every_status_has_its_meaning() {
        let ended = CallProgress::Ended;
        let failed = |words: &str| CallProgress::Ended(EndCause::Failed(words.to_owned()));
        for (status, detail, meaning) in [
            ("started", None, CallProgress::Placed),
            ("ringing", None, CallProgress::Ringing),
            ("answered", None, CallProgress::Answered),
            ("busy", None, ended(EndCause::Busy)),
            ("cancelled", None, ended(EndCause::Canceled)),
            ("unanswered", None, ended(EndCause::NoAnswer)),
            ("unanswered", Some("unavailable"), ended(EndCause::NoAnswer)),
            ("unanswered", Some("timeout"), ended(EndCause::NoAnswer)),
            ("timeout", None, ended(EndCause::NoAnswer)),
            ("rejected", None, ended(EndCause::Rejected)),
            ("rejected", Some("declined"), ended(EndCause::Rejected)),
            ("rejected", Some("invalid_number"), ended(EndCause::InvalidNumber)),
            ("rejected", Some("restricted"), failed("restricted")),
            ("failed", None, failed("failed")),
            ("failed", Some("cannot_route"), failed("cannot_route")),
            ("failed", Some("number_out_of_service"), ended(EndCause::InvalidNumber)),
            ("failed", Some("internal\u{0}_error"), failed("internal_error")),
            ("completed", None, ended(EndCause::Completed)),
            ("human", None, CallProgress::Machine(MachineVerdict::Human)),
            ("machine", None, CallProgress::Machine(MachineVerdict::Machine)),
        ] {
            assert_eq!(
                progress(&json!({ "status": status, "detail": detail })),
                meaning,
                "{status} {detail:?}"
            );
        }
    }

    #[test]
    fn a_machine_is_told_under_another_name_of_the_call_and_its_beep_apart() {
        for (sub_state, verdict) in [
            (json!("beep_start"), MachineVerdict::Beep),
            (json!("beep_timeout"), MachineVerdict::Machine),
            (json!(null), MachineVerdict::Machine),
        ] {
            let fields = json!({
                "status": "machine", "uuid": null, "call_uuid": "aaaaaaaa-bbbb-cccc-dddd-0123456789ab",
                "sub_state": sub_state,
            });
            assert_eq!(progress(&fields), CallProgress::Machine(verdict), "{sub_state}");
        }
    }

    #[test]
    fn what_we_do_not_act_on_is_nothing() {
        for status in ["record", "input", "transfer", "weather", "", "Answered"] {
            assert_eq!(read(&json!({ "status": status })), None, "{status}");
        }
        let complaint = json!({ "reason": "Syntax error in NCCO.", "conversation_uuid": "CON-1" });
        assert_eq!(parse(complaint.to_string().as_bytes()), Ok(None));
    }

    #[test]
    fn a_media_socket_is_told_from_a_telephone() {
        for (status, news) in [
            ("disconnected", News::Disconnected),
            ("completed", News::Progress(CallProgress::Ended(EndCause::Completed))),
        ] {
            let event = read(&json!({ "status": status, "to": "wss://ringback.example/carriers/vonage/media/t" }));
            let event = event.unwrap();
            assert!(event.is_socket && event.news == news, "{event:?}");
        }
        assert!(!read(&json!({ "status": "answered", "to": null })).unwrap().is_socket);
    }

    #[test]
    fn a_call_from_outside_is_announced() {
        let body = |from: &str, to: &str| {
            json!({ "from": from, "to": to, "uuid": "u-1", "conversation_uuid": "CON-1" }).to_string()
        };
        let read = announcement(body("15550000002", "15550000001").as_bytes()).unwrap();
        assert_eq!(read.call.0, "u-1");
        assert_eq!(read.from.unwrap().as_str(), "+15550000002");
        assert_eq!(read.to.unwrap().as_str(), "+15550000001");
        let withheld = announcement(body("anonymous", "desk").as_bytes()).unwrap();
        assert_eq!((withheld.from, withheld.to), (None, None));
        assert_eq!(
            announcement(br#"{"from":"1","to":"2"}"#),
            Err(WebhookError::Missing("uuid"))
        );
    }

    #[test]
    fn a_damaged_webhook_is_an_error() {
        for body in [
            "",
            "null",
            "[]",
            "7",
            r#"{"status":7}"#,
            r#"{"status":"answered","uuid":{}}"#,
        ] {
            assert!(
                matches!(parse(body.as_bytes()), Err(WebhookError::Malformed(_))),
                "{body}"
            );
        }
        for id in [
            json!(null),
            json!(""),
            json!(".."),
            json!("a b"),
            json!("x".repeat(257)),
        ] {
            let body = json!({ "status": "answered", "uuid": id }).to_string();
            assert_eq!(parse(body.as_bytes()), Err(WebhookError::Missing("uuid")), "{id}");
        }
    }

    proptest! {
        #[test]
        fn nothing_makes_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), at in any::<prop::sample::Index>(), with in any::<u8>()) {
            let _ = (parse(&bytes), announcement(&bytes));
            let mut damaged = br#"{"status":"rejected","uuid":"u-1","to":"1555","detail":"declined"}"#.to_vec();
            let at = at.index(damaged.len());
            damaged[at] = with;
            let _ = (parse(&damaged), announcement(&damaged));
        }

        #[test]
        fn any_words_of_an_end_are_kept_plain(detail in any::<String>()) {
            let body = json!({ "status": "failed", "uuid": "u-1", "detail": detail }).to_string();
            let news = parse(body.as_bytes()).unwrap().unwrap().news;
            if let News::Progress(CallProgress::Ended(EndCause::Failed(words))) = news {
                prop_assert_eq!(plain_words(&words), words);
            }
        }
    }
}
