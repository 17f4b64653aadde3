//! The agent on a web page: the element that pages embed, and its configuration. Both are public.
//!
//! Requests here need no key. Only an agent's `widget` object is public, and only if it is set and the agent
//! takes calls. The call itself is requested by the page's own server, which has the key.

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::{Arc, OnceLock},
};

use axum::{
    Extension, Json, Router,
    extract::{ConnectInfo, Path, State, rejection::PathRejection},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    middleware,
    response::{IntoResponse, Response},
    routing::get,
};
use domain::{
    agent,
    id::AgentId,
    ports::store::{Store, StoreError},
};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::RateLimit;

/// Script of the element.
const ELEMENT: &str = include_str!("widget/element.js");
/// Script for the browser's audio thread.
const AUDIO: &str = include_str!("widget/audio.js");

/// Cache lifetimes: an hour for the scripts, a minute for the configuration.
const FILE_KEPT: &str = "public, max-age=3600";
const LOOK_KEPT: &str = "public, max-age=60";

#[derive(Clone)]
struct WidgetState {
    store: Arc<dyn Store>,
    /// Limit by address. It has its own buckets, so that page visitors do not use up the allowance of keys.
    rate_limit: Arc<RateLimit>,
}

/// Returns the routes `/widget.js`, `/widget-audio.js` and `/widget/{agentId}`.
pub fn router(store: Arc<dyn Store>, rate_limit: Arc<RateLimit>) -> Router {
    Router::new()
        .route("/widget.js", get(element))
        .route("/widget-audio.js", get(audio))
        .route("/widget/{agentId}", get(look))
        .layer(middleware::map_response(for_any_page))
        .with_state(WidgetState { store, rate_limit })
}

async fn for_any_page(mut response: Response) -> Response {
    for (name, value) in [
        (header::ACCESS_CONTROL_ALLOW_ORIGIN, "*"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (HeaderName::from_static("cross-origin-resource-policy"), "cross-origin"),
    ] {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

async fn element(headers: HeaderMap) -> Response {
    static TAG: OnceLock<String> = OnceLock::new();
    file(ELEMENT, TAG.get_or_init(|| tag(ELEMENT)), &headers)
}

async fn audio(headers: HeaderMap) -> Response {
    static TAG: OnceLock<String> = OnceLock::new();
    file(AUDIO, TAG.get_or_init(|| tag(AUDIO)), &headers)
}

/// Returns a file's entity tag. It depends on the content, so that it is right on every node and for every version.
fn tag(text: &str) -> String {
    let hash = hex::encode(Sha256::digest(text.as_bytes()));
    format!("\"{}\"", &hash[..24])
}

fn file(text: &'static str, tag: &str, headers: &HeaderMap) -> Response {
    let known = headers.get_all(header::IF_NONE_MATCH).iter();
    let known = known
        .filter_map(|value| value.to_str().ok())
        .any(|value| value.contains(tag));
    let kept = [(header::CACHE_CONTROL, FILE_KEPT), (header::ETAG, tag)];
    match known {
        true => (StatusCode::NOT_MODIFIED, kept).into_response(),
        false => (kept, [(header::CONTENT_TYPE, "text/javascript; charset=utf-8")], text).into_response(),
    }
}

async fn look(
    State(state): State<WidgetState>,
    agent: Result<Path<String>, PathRejection>,
    peer: Option<Extension<ConnectInfo<SocketAddr>>>,
) -> Response {
    let address = peer.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |Extension(ConnectInfo(peer))| {
        peer.ip()
    });
    if let Err(seconds) = state.rate_limit.visit(address) {
        let message = format!("too many requests from this address; ask again in {seconds} s");
        let refused = refusal(StatusCode::TOO_MANY_REQUESTS, "rate_limited", &message);
        return ([(header::RETRY_AFTER, seconds.to_string())], refused).into_response();
    }
    // A path that is not valid text cannot be an id.
    let agent = agent.map_or_else(|_| String::new(), |Path(agent)| agent);
    match widget(&*state.store, &agent).await {
        Ok(Some(widget)) => ([(header::CACHE_CONTROL, LOOK_KEPT)], Json(widget)).into_response(),
        Ok(None) => refusal(StatusCode::NOT_FOUND, "not_found", "there is no widget here"),
        Err(error) => {
            tracing::warn!(%error, "widget read failed");
            let message = "the widget cannot be read now; ask again";
            refusal(StatusCode::SERVICE_UNAVAILABLE, "unavailable", message)
        }
    }
}

/// Returns the `widget` object of an agent that has one and takes calls.
async fn widget(store: &dyn Store, agent: &str) -> Result<Option<Map<String, Value>>, StoreError> {
    let Ok(id) = agent.parse::<AgentId>() else {
        return Ok(None);
    };
    let row = match store.any_agent(id).await {
        Ok(row) => row,
        Err(StoreError::NotFound) => return Ok(None),
        Err(error) => return Err(error),
    };
    let agent = agent::complete(&row.document).map_err(|error| StoreError::Damaged(format!("agent {id}: {error}")))?;
    let shown = agent.takes_calls() && !agent.platform_settings.widget.is_empty();
    Ok(shown.then_some(agent.platform_settings.widget))
}

fn refusal(status: StatusCode, code: &str, message: &str) -> Response {
    let error = json!({ "code": code, "message": message, "status": status.as_u16() });
    let body = Json(json!({ "success": false, "error": error }));
    (status, [(header::CACHE_CONTROL, "no-store")], body).into_response()
}
