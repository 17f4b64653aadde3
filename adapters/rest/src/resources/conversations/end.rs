//! `POST /public/v1/conversations/{conversationId}/end`: hangs up a call, or cancels a queued one.

use std::time::Duration;

use axum::extract::State;
use domain::{
    id::AttemptId,
    ports::store::{Account, ConversationRow, ConversationStatus, StoreError},
};
use tokio::time::{Instant, sleep};

use super::detail_of;
use crate::{
    caller::Caller,
    described::common::NoFields,
    request::{
        body::OptionalBody,
        path_id::PathId,
        query::{NoParameters, Query},
    },
    response::{
        envelope::Reply,
        error::{ApiError, ApiResult, Conflict, OrNoSuch},
    },
    state::RestState,
};

/// Maximum time that the response waits for the end. A carrier may take longer to hang up.
const WITHIN: Duration = Duration::from_secs(10);

/// Interval of checks meanwhile.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Interval of notifications to other nodes meanwhile.
const TELL_PEERS_EVERY: Duration = Duration::from_millis(500);

/// Handles the request. Returns the conversation when it is over, or after [`WITHIN`].
pub async fn end(
    State(state): State<RestState>,
    Caller(account): Caller,
    PathId(id): PathId<AttemptId>,
    _: Query<NoParameters>,
    _: OptionalBody<NoFields>,
) -> ApiResult<Reply> {
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

/// Retries, because a queued attempt may be claimed between two checks, and a claimed one may return to the queue.
async fn until_over(state: &RestState, account: &Account, row: ConversationRow) -> ApiResult<ConversationRow> {
    let limit = Instant::now() + WITHIN;
    let (mut row, mut told, mut peers_due) = (row, false, Instant::now());
    loop {
        if row.status == ConversationStatus::Scheduled {
            match state.store.cancel_queued(account.id, row.id).await {
                // Its campaign may have been waiting only for this.
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
        "the call is on another node, which could not be told to end it; try again".into(),
    ))
}
