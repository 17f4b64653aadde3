//! The API: dial and list.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
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
    call::{Call, Order, StreamAsk},
    commands,
    media::Stream,
    stub::{API_KEY, CONNECTION, Telnyx},
};
use crate::stub_carriers::{
    base::{
        answer,
        phones::{self, Phone},
    },
    settings::{Dial, DialFault, NUMBERS, NUMBERS_PER_PAGE, locked},
};

/// Time for which Telnyx listens before it reports who answered.
const VERDICT_AFTER: Duration = Duration::from_millis(2_500);

/// Fields of a dial request that the stub uses.
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

pub(super) fn routes() -> Router<Arc<Telnyx>> {
    Router::new()
        .route("/v2/balance", get(balance))
        .route("/v2/phone_numbers", get(numbers))
        .route("/v2/calls", post(dial))
        .route("/v2/calls/{call}/actions/{action}", post(commands::command))
        .route("/v2/connections/{connection}/active_calls", get(list))
}

/// An error response.
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

fn not_known() -> Refused {
    refusal(StatusCode::UNAUTHORIZED, "10009", "Authentication failed", "")
}

fn throttled() -> Refused {
    refusal(StatusCode::TOO_MANY_REQUESTS, "10011", "Too many requests", "")
}

pub(super) fn broken() -> Refused {
    refusal(StatusCode::INTERNAL_SERVER_ERROR, "10007", "Unexpected error", "")
}

impl Telnyx {
    pub(super) fn knows(&self, headers: &HeaderMap) -> Result<(), Refused> {
        let wanted = format!("Bearer {API_KEY}");
        let shown = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        if shown == Some(&*wanted) {
            return Ok(());
        }
        Err(not_known())
    }

    fn check(&self, ask: &Ask) -> Result<(), Refused> {
        telephone(&ask.to, "/to")?;
        if ask.from != telephone(&ask.from, "/from")? {
            return Err(unprocessable("10016", "Phone number must be in +E.164 format", "/from"));
        }
        if ask.connection_id != CONNECTION {
            return Err(unprocessable("10015", "Invalid connection_id", "/connection_id"));
        }
        if !(5..=600).contains(&ask.timeout_secs) {
            return Err(unprocessable("10015", "timeout_secs must be 5 to 600", "/timeout_secs"));
        }
        Ok(())
    }

    /// Returns the call of the same command; a repeat has no effect and gets the first response again.
    fn repeated(&self, ask: &Ask) -> Option<Arc<Call>> {
        ask.command_id.as_ref()?;
        let same = |call: &Arc<Call>| call.order.command_id == ask.command_id;
        self.calls.all().into_iter().find(same)
    }

    /// Makes the exchange ring the telephone.
    pub(super) async fn ring(&self, call: &Call) -> Result<(), Refused> {
        let phone = Phone {
            number: &call.order.phone,
            persona: call.order.persona.as_ref(),
            ring_seconds: call.order.ring_seconds as f64,
        };
        let line = self.base.phones.call(&self.base.here(), &call.id, phone).await;
        let line = line.map_err(|refused| match refused {
            phones::Refused::NoNumber => unprocessable("10002", "Invalid phone number", "/to"),
            phones::Refused::Other(_) => broken(),
        })?;
        let _ = call.line.set(line);
        Ok(())
    }
}

/// Returns the telephone to call; that of a SIP address is its user.
pub(super) fn telephone(to: &str, pointer: &'static str) -> Result<String, Refused> {
    let user = to.strip_prefix("sip:").and_then(|address| address.split('@').next());
    let number = user.unwrap_or(to);
    match PhoneNumber::parse(number) {
        Ok(parsed) if parsed.as_str() == number => Ok(number.to_owned()),
        _ => Err(unprocessable("10016", "Phone number must be in +E.164 format", pointer)),
    }
}

async fn dial(State(stub): State<Arc<Telnyx>>, headers: HeaderMap, body: Bytes) -> Result<Response, Refused> {
    let order: Value = serde_json::from_slice(&body).unwrap_or_default();
    let text = |field: &str| order[field].as_str().unwrap_or_default().to_owned();
    let fault = stub.base.dialed(Dial {
        to: text("to"),
        from: text("from"),
        status_url: text("webhook_url"),
        stream_url: text("stream_url"),
    });
    locked(&stub.orders).push(order);
    stub.knows(&headers)?;
    match fault {
        DialFault::Throttle { .. } => return Err(throttled()),
        DialFault::Break => return Err(broken()),
        DialFault::Answer(status, body) => return Ok(answer(status, body)),
        DialFault::RefuseAccount => return Err(not_known()),
        DialFault::Refuse(_) => return Err(unprocessable("10015", "refused as asked", "")),
        DialFault::None | DialFault::LoseAnswer => {}
    }
    // Runs in its own task: a client that disconnects must not undo a dial.
    let task = tokio::spawn(async move { place(&stub, &body).await });
    match task.await {
        Ok(Ok(_)) if fault == DialFault::LoseAnswer => std::future::pending().await,
        Ok(Ok(call)) => Ok(Json(json!({ "data": call.shown() })).into_response()),
        Ok(Err(refused)) => Err(refused),
        Err(_) => Err(broken()),
    }
}

async fn place(stub: &Arc<Telnyx>, body: &[u8]) -> Result<Arc<Call>, Refused> {
    let ask: Ask = serde_json::from_slice(body).map_err(|error| unprocessable("10015", &error.to_string(), ""))?;
    stub.check(&ask)?;
    if let Some(call) = stub.repeated(&ask) {
        return Ok(call);
    }
    let order = Order {
        phone: telephone(&ask.to, "/to")?,
        from: ask.from,
        to: ask.to,
        ring_seconds: ask.timeout_secs,
        command_id: ask.command_id,
        machine_detection: ask.answering_machine_detection,
        reports: Mutex::new((ask.webhook_url, ask.client_state)),
        first_stream: Mutex::new(Some(ask.stream).filter(|stream| !stream.stream_url.is_empty())),
        ..Order::default()
    };
    stub.begin(order).await
}

pub(super) fn new_id() -> String {
    format!("v3:{}", Uuid::new_v4().simple())
}

impl Telnyx {
    /// Rings a new leg's telephone and reports the leg.
    pub(super) async fn begin(self: &Arc<Self>, order: Order) -> Result<Arc<Call>, Refused> {
        let (call, _) = self.calls.add(new_id(), order, self.base.clock.now());
        if let Err(refused) = self.ring(&call).await {
            self.calls.remove(&call.id);
            return Err(refused);
        }
        self.tell(&call, "call.initiated", json!({ "state": "bridging" }));
        if self.settings.faults.early_streams {
            self.stream_early(&call).await;
        }
        Ok(call)
    }

    /// Opens a new leg's stream while it rings.
    async fn stream_early(self: &Arc<Self>, call: &Arc<Call>) {
        let Some(ask) = locked(&call.order.first_stream).take() else {
            return;
        };
        match Stream::connect(self, &ask, true).await {
            Ok(stream) => *locked(&call.order.early_stream) = Some(stream),
            Err(reason) => {
                let reason = reason.to_string();
                self.tell(call, "streaming.failed", json!({ "failure_reason": reason }));
            }
        }
    }

    /// Reports who answered, if that was requested. The leg's flow reports a mailbox's beep.
    pub(super) fn judge(self: &Arc<Self>, call: &Arc<Call>) {
        if matches!(&*call.order.machine_detection, "" | "disabled") {
            return;
        }
        let (stub, call) = (self.clone(), call.clone());
        self.base.spawn(async move {
            sleep(VERDICT_AFTER).await;
            let (event, human) = match &*call.order.machine_detection {
                premium if premium.starts_with("premium") => {
                    ("call.machine.premium.detection.ended", "human_residence")
                }
                _ => ("call.machine.detection.ended", "human"),
            };
            let result = if call.is_machine() { "machine" } else { human };
            stub.tell(&call, event, json!({ "result": result }));
        });
    }
}

async fn balance(State(stub): State<Arc<Telnyx>>, headers: HeaderMap) -> Result<Json<Value>, Refused> {
    stub.knows(&headers)?;
    let balance = json!({ "record_type": "balance", "balance": "100.00", "currency": "USD" });
    Ok(Json(json!({ "data": balance })))
}

async fn numbers(
    State(stub): State<Arc<Telnyx>>,
    Query(query): Query<BTreeMap<String, String>>,
    headers: HeaderMap,
) -> Result<Json<Value>, Refused> {
    stub.knows(&headers)?;
    let page = query.get("page[number]").and_then(|page| page.parse().ok());
    let page: usize = page.unwrap_or(1);
    let pages: Vec<_> = NUMBERS.chunks(NUMBERS_PER_PAGE).collect();
    let numbers = pages.get(page.saturating_sub(1)).copied().unwrap_or_default();
    let data: Vec<Value> = numbers
        .iter()
        .map(|number| json!({ "phone_number": number, "status": "active", "connection_id": CONNECTION }))
        .collect();
    let meta = json!({
        "page_number": page, "page_size": NUMBERS_PER_PAGE, "total_pages": pages.len(), "total_results": NUMBERS.len(),
    });
    Ok(Json(json!({ "data": data, "meta": meta })))
}

async fn list(
    State(stub): State<Arc<Telnyx>>,
    Path(connection): Path<String>,
    Query(query): Query<BTreeMap<String, String>>,
    headers: HeaderMap,
) -> Result<Json<Value>, Refused> {
    stub.knows(&headers)?;
    if connection != CONNECTION {
        return Err(refusal(StatusCode::NOT_FOUND, "10005", "Resource not found", ""));
    }
    let after = query.get("page[after]");
    let mut live = stub.calls.all();
    live.retain(|call| !call.is_over() && after.is_none_or(|after| call.id > *after));
    live.sort_by(|one, other| one.id.cmp(&other.id));
    let page = &live[..live.len().min(stub.settings.page)];
    let next = page.last().filter(|_| live.len() > page.len()).map(|call| &call.id);
    let data: Vec<Value> = page.iter().map(|call| call.shown()).collect();
    let meta = json!({ "cursors": { "after": next }, "total_items": live.len() });
    Ok(Json(json!({ "data": data, "meta": meta })))
}
