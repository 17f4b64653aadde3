//! Whether the service is reachable.

use serde_json::json;

use super::{
    envelope::Reply,
    query::{NoParameters, Query},
};

/// `GET /public/health`.
pub async fn show(_: Query<NoParameters>) -> Reply {
    Reply::ok(json!({ "status": "ok", "version": env!("CARGO_PKG_VERSION") }))
}
