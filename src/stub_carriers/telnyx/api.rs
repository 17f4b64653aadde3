//! The API: dial, hang up, list; and where the exchange reports.

use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock, atomic::Ordering},
};

use actors::phone_number::PhoneNumber;
use axum::{
    Json, Router,
    body::Bytes,
    extract::{Path, Query, State},
    http::{
        HeaderMap, StatusCode,
        header::{AUTHORIZATION, RETRY_AFTER},
    },
    response::{IntoResponse, Response},
    routing::{get, post},
};
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{Call, Switch, lock, media};

/// What is asked for with a dial, as far as the stub minds it.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Ask {
    pub(super) connection_id: String,
    pub(super) to: String,
    pub(super) from: String,
    #[serde(default = "ring_seconds")]
    pub(super) timeout_secs: u64,
    #[serde(default)]
    pub(super) client_state: Option<String>,
    #[serde(default)]
    pub(super) command_id: Option<String>,
    pub(super) webhook_url: String,
    pub(super) stream_url: String,
    #[serde(default)]
    pub(super) stream_codec: String,
    #[serde(default)]
    pub(super) stream_bidirectional_mode: String,
    #[serde(default)]
    pub(super) stream_bidirectional_codec: String,
    #[serde(default)]
    pub(super) stream_auth_token: String,
}

fn ring_seconds() -> u64 {
    30
}

pub(super) fn router(switch: Arc<Switch>) -> Router {
    Router::new()
        .route("/v2/calls", post(dial))
        .route("/v2/calls/{call}/actions/hangup", post(hang_up))
        .route("/v2/connections/{connection}/active_calls", get(list))
        .route("/exchange/status/{call}", post(report))
        .route("/exchange/media/{call}", get(media::open))
        .with_state(switch)
}

/// An answer that is no success.
#[derive(Debug)]
struct Refused {
    status: StatusCode,
    code: &'static str,
    detail: String,
    pointer: &'static str,
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let (detail, source) = (&self.detail, json!({ "pointer": self.pointer }));
        let error = json!({ "code": self.code, "title": detail, "detail": detail, "source": source });
        let answer = (self.status, Json(json!({ "errors": [error] })));
        match self.status {
            StatusCode::TOO_MANY_REQUESTS => ([(RETRY_AFTER, "1")], answer).into_response(),
            _ => answer.into_response(),
        }
    }
}

fn refusal(status: StatusCode, code: &'static str, detail: &str, pointer: &'static str) -> Refused {
    Refused {
        status,
        code,
        detail: detail.to_owned(),
        pointer,
    }
}

fn unprocessable(code: &'static str, detail: &str, pointer: &'static str) -> Refused {
    refusal(StatusCode::UNPROCESSABLE_ENTITY, code, detail, pointer)
}

fn throttled() -> Refused {
    refusal(StatusCode::TOO_MANY_REQUESTS, "10011", "Too many requests", "")
}

fn broken() -> Refused {
    refusal(StatusCode::INTERNAL_SERVER_ERROR, "10007", "Unexpected error", "")
}

impl Switch {
    fn knows(&self, headers: &HeaderMap) -> Result<(), Refused> {
        let wanted = format!("Bearer {}", self.settings.api_key);
        let shown = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        if shown == Some(&*wanted) {
            return Ok(());
        }
        Err(refusal(StatusCode::UNAUTHORIZED, "10009", "Authentication failed", ""))
    }

    fn check(&self, ask: &Ask) -> Result<(), Refused> {
        for (number, pointer) in [(&ask.to, "/to"), (&ask.from, "/from")] {
            if !PhoneNumber::parse(number).is_ok_and(|parsed| parsed.as_str() == number) {
                return Err(unprocessable("10016", "Phone number must be in +E.164 format", pointer));
            }
        }
        if ask.connection_id != self.settings.connection {
            return Err(unprocessable("10015", "Invalid connection_id", "/connection_id"));
        }
        if !(5..=600).contains(&ask.timeout_secs) {
            return Err(unprocessable("10015", "timeout_secs must be 5 to 600", "/timeout_secs"));
        }
        Ok(())
    }

    /// The call of the same command; a repeat is ignored, and answered like the first.
    fn repeated(&self, ask: &Ask) -> Option<Arc<Call>> {
        let same = |call: &&Arc<Call>| ask.command_id.is_some() && call.ask.command_id == ask.command_id;
        lock(&self.calls).values().find(same).cloned()
    }

    /// Has the exchange ring the telephone.
    async fn ring(&self, call: &Call) -> Result<(), Refused> {
        let persona = self.settings.personas.get(&call.ask.to);
        let body = json!({
            "to": call.ask.to, "from": call.ask.from, "attempt": call.id,
            "statusUrl": format!("http://{}/exchange/status/{}", self.own, call.id),
            "streamUrl": format!("ws://{}/exchange/media/{}", self.own, call.id),
            "ringTimeoutSeconds": call.ask.timeout_secs,
            "hints": persona.map_or_else(|| json!({}), |persona| json!({ "persona": persona })),
        });
        let sent = self
            .client
            .post(format!("{}/v1/calls", self.exchange_url))
            .json(&body)
            .send()
            .await;
        let away = |_| broken();
        let answer = sent.map_err(away)?;
        match answer.status() {
            StatusCode::CREATED => {}
            StatusCode::TOO_MANY_REQUESTS => return Err(throttled()),
            _ => return Err(unprocessable("10002", "Invalid phone number", "/to")),
        }
        let said: Value = answer.json().await.map_err(away)?;
        let _ = call.line.set(said["callId"].as_str().unwrap_or_default().to_owned());
        Ok(())
    }
}

impl Call {
    pub(super) fn leg(&self) -> Value {
        json!({
            "call_control_id": self.id, "call_leg_id": format!("leg-{}", self.id),
            "call_session_id": format!("session-{}", self.id), "record_type": "call",
            "client_state": self.ask.client_state, "is_alive": false,
        })
    }
}

async fn dial(State(switch): State<Arc<Switch>>, headers: HeaderMap, body: Bytes) -> Response {
    let number = {
        let mut dials = lock(&switch.dials);
        dials.push(serde_json::from_slice(&body).unwrap_or_default());
        dials.len()
    };
    // A task of its own: a client that goes away does not undo a dial.
    let task = tokio::spawn(async move {
        let placed = place(&switch, &headers, &body).await;
        let faults = &switch.settings.faults;
        let lost = faults.lost_answer_each > 0 && number.is_multiple_of(faults.lost_answer_each);
        (placed, faults.lost_answers || lost)
    });
    match task.await {
        Ok((Ok(_), true)) => std::future::pending().await,
        Ok((Ok(call), false)) => Json(json!({ "data": call.leg() })).into_response(),
        Ok((Err(refused), _)) => refused.into_response(),
        Err(_) => broken().into_response(),
    }
}

async fn place(switch: &Arc<Switch>, headers: &HeaderMap, body: &[u8]) -> Result<Arc<Call>, Refused> {
    switch.knows(headers)?;
    let take_one = |left: usize| left.checked_sub(1);
    if switch
        .throttled
        .fetch_update(Ordering::SeqCst, Ordering::SeqCst, take_one)
        .is_ok()
    {
        return Err(throttled());
    }
    let ask: Ask = serde_json::from_slice(body).map_err(|error| unprocessable("10015", &error.to_string(), ""))?;
    switch.check(&ask)?;
    if let Some(call) = switch.repeated(&ask) {
        return Ok(call);
    }
    let call = Arc::new(Call {
        id: format!("v3:{}", Uuid::new_v4().simple()),
        ask,
        line: OnceLock::new(),
        over: false.into(),
    });
    lock(&switch.calls).insert(call.id.clone(), call.clone());
    if let Err(refused) = switch.ring(&call).await {
        lock(&switch.calls).remove(&call.id);
        return Err(refused);
    }
    switch.tell(&call, "call.initiated", json!({ "state": "bridging" }));
    Ok(call)
}

async fn hang_up(State(switch): State<Arc<Switch>>, Path(id): Path<String>, headers: HeaderMap) -> Response {
    if let Err(refused) = switch.knows(&headers) {
        return refused.into_response();
    }
    let Some(call) = switch.call(&id) else {
        return refusal(StatusCode::NOT_FOUND, "10005", "Resource not found", "").into_response();
    };
    let line = call.line.get().filter(|_| !call.over.load(Ordering::SeqCst));
    let Some(line) = line else {
        return unprocessable("90018", "Call has already ended", "").into_response();
    };
    let asked = switch
        .client
        .delete(format!("{}/v1/calls/{line}", switch.exchange_url))
        .send()
        .await;
    match asked {
        Ok(answer) if answer.status().is_success() => Json(json!({ "data": { "result": "ok" } })).into_response(),
        _ => unprocessable("90018", "Call has already ended", "").into_response(),
    }
}

async fn list(
    State(switch): State<Arc<Switch>>,
    Path(connection): Path<String>,
    Query(query): Query<BTreeMap<String, String>>,
    headers: HeaderMap,
) -> Response {
    if let Err(refused) = switch.knows(&headers) {
        return refused.into_response();
    }
    if connection != switch.settings.connection {
        return refusal(StatusCode::NOT_FOUND, "10005", "Resource not found", "").into_response();
    }
    let after = query.get("page[after]");
    let calls = lock(&switch.calls);
    let live: Vec<&Arc<Call>> = calls
        .values()
        .filter(|call| !call.over.load(Ordering::SeqCst) && after.is_none_or(|after| call.id > *after))
        .collect();
    let page = &live[..live.len().min(switch.settings.page)];
    let next = page.last().filter(|_| live.len() > page.len()).map(|call| &call.id);
    let data: Vec<Value> = page.iter().map(|call| call.leg()).collect();
    Json(json!({ "data": data, "meta": { "cursors": { "after": next }, "total_items": live.len() } })).into_response()
}

/// What the exchange reports, in Telnyx's words. That it rings Telnyx does not tell.
async fn report(State(switch): State<Arc<Switch>>, Path(id): Path<String>, Json(said): Json<Value>) -> StatusCode {
    let Some(call) = switch.call(&id) else {
        return StatusCode::NOT_FOUND;
    };
    match said["status"].as_str() {
        Some("answered") => switch.tell(&call, "call.answered", json!({})),
        Some("ended") => {
            call.over.store(true, Ordering::SeqCst);
            let (cause, sip) = match said["cause"].as_str() {
                Some("completed") => ("normal_clearing", "200"),
                Some("busy") => ("user_busy", "486"),
                Some("no-answer") => ("timeout", "487"),
                Some("rejected") => ("call_rejected", "603"),
                Some("canceled") => ("originator_cancel", "487"),
                _ => ("unspecified", "500"),
            };
            let causes = json!({ "hangup_cause": cause, "sip_hangup_cause": sip, "hangup_source": "unknown" });
            switch.tell(&call, "call.hangup", causes);
        }
        _ => {}
    }
    StatusCode::NO_CONTENT
}
