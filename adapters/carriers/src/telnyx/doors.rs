//! Where Telnyx comes in: webhooks, each signed, and media sockets, each with its call's token. What is not is refused
//! before anything of it is looked at. What a webhook asks for is commanded once it is answered.

use std::sync::Arc;

use axum::{
    Router,
    body::Bytes,
    extract::{Path, State, rejection::BytesRejection},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use domain::{
    dial_token::Purpose,
    ports::carrier::{CallProgress, InboundCall, InboundRefusal},
    time::Clock,
};

use super::{
    client::TelnyxCarrier,
    legs::{self, Leg},
    line::LineChoice,
    mark::StreamTokens,
    signature::WebhookKey,
    stream::TelnyxWire,
    webhook::{self, Announcement, News, Webhook, WebhookError},
};
use crate::{
    CarrierDoor,
    door::{self, NotTaken, Unread, Upgrade},
    media_socket::Claim,
};
use net::log_gate;

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
                if let Some(left_out) = log_gate::opens(NAME, "webhook") {
                    tracing::warn!(%reason, left_out, "webhook of Telnyx refused");
                }
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

/// What the doors share.
#[derive(Debug)]
pub struct Doors {
    guard: Guard,
    line: LineChoice,
    carrier: Arc<TelnyxCarrier>,
}

/// A webhook as it comes.
type Request = (HeaderMap, Result<Bytes, BytesRejection>);

/// Why a webhook is answered at once.
#[derive(Debug)]
enum Unheard {
    Unread(Unread),
    /// At this door.
    Forged(&'static str),
    Invalid(WebhookError),
}

impl IntoResponse for Unheard {
    fn into_response(self) -> Response {
        match self {
            Self::Unread(unread) => unread.into_response(),
            Self::Forged(at) => door::forged(NAME, at),
            Self::Invalid(error) => door::invalid(&error),
        }
    }
}

impl Doors {
    /// Doors that this guard keeps, to calls of this carrier, with streams in this codec.
    pub fn new(guard: Guard, line: LineChoice, carrier: Arc<TelnyxCarrier>) -> Self {
        Self { guard, line, carrier }
    }

    /// The routes.
    pub fn routes(self) -> Router<CarrierDoor> {
        let doors = Arc::new(self);
        let [status, inbound, media] = [(); 3].map(|()| doors.clone());
        let status = move |State(door), Path(address), headers: HeaderMap, body| async move {
            status.status(door, address, (headers, body)).await
        };
        let inbound =
            move |State(door), headers: HeaderMap, body| async move { inbound.inbound(door, (headers, body)).await };
        let media = move |State(door), Path(token): Path<String>, headers: HeaderMap, socket: Upgrade| async move {
            media.media(door, &token, &headers, socket).await
        };
        Router::new()
            .route(&format!("/carriers/{NAME}/status/{{attempt}}/{{proof}}"), post(status))
            .route(&format!("/carriers/{NAME}/inbound"), post(inbound))
            .route(&format!("/carriers/{NAME}/media/{{token}}"), get(media))
    }

    /// A webhook that is Telnyx's.
    fn webhook(&self, at: &'static str, (headers, body): Request) -> Result<Webhook, Unheard> {
        let body = door::callback_body(body).map_err(Unheard::Unread)?;
        if !self.guard.admits(&headers, &body) {
            return Err(Unheard::Forged(at));
        }
        webhook::parse(&body).map_err(Unheard::Invalid)
    }

    /// The legs of a call whose address they were given.
    async fn status(&self, door: CarrierDoor, (attempt, proof): (String, String), request: Request) -> Response {
        let webhook = match self.webhook("status", request) {
            Ok(webhook) => webhook,
            Err(unheard) => return unheard.into_response(),
        };
        // The signature does not cover the address: this webhook was signed for another call.
        if webhook.attempt.is_some_and(|named| named.to_string() != attempt) {
            return door::forged(NAME, "status");
        }
        if let Some(elsewhere) = door.elsewhere(&attempt, Purpose::Status, &proof).await {
            return elsewhere;
        }
        let leg = Leg {
            door,
            carrier: self.carrier.clone(),
            attempt,
            proof,
        };
        legs::heard(leg, webhook).await
    }

    /// The application's own address: calls from outside are announced here, and until they are answered all that is
    /// told of them comes here.
    async fn inbound(&self, door: CarrierDoor, request: Request) -> Response {
        let webhook = match self.webhook("inbound", request) {
            Ok(webhook) => webhook,
            Err(unheard) => return unheard.into_response(),
        };
        if let News::Announced(announced) = webhook.news {
            return self.announced(door, announced).await;
        }
        let of_attempt = || webhook.attempt.and_then(|attempt| self.carrier.ways.of(attempt));
        let of_call = webhook.call.as_ref().and_then(|call| self.carrier.ways.of_call(call));
        let Some(back) = of_call.or_else(of_attempt) else {
            let elsewhere = of_another_node(&door, &webhook).await;
            return elsewhere.unwrap_or_else(door::taken);
        };
        let leg = Leg {
            door,
            carrier: self.carrier.clone(),
            attempt: back.attempt.to_string(),
            proof: back.status_token,
        };
        legs::heard(leg, webhook).await
    }

    /// A call from outside. What is done with it is commanded: the answer of a webhook says nothing but that it came.
    async fn announced(&self, door: CarrierDoor, announced: Announcement) -> Response {
        let taken = match announced.to {
            Some(to) => {
                let call = InboundCall {
                    carrier: NAME,
                    call: announced.call.clone(),
                    from: announced.from,
                    to,
                };
                door.announced(call).await
            }
            None => Err(NotTaken::Refused(InboundRefusal::NobodyAnswers)),
        };
        let (carrier, call) = (self.carrier.clone(), announced.call);
        match taken {
            // Telnyx announces it again, or at the application's failover address.
            Err(NotTaken::Refused(InboundRefusal::Unavailable)) => {
                return StatusCode::SERVICE_UNAVAILABLE.into_response();
            }
            Err(NotTaken::Elsewhere(elsewhere)) => return elsewhere,
            Err(NotTaken::Refused(refusal)) => drop(tokio::spawn(async move {
                if let Err(error) = carrier.reject(&call, refusal).await {
                    tracing::warn!(%error, "a call that came in could not be refused");
                }
            })),
            Ok(back) if carrier.ways.take(&call, &back) => drop(tokio::spawn(async move {
                if let Err(error) = carrier.answer(&call, &back).await {
                    tracing::warn!(attempt = %back.attempt, %error, "a call that came in could not be answered");
                    legs::never_answered(&door, back, call, &error).await;
                }
            })),
            Ok(_) => {}
        }
        StatusCode::OK.into_response()
    }

    async fn media(&self, door: CarrierDoor, token: &str, headers: &HeaderMap, socket: Upgrade) -> Response {
        if !self.guard.admits_socket(token, headers) {
            return door::forged(NAME, "media");
        }
        door.media(token, socket, Box::new(TelnyxWire::new(self.line))).await
    }
}

/// What to answer to a webhook at the application's address that is of a call which another node holds.
async fn of_another_node(door: &CarrierDoor, webhook: &Webhook) -> Option<Response> {
    match (webhook.attempt, &webhook.call, &webhook.news) {
        (Some(attempt), ..) => door.elsewhere_vouched(attempt).await,
        (None, Some(call), News::Leg(report)) => door.elsewhere_told(call, &report.progress).await,
        (None, Some(call), _) => door.elsewhere_told(call, &CallProgress::Placed).await,
        (None, None, _) => None,
    }
}
