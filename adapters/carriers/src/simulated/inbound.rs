//! The route for calls that the exchange's phones make. Anybody could announce one, so nothing is taken from the
//! announcement but the call's id: who calls whom is what the exchange says when it is asked back.

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

use super::SimulatedCarrier;
use crate::{
    CarrierLink,
    link::{self, NotTaken},
    webhooks::{Announcement, Request},
};
use net::log_gate;

/// The carrier's name.
const NAME: &str = "simulated";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CallBody {
    call_id: String,
}

/// The route.
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
            tracing::warn!(%error, "the exchange did not say who calls");
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
        tracing::warn!(
            carrier = NAME,
            door = "inbound",
            left_out,
            "announcement of a call that the exchange does not know refused"
        );
    }
    link::refusal(StatusCode::FORBIDDEN, "unknown_call", "the exchange knows no such call")
}

fn unavailable() -> Response {
    link::refusal(
        StatusCode::SERVICE_UNAVAILABLE,
        "unavailable",
        "the service cannot take calls now; announce it again",
    )
}
