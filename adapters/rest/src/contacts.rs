//! Saved contacts.

use axum::{
    extract::State,
    response::{IntoResponse, Response},
};
use domain::{
    agent::{Problem, merge},
    id::{AccountId, AttemptId, ContactId},
    phone_number::PhoneNumber,
    ports::store::{Account, ContactCalls, ContactFilter, ContactRow, KeyTicket, NewContact, StoreError},
};
use serde_json::{Map, Value, json};

use super::{
    RestState,
    auth::Caller,
    body::JsonObject,
    contact_fields,
    cursor::Binding,
    envelope::Reply,
    error::{ApiError, ApiResult, Conflict, OrNoSuch},
    fields::Fields,
    idempotency::{IdempotencyKey, RequestHash, Turn},
    path_id::PathId,
    query::{NoParameters, Paging, Parameters, Query, RawQuery},
};
use storage::recordings;

const RESERVED: [&str; 2] = ["contactId", "metadata"];

/// How often a patch is tried when other requests change the contact meanwhile.
const PATCH_TRIES: usize = 64;

/// `POST /public/v1/contacts`.
pub async fn create(
    State(state): State<RestState>,
    Caller(account): Caller,
    key: IdempotencyKey,
    _: Query<NoParameters>,
    JsonObject(body): JsonObject,
) -> ApiResult<Response> {
    let hash = || RequestHash::of_json(&body);
    match key.take(&state, account.id, "create contact", hash).await? {
        Turn::Again(replay) => {
            let row = state
                .store
                .contact(account.id, replay.id()?)
                .await
                .or_no_such("contact")?;
            Ok(replay.mark(Reply::created(view(&row))))
        }
        Turn::First(held) => {
            let made = make(&state, &account, &body, held.ticket()).await;
            Ok(Reply::created(view(&held.end(made).await?)).into_response())
        }
    }
}

async fn make(
    state: &RestState,
    account: &Account,
    body: &Map<String, Value>,
    ticket: Option<&KeyTicket>,
) -> ApiResult<ContactRow> {
    let new = new_contact(body)?;
    Ok(state.store.create_contact(account.id, new, ticket).await?)
}

/// What a body says of a contact.
fn new_contact(body: &Map<String, Value>) -> ApiResult<NewContact> {
    let mut fields = Fields::of(body, "");
    let read = contact_fields::read(&mut fields, &RESERVED, &[]);
    match (read.phone_number, fields.problems.is_empty()) {
        (Some(phone_number), true) => Ok(NewContact {
            phone_number,
            name: read.name,
            email: read.email,
            extra: read.extra,
        }),
        _ => Err(ApiError::Invalid(fields.problems)),
    }
}

/// Parameters of the list.
#[derive(Debug, Clone)]
pub struct ListParameters {
    search: Option<String>,
    paging: Paging,
}

impl Parameters for ListParameters {
    const NAMES: &'static [&'static str] = &["search", "cursor", "pageSize"];

    fn read(query: &mut RawQuery) -> Self {
        let search = query.text("search").map(|text| text.trim().to_owned());
        Self {
            search: search.filter(|text| !text.is_empty()),
            paging: Paging::read(query),
        }
    }
}

/// `GET /public/v1/contacts`, newest first.
pub async fn list(
    State(state): State<RestState>,
    Caller(account): Caller,
    Query(ListParameters { search, paging }): Query<ListParameters>,
) -> ApiResult<Reply> {
    let binding = Binding::new(account.id, "contacts", format!("{search:?}"));
    let filter = ContactFilter {
        number: search.as_deref().and_then(PhoneNumber::search_text),
        name: search,
        after: binding.after(paging.cursor.as_deref())?,
    };
    let rows = state.store.contacts(account.id, filter, paging.page_size + 1).await?;
    Ok(binding.page(rows, paging.page_size, view, |row| (row.created_at, row.id.to_string())))
}

/// `PATCH /public/v1/contacts/{contactId}`: a merge patch.
pub async fn patch(
    State(state): State<RestState>,
    Caller(account): Caller,
    PathId(id): PathId<ContactId>,
    _: Query<NoParameters>,
    JsonObject(patch): JsonObject,
) -> ApiResult<Reply> {
    let mut outcome = Err(StoreError::Stale);
    for _ in 0..PATCH_TRIES {
        let row = state.store.contact(account.id, id).await.or_no_such("contact")?;
        let new = patched(&row, &patch)?;
        outcome = state.store.update_contact(account.id, id, row.version, new).await;
        if outcome != Err(StoreError::Stale) {
            break;
        }
    }
    Ok(Reply::ok(view(&outcome.or_no_such("contact")?)))
}

/// The contact as the patch would have it. A name that no field can have is refused even where it would be removed.
fn patched(row: &ContactRow, patch: &Map<String, Value>) -> ApiResult<NewContact> {
    let mut problems = Vec::new();
    for (name, _) in patch.iter().filter(|(_, value)| value.is_null()) {
        if RESERVED.contains(&name.as_str()) {
            let message = "is a name of the service's own; leave it out";
            problems.push(Problem::new(name, "not_allowed", message));
        } else if let Some(problem) = contact_fields::wrong_name(name) {
            problems.push(problem);
        }
    }
    let known = contact_fields::show(&row.phone_number, row.name.as_deref(), row.email.as_deref(), &row.extra);
    let mut merged = Value::Object(known);
    merge(&mut merged, &Value::Object(patch.clone()));
    let merged = merged.as_object().cloned().unwrap_or_default();
    match new_contact(&merged) {
        Ok(new) if problems.is_empty() => Ok(new),
        Ok(_) => Err(ApiError::Invalid(problems)),
        Err(ApiError::Invalid(found)) => {
            problems.extend(found);
            Err(ApiError::Invalid(problems))
        }
        Err(other) => Err(other),
    }
}

/// `GET /public/v1/contacts/{contactId}`.
pub async fn show(
    State(state): State<RestState>,
    Caller(account): Caller,
    PathId(id): PathId<ContactId>,
    _: Query<NoParameters>,
) -> ApiResult<Reply> {
    let row = state.store.contact(account.id, id).await.or_no_such("contact")?;
    Ok(Reply::ok(view(&row)))
}

/// Parameters of a delete.
#[derive(Debug, Clone, Copy)]
pub struct DeleteParameters {
    erase: bool,
}

impl Parameters for DeleteParameters {
    const NAMES: &'static [&'static str] = &["erase"];

    fn read(query: &mut RawQuery) -> Self {
        Self {
            erase: query.boolean("erase").unwrap_or(false),
        }
    }
}

/// `DELETE /public/v1/contacts/{contactId}`; with `erase=true` also what calls stored about that person.
pub async fn delete(
    State(state): State<RestState>,
    Caller(account): Caller,
    PathId(id): PathId<ContactId>,
    Query(DeleteParameters { erase }): Query<DeleteParameters>,
) -> ApiResult<Reply> {
    if erase {
        erase_all(&state, account.id, id).await?;
    } else {
        state.store.delete_contact(account.id, id).await.or_no_such("contact")?;
    }
    Ok(Reply::ok(json!({ "contactId": id.to_string(), "deleted": true })))
}

/// Recordings go first: a crash in between leaves the contact, whose erasure can be asked for again.
async fn erase_all(state: &RestState, account: AccountId, id: ContactId) -> ApiResult<()> {
    let calls = over(state.store.calls_of_contact(account, id).await.or_no_such("contact")?)?;
    let folder = state.recordings_dir.clone();
    let removing =
        tokio::task::spawn_blocking(move || calls.into_iter().try_for_each(|call| recordings::erase(&folder, call)));
    let removed = removing.await.map_err(|_| ApiError::Internal)?;
    removed.map_err(|error| {
        tracing::error!(%error, "a recording cannot be removed");
        ApiError::Unavailable("a recording cannot be removed at the moment; try again".into())
    })?;
    over(state.store.erase_contact(account, id).await.or_no_such("contact")?)?;
    (state.forget_speech)();
    Ok(())
}

fn over(calls: ContactCalls) -> ApiResult<Vec<AttemptId>> {
    match calls {
        ContactCalls::Over(calls) => Ok(calls),
        ContactCalls::Going => Err(ApiError::Conflict(
            Conflict::InUse,
            "a call to this contact goes on, or has ended within the last ten seconds; try again when it is over"
                .into(),
        )),
    }
}

fn view(row: &ContactRow) -> Value {
    let shown = contact_fields::show(&row.phone_number, row.name.as_deref(), row.email.as_deref(), &row.extra);
    let mut contact = serde_json::Map::new();
    contact.insert("contactId".into(), json!(row.id));
    contact.extend(shown);
    contact.insert("metadata".into(), json!({ "createdAt": row.created_at.to_iso8601() }));
    Value::Object(contact)
}
