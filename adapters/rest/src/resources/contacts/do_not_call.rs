//! The do-not-call list: numbers that no campaign or call of the account dials.

use axum::extract::State;
use domain::{id::AttemptId, phone_number::PhoneNumber, ports::store::DoNotCallRow};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::ListParameters;
use crate::{
    caller::Caller,
    described::common::PhoneNumberSent,
    request::{
        body::JsonObject,
        checked::Checked,
        contact_fields::{CreatedAt, phone_number},
        cursor::Binding,
        path_id::{self, PathId},
        query::{NoParameters, Query},
    },
    response::{
        envelope::Reply,
        error::{ApiResult, OrNoSuch},
    },
    state::RestState,
};

/// A number that no campaign of the account calls.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DoNotCallEntry {
    /// Phone number in E.164.
    pub phone_number: PhoneNumber,
    /// Conversation in which the person opted out. Omitted if the number was added otherwise, and after erasure.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = "uuid")]
    pub conversation_id: Option<AttemptId>,
    /// When the number was put on the list.
    pub metadata: CreatedAt,
}

/// A number to add to the list.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewDoNotCallEntry {
    /// Phone number.
    #[schema(value_type = PhoneNumberSent)]
    phone_number: PhoneNumber,
}

/// A number removed from the list.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DoNotCallDeleted {
    /// Phone number in E.164.
    pub phone_number: PhoneNumber,
    /// Always true.
    pub deleted: bool,
}

/// Handles `GET /public/v1/do-not-call`, newest first.
pub async fn list(
    State(state): State<RestState>,
    Caller(account): Caller,
    Query(ListParameters { search, paging }): Query<ListParameters>,
) -> ApiResult<Reply> {
    let binding = Binding::new(account.id, "do-not-call", format!("{search:?}"));
    let after = binding.after(paging.cursor.as_deref())?;
    // A text that is no part of a number is found in none.
    let search = search.map(|text| PhoneNumber::search_text(&text).unwrap_or(text));
    let limit = paging.page_size + 1;
    let rows = state.store.do_not_call(account.id, search, after, limit).await?;
    Ok(binding.page(rows, paging.page_size, view, |row| {
        (row.created_at, row.phone_number.to_string())
    }))
}

/// Handles `POST /public/v1/do-not-call`. A number that is already listed stays unchanged.
pub async fn add(
    State(state): State<RestState>,
    Caller(account): Caller,
    _: Query<NoParameters>,
    JsonObject(body): JsonObject,
) -> ApiResult<Reply> {
    let mut body = Checked::<NewDoNotCallEntry>::of(&body);
    body.parse("phoneNumber", |text| phone_number(&account.settings, text));
    let number = body.end()?.phone_number;
    let row = state.store.add_do_not_call(account.id, &number).await?;
    Ok(Reply::created(view(&row)))
}

/// Handles `DELETE /public/v1/do-not-call/{phoneNumber}`.
pub async fn remove(
    State(state): State<RestState>,
    Caller(account): Caller,
    PathId(text): PathId<String>,
    _: Query<NoParameters>,
) -> ApiResult<Reply> {
    // The list may hold numbers of an earlier rule.
    let number = account
        .settings
        .phone_number(&text)
        .or_else(|_| PhoneNumber::stored(&text));
    let number = number.map_err(|_| path_id::unreadable())?;
    let removed = state.store.remove_do_not_call(account.id, &number).await;
    removed.or_no_such("number on the do-not-call list")?;
    Ok(Reply::ok(DoNotCallDeleted {
        phone_number: number,
        deleted: true,
    }))
}

fn view(row: &DoNotCallRow) -> DoNotCallEntry {
    DoNotCallEntry {
        phone_number: row.phone_number.clone(),
        conversation_id: row.call,
        metadata: CreatedAt::of(row.created_at),
    }
}
