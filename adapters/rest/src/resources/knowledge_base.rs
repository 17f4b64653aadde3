//! The knowledge base: documents and groups of documents that agents use in calls.

mod document;
mod group;
mod list;
mod search;
mod upload;
mod view;

pub use search::KnowledgeFound;
pub use view::{Document, DocumentText, Group};

use axum::{
    Router,
    routing::{get, post},
};
use domain::ports::store::Removal;
use serde_json::{Value, json};

use crate::{
    response::{
        envelope::Reply,
        error::{self, ApiResult},
    },
    state::RestState,
};

/// Returns the routes below `/public/v1/knowledge-base`.
pub fn routes() -> Router<RestState> {
    Router::new()
        .route("/public/v1/knowledge-base/documents", get(document::list))
        .route("/public/v1/knowledge-base/documents/url", post(document::from_url))
        .route("/public/v1/knowledge-base/documents/text", post(document::from_text))
        .route("/public/v1/knowledge-base/documents/file", post(document::from_file))
        .route(
            "/public/v1/knowledge-base/documents/{documentId}",
            get(document::show).delete(document::delete),
        )
        .route(
            "/public/v1/knowledge-base/documents/{documentId}/text",
            get(document::text),
        )
        .route("/public/v1/knowledge-base/search", post(search::search))
        .route("/public/v1/knowledge-base/groups", get(group::list).post(group::create))
        .route(
            "/public/v1/knowledge-base/groups/{groupId}",
            get(group::show).patch(group::patch).delete(group::delete),
        )
}

/// Returns the response to a delete: the id under `id_name`, or an error that names the dependents of `thing`.
fn removed(removal: Removal, thing: &str, id_name: &str, id: &impl ToString) -> ApiResult<Reply> {
    error::removed(removal, thing)?;
    let mut data = json!({ "deleted": true });
    data[id_name] = Value::from(id.to_string());
    Ok(Reply::ok(data))
}
