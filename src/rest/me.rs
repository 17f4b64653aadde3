//! Whose key it is.

use serde_json::json;

use super::{
    auth::Caller,
    envelope::Reply,
    query::{NoParameters, Query},
};

/// `GET /public/v1/me`.
pub async fn show(Caller(account): Caller, _: Query<NoParameters>) -> Reply {
    Reply::ok(json!({ "userId": account.id.to_string(), "email": account.email }))
}
