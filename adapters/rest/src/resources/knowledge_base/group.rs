//! Groups of documents.

use std::collections::HashSet;

use axum::{extract::State, response::Response};
use domain::{
    id::{DocumentId, GroupId},
    ports::store::{Account, GroupEdit, GroupRow, KeyTicket},
};
use serde_json::{Map, Value};

use super::{list::ListParameters, view::Group};
use crate::{
    access::idempotency::{IdempotencyKey, RequestHash},
    caller::Caller,
    request::{
        body::JsonObject,
        fields::{Fields, kind},
        path_id::PathId,
        query::{NoParameters, Query},
    },
    response::{
        envelope::Reply,
        error::{ApiError, ApiResult, OrNoSuch, removed},
    },
    state::RestState,
};

/// Maximum documents of a group or a search. A list of groups contains all of them.
pub const DOCUMENTS: usize = 200;

/// Name of the field that contains ids of documents.
pub const DOCUMENT_IDS: &str = "documentIds";

/// Handles `POST /public/v1/knowledge-base/groups`.
pub async fn create(
    State(state): State<RestState>,
    Caller(account): Caller,
    key: IdempotencyKey,
    _: Query<NoParameters>,
    JsonObject(body): JsonObject,
) -> ApiResult<Response> {
    let turn = key.take(&state, account.id, "create group", || RequestHash::of_json(&body));
    turn.await?
        .answer(
            async |ticket| make(&state, &account, &body, ticket.as_ref()).await,
            async |id| state.store.group(account.id, id).await.or_no_such("group"),
            |row| Reply::created(Group::of(row, &account)),
        )
        .await
}

async fn make(
    state: &RestState,
    account: &Account,
    body: &Map<String, Value>,
    ticket: Option<&KeyTicket>,
) -> ApiResult<GroupRow> {
    let mut fields = Fields::of(body, "");
    fields.only(&["name", DOCUMENT_IDS]);
    let name = fields.name("name");
    let documents = document_ids(state, account, &mut fields).await?;
    let (Some(name), true) = (name, fields.problems.is_empty()) else {
        return Err(ApiError::Invalid(fields.problems));
    };
    let documents = documents.unwrap_or_default();
    Ok(state.store.create_group(account.id, name, documents, ticket).await?)
}

/// Reads `documentIds`: documents of the account, without repetition. Returns `None` if the field is missing.
pub async fn document_ids(
    state: &RestState,
    account: &Account,
    fields: &mut Fields<'_>,
) -> ApiResult<Option<Vec<DocumentId>>> {
    let Some(items) = fields.array(DOCUMENT_IDS) else {
        return Ok(None);
    };
    if items.len() > DOCUMENTS {
        let message = format!("has {} items; at most {DOCUMENTS} are allowed", items.len());
        fields.problem(DOCUMENT_IDS, "too_many", message);
        return Ok(None);
    }
    let parsed = |item: &Value| item.as_str()?.parse::<DocumentId>().ok();
    let ids: Vec<DocumentId> = items.iter().filter_map(parsed).collect();
    let known = state.store.known_documents(account.id, &ids).await?;
    let known: HashSet<DocumentId> = known.into_iter().collect();
    let mut seen = HashSet::new();
    for (index, item) in items.iter().enumerate() {
        let path = format!("{DOCUMENT_IDS}[{index}]");
        let Some(text) = item.as_str() else {
            fields.problem(&path, "wrong_type", format!("must be a string, not {}", kind(item)));
            continue;
        };
        if !seen.insert(text) {
            fields.problem(&path, "repeated", "is in the list already");
        } else if !parsed(item).is_some_and(|id| known.contains(&id)) {
            let message = format!("there is no document `{text:.100}` in this account");
            fields.problem(&path, "not_found", message);
        }
    }
    Ok(Some(ids))
}

/// Handles `GET /public/v1/knowledge-base/groups`.
pub async fn list(
    State(state): State<RestState>,
    Caller(account): Caller,
    Query(parameters): Query<ListParameters>,
) -> ApiResult<Reply> {
    let page = parameters.page(account.id, "groups")?;
    let rows = state
        .store
        .groups(account.id, page.filter.clone(), page.limit())
        .await?;
    Ok(page.reply(
        rows,
        |row| (row.name.as_str(), row.created_at, row.id.to_string()),
        |row| Group::of(row, &account),
    ))
}

/// Handles `GET /public/v1/knowledge-base/groups/{groupId}`.
pub async fn show(
    State(state): State<RestState>,
    Caller(account): Caller,
    PathId(id): PathId<GroupId>,
    _: Query<NoParameters>,
) -> ApiResult<Reply> {
    let row = state.store.group(account.id, id).await.or_no_such("group")?;
    Ok(Reply::ok(Group::of(&row, &account)))
}

/// Handles `PATCH /public/v1/knowledge-base/groups/{groupId}`, a merge patch; `documentIds: null` empties the group.
pub async fn patch(
    State(state): State<RestState>,
    Caller(account): Caller,
    PathId(id): PathId<GroupId>,
    _: Query<NoParameters>,
    JsonObject(body): JsonObject,
) -> ApiResult<Reply> {
    state.store.group(account.id, id).await.or_no_such("group")?;
    let mut fields = Fields::of(&body, "");
    fields.only(&["name", DOCUMENT_IDS]);
    let name = match body.get("name") {
        Some(_) => fields.name("name"),
        None => None,
    };
    let emptied = body.get(DOCUMENT_IDS).is_some_and(Value::is_null);
    let documents = document_ids(&state, &account, &mut fields).await?;
    fields.end()?;
    let edit = GroupEdit {
        name,
        documents: documents.or_else(|| emptied.then(Vec::new)),
    };
    let row = state
        .store
        .update_group(account.id, id, edit)
        .await
        .or_no_such("group")?;
    Ok(Reply::ok(Group::of(&row, &account)))
}

/// Handles `DELETE /public/v1/knowledge-base/groups/{groupId}`.
pub async fn delete(
    State(state): State<RestState>,
    Caller(account): Caller,
    PathId(id): PathId<GroupId>,
    _: Query<NoParameters>,
) -> ApiResult<Reply> {
    let removal = state.store.delete_group(account.id, id).await;
    removed(removal.or_no_such("group")?, "group")?;
    Ok(Reply::deleted("groupId", id))
}
