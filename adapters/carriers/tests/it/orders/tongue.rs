//! Each carrier's report of a fact, and the parsing of its callbacks. The bodies follow the carriers' documentation.

use carriers::{asterisk::call::Happening, simulated, telnyx, twilio, vonage};
use domain::ports::carrier::LegReport;
use serde_json::{Value, json};

use super::{
    asterisk,
    life::{Cause, Fact},
};

/// Carrier's id of the call.
pub const CALL: &str = "leg-1";

/// Callback format of a carrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tongue {
    Simulated,
    /// Twilio's, also used by SignalWire.
    Twilio,
    Telnyx,
    Vonage,
    Asterisk,
}

/// All formats.
pub const TONGUES: [Tongue; 5] = [
    Tongue::Simulated,
    Tongue::Twilio,
    Tongue::Telnyx,
    Tongue::Vonage,
    Tongue::Asterisk,
];

/// Result of a callback or an event.
#[derive(Debug, Clone)]
pub enum Heard {
    Report(LegReport),
    /// An event for the state machine of a call at an Asterisk.
    Happening(Happening),
}

impl Tongue {
    pub fn name(self) -> &'static str {
        match self {
            Self::Simulated => "simulated",
            Self::Twilio => "twilio",
            Self::Telnyx => "telnyx",
            Self::Vonage => "vonage",
            Self::Asterisk => "asterisk",
        }
    }

    /// Parses the carrier's report of a fact with the carrier's own parser.
    pub fn hears(self, fact: Fact, number: usize) -> Vec<Heard> {
        if self == Self::Asterisk {
            return asterisk::told(fact).into_iter().map(Heard::Happening).collect();
        }
        let body = self.says(fact, number);
        body.map(|body| Heard::Report(self.read(&body))).into_iter().collect()
    }

    /// Returns the body of a callback, or `None` if the carrier has none for this fact.
    fn says(self, fact: Fact, number: usize) -> Option<Vec<u8>> {
        match self {
            Self::Asterisk => None,
            Self::Simulated => simulated_body(fact, number),
            Self::Twilio => Some(twilio_body(fact, number)),
            Self::Telnyx => telnyx_body(fact),
            Self::Vonage => Some(vonage_body(fact)),
        }
    }

    fn read(self, body: &[u8]) -> LegReport {
        match self {
            Self::Asterisk => unreachable!("it sends events"),
            Self::Simulated => simulated::callback::parse(body).unwrap(),
            Self::Twilio => twilio::callback::parse(body).unwrap().unwrap(),
            Self::Telnyx => match telnyx::event::parse(body).unwrap().news {
                telnyx::event::News::Leg(report) => report,
                other => panic!("{other:?}"),
            },
            Self::Vonage => {
                let event = vonage::event::parse(body).unwrap().unwrap();
                match event.news {
                    vonage::event::News::Progress(progress) => LegReport {
                        call: Some(event.call),
                        progress,
                    },
                    other @ vonage::event::News::Disconnected => panic!("{other:?}"),
                }
            }
        }
    }
}

fn simulated_body(fact: Fact, number: usize) -> Option<Vec<u8>> {
    let (status, cause) = match fact {
        Fact::Placed => return None,
        Fact::Ringing => ("ringing", None),
        Fact::Answered => ("answered", None),
        Fact::Ended(cause) => ("ended", Some(cause)),
    };
    let cause = cause.map(|cause| match cause {
        Cause::Completed => "completed",
        Cause::Busy => "busy",
        Cause::Rejected => "rejected",
        Cause::InvalidNumber => "invalid-number",
        Cause::NoAnswer => "no-answer",
        Cause::Canceled => "canceled",
        Cause::Failed => "failed",
    });
    let body = json!({ "callId": CALL, "status": status, "sequence": number, "cause": cause, "reason": "line down" });
    Some(body.to_string().into_bytes())
}

fn twilio_body(fact: Fact, number: usize) -> Vec<u8> {
    let (status, code) = match fact {
        Fact::Placed => ("initiated", None),
        Fact::Ringing => ("ringing", None),
        Fact::Answered => ("in-progress", None),
        Fact::Ended(cause) => match cause {
            Cause::Completed => ("completed", Some(200)),
            Cause::Busy => ("busy", Some(486)),
            Cause::Rejected => ("failed", Some(603)),
            Cause::InvalidNumber => ("failed", Some(404)),
            Cause::NoAnswer => ("no-answer", Some(487)),
            Cause::Canceled => ("canceled", Some(487)),
            Cause::Failed => ("failed", Some(503)),
        },
    };
    let mut form = url::form_urlencoded::Serializer::new(String::new());
    form.append_pair("CallSid", CALL)
        .append_pair("AccountSid", "AC1")
        .append_pair("From", "+15550000001")
        .append_pair("To", "+15550000002")
        .append_pair("CallStatus", status)
        .append_pair("SequenceNumber", &number.to_string());
    if let Some(code) = code {
        form.append_pair("SipResponseCode", &code.to_string());
    }
    form.finish().into_bytes()
}

fn telnyx_body(fact: Fact) -> Option<Vec<u8>> {
    let (event, hangup) = match fact {
        Fact::Placed => ("call.initiated", None),
        Fact::Ringing => return None,
        Fact::Answered => ("call.answered", None),
        Fact::Ended(cause) => ("call.hangup", Some(cause)),
    };
    let mut payload = json!({ "call_control_id": CALL, "direction": "outgoing", "to": "+15550000002" });
    if let Some(cause) = hangup {
        let (cause, sip) = match cause {
            Cause::Completed => ("normal_clearing", "200"),
            Cause::Busy => ("user_busy", "486"),
            Cause::Rejected => ("call_rejected", "603"),
            Cause::InvalidNumber => ("not_found", "404"),
            Cause::NoAnswer => ("timeout", "487"),
            Cause::Canceled => ("originator_cancel", "487"),
            Cause::Failed => ("unspecified", "503"),
        };
        payload["hangup_cause"] = Value::from(cause);
        payload["sip_hangup_cause"] = Value::from(sip);
    }
    let body = json!({ "data": { "record_type": "event", "event_type": event, "payload": payload } });
    Some(body.to_string().into_bytes())
}

fn vonage_body(fact: Fact) -> Vec<u8> {
    let (status, detail) = match fact {
        Fact::Placed => ("started", None),
        Fact::Ringing => ("ringing", None),
        Fact::Answered => ("answered", None),
        Fact::Ended(cause) => match cause {
            Cause::Completed => ("completed", None),
            Cause::Busy => ("busy", None),
            Cause::Rejected => ("rejected", Some("declined")),
            Cause::InvalidNumber => ("failed", Some("invalid_number")),
            Cause::NoAnswer => ("timeout", None),
            Cause::Canceled => ("cancelled", None),
            Cause::Failed => ("failed", Some("cannot_route")),
        },
    };
    let body = json!({
        "uuid": CALL, "conversation_uuid": "CON-1", "status": status, "detail": detail, "direction": "outbound",
        "from": "15550000001", "to": "15550000002", "timestamp": "2026-01-01T12:00:00.000Z",
    });
    body.to_string().into_bytes()
}
