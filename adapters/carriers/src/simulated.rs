//! The simulated carrier: a client of the exchange in [`sim::exchange`], by HTTP like that of any other carrier, and
//! the routes by which that exchange comes in. Its addresses' proofs are all that it shows; a call that it announces
//! has none yet, so the exchange is asked whether it is there.

pub mod callback;
pub mod client;
mod inbound;

use std::sync::Arc;

use axum::{
    Router,
    extract::{Path, State},
    response::Response,
    routing::{get, post},
};
use domain::{dial_token::Purpose, id::AttemptId};

pub use self::client::SimulatedCarrier;
use super::{
    CarrierLink, Trunk,
    http::SetupError,
    link::{self, Upgrade},
    twilio::stream::TwilioWire,
    webhooks::Request,
};

/// The carrier whose exchange is at `exchange_url` and reaches this node at `public_url`.
///
/// # Errors
///
/// When one of the two is no address.
pub fn trunk(exchange_url: &str, public_url: &str) -> Result<Trunk, SetupError> {
    let carrier = Arc::new(SimulatedCarrier::new(exchange_url, public_url)?);
    Ok(Trunk {
        routes: routes().merge(inbound::route(carrier.clone())),
        carrier,
        event_listener: None,
    })
}

/// Its routes for the calls that we place.
pub fn routes() -> Router<CarrierLink> {
    Router::new()
        .route("/carriers/simulated/status/{attempt}/{proof}", post(status))
        .route("/carriers/simulated/media/{token}", get(media))
}

async fn status(
    State(link): State<CarrierLink>,
    Path((attempt, proof)): Path<(String, String)>,
    request: Request,
) -> Result<Response, Response> {
    let body = request.body()?;
    if attempt.parse::<AttemptId>().is_err() {
        return Err(link::no_attempt());
    }
    let report = callback::parse(body).map_err(|error| link::invalid(&error))?;
    link.ensure_unsigned_here(&attempt, Purpose::Status, &proof).await?;
    Ok(link.report(&attempt, proof, report).await)
}

async fn media(State(link): State<CarrierLink>, Path(token): Path<String>, socket: Upgrade) -> Response {
    link.media(&token, socket, Box::new(TwilioWire::default())).await
}
