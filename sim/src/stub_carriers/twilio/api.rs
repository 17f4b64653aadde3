//! The API of calls: place one, list them, show one, end one or give it other instructions.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use axum::{
    Json, Router,
    extract::{OriginalUri, Path, Query, State},
    http::{HeaderMap, StatusCode, header::RETRY_AFTER},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use serde_json::json;

use super::{
    call::{self, Call, Order},
    stub::{ACCOUNT, Flavour, TOKEN, Twilio},
    twiml::{self, Verb},
};
use crate::stub_carriers::{
    base::{
        answer,
        phones::{Cause, Refused},
    },
    flow::Change,
    legs::Stage,
    settings::{Dial, DialFault, NUMBERS, NUMBERS_PER_PAGE, locked},
};

pub(super) fn routes(flavour: Flavour) -> Router<Arc<Twilio>> {
    let api = match flavour {
        Flavour::Twilio => "/2010-04-01",
        Flavour::SignalWire => "/api/laml/2010-04-01",
    };
    Router::new()
        .route(&format!("{api}/Accounts/{{account}}"), get(account))
        .route(
            &format!("{api}/Accounts/{{account}}/IncomingPhoneNumbers.json"),
            get(numbers),
        )
        .route(&format!("{api}/Accounts/{{account}}/Calls.json"), post(dial).get(list))
        .route(
            &format!("{api}/Accounts/{{account}}/Calls/{{call}}"),
            post(change).get(show),
        )
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

/// Checks that the account, or one of its keys, asks for its own resources.
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

/// Returns the account itself.
async fn account(Path(account): Path<String>, headers: HeaderMap) -> Result<Response, ApiError> {
    entitled(&headers, account.strip_suffix(".json").unwrap_or_default())?;
    Ok(Json(json!({ "sid": ACCOUNT, "friendly_name": "Stub", "status": "active" })).into_response())
}

/// Lists the numbers in pages. At Twilio a page but the first is found by its token, which only the page before tells.
async fn numbers(
    State(stub): State<Arc<Twilio>>,
    Path(account): Path<String>,
    OriginalUri(uri): OriginalUri,
    Query(query): Query<BTreeMap<String, String>>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    entitled(&headers, &account)?;
    let page: usize = query.get("Page").and_then(|page| page.parse().ok()).unwrap_or(0);
    let token = |page: usize| match stub.flavour {
        Flavour::Twilio => format!("&PageToken=PA{page}"),
        Flavour::SignalWire => String::new(),
    };
    if page > 0 && !uri.query().unwrap_or_default().ends_with(&token(page)) {
        return Err(invalid(20_006, "Page number out of range"));
    }
    let pages: Vec<_> = NUMBERS.chunks(NUMBERS_PER_PAGE).collect();
    let numbers = pages.get(page).copied().unwrap_or_default();
    let next = page + 1;
    let next_uri = format!("{}?PageSize={NUMBERS_PER_PAGE}&Page={next}{}", uri.path(), token(next));
    let numbers: Vec<_> = numbers
        .iter()
        .map(|number| json!({ "phone_number": number, "capabilities": { "voice": true } }))
        .collect();
    let next_uri = (next < pages.len()).then_some(next_uri);
    Ok(Json(json!({ "incoming_phone_numbers": numbers, "page": page, "next_page_uri": next_uri })).into_response())
}

fn fields(form: &str) -> BTreeMap<String, String> {
    url::form_urlencoded::parse(form.as_bytes()).into_owned().collect()
}

fn invalid(code: u32, message: &str) -> ApiError {
    error(StatusCode::BAD_REQUEST, code, message)
}

/// Parses the form of a dial.
fn order(stub: &Twilio, form: &str) -> Result<Order, ApiError> {
    let fields = fields(form);
    let field = |name: &str| fields.get(name).cloned().unwrap_or_default();
    if field("From").is_empty() {
        return Err(invalid(21_213, "Caller phone number required"));
    }
    if field("To").is_empty() {
        return Err(invalid(21_201, "No 'To' number specified"));
    }
    let verbs = instructions(stub, &fields)?;
    let events = url::form_urlencoded::parse(form.as_bytes()).filter(|(name, _)| name == "StatusCallbackEvent");
    let events: Vec<_> = events.map(|(_, event)| event.into_owned()).collect();
    if events.len() != 4 || field("StatusCallbackMethod") != "POST" {
        return Err(invalid(21_626, "Invalid StatusCallbackEvent"));
    }
    let stream = verbs.first().and_then(Verb::stream);
    Ok(Order {
        dial: Dial {
            to: field("To"),
            from: field("From"),
            status_url: field("StatusCallback"),
            stream_url: stream.map_or_else(String::new, |stream| stream.get("url").to_owned()),
        },
        events,
        ring_seconds: field("Timeout").parse().unwrap_or(60.0),
        verdict_url: verdict_url(&fields)?,
        verbs,
        direction: "outbound-api",
        ..Order::default()
    })
}

/// Returns the instructions of a request. SignalWire takes only the address of a document, which it fetches
/// when the call is up.
fn instructions(stub: &Twilio, fields: &BTreeMap<String, String>) -> Result<Vec<Verb>, ApiError> {
    let field = |name: &str| fields.get(name).map_or("", String::as_str);
    match stub.flavour {
        Flavour::Twilio if !stub.takes(field("Twiml")) => Err(invalid(12_200, "Schema validation warning")),
        Flavour::Twilio => twiml::parse(field("Twiml")).ok_or_else(|| invalid(12_100, "Document parse failure")),
        Flavour::SignalWire if field("Url").starts_with("http") && matches!(field("Method"), "" | "POST") => {
            Ok(vec![Verb::redirect(field("Url"))])
        }
        Flavour::SignalWire => Err(invalid(21_205, "Invalid Url")),
    }
}

/// Returns the address of the machine detection's result. A stub detects only asynchronously.
fn verdict_url(fields: &BTreeMap<String, String>) -> Result<Option<String>, ApiError> {
    let Some(kind) = fields.get("MachineDetection") else {
        return Ok(None);
    };
    let beside = fields.get("AsyncAmd").is_some_and(|value| value == "true");
    if !beside || !matches!(&**kind, "Enable" | "DetectMessageEnd") {
        return Err(invalid(21_243, "Invalid MachineDetection"));
    }
    Ok(fields.get("AsyncAmdStatusCallback").cloned())
}

async fn dial(
    State(stub): State<Arc<Twilio>>,
    Path(account): Path<String>,
    headers: HeaderMap,
    form: String,
) -> Result<Response, ApiError> {
    entitled(&headers, &account)?;
    *locked(&stub.last_order) = fields(&form);
    let order = order(&stub, &form)?;
    match stub.base.dialed(order.dial.clone()) {
        DialFault::None => place(&stub, order).await,
        DialFault::LoseAnswer => {
            // Runs in its own task: a client that disconnects must not undo a dial.
            tokio::spawn(async move { place(&stub, order).await.is_ok() });
            std::future::pending().await
        }
        DialFault::Throttle { retry_after } => Err(ApiError {
            retry_after,
            ..error(StatusCode::TOO_MANY_REQUESTS, 20_429, "Too Many Requests")
        }),
        DialFault::Answer(status, body) => Ok(answer(status, body)),
        DialFault::RefuseAccount => Err(unauthorized()),
        DialFault::Refuse(code) => Err(error(StatusCode::BAD_REQUEST, code, "refused as asked")),
        DialFault::Break => Err(error(StatusCode::INTERNAL_SERVER_ERROR, 20_500, "An internal error")),
    }
}

async fn place(stub: &Arc<Twilio>, order: Order) -> Result<Response, ApiError> {
    let call = call::ring(stub, order).await.map_err(|refused| match refused {
        Refused::NoNumber => invalid(21_211, "The 'To' number is not valid"),
        Refused::Other(why) => error(StatusCode::INTERNAL_SERVER_ERROR, 20_500, &why),
    })?;
    let mut shown = call.shown();
    shown["status"] = json!("queued");
    Ok((StatusCode::CREATED, Json(shown)).into_response())
}

async fn list(
    State(stub): State<Arc<Twilio>>,
    Path(account): Path<String>,
    Query(query): Query<BTreeMap<String, String>>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    entitled(&headers, &account)?;
    let wanted = |call: &Arc<Call>| query.get("To").is_none_or(|to| *to == call.order.dial.to);
    let calls: Vec<_> = stub.calls.all().into_iter().rev().filter(wanted).collect();
    let shown: Vec<_> = calls.iter().map(|call| call.shown()).collect();
    Ok(Json(json!({ "calls": shown, "page": 0, "next_page_uri": null })).into_response())
}

impl Twilio {
    fn named(&self, call: &str) -> Result<Arc<Call>, ApiError> {
        let call = call.strip_suffix(".json").and_then(|sid| self.calls.get(sid));
        call.ok_or_else(|| error(StatusCode::NOT_FOUND, 20_404, "The requested resource was not found"))
    }
}

async fn show(
    State(stub): State<Arc<Twilio>>,
    Path((account, call)): Path<(String, String)>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    entitled(&headers, &account)?;
    Ok(Json(stub.named(&call)?.shown()).into_response())
}

async fn change(
    State(stub): State<Arc<Twilio>>,
    Path((account, call)): Path<(String, String)>,
    headers: HeaderMap,
    form: String,
) -> Result<Response, ApiError> {
    entitled(&headers, &account)?;
    let call = stub.named(&call)?;
    let fields = fields(&form);
    if fields.contains_key("Twiml") || fields.contains_key("Url") {
        if stub.faults.deaf {
            std::future::pending::<()>().await;
        }
        let verbs = instructions(&stub, &fields)?;
        *locked(&stub.last_change) = fields;
        if !call.change(Change::Instead(verbs)) {
            return Err(invalid(21_220, "Call is not in-progress. Cannot redirect."));
        }
        return Ok(Json(call.shown()).into_response());
    }
    let wanted = fields.get("Status").map_or("", String::as_str);
    match (wanted, call.stage()) {
        ("canceled", Stage::Queued) if call.line.get().is_none() => {
            call.becomes(Stage::Over(Cause::Canceled));
        }
        ("completed", Stage::Answered) | ("canceled", Stage::Queued | Stage::Started | Stage::Ringing) => {
            stub.base.phones.hang_up(&call.line).await;
        }
        ("canceled", Stage::Answered) => {}
        ("completed" | "canceled", _) => return Err(invalid(21_220, "Invalid call state")),
        _ => return Err(invalid(20_001, "Invalid parameter")),
    }
    Ok(Json(call.shown()).into_response())
}
