//! Where Telnyx comes in: webhooks, each signed, and media sockets, each with its call's token. What is not is refused
//! before anything of it is looked at.

use std::sync::Arc;

use actors::time::Clock;
use axum::{
    Router,
    body::Bytes,
    extract::{Path, State, rejection::BytesRejection},
    http::HeaderMap,
    response::{IntoResponse, Response},
    routing::{get, post},
};

use super::{
    line::LineChoice,
    mark::StreamTokens,
    signature::WebhookKey,
    stream::TelnyxWire,
    webhook::{self, News},
};
use crate::carriers::{
    CarrierDoor,
    door::{self, Upgrade},
    media_socket::Claim,
};

/// The carrier's name in settings, routes and rows.
pub const NAME: &str = "telnyx";
/// Shows the token that was given with the dial.
const TOKEN_HEADER: &str = "x-telnyx-streaming-auth-token";

/// Who may come in.
#[derive(Debug, Clone)]
pub struct Guard {
    /// Checks webhooks.
    pub key: WebhookKey,
    /// Checks media sockets.
    pub tokens: StreamTokens,
    /// How old a webhook is.
    pub clock: Arc<dyn Clock>,
}

impl Guard {
    fn admits(&self, headers: &HeaderMap, body: &[u8]) -> bool {
        let header = |name: &'static str| headers.get(name)?.to_str().ok();
        let now_seconds = self.clock.now().0.div_euclid(1_000_000);
        match self.key.verify(header, body, now_seconds) {
            Ok(()) => true,
            Err(reason) => {
                tracing::warn!(%reason, "webhook of Telnyx refused");
                false
            }
        }
    }

    fn admits_socket(&self, token: &str, headers: &HeaderMap) -> bool {
        let shown = headers.get(TOKEN_HEADER).and_then(|value| value.to_str().ok());
        let claim = Claim::parse(token);
        claim
            .zip(shown)
            .is_some_and(|(claim, shown)| self.tokens.matches(claim.attempt, shown))
    }
}

/// The doors; streams are in this codec.
pub fn doors(guard: Guard, line: LineChoice) -> Router<CarrierDoor> {
    let guard = Arc::new(guard);
    let of_media = guard.clone();
    let status = move |State(door), Path(address), headers: HeaderMap, body| async move {
        status(&guard, door, address, &headers, body).await
    };
    let media = move |State(door): State<CarrierDoor>,
                      Path(token): Path<String>,
                      headers: HeaderMap,
                      socket: Upgrade| async move {
        if !of_media.admits_socket(&token, &headers) {
            return door::forged(NAME, "media");
        }
        door.media(&token, socket, Box::new(TelnyxWire::new(line))).await
    };
    Router::new()
        .route(&format!("/carriers/{NAME}/status/{{attempt}}/{{proof}}"), post(status))
        .route(&format!("/carriers/{NAME}/media/{{token}}"), get(media))
}

async fn status(
    guard: &Guard,
    door: CarrierDoor,
    (attempt, proof): (String, String),
    headers: &HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    let body = match door::callback_body(body) {
        Ok(body) => body,
        Err(refused) => return refused.into_response(),
    };
    if !guard.admits(headers, &body) {
        return door::forged(NAME, "status");
    }
    let webhook = match webhook::parse(&body) {
        Ok(webhook) => webhook,
        Err(error) => return door::invalid(&error),
    };
    // The signature does not cover the address: this webhook was signed for another call.
    if webhook.attempt.is_some_and(|named| named.to_string() != attempt) {
        return door::forged(NAME, "status");
    }
    match webhook.news {
        News::Leg(report) => door.report(&attempt, proof, report).await,
        News::StreamFailed(reason) => {
            metrics::counter!("ringback_telnyx_streams_failed_total").increment(1);
            tracing::warn!(attempt = %attempt.escape_debug(), reason, "Telnyx has no media socket to this service");
            door::taken()
        }
        News::Nothing => door::taken(),
    }
}
