//! Saved contacts.

use actors::{
    id::ContactId,
    ports::store::{ContactRow, NewContact},
};
use axum::extract::State;
use serde_json::{Value, json};

use super::{
    RestState,
    auth::Caller,
    body::JsonObject,
    contact_fields,
    envelope::Reply,
    error::{ApiError, ApiResult, OrNoSuch},
    fields::Fields,
    path_id::PathId,
    query::{NoParameters, Query},
};

const RESERVED: [&str; 2] = ["contactId", "metadata"];

/// `POST /public/v1/contacts`.
pub async fn create(
    State(state): State<RestState>,
    Caller(account): Caller,
    _: Query<NoParameters>,
    JsonObject(body): JsonObject,
) -> ApiResult<Reply> {
    let mut fields = Fields::of(&body, "");
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
    let row = state.store.create_contact(account.id, new).await?;
    Ok(Reply::created(view(&row)))
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
