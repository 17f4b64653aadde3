//! The route for calls from the exchange's phones. Anybody could send an announcement, so only the call's id
//! is taken from it. The exchange is then asked for the numbers.

use std::sync::Arc;

use axum::{
    Json, Router,
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
    routing::post,
};
use domain::ports::carrier::{CarrierCallId, CarrierError, InboundRefusal, WayBack};
use serde::Deserialize;
use serde_json::json;

use super::client::{NAME, SimulatedCarrier};
use crate::{
    link::{self, CarrierLink, NotTaken},
    webhooks::{Announcement, Request},
};
use net::log_gate;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CallBody {
    call_id: String,
}

pub(super) fn route(carrier: Arc<SimulatedCarrier>) -> Router<CarrierLink> {
    let announced = move |State(link): State<CarrierLink>, request: Request| {
        let carrier = carrier.clone();
        async move { announced(&carrier, link, &request).await }
    };
    Router::new().route("/carriers/simulated/inbound", post(announced))
}

async fn announced(carrier: &SimulatedCarrier, link: CarrierLink, request: &Request) -> Result<Response, Response> {
    let announcement = serde_json::from_slice(request.body()?);
    let CallBody { call_id } = announcement.map_err(|error| link::invalid(&error))?;
    let call = CarrierCallId::checked(&call_id).ok_or_else(nobody_calls)?;
    let (from, to) = carrier.who_calls(&call).await.map_err(|error| match error {
        CarrierError::NotFound => nobody_calls(),
        error => {
            tracing::warn!(%error, "exchange request failed");
            unavailable()
        }
    })?;
    let call = Announcement {
        call,
        from,
        to: Some(to),
    };
    match call.offer(&link).await {
        Ok(back) => Ok(answer(carrier, Ok(back))),
        Err(NotTaken::Refused(refusal)) => Ok(answer(carrier, Err(refusal))),
        Err(NotTaken::Elsewhere(elsewhere)) => Err(elsewhere),
    }
}

fn answer(carrier: &SimulatedCarrier, taken: Result<WayBack, InboundRefusal>) -> Response {
    match taken {
        Ok(back) => {
            let addresses = &carrier.addresses;
            let connect = json!({
                "action": "connect", "attempt": back.attempt, "statusUrl": addresses.status(&back),
                "streamUrl": addresses.media(back.attempt, &back.media_token),
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
        tracing::warn!(
            carrier = NAME,
            endpoint = "inbound",
            left_out,
            "announcement of an unknown call refused"
        );
    }
    link::refusal(
        StatusCode::FORBIDDEN,
        "unknown_call",
        "the exchange does not know this call",
    )
}

fn unavailable() -> Response {
    link::refusal(
        StatusCode::SERVICE_UNAVAILABLE,
        "unavailable",
        "the service cannot take calls now; announce it again",
    )
}
