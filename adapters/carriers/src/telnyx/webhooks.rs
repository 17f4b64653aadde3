//! Telnyx's webhooks, each signed, and media sockets, each with its call's token. Unsigned requests are rejected before
//! parsing. What a webhook asks for is commanded once it is answered.

use std::sync::Arc;

use axum::{
    Extension, Router,
    extract::{Path, State},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use domain::{
    dial_token::Purpose,
    ports::carrier::{CallProgress, InboundRefusal},
    time::Clock,
};

use super::{
    client::TelnyxCarrier,
    event::{self, News, Webhook},
    legs::{self, Leg},
    line::LineChoice,
    mark::StreamTokens,
    signature::WebhookKey,
    stream::TelnyxWire,
};
use crate::{
    CarrierLink,
    link::{self, NotTaken, Upgrade},
    media_socket::Claim,
    webhooks::{Announcement, Request},
};
use net::log_gate;

/// The carrier's name in settings, routes and rows.
pub const NAME: &str = "telnyx";
/// Shows the token that was given with the dial.
const TOKEN_HEADER: &str = "x-telnyx-streaming-auth-token";

/// What the handlers share.
#[derive(Debug)]
pub(super) struct TelnyxWebhooks {
    /// Checks webhooks.
    pub(super) key: WebhookKey,
    /// Checks media sockets.
    pub(super) tokens: StreamTokens,
    /// How old a webhook is.
    pub(super) clock: Arc<dyn Clock>,
    /// The codec of streams.
    pub(super) line: LineChoice,
    pub(super) carrier: Arc<TelnyxCarrier>,
}

type Shared = Extension<Arc<TelnyxWebhooks>>;

/// The routes.
pub(super) fn routes(webhooks: TelnyxWebhooks) -> Router<CarrierLink> {
    Router::new()
        .route(&format!("/carriers/{NAME}/status/{{attempt}}/{{proof}}"), post(status))
        .route(&format!("/carriers/{NAME}/inbound"), post(inbound))
        .route(&format!("/carriers/{NAME}/media/{{token}}"), get(media))
        .layer(Extension(Arc::new(webhooks)))
}

impl TelnyxWebhooks {
    /// A webhook that is Telnyx's.
    fn webhook(&self, at: &'static str, request: &Request) -> Result<Webhook, Response> {
        let body = request.body()?;
        let now_seconds = self.clock.now().0.div_euclid(1_000_000);
        let verified = self.key.verify(|name| request.header(name), body, now_seconds);
        verified.map_err(|reason| {
            if let Some(left_out) = log_gate::opens(NAME, "webhook") {
                tracing::warn!(%reason, left_out, "webhook of Telnyx refused");
            }
            link::forged(NAME, at)
        })?;
        event::parse(body).map_err(|error| link::invalid(&error))
    }

    /// A call from outside. What is done with it is commanded: the answer of a webhook says nothing but that it came.
    async fn announced(&self, link: CarrierLink, announced: Announcement) -> Response {
        let (carrier, call) = (self.carrier.clone(), announced.call.clone());
        match announced.offer(&link).await {
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
                    legs::never_answered(&link, back, call, &error).await;
                }
            })),
            Ok(_) => {}
        }
        StatusCode::OK.into_response()
    }
}

/// The legs of a call whose address they were given.
async fn status(
    Extension(telnyx): Shared,
    State(link): State<CarrierLink>,
    Path((attempt, proof)): Path<(String, String)>,
    request: Request,
) -> Result<Response, Response> {
    let webhook = telnyx.webhook("status", &request)?;
    // The signature does not cover the address: this webhook was signed for another call.
    if webhook.attempt.is_some_and(|named| named.to_string() != attempt) {
        return Err(link::forged(NAME, "status"));
    }
    link.ensure_here(&attempt, Purpose::Status, &proof).await?;
    let leg = Leg {
        link,
        carrier: telnyx.carrier.clone(),
        attempt,
        proof,
    };
    Ok(legs::heard(leg, webhook).await)
}

/// The application's own address: calls from outside are announced here, and until they are answered all that is
/// told of them comes here.
async fn inbound(
    Extension(telnyx): Shared,
    State(link): State<CarrierLink>,
    request: Request,
) -> Result<Response, Response> {
    let webhook = telnyx.webhook("inbound", &request)?;
    if let News::Announced(announced) = webhook.news {
        return Ok(telnyx.announced(link, announced).await);
    }
    let ways = &telnyx.carrier.ways;
    let of_attempt = || webhook.attempt.and_then(|attempt| ways.of(attempt));
    let of_call = webhook.call.as_ref().and_then(|call| ways.of_call(call));
    let Some(back) = of_call.or_else(of_attempt) else {
        ensure_of_no_other_node(&link, &webhook).await?;
        return Ok(link::taken());
    };
    let leg = Leg {
        link,
        carrier: telnyx.carrier.clone(),
        attempt: back.attempt.to_string(),
        proof: back.status_token,
    };
    Ok(legs::heard(leg, webhook).await)
}

async fn media(
    Extension(telnyx): Shared,
    State(link): State<CarrierLink>,
    Path(token): Path<String>,
    headers: HeaderMap,
    socket: Upgrade,
) -> Response {
    let shown = headers.get(TOKEN_HEADER).and_then(|value| value.to_str().ok());
    let claim = Claim::parse(&token).zip(shown);
    if !claim.is_some_and(|(claim, shown)| telnyx.tokens.matches(claim.attempt, shown)) {
        return link::forged(NAME, "media");
    }
    link.media(&token, socket, Box::new(TelnyxWire::new(telnyx.line))).await
}

/// What to answer to a webhook at the application's address that is of a call which another node holds.
async fn ensure_of_no_other_node(link: &CarrierLink, webhook: &Webhook) -> Result<(), Response> {
    match (webhook.attempt, &webhook.call, &webhook.news) {
        (Some(attempt), ..) => link.ensure_vouched_here(attempt).await,
        (None, Some(call), News::Leg(report)) => link.ensure_told_here(call, &report.progress).await,
        (None, Some(call), _) => link.ensure_told_here(call, &CallProgress::Placed).await,
        (None, None, _) => Ok(()),
    }
}
