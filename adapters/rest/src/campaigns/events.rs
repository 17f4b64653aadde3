//! `GET /public/v1/campaigns/{campaignId}/events`: a campaign's state and its conversations as server-sent events.

mod feed;

use axum::{
    body::Body,
    extract::State,
    http::{HeaderMap, HeaderValue, header},
    response::{IntoResponse, Response},
};
use futures_util::stream;

use super::command::Target;
use crate::{
    RestState,
    auth::SentKey,
    error::{ApiError, ApiResult, OrNoSuch},
};
use feed::{Feed, Place};

/// Handles the request. A disconnected client sends its last event in `Last-Event-ID` and misses no final state.
pub async fn stream(
    State(state): State<RestState>,
    target: Target,
    SentKey(key): SentKey,
    headers: HeaderMap,
) -> ApiResult<Response> {
    let row = state.store.campaign(target.account.id, target.campaign).await;
    let row = row.or_no_such("campaign")?;
    let Some(slot) = state.event_stream_limit.take(target.account.id) else {
        let message = "too many open event streams; close one, or try again later";
        return Err(ApiError::Unavailable(message.into()));
    };
    let last = headers.get("last-event-id").and_then(|value| value.to_str().ok());
    let resumed = last.and_then(Place::parse);
    let feed = Feed::new(&state, &row, key, resumed, slot);
    let mut response = Body::from_stream(stream::unfold(feed, Feed::next)).into_response();
    for (name, value) in [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-cache, no-transform"),
        // Without this header, some proxies buffer a response before they pass it on.
        (header::HeaderName::from_static("x-accel-buffering"), "no"),
    ] {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    Ok(response)
}
