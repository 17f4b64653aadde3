//! Stub of both calendars on one socket, with faults that tests can request.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard},
};

use axum::{
    Json, Router,
    body::Bytes,
    extract::{Path, Query, State},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use ring::signature::{KeyPair, RSA_PKCS1_2048_8192_SHA256, RsaKeyPair, UnparsedPublicKey};
use rustls::pki_types::{PrivatePkcs8KeyDer, pem::PemObject};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{net::TcpListener, task::JoinSet};

/// Key that is used by these tests only.
const KEY: &str = include_str!("key.pem");
const CALCOM_KEY: &str = "cal_test_key";

/// Fault of the next request that books something.
#[derive(Debug, Clone)]
pub enum Fault {
    /// Nothing is booked, and this is answered.
    Status(u16, Value),
    /// It is booked, but no answer comes.
    AnswerLost,
    /// Nothing is booked, and no answer comes.
    Ignored,
    /// The request is redirected to this address.
    Redirect(String),
}

/// State of the calendars.
#[derive(Debug, Default)]
pub struct Desk {
    /// Bookings of Cal.com and events of Google.
    pub bookings: Vec<Value>,
    pub events: Vec<Value>,
    /// Busy times of Google, besides the events.
    pub busy: Vec<Value>,
    /// Method and path of all requests.
    pub requests: Vec<String>,
    pub faults: VecDeque<Fault>,
    /// Number of tokens issued.
    pub tokens: usize,
    /// Number of tokens that are no longer accepted.
    pub expired: usize,
    pub claims: Value,
    /// Change to a booking in Cal.com's list.
    pub shown: Option<fn(&mut Value)>,
}

type Shared = Arc<Mutex<Desk>>;

pub struct Calendars {
    pub url: String,
    /// Path of the service account's file.
    pub credentials: std::path::PathBuf,
    desk: Shared,
    _folder: TempDir,
    _tasks: JoinSet<()>,
}

impl Calendars {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let desk = Shared::default();
        let router = Router::new()
            .route("/v2/slots", get(slots))
            .route("/v2/bookings", get(bookings).post(book))
            .route("/token", post(token))
            .route("/freeBusy", post(free_busy))
            .route("/calendars/{calendar}/events", post(insert))
            .route("/calendars/{calendar}/events/{event}", get(event))
            .fallback(anywhere)
            .with_state(desk.clone());
        let mut tasks = JoinSet::new();
        tasks.spawn(async move { axum::serve(listener, router).await.unwrap() });
        let folder = tempfile::tempdir().unwrap();
        let credentials = folder.path().join("account.json");
        let account = json!({
            "type": "service_account", "client_email": "ringback@example.iam.gserviceaccount.com",
            "private_key": KEY, "private_key_id": "key-1", "token_uri": format!("{url}/token"),
        });
        std::fs::write(&credentials, account.to_string()).unwrap();
        Self {
            url,
            credentials,
            desk,
            _folder: folder,
            _tasks: tasks,
        }
    }

    pub fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap()
    }

    pub fn fails(&self, fault: Fault) {
        self.desk().faults.push_back(fault);
    }

    pub fn config(&self) -> integrations::calendars::CalendarConfig {
        integrations::calendars::CalendarConfig {
            calcom_api_key: Some(net::key::Key::new(CALCOM_KEY)),
            calcom_url: Some(self.url.clone()),
            google_calendar_credentials: Some(self.credentials.clone()),
            google_calendar_subject: None,
            google_calendar_url: Some(self.url.clone()),
        }
    }

    /// Returns the number of bookings in both calendars.
    pub fn made(&self) -> usize {
        let desk = self.desk();
        desk.bookings.len() + desk.events.len()
    }

    /// Returns the number of requests to book something so far.
    pub fn asked_to_make(&self) -> usize {
        let makes = |request: &&String| request.starts_with("POST") && !request.contains("freeBusy");
        self.desk().requests.iter().filter(makes).count()
    }
}

async fn anywhere(State(desk): State<Shared>, request: axum::extract::Request) -> StatusCode {
    let line = format!("{} {}", request.method(), request.uri());
    desk.lock().unwrap().requests.push(line);
    StatusCode::NOT_FOUND
}

fn calcom(headers: &HeaderMap, version: &str) -> bool {
    headers["authorization"] == format!("Bearer {CALCOM_KEY}") && headers["cal-api-version"] == version
}

/// Returns the answer of a fault, or `None` if the request proceeds. With `AnswerLost` it was booked before.
async fn failing(fault: Option<Fault>) -> Option<Response> {
    match fault? {
        Fault::Status(status, body) => Some((StatusCode::from_u16(status).unwrap(), Json(body)).into_response()),
        Fault::AnswerLost | Fault::Ignored => std::future::pending().await,
        Fault::Redirect(to) => Some((StatusCode::TEMPORARY_REDIRECT, [(header::LOCATION, to)]).into_response()),
    }
}

fn overlaps(one: &Value, start: &str, end: &str) -> bool {
    // All times are in UTC and in one format, so the texts sort like the times.
    let at = |value: &Value| value.as_str().or(value["dateTime"].as_str()).unwrap().to_owned();
    *at(&one["start"]) < *end && *start < *at(&one["end"])
}

fn half_an_hour_later(start: &str) -> String {
    let start = chrono::DateTime::parse_from_rfc3339(start).unwrap().to_utc();
    (start + chrono::Duration::minutes(30)).to_rfc3339_opts(chrono::SecondsFormat::Secs, true)
}

async fn slots(State(desk): State<Shared>, headers: HeaderMap, Query(query): Query<Vec<(String, String)>>) -> Response {
    desk.lock().unwrap().requests.push("GET /v2/slots".into());
    let has = |name: &str, value: &str| query.iter().any(|(key, given)| key == name && given == value);
    if !calcom(&headers, "2024-09-04") || !has("eventTypeId", "77") || !has("timeZone", "Europe/Berlin") {
        return (
            StatusCode::BAD_REQUEST,
            Json(json!({ "error": { "message": "not so" } })),
        )
            .into_response();
    }
    let fault = desk.lock().unwrap().faults.pop_front();
    if let Some(answer) = failing(fault).await {
        return answer;
    }
    // The second time appears twice, as with two hosts.
    let day = json!([{ "start": "2026-01-02T09:00:00.000+01:00" }, { "start": "2026-01-02T15:30:00.000+01:00" },
                     { "start": "2026-01-02T14:30:00.000Z" }]);
    Json(json!({ "status": "success", "data": { "2026-01-02": day } })).into_response()
}

async fn book(State(desk): State<Shared>, headers: HeaderMap, Json(body): Json<Value>) -> Response {
    desk.lock().unwrap().requests.push("POST /v2/bookings".into());
    if !calcom(&headers, "2024-08-13") || !body["attendee"]["email"].is_string() {
        return (
            StatusCode::BAD_REQUEST,
            Json(json!({ "error": { "message": "not so" } })),
        )
            .into_response();
    }
    let fault = desk.lock().unwrap().faults.pop_front();
    if !matches!(fault, None | Some(Fault::AnswerLost)) {
        return failing(fault).await.unwrap();
    }
    let start = body["start"].as_str().unwrap().to_owned();
    let end = half_an_hour_later(&start);
    let made = {
        let mut desk = desk.lock().unwrap();
        if desk.bookings.iter().any(|booking| overlaps(booking, &start, &end)) {
            let said = json!({ "status": "error", "error": { "message": "User either already has booking at this time or is not available" } });
            return (StatusCode::BAD_REQUEST, Json(said)).into_response();
        }
        let made = json!({
            "uid": format!("uid-{}", desk.bookings.len() + 1), "start": start, "end": end, "status": "accepted",
            "eventTypeId": body["eventTypeId"], "metadata": body["metadata"], "attendees": [body["attendee"]],
            "bookingFieldsResponses": body["bookingFieldsResponses"], "location": body["location"],
        });
        desk.bookings.push(made.clone());
        made
    };
    if let Some(answer) = failing(fault).await {
        return answer;
    }
    (StatusCode::CREATED, Json(json!({ "status": "success", "data": made }))).into_response()
}

async fn bookings(State(desk): State<Shared>, headers: HeaderMap) -> Response {
    let mut desk = desk.lock().unwrap();
    desk.requests.push("GET /v2/bookings".into());
    if !calcom(&headers, "2024-08-13") {
        return StatusCode::BAD_REQUEST.into_response();
    }
    let mut told = desk.bookings.clone();
    if let Some(change) = desk.shown {
        told.iter_mut().for_each(change);
    }
    Json(json!({ "status": "success", "data": told })).into_response()
}

/// Verifies the statement that the service account signed.
async fn token(State(desk): State<Shared>, body: Bytes) -> Response {
    let form: Vec<(String, String)> = url::form_urlencoded::parse(&body).into_owned().collect();
    let statement = &form.iter().find(|(name, _)| name == "assertion").unwrap().1;
    let (signed, signature) = statement.rsplit_once('.').unwrap();
    let der = PrivatePkcs8KeyDer::from_pem_slice(KEY.as_bytes()).unwrap();
    let pair = RsaKeyPair::from_pkcs8(der.secret_pkcs8_der()).unwrap();
    let key = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, pair.public_key().as_ref().to_vec());
    let signature = BASE64_URL_SAFE_NO_PAD.decode(signature).unwrap();
    key.verify(signed.as_bytes(), &signature).unwrap();
    let claims = BASE64_URL_SAFE_NO_PAD
        .decode(signed.rsplit_once('.').unwrap().1)
        .unwrap();
    let mut desk = desk.lock().unwrap();
    desk.tokens += 1;
    desk.claims = serde_json::from_slice(&claims).unwrap();
    Json(json!({ "access_token": format!("token-{}", desk.tokens), "expires_in": 3599, "token_type": "Bearer" }))
        .into_response()
}

fn refused(desk: &Desk, headers: &HeaderMap) -> Option<Response> {
    let valid = (desk.expired + 1..=desk.tokens).any(|nth| headers["authorization"] == format!("Bearer token-{nth}"));
    (!valid).then(|| StatusCode::UNAUTHORIZED.into_response())
}

async fn free_busy(State(desk): State<Shared>, headers: HeaderMap, Json(body): Json<Value>) -> Response {
    let mut desk = desk.lock().unwrap();
    desk.requests.push("POST /freeBusy".into());
    if let Some(refused) = refused(&desk, &headers) {
        return refused;
    }
    let (from, to) = (body["timeMin"].as_str().unwrap(), body["timeMax"].as_str().unwrap());
    let events = desk
        .events
        .iter()
        .map(|event| json!({ "start": event["start"]["dateTime"], "end": event["end"]["dateTime"] }));
    let busy = desk.busy.iter().cloned().chain(events);
    let busy: Vec<Value> = busy.filter(|one| overlaps(one, from, to)).collect();
    let id = body["items"][0]["id"].as_str().unwrap();
    Json(json!({ "calendars": { id: { "busy": busy } } })).into_response()
}

async fn insert(
    State(desk): State<Shared>,
    Path(calendar): Path<String>,
    headers: HeaderMap,
    Json(mut body): Json<Value>,
) -> Response {
    let fault = {
        let mut desk = desk.lock().unwrap();
        desk.requests.push(format!("POST /calendars/{calendar}/events"));
        if let Some(refused) = refused(&desk, &headers) {
            return refused;
        }
        desk.faults.pop_front()
    };
    if !matches!(fault, None | Some(Fault::AnswerLost)) {
        return failing(fault).await.unwrap();
    }
    {
        let mut desk = desk.lock().unwrap();
        if desk.events.iter().any(|event| event["id"] == body["id"]) {
            return StatusCode::CONFLICT.into_response();
        }
        let id = body["id"].as_str().unwrap();
        assert!(id.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'v')), "{id}");
        body["status"] = json!("confirmed");
        desk.events.push(body.clone());
    }
    if let Some(answer) = failing(fault).await {
        return answer;
    }
    Json(body).into_response()
}

async fn event(State(desk): State<Shared>, Path((_, id)): Path<(String, String)>, headers: HeaderMap) -> Response {
    let mut desk = desk.lock().unwrap();
    desk.requests.push("GET event".into());
    if let Some(refused) = refused(&desk, &headers) {
        return refused;
    }
    match desk.events.iter().find(|event| event["id"] == id) {
        Some(event) => Json(event.clone()).into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}
