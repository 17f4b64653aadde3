//! `DELETE /public/v1/conversations/{conversationId}`.

use axum::extract::State;
use domain::{id::AttemptId, ports::store::StoreError};

use crate::{
    caller::Caller,
    request::{
        path_id::PathId,
        query::{NoParameters, Query},
    },
    resources::contacts::erase_recordings,
    response::{
        envelope::Reply,
        error::{ApiError, ApiResult, Conflict, OrNoSuch},
    },
    state::RestState,
};

/// Handles the request. Removes the recording first: after a crash in between, the conversation still exists and
/// can be deleted again.
pub async fn delete(
    State(state): State<RestState>,
    Caller(account): Caller,
    PathId(id): PathId<AttemptId>,
    _: Query<NoParameters>,
) -> ApiResult<Reply> {
    if !state
        .store
        .is_settled(account.id, id)
        .await
        .or_no_such("conversation")?
    {
        return Err(not_settled());
    }
    erase_recordings(&state, vec![id]).await?;
    match state.store.delete_conversation(account.id, id).await {
        Err(StoreError::Stale) => return Err(not_settled()),
        deleted => deleted.or_no_such("conversation")?,
    }
    (state.forget_speech)();
    Ok(Reply::deleted("conversationId", id))
}

fn not_settled() -> ApiError {
    ApiError::Conflict(
        Conflict::InUse,
        "the conversation is scheduled or in progress, or has ended within the last ten seconds; end it and try again"
            .into(),
    )
}
