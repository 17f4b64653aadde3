//! Responses of Vonage's API: placed calls and lists of calls. Pure.

use chrono::DateTime;
use domain::{
    phone_number::PhoneNumber,
    ports::carrier::{CallProgress, CarrierCallId, ListedCall},
    time::Timestamp,
};
use serde::Deserialize;

use super::event;

/// A placed call.
#[derive(Deserialize)]
pub struct Placed {
    /// Id of the call.
    pub uuid: String,
}

/// A call in lists and details.
#[derive(Deserialize)]
pub struct Call {
    #[serde(default)]
    uuid: String,
    #[serde(default)]
    status: String,
    #[serde(default)]
    direction: String,
    #[serde(default)]
    start_time: Option<String>,
    #[serde(default)]
    to: Option<Party>,
}

#[derive(Deserialize)]
struct Party {
    #[serde(default)]
    number: Option<String>,
}

/// One page of a list.
#[derive(Deserialize)]
pub struct CallList {
    /// Number of calls in the whole list.
    #[serde(default)]
    pub count: u64,
    #[serde(rename = "_embedded", default)]
    embedded: Embedded,
}

#[derive(Deserialize, Default)]
struct Embedded {
    #[serde(default)]
    calls: Vec<Call>,
}

impl CallList {
    /// Returns the calls of the page.
    pub fn calls(&self) -> &[Call] {
        &self.embedded.calls
    }
}

impl Call {
    /// Returns whether the call is over.
    pub fn is_over(&self) -> bool {
        let body = serde_json::json!({ "status": self.status, "uuid": "x" }).to_string();
        let event = event::parse(body.as_bytes()).ok().flatten();
        event.is_some_and(|event| matches!(event.news, event::News::Progress(CallProgress::Ended(_))))
    }

    /// Returns whether the call started before this time. An unanswered call may have no start time.
    pub fn is_older_than(&self, since: Timestamp) -> bool {
        let began = self
            .start_time
            .as_deref()
            .and_then(|text| DateTime::parse_from_rfc3339(text).ok());
        // Vonage's times have whole seconds.
        began.is_some_and(|began| began.timestamp() < since.0.div_euclid(1_000_000))
    }

    /// Converts the call to a [`ListedCall`] if we placed it to this number. Vonage keeps no mark of ours on a call.
    pub fn listed(&self, to: &str) -> Option<ListedCall> {
        // As it was dialed, also if it was stored under an earlier rule.
        let called = PhoneNumber::stored(&format!("+{}", self.to.as_ref()?.number.as_deref()?)).ok()?;
        (self.direction == "outbound" && called.as_str() == to).then_some(())?;
        Some(ListedCall {
            call: CarrierCallId::checked(&self.uuid)?,
            attempt: None,
            to: to.to_owned(),
            live: !self.is_over(),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn call(status: &str, direction: &str, to: &serde_json::Value, start: Option<&str>) -> Call {
        let call = json!({
            "uuid": "u-1", "status": status, "direction": direction, "to": to, "start_time": start, "price": "0.1",
        });
        serde_json::from_value(call).unwrap()
    }

    #[test]
    fn a_call_of_ours_is_told_from_others() {
        let phone = json!({ "type": "phone", "number": "15550000002" });
        let ours = call("ringing", "outbound", &phone, None);
        let listed = ours.listed("+15550000002").unwrap();
        assert_eq!((&*listed.call.0, listed.attempt, listed.live), ("u-1", None, true));
        assert_eq!(ours.listed("+15550000003"), None);
        assert_eq!(call("ringing", "inbound", &phone, None).listed("+15550000002"), None);
        let socket = json!({ "type": "websocket", "uri": "wss://x" });
        assert_eq!(call("answered", "outbound", &socket, None).listed("+15550000002"), None);
        for (status, over) in [
            ("started", false),
            ("answered", false),
            ("machine", false),
            ("completed", true),
            ("busy", true),
            ("timeout", true),
        ] {
            assert_eq!(call(status, "outbound", &phone, None).is_over(), over, "{status}");
        }
    }

    #[test]
    fn a_call_s_age_is_known_where_it_began() {
        let since = Timestamp(1_767_268_800_500_000); // 2026-01-01T12:00:00.5Z
        for (start, older) in [
            (Some("2026-01-01T12:00:00.000Z"), false),
            (Some("2026-01-01T11:59:59Z"), true),
            (Some("soon"), false),
            (None, false),
        ] {
            let call = call("answered", "outbound", &json!(null), start);
            assert_eq!(call.is_older_than(since), older, "{start:?}");
        }
    }
}
