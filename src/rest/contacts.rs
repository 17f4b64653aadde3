//! Saved contacts.

use actors::{
    id::ContactId,
    ports::store::{Account, ContactRow, KeyTicket, NewContact},
};
use axum::{
    extract::State,
    response::{IntoResponse, Response},
};
use serde_json::{Map, Value, json};

use super::{
    RestState,
    auth::Caller,
    body::JsonObject,
    contact_fields,
    envelope::Reply,
    error::{ApiError, ApiResult, OrNoSuch},
    fields::Fields,
    idempotency::{IdempotencyKey, RequestHash, Turn},
    path_id::PathId,
    query::{NoParameters, Query},
};

const RESERVED: [&str; 2] = ["contactId", "metadata"];

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
    let mut fields = Fields::of(body, "");
    let read = contact_fields::read(&mut fields, &RESERVED, &[]);
    let (Some(phone_number), true) = (read.phone_number, fields.problems.is_empty()) else {
        return Err(ApiError::Invalid(fields.problems));
    };
    let new = NewContact {
        phone_number,
        name: read.name,
        email: read.email,
        extra: read.extra,
    };
    Ok(state.store.create_contact(account.id, new, ticket).await?)
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

/// `DELETE /public/v1/contacts/{contactId}`.
pub async fn delete(
    State(state): State<RestState>,
    Caller(account): Caller,
    PathId(id): PathId<ContactId>,
    _: Query<NoParameters>,
) -> ApiResult<Reply> {
    state.store.delete_contact(account.id, id).await.or_no_such("contact")?;
    Ok(Reply::ok(json!({ "contactId": id.to_string(), "deleted": true })))
}

fn view(row: &ContactRow) -> Value {
    let shown = contact_fields::show(&row.phone_number, row.name.as_deref(), row.email.as_deref(), &row.extra);
    let mut contact = serde_json::Map::new();
    contact.insert("contactId".into(), json!(row.id));
    contact.extend(shown);
    contact.insert("metadata".into(), json!({ "createdAt": row.created_at.to_iso8601() }));
    Value::Object(contact)
}
