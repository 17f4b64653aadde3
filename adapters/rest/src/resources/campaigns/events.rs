//! `GET /public/v1/campaigns/{campaignId}/events`: a campaign's state and its conversations as server-sent events.

mod feed;

use axum::{extract::State, http::HeaderMap, response::Response};

use super::command::Target;
use crate::{
    caller::Credential,
    response::error::{ApiResult, OrNoSuch},
    sse,
    state::RestState,
};
use feed::{Feed, Place};

/// Handles the request. A disconnected client sends its last event in `Last-Event-ID` and misses no final state.
pub async fn stream(
    State(state): State<RestState>,
    target: Target,
    credential: Credential,
    headers: HeaderMap,
) -> ApiResult<Response> {
    let row = state.store.campaign(target.account.id, target.campaign).await;
    let row = row.or_no_such("campaign")?;
    let slot = sse::slot(&state.event_stream_limit, target.account.id)?;
    let resumed = sse::last_event_id(&headers).and_then(Place::parse);
    Ok(sse::response(Feed::new(&state, &row, credential, resumed, slot)))
}
