//! The door for calls that the exchange's phones make. Anybody could announce one, so nothing is taken from the
//! announcement but the call's id: who calls whom is what the exchange says when it is asked back.

use std::sync::Arc;

use axum::{
    Json, Router,
    body::Bytes,
    extract::{State, rejection::BytesRejection},
    http::StatusCode,
    response::{IntoResponse, Response},
    routing::post,
};
use domain::ports::carrier::{CarrierCallId, CarrierError, InboundCall, InboundRefusal, WayBack};
use serde::Deserialize;
use serde_json::json;

use super::SimulatedCarrier;
use crate::{
    CarrierDoor,
    door::{self, NotTaken},
};
use net::log_gate;

/// The carrier's name.
const NAME: &str = "simulated";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Announcement {
    call_id: String,
}

/// The route.
pub(super) fn door(carrier: Arc<SimulatedCarrier>) -> Router<CarrierDoor> {
    let announced = move |State(door): State<CarrierDoor>, body: Result<Bytes, BytesRejection>| {
        let carrier = carrier.clone();
        async move { announced(&carrier, door, body).await }
    };
    Router::new().route("/carriers/simulated/inbound", post(announced))
}

async fn announced(carrier: &SimulatedCarrier, door: CarrierDoor, body: Result<Bytes, BytesRejection>) -> Response {
    let body = match door::callback_body(body) {
        Ok(body) => body,
        Err(unread) => return unread.into_response(),
    };
    let announcement: Announcement = match serde_json::from_slice(&body) {
        Ok(announcement) => announcement,
        Err(error) => return door::invalid(&error),
    };
    let Some(call) = CarrierCallId::checked(&announcement.call_id) else {
        return nobody_calls();
    };
    let (from, to) = match carrier.who_calls(&call).await {
        Ok(numbers) => numbers,
        Err(CarrierError::NotFound) => return nobody_calls(),
        Err(error) => {
            tracing::warn!(%error, "the exchange did not say who calls");
            return unavailable();
        }
    };
    let call = InboundCall {
        carrier: NAME,
        call,
        from,
        to,
    };
    let taken = match door.announced(call).await {
        Ok(back) => Ok(back),
        Err(NotTaken::Refused(refusal)) => Err(refusal),
        Err(NotTaken::Elsewhere(elsewhere)) => return elsewhere,
    };
    answer(carrier, taken)
}

fn answer(carrier: &SimulatedCarrier, taken: Result<WayBack, InboundRefusal>) -> Response {
    match taken {
        Ok(back) => {
            let (status_url, stream_url) = carrier.addresses(&back);
            let connect = json!({
                "action": "connect", "attempt": back.attempt, "statusUrl": status_url, "streamUrl": stream_url,
            });
            Json(connect).into_response()
        }
        Err(InboundRefusal::NobodyAnswers) => Json(json!({ "action": "reject" })).into_response(),
        Err(InboundRefusal::Busy | InboundRefusal::TooMany) => Json(json!({ "action": "busy" })).into_response(),
        Err(InboundRefusal::Unavailable) => unavailable(),
    }
}

fn nobody_calls() -> Response {
    metrics::counter!("ringback_carrier_forgeries_total", "carrier" => NAME, "door" => "inbound").increment(1);
    if let Some(left_out) = log_gate::opens(NAME, "inbound") {
        let door = "inbound";
        tracing::warn!(
            carrier = NAME,
            door,
            left_out,
            "announcement of a call that the exchange does not know refused"
        );
    }
    refused(StatusCode::FORBIDDEN, "unknown_call", "the exchange knows no such call")
}

fn unavailable() -> Response {
    refused(
        StatusCode::SERVICE_UNAVAILABLE,
        "unavailable",
        "the service cannot take calls now; announce it again",
    )
}

fn refused(status: StatusCode, code: &str, message: &str) -> Response {
    let error = json!({ "code": code, "message": message, "status": status.as_u16() });
    (status, Json(json!({ "success": false, "error": error }))).into_response()
}
