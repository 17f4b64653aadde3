//! Where Vonage comes in: webhooks, each signed, and media sockets, each with its call's token. What is not is refused
//! before anything of it is looked at. Some webhooks are answered with instructions.

use std::{sync::Arc, time::Duration};

use actors::call::LegRefusal;
use axum::{
    Json, Router,
    body::Bytes,
    extract::{Path, State, rejection::BytesRejection},
    http::{HeaderMap, StatusCode, header::AUTHORIZATION},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use domain::{
    dial_token::Purpose,
    ports::carrier::{CallProgress, EndCause, InboundCall, InboundRefusal, LegReport},
    time::Clock,
};
use serde_json::json;
use tokio::time::sleep;

use super::{
    client::VonageCarrier,
    event::{self, Event, EventError, News},
    signature::WebhookKey,
    stream::VonageWire,
};
use crate::{
    CarrierDoor,
    conferences::{self, Destination},
    door::{self, NotTaken, Unread, Upgrade},
    media_socket::Claim,
    taken_calls::TakenCalls,
};
use net::log_gate;

/// The carrier's name in settings, routes and rows.
pub const NAME: &str = "vonage";
/// A call that lost its socket has not noticed yet: it is asked again …
const ASK_AGAIN: Duration = Duration::from_millis(250);
/// … so many times. Vonage waits for an answer for 5 s.
const ASKED: u32 = 8;

/// What the doors share.
#[derive(Debug)]
pub struct Doors {
    key: WebhookKey,
    clock: Arc<dyn Clock>,
    carrier: Arc<VonageCarrier>,
    taken: TakenCalls,
}

/// A webhook as it comes.
type Request = (HeaderMap, Result<Bytes, BytesRejection>);

/// The attempt and the proof that an address names.
type Named = (String, String);

/// Why a webhook is answered at once.
#[derive(Debug)]
enum Unheard {
    Unread(Unread),
    /// At this door.
    Forged(&'static str),
    Invalid(EventError),
    /// It tells nothing that we act on.
    Nothing,
}

impl IntoResponse for Unheard {
    fn into_response(self) -> Response {
        match self {
            Self::Unread(unread) => unread.into_response(),
            Self::Forged(at) => door::forged(NAME, at),
            Self::Invalid(error) => door::invalid(&error),
            Self::Nothing => door::taken(),
        }
    }
}

fn at(door: &str) -> String {
    format!("/carriers/{NAME}/{door}")
}

impl Doors {
    /// Doors whose webhooks are signed with this key, to calls of this carrier.
    pub fn new(key: WebhookKey, clock: Arc<dyn Clock>, carrier: Arc<VonageCarrier>) -> Self {
        Self {
            key,
            clock,
            carrier,
            taken: TakenCalls::default(),
        }
    }

    /// The routes.
    pub fn routes(self) -> Router<CarrierDoor> {
        let doors = Arc::new(self);
        let [stream, inbound, events, media] = [(); 4].map(|()| doors.clone());
        let stream = move |State(door), Path(token): Path<String>, headers: HeaderMap, body| async move {
            stream.stream(door, &token, (headers, body)).await
        };
        let inbound =
            move |State(door), headers: HeaderMap, body| async move { inbound.inbound(door, (headers, body)).await };
        let events =
            move |State(door), headers: HeaderMap, body| async move { events.events(door, (headers, body)).await };
        let media = move |State(door), Path(token): Path<String>, headers: HeaderMap, socket: Upgrade| async move {
            media.media(door, &token, &headers, socket).await
        };
        Self::of_telephones(&doors)
            .route(&at("stream/{token}"), post(stream))
            .route(&at("inbound"), post(inbound))
            .route(&at("events"), post(events))
            .route(&at("media/{token}"), get(media))
    }

    /// The routes of the legs that calls were given addresses for.
    fn of_telephones(doors: &Arc<Self>) -> Router<CarrierDoor> {
        let [status, transfer, conference] = [(); 3].map(|()| doors.clone());
        let status = move |State(door), Path(named), headers: HeaderMap, body| async move {
            status.status(door, named, (headers, body)).await
        };
        let transfer = move |State(door), Path(named), headers: HeaderMap, body| async move {
            transfer.transfer(door, named, (headers, body)).await
        };
        let conference = move |State(door), Path(named), headers: HeaderMap, body| async move {
            conference.conference(door, named, (headers, body)).await
        };
        Router::new()
            .route(&at("status/{attempt}/{proof}"), post(status))
            .route(&at("transfer/{token}/{proof}"), post(transfer))
            .route(&at("conference/{try}/{proof}"), post(conference))
    }

    /// The body of a webhook that is Vonage's.
    fn signed(&self, at: &'static str, (headers, body): Request) -> Result<Bytes, Unheard> {
        let body = door::callback_body(body).map_err(Unheard::Unread)?;
        let shown = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        let now_seconds = self.clock.now().0.div_euclid(1_000_000);
        match self.key.verify(shown, &body, now_seconds) {
            Ok(()) => Ok(body),
            Err(reason) => {
                if let Some(left_out) = log_gate::opens(NAME, "webhook") {
                    tracing::warn!(%reason, left_out, "webhook of Vonage refused");
                }
                Err(Unheard::Forged(at))
            }
        }
    }

    /// The event of a webhook; what to answer where it tells nothing.
    fn event(&self, at: &'static str, request: Request) -> Result<Event, Unheard> {
        let body = self.signed(at, request)?;
        event::parse(&body).map_err(Unheard::Invalid)?.ok_or(Unheard::Nothing)
    }

    /// A call's own leg.
    async fn status(&self, door: CarrierDoor, (attempt, proof): Named, request: Request) -> Response {
        let event = match self.event("status", request) {
            Ok(event) => event,
            Err(unheard) => return unheard.into_response(),
        };
        if let Some(elsewhere) = door.elsewhere(&attempt, Purpose::Status, &proof).await {
            return elsewhere;
        }
        self.leg(&door, (&attempt, proof), event).await
    }

    /// A leg of the application that no call was given an address for: one from outside.
    async fn events(&self, door: CarrierDoor, request: Request) -> Response {
        let event = match self.event("events", request) {
            Ok(event) => event,
            Err(unheard) => return unheard.into_response(),
        };
        let News::Progress(progress) = &event.news else {
            return door::taken();
        };
        if !self.taken.knows(&event.call)
            && let Some(elsewhere) = door.elsewhere_told(&event.call, progress).await
        {
            return elsewhere;
        }
        let Some(back) = self.taken.way_back(&event.call, progress) else {
            return door::taken();
        };
        self.leg(&door, (&back.attempt.to_string(), back.status_token), event)
            .await
    }

    async fn leg(&self, door: &CarrierDoor, (attempt, proof): (&str, String), event: Event) -> Response {
        let News::Progress(progress) = event.news else {
            return door::taken();
        };
        if event.is_socket {
            return door::taken();
        }
        if matches!(progress, CallProgress::Ended(_)) {
            let (carrier, call) = (self.carrier.clone(), event.call.clone());
            tokio::spawn(async move { conferences::release(&*carrier, &call).await });
        }
        let call = Some(event.call);
        door.report(attempt, proof, LegReport { call, progress }).await
    }

    /// The destination of a call that was handed on. Where nobody answers there the caller is brought back.
    async fn transfer(&self, door: CarrierDoor, (token, proof): Named, request: Request) -> Response {
        let event = match self.event("transfer", request) {
            Ok(event) => event,
            Err(unheard) => return unheard.into_response(),
        };
        let Some((attempt, media_token)) = token.split_once('.') else {
            return door::no_attempt();
        };
        if let Some(elsewhere) = door.elsewhere(attempt, Purpose::Status, &proof).await {
            return elsewhere;
        }
        match event.news {
            News::Progress(CallProgress::Answered) => {
                door.report(attempt, proof, CallProgress::Transferred.into()).await
            }
            News::Progress(CallProgress::Ended(cause)) if cause != EndCause::Completed => {
                let failed = conferences::failed(&cause);
                let answer = door.report(attempt, proof, failed.into()).await;
                if !answer.status().is_success() {
                    return answer;
                }
                // A socket that no call takes would leave the caller with silence; without instructions the call ends.
                match Claim::parse(&token) {
                    Some(claim) if matches!(door.takes_media(&claim).await, Some(Ok(())) | None) => {
                        Json(self.carrier.instructions.stream(claim.attempt, media_token)).into_response()
                    }
                    _ => Json(json!([])).into_response(),
                }
            }
            News::Progress(_) | News::Disconnected => door::taken(),
        }
    }

    /// The destination of a call that is to be joined with it.
    async fn conference(&self, door: CarrierDoor, named: Named, request: Request) -> Response {
        let event = match self.event("conference", request) {
            Ok(event) => event,
            Err(unheard) => return unheard.into_response(),
        };
        if let Some(elsewhere) = door.elsewhere(&named.0, Purpose::Status, &named.1).await {
            return elsewhere;
        }
        let destination = Destination::named(door, &self.carrier, named);
        match (destination, event.news) {
            (Some(destination), News::Progress(progress)) => destination.told(event.call, progress).await,
            (Some(_), News::Disconnected) => door::taken(),
            (None, _) => door::no_attempt(),
        }
    }

    /// The media socket as a leg: where it is lost and the call would take it again, it is opened again.
    async fn stream(&self, door: CarrierDoor, token: &str, request: Request) -> Response {
        let event = match self.event("stream", request) {
            Ok(event) => event,
            Err(unheard) => return unheard.into_response(),
        };
        let Some(claim) = Claim::parse(token) else {
            return door::no_attempt();
        };
        if let Some(elsewhere) = door.elsewhere(token, Purpose::Media, &claim.proof).await {
            return elsewhere;
        }
        let lost = match event.news {
            News::Disconnected => true,
            News::Progress(CallProgress::Ended(cause)) => cause != EndCause::Completed,
            News::Progress(_) => false,
        };
        if !lost || !wants_socket(&door, &claim).await {
            return door::taken();
        }
        tracing::info!(attempt = %claim.attempt, "media socket lost; Vonage opens it again");
        self.carrier.reopened.tell(claim.attempt);
        Json(self.carrier.instructions.stream(claim.attempt, &claim.proof)).into_response()
    }

    /// A call from outside.
    async fn inbound(&self, door: CarrierDoor, request: Request) -> Response {
        let body = match self.signed("inbound", request) {
            Ok(body) => body,
            Err(unheard) => return unheard.into_response(),
        };
        let announced = match event::announcement(&body) {
            Ok(announced) => announced,
            Err(error) => return door::invalid(&error),
        };
        let Some(to) = announced.to else {
            return refused(InboundRefusal::NobodyAnswers);
        };
        let call = InboundCall {
            carrier: NAME,
            call: announced.call.clone(),
            from: announced.from,
            to,
        };
        match door.announced(call).await {
            Ok(back) => {
                let ncco = self.carrier.instructions.stream(back.attempt, &back.media_token);
                if let Some(end) = self.taken.remember(announced.call, back.clone()) {
                    // The caller is gone already.
                    door.report(&back.attempt.to_string(), back.status_token, end).await;
                }
                Json(ncco).into_response()
            }
            Err(NotTaken::Elsewhere(elsewhere)) => elsewhere,
            Err(NotTaken::Refused(refusal)) => refused(refusal),
        }
    }

    async fn media(&self, door: CarrierDoor, token: &str, headers: &HeaderMap, socket: Upgrade) -> Response {
        let shown = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        let tokens = &self.carrier.instructions.tokens;
        let claim = Claim::parse(token).zip(shown);
        if !claim.is_some_and(|(claim, shown)| tokens.matches(claim.attempt, shown)) {
            return door::forged(NAME, "media");
        }
        door.media(token, socket, Box::new(VonageWire)).await
    }
}

/// Whether the call would take its socket again. Vonage may know of the loss before the call does.
async fn wants_socket(door: &CarrierDoor, claim: &Claim) -> bool {
    for _ in 0..ASKED {
        match door.wants_media(claim).await {
            Some(Ok(())) => return true,
            Some(Err(LegRefusal::NotNow)) => sleep(ASK_AGAIN).await,
            Some(Err(_)) | None => return false,
        }
    }
    false
}

/// A call from outside that nobody takes. No instructions end it. Where Vonage may try the application's fallback
/// address, it is told so by a status that makes it do that.
fn refused(refusal: InboundRefusal) -> Response {
    match refusal {
        InboundRefusal::NobodyAnswers => Json(json!([])).into_response(),
        InboundRefusal::Busy | InboundRefusal::TooMany => StatusCode::TOO_MANY_REQUESTS.into_response(),
        InboundRefusal::Unavailable => StatusCode::SERVICE_UNAVAILABLE.into_response(),
    }
}
