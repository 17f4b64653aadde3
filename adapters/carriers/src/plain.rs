//! The plain media link, for calls from any WebSocket client. The REST API starts them and authorises the
//! caller. There is no telephone network behind them, so the socket is the call.

pub mod format;
pub mod stream;

use std::sync::Arc;

use async_trait::async_trait;
use axum::{
    Router,
    extract::{Path, Query, State},
    response::Response,
    routing::get,
};
use domain::{
    phone_number::PhoneNumber,
    ports::carrier::{Carrier, CarrierCallId, CarrierError, DialError, DialRequest, ListedCall, WayBack},
    time::Timestamp,
};

use serde::Deserialize;

use self::{format::Formats, stream::PlainProtocol};
use crate::{
    http::{socket_address, words::plain_words},
    kind::{CarrierKind, Trunk},
    link::{self, CarrierLink, Upgrade},
};

/// Name of the carrier.
pub const NAME: &str = "plain";

/// The plain media link.
pub static KIND: CarrierKind = CarrierKind {
    name: NAME,
    title: "the plain media link",
    dials: false,
    calls_back: false,
    ..CarrierKind::USUAL
};

/// Carrier of plain calls.
#[derive(Debug)]
pub struct PlainCarrier;

#[async_trait]
impl Carrier for PlainCarrier {
    fn name(&self) -> &'static str {
        NAME
    }

    fn dials(&self) -> bool {
        false
    }

    async fn dial(&self, _request: &DialRequest) -> Result<CarrierCallId, DialError> {
        let why = "the plain media link accepts calls and cannot place any";
        Err(DialError::AccountRefused(plain_words(why)))
    }

    /// Does nothing: the call closes its socket by itself, and without a socket there is nothing to end.
    async fn hang_up(&self, _call: &CarrierCallId) -> Result<(), CarrierError> {
        Ok(())
    }

    async fn find_calls(&self, _to: &PhoneNumber, _since: Timestamp) -> Result<Vec<ListedCall>, CarrierError> {
        Ok(Vec::new())
    }

    /// Does nothing: the client must reopen a socket that died, at the address it has.
    async fn reopen_media(&self, _call: &CarrierCallId, _back: &WayBack) -> Result<(), CarrierError> {
        Ok(())
    }
}

/// Creates the carrier.
pub fn trunk() -> Trunk {
    let routes = Router::new().route("/carriers/plain/media/{token}", get(media));
    Trunk::new(Arc::new(PlainCarrier), routes)
}

/// Returns the address at which the client opens the media socket of a call. `public` is the public URL of
/// the service. The audio has these formats unless the client names others.
pub fn media_url(public: &str, back: &WayBack, formats: Formats) -> String {
    let (attempt, proof) = (back.attempt, &back.media_token);
    let query = formats.query();
    socket_address(&format!("{public}/carriers/plain/media/{attempt}.{proof}{query}"))
}

/// Formats in the query of an address.
#[derive(Deserialize)]
struct Named {
    input: Option<String>,
    output: Option<String>,
}

async fn media(
    State(link): State<CarrierLink>,
    Path(token): Path<String>,
    Query(named): Query<Named>,
    socket: Upgrade,
) -> Response {
    match Formats::named(named.input.as_deref(), named.output.as_deref()) {
        Ok(formats) => link.media(&token, socket, Box::new(PlainProtocol::new(formats))).await,
        Err(error) => link::invalid(&error),
    }
}
