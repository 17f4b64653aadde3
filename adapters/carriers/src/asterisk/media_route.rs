//! Media socket route for Asterisk. Its address is one of Asterisk's settings and the same for every call.
//! The call and its proof are in the query that `chan_websocket` adds.

use axum::{
    Router,
    extract::{Query, State},
    response::Response,
    routing::get,
};
use serde::Deserialize;

use super::{
    account::{Codec, Media, NAME},
    stream::AsteriskProtocol,
};
use crate::link::{self, CarrierLink, Upgrade};

/// Required subprotocol. Without it, Asterisk refuses the connection.
const SUBPROTOCOL: &str = "media";

#[derive(Deserialize)]
struct Address {
    #[serde(default)]
    token: String,
}

/// Returns the route. There is none if audio uses AudioSocket.
pub fn route(media: &Media) -> Router<CarrierLink> {
    match media {
        Media::AudioSocket { .. } => Router::new(),
        Media::WebSocket { codec, .. } => {
            let codec = *codec;
            let open = move |State(link), Query(address), socket: Upgrade| open(link, address, socket, codec);
            Router::new().route(&format!("/carriers/{NAME}/media"), get(open))
        }
    }
}

async fn open(link: CarrierLink, address: Address, socket: Upgrade, codec: Codec) -> Response {
    let socket = socket.map(|socket| socket.protocols([SUBPROTOCOL]));
    if address.token.is_empty() {
        return link::no_attempt();
    }
    link.media(&address.token, socket, Box::new(AsteriskProtocol::new(codec)))
        .await
}
