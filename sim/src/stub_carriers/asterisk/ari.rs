//! The REST interface: authentication, channels, and commands to them.

use std::{collections::BTreeMap, sync::Arc};

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
use serde_json::Value;
use tokio::time::sleep;

use super::{
    audiosocket, bridges,
    channels::{Beginning, Channel},
    events, phones,
    stub::{Asterisk, Originated, PASSWORD, TRUNK, USER, WEBSOCKET_CLIENT, refusal},
    websocket,
};
use crate::stub_carriers::{
    base,
    settings::{Dial, DialFault, locked},
};

pub(super) fn routes() -> Router<Arc<Asterisk>> {
    Router::new()
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
        .layer(middleware::from_fn(authenticate))
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

/// Target of a channel.
enum Endpoint {
    Phone(String),
    WebSocket(websocket::Options),
    AudioSocket { address: String, uuid: String },
}

impl Endpoint {
    /// Returns `None` if there is no such endpoint.
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

async fn originate(State(stub): State<Arc<Asterisk>>, Query(query): Asked, body: Bytes) -> Response {
    let asked = |name: &str| query.get(name).cloned().unwrap_or_default();
    let of = Originated {
        endpoint: asked("endpoint"),
        channel: asked("channelId"),
        app: asked("app"),
        caller: asked("callerId"),
        timeout: asked("timeout"),
    };
    locked(&stub.journal).originated.push(of.clone());
    if !body.is_empty() && !serde_json::from_slice::<Value>(&body).is_ok_and(|body| body.is_object()) {
        return refusal(StatusCode::BAD_REQUEST, "Request body is not JSON");
    }
    let number = match Endpoint::read(&of.endpoint) {
        Some(Endpoint::Phone(number)) => Some(number),
        _ => None,
    };
    let fault = number.map_or(DialFault::None, |to| {
        let from = of.caller.clone();
        stub.base.dialed(Dial {
            to,
            from,
            ..Dial::default()
        })
    });
    match fault {
        DialFault::None | DialFault::LoseAnswer => {}
        DialFault::Answer(status, body) => return base::answer(status, body),
        DialFault::RefuseAccount => return refusal(StatusCode::UNAUTHORIZED, "Authentication required"),
        DialFault::Throttle { .. } => return refusal(StatusCode::SERVICE_UNAVAILABLE, "Shutting down"),
        DialFault::Refuse(_) | DialFault::Break => {
            return refusal(StatusCode::INTERNAL_SERVER_ERROR, "Allocation failed");
        }
    }
    // Runs in its own task: a client that disconnects must not undo a dial.
    let task = tokio::spawn(async move { place(&stub, of).await });
    match task.await {
        Ok(Ok(_)) if fault == DialFault::LoseAnswer => std::future::pending().await,
        Ok(Ok(shown)) => Json(shown).into_response(),
        Ok(Err((status, message))) => refusal(status, message),
        Err(_) => refusal(StatusCode::INTERNAL_SERVER_ERROR, "Allocation failed"),
    }
}

type Refused = (StatusCode, &'static str);

async fn place(stub: &Arc<Asterisk>, of: Originated) -> Result<Value, Refused> {
    let allocation = (StatusCode::INTERNAL_SERVER_ERROR, "Allocation failed");
    if of.app.is_empty() {
        return Err((StatusCode::BAD_REQUEST, "Application or extension must be specified"));
    }
    let endpoint = Endpoint::read(&of.endpoint).ok_or(allocation)?;
    let technology = of.endpoint.split('/').next().unwrap_or_default();
    let channel = stub.make(Beginning {
        name: format!("{technology}/{TRUNK}-{}", of.channel),
        id: of.channel,
        app: of.app,
        caller: of.caller.clone(),
        ..Beginning::default()
    });
    let channel = channel.ok_or((StatusCode::CONFLICT, "Channel with given unique ID already exists"))?;
    let shown = channel.shown(stub);
    let (of_task, of_channel) = (stub.clone(), channel.clone());
    stub.base.spawn(async move {
        of_task.tell_dial(&of_channel, "");
        match endpoint {
            Endpoint::Phone(number) => {
                let ring = of.timeout.parse().unwrap_or(30);
                phones::dial(&of_task, &of_channel, &number, ring).await;
            }
            Endpoint::WebSocket(options) => websocket::run(&of_task, &of_channel, options).await,
            Endpoint::AudioSocket { address, uuid } => {
                audiosocket::run(&of_task, &of_channel, &address, &uuid).await;
            }
        }
    });
    Ok(shown)
}

fn found(stub: &Asterisk, id: &str) -> Result<Arc<Channel>, NotFound> {
    let found = stub.channel(id).filter(|channel| !channel.is_over());
    found.ok_or(NotFound)
}

/// Error of a request for an unknown channel.
struct NotFound;

impl IntoResponse for NotFound {
    fn into_response(self) -> Response {
        refusal(StatusCode::NOT_FOUND, "Channel not found")
    }
}

async fn list(State(stub): State<Arc<Asterisk>>) -> Json<Value> {
    let channels: Vec<_> = locked(&stub.channels).values().cloned().collect();
    Json(channels.iter().map(|channel| channel.shown(&stub)).collect())
}

async fn show(State(stub): State<Arc<Asterisk>>, Path(id): Path<String>) -> Response {
    match found(&stub, &id) {
        Ok(channel) => Json(channel.shown(&stub)).into_response(),
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

async fn hang_up(State(stub): State<Arc<Asterisk>>, Path(id): Path<String>, Query(query): Asked) -> Response {
    let channel = match found(&stub, &id) {
        Ok(channel) => channel,
        Err(refused) => return refused.into_response(),
    };
    let reason = query.get("reason").cloned().unwrap_or_else(|| "normal".to_owned());
    let Some((_, cause)) = REASONS.iter().find(|(known, _)| *known == reason) else {
        return refusal(StatusCode::BAD_REQUEST, "Invalid Reason");
    };
    locked(&stub.journal).hung_up.push((id, reason));
    stub.base.phones.hang_up(&channel.line).await;
    if channel.state() != "Up" && !channel.came_in {
        stub.tell_dial(&channel, "CANCEL");
    }
    stub.destroy(&channel, *cause, "Normal Clearing", None);
    StatusCode::NO_CONTENT.into_response()
}

async fn answer(State(stub): State<Arc<Asterisk>>, Path(id): Path<String>) -> Response {
    let channel = match found(&stub, &id) {
        Ok(channel) => channel,
        Err(refused) => return refused.into_response(),
    };
    if channel.state() != "Up" {
        stub.becomes(&channel, "Up");
    }
    StatusCode::NO_CONTENT.into_response()
}

async fn press(State(stub): State<Arc<Asterisk>>, Path(id): Path<String>, Query(query): Asked) -> Response {
    let channel = match found(&stub, &id) {
        Ok(channel) => channel,
        Err(refused) => return refused.into_response(),
    };
    let keys = query.get("dtmf").cloned().unwrap_or_default();
    if keys.is_empty() {
        return refusal(StatusCode::BAD_REQUEST, "DTMF is required");
    }
    phones::play_keys(&channel, &keys);
    stub.base.pressed(&keys);
    locked(&stub.journal).pressed.push((id, keys));
    StatusCode::NO_CONTENT.into_response()
}

async fn redirect(State(stub): State<Arc<Asterisk>>, Path(id): Path<String>, Query(query): Asked) -> Response {
    let channel = match found(&stub, &id) {
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
    locked(&stub.journal).redirected.push((id, endpoint));
    if let Some(after) = stub.settings.refers_taken {
        let of_task = stub.clone();
        stub.base.spawn(async move {
            sleep(after).await;
            of_task.base.phones.hang_up(&channel.line).await;
            of_task.destroy(&channel, 16, "Normal Clearing", None);
        });
    }
    StatusCode::NO_CONTENT.into_response()
}
