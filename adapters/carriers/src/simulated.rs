//! The simulated carrier: an HTTP client of the exchange in [`sim::exchange`], like that of any other
//! carrier, and the routes for its webhooks. Requests authenticate only by the proof in their address. An
//! announced call has no proof yet, so we ask the exchange whether it exists.

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
    twilio::stream::TwilioProtocol,
    webhooks::Request,
};

/// Creates the carrier for the exchange at `exchange_url`, which reaches this node at `public_url`.
///
/// # Errors
///
/// Returns an error if either URL is invalid.
pub fn trunk(exchange_url: &str, public_url: &str) -> Result<Trunk, SetupError> {
    let carrier = Arc::new(SimulatedCarrier::new(exchange_url, public_url)?);
    Ok(Trunk {
        routes: routes().merge(inbound::route(carrier.clone())),
        carrier,
        event_listener: None,
    })
}

/// Returns the routes for the calls that we place.
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
    link.media(&token, socket, Box::new(TwilioProtocol::default())).await
}
