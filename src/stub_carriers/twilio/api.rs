//! The API of calls: place one, list them, end one.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use axum::{
    Json, Router,
    extract::{Path, Query, State},
    http::{HeaderMap, StatusCode, header::RETRY_AFTER},
    response::{IntoResponse, Response},
    routing::post,
};
use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use serde_json::json;
use uuid::Uuid;

use super::{
    ACCOUNT, Stub, TOKEN,
    call::{self, Call, Stage},
    form::stream_attribute,
};
use crate::{
    carriers::twilio::account::Flavour,
    stub_carriers::{Dial, DialFault, phones::Refused},
};

/// Most characters of instructions.
const MOST_TWIML: usize = 4_000;

pub(super) fn routes(flavour: Flavour) -> Router<Arc<Stub>> {
    let api = match flavour {
        Flavour::Twilio => "/2010-04-01",
        Flavour::SignalWire => "/api/laml/2010-04-01",
    };
    Router::new()
        .route(&format!("{api}/Accounts/{{account}}/Calls.json"), post(dial).get(list))
        .route(&format!("{api}/Accounts/{{account}}/Calls/{{call}}"), post(change))
}

/// An error in the carrier's form.
struct ApiError {
    status: StatusCode,
    code: u32,
    message: String,
    retry_after: Option<Duration>,
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let more = format!("https://www.twilio.com/docs/errors/{}", self.code);
        let status = self.status.as_u16();
        let body = json!({ "code": self.code, "message": self.message, "more_info": more, "status": status });
        let answer = (self.status, Json(body));
        match self.retry_after {
            Some(pause) => ([(RETRY_AFTER, pause.as_secs().to_string())], answer).into_response(),
            None => answer.into_response(),
        }
    }
}

fn error(status: StatusCode, code: u32, message: &str) -> ApiError {
    ApiError {
        status,
        code,
        message: message.to_owned(),
        retry_after: None,
    }
}

fn unauthorized() -> ApiError {
    error(StatusCode::UNAUTHORIZED, 20_003, "Authenticate")
}

/// Whether the account, or one of its keys, asks for what is its own.
fn entitled(headers: &HeaderMap, account: &str) -> Result<(), ApiError> {
    let expected = format!("Basic {}", BASE64.encode(format!("{ACCOUNT}:{TOKEN}")));
    if headers
        .get("authorization")
        .is_none_or(|shown| shown != expected.as_str())
    {
        return Err(unauthorized());
    }
    if account != ACCOUNT {
        return Err(error(
            StatusCode::NOT_FOUND,
            20_404,
            "The requested resource was not found",
        ));
    }
    Ok(())
}

fn fields(form: &str) -> BTreeMap<String, String> {
    url::form_urlencoded::parse(form.as_bytes()).into_owned().collect()
}

/// What a dial asks for.
struct Order {
    dial: Dial,
    token: Option<String>,
    ring_seconds: f64,
}

impl Order {
    fn read(form: &str) -> Result<Self, ApiError> {
        let fields = fields(form);
        let field = |name: &str| fields.get(name).cloned().unwrap_or_default();
        let invalid = |code, message| Err(error(StatusCode::BAD_REQUEST, code, message));
        let twiml = field("Twiml");
        let stream_url = stream_attribute(&twiml, "url").unwrap_or_default();
        let events = url::form_urlencoded::parse(form.as_bytes()).filter(|(name, _)| name == "StatusCallbackEvent");
        if field("From").is_empty() {
            return invalid(21_213, "Caller phone number required");
        }
        if field("To").is_empty() {
            return invalid(21_201, "No 'To' number specified");
        }
        if twiml.len() > MOST_TWIML || !stream_url.starts_with("ws") || stream_url.contains('?') {
            return invalid(12_100, "Document parse failure");
        }
        if events.count() != 4 || field("StatusCallbackMethod") != "POST" {
            return invalid(21_626, "Invalid StatusCallbackEvent");
        }
        Ok(Self {
            token: stream_attribute(&twiml, "authBearerToken"),
            ring_seconds: field("Timeout").parse().unwrap_or(60.0),
            dial: Dial {
                to: field("To"),
                from: field("From"),
                status_url: field("StatusCallback"),
                stream_url,
            },
        })
    }
}

async fn dial(
    State(stub): State<Arc<Stub>>,
    Path(account): Path<String>,
    headers: HeaderMap,
    form: String,
) -> Result<Response, ApiError> {
    entitled(&headers, &account)?;
    let order = Order::read(&form)?;
    match stub.journal.dialed(order.dial.clone()) {
        DialFault::None => place(stub, order).await,
        DialFault::LoseAnswer => {
            place(stub, order).await?;
            std::future::pending().await
        }
        DialFault::Throttle { retry_after } => Err(ApiError {
            retry_after,
            ..error(StatusCode::TOO_MANY_REQUESTS, 20_429, "Too Many Requests")
        }),
        DialFault::RefuseAccount => Err(unauthorized()),
        DialFault::Refuse(code) => Err(error(StatusCode::BAD_REQUEST, code, "refused as asked")),
        DialFault::Break => Err(error(StatusCode::INTERNAL_SERVER_ERROR, 20_500, "An internal error")),
    }
}

async fn place(stub: Arc<Stub>, order: Order) -> Result<Response, ApiError> {
    let key = Uuid::new_v4().simple().to_string();
    let to = order.dial.to.clone();
    let (call, waiting) = stub.calls.add(&key, order.dial, order.token);
    let sid = match stub.phones.call(&stub.here, &key, &to, order.ring_seconds).await {
        Ok(sid) => sid,
        Err(refused) => {
            stub.calls.remove(&key);
            return Err(match refused {
                Refused::NoNumber => error(StatusCode::BAD_REQUEST, 21_211, "The 'To' number is not valid"),
                Refused::Other(why) => error(StatusCode::INTERNAL_SERVER_ERROR, 20_500, &why),
            });
        }
    };
    let _ = call.sid.set(sid);
    let shown = call.shown();
    call.becomes(Stage::Initiated);
    tokio::spawn(call::tell(stub, call, waiting));
    Ok((StatusCode::CREATED, Json(shown)).into_response())
}

async fn list(
    State(stub): State<Arc<Stub>>,
    Path(account): Path<String>,
    Query(query): Query<BTreeMap<String, String>>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    entitled(&headers, &account)?;
    let wanted = |call: &Arc<Call>| query.get("To").is_none_or(|to| *to == call.dial.to);
    let calls: Vec<_> = stub.calls.all().into_iter().rev().filter(wanted).collect();
    let shown: Vec<_> = calls.iter().map(|call| call.shown()).collect();
    Ok(Json(json!({ "calls": shown, "page": 0, "next_page_uri": null })).into_response())
}

async fn change(
    State(stub): State<Arc<Stub>>,
    Path((account, call)): Path<(String, String)>,
    headers: HeaderMap,
    form: String,
) -> Result<Response, ApiError> {
    entitled(&headers, &account)?;
    let sid = call.strip_suffix(".json").unwrap_or_default();
    let Some(call) = stub.calls.named(sid) else {
        return Err(error(
            StatusCode::NOT_FOUND,
            20_404,
            "The requested resource was not found",
        ));
    };
    let wanted = fields(&form).remove("Status").unwrap_or_default();
    match (&*wanted, call.stage()) {
        ("completed", Stage::InProgress) | ("canceled", Stage::Queued | Stage::Initiated | Stage::Ringing) => {
            stub.phones.hang_up(sid).await;
        }
        ("canceled", Stage::InProgress) => {}
        ("completed" | "canceled", _) => {
            return Err(error(StatusCode::BAD_REQUEST, 21_220, "Invalid call state"));
        }
        _ => return Err(error(StatusCode::BAD_REQUEST, 20_001, "Invalid parameter")),
    }
    Ok(Json(call.shown()).into_response())
}
