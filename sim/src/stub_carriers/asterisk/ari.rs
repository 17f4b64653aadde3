//! The REST interface: who may ask, channels, and what is done to them.

use std::{
    collections::BTreeMap,
    sync::{Arc, atomic::Ordering},
};

use axum::{
    Json, Router,
    body::Bytes,
    extract::{Path, Query, Request, State},
    http::{StatusCode, header::AUTHORIZATION},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::{delete, get, post},
};
use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::{
    Originated, PASSWORD, Switch, TRUNK, USER, WEBSOCKET_CLIENT, audiosocket, bridges,
    channels::{Beginning, Channel},
    events, lock, phones, websocket,
};

pub(super) fn router(switch: Arc<Switch>) -> Router {
    let ari = Router::new()
        .route("/ari/events", get(events::listen))
        .route("/ari/channels", post(originate).get(list))
        .route("/ari/channels/{id}", get(show).delete(hang_up))
        .route("/ari/channels/{id}/answer", post(answer))
        .route("/ari/channels/{id}/dtmf", post(press))
        .route("/ari/channels/{id}/redirect", post(redirect))
        .route("/ari/bridges", get(bridges::list))
        .route("/ari/bridges/{id}", post(bridges::make).delete(bridges::destroy))
        .route("/ari/bridges/{id}/addChannel", post(bridges::add))
        .route("/ari/bridges/{id}/play/{sound}", post(bridges::play))
        .route("/ari/playbacks/{id}", delete(bridges::stop))
        .layer(middleware::from_fn(authenticate));
    Router::new()
        .route("/exchange/status/{id}", post(phones::report))
        .route("/exchange/media/{id}", get(phones::open))
        .merge(ari)
        .with_state(switch)
}

pub(super) fn refusal(status: StatusCode, message: &str) -> Response {
    (status, Json(json!({ "message": message }))).into_response()
}

async fn authenticate(request: Request, next: Next) -> Response {
    let wanted = format!("Basic {}", BASE64.encode(format!("{USER}:{PASSWORD}")));
    let shown = request
        .headers()
        .get(AUTHORIZATION)
        .and_then(|value| value.to_str().ok());
    if shown == Some(&*wanted) {
        return next.run(request).await;
    }
    refusal(StatusCode::UNAUTHORIZED, "Authentication required")
}

type Asked = Query<BTreeMap<String, String>>;

/// How a channel of an endpoint is called.
enum Endpoint {
    Phone(String),
    WebSocket(websocket::Options),
    AudioSocket { address: String, uuid: String },
}

impl Endpoint {
    /// None when there is no such endpoint.
    fn read(text: &str) -> Option<Self> {
        let (technology, rest) = text.split_once('/')?;
        match technology {
            "PJSIP" => {
                if let Some(number) = rest.strip_suffix(&format!("@{TRUNK}")) {
                    return Some(Self::Phone(number.to_owned()));
                }
                let address = rest.strip_prefix(&format!("{TRUNK}/sip:"))?;
                Some(Self::Phone(address.split('@').next()?.to_owned()))
            }
            "WebSocket" => {
                let (client, options) = rest.split_once('/')?;
                (client == WEBSOCKET_CLIENT).then_some(())?;
                websocket::Options::read(options).map(Self::WebSocket)
            }
            "AudioSocket" => {
                let (address, uuid) = rest.split_once('/')?;
                Some(Self::AudioSocket {
                    address: address.to_owned(),
                    uuid: uuid.to_owned(),
                })
            }
            _ => None,
        }
    }
}

async fn originate(State(switch): State<Arc<Switch>>, Query(query): Asked, body: Bytes) -> Response {
    let asked = |name: &str| query.get(name).cloned().unwrap_or_default();
    let of = Originated {
        endpoint: asked("endpoint"),
        channel: asked("channelId"),
        app: asked("app"),
        caller: asked("callerId"),
        timeout: asked("timeout"),
    };
    lock(&switch.journal).originated.push(of.clone());
    if !body.is_empty() && !serde_json::from_slice::<Value>(&body).is_ok_and(|body| body.is_object()) {
        return refusal(StatusCode::BAD_REQUEST, "Request body is not JSON");
    }
    let lost = of.endpoint.starts_with("PJSIP") && switch.loses_answer();
    // A task of its own: a client that goes away does not undo a dial.
    let task = tokio::spawn(async move { place(&switch, of).await });
    match task.await {
        Ok(Ok(_)) if lost => std::future::pending().await,
        Ok(Ok(shown)) => Json(shown).into_response(),
        Ok(Err((status, message))) => refusal(status, message),
        Err(_) => refusal(StatusCode::INTERNAL_SERVER_ERROR, "Allocation failed"),
    }
}

impl Switch {
    /// Whether the answer to the last dial of a telephone is lost.
    fn loses_answer(&self) -> bool {
        let faults = &self.settings.faults;
        let journal = lock(&self.journal);
        let dials = journal.originated.iter().filter(|of| of.endpoint.starts_with("PJSIP"));
        let each = faults.lost_answer_each;
        faults.lost_answers || (each > 0 && dials.count().is_multiple_of(each))
    }
}

type Refused = (StatusCode, &'static str);

async fn place(switch: &Arc<Switch>, of: Originated) -> Result<Value, Refused> {
    let allocation = (StatusCode::INTERNAL_SERVER_ERROR, "Allocation failed");
    if of.app.is_empty() {
        return Err((StatusCode::BAD_REQUEST, "Application or extension must be specified"));
    }
    let endpoint = Endpoint::read(&of.endpoint).ok_or(allocation)?;
    let take_one = |left: usize| left.checked_sub(1);
    if matches!(endpoint, Endpoint::Phone(_))
        && switch
            .refused
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, take_one)
            .is_ok()
    {
        return Err((StatusCode::SERVICE_UNAVAILABLE, "Shutting down"));
    }
    let technology = of.endpoint.split('/').next().unwrap_or_default();
    let channel = switch.make(Beginning {
        name: format!("{technology}/{TRUNK}-{}", of.channel),
        id: of.channel,
        app: of.app,
        caller: of.caller.clone(),
        ..Beginning::default()
    });
    let channel = channel.ok_or((StatusCode::CONFLICT, "Channel with given unique ID already exists"))?;
    let shown = channel.shown(switch);
    let (of_task, of_channel) = (switch.clone(), channel.clone());
    switch.spawn(async move {
        of_task.tell_dial(&of_channel, "");
        match endpoint {
            Endpoint::Phone(number) => {
                let ring = of.timeout.parse().unwrap_or(30);
                phones::dial(&of_task, &of_channel, (&number, &of.caller), ring).await;
            }
            Endpoint::WebSocket(options) => websocket::run(&of_task, &of_channel, options).await,
            Endpoint::AudioSocket { address, uuid } => {
                audiosocket::run(&of_task, &of_channel, (&address, &uuid)).await;
            }
        }
    });
    Ok(shown)
}

fn found(switch: &Switch, id: &str) -> Result<Arc<Channel>, NotFound> {
    let found = switch.channel(id).filter(|channel| !channel.is_over());
    found.ok_or(NotFound)
}

/// No such channel.
struct NotFound;

impl IntoResponse for NotFound {
    fn into_response(self) -> Response {
        refusal(StatusCode::NOT_FOUND, "Channel not found")
    }
}

async fn list(State(switch): State<Arc<Switch>>) -> Json<Value> {
    let channels: Vec<_> = lock(&switch.channels).values().cloned().collect();
    Json(channels.iter().map(|channel| channel.shown(&switch)).collect())
}

async fn show(State(switch): State<Arc<Switch>>, Path(id): Path<String>) -> Response {
    match found(&switch, &id) {
        Ok(channel) => Json(channel.shown(&switch)).into_response(),
        Err(refused) => refused.into_response(),
    }
}

/// Reasons that ARI knows, with the cause of each.
const REASONS: [(&str, u32); 7] = [
    ("normal", 16),
    ("busy", 17),
    ("no_answer", 19),
    ("rejected", 21),
    ("unallocated", 1),
    ("congestion", 34),
    ("failure", 38),
];

async fn hang_up(State(switch): State<Arc<Switch>>, Path(id): Path<String>, Query(query): Asked) -> Response {
    let channel = match found(&switch, &id) {
        Ok(channel) => channel,
        Err(refused) => return refused.into_response(),
    };
    let reason = query.get("reason").cloned().unwrap_or_else(|| "normal".to_owned());
    let Some((_, cause)) = REASONS.iter().find(|(known, _)| *known == reason) else {
        return refusal(StatusCode::BAD_REQUEST, "Invalid Reason");
    };
    lock(&switch.journal).hung_up.push((id, reason));
    if channel.line.get().is_some() {
        phones::hang_up(&switch, &channel).await;
    }
    if channel.state() != "Up" && !channel.came_in {
        switch.tell_dial(&channel, "CANCEL");
    }
    switch.destroy(&channel, (*cause, "Normal Clearing"), None);
    StatusCode::NO_CONTENT.into_response()
}

async fn answer(State(switch): State<Arc<Switch>>, Path(id): Path<String>) -> Response {
    let channel = match found(&switch, &id) {
        Ok(channel) => channel,
        Err(refused) => return refused.into_response(),
    };
    if channel.state() != "Up" {
        switch.becomes(&channel, "Up");
    }
    StatusCode::NO_CONTENT.into_response()
}

async fn press(State(switch): State<Arc<Switch>>, Path(id): Path<String>, Query(query): Asked) -> Response {
    let channel = match found(&switch, &id) {
        Ok(channel) => channel,
        Err(refused) => return refused.into_response(),
    };
    let keys = query.get("dtmf").cloned().unwrap_or_default();
    if keys.is_empty() {
        return refusal(StatusCode::BAD_REQUEST, "DTMF is required");
    }
    phones::play_keys(&channel, &keys);
    lock(&switch.journal).pressed.push((id, keys));
    StatusCode::NO_CONTENT.into_response()
}

async fn redirect(State(switch): State<Arc<Switch>>, Path(id): Path<String>, Query(query): Asked) -> Response {
    let channel = match found(&switch, &id) {
        Ok(channel) => channel,
        Err(refused) => return refused.into_response(),
    };
    let endpoint = query.get("endpoint").cloned().unwrap_or_default();
    if channel.name.split('/').next() != endpoint.split('/').next() {
        return refusal(
            StatusCode::UNPROCESSABLE_ENTITY,
            "Endpoint is not the same type as the channel",
        );
    }
    lock(&switch.journal).redirected.push((id, endpoint));
    if let Some(after) = switch.settings.refers_taken {
        let of_task = switch.clone();
        switch.spawn(async move {
            sleep(after).await;
            phones::hang_up(&of_task, &channel).await;
            of_task.destroy(&channel, (16, "Normal Clearing"), None);
        });
    }
    StatusCode::NO_CONTENT.into_response()
}
