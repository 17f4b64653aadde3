//! The simulated carrier: a client of the exchange in [`sim::exchange`], by HTTP like that of any other carrier, and
//! the doors through which that exchange comes in. Its addresses' proofs are all that it shows; a call that it announces
//! has none yet, so the exchange is asked whether it is there.

pub mod callback;
pub mod client;
mod inbound;

use std::sync::Arc;

use axum::{
    Router,
    body::Bytes,
    extract::{Path, State, rejection::BytesRejection},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use domain::{dial_token::Purpose, id::AttemptId};

pub use self::client::SimulatedCarrier;
use super::{
    CarrierDoor, Trunk,
    door::{self, Upgrade},
    http::SetupError,
    twilio::stream::TwilioWire,
};

/// The carrier whose exchange is at `exchange_url` and reaches this node at `public_url`.
///
/// # Errors
///
/// When one of the two is no address.
pub fn trunk(exchange_url: &str, public_url: &str) -> Result<Trunk, SetupError> {
    let carrier = Arc::new(SimulatedCarrier::new(exchange_url, public_url)?);
    Ok(Trunk {
        doors: doors().merge(inbound::door(carrier.clone())),
        carrier,
        attendant: None,
    })
}

/// Its routes for the calls that we place.
pub fn doors() -> Router<CarrierDoor> {
    Router::new()
        .route("/carriers/simulated/status/{attempt}/{proof}", post(status))
        .route("/carriers/simulated/media/{token}", get(media))
}

async fn status(
    State(door): State<CarrierDoor>,
    Path((attempt, proof)): Path<(String, String)>,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    let body = match door::callback_body(body) {
        Ok(body) => body,
        Err(unread) => return unread.into_response(),
    };
    if attempt.parse::<AttemptId>().is_err() {
        return door::no_attempt();
    }
    let report = match callback::parse(&body) {
        Ok(report) => report,
        Err(error) => return door::invalid(&error),
    };
    if let Some(elsewhere) = door.elsewhere_unsigned(&attempt, Purpose::Status, &proof).await {
        return elsewhere;
    }
    door.report(&attempt, proof, report).await
}

async fn media(State(door): State<CarrierDoor>, Path(token): Path<String>, socket: Upgrade) -> Response {
    door.media(&token, socket, Box::new(TwilioWire::default())).await
}
