//! `POST /public/v1/conversations/{conversationId}/end`: hangs up, or cancels what waits.

use std::time::Duration;

use axum::extract::State;
use domain::{
    id::AttemptId,
    ports::store::{Account, ConversationRow, ConversationStatus, StoreError},
};
use tokio::time::{Instant, sleep};

use super::detail_of;
use crate::{
    RestState,
    auth::Caller,
    body::OptionalJsonObject,
    envelope::Reply,
    error::{ApiError, ApiResult, Conflict, OrNoSuch},
    fields,
    path_id::PathId,
    query::{NoParameters, Query},
};

/// How long the answer waits for the end; a carrier that takes longer to hang up is not waited for.
const WITHIN: Duration = Duration::from_secs(10);

/// How often it looks meanwhile.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// How often another node is told meanwhile.
const TELL_PEERS_EVERY: Duration = Duration::from_millis(500);

/// The handler: answers the conversation as it is when it is over, or after [`WITHIN`].
pub async fn end(
    State(state): State<RestState>,
    Caller(account): Caller,
    PathId(id): PathId<AttemptId>,
    _: Query<NoParameters>,
    OptionalJsonObject(body): OptionalJsonObject,
) -> ApiResult<Reply> {
    fields::none(&body)?;
    let row = read(&state, &account, id).await?;
    if is_over(&row) {
        let status = row.status.as_str();
        let message = format!("not possible now: conversation is {status}");
        return Err(ApiError::Conflict(Conflict::InvalidTransition, message));
    }
    let row = until_over(&state, &account, row).await?;
    Ok(Reply::ok(detail_of(&state, &account, &row).await?))
}

async fn read(state: &RestState, account: &Account, id: AttemptId) -> ApiResult<ConversationRow> {
    let row = state.store.conversation(account.id, id).await;
    row.or_no_such("conversation")
}

fn is_over(row: &ConversationRow) -> bool {
    match row.status {
        ConversationStatus::Completed | ConversationStatus::Cancelled | ConversationStatus::Failed => true,
        ConversationStatus::InProgress | ConversationStatus::Scheduled => false,
    }
}

/// Asks again and again: between two looks a queued attempt may be claimed, and a claimed one go back to the queue.
async fn until_over(state: &RestState, account: &Account, row: ConversationRow) -> ApiResult<ConversationRow> {
    let limit = Instant::now() + WITHIN;
    let (mut row, mut told, mut peers_due) = (row, false, Instant::now());
    loop {
        if row.status == ConversationStatus::Scheduled {
            match state.store.cancel_queued(account.id, row.id).await {
                // Its campaign may have waited for nothing else.
                Ok(()) => state.switchboard.look_again(),
                Err(StoreError::Stale) => {}
                Err(error) => return Err(error).or_no_such("conversation"),
            }
        }
        let attempt = row.id;
        let here = state.switchboard.end_call(attempt).await == Some(true);
        told |= here;
        if !here && Instant::now() >= peers_due {
            told |= state.peers.end(attempt).await;
            peers_due = Instant::now() + TELL_PEERS_EVERY;
        }
        row = read(state, account, attempt).await?;
        if is_over(&row) {
            return Ok(row);
        }
        if Instant::now() >= limit {
            break;
        }
        sleep(LOOK_EVERY).await;
    }
    if told {
        return Ok(row);
    }
    Err(ApiError::Unavailable(
        "the call is not held by this node, and the one that holds it could not be told to end it; try again".into(),
    ))
}
