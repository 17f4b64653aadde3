//! Vonage's signed webhooks, and media sockets with their call's token. Unsigned requests are rejected before
//! parsing. Some webhooks are answered with instructions.

use std::{sync::Arc, time::Duration};

use actors::call::LegRefusal;
use axum::{
    Extension, Json, Router,
    extract::{Path, State},
    http::{HeaderMap, StatusCode, header::AUTHORIZATION},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use domain::{
    dial_token::Purpose,
    ports::carrier::{CallProgress, EndCause, InboundRefusal, LegReport, WayBack},
    time::Clock,
};
use serde_json::json;
use tokio::time::sleep;

use super::{
    account::NAME,
    client::VonageCarrier,
    event::{self, Event, News},
    signature::{SignatureError, WebhookKey},
    stream::VonageProtocol,
};
use crate::{
    link::{self, CarrierLink, Upgrade, media_socket::Claim},
    webhooks::{self, Announcement, Request, Webhooks, conferences, taken_calls::TakenCalls},
};

/// Pause between questions to a call that may not have noticed the loss of its socket yet …
const ASK_AGAIN: Duration = Duration::from_millis(250);
/// … and their number. Vonage waits 5 s for a response.
const ASKED: u32 = 8;

/// State that the handlers share.
#[derive(Debug)]
struct VonageWebhooks {
    key: WebhookKey,
    clock: Arc<dyn Clock>,
    carrier: Arc<VonageCarrier>,
    taken: TakenCalls,
}

type Shared = Extension<Arc<VonageWebhooks>>;

/// Returns the routes to this carrier's calls, whose webhooks are signed with this key.
pub(super) fn routes(key: WebhookKey, clock: Arc<dyn Clock>, carrier: Arc<VonageCarrier>) -> Router<CarrierLink> {
    let webhooks = VonageWebhooks {
        key,
        clock,
        carrier,
        taken: TakenCalls::default(),
    };
    let own = [
        ("transfer/{token}/{proof}", post(transfer)),
        ("stream/{token}", post(stream)),
        ("media/{token}", get(media)),
    ];
    webhooks::routes(Arc::new(webhooks), &own)
}

/// Returns empty instructions, which end the call.
fn nothing_more() -> Response {
    Json(json!([])).into_response()
}

impl VonageWebhooks {
    /// Verifies a webhook and returns its body. Vonage may send one without a signature after an error of its own,
    /// and sends it again after a 5xx. <https://github.com/Nexmo/nexmo-developer/pull/2848>
    fn signed<'a>(&self, at: &'static str, request: &'a Request) -> Result<&'a [u8], Response> {
        let body = request.body()?;
        let now_seconds = self.clock.now().unix_seconds();
        let verified = self
            .key
            .verify(request.header(AUTHORIZATION.as_str()), body, now_seconds);
        verified.map_err(|reason| {
            let forged = link::forged_webhook(NAME, at, &reason);
            match reason {
                SignatureError::Missing => {
                    let message = "the webhook is not signed; sign it and send it again";
                    link::refusal(StatusCode::SERVICE_UNAVAILABLE, "unsigned", message)
                }
                _ => forged,
            }
        })?;
        Ok(body)
    }

    /// Parses the event of a webhook. Returns the response to send if there is no event.
    fn event(&self, at: &'static str, request: &Request) -> Result<Event, Response> {
        let event = event::parse(self.signed(at, request)?)?;
        event.ok_or_else(link::taken)
    }

    fn stream(&self, claim: &Claim) -> Response {
        Json(self.carrier.instructions.stream(claim.attempt, &claim.proof)).into_response()
    }
}

impl Webhooks for VonageWebhooks {
    type Carrier = VonageCarrier;

    fn carrier(&self) -> &Arc<VonageCarrier> {
        &self.carrier
    }

    fn taken(&self) -> &TakenCalls {
        &self.taken
    }

    fn report(&self, at: &'static str, request: &Request) -> Result<LegReport, Response> {
        match self.event(at, request)? {
            Event {
                call,
                is_socket: false,
                news: News::Progress(progress),
            } => Ok(LegReport {
                call: Some(call),
                progress,
            }),
            // Media sockets are legs, too.
            _ => Err(link::taken()),
        }
    }

    fn announcement(&self, request: &Request) -> Result<Announcement, Response> {
        Ok(event::announcement(self.signed("inbound", request)?)?)
    }

    fn connect(&self, back: &WayBack) -> Response {
        Json(self.carrier.instructions.stream(back.attempt, &back.media_token)).into_response()
    }

    /// These statuses have Vonage try the application's fallback address.
    fn refuse(&self, refusal: InboundRefusal) -> Response {
        match refusal {
            InboundRefusal::NobodyAnswers => nothing_more(),
            InboundRefusal::Busy | InboundRefusal::TooMany => StatusCode::TOO_MANY_REQUESTS.into_response(),
            InboundRefusal::Unavailable => StatusCode::SERVICE_UNAVAILABLE.into_response(),
        }
    }
}

/// Handles a report about a transfer destination. If nobody answers there, brings the caller back.
async fn transfer(
    Extension(vonage): Shared,
    State(link): State<CarrierLink>,
    Path((token, proof)): Path<(String, String)>,
    request: Request,
) -> Result<Response, Response> {
    let event = vonage.event("transfer", &request)?;
    let attempt = token
        .split_once('.')
        .map(|(attempt, _)| attempt)
        .ok_or_else(link::no_attempt)?;
    link.ensure_here(attempt, Purpose::Status, &proof).await?;
    Ok(match event.news {
        News::Progress(CallProgress::Answered) => link.report(attempt, proof, CallProgress::Transferred.into()).await,
        News::Progress(CallProgress::Ended(cause)) if cause != EndCause::Completed => {
            let answer = link.report(attempt, proof, conferences::failed(&cause).into()).await;
            if !answer.status().is_success() {
                return Err(answer);
            }
            // Without instructions the call ends.
            match Claim::parse(&token) {
                Some(claim) if link.may_open_media(&claim).await => vonage.stream(&claim),
                _ => nothing_more(),
            }
        }
        News::Progress(_) | News::Disconnected => link::taken(),
    })
}

/// Handles a report about the media socket. If it is lost and the call would take it again, reopens it.
async fn stream(
    Extension(vonage): Shared,
    State(link): State<CarrierLink>,
    Path(token): Path<String>,
    request: Request,
) -> Result<Response, Response> {
    let event = vonage.event("stream", &request)?;
    let claim = Claim::parse(&token).ok_or_else(link::no_attempt)?;
    link.ensure_here(&token, Purpose::Media, &claim.proof).await?;
    let lost = match event.news {
        News::Disconnected => true,
        News::Progress(CallProgress::Ended(cause)) => cause != EndCause::Completed,
        News::Progress(_) => false,
    };
    if !lost || !wants_socket(&link, &claim).await {
        return Ok(link::taken());
    }
    tracing::info!(attempt = %claim.attempt, "media socket lost; Vonage reopens it");
    vonage.carrier.reopened.tell(claim.attempt);
    Ok(vonage.stream(&claim))
}

async fn media(
    Extension(vonage): Shared,
    State(link): State<CarrierLink>,
    Path(token): Path<String>,
    headers: HeaderMap,
    socket: Upgrade,
) -> Response {
    let tokens = &vonage.carrier.instructions.tokens;
    if !tokens.admit(&token, headers.get(AUTHORIZATION)) {
        return link::forged(NAME, "media");
    }
    link.media(&token, socket, Box::new(VonageProtocol)).await
}

/// Returns whether the call would take its socket again. Vonage may notice the loss before the call does.
async fn wants_socket(link: &CarrierLink, claim: &Claim) -> bool {
    for _ in 0..ASKED {
        match link.wants_media(claim).await {
            Some(Ok(())) => return true,
            Some(Err(LegRefusal::NotNow)) => sleep(ASK_AGAIN).await,
            Some(Err(_)) | None => return false,
        }
    }
    false
}
