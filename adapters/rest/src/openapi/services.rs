//! Carriers and providers of the installation.

use serde_json::json;

use crate::described::{common::NoFields, operation::Operation};
use crate::resources::account::services::ServiceOverview;
use domain::ports::services::CheckReport;

/// Returns the operations of services.
pub fn operations() -> Vec<Operation> {
    let service = json!({
        "name": "carrier-twilio", "kind": "carrier", "provider": "twilio", "rank": 1, "configured": true,
        "outage": { "since": "2026-05-05T09:12:07.120000Z", "reason": "connection refused" },
        "settings": ["TWILIO_ACCOUNT_SID", "TWILIO_AUTH_TOKEN", "RINGBACK_PUBLIC_URL"],
    });
    let url = "https://calls.example.com/carriers/twilio/inbound";
    let entry = json!({ "at": "each number, \"A call comes in\", webhook, POST", "value": url });
    let report = json!({ "works": true, "message": "account active", "numbers": ["+15550000001"], "enter": [entry] });
    let check = "/public/v1/services/{serviceName}/check";
    vec![
        Operation::get("/public/v1/services", "listServices", "List carriers and providers")
            .ours()
            .note("All accounts see the same. Settings are named, and their values never shown.")
            .ok::<ServiceOverview>(json!({ "services": [service], "problems": ["disk_full"] })),
        Operation::post(check, "checkService", "Check a carrier or provider")
            .ours()
            .note(
                "Sends small real requests, for at most 60 s. Within 10 s after a check, its result is returned again. The \
                 status is 200 also if the service does not work.",
            )
            .optional_body::<NoFields>(json!({ "nothing": {} }))
            .ok::<CheckReport>(report)
            .fails(404, "not_found", "there is no service `llm-grok`; `GET /public/v1/services` lists all")
            .conflict("not_configured", "`llm-groq` is not configured: set GROQ_API_KEY"),
    ]
}
