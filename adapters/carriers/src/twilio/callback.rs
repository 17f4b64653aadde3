//! Twilio's webhooks: the status of a call, who answered it, the result of a transfer, and inbound calls.
//! Unused fields may be present or missing. Pure.
//!
//! Sources: <https://www.twilio.com/docs/voice/api/call-resource#statuscallback>,
//! <https://www.twilio.com/docs/voice/answering-machine-detection>, <https://www.twilio.com/docs/voice/twiml/dial#action>;
//! for SignalWire, `specs/compatibility-api/calls/models` of `signalwire/docs` at GitHub and
//! <https://developer.signalwire.com/compatibility-api/cxml/voice/refer>.

use domain::{
    phone_number::PhoneNumber,
    ports::carrier::{CallProgress, CarrierCallId, EndCause, LegReport, MachineVerdict},
};

use super::fields::Fields;
use crate::{
    http::words::plain_words,
    webhooks::{Announcement, WebhookError},
};

/// Reason of a transfer whose peer accepted a SIP REFER and told nothing further. The caller is still here.
const SILENT_PEER: &str = "the caller's SIP peer accepted it, but told of no call";

fn wanted<'a>(fields: &'a Fields, name: &'static str) -> Result<&'a str, WebhookError> {
    fields.get(name).ok_or(WebhookError::Missing(name))
}

/// Returns the id of a webhook's call.
pub fn call(fields: &Fields) -> Result<CarrierCallId, WebhookError> {
    CarrierCallId::checked(wanted(fields, "CallSid")?).ok_or(WebhookError::Id("CallSid"))
}

/// Parses the form of a status callback. Returns `None` if the status is unknown.
pub fn parse(form: &[u8]) -> Result<Option<LegReport>, WebhookError> {
    report(&Fields::of_form(form))
}

/// Returns the progress of a call. Returns `None` if the status is unknown.
pub fn report(fields: &Fields) -> Result<Option<LegReport>, WebhookError> {
    let call = Some(call(fields)?);
    let status = wanted(fields, "CallStatus")?;
    // SignalWire's name is the second one.
    let code = sip_code(fields, "SipResponseCode").or_else(|| sip_code(fields, "SipResultCode"));
    Ok(progress(status, code).map(|progress| LegReport { call, progress }))
}

/// Returns who answered. Returns `None` if the carrier does not know either. A verdict at the end of a
/// greeting means that the mailbox records.
pub fn machine(fields: &Fields) -> Result<Option<LegReport>, WebhookError> {
    let call = Some(call(fields)?);
    let verdict = match wanted(fields, "AnsweredBy")? {
        "human" => MachineVerdict::Human,
        // SignalWire says only `machine`.
        "machine_start" | "machine" => MachineVerdict::Machine,
        "machine_end_beep" | "machine_end_silence" | "machine_end_other" => MachineVerdict::Beep,
        "fax" => MachineVerdict::Fax,
        _ => return Ok(None),
    };
    let progress = CallProgress::Machine(verdict);
    Ok(Some(LegReport { call, progress }))
}

/// Result of a transfer.
#[derive(Debug, PartialEq, Eq)]
pub enum Dialed {
    /// The two have talked, or do so without us.
    Talked,
    /// Nobody answered at the destination.
    Failed(EndCause),
    /// The caller has hung up; nobody needs further instructions.
    CallerLeft(LegReport),
}

/// Returns the result of a dial within a call, or of a SIP REFER.
pub fn dialed(fields: &Fields) -> Result<Dialed, WebhookError> {
    if let Some(report) = report(fields)?
        && matches!(report.progress, CallProgress::Ended(_))
    {
        return Ok(Dialed::CallerLeft(report));
    }
    if let Some(referred) = referred(fields) {
        return Ok(referred);
    }
    let status = wanted(fields, "DialCallStatus")?;
    Ok(match progress(status, sip_code(fields, "DialSipResponseCode")) {
        Some(CallProgress::Ended(EndCause::Completed)) => Dialed::Talked,
        Some(CallProgress::Ended(cause)) => Dialed::Failed(cause),
        _ if status == "answered" => Dialed::Talked,
        _ => Dialed::Failed(EndCause::Failed(plain_words(status))),
    })
}

/// Returns the result of a SIP REFER. Returns `None` if there was none. The carrier reports a status only if the
/// peer told of its call, and waits for that for a limited time.
fn referred(fields: &Fields) -> Option<Dialed> {
    let answer = sip_code(fields, "ReferSipResponseCode");
    let refusal = answer.filter(|code| *code >= 300);
    let cause = match fields.get("ReferCallStatus") {
        None if answer? < 300 => EndCause::Failed(SILENT_PEER.to_owned()),
        None => not_reached("failed", refusal),
        Some(status) => match progress(status, sip_code(fields, "NotifySipResponseCode").or(refusal)) {
            Some(CallProgress::Answered | CallProgress::Ended(EndCause::Completed)) => return Some(Dialed::Talked),
            Some(CallProgress::Ended(cause)) => cause,
            _ => EndCause::Failed(plain_words(status)),
        },
    };
    Some(Dialed::Failed(cause))
}

fn sip_code(fields: &Fields, name: &str) -> Option<u16> {
    fields.get(name)?.parse().ok()
}

/// Parses the announcement of an inbound call.
pub fn announcement(fields: &Fields) -> Result<Announcement, WebhookError> {
    Ok(Announcement {
        call: call(fields)?,
        from: fields.get("From").and_then(number),
        to: number(wanted(fields, "To")?),
    })
}

/// Parses a number. Withheld numbers are no numbers, or the digits of a word such as `anonymous`.
fn number(text: &str) -> Option<PhoneNumber> {
    // anonymous, restricted, blocked, unknown, unavailable
    const WITHHELD: [&str; 5] = ["+266696687", "+7378742833", "+2562533", "+8656696", "+86282452253"];
    let number = PhoneNumber::of_carrier(text)?;
    (!WITHHELD.contains(&number.as_str())).then_some(number)
}

/// Returns the progress that a status means, with the SIP code of an end if there is one.
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

/// Returns the cause of an unanswered call. Codes: RFC 3261 section 21; 607 is in RFC 8197 and 608
/// in RFC 8688. A 403 can be a network that refuses us just as well as a callee who refuses calls.
fn not_reached(status: &str, sip_code: Option<u16>) -> EndCause {
    match sip_code {
        Some(404 | 410 | 484 | 604) => EndCause::InvalidNumber,
        Some(603 | 607 | 608) => EndCause::Rejected,
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

    /// Reads a status with the SIP code under Twilio's name and under SignalWire's.
    fn told(status: &str, code: &str) -> Option<CallProgress> {
        let [one, other] = ["SipResponseCode", "SipResultCode"].map(|name| {
            let form = format!("SequenceNumber=9&CallStatus={status}&CallSid=CA1&{name}={code}&Whatever=1");
            let report = parse(form.as_bytes()).unwrap()?;
            assert_eq!(report.call, CarrierCallId::checked("CA1"));
            Some(report.progress)
        });
        assert_eq!(one, other, "{status} {code}");
        one
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
            ("failed", "403", Ended(EndCause::Failed("SIP 403".into()))),
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
            ("", WebhookError::Missing("CallSid")),
            ("{\"CallSid\":\"CA1\"}", WebhookError::Missing("CallSid")),
            ("CallSid=&CallStatus=busy", WebhookError::Missing("CallSid")),
            ("CallSid=CA1", WebhookError::Missing("CallStatus")),
            ("CallSid=CA1&callstatus=busy", WebhookError::Missing("CallStatus")),
            ("CallSid=C%00A&CallStatus=busy", WebhookError::Id("CallSid")),
            ("CallSid=..&CallStatus=busy", WebhookError::Id("CallSid")),
            (&*too_long, WebhookError::Id("CallSid")),
        ] {
            assert_eq!(parse(form.as_bytes()), Err(error), "{form}");
        }
    }

    fn fields(form: &str) -> Fields {
        Fields::of_form(form.as_bytes())
    }

    #[test]
    fn each_verdict_is_read() {
        for (answered_by, verdict) in [
            ("human", Some(MachineVerdict::Human)),
            ("machine_start", Some(MachineVerdict::Machine)),
            ("machine", Some(MachineVerdict::Machine)),
            ("machine_end_beep", Some(MachineVerdict::Beep)),
            ("machine_end_silence", Some(MachineVerdict::Beep)),
            ("machine_end_other", Some(MachineVerdict::Beep)),
            ("fax", Some(MachineVerdict::Fax)),
            ("unknown", None),
        ] {
            let told = machine(&fields(&format!("CallSid=CA1&AnsweredBy={answered_by}"))).unwrap();
            let progress = told.map(|report| report.progress);
            assert_eq!(progress, verdict.map(CallProgress::Machine), "{answered_by}");
        }
        assert_eq!(
            machine(&fields("CallSid=CA1")),
            Err(WebhookError::Missing("AnsweredBy"))
        );
    }

    #[test]
    fn the_end_of_a_dial_is_told_from_the_end_of_its_caller() {
        let told = |status: &str, dial: &str| {
            dialed(&fields(&format!(
                "CallSid=CA1&CallStatus={status}&DialCallStatus={dial}"
            )))
            .unwrap()
        };
        for (dial, expected) in [
            ("completed", Dialed::Talked),
            ("answered", Dialed::Talked),
            ("busy", Dialed::Failed(EndCause::Busy)),
            ("no-answer", Dialed::Failed(EndCause::NoAnswer)),
            ("canceled", Dialed::Failed(EndCause::Canceled)),
            ("failed", Dialed::Failed(EndCause::Failed("failed".into()))),
            ("pondering", Dialed::Failed(EndCause::Failed("pondering".into()))),
        ] {
            assert_eq!(told("in-progress", dial), expected, "{dial}");
            assert!(matches!(told("completed", dial), Dialed::CallerLeft(_)), "{dial}");
        }
        let nothing = dialed(&fields("CallSid=CA1&CallStatus=in-progress"));
        assert_eq!(nothing, Err(WebhookError::Missing("DialCallStatus")));
    }

    #[test]
    fn the_result_of_a_refer_is_what_the_peer_told_of_its_call() {
        let failed = |words: &str| Dialed::Failed(EndCause::Failed(words.into()));
        for (told, expected) in [
            (
                "ReferCallStatus=in-progress&ReferSipResponseCode=202&NotifySipResponseCode=200",
                Dialed::Talked,
            ),
            (
                "ReferCallStatus=busy&ReferSipResponseCode=202&NotifySipResponseCode=486",
                Dialed::Failed(EndCause::Busy),
            ),
            ("ReferCallStatus=no-answer", Dialed::Failed(EndCause::NoAnswer)),
            ("ReferCallStatus=canceled", Dialed::Failed(EndCause::Canceled)),
            (
                "ReferCallStatus=failed&ReferSipResponseCode=202&NotifySipResponseCode=404",
                Dialed::Failed(EndCause::InvalidNumber),
            ),
            ("ReferCallStatus=failed&ReferSipResponseCode=405", failed("SIP 405")),
            ("ReferCallStatus=failed&ReferSipResponseCode=202", failed("failed")),
            ("ReferCallStatus=failed", failed("failed")),
            ("ReferCallStatus=pondering", failed("pondering")),
            ("ReferSipResponseCode=405", failed("SIP 405")),
            ("ReferSipResponseCode=202", failed(SILENT_PEER)),
        ] {
            let told = |status| dialed(&fields(&format!("CallSid=CA1&CallStatus={status}&{told}"))).unwrap();
            assert!(matches!(told("completed"), Dialed::CallerLeft(_)));
            assert_eq!(told("in-progress"), expected);
        }
    }

    #[test]
    fn a_call_from_outside_is_read() {
        let told = |from: &str, to: &str| {
            let form = format!("CallSid=CA1&CallStatus=ringing&Direction=inbound&From={from}&To={to}");
            let announced = announcement(&fields(&form)).unwrap();
            let text = |number: Option<PhoneNumber>| number.map(|number| number.as_str().to_owned());
            (text(announced.from), text(announced.to))
        };
        let (caller, ours) = (Some("+15550000001".to_owned()), Some("+15550000002".to_owned()));
        assert_eq!(told("%2B15550000001", "%2B15550000002"), (caller.clone(), ours.clone()));
        for from in [
            "",
            "anonymous",
            "%2B266696687",
            "client:mary",
            "sip:x@y.example",
            "266696687",
        ] {
            assert_eq!(told(from, "%2B15550000002"), (None, ours.clone()), "{from}");
        }
        for (from, to) in [
            (
                "sip:%2B15550000001@pbx.example",
                "sip:%2B15550000002@x.example;transport=tls",
            ),
            ("sips:%2B15550000001@pbx.example:5061", "%2B15550000002"),
            ("15550000001", "15550000002"),
            ("sip:15550000001@pbx.example", "sip:15550000002@x.example"),
        ] {
            assert_eq!(told(from, to), (caller.clone(), ours.clone()), "{from}");
        }
        assert_eq!(told("%2B15550000001", "sip:desk@x.example"), (caller, None));
        for (form, missing) in [("To=%2B1", "CallSid"), ("CallSid=CA1&From=%2B1", "To")] {
            assert_eq!(announcement(&fields(form)), Err(WebhookError::Missing(missing)));
        }
    }

    proptest! {
        #[test]
        fn nothing_makes_the_reader_panic(form in proptest::collection::vec(any::<u8>(), 0..200), at in 0..FORM.len(), to in any::<u8>()) {
            let _ = parse(&form);
            let fields = Fields::of_form(&form);
            let _ = (machine(&fields), dialed(&fields), announcement(&fields));
            let mut damaged = FORM.as_bytes().to_vec();
            damaged[at] = to;
            let _ = parse(&damaged);
        }
    }
}
