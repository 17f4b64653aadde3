//! Documents.

use actors::{
    id::DocumentId,
    ports::store::{DocumentKind, NewDocument},
};
use axum::extract::{Request, State};

use super::{list::ListParameters, removed, upload, view};
use crate::{
    address_policy::ALLOW_PRIVATE,
    documents::{DocumentError, fetch},
    rest::{
        RestState,
        auth::Caller,
        body::JsonObject,
        envelope::Reply,
        error::{ApiError, ApiResult, OrNoSuch},
        fields::Fields,
        path_id::PathId,
        query::{NoParameters, Query},
    },
};

/// `POST /public/v1/knowledge-base/documents/url`.
pub async fn from_url(
    State(state): State<RestState>,
    Caller(account): Caller,
    _: Query<NoParameters>,
    JsonObject(body): JsonObject,
) -> ApiResult<Reply> {
    let mut fields = Fields::of(&body, "");
    fields.only(&["url", "name"]);
    let url = fields.required_string("url").map(str::trim);
    if let Some(Err(problem)) = url.map(fetch::parse) {
        fields.problem("url", "invalid_value", problem);
    }
    let name = fields.name("name");
    let (Some(url), Some(name), true) = (url, name, fields.problems.is_empty()) else {
        return Err(ApiError::Invalid(fields.problems));
    };
    let text = state
        .documents
        .of_url(url)
        .await
        .map_err(|error| refused(error, "url"))?;
    let new = NewDocument {
        kind: DocumentKind::Url,
        name,
        url: Some(url.to_owned()),
        text,
    };
    let row = state.store.create_document(account.id, new).await?;
    Ok(Reply::created(view::document(&row, &account)))
}

/// `POST /public/v1/knowledge-base/documents/text`.
pub async fn from_text(
    State(state): State<RestState>,
    Caller(account): Caller,
    _: Query<NoParameters>,
    JsonObject(body): JsonObject,
) -> ApiResult<Reply> {
    let mut fields = Fields::of(&body, "");
    fields.only(&["name", "text"]);
    let name = fields.name("name");
    let text = fields.required_string("text");
    if text.is_some_and(|text| text.trim().is_empty()) {
        fields.problem("text", "required", "must not be blank");
    }
    let (Some(name), Some(text), true) = (name, text, fields.problems.is_empty()) else {
        return Err(ApiError::Invalid(fields.problems));
    };
    let new = NewDocument {
        kind: DocumentKind::Text,
        name,
        url: None,
        text: text.to_owned(),
    };
    let row = state.store.create_document(account.id, new).await?;
    Ok(Reply::created(view::document(&row, &account)))
}

/// `POST /public/v1/knowledge-base/documents/file`, multipart.
pub async fn from_file(
    State(state): State<RestState>,
    Caller(account): Caller,
    _: Query<NoParameters>,
    request: Request,
) -> ApiResult<Reply> {
    let upload = upload::receive(request, &state.spool_dir).await?;
    let text = state
        .documents
        .of_file(upload.file, upload.content_type.as_deref())
        .await;
    let new = NewDocument {
        kind: DocumentKind::File,
        name: upload.name,
        url: None,
        text: text.map_err(|error| refused(error, "file"))?,
    };
    let row = state.store.create_document(account.id, new).await?;
    Ok(Reply::created(view::document(&row, &account)))
}

/// What a client is told of a document that has no text.
fn refused(error: DocumentError, field: &str) -> ApiError {
    let text = error.to_string();
    match error {
        DocumentError::Address(_) => ApiError::field(field, "invalid_value", text),
        DocumentError::NotAllowed(_) => {
            ApiError::field(field, "address_not_allowed", format!("{text}; {ALLOW_PRIVATE}"))
        }
        DocumentError::Unreadable(_) if field == "file" => ApiError::field(field, "unreadable", text),
        DocumentError::Unreadable(_) | DocumentError::Upstream(_) => ApiError::Upstream(text),
        DocumentError::Busy => ApiError::Unavailable(format!("{text}; try again")),
        DocumentError::Broken(reason) => {
            tracing::error!(%reason, "documents cannot be read");
            ApiError::Unavailable("documents cannot be read at the moment; try again".into())
        }
    }
}

/// `GET /public/v1/knowledge-base/documents`.
pub async fn list(
    State(state): State<RestState>,
    Caller(account): Caller,
    Query(parameters): Query<ListParameters>,
) -> ApiResult<Reply> {
    let page = parameters.page(account.id, "documents")?;
    let rows = state
        .store
        .documents(account.id, page.filter.clone(), page.limit())
        .await?;
    Ok(page.reply(
        rows,
        |row| (row.name.as_str(), row.created_at, row.id.to_string()),
        |row| view::document(row, &account),
    ))
}

/// `GET /public/v1/knowledge-base/documents/{documentId}`.
pub async fn show(
    State(state): State<RestState>,
    Caller(account): Caller,
    PathId(id): PathId<DocumentId>,
    _: Query<NoParameters>,
) -> ApiResult<Reply> {
    let row = state.store.document(account.id, id).await.or_no_such("document")?;
    Ok(Reply::ok(view::document(&row, &account)))
}

/// `DELETE /public/v1/knowledge-base/documents/{documentId}`.
pub async fn delete(
    State(state): State<RestState>,
    Caller(account): Caller,
    PathId(id): PathId<DocumentId>,
    _: Query<NoParameters>,
) -> ApiResult<Reply> {
    let removal = state.store.delete_document(account.id, id).await;
    removed(removal.or_no_such("document")?, "document", "documentId", &id)
}
