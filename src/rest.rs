//! The REST API: one line per route. The contract's envelope lies around all of it.

mod auth;
mod body;
mod envelope;
mod error;
mod fields;
mod health;
mod me;
mod path_id;
mod query;
mod request_id;
mod strict_json;

use std::{path::PathBuf, sync::Arc};

use actors::{ports::store::Store, switchboard::SwitchboardMessage};
use axum::{Router, http::StatusCode, middleware, routing::get};
use ractor::ActorRef;

/// What handlers need.
#[derive(Clone)]
pub struct RestState {
    /// Every row.
    pub store: Arc<dyn Store>,
    /// Takes commands for campaigns.
    pub switchboard: ActorRef<SwitchboardMessage>,
    /// The carrier is the simulated exchange: launching calls nobody, and says so.
    pub carrier_is_simulated: bool,
    /// Where uploads wait on disk while they are checked.
    pub spool_dir: PathBuf,
}

/// The whole API below `/public`. Has a fallback of its own: routers merged with it must have none.
pub fn router(state: RestState) -> Router {
    with_envelope(routes(state))
}

/// Puts the envelope, the request id and the catching of panics around other routes.
pub fn with_envelope(routes: Router) -> Router {
    routes
        .fallback(async || StatusCode::NOT_FOUND)
        .layer(middleware::from_fn(envelope::layer))
}

/// The routes without the envelope's layer, so that a test can add its own to them.
pub fn routes(state: RestState) -> Router {
    let keyed = Router::new()
        .route("/public/v1/me", get(me::show))
        .route_layer(middleware::from_fn_with_state(state.clone(), auth::require_key));
    Router::new()
        .route("/public/health", get(health::show))
        .merge(keyed)
        .with_state(state)
}
