//! Rejects requests while the node is overloaded: before the key is looked up, and in order of priority.
//! Requests that end calls, prevent them or control live ones are never rejected.
//!
//! A rejection costs almost nothing, but a client that retries at once causes many of them. So rejections are
//! delayed, which costs nothing at all. Otherwise the service would be busy with rejections, and reject even
//! more because of them.

use std::{sync::Arc, time::Duration};

use axum::{
    extract::{MatchedPath, Request, State},
    http::Method,
    middleware::Next,
    response::{IntoResponse, Response},
};
use domain::admission::{Gate, Work};

use tokio::{
    sync::Semaphore,
    time::{sleep, timeout},
};

use crate::response::error::ApiError;

/// Paths of commands that end or prevent calls, or revoke a key; and signing in, which comes before them in a browser.
const CONTROLS: [&str; 9] = [
    "/pause",
    "/stop",
    "/end",
    "/do-not-call",
    "/safeguards",
    "/regenerate",
    "/rotate",
    "/rotate-secret",
    "/session",
];

/// Paths of tickets and commands to live calls, and of WebSockets to them.
const LIVE_CALLS: [&str; 7] = [
    "/live-tickets",
    "/say",
    "/transfer",
    "/digits",
    "/instructions",
    "/listen",
    "/operate",
];

/// Paths of calls in progress, and of their words. Clients that watch live calls read them every few seconds.
const FOLLOWED: [&str; 2] = ["/live", "/turns"];

/// Paths of files, and of streams that query the database continuously.
const FILES: [&str; 3] = ["/results.csv", "/recording", "/events"];

/// Paths of single resources without an id.
const SINGLE: [&str; 3] = ["/me", "/webhook-secret", "/session"];

/// Delay of a rejection. With 200 ms, rejections were a sixth of all responses at five times the load.
const TOLD_AFTER: Duration = Duration::from_millis(400);

/// Time that a read request waits for a slot.
const PLACE_WITHIN: Duration = Duration::from_millis(200);

/// Maximum rejections that are delayed. Further ones are sent at once, so that they do not occupy connections.
static HELD_BACK: Semaphore = Semaphore::const_new(2_000);

/// Concurrent read requests. More would only wait in front of the database.
const READING: usize = 64;

/// State of the admission control.
#[derive(Clone)]
pub struct Admittance {
    gate: Gate,
    reading: Arc<Semaphore>,
}

impl Admittance {
    /// Creates an admission control with this gate and the limit of concurrent reads.
    pub fn new(gate: Gate) -> Self {
        Self {
            gate,
            reading: Arc::new(Semaphore::new(READING)),
        }
    }
}

/// Rejects kinds of requests that are given up at present, and reads that wait too long for a slot.
pub async fn admit(State(by): State<Admittance>, request: Request, next: Next) -> Response {
    let path = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str);
    let Some(work) = path.and_then(|path| work(request.method(), path)) else {
        return next.run(request).await;
    };
    if !by.gate.admits(work) {
        if let Ok(_place) = HELD_BACK.try_acquire() {
            sleep(TOLD_AFTER).await;
        }
        return refused(work);
    }
    // Does not limit requests with a body: a slow sender would occupy slots.
    let reads = matches!(work, Work::Lists | Work::Reads);
    let place = match reads {
        true => match timeout(PLACE_WITHIN, by.reading.acquire()).await {
            Ok(place) => place.ok(),
            Err(_) => return refused(work),
        },
        false => None,
    };
    let response = next.run(request).await;
    drop(place);
    response
}

fn refused(work: Work) -> Response {
    metrics::counter!("ringback_refused_total", "work" => work.as_str()).increment(1);
    ApiError::Overloaded.into_response()
}

/// Returns the kind of work of a request, by its declared path. `None` is never rejected.
fn work(method: &Method, path: &str) -> Option<Work> {
    let ends = |names: &[&str]| names.iter().any(|name| path.ends_with(name));
    match *method {
        _ if ends(&LIVE_CALLS) => None,
        Method::GET | Method::HEAD if ends(&FILES) => Some(Work::Lists),
        Method::GET | Method::HEAD if path.ends_with('}') || ends(&SINGLE) || ends(&FOLLOWED) => Some(Work::Reads),
        Method::GET | Method::HEAD => Some(Work::Lists),
        Method::OPTIONS => None,
        _ if ends(&CONTROLS) => None,
        Method::DELETE if path.ends_with("/api-keys/{keyId}") => None,
        _ => Some(Work::Writes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_given_up_by_what_they_cost_and_whom_they_protect() {
        let base = "/public/v1";
        for (method, path, expected) in [
            (Method::GET, "/conversations", Some(Work::Lists)),
            (Method::GET, "/campaigns/{campaignId}/contacts", Some(Work::Lists)),
            (Method::GET, "/campaigns/{campaignId}/results.csv", Some(Work::Lists)),
            (
                Method::GET,
                "/conversations/{conversationId}/recording",
                Some(Work::Lists),
            ),
            (Method::GET, "/conversations/{conversationId}", Some(Work::Reads)),
            (Method::GET, "/me", Some(Work::Reads)),
            (Method::GET, "/calls/live", Some(Work::Reads)),
            (Method::GET, "/conversations/{conversationId}/live", Some(Work::Reads)),
            (Method::GET, "/conversations/{conversationId}/turns", Some(Work::Reads)),
            (Method::GET, "/conversations/{conversationId}/operate", None),
            (Method::POST, "/conversations/{conversationId}/live-tickets", None),
            (Method::POST, "/conversations/{conversationId}/transfer", None),
            (Method::POST, "/campaigns/csv", Some(Work::Writes)),
            (Method::POST, "/calls", Some(Work::Writes)),
            (Method::PATCH, "/agents/{agentId}", Some(Work::Writes)),
            (Method::POST, "/campaigns/{campaignId}/launch", Some(Work::Writes)),
            (Method::POST, "/campaigns/{campaignId}/pause", None),
            (Method::POST, "/campaigns/{campaignId}/stop", None),
            (Method::POST, "/conversations/{conversationId}/end", None),
            (Method::POST, "/do-not-call", None),
            (Method::POST, "/webhooks/{webhookId}/rotate-secret", None),
            (Method::DELETE, "/me/api-keys/{keyId}", None),
            (Method::POST, "/session", None),
            (Method::GET, "/session", Some(Work::Reads)),
            (Method::DELETE, "/contacts/{contactId}", Some(Work::Writes)),
        ] {
            assert_eq!(work(&method, &format!("{base}{path}")), expected, "{method} {path}");
        }
    }
}
