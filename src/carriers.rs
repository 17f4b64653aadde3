//! The doors through which carriers come in: status callbacks and media sockets. Both addresses carry an attempt and
//! a proof of its dial permit, so a door needs no key of its own.

mod media_socket;
pub mod simulated;
pub mod twilio;
pub mod wire;

use std::{sync::Arc, time::Duration};

use actors::{
    id::AttemptId,
    node::Sibling,
    switchboard::{DoorRefusal, SwitchboardMessage},
};
use axum::{
    Json, Router,
    body::Bytes,
    extract::{
        DefaultBodyLimit, Path, State,
        rejection::BytesRejection,
        ws::{WebSocketUpgrade, rejection::WebSocketUpgradeRejection},
    },
    http::StatusCode,
    response::{IntoResponse, Response},
    routing::{get, post},
};
use serde_json::json;
use tokio::sync::Semaphore;

use self::{simulated::callback, twilio::stream::TwilioWire};

/// Largest status callback.
const MAX_CALLBACK_BYTES: usize = 16 * 1024;
/// Media sockets that may wait to be taken by their call at the same time. A real carrier's wait for milliseconds.
const WAITING_SOCKETS: usize = 512;
/// How long the switchboard may take to answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

/// What the doors need.
#[derive(Clone)]
pub struct CarrierDoor {
    switchboard: Sibling<SwitchboardMessage>,
    waiting: Arc<Semaphore>,
}

impl CarrierDoor {
    /// Doors that lead to `switchboard`.
    pub fn new(switchboard: impl Into<Sibling<SwitchboardMessage>>) -> Self {
        Self {
            switchboard: switchboard.into(),
            waiting: Arc::new(Semaphore::new(WAITING_SOCKETS)),
        }
    }
}

/// The routes below `/carriers`.
pub fn router(door: CarrierDoor) -> Router {
    Router::new()
        .route("/carriers/simulated/status/{attempt}/{proof}", post(simulated_status))
        .route("/carriers/simulated/media/{token}", get(media))
        .layer(DefaultBodyLimit::max(MAX_CALLBACK_BYTES))
        .with_state(door)
}

fn refusal(status: StatusCode, code: &str, message: &str) -> Response {
    let error = json!({ "code": code, "message": message, "status": status.as_u16() });
    (status, Json(json!({ "success": false, "error": error }))).into_response()
}

/// A callback that is late, repeated or for a call that is over is answered like one that was taken: the carrier has
/// done its part and shall not send it again.
async fn simulated_status(
    State(door): State<CarrierDoor>,
    Path((attempt, proof)): Path<(String, String)>,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    let body = match body {
        Ok(body) => body,
        Err(rejection) if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE => {
            let message = format!("a status callback has at most {MAX_CALLBACK_BYTES} bytes");
            return refusal(StatusCode::PAYLOAD_TOO_LARGE, "too_large", &message);
        }
        Err(rejection) => return refusal(rejection.status(), "invalid_body", &rejection.body_text()),
    };
    let Ok(attempt) = attempt.parse::<AttemptId>() else {
        return refusal(StatusCode::NOT_FOUND, "not_found", "the address names no attempt");
    };
    let report = match callback::parse(&body) {
        Ok(report) => report,
        Err(error) => return refusal(StatusCode::BAD_REQUEST, "invalid_body", &error.to_string()),
    };
    let message = |reply| SwitchboardMessage::Progress {
        attempt,
        proof,
        report,
        reply,
    };
    match door.switchboard.ask(message, ANSWER_WITHIN).await {
        Some(Ok(()) | Err(DoorRefusal::UnknownCall | DoorRefusal::AnotherLeg | DoorRefusal::NotNow)) => {
            StatusCode::NO_CONTENT.into_response()
        }
        Some(Err(DoorRefusal::BadProof)) => refusal(
            StatusCode::FORBIDDEN,
            "bad_proof",
            "the proof in the address does not match",
        ),
        None => refusal(
            StatusCode::SERVICE_UNAVAILABLE,
            "unavailable",
            "the node cannot take callbacks now; send it again",
        ),
    }
}

/// Whether the call that a socket names would take it. Asked before the upgrade: a socket that nobody proved may not
/// stand in the way of those that calls wait for.
async fn may_enter(door: &CarrierDoor, claim: &media_socket::Claim) -> Result<(), Response> {
    let message = |reply| SwitchboardMessage::AskMedia {
        attempt: claim.attempt,
        proof: claim.proof.clone(),
        reply,
    };
    let refused = match door.switchboard.ask(message, ANSWER_WITHIN).await {
        Some(Ok(())) => return Ok(()),
        Some(Err(refused)) => refused,
        None => {
            let message = "the node cannot take media sockets now; open it again";
            return Err(refusal(StatusCode::SERVICE_UNAVAILABLE, "unavailable", message));
        }
    };
    let (status, code) = match refused {
        DoorRefusal::UnknownCall => (StatusCode::NOT_FOUND, "not_found"),
        DoorRefusal::BadProof => (StatusCode::FORBIDDEN, "bad_proof"),
        DoorRefusal::AnotherLeg => (StatusCode::CONFLICT, "another_leg"),
        DoorRefusal::NotNow => (StatusCode::CONFLICT, "not_now"),
    };
    tracing::info!(attempt = %claim.attempt, reason = %refused, "media socket refused");
    Err(refusal(status, code, &refused.to_string()))
}

async fn media(
    State(door): State<CarrierDoor>,
    Path(token): Path<String>,
    socket: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Response {
    let Some(claim) = media_socket::Claim::parse(&token) else {
        return refusal(StatusCode::NOT_FOUND, "not_found", "the address names no call");
    };
    let socket = match socket {
        Ok(socket) => socket,
        Err(rejection) => return refusal(rejection.status(), "not_a_websocket", &rejection.body_text()),
    };
    if let Err(refused) = may_enter(&door, &claim).await {
        return refused;
    }
    let Ok(permit) = door.waiting.clone().try_acquire_owned() else {
        return refusal(
            StatusCode::SERVICE_UNAVAILABLE,
            "unavailable",
            "too many media sockets wait for their call",
        );
    };
    media_socket::upgrade(socket, Box::new(TwilioWire), door.switchboard, (claim, permit))
}
