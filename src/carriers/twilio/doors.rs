//! Where Twilio, or SignalWire, comes in: status callbacks and media sockets, each signed. What is not is refused before
//! anything of it is looked at.

use std::sync::Arc;

use axum::{
    Router,
    body::Bytes,
    extract::{Path, State, rejection::BytesRejection},
    http::{HeaderMap, Uri},
    response::{IntoResponse, Response},
    routing::{get, post},
};

use super::{callback, signature::Guard, stream::TwilioWire};
use crate::carriers::{
    CarrierDoor,
    door::{self, Upgrade},
};

/// The doors of the carrier of this name.
pub fn doors(carrier: &'static str, guard: Arc<Guard>) -> Router<CarrierDoor> {
    let of_media = guard.clone();
    let status = move |State(door), Path(address), uri: Uri, headers: HeaderMap, body| async move {
        let request = (uri.path_and_query().map_or("", |asked| asked.as_str()), &headers);
        status((carrier, &guard), door, address, request, body).await
    };
    let media = move |State(door): State<CarrierDoor>,
                      Path(token): Path<String>,
                      uri: Uri,
                      headers: HeaderMap,
                      socket: Upgrade| async move {
        let asked = uri.path_and_query().map_or("", |asked| asked.as_str());
        if !of_media.admits_socket(asked, &headers) {
            return door::forged(carrier, "media");
        }
        door.media(&token, socket, Box::new(TwilioWire)).await
    };
    Router::new()
        .route(
            &format!("/carriers/{carrier}/status/{{attempt}}/{{proof}}"),
            post(status),
        )
        .route(&format!("/carriers/{carrier}/media/{{token}}"), get(media))
}

async fn status(
    (carrier, guard): (&'static str, &Guard),
    door: CarrierDoor,
    (attempt, proof): (String, String),
    (asked, headers): (&str, &HeaderMap),
    body: Result<Bytes, BytesRejection>,
) -> Response {
    let body = match door::callback_body(body) {
        Ok(body) => body,
        Err(unread) => return unread.into_response(),
    };
    if !guard.admits_form(asked, headers, &body) {
        return door::forged(carrier, "status");
    }
    match callback::parse(&body) {
        Ok(Some(report)) => door.report(&attempt, proof, report).await,
        Ok(None) => {
            tracing::info!(carrier, "status callback with a status nobody has told us about");
            door::taken()
        }
        Err(error) => door::invalid(&error),
    }
}
