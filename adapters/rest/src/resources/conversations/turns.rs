//! `GET /public/v1/conversations/{conversationId}/turns`.

use axum::extract::State;
use domain::{conversation, id::AttemptId, time::Timestamp};

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
    let binding = Binding::new(account.id, "turns", id.to_string());
    let after = binding.after::<AttemptId>(cursor.as_deref())?;
    let size = usize::try_from(page_size).unwrap_or_default();
    let facts = state.store.turns(id).await?.into_iter();
    let facts = facts.filter(|fact| after.is_none_or(|(Timestamp(seq), _)| fact.seq > seq));
    let turns = conversation::turns(&*state.store, id, facts.take(size + 1).collect()).await?;
    Ok(binding.page(turns, page_size, Clone::clone, |turn| {
        (Timestamp(turn.number), id.to_string())
    }))
}
