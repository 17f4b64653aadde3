//! What is refused while the node has too much to do: before the key is looked up, and in an order. What ends calls or
//! keeps people from being called is never refused.
//!
//! A refusal costs next to nothing, but whoever asks again at once makes many of them: so it is told a moment later, which
//! costs nothing at all. Without that the service would be busy with refusing, and refuse ever more for it.

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

use super::error::ApiError;

/// Paths whose commands end or prevent calls, or keep a key from who should not have it.
const CONTROLS: [&str; 7] = [
    "/pause",
    "/stop",
    "/end",
    "/do-not-call",
    "/safeguards",
    "/regenerate",
    "/rotate",
];

/// Files, and streams that look at the database all along.
const FILES: [&str; 3] = ["/results.csv", "/recording", "/events"];

/// Names of one thing that are no id.
const SINGLE: [&str; 2] = ["/me", "/webhook-secret"];

/// How long a refusal is held back. Told after 200 ms, refusals took a sixth of what was answered at five times the load.
const TOLD_AFTER: Duration = Duration::from_millis(400);

/// How long a request waits for a place.
const PLACE_WITHIN: Duration = Duration::from_millis(200);

/// Refusals that are held back; more are told at once, so that no connection is kept from others for it.
static HELD_BACK: Semaphore = Semaphore::const_new(2_000);

/// Requests that read, at once. More of them only wait for each other in front of the database.
const READING: usize = 64;

/// What decides.
#[derive(Clone)]
pub struct Admittance {
    gate: Gate,
    reading: Arc<Semaphore>,
}

impl Admittance {
    /// As the gate says; so many reads at once.
    pub fn new(gate: Gate) -> Self {
        Self {
            gate,
            reading: Arc::new(Semaphore::new(READING)),
        }
    }
}

/// Refuses what is given up at present, and reads that find no place for too long.
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
    // Not of requests with a body: whoever sends one slowly would keep the places from others.
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

/// What kind of work a request is, by its declared path; none is never given up.
fn work(method: &Method, path: &str) -> Option<Work> {
    let ends = |names: &[&str]| names.iter().any(|name| path.ends_with(name));
    match *method {
        Method::GET | Method::HEAD if ends(&FILES) => Some(Work::Lists),
        Method::GET | Method::HEAD if path.ends_with('}') || ends(&SINGLE) => Some(Work::Reads),
        Method::GET | Method::HEAD => Some(Work::Lists),
        Method::OPTIONS => None,
        _ if ends(&CONTROLS) => None,
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
            (Method::POST, "/campaigns/csv", Some(Work::Writes)),
            (Method::POST, "/calls", Some(Work::Writes)),
            (Method::PATCH, "/agents/{agentId}", Some(Work::Writes)),
            (Method::POST, "/campaigns/{campaignId}/launch", Some(Work::Writes)),
            (Method::POST, "/campaigns/{campaignId}/pause", None),
            (Method::POST, "/campaigns/{campaignId}/stop", None),
            (Method::POST, "/conversations/{conversationId}/end", None),
            (Method::POST, "/do-not-call", None),
            (Method::DELETE, "/contacts/{contactId}", Some(Work::Writes)),
        ] {
            assert_eq!(work(&method, &format!("{base}{path}")), expected, "{method} {path}");
        }
    }
}
