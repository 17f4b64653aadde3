//! Documents.

use axum::{
    extract::{Request, State},
    response::Response,
};
use domain::{
    id::DocumentId,
    ports::store::{Account, DocumentKind, NewDocument},
    text::is_blank,
};
use serde::Deserialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::{
    list::ListParameters,
    upload::{self, Upload},
    view::{Document, DocumentText},
};
use crate::{
    access::idempotency::{IdempotencyKey, RequestHash, Turn},
    caller::Caller,
    described::common::Name,
    request::{
        body::JsonObject,
        checked::Checked,
        path_id::PathId,
        query::{NoParameters, Query},
    },
    response::{
        envelope::Reply,
        error::{ApiError, ApiResult, OrNoSuch, removed},
    },
    state::RestState,
};
use integrations::documents::{DocumentError, fetch};
use net::address_policy::ALLOW_PRIVATE;

/// Handles `POST /public/v1/knowledge-base/documents/url`.
pub async fn from_url(
    State(state): State<RestState>,
    Caller(account): Caller,
    key: IdempotencyKey,
    _: Query<NoParameters>,
    JsonObject(body): JsonObject,
) -> ApiResult<Response> {
    let turn = key.take(&state, account.id, "create url document", || {
        RequestHash::of_json(&body)
    });
    let turn = turn.await?;
    made(&state, &account, turn, fetched(&state, &body)).await
}

/// Handles `POST /public/v1/knowledge-base/documents/text`.
pub async fn from_text(
    State(state): State<RestState>,
    Caller(account): Caller,
    key: IdempotencyKey,
    _: Query<NoParameters>,
    JsonObject(body): JsonObject,
) -> ApiResult<Response> {
    let turn = key.take(&state, account.id, "create text document", || {
        RequestHash::of_json(&body)
    });
    let turn = turn.await?;
    made(&state, &account, turn, async { given(&body) }).await
}

/// Handles `POST /public/v1/knowledge-base/documents/file`, a multipart form.
pub async fn from_file(
    State(state): State<RestState>,
    Caller(account): Caller,
    key: IdempotencyKey,
    _: Query<NoParameters>,
    request: Request,
) -> ApiResult<Response> {
    let upload = upload::receive(request, &state.spool_dir).await?;
    let turn = key.take(&state, account.id, "create file document", || upload.hash());
    let turn = turn.await?;
    made(&state, &account, turn, uploaded(&state, upload)).await
}

/// Creates the document from `new`, or returns the one that the same request created before.
async fn made(
    state: &RestState,
    account: &Account,
    turn: Turn,
    new: impl Future<Output = ApiResult<NewDocument>>,
) -> ApiResult<Response> {
    turn.answer(
        async |ticket| {
            let new = new.await?;
            Ok(state.store.create_document(account.id, new, ticket.as_ref()).await?)
        },
        async |id| state.store.document(account.id, id).await.or_no_such("document"),
        |row| Reply::created(Document::of(row, account)),
    )
    .await
}

/// A URL to create a document from.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewUrlDocument {
    /// URL: `http` or `https`. Private addresses are refused unless the service allows them.
    #[schema(format = "uri", max_length = 2048, pattern = "^[Hh][Tt][Tt][Pp][Ss]?://")]
    pub url: String,
    /// Name of the document.
    pub name: Name,
}

/// A text to create a document from.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewTextDocument {
    /// Name of the document.
    pub name: Name,
    /// Content of the document.
    #[schema(pattern = r"\S")]
    pub text: String,
}

/// Fetches the document at the URL in a body.
async fn fetched(state: &RestState, body: &Map<String, Value>) -> ApiResult<NewDocument> {
    let mut body = Checked::<NewUrlDocument>::of(body).coded("url", "too_long", "invalid_value");
    body.parse("url", |url| match fetch::parse(url.trim()) {
        Ok(_) => Ok(url.trim().to_owned()),
        Err(problem) => Err(("invalid_value", problem.to_string())),
    });
    let NewUrlDocument { url, name } = body.end()?;
    let text = state.documents.of_url(&url).await;
    Ok(NewDocument {
        kind: DocumentKind::Url,
        name: name.0,
        url: Some(url),
        text: text.map_err(|error| refused(error, "url"))?,
    })
}

/// Returns the document with the text in a body.
fn given(body: &Map<String, Value>) -> ApiResult<NewDocument> {
    let mut body = Checked::<NewTextDocument>::of(body);
    body.parse("text", |text| match is_blank(text) {
        true => Err(("required", "must contain visible text".into())),
        false => Ok(text.to_owned()),
    });
    let NewTextDocument { name, text } = body.end()?;
    Ok(NewDocument {
        kind: DocumentKind::Text,
        name: name.0,
        url: None,
        text,
    })
}

/// Returns the document with the text of an upload.
async fn uploaded(state: &RestState, upload: Upload) -> ApiResult<NewDocument> {
    let content_type = upload.content_type.as_deref();
    let text = state.documents.of_file(upload.file, content_type).await;
    Ok(NewDocument {
        kind: DocumentKind::File,
        name: upload.name,
        url: None,
        text: text.map_err(|error| refused(error, "file"))?,
    })
}

/// Returns the error for a document without a readable text.
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
            tracing::error!(%reason, "document reader failed");
            ApiError::Unavailable("documents cannot be read at the moment; try again".into())
        }
    }
}

/// Handles `GET /public/v1/knowledge-base/documents`.
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
        |row| Document::of(row, &account),
    ))
}

/// Handles `GET /public/v1/knowledge-base/documents/{documentId}`.
pub async fn show(
    State(state): State<RestState>,
    Caller(account): Caller,
    PathId(id): PathId<DocumentId>,
    _: Query<NoParameters>,
) -> ApiResult<Reply> {
    let row = state.store.document(account.id, id).await.or_no_such("document")?;
    Ok(Reply::ok(Document::of(&row, &account)))
}

/// Handles `GET /public/v1/knowledge-base/documents/{documentId}/text`.
pub async fn text(
    State(state): State<RestState>,
    Caller(account): Caller,
    PathId(id): PathId<DocumentId>,
    _: Query<NoParameters>,
) -> ApiResult<Reply> {
    let text = state.store.document_text(account.id, id).await.or_no_such("document")?;
    Ok(Reply::ok(DocumentText { document_id: id, text }))
}

/// Handles `DELETE /public/v1/knowledge-base/documents/{documentId}`.
pub async fn delete(
    State(state): State<RestState>,
    Caller(account): Caller,
    PathId(id): PathId<DocumentId>,
    _: Query<NoParameters>,
) -> ApiResult<Reply> {
    let removal = state.store.delete_document(account.id, id).await;
    removed(removal.or_no_such("document")?, "document")?;
    Ok(Reply::deleted("documentId", id))
}
