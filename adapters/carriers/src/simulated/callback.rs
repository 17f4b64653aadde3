//! Status callbacks of the exchange: a JSON object with `callId`, `status`, `sequence` and, at the end, `cause`. Pure.

use domain::ports::carrier::{CallProgress, CarrierCallId, EndCause, LegReport};
use serde::Deserialize;

use crate::{http::words::plain_words, webhooks::WebhookError};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Callback {
    call_id: Option<String>,
    status: Status,
    cause: Option<Cause>,
    #[serde(default)]
    reason: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Status {
    Ringing,
    Answered,
    Transferred,
    TransferFailed,
    Ended,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Cause {
    Completed,
    Busy,
    NoAnswer,
    Rejected,
    InvalidNumber,
    Canceled,
    Failed,
}

/// Parses the body of a callback.
pub fn parse(body: &[u8]) -> Result<LegReport, WebhookError> {
    let callback: Callback = serde_json::from_slice(body)?;
    let progress = match callback.status {
        Status::Ringing => CallProgress::Ringing,
        Status::Answered => CallProgress::Answered,
        Status::Transferred => CallProgress::Transferred,
        Status::TransferFailed => CallProgress::TransferFailed(plain_words(&callback.reason)),
        Status::Ended => {
            let cause = callback.cause.ok_or(WebhookError::Missing("cause"))?;
            CallProgress::Ended(end_cause(&cause, &callback.reason))
        }
    };
    let call = callback.call_id.as_deref().and_then(CarrierCallId::checked);
    Ok(LegReport { call, progress })
}

fn end_cause(cause: &Cause, reason: &str) -> EndCause {
    match cause {
        Cause::Completed => EndCause::Completed,
        Cause::Busy => EndCause::Busy,
        Cause::NoAnswer => EndCause::NoAnswer,
        Cause::Rejected => EndCause::Rejected,
        Cause::InvalidNumber => EndCause::InvalidNumber,
        Cause::Canceled => EndCause::Canceled,
        Cause::Failed => EndCause::Failed(plain_words(reason)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_status_is_read() {
        for (body, progress) in [
            (
                r#"{"callId":"CA1","status":"ringing","sequence":0}"#,
                CallProgress::Ringing,
            ),
            (
                r#"{"callId":"CA1","status":"answered","sequence":1}"#,
                CallProgress::Answered,
            ),
            (
                r#"{"callId":"CA1","status":"transferred","sequence":2}"#,
                CallProgress::Transferred,
            ),
            (
                r#"{"callId":"CA1","status":"transfer-failed","reason":"busy","sequence":2}"#,
                CallProgress::TransferFailed("busy".into()),
            ),
            (
                r#"{"callId":"CA1","status":"ended","cause":"no-answer","sequence":2}"#,
                CallProgress::Ended(EndCause::NoAnswer),
            ),
            (
                r#"{"callId":"CA1","status":"ended","cause":"failed","reason":"congestion","sequence":2}"#,
                CallProgress::Ended(EndCause::Failed("congestion".into())),
            ),
        ] {
            let call = CarrierCallId::checked("CA1");
            assert_eq!(parse(body.as_bytes()), Ok(LegReport { call, progress }), "{body}");
        }
    }

    #[test]
    fn a_reason_is_kept_without_what_no_database_takes() {
        let body = serde_json::json!({ "status": "ended", "cause": "failed", "reason": format!("con\0ges\ntion{}", "x".repeat(900)) });
        let reason = format!("congestion{}", "x".repeat(190));
        assert_eq!(
            parse(body.to_string().as_bytes()),
            Ok(CallProgress::Ended(EndCause::Failed(reason)).into())
        );
    }

    #[test]
    fn a_damaged_callback_is_an_error() {
        for body in [
            "",
            "null",
            r#"{"callId":"CA1"}"#,
            r#"{"status":"melting"}"#,
            r#"{"status":"ended","cause":"boredom"}"#,
        ] {
            assert!(
                matches!(parse(body.as_bytes()), Err(WebhookError::Malformed(_))),
                "{body}"
            );
        }
        assert_eq!(parse(br#"{"status":"ended"}"#), Err(WebhookError::Missing("cause")));
    }
}
