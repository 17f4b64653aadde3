//! Carriers and providers of the installation: a list, and a check of each.

use std::time::Duration;

use axum::{
    Router,
    extract::State,
    routing::{get, post},
};
use domain::ports::services::{CheckReport, Service};
use serde::Serialize;
use tokio::time::{Instant, timeout};
use utoipa::ToSchema;

use crate::{
    described::common::NoFields,
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

/// Returns the routes of services.
pub fn routes() -> Router<RestState> {
    Router::new()
        .route("/public/v1/services", get(list))
        .route("/public/v1/services/{serviceName}/check", post(check))
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
