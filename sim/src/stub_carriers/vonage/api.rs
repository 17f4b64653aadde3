//! The API of calls: place one, list them, show, change and end one, press its keys.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use axum::{
    Json, Router,
    body::Bytes,
    extract::{Path, Query, State},
    http::{
        HeaderMap, StatusCode,
        header::{AUTHORIZATION, RETRY_AFTER},
    },
    response::{IntoResponse, Response},
    routing::{get, post, put},
};
use serde_json::{Value, json};

use super::{
    flow::called,
    leg::{self, Leg, Order},
    socket::rate,
    stub::Vonage,
};
use crate::stub_carriers::{
    base::{answer, phones::Refused},
    flow::Change,
    settings::{Dial, DialFault, locked},
};

/// Most bytes of a socket's headers.
const MOST_HEADERS: usize = 512;

pub(super) fn routes() -> Router<Arc<Vonage>> {
    Router::new()
        .route("/v1/calls", post(dial).get(list))
        .route("/v1/calls/{call}", get(show).put(change))
        .route("/v1/calls/{call}/dtmf", put(press))
}

/// An error in Vonage's form.
struct ApiError {
    status: StatusCode,
    title: String,
    /// Invalid parameter.
    parameter: &'static str,
    retry_after: Option<Duration>,
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut body = json!({ "type": "https://developer.nexmo.com/api-errors", "title": self.title });
        if !self.parameter.is_empty() {
            body["invalid_parameters"] = json!([{ "name": self.parameter, "reason": self.title }]);
        }
        let answer = (self.status, Json(body));
        match self.retry_after {
            Some(pause) => ([(RETRY_AFTER, pause.as_secs().to_string())], answer).into_response(),
            None => answer.into_response(),
        }
    }
}

fn error(status: StatusCode, title: &str) -> ApiError {
    ApiError {
        status,
        title: title.to_owned(),
        parameter: "",
        retry_after: None,
    }
}

fn invalid(parameter: &'static str, title: &str) -> ApiError {
    ApiError {
        parameter,
        ..error(StatusCode::BAD_REQUEST, title)
    }
}

impl Vonage {
    fn entitled(&self, headers: &HeaderMap) -> Result<(), ApiError> {
        let shown = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        if self.applications.admits(shown) {
            Ok(())
        } else {
            Err(error(StatusCode::UNAUTHORIZED, "Unauthorized"))
        }
    }

    fn leg(&self, call: &str) -> Result<Arc<Leg>, ApiError> {
        self.legs
            .get(call)
            .ok_or_else(|| error(StatusCode::NOT_FOUND, "Not Found"))
    }
}

fn is_number(text: &str) -> bool {
    (7..=15).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Checks that the instructions can be followed.
fn check(ncco: &[Value]) -> Result<(), ApiError> {
    for action in ncco {
        let endpoint = &action["endpoint"][0];
        let sound = match (action["action"].as_str(), endpoint["type"].as_str()) {
            (Some("conversation"), None) => action["name"].is_string(),
            (Some("connect"), Some("phone")) => is_number(endpoint["number"].as_str().unwrap_or_default()),
            (Some("connect"), Some("sip")) => endpoint["uri"].as_str().is_some_and(|uri| uri.starts_with("sip")),
            (Some("connect"), Some("websocket")) => {
                let short = endpoint["headers"].to_string().len() <= MOST_HEADERS;
                let socket = endpoint["uri"].as_str().is_some_and(|uri| uri.starts_with("ws"));
                short && socket && rate(endpoint["content-type"].as_str().unwrap_or_default()).is_some()
            }
            _ => false,
        };
        if !sound {
            return Err(invalid("ncco", "Syntax error in NCCO. Invalid value type or action."));
        }
    }
    Ok(())
}

/// Parses a request for a call.
fn order(body: &Value) -> Result<Order, ApiError> {
    let (to, from) = (&body["to"][0], body["from"]["number"].as_str().unwrap_or_default());
    let ncco = body["ncco"]
        .as_array()
        .ok_or_else(|| invalid("ncco", "no instructions"))?;
    check(ncco)?;
    if !is_number(&called(to)) || (to["type"] == "phone" && !is_number(to["number"].as_str().unwrap_or_default())) {
        return Err(invalid("to", "must be a number in E.164 without a plus"));
    }
    if !is_number(from) {
        return Err(invalid("from", "must be a number in E.164 without a plus"));
    }
    let ring = body["ringing_timer"].as_f64().unwrap_or(60.0);
    if !(1.0..=120.0).contains(&ring) {
        return Err(invalid("ringing_timer", "must be 1 to 120"));
    }
    let machines = &body["advanced_machine_detection"];
    if !machines.is_null() && !(45..=120).contains(&machines["beep_timeout"].as_u64().unwrap_or_default()) {
        return Err(invalid("advanced_machine_detection", "beep_timeout must be 45 to 120"));
    }
    let to = called(to);
    Ok(Order {
        phone: format!("+{to}"),
        to,
        from: from.to_owned(),
        event_url: body["event_url"][0].as_str().unwrap_or_default().to_owned(),
        ring_seconds: ring,
        ncco: ncco.clone(),
        detects_machines: !machines.is_null(),
        is_outbound: true,
        ..Order::default()
    })
}

async fn dial(State(stub): State<Arc<Vonage>>, headers: HeaderMap, body: Bytes) -> Result<Response, ApiError> {
    stub.entitled(&headers)?;
    let body: Value = serde_json::from_slice(&body).map_err(|_| error(StatusCode::BAD_REQUEST, "Bad Request"))?;
    *locked(&stub.last_order) = body.clone();
    let order = order(&body)?;
    let dial = Dial {
        to: order.phone.clone(),
        from: format!("+{}", order.from),
        status_url: order.event_url.clone(),
        stream_url: order.ncco[0]["endpoint"][0]["uri"]
            .as_str()
            .unwrap_or_default()
            .to_owned(),
    };
    match stub.base.dialed(dial) {
        DialFault::None => place(&stub, order).await,
        DialFault::LoseAnswer => {
            // Runs in its own task: a client that disconnects must not undo a dial.
            tokio::spawn(async move { place(&stub, order).await.is_ok() });
            std::future::pending().await
        }
        DialFault::Throttle { retry_after } => Err(ApiError {
            retry_after,
            ..error(StatusCode::TOO_MANY_REQUESTS, "Rate Limit Hit")
        }),
        DialFault::Answer(status, body) => Ok(answer(status, body)),
        DialFault::RefuseAccount => Err(error(StatusCode::UNAUTHORIZED, "Unauthorized")),
        DialFault::Refuse(status) => {
            let status = u16::try_from(status)
                .ok()
                .and_then(|status| StatusCode::from_u16(status).ok());
            Err(error(status.unwrap_or(StatusCode::BAD_REQUEST), "refused as asked"))
        }
        DialFault::Break => Err(error(StatusCode::INTERNAL_SERVER_ERROR, "Internal Error")),
    }
}

async fn place(stub: &Arc<Vonage>, order: Order) -> Result<Response, ApiError> {
    let leg = leg::ring(stub, order).await.map_err(|refused| match refused {
        Refused::NoNumber => invalid("to", "invalid number"),
        Refused::Other(why) => error(StatusCode::INTERNAL_SERVER_ERROR, &why),
    })?;
    let placed = json!({
        "uuid": leg.id, "status": "started", "direction": "outbound",
        "conversation_uuid": format!("CON-{}", leg.id),
    });
    Ok((StatusCode::CREATED, Json(placed)).into_response())
}

async fn list(
    State(stub): State<Arc<Vonage>>,
    Query(query): Query<BTreeMap<String, String>>,
    headers: HeaderMap,
) -> Result<Json<Value>, ApiError> {
    stub.entitled(&headers)?;
    let number = |name: &str, otherwise: usize| query.get(name).map_or(Ok(otherwise), |text| text.parse());
    let wrong = |_| error(StatusCode::BAD_REQUEST, "Bad Request");
    let size = number("page_size", 10).map_err(wrong)?;
    let index = number("record_index", 0).map_err(wrong)?;
    if !(1..=100).contains(&size) {
        return Err(invalid("page_size", "must be 1 to 100"));
    }
    let size = stub.faults.short_pages.map_or(size, |most| most.min(size));
    let mut legs = stub.legs.all();
    if query.get("order").is_some_and(|order| order == "desc") {
        legs.reverse();
    }
    let calls: Vec<Value> = legs.iter().skip(index).take(size).map(|leg| leg.shown()).collect();
    Ok(Json(json!({
        "count": legs.len(), "page_size": size, "record_index": index, "_embedded": { "calls": calls },
    })))
}

async fn show(
    State(stub): State<Arc<Vonage>>,
    Path(call): Path<String>,
    headers: HeaderMap,
) -> Result<Json<Value>, ApiError> {
    stub.entitled(&headers)?;
    Ok(Json(stub.leg(&call)?.shown()))
}

async fn change(
    State(stub): State<Arc<Vonage>>,
    Path(call): Path<String>,
    headers: HeaderMap,
    Json(body): Json<Value>,
) -> Result<StatusCode, ApiError> {
    stub.entitled(&headers)?;
    let leg = stub.leg(&call)?;
    let wrong_state = || error(StatusCode::BAD_REQUEST, "Bad Request");
    if leg.is_over() {
        return Err(wrong_state());
    }
    match body["action"].as_str() {
        Some("hangup") => stub.base.phones.hang_up(&leg.line).await,
        Some("transfer") if body["destination"]["type"] == "ncco" => {
            let ncco = body["destination"]["ncco"].as_array().ok_or_else(wrong_state)?;
            check(ncco)?;
            if !leg.change(Change::Instead(ncco.clone())) {
                return Err(wrong_state());
            }
        }
        _ => return Err(invalid("action", "unknown action")),
    }
    Ok(StatusCode::NO_CONTENT)
}

async fn press(
    State(stub): State<Arc<Vonage>>,
    Path(call): Path<String>,
    headers: HeaderMap,
    Json(body): Json<Value>,
) -> Result<Json<Value>, ApiError> {
    stub.entitled(&headers)?;
    let leg = stub.leg(&call)?;
    let keys = body["digits"].as_str().unwrap_or_default();
    if keys.is_empty() || !keys.chars().all(|key| matches!(key, '0'..='9' | '*' | '#' | 'p')) {
        return Err(invalid("digits", "must be 0 to 9, *, # or p"));
    }
    if !leg.change(Change::Keys(keys.to_owned())) {
        return Err(error(StatusCode::BAD_REQUEST, "Bad Request"));
    }
    stub.base.pressed(keys);
    Ok(Json(json!({ "message": "DTMF sent", "uuid": call })))
}
