//! Carriers and providers of the installation: a list, and a check of each.

use std::time::Duration;

use axum::extract::State;
use domain::ports::services::{CheckReport, Service};
use serde::Serialize;
use serde_json::json;
use tokio::time::{Instant, timeout};
use utoipa::ToSchema;

use crate::{
    described::{common::NoFields, operation::Operation},
    request::{
        body::OptionalBody,
        path_id::PathId,
        query::{NoParameters, Query},
    },
    response::{
        envelope::Reply,
        error::{ApiError, ApiResult, Conflict},
    },
    state::RestState,
};

/// A service is not checked again before this time has passed.
const PAUSE: Duration = Duration::from_secs(10);

/// Longest time of a check.
const CHECK_WITHIN: Duration = Duration::from_secs(60);

/// The services, and the problems of the node that answers.
#[derive(Serialize, ToSchema)]
pub struct ServiceOverview {
    /// All carriers and providers, configured or not.
    services: Vec<Service>,
    /// Reasons why the node takes no new work, as in `GET /ready`; empty if it does.
    #[schema(value_type = Vec<String>)]
    problems: Vec<&'static str>,
}

async fn list(State(state): State<RestState>, _: Query<NoParameters>) -> Reply {
    let known = &state.services.services;
    let problems = known.problems().await;
    let services = known.all();
    Reply::ok(ServiceOverview { services, problems })
}

/// Checks a service, or returns the last result if that is recent. Waits for a check in progress.
async fn check(
    State(mut state): State<RestState>,
    PathId(name): PathId<String>,
    _: Query<NoParameters>,
    _: OptionalBody<NoFields>,
) -> ApiResult<Reply> {
    let services = state.services.services.clone();
    let known = services.all().into_iter().find(|service| service.name == name);
    let unknown = format!("there is no service `{name}`; `GET /public/v1/services` lists all");
    let service = known.ok_or(ApiError::NotFound(unknown))?;
    if !service.configured {
        let message = format!("`{name}` is not configured: set {}", service.settings.join(", "));
        return Err(ApiError::Conflict(Conflict::NotConfigured, message));
    }
    let mut last = state.services.last(&service).lock_owned().await;
    if let Some((at, report)) = &*last
        && at.elapsed() < PAUSE
    {
        return Ok(Reply::ok(report));
    }
    // Goes on if the client leaves, so that leaving does not allow another check at once.
    let check = tokio::spawn(async move {
        let report = tokio::select! {
            report = timeout(CHECK_WITHIN, services.check(&service)) => report.ok(),
            _ = state.stopping.wait_for(|stops| *stops) => None,
        };
        let late = || CheckReport::of(Err("it took more than 60 s, or the service is stopping".to_owned()));
        let report = report.unwrap_or_else(late);
        *last = Some((Instant::now(), report.clone()));
        report
    });
    check.await.map(Reply::ok).map_err(|_| ApiError::Internal)
}

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
    let path = "/public/v1/services/{serviceName}/check";
    vec![
        Operation::get("/public/v1/services", "listServices", "List carriers and providers")
            .by(list)
            .note("All accounts see the same. Settings are named, and their values never shown.")
            .ok::<ServiceOverview>(json!({ "services": [service], "problems": ["disk_full"] })),
        Operation::post(path, "checkService", "Check a carrier or provider")
            .by(check)
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
