//! Telnyx's signed webhooks, and media sockets with their call's token. Unsigned requests are rejected before
//! parsing. Commands that follow from a webhook are sent after its response.

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
    account::NAME,
    client::TelnyxCarrier,
    event::{self, News, Webhook},
    legs::{self, Leg},
    line::LineChoice,
    signature::WebhookKey,
    stream::TelnyxProtocol,
};
use crate::{
    link::{self, CarrierLink, NotTaken, Upgrade},
    webhooks::{Announcement, Request, StreamTokens},
};

/// Header with the token from the dial.
const TOKEN_HEADER: &str = "x-telnyx-streaming-auth-token";

/// State that the handlers share.
#[derive(Debug)]
pub(super) struct TelnyxWebhooks {
    pub(super) key: WebhookKey,
    pub(super) tokens: StreamTokens,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) line: LineChoice,
    pub(super) carrier: Arc<TelnyxCarrier>,
}

type Shared = Extension<Arc<TelnyxWebhooks>>;

pub(super) fn routes(webhooks: TelnyxWebhooks) -> Router<CarrierLink> {
    Router::new()
        .route(&format!("/carriers/{NAME}/status/{{attempt}}/{{proof}}"), post(status))
        .route(&format!("/carriers/{NAME}/inbound"), post(inbound))
        .route(&format!("/carriers/{NAME}/media/{{token}}"), get(media))
        .layer(Extension(Arc::new(webhooks)))
}

impl TelnyxWebhooks {
    /// Verifies and parses a webhook.
    fn webhook(&self, at: &'static str, request: &Request) -> Result<Webhook, Response> {
        let body = request.body()?;
        let now_seconds = self.clock.now().unix_seconds();
        let verified = self.key.verify(|name| request.header(name), body, now_seconds);
        verified.map_err(|reason| link::forged_webhook(NAME, at, &reason))?;
        Ok(event::parse(body)?)
    }

    /// Handles an inbound call. Telnyx expects commands for it; the response to the webhook only acknowledges it.
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
                    tracing::warn!(%error, "refusal of inbound call failed");
                }
            })),
            Ok(back) if carrier.ways.take(&call, &back) => drop(tokio::spawn(async move {
                match carrier.answer(&call, &back).await {
                    Ok(()) => legs::first_stream(Leg::of(link, carrier, back.clone()), call, back).await,
                    Err(error) => {
                        tracing::warn!(attempt = %back.attempt, %error, "inbound call not answered");
                        legs::never_answered(&link, back, call, &error).await;
                    }
                }
            })),
            Ok(_) => {}
        }
        StatusCode::OK.into_response()
    }
}

/// Handles webhooks about a call's legs, at the address given to them.
async fn status(
    Extension(telnyx): Shared,
    State(link): State<CarrierLink>,
    Path((attempt, proof)): Path<(String, String)>,
    request: Request,
) -> Result<Response, Response> {
    let webhook = telnyx.webhook("status", &request)?;
    // The signature does not cover the address; this webhook was signed for another call.
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

/// Handles webhooks at the application's own address: announcements of inbound calls, and everything about
/// them until they are answered.
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
    Ok(legs::heard(Leg::of(link, telnyx.carrier.clone(), back), webhook).await)
}

async fn media(
    Extension(telnyx): Shared,
    State(link): State<CarrierLink>,
    Path(token): Path<String>,
    headers: HeaderMap,
    socket: Upgrade,
) -> Response {
    if !telnyx.tokens.admit(&token, headers.get(TOKEN_HEADER)) {
        return link::forged(NAME, "media");
    }
    link.media(&token, socket, Box::new(TelnyxProtocol::new(telnyx.line)))
        .await
}

/// Checks that no other node holds the call of a webhook at the application's address.
async fn ensure_of_no_other_node(link: &CarrierLink, webhook: &Webhook) -> Result<(), Response> {
    match (webhook.attempt, &webhook.call, &webhook.news) {
        (Some(attempt), ..) => link.ensure_vouched_here(attempt).await,
        (None, Some(call), News::Leg(report)) => link.ensure_told_here(call, &report.progress).await,
        (None, Some(call), _) => link.ensure_told_here(call, &CallProgress::Placed).await,
        (None, None, _) => Ok(()),
    }
}
