//! Twilio's status callback: a form whose `CallStatus` says how the call stands. Fields that are not asked for may come
//! and go. Pure.
//!
//! Source: <https://www.twilio.com/docs/voice/api/call-resource#statuscallback>

use std::borrow::Cow;

use actors::ports::carrier::{CallProgress, CarrierCallId, EndCause, LegReport, plain_words};

/// A form that is no status callback.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallbackError {
    /// It lacks what every callback has.
    #[error("status callback without `{0}`")]
    Missing(&'static str),
    /// An id that cannot be kept.
    #[error("`CallSid` is not an id: 1 to 256 visible ASCII characters")]
    Id,
}

/// Reads a callback's form; none when it tells of a status nobody has told us about.
///
/// # Errors
///
/// When it names no call or no status.
pub fn parse(form: &[u8]) -> Result<Option<LegReport>, CallbackError> {
    let field = |wanted: &str| -> Option<Cow<'_, str>> {
        let mut fields = url::form_urlencoded::parse(form);
        let (_, value) = fields.find(|(name, value)| name == wanted && !value.is_empty())?;
        Some(value)
    };
    let call = field("CallSid").ok_or(CallbackError::Missing("CallSid"))?;
    let call = CarrierCallId::checked(&call).ok_or(CallbackError::Id)?;
    let status = field("CallStatus").ok_or(CallbackError::Missing("CallStatus"))?;
    let code = field("SipResponseCode").and_then(|code| code.parse().ok());
    Ok(progress(&status, code).map(|progress| LegReport {
        call: Some(call),
        progress,
    }))
}

/// What a call's status says, with the SIP code of its end where it has one.
pub fn progress(status: &str, sip_code: Option<u16>) -> Option<CallProgress> {
    Some(match status {
        "queued" | "initiated" => CallProgress::Placed,
        "ringing" => CallProgress::Ringing,
        "in-progress" => CallProgress::Answered,
        "completed" => CallProgress::Ended(EndCause::Completed),
        "canceled" => CallProgress::Ended(EndCause::Canceled),
        "no-answer" => CallProgress::Ended(EndCause::NoAnswer),
        "busy" | "failed" => CallProgress::Ended(not_reached(status, sip_code)),
        _ => return None,
    })
}

/// Codes: RFC 3261 section 21, of which 607 and 608 are RFC 8197 and RFC 8688.
fn not_reached(status: &str, sip_code: Option<u16>) -> EndCause {
    match sip_code {
        Some(404 | 410 | 484 | 604) => EndCause::InvalidNumber,
        Some(403 | 603 | 607 | 608) => EndCause::Rejected,
        _ if status == "busy" => EndCause::Busy,
        Some(code) => EndCause::Failed(plain_words(&format!("SIP {code}"))),
        None => EndCause::Failed(status.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FORM: &str = "CallSid=CA1&AccountSid=AC1&From=%2B15550000001&To=%2B15550000002&CallStatus=in-progress\
                        &Direction=outbound-api&ApiVersion=2010-04-01&SequenceNumber=2&CallbackSource=call-progress-events";

    fn told(status: &str, code: &str) -> Option<CallProgress> {
        let form = format!("SequenceNumber=9&CallStatus={status}&CallSid=CA1&SipResponseCode={code}&Whatever=1");
        let report = parse(form.as_bytes()).unwrap()?;
        assert_eq!(report.call, CarrierCallId::checked("CA1"));
        Some(report.progress)
    }

    #[test]
    fn each_status_is_read() {
        use CallProgress::{Answered, Ended, Placed, Ringing};
        let failed = |words: &str| Ended(EndCause::Failed(words.into()));
        for (status, code, progress) in [
            ("queued", "", Placed),
            ("initiated", "", Placed),
            ("ringing", "", Ringing),
            ("in-progress", "", Answered),
            ("completed", "200", Ended(EndCause::Completed)),
            ("busy", "486", Ended(EndCause::Busy)),
            ("busy", "", Ended(EndCause::Busy)),
            ("busy", "603", Ended(EndCause::Rejected)),
            ("no-answer", "487", Ended(EndCause::NoAnswer)),
            ("canceled", "487", Ended(EndCause::Canceled)),
            ("failed", "404", Ended(EndCause::InvalidNumber)),
            ("failed", "484", Ended(EndCause::InvalidNumber)),
            ("failed", "603", Ended(EndCause::Rejected)),
            ("failed", "503", failed("SIP 503")),
            ("failed", "", failed("failed")),
            ("failed", "x", failed("failed")),
        ] {
            assert_eq!(told(status, code), Some(progress), "{status} {code}");
        }
        assert_eq!(told("pondering", ""), None);
    }

    #[test]
    fn fields_come_in_any_order_and_number() {
        let report = parse(FORM.as_bytes()).unwrap().unwrap();
        assert_eq!(report.progress, CallProgress::Answered);
        let other_way_round: Vec<&str> = FORM.split('&').rev().collect();
        assert_eq!(parse(other_way_round.join("&").as_bytes()), Ok(Some(report)));
    }

    #[test]
    fn a_damaged_callback_is_an_error() {
        let too_long = format!("CallStatus=busy&CallSid={}", "C".repeat(257));
        for (form, error) in [
            ("", CallbackError::Missing("CallSid")),
            ("{\"CallSid\":\"CA1\"}", CallbackError::Missing("CallSid")),
            ("CallSid=&CallStatus=busy", CallbackError::Missing("CallSid")),
            ("CallSid=CA1", CallbackError::Missing("CallStatus")),
            ("CallSid=CA1&callstatus=busy", CallbackError::Missing("CallStatus")),
            ("CallSid=C%00A&CallStatus=busy", CallbackError::Id),
            ("CallSid=..&CallStatus=busy", CallbackError::Id),
            (&*too_long, CallbackError::Id),
        ] {
            assert_eq!(parse(form.as_bytes()), Err(error), "{form}");
        }
    }

    proptest! {
        #[test]
        fn nothing_makes_the_reader_panic(form in proptest::collection::vec(any::<u8>(), 0..200), at in 0..FORM.len(), to in any::<u8>()) {
            let _ = parse(&form);
            let mut damaged = FORM.as_bytes().to_vec();
            damaged[at] = to;
            let _ = parse(&damaged);
        }
    }
}
