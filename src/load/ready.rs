//! `GET /ready`: whether new work may be sent to this node, and the reasons if not. Live calls continue in
//! any case, so their callbacks and sockets must still be sent here.

use std::{sync::Arc, time::Duration};

use actors::{dial_gate::HoldsBack, node::NodeHandle};
use axum::{
    Json, Router,
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
    routing::get,
};
use domain::{
    admission::{Gate, Work},
    ports::store::RecordStore,
};
use serde_json::json;

use carriers::Bulkheads;
use storage::SqlStore;

/// A database that takes longer counts as unavailable.
const PATIENCE: Duration = Duration::from_secs(1);

const DATABASE_UNREACHABLE: &str = "database_away";

/// State of `GET /ready`.
#[derive(Clone)]
pub struct ReadyEndpoint {
    /// Node.
    pub node: Arc<NodeHandle>,
    /// Database of the node.
    pub store: Arc<SqlStore>,
    /// Gate that shows which work is refused.
    pub gate: Gate,
    /// Health of the carriers.
    pub carriers: Bulkheads,
}

impl ReadyEndpoint {
    /// Returns the route.
    pub fn router(self) -> Router {
        Router::new().route("/ready", get(show)).with_state(self)
    }

    /// Returns all reasons against new work.
    pub async fn reasons(&self) -> Vec<&'static str> {
        let database = tokio::time::timeout(PATIENCE, self.store.ping()).await;
        let held = self.node.holds_back().map(HoldsBack::as_str);
        let all = [
            (self.node.switchboard.is_draining(), "draining"),
            (held.is_some(), held.unwrap_or_default()),
            (!matches!(database, Ok(Ok(()))), DATABASE_UNREACHABLE),
            (self.store.is_full(), "disk_full"),
            (self.store.dial_journal_fails(), "dial_journal"),
            (self.gate.holds(Work::Writes), "overloaded"),
            (self.carriers.all_are_down(), "carriers_away"),
        ];
        all.into_iter()
            .filter_map(|(holds, reason)| holds.then_some(reason))
            .collect()
    }
}

/// Returns the routes of a service that waits for its database: everything gets a 503.
pub fn database_awaited() -> Router {
    let unavailable = async || {
        (
            StatusCode::SERVICE_UNAVAILABLE,
            "the database is unavailable; try again\n",
        )
    };
    Router::new()
        .route(
            "/ready",
            get(async || answer(&[DATABASE_UNREACHABLE], &Gate::default())),
        )
        .fallback(unavailable)
}

async fn show(State(endpoint): State<ReadyEndpoint>) -> Response {
    answer(&endpoint.reasons().await, &endpoint.gate)
}

fn answer(reasons: &[&str], gate: &Gate) -> Response {
    let ready = reasons.is_empty();
    let status = if ready {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    let level = gate.level().as_str();
    (
        status,
        Json(json!({ "ready": ready, "reasons": reasons, "load": level })),
    )
        .into_response()
}
