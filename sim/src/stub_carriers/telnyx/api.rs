//! The API: dial and list; and where the exchange reports.

use std::{
    collections::BTreeMap,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

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
use domain::phone_number::PhoneNumber;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::sleep;
use uuid::Uuid;

use super::{
    Switch,
    call::{Call, Leg, Stage, StreamAsk},
    commands, flow, lock,
    media::Stream,
};
use crate::stub_carriers::NUMBER;

/// How long Telnyx listens before it says who answered.
const VERDICT_AFTER: Duration = Duration::from_millis(2_500);

/// What is asked for with a dial, as far as the stub minds it.
#[derive(Debug, Clone, Deserialize)]
struct Ask {
    connection_id: String,
    to: String,
    from: String,
    #[serde(default = "ring_seconds")]
    timeout_secs: u64,
    #[serde(default)]
    client_state: Option<String>,
    #[serde(default)]
    command_id: Option<String>,
    webhook_url: String,
    #[serde(default)]
    answering_machine_detection: String,
    #[serde(flatten)]
    stream: StreamAsk,
}

fn ring_seconds() -> u64 {
    30
}

pub(super) fn router(switch: Arc<Switch>) -> Router {
    Router::new()
        .route("/v2/balance", get(balance))
        .route("/v2/phone_numbers", get(numbers))
        .route("/v2/calls", post(dial))
        .route("/v2/calls/{call}/actions/{action}", post(commands::command))
        .route("/v2/connections/{connection}/active_calls", get(list))
        .route("/exchange/status/{call}", post(report))
        .route("/exchange/media/{call}", get(flow::open))
        .with_state(switch)
}

/// An answer that is no success.
#[derive(Debug)]
pub(super) struct Refused {
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

pub(super) fn refusal(status: StatusCode, code: &'static str, detail: &str, pointer: &'static str) -> Refused {
    Refused {
        status,
        code,
        detail: detail.to_owned(),
        pointer,
    }
}

pub(super) fn unprocessable(code: &'static str, detail: &str, pointer: &'static str) -> Refused {
    refusal(StatusCode::UNPROCESSABLE_ENTITY, code, detail, pointer)
}

fn throttled() -> Refused {
    refusal(StatusCode::TOO_MANY_REQUESTS, "10011", "Too many requests", "")
}

pub(super) fn broken() -> Refused {
    refusal(StatusCode::INTERNAL_SERVER_ERROR, "10007", "Unexpected error", "")
}

impl Switch {
    pub(super) fn knows(&self, headers: &HeaderMap) -> Result<(), Refused> {
        let wanted = format!("Bearer {}", self.settings.api_key);
        let shown = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        if shown == Some(&*wanted) {
            return Ok(());
        }
        Err(refusal(StatusCode::UNAUTHORIZED, "10009", "Authentication failed", ""))
    }

    fn check(&self, ask: &Ask) -> Result<(), Refused> {
        telephone(&ask.to, "/to")?;
        if ask.from != telephone(&ask.from, "/from")? {
            return Err(unprocessable("10016", "Phone number must be in +E.164 format", "/from"));
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
        ask.command_id.as_ref()?;
        let same = |call: &&Arc<Call>| call.leg.command_id == ask.command_id;
        lock(&self.calls).values().find(same).cloned()
    }

    /// Has the exchange ring the telephone.
    pub(super) async fn ring(&self, call: &Call) -> Result<(), Refused> {
        let (leg, id) = (&call.leg, &call.leg.id);
        let persona = leg.persona.as_ref().or_else(|| self.settings.personas.get(&leg.phone));
        let of_name = |name: &String| {
            let is_script = self.settings.exchange.scripts.contains_key(name);
            json!({ if is_script { "script" } else { "persona" }: name })
        };
        let body = json!({
            "to": leg.phone, "from": leg.from, "attempt": id,
            "statusUrl": format!("http://{}/exchange/status/{id}", self.own),
            "streamUrl": format!("ws://{}/exchange/media/{id}", self.own),
            "ringTimeoutSeconds": leg.ring_seconds,
            "hints": persona.map_or_else(|| json!({}), of_name),
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

/// The telephone that is called; that of a SIP address is its user.
pub(super) fn telephone(to: &str, pointer: &'static str) -> Result<String, Refused> {
    let user = to.strip_prefix("sip:").and_then(|address| address.split('@').next());
    let number = user.unwrap_or(to);
    match PhoneNumber::parse(number) {
        Ok(parsed) if parsed.as_str() == number => Ok(number.to_owned()),
        _ => Err(unprocessable("10016", "Phone number must be in +E.164 format", pointer)),
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
        Ok((Ok(call), false)) => Json(json!({ "data": call.shown() })).into_response(),
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
    let call = switch.add(Leg {
        id: new_id(),
        phone: telephone(&ask.to, "/to")?,
        persona: None,
        from: ask.from,
        to: ask.to,
        is_incoming: false,
        ring_seconds: ask.timeout_secs,
        webhook_url: ask.webhook_url,
        client_state: ask.client_state,
        command_id: ask.command_id,
        stream: Some(ask.stream).filter(|stream| !stream.stream_url.is_empty()),
        machine_detection: ask.answering_machine_detection,
    });
    switch.begin(&call).await?;
    Ok(call)
}

pub(super) fn new_id() -> String {
    format!("v3:{}", Uuid::new_v4().simple())
}

impl Switch {
    /// Rings a new leg's telephone, and tells of it.
    pub(super) async fn begin(self: &Arc<Self>, call: &Arc<Call>) -> Result<(), Refused> {
        if let Err(refused) = self.ring(call).await {
            lock(&self.calls).remove(&call.leg.id);
            return Err(refused);
        }
        self.tell(call, "call.initiated", json!({ "state": "bridging" }));
        if self.settings.faults.early_streams {
            self.stream_early(call).await;
        }
        Ok(())
    }

    /// Opens a new leg's stream while it rings.
    async fn stream_early(self: &Arc<Self>, call: &Arc<Call>) {
        let Some(ask) = lock(&call.first_stream).take() else {
            return;
        };
        match Stream::connect(self, &ask, true).await {
            Ok(stream) => *lock(&call.early_stream) = Some(stream),
            Err(reason) => self.tell(call, "streaming.failed", json!({ "failure_reason": reason })),
        }
    }

    /// Says who answered, where that was asked for. When a mailbox beeps its line says.
    fn judge(self: &Arc<Self>, call: &Arc<Call>) {
        if matches!(&*call.leg.machine_detection, "" | "disabled") {
            return;
        }
        let (switch, call) = (self.clone(), call.clone());
        self.spawn(async move {
            sleep(VERDICT_AFTER).await;
            let (event, human) = match &*call.leg.machine_detection {
                "premium" => ("call.machine.premium.detection.ended", "human_residence"),
                _ => ("call.machine.detection.ended", "human"),
            };
            let result = if call.is_machine() { "machine" } else { human };
            switch.tell(&call, event, json!({ "result": result }));
        });
    }
}

async fn balance(State(switch): State<Arc<Switch>>, headers: HeaderMap) -> Result<Json<Value>, Refused> {
    switch.knows(&headers)?;
    let balance = json!({ "record_type": "balance", "balance": "100.00", "currency": "USD" });
    Ok(Json(json!({ "data": balance })))
}

async fn numbers(State(switch): State<Arc<Switch>>, headers: HeaderMap) -> Result<Json<Value>, Refused> {
    switch.knows(&headers)?;
    let number = json!({ "phone_number": NUMBER, "status": "active", "connection_id": switch.settings.connection });
    Ok(Json(json!({ "data": [number] })))
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
        .filter(|call| !call.is_over() && after.is_none_or(|after| call.leg.id > *after))
        .collect();
    let page = &live[..live.len().min(switch.settings.page)];
    let next = page.last().filter(|_| live.len() > page.len()).map(|call| &call.leg.id);
    let data: Vec<Value> = page.iter().map(|call| call.shown()).collect();
    Json(json!({ "data": data, "meta": { "cursors": { "after": next }, "total_items": live.len() } })).into_response()
}

/// What the exchange reports, in Telnyx's words. That it rings Telnyx does not tell.
async fn report(State(switch): State<Arc<Switch>>, Path(id): Path<String>, Json(said): Json<Value>) -> StatusCode {
    let Some(call) = switch.call(&id) else {
        return StatusCode::NOT_FOUND;
    };
    match said["status"].as_str() {
        Some("answered") => {
            call.becomes(Stage::Answered);
            switch.tell(&call, "call.answered", json!({}));
            switch.judge(&call);
        }
        Some("ended") => {
            let (cause, sip) = match said["cause"].as_str() {
                Some("completed") => ("normal_clearing", "200"),
                Some("busy") => ("user_busy", "486"),
                Some("no-answer") => ("timeout", "487"),
                Some("rejected") => ("call_rejected", "603"),
                Some("canceled") => ("originator_cancel", "487"),
                _ => ("unspecified", "500"),
            };
            switch.ended(&call, cause, sip);
        }
        _ => {}
    }
    StatusCode::NO_CONTENT
}
