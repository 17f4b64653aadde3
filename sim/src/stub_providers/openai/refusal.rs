//! Refusals in OpenAI's words.

use axum::response::Response;
use serde_json::{Value, json};

use crate::stub_providers::stub;

/// Reason of a refusal, and the request field that it names.
pub(crate) type Refusal = (String, Option<&'static str>);

/// Returns an error response; `field` is the invalid one.
pub(crate) fn refused(status: u16, kind: &str, message: &str, code: Option<&str>, field: Option<&str>) -> Response {
    let error = json!({ "message": message, "type": kind, "param": field, "code": code });
    stub::refused(status, json!({ "error": error }))
}

/// Returns the refusal of a request for a field.
pub(crate) fn misfit(field: &str, why: &str) -> (u16, Value) {
    let error = json!({ "message": why, "type": "invalid_request_error", "param": field, "code": "unknown_parameter" });
    (400, json!({ "error": error }))
}

/// Returns the kind of error of a status.
pub(crate) fn kind(status: u16) -> &'static str {
    if status < 500 {
        "invalid_request_error"
    } else {
        "server_error"
    }
}
