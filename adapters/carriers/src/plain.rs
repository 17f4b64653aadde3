//! The plain media link: calls that anything which can open a WebSocket brings in. They begin by the REST API, which
//! says who may; there is no network behind them, so the socket is the call.

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

use self::{format::Formats, stream::PlainWire};
use super::{
    CarrierLink, Trunk,
    http::socket_address,
    link::{self, Upgrade},
    words::plain_words,
};

/// The carrier's name.
pub const NAME: &str = "plain";

/// The carrier of these calls.
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
        let why = "the plain media door brings calls in and places none";
        Err(DialError::AccountRefused(plain_words(why)))
    }

    /// The call closes its socket by itself, and without one there is nothing to end.
    async fn hang_up(&self, _call: &CarrierCallId) -> Result<(), CarrierError> {
        Ok(())
    }

    async fn find_calls(&self, _to: &PhoneNumber, _since: Timestamp) -> Result<Vec<ListedCall>, CarrierError> {
        Ok(Vec::new())
    }

    /// A socket that died without closing is the client's to open again, at the address it has.
    async fn reopen_media(&self, _call: &CarrierCallId, _back: &WayBack) -> Result<(), CarrierError> {
        Ok(())
    }
}

/// The carrier, built in.
pub fn trunk() -> Trunk {
    Trunk {
        carrier: Arc::new(PlainCarrier),
        routes: Router::new().route("/carriers/plain/media/{token}", get(media)),
        event_listener: None,
    }
}

/// Where the client opens the media socket of a call, at a service that is reached at `public`; its audio has these
/// formats unless the client names others.
pub fn media_url(public: &str, back: &WayBack, formats: Formats) -> String {
    let (attempt, proof) = (back.attempt, &back.media_token);
    let query = formats.query();
    socket_address(&format!("{public}/carriers/plain/media/{attempt}.{proof}{query}"))
}

/// The formats that an address names.
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
        Ok(formats) => link.media(&token, socket, Box::new(PlainWire::new(formats))).await,
        Err(error) => link::invalid(&error),
    }
}
