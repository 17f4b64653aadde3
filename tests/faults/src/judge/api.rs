//! The API of calls, as far as the service uses it.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use axum::{
    Json,
    body::Body,
    extract::{Path, Query, State},
    http::{HeaderMap, StatusCode, header::RETRY_AFTER},
    response::{IntoResponse, Response},
};
use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use futures_util::stream;
use serde_json::json;
use tokio::time::sleep;
use uuid::Uuid;

use super::{
    ACCOUNT, Judge, TOKEN,
    call::{self, Call, Instructions, Wish},
};
use crate::{
    chance,
    journal::{Event, Outcome},
};

type Fields = HashMap<String, String>;

fn fields(form: &str) -> Fields {
    url::form_urlencoded::parse(form.as_bytes()).into_owned().collect()
}

fn error(status: StatusCode, code: u32, message: &str) -> Response {
    let body = json!({ "code": code, "message": message, "status": status.as_u16() });
    (status, Json(body)).into_response()
}

fn is_entitled(headers: &HeaderMap) -> bool {
    let expected = format!("Basic {}", BASE64.encode(format!("{ACCOUNT}:{TOKEN}")));
    headers
        .get("authorization")
        .is_some_and(|shown| shown == expected.as_str())
}

/// Returns the attempt and the node of a status callback's address: `http://NODE/carriers/twilio/status/ATTEMPT/PROOF`.
fn attempt_of(status_url: &str) -> Option<(String, String)> {
    let url = url::Url::parse(status_url).ok()?;
    let mut path = url.path_segments()?.skip_while(|part| *part != "status");
    let attempt = path.nth(1)?.to_owned();
    Some((attempt, url.authority().to_owned()))
}

/// Parses instructions, as far as a call follows them.
pub fn instructions(twiml: &str) -> Option<Instructions> {
    let stream = twiml
        .split_once("<Stream url=\"")
        .and_then(|(_, rest)| rest.split_once('"'));
    let stream = stream.map(|(url, _)| url.replace("&amp;", "&"));
    let back = twiml
        .split_once("<Redirect method=\"POST\">")
        .and_then(|(_, rest)| rest.split_once("</Redirect>"))
        .map(|(url, _)| call::Back::read(&url.replace("&amp;", "&")));
    let pauses = twiml.contains("<Pause length=\"1\"/>");
    (stream.is_some() || back.is_some()).then_some(())?;
    Some(Instructions { stream, back, pauses })
}

/// Handles a request for a call. There is no await between reading it and the end of its bookkeeping, so a
/// client that disconnects undoes nothing.
pub async fn dial(State(judge): State<Arc<Judge>>, headers: HeaderMap, form: String) -> Response {
    if !is_entitled(&headers) {
        return error(StatusCode::UNAUTHORIZED, 20_003, "Authenticate");
    }
    let fields = fields(&form);
    let field = |name: &str| fields.get(name).cloned().unwrap_or_default();
    let (to, status_url) = (field("To"), field("StatusCallback"));
    let (Some((attempt, node)), Some(first)) = (attempt_of(&status_url), instructions(&field("Twiml"))) else {
        return error(StatusCode::BAD_REQUEST, 20_001, "neither attempt nor stream is named");
    };
    let nth = judge.count(&format!("dial {to}"));
    let mut rng = chance::of(judge.seed, &format!("{to} {nth}"));
    let plan = chance::plan(&mut rng, judge.manner);
    let sid = format!("CA{}", Uuid::new_v4().simple());
    let written = judge.journal.keep(Event::Dial {
        attempt: attempt.clone(),
        to: to.clone(),
        call: sid.clone(),
        node,
        outcome: plan.outcome,
    });
    if written.is_err() {
        // A call that cannot be judged is not placed, and the end of the run shows it.
        return error(StatusCode::INTERNAL_SERVER_ERROR, 20_500, "the judge cannot write");
    }
    let order = call::Order {
        sid,
        attempt,
        to,
        from: field("From"),
        status_url,
        verdict_url: fields.get("AsyncAmdStatusCallback").cloned(),
        first,
        ring: Duration::from_secs(field("Timeout").parse().unwrap_or(60)),
    };
    let shown = if plan.outcome.rings() {
        call::place(&judge, order, plan, rng)
    } else {
        json!({})
    };
    answer(plan, shown).await
}

async fn answer(plan: chance::Plan, shown: serde_json::Value) -> Response {
    sleep(Duration::from_millis(plan.answer_ms)).await;
    match plan.outcome {
        Outcome::Placed => (StatusCode::CREATED, Json(shown)).into_response(),
        Outcome::AnswerBroken => {
            let broken: Result<&str, _> = Err(std::io::Error::other("broken off"));
            let pieces = stream::iter([Ok("{\"sid\": \"CA"), broken]);
            (StatusCode::CREATED, Body::from_stream(pieces)).into_response()
        }
        Outcome::AnswerLost => std::future::pending().await,
        Outcome::PlacedAndFailed | Outcome::Failed => {
            error(StatusCode::INTERNAL_SERVER_ERROR, 20_500, "An internal error")
        }
        Outcome::Throttled => {
            let refused = error(StatusCode::TOO_MANY_REQUESTS, 20_429, "Too Many Requests");
            ([(RETRY_AFTER, "1")], refused).into_response()
        }
        Outcome::Refused => error(StatusCode::BAD_REQUEST, 21_211, "The 'To' number is not valid"),
    }
}

/// Returns the calls to a number, the newest first.
pub async fn list(State(judge): State<Arc<Judge>>, headers: HeaderMap, Query(query): Query<Fields>) -> Response {
    if !is_entitled(&headers) {
        return error(StatusCode::UNAUTHORIZED, 20_003, "Authenticate");
    }
    let mut calls: Vec<Arc<Call>> = judge.calls().values().cloned().collect();
    calls.retain(|call| query.get("To").is_none_or(|to| *to == call.order.to));
    calls.sort_by_key(|call| std::cmp::Reverse(call.created));
    let shown: Vec<_> = calls.iter().map(|call| call.shown()).collect();
    Json(json!({ "calls": shown, "page": 0, "next_page_uri": null })).into_response()
}

fn named(judge: &Judge, name: &str) -> Option<Arc<Call>> {
    let sid = name.strip_suffix(".json")?;
    judge.calls().get(sid).cloned()
}

fn nothing() -> Response {
    error(StatusCode::NOT_FOUND, 20_404, "The requested resource was not found")
}

/// Returns one call.
pub async fn show(State(judge): State<Arc<Judge>>, Path(name): Path<String>) -> Response {
    named(&judge, &name).map_or_else(nothing, |call| Json(call.shown()).into_response())
}

/// Ends a call, or gives it another media socket.
pub async fn change(
    State(judge): State<Arc<Judge>>,
    Path(name): Path<String>,
    headers: HeaderMap,
    form: String,
) -> Response {
    if !is_entitled(&headers) {
        return error(StatusCode::UNAUTHORIZED, 20_003, "Authenticate");
    }
    let Some(call) = named(&judge, &name) else {
        return nothing();
    };
    let fields = fields(&form);
    let not_in_state = || error(StatusCode::BAD_REQUEST, 21_220, "Call is not in-progress");
    let (status, talks) = (call.status(), call.status() == "in-progress");
    if let Some(twiml) = fields.get("Twiml") {
        return match instructions(twiml) {
            Some(others) if talks => {
                call.wish(Wish::Follow(others));
                Json(call.shown()).into_response()
            }
            Some(_) => not_in_state(),
            None => error(StatusCode::BAD_REQUEST, 12_100, "Document parse failure"),
        };
    }
    match (fields.get("Status").map_or("", String::as_str), status) {
        ("completed", "in-progress") | ("canceled", "queued" | "initiated" | "ringing") => {
            call.wish(Wish::HangUp);
            let _ = judge.journal.write(Event::HangUp {
                call: call.order.sid.clone(),
                attempt: call.order.attempt.clone(),
            });
        }
        ("canceled", "in-progress") => {}
        _ => return not_in_state(),
    }
    Json(call.shown()).into_response()
}

/// Returns the attempts of the calls that are not over.
pub async fn live(State(judge): State<Arc<Judge>>) -> Response {
    let calls = judge.calls();
    let live: Vec<_> = calls.values().filter(|call| !call.is_over()).collect();
    let attempts: Vec<_> = live.iter().map(|call| call.order.attempt.clone()).collect();
    Json(json!({ "attempts": attempts })).into_response()
}

/// Returns the longest silence at the phone of an attempt since this was asked last.
pub async fn silence(State(judge): State<Arc<Judge>>, Path(attempt): Path<String>) -> Response {
    let calls = judge.calls();
    let Some(call) = calls.values().find(|call| call.order.attempt == attempt) else {
        return nothing();
    };
    let longest = call.sound().take_longest_silence(Instant::now());
    let longest_ms = u64::try_from(longest.as_millis()).unwrap_or(u64::MAX);
    Json(json!({ "longestMs": longest_ms })).into_response()
}
