//! API keys that an account adds, with a name, scopes and an expiry.

use std::collections::HashSet;

use axum::extract::State;
use domain::{
    api_key::{PlainKey, generate_key},
    id::ApiKeyId,
    ports::store::{self, ADDED_KEYS, Account, ApiKeyChange, ApiKeyRow},
    scope::{Scope, Scopes},
    time::Timestamp,
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use crate::{
    caller::{Caller, CallerKey, Credential},
    described::{common::Name, operation::Operation, samples},
    request::{
        body::JsonObject,
        checked::{Checked, present},
        cursor::Binding,
        path_id::PathId,
        query::{NoParameters, Paging, Query},
    },
    response::{
        envelope::Reply,
        error::{ApiError, ApiResult, Conflict, OrNoSuch},
    },
    state::RestState,
};

/// An API key.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApiKeyDetails {
    /// API key; only in the answer to its creation.
    #[serde(skip_serializing_if = "Option::is_none")]
    api_key: Option<String>,
    /// Id of the key.
    #[schema(value_type = String, format = "uuid")]
    key_id: ApiKeyId,
    /// Name of the key. Events of calls show it as `by`.
    name: String,
    /// First part of the key, which identifies it.
    prefix: String,
    /// Rights of the key.
    scopes: Vec<Scope>,
    /// Whether this is the account's own key, which has all scopes and is replaced, never deleted.
    is_account_key: bool,
    /// Time of creation.
    #[schema(format = DateTime)]
    created_at: String,
    /// Time of the last use, up to a minute old; omitted if it was never used.
    #[schema(format = DateTime)]
    #[serde(skip_serializing_if = "Option::is_none")]
    last_used_at: Option<String>,
    /// Time from which the key is refused; omitted if it does not expire.
    #[schema(format = DateTime)]
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<String>,
}

impl ApiKeyDetails {
    fn of(row: &ApiKeyRow) -> Self {
        Self {
            api_key: None,
            key_id: row.id,
            name: row.name.clone(),
            prefix: format!("rb_{}", row.prefix),
            scopes: row.scopes.iter().collect(),
            is_account_key: row.is_own(),
            created_at: row.created_at.to_iso8601(),
            last_used_at: row.last_used_at.map(Timestamp::to_iso8601),
            expires_at: row.expires_at.map(Timestamp::to_iso8601),
        }
    }
}

async fn list(
    State(state): State<RestState>,
    Caller(account): Caller,
    Query(paging): Query<Paging>,
) -> ApiResult<Reply> {
    let binding = Binding::new(account.id, "api keys", String::new());
    let after = binding.after::<ApiKeyId>(paging.cursor.as_deref())?;
    let mut rows = state.store.keys_of_account(account.id).await?;
    rows.retain(|row| after.is_none_or(|after| (row.created_at, row.id) < after));
    let place = |row: &ApiKeyRow| (row.created_at, row.id.to_string());
    Ok(binding.page(rows, paging.page_size, ApiKeyDetails::of, place))
}

/// Creates a key. It is not idempotent, because the key is shown only once.
async fn create(
    State(state): State<RestState>,
    Caller(account): Caller,
    caller: CallerKey,
    sent: Credential,
    _: Query<NoParameters>,
    JsonObject(body): JsonObject,
) -> ApiResult<Reply> {
    let body = read(Checked::<NewApiKey>::of(&body), caller.now())?;
    let (scopes, expires_at): (Scopes, _) = (body.scopes.into_iter().collect(), parsed(body.expires_at.as_deref()));
    caller.require_all(scopes.iter())?;
    caller.require_end(expires_at)?;
    let (api_key, stored) = generate_key();
    let new = store::NewApiKey {
        name: body.name.0,
        stored,
        scopes,
        expires_at,
    };
    let added = state.store.add_api_key(account.id, new).await.or_no_such("account")?;
    let row = added.ok_or_else(|| {
        let message = format!("this account already has {ADDED_KEYS} added keys; delete one that is no longer used");
        ApiError::Conflict(Conflict::Changed, message)
    })?;
    // Adding keys gives no extra allowance.
    if let Some(new) = PlainKey::parse(&api_key) {
        state.rate_limit.replaced(&sent.print(), new.print());
    }
    tracing::info!(account = %account.id, key = %row.id, by = caller.name(), "API key added");
    Ok(Reply::created(ApiKeyDetails {
        api_key: Some(api_key),
        ..ApiKeyDetails::of(&row)
    }))
}

/// Changes a key. `expiresAt: null` removes its expiry.
async fn change(
    State(state): State<RestState>,
    Caller(account): Caller,
    caller: CallerKey,
    PathId(id): PathId<ApiKeyId>,
    _: Query<NoParameters>,
    JsonObject(body): JsonObject,
) -> ApiResult<Reply> {
    let before = added(&state, &account, id).await?;
    let change = read_change(&body, caller.now())?;
    let scopes = change.scopes.as_ref().unwrap_or(&before.scopes);
    let is_extended = match (change.expires_at, before.expires_at) {
        (Some(None), Some(_)) => true,
        (Some(Some(new)), Some(old)) => new > old,
        _ => false,
    };
    // A longer validity gives all scopes again.
    let given: Vec<Scope> = scopes
        .iter()
        .filter(|scope| is_extended || !before.scopes.contains(*scope))
        .collect();
    if !given.is_empty() {
        caller.require_end(change.expires_at.unwrap_or(before.expires_at))?;
    }
    caller.require_all(given.into_iter())?;
    let row = state
        .store
        .change_api_key(account.id, id, change)
        .await
        .or_no_such("key")?;
    tracing::info!(account = %account.id, key = %id, by = caller.name(), "API key changed");
    Ok(Reply::ok(ApiKeyDetails::of(&row)))
}

async fn delete(
    State(state): State<RestState>,
    Caller(account): Caller,
    caller: CallerKey,
    PathId(id): PathId<ApiKeyId>,
    _: Query<NoParameters>,
) -> ApiResult<Reply> {
    added(&state, &account, id).await?;
    let kept = caller.session();
    state
        .store
        .delete_api_key(account.id, id, kept)
        .await
        .or_no_such("key")?;
    tracing::info!(account = %account.id, key = %id, by = caller.name(), "API key deleted");
    Ok(Reply::deleted("keyId", id))
}

/// Returns an added key, or a 409 for the account's own key.
async fn added(state: &RestState, account: &Account, id: ApiKeyId) -> ApiResult<ApiKeyRow> {
    let rows = state.store.keys_of_account(account.id).await?;
    let row = rows.into_iter().find(|row| row.id == id);
    match row {
        None => Err(ApiError::no_such("key")),
        Some(row) if row.is_own() => Err(ApiError::Conflict(Conflict::InUse, OWN.into())),
        Some(row) => Ok(row),
    }
}

fn read_change(body: &Map<String, Value>, now: Timestamp) -> ApiResult<ApiKeyChange> {
    let body = read(Checked::<ApiKeyPatch>::change(body), now)?;
    Ok(ApiKeyChange {
        name: body.name.map(|name| name.0),
        scopes: body.scopes.map(|scopes| scopes.into_iter().collect()),
        expires_at: body.expires_at.map(|end| parsed(end.as_deref())),
    })
}

/// Reads what creates or changes a key: each scope once, and an end in the future.
fn read<T: ToSchema + DeserializeOwned + 'static>(body: Checked<T>, now: Timestamp) -> ApiResult<T> {
    let mut body = body.coded("scopes[", "wrong_type", "not_allowed");
    let mut seen = HashSet::new();
    body.parse_items("scopes", |scope| match seen.insert(scope.to_owned()) {
        true => Ok(()),
        false => Err(("duplicate", "is named twice".into())),
    });
    body.parse("expiresAt", |text| match Timestamp::from_iso8601(text) {
        None => Err((
            "invalid_value",
            format!("`{text:.40}` is not a time in ISO 8601 such as `2027-01-31T00:00:00Z`"),
        )),
        Some(at) if at <= now => Err((
            "out_of_range",
            format!("must be in the future; it is {} now", now.to_iso8601()),
        )),
        Some(_) => Ok(text.to_owned()),
    });
    body.end()
}

fn parsed(time: Option<&str>) -> Option<Timestamp> {
    time.and_then(Timestamp::from_iso8601)
}

/// A key to create.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewApiKey {
    /// Name of the key.
    pub name: Name,
    /// Rights of the key; only scopes that the key of the request has.
    #[schema(min_items = 1, max_items = 5)]
    pub scopes: Vec<Scope>,
    /// Time from which the key is refused, in the future; without it, the key stays valid.
    #[schema(format = DateTime)]
    pub expires_at: Option<String>,
}

/// Changes of a key.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ApiKeyPatch {
    /// New name.
    #[schema(required = false, value_type = Name)]
    pub name: Option<Name>,
    /// New scopes, complete.
    #[schema(required = false, value_type = Vec<Scope>, min_items = 1, max_items = 5)]
    pub scopes: Option<Vec<Scope>>,
    /// New end, in the future; `null` for none.
    #[schema(value_type = Option<String>, format = DateTime)]
    #[serde(default, deserialize_with = "present")]
    pub expires_at: Option<Option<String>>,
}

const OWN: &str = "this is the account's own key: it keeps all scopes, so that the other keys can always be managed; \
                   `POST /me/api-key/regenerate` replaces it";

const LACKS: &str = "this API key lacks the scope `write`; use a key that has it";

fn sample() -> Value {
    json!({
        "keyId": samples::API_KEY,
        "name": "dashboard",
        "prefix": "rb_q7XbV2dL",
        "scopes": ["read", "live"],
        "isAccountKey": false,
        "createdAt": "2026-05-04T08:30:00.000000Z",
        "lastUsedAt": "2026-05-05T09:12:07.120000Z",
        "expiresAt": "2027-05-04T00:00:00.000000Z",
    })
}

/// Returns the operations of keys.
pub fn operations() -> Vec<Operation> {
    let mut added = sample();
    added["apiKey"] = json!("rb_q7XbV2dL_3f9c1d2e4b5a69788796a5b4c3d2e1f0");
    vec![
        Operation::get("/public/v1/me/api-keys", "listApiKeys", "List the account's keys")
            .by(list)
            .note("Newest first, without the keys themselves.")
            .paged()
            .page::<ApiKeyDetails>(sample()),
        Operation::post("/public/v1/me/api-keys", "createApiKey", "Add a key")
            .by(create)
            .note("The key is shown only once. An account has at most 100 added keys.")
            .body::<NewApiKey>(json!({
                "dashboard": { "name": "dashboard", "scopes": ["read", "live"] },
            }))
            .created::<ApiKeyDetails>(added)
            .invalid(
                "expiresAt",
                "out_of_range",
                "must be in the future; it is 2026-05-04T08:30:00.000000Z now",
            )
            .fails(403, "forbidden", LACKS)
            .conflict(
                "conflict",
                "this account already has 100 added keys; delete one that is no longer used",
            ),
        Operation::patch("/public/v1/me/api-keys/{keyId}", "updateApiKey", "Change a key")
            .by(change)
            .note("Applies to the next request with the key. A key gives only scopes that it has itself.")
            .body::<ApiKeyPatch>(json!({
                "name": { "name": "wallboard", "scopes": ["read"] },
                "noEnd": { "expiresAt": null },
            }))
            .ok::<ApiKeyDetails>(sample())
            .invalid(
                "scopes[0]",
                "not_allowed",
                "\"root\" is not one of read, calls, live, write, admin",
            )
            .fails(403, "forbidden", LACKS)
            .conflict("in_use", OWN),
        Operation::delete("/public/v1/me/api-keys/{keyId}", "deleteApiKey", "Delete a key")
            .by(delete)
            .note("The key stops working at once. The sessions opened with it end, except one that sends this request.")
            .deletes("ApiKeyDeleted", "keyId", &json!(samples::API_KEY))
            .conflict("in_use", OWN),
    ]
}
