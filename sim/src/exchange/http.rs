//! The dial API: place a call, list calls, hang up a call.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use axum::{
    Json,
    body::Bytes,
    extract::{Path, Query, State, rejection::QueryRejection},
    http::{StatusCode, header::RETRY_AFTER},
    response::{IntoResponse, Response},
};
use domain::{phone_number::PhoneNumber, time::Timestamp};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::json;
use uuid::Uuid;

use super::{
    call,
    log::LogEvent,
    onward::{Kind, Onward},
    persona::{Callee, Persona},
    registry::{Entry, Order, Wish},
    switch::Switch,
};

const MAX_ATTEMPT_BYTES: usize = 128;
/// Longest ringing time.
const LONGEST_RING_SECONDS: f64 = 600.0;
/// Default ringing time.
const RING_SECONDS: f64 = 30.0;
/// Most calls in a list.
const MOST_LISTED: usize = 1_000;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DialBody {
    to: String,
    from: Option<String>,
    attempt: String,
    status_url: String,
    #[serde(flatten)]
    media: MediaBody,
    #[serde(default)]
    hints: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MediaBody {
    stream_url: String,
    ring_timeout_seconds: Option<f64>,
}

impl MediaBody {
    /// Returns the media address and the ringing time.
    fn read(self) -> Result<(String, Duration), Refusal> {
        if !is_address(&self.stream_url, "ws") {
            return Err(Refusal::Invalid("`streamUrl` must be a ws:// address".to_owned()));
        }
        let ring = self.ring_timeout_seconds.unwrap_or(RING_SECONDS);
        if !(0.0..=LONGEST_RING_SECONDS).contains(&ring) {
            let message = format!("`ringTimeoutSeconds` must be 0 to {LONGEST_RING_SECONDS}");
            return Err(Refusal::Invalid(message));
        }
        Ok((self.stream_url, Duration::from_secs_f64(ring)))
    }
}

/// Describes why a body is not the expected JSON.
pub(crate) fn malformed(error: &serde_json::Error) -> String {
    if error.is_data() {
        return format!("malformed request: {error}");
    }
    format!("the body is not JSON: {error}")
}

/// Parses the body of a request.
fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, Refusal> {
    serde_json::from_slice(body).map_err(|error| Refusal::Invalid(malformed(&error)))
}

pub(super) fn refusal(status: StatusCode, code: &str, message: &str) -> Response {
    (status, Json(json!({ "code": code, "message": message }))).into_response()
}

pub(super) fn invalid(message: &str) -> Response {
    refusal(StatusCode::BAD_REQUEST, "invalid_request", message)
}

/// Reasons to refuse a request.
enum Refusal {
    NoNumber(String),
    NotReachable,
    Invalid(String),
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        match self {
            Self::NoNumber(number) => {
                let message = format!("`{number}` is not a number in service");
                refusal(StatusCode::BAD_REQUEST, "invalid_number", &message)
            }
            Self::NotReachable => {
                let message = "`to` must be a telephone number in E.164: nothing else is reached from here";
                refusal(StatusCode::UNPROCESSABLE_ENTITY, "not_reachable", message)
            }
            Self::Invalid(message) => invalid(&message),
        }
    }
}

pub(super) fn is_address(text: &str, scheme: &str) -> bool {
    reqwest::Url::parse(text).is_ok_and(|url| url.scheme() == scheme && url.host_str().is_some())
}

impl DialBody {
    /// Checks what a carrier checks before it accepts a call.
    fn order(self, switch: &Switch) -> Result<(Order, Option<String>), Refusal> {
        let invalid = |message: String| Err(Refusal::Invalid(message));
        let to = match PhoneNumber::parse(&self.to) {
            Ok(number) if number.as_str() == self.to => self.to,
            _ => return Err(Refusal::NoNumber(self.to)),
        };
        if self.attempt.is_empty() || self.attempt.len() > MAX_ATTEMPT_BYTES {
            return invalid(format!("`attempt` must have 1 to {MAX_ATTEMPT_BYTES} bytes"));
        }
        if !is_address(&self.status_url, "http") {
            return invalid("`statusUrl` must be an http:// address".to_owned());
        }
        let (stream_url, ring_timeout) = self.media.read()?;
        let callee = Callee::choose(&self.hints, &to, &switch.settings.scripts);
        if callee.persona == Persona::Invalid {
            return Err(Refusal::NoNumber(to));
        }
        let order = Order {
            call_id: format!("CA{}", Uuid::new_v4().simple()),
            attempt: self.attempt,
            to,
            placed: switch.log.now(),
            status_url: self.status_url,
            stream_url,
            ring_timeout,
            callee,
        };
        Ok((order, self.from))
    }
}

/// Returns the record entry that is written before a dial is answered.
fn accepted(order: &Order, from: Option<String>) -> LogEvent {
    let callee = &order.callee;
    LogEvent::Accepted {
        attempt: order.attempt.clone(),
        to: order.to.clone(),
        from,
        persona: callee.persona.name().to_owned(),
        unknown_persona: callee.unknown_persona.clone(),
        script: callee.script.as_ref().map(|(name, _)| name.clone()),
        unknown_script: callee.unknown_script.clone(),
    }
}

/// Places a call. The same attempt twice makes two calls: a carrier without idempotency keys does just that,
/// and the log must show it.
pub(super) async fn dial(State(switch): State<Arc<Switch>>, body: Bytes) -> Response {
    let (order, from) = match parse(&body).and_then(|body: DialBody| body.order(&switch)) {
        Ok(order) => order,
        Err(refusal) => return refusal.into_response(),
    };
    let Ok(line) = switch.lines.clone().try_acquire_owned() else {
        let busy = refusal(StatusCode::TOO_MANY_REQUESTS, "no_line", "all lines are in use");
        return ([(RETRY_AFTER, "1")], busy).into_response();
    };
    let accepted = accepted(&order, from);
    let call_id = order.call_id.clone();
    // Runs in its own task: once the dial may be on record, a client that disconnects must not undo it.
    let placed = tokio::spawn(async move {
        switch.log.add_synced(&order.call_id, accepted).await?;
        let (entry, wishes) = Entry::new(order);
        switch.registry.began(entry.clone());
        switch.spawn(call::run(switch.clone(), entry, wishes, line));
        Ok::<_, std::io::Error>(())
    });
    match placed.await {
        Ok(Ok(())) => (StatusCode::CREATED, Json(json!({ "callId": call_id }))).into_response(),
        Ok(Err(error)) => refusal(StatusCode::SERVICE_UNAVAILABLE, "no_record", &error.to_string()),
        Err(_) => refusal(StatusCode::SERVICE_UNAVAILABLE, "closed", "the exchange is closing"),
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ListQuery {
    to: Option<String>,
    since_micros: Option<i64>,
}

pub(super) async fn list(
    State(switch): State<Arc<Switch>>,
    query: Result<Query<ListQuery>, QueryRejection>,
) -> Response {
    let Query(query) = match query {
        Ok(query) => query,
        Err(rejection) => return invalid(&rejection.body_text()),
    };
    let since = Timestamp(query.since_micros.unwrap_or(i64::MIN));
    let found = switch.registry.list(query.to.as_deref(), since, MOST_LISTED);
    let calls: Vec<_> = found
        .into_iter()
        .map(|(call, live)| {
            let placed = call.placed.to_iso8601();
            json!({ "callId": call.call_id, "attempt": call.attempt, "to": call.to, "live": live, "placedAt": placed })
        })
        .collect();
    Json(json!({ "calls": calls })).into_response()
}

pub(super) async fn hang_up(State(switch): State<Arc<Switch>>, Path(call_id): Path<String>) -> Response {
    match switch.registry.live(&call_id) {
        Some(entry) => {
            entry.hang_up.notify_one();
            StatusCode::NO_CONTENT.into_response()
        }
        None => refusal(StatusCode::NOT_FOUND, "not_found", "no such call, or it is over"),
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TransferBody {
    kind: String,
    to: String,
    #[serde(flatten)]
    media: MediaBody,
}

impl TransferBody {
    fn onward(self, switch: &Switch) -> Result<Onward, Refusal> {
        let kind = match self.kind.as_str() {
            "blind" => Kind::Blind,
            "conference" => Kind::Conference,
            _ => return Err(Refusal::Invalid("`kind` must be `blind` or `conference`".to_owned())),
        };
        if !PhoneNumber::parse(&self.to).is_ok_and(|number| number.as_str() == self.to) {
            return Err(Refusal::NotReachable);
        }
        let (stream_url, ring) = self.media.read()?;
        Ok(Onward::plan(&switch.settings, kind, self.to, stream_url, ring))
    }
}

/// Transfers a call that is being talked on; a status callback reports the result.
pub(super) async fn transfer(State(switch): State<Arc<Switch>>, Path(call_id): Path<String>, body: Bytes) -> Response {
    match parse(&body).and_then(|body: TransferBody| body.onward(&switch)) {
        Ok(onward) => wish(&switch, &call_id, Wish::Transfer(Box::new(onward))),
        Err(refused) => refused.into_response(),
    }
}

/// Reopens the lost stream of a call.
pub(super) async fn media(State(switch): State<Arc<Switch>>, Path(call_id): Path<String>, body: Bytes) -> Response {
    match parse(&body).and_then(MediaBody::read) {
        Ok((stream_url, _)) => wish(&switch, &call_id, Wish::Media(stream_url)),
        Err(refused) => refused.into_response(),
    }
}

fn wish(switch: &Switch, call_id: &str, wish: Wish) -> Response {
    match switch.registry.live(call_id) {
        None => refusal(StatusCode::NOT_FOUND, "not_found", "no such call, or it is over"),
        Some(entry) if entry.wish(wish) => StatusCode::ACCEPTED.into_response(),
        Some(_) => refusal(
            StatusCode::CONFLICT,
            "not_now",
            "the call's stream is not where this can be done",
        ),
    }
}
