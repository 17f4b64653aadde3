//! Groups of documents.

use std::collections::HashSet;

use axum::{extract::State, response::Response};
use domain::{
    id::{DocumentId, GroupId},
    ports::store::{Account, GroupEdit, GroupRow, KeyTicket},
};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::{list::ListParameters, view::Group};
use crate::{
    access::idempotency::{IdempotencyKey, RequestHash},
    caller::Caller,
    described::{bodies, common::Name},
    request::{
        body::JsonObject,
        checked::{Checked, present},
        path_id::PathId,
        query::{NoParameters, Query},
    },
    response::{
        envelope::Reply,
        error::{ApiResult, OrNoSuch, removed},
    },
    state::RestState,
};

/// Name of the field that contains ids of documents.
pub const DOCUMENT_IDS: &str = "documentIds";

/// A group to create.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewGroup {
    /// Name of the group.
    pub name: Name,
    /// Documents of the account, without repetition.
    #[schema(value_type = Option<Vec<bodies::DocumentId>>, max_items = 200)]
    pub document_ids: Option<Vec<DocumentId>>,
}

/// Changes of a group. Omitted fields stay unchanged.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GroupPatch {
    /// New name.
    #[schema(required = false, value_type = Name)]
    pub name: Option<Name>,
    /// Documents that replace the current ones; `null` empties the group.
    #[schema(value_type = Option<Vec<bodies::DocumentId>>, max_items = 200)]
    #[serde(default, deserialize_with = "present")]
    pub document_ids: Option<Option<Vec<DocumentId>>>,
}

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
    let mut body = Checked::<NewGroup>::of(body);
    check_documents(state, account, &mut body).await?;
    let NewGroup { name, document_ids } = body.end()?;
    let documents = document_ids.unwrap_or_default();
    Ok(state.store.create_group(account.id, name.0, documents, ticket).await?)
}

/// Checks `documentIds`: documents of the account, without repetition.
pub async fn check_documents<T: ToSchema + DeserializeOwned + 'static>(
    state: &RestState,
    account: &Account,
    body: &mut Checked<T>,
) -> ApiResult<()> {
    let items = body.sound(DOCUMENT_IDS).and_then(Value::as_array);
    let ids = items
        .into_iter()
        .flatten()
        .filter_map(|item| item.as_str()?.parse().ok());
    let ids: Vec<DocumentId> = ids.collect();
    let known = state.store.known_documents(account.id, &ids).await?;
    let known: HashSet<String> = known.iter().map(ToString::to_string).collect();
    let mut seen = HashSet::new();
    body.parse_items(DOCUMENT_IDS, |text| {
        if !seen.insert(text.to_owned()) {
            return Err(("repeated", "is in the list already".into()));
        }
        let missing = || {
            (
                "not_found",
                format!("there is no document `{text:.100}` in this account"),
            )
        };
        known.contains(text).then_some(()).ok_or_else(missing)
    });
    body.recode(DOCUMENT_IDS, "invalid_value", "not_found");
    Ok(())
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
    let is_nameless = body.get("name").is_some_and(Value::is_null);
    let mut body = Checked::<GroupPatch>::change(&body);
    if is_nameless {
        body.recode("name", "wrong_type", "required");
    }
    check_documents(&state, &account, &mut body).await?;
    let GroupPatch { name, document_ids } = body.end()?;
    let edit = GroupEdit {
        name: name.map(|name| name.0),
        documents: document_ids.map(Option::unwrap_or_default),
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
