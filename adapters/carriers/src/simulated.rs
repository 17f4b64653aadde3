//! The simulated carrier: an HTTP client of the exchange in [`sim::exchange`], like that of any other
//! carrier, and the routes for its webhooks. Requests authenticate only by the proof in their address. An
//! announced call has no proof yet, so we ask the exchange whether it exists.

pub mod callback;
pub mod client;
mod inbound;

use std::sync::Arc;

use async_trait::async_trait;
use axum::{
    Router,
    extract::{Path, State},
    response::Response,
    routing::{get, post},
};
use domain::{dial_token::Purpose, id::AttemptId, time::Clock};
use serde::de::IgnoredAny;

pub use self::client::{NAME, SimulatedCarrier};
use crate::{
    http::SetupError,
    kind::{
        Account, CarrierKind, Trunk,
        ask::{Check, Problem},
    },
    link::{self, CarrierLink, Upgrade},
    twilio::stream::TwilioProtocol,
    webhooks::Request,
};

/// The simulated carrier. The service makes it, with an exchange inside or at `RINGBACK_SIMULATED_URL`.
pub static KIND: CarrierKind = CarrierKind {
    name: NAME,
    title: "the simulated carrier",
    calls_back: false,
    variables: &["RINGBACK_SIMULATED_URL"],
    ..CarrierKind::USUAL
};

/// Address of a telephone exchange.
#[derive(Debug)]
pub struct ExchangeAccount(pub String);

#[async_trait]
impl Account for ExchangeAccount {
    fn api(&self) -> &str {
        &self.0
    }

    fn trunk(&self, public: &str, _clock: Arc<dyn Clock>) -> Result<Trunk, SetupError> {
        trunk(&self.0, public)
    }

    async fn state(&self, check: &Check<'_>) -> Result<String, Problem> {
        let Self(url) = self;
        let request = check
            .ask
            .get(&format!("{url}/v1/calls?to=%2B15550100010&sinceMicros=0"));
        let asked = check.ask.json::<IgnoredAny>(request).await;
        asked.map_err(|why| why.at(url, "RINGBACK_SIMULATED_URL"))?;
        Ok("the exchange answers".to_owned())
    }
}

/// Creates the carrier for the exchange at `exchange_url`, which reaches this node at `public_url`.
pub fn trunk(exchange_url: &str, public_url: &str) -> Result<Trunk, SetupError> {
    let carrier = Arc::new(SimulatedCarrier::new(exchange_url, public_url)?);
    let routes = routes().merge(inbound::route(carrier.clone()));
    Ok(Trunk::new(carrier, routes))
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
    let report = callback::parse(body)?;
    link.ensure_unsigned_here(&attempt, Purpose::Status, &proof).await?;
    Ok(link.report(&attempt, proof, report).await)
}

async fn media(State(link): State<CarrierLink>, Path(token): Path<String>, socket: Upgrade) -> Response {
    link.media(&token, socket, Box::new(TwilioProtocol::default())).await
}
