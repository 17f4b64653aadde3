//! `GET /public/v1/conversations/{conversationId}/events`.

use axum::extract::State;
use domain::{
    conversation::{self, EventType},
    id::{AttemptId, EventId},
};

use crate::{
    caller::Caller,
    request::{
        cursor::Binding,
        path_id::PathId,
        query::{Paging, Query},
    },
    response::{
        envelope::Reply,
        error::{ApiResult, OrNoSuch},
    },
    state::RestState,
};

/// Handles the request.
pub async fn list(
    State(state): State<RestState>,
    Caller(account): Caller,
    PathId(id): PathId<AttemptId>,
    Query(Paging { cursor, page_size }): Query<Paging>,
) -> ApiResult<Reply> {
    state
        .store
        .conversation(account.id, id)
        .await
        .or_no_such("conversation")?;
    let binding = Binding::new(account.id, "events", id.to_string());
    let after = binding.after::<EventId>(cursor.as_deref())?.map(|(_, event)| event);
    let names = EventType::ALL.map(EventType::as_str);
    let rows = state.store.events_of(id, &names, after, page_size + 1).await?;
    Ok(binding.page(rows, page_size, conversation::event, |row| {
        (row.stored_at, row.id.to_string())
    }))
}
