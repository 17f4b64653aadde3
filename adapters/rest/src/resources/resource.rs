//! Resources that an account creates, lists, reads, changes under a version, and deletes, all alike.

use std::{fmt::Display, str::FromStr};

use axum::{extract::State, response::Response};
use domain::{
    id::AccountId,
    ports::store::{KeyTicket, Removal, StoreError, StoreResult},
    time::Timestamp,
};
use serde::Serialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use crate::{
    access::idempotency::{IdempotencyKey, RequestHash},
    caller::Caller,
    described::operation::Operation,
    request::{
        body::JsonObject,
        cursor::Binding,
        fields::patched,
        optimistic::{IfMatch, until_written},
        path_id::PathId,
        query::{NoParameters, Paging, Query},
    },
    response::{
        envelope::Reply,
        error::{ApiError, ApiResult, OrNoSuch, removed},
    },
    state::RestState,
};

/// Names of a kind of resource.
pub struct Names {
    /// Path of the list.
    pub list: &'static str,
    /// Path of one.
    pub one: &'static str,
    /// Its id, in paths and answers.
    pub id: &'static str,
    /// Name in messages, such as `transfer rule`.
    pub thing: &'static str,
    /// Name of several.
    pub things: &'static str,
    /// Name in the names of operations, such as `TransferRule`.
    pub type_name: &'static str,
    /// Creation, to which idempotency keys are bound.
    pub creation: &'static str,
    /// Objects in it into which a patch is merged, too.
    pub nested: &'static [&'static str],
}

/// A row that holds a resource.
pub trait Resource: Sized + Send + Sync + 'static {
    /// Names of the kind.
    const NAMES: Names;
    /// Its id.
    type Id: Copy + Display + FromStr + Serialize + Send + Sync + 'static;
    /// What its account sets.
    type Body: Clone + Send + Sync;
    /// What an answer shows.
    type Shown: Serialize + ToSchema;

    /// Returns when it was created, and its id.
    fn place(&self) -> (Timestamp, String);
    /// Returns its version.
    fn version(&self) -> i64;
    /// Returns what its account has set, as the body that would create it.
    fn body(&self) -> Value;
    /// Returns what an answer shows.
    fn shown(&self) -> Self::Shown;
    /// Returns what the answer to its creation shows.
    fn created(&self) -> Self::Shown {
        self.shown()
    }
    /// Reads what an account sets.
    fn read(state: &RestState, body: &Map<String, Value>) -> ApiResult<Self::Body>;
    /// Returns the error for a name that is taken.
    fn taken(_: &Self::Body, error: StoreError) -> ApiError {
        error.into()
    }

    /// Creates one.
    fn create(
        state: &RestState,
        account: AccountId,
        new: Self::Body,
        ticket: Option<&KeyTicket>,
    ) -> impl Future<Output = ApiResult<Self>> + Send;
    /// Returns one, or `NotFound`.
    fn find(state: &RestState, account: AccountId, id: Self::Id) -> impl Future<Output = StoreResult<Self>> + Send;
    /// Returns those after a place in the list, newest first.
    fn page(
        state: &RestState,
        account: AccountId,
        after: Option<(Timestamp, Self::Id)>,
        limit: i64,
    ) -> impl Future<Output = StoreResult<Vec<Self>>> + Send;
    /// Changes one that has this version; `Stale` if it has another.
    fn change(
        self,
        state: &RestState,
        account: AccountId,
        id: Self::Id,
        new: Self::Body,
    ) -> impl Future<Output = StoreResult<Self>> + Send;
    /// Deletes one that nothing needs.
    fn remove(state: &RestState, account: AccountId, id: Self::Id)
    -> impl Future<Output = StoreResult<Removal>> + Send;
}

/// Examples in the description of a kind of resource.
pub struct Examples {
    /// An answer.
    pub shown: Value,
    /// The answer to a creation.
    pub created: Value,
    /// Bodies that create one, by name.
    pub new: Value,
    /// A body that changes one.
    pub change: Value,
}

/// Returns the operations on a kind of resource, in the order list, create, read, change, delete. `B` describes the body
/// that creates one.
pub fn operations<R: Resource, B: ToSchema>(examples: &Examples) -> [Operation; 5] {
    let Names {
        list,
        one,
        id,
        thing,
        things,
        type_name,
        ..
    } = R::NAMES;
    let named = |verb: &str| format!("{verb}{type_name}");
    let about = |verb: &str| format!("{verb} a {thing}");
    let shown = || examples.shown.clone();
    let pointer = format!("/data/{id}");
    [
        Operation::get(
            list,
            &format!("list{type_name}s"),
            &format!("List {things}, newest first"),
        )
        .by(index::<R>)
        .paged()
        .page::<R::Shown>(shown()),
        Operation::post(list, &named("create"), &about("Create"))
            .by(create::<R>)
            .idempotent()
            .creates::<B>(examples.new.clone())
            .versioned()
            .created::<R::Shown>(examples.created.clone())
            .link("read", &named("get"), id, &pointer)
            .link("change", &named("update"), id, &pointer)
            .link("delete", &named("delete"), id, &pointer),
        Operation::get(one, &named("get"), &about("Read"))
            .by(show::<R>)
            .versioned()
            .ok::<R::Shown>(shown()),
        Operation::patch(one, &named("update"), &about("Change"))
            .by(patch::<R>)
            .changes::<B>(
                &format!("{}Patch", R::Shown::name()),
                json!({ "nothing": {}, "some": examples.change }),
            )
            .versioned()
            .ok::<R::Shown>(shown()),
        Operation::delete(one, &named("delete"), &about("Delete"))
            .by(delete::<R>)
            .deletes(&format!("{type_name}Deleted"), id, &examples.shown[id]),
    ]
}

async fn create<R: Resource>(
    State(state): State<RestState>,
    Caller(account): Caller,
    key: IdempotencyKey,
    _: Query<NoParameters>,
    JsonObject(body): JsonObject,
) -> ApiResult<Response> {
    let turn = key.take(&state, account.id, R::NAMES.creation, || RequestHash::of_json(&body));
    turn.await?
        .answer(
            async |ticket| {
                let new = R::read(&state, &body)?;
                R::create(&state, account.id, new, ticket.as_ref()).await
            },
            async |id| R::find(&state, account.id, id).await.or_no_such(R::NAMES.thing),
            |row: &R| Reply::created(row.created()).version(row.version()),
        )
        .await
}

async fn index<R: Resource>(
    State(state): State<RestState>,
    Caller(account): Caller,
    Query(paging): Query<Paging>,
) -> ApiResult<Reply> {
    let binding = Binding::new(account.id, R::NAMES.things, String::new());
    let after = binding.after(paging.cursor.as_deref())?;
    let rows = R::page(&state, account.id, after, paging.page_size + 1).await?;
    Ok(binding.page(rows, paging.page_size, R::shown, R::place))
}

async fn show<R: Resource>(
    State(state): State<RestState>,
    Caller(account): Caller,
    PathId(id): PathId<R::Id>,
    _: Query<NoParameters>,
) -> ApiResult<Reply> {
    let row = R::find(&state, account.id, id).await.or_no_such(R::NAMES.thing)?;
    Ok(Reply::ok(row.shown()).version(row.version()))
}

/// Applies a merge patch; `null` resets a field to its default.
async fn patch<R: Resource>(
    State(state): State<RestState>,
    Caller(account): Caller,
    PathId(id): PathId<R::Id>,
    expected: IfMatch,
    _: Query<NoParameters>,
    JsonObject(patch): JsonObject,
) -> ApiResult<Reply> {
    let patch = Value::Object(patch);
    let outcome = until_written(async || {
        let row = R::find(&state, account.id, id).await.or_no_such(R::NAMES.thing)?;
        expected.check(row.version())?;
        let merged = patched(row.body(), &patch, R::NAMES.nested);
        let new = R::read(&state, merged.as_object().unwrap_or(&Map::new()))?;
        match row.change(&state, account.id, id, new.clone()).await {
            Err(error @ StoreError::Exists(_)) => Err(R::taken(&new, error)),
            outcome => Ok(outcome),
        }
    });
    let row = outcome.await?.or_no_such(R::NAMES.thing)?;
    Ok(Reply::ok(row.shown()).version(row.version()))
}

async fn delete<R: Resource>(
    State(state): State<RestState>,
    Caller(account): Caller,
    PathId(id): PathId<R::Id>,
    _: Query<NoParameters>,
) -> ApiResult<Reply> {
    let removal = R::remove(&state, account.id, id).await;
    removed(removal.or_no_such(R::NAMES.thing)?, R::NAMES.thing)?;
    Ok(Reply::deleted(R::NAMES.id, id))
}

/// When a resource was created and last changed.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChangeTimes {
    /// When it was created; ISO 8601, UTC.
    #[schema(format = DateTime)]
    pub created_at: String,
    /// When it was last changed; ISO 8601, UTC.
    #[schema(format = DateTime)]
    pub updated_at: String,
}

impl ChangeTimes {
    /// Creates the object for these times.
    pub fn of(created_at: Timestamp, updated_at: Timestamp) -> Self {
        Self {
            created_at: created_at.to_iso8601(),
            updated_at: updated_at.to_iso8601(),
        }
    }
}
