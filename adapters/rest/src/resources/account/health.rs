//! Whether the service and its database are reachable.

use std::time::Duration;

use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    request::query::{NoParameters, Query},
    response::{
        envelope::Reply,
        error::{ApiError, ApiResult},
    },
    state::RestState,
};

/// Maximum time for the database to respond.
const PATIENCE: Duration = Duration::from_secs(1);

/// The service is reachable.
#[derive(Serialize, ToSchema)]
pub struct Health {
    /// `ok`.
    #[schema(value_type = String)]
    pub status: &'static str,
    /// Version of this build.
    #[schema(value_type = String)]
    pub version: &'static str,
}

/// Handles `GET /public/health`. Returns 503 while the database is unavailable.
pub async fn show(State(state): State<RestState>, _: Query<NoParameters>) -> ApiResult<Reply> {
    match tokio::time::timeout(PATIENCE, state.store.ping()).await {
        Ok(answered) => answered?,
        Err(_) => return Err(ApiError::Unavailable("the database does not answer; try again".into())),
    }
    Ok(Reply::ok(Health {
        status: "ok",
        version: env!("CARGO_PKG_VERSION"),
    }))
}
