//! Webhooks that several carriers share: progress of a call's legs, and inbound calls. Two carriers expect
//! instructions in the response. Carrier-specific webhooks are in each carrier's own module.

pub(crate) mod addresses;
pub(crate) mod conferences;
mod error;
pub(crate) mod handovers;
pub(crate) mod stream_tokens;
pub(crate) mod taken_calls;

use std::{convert::Infallible, sync::Arc};

use axum::{
    Extension, Router,
    body::Bytes,
    extract::{FromRequest, Path, State, rejection::BytesRejection},
    http::{HeaderMap, Uri},
    response::Response,
    routing::post,
};
use domain::{
    dial_token::Purpose,
    phone_number::PhoneNumber,
    ports::carrier::{Carrier, CarrierCallId, InboundCall, InboundRefusal, LegReport, WayBack},
};

use self::{
    conferences::{Destination, Joins},
    taken_calls::TakenCalls,
};
pub use self::{error::WebhookError, stream_tokens::StreamTokens};
use crate::link::{self, CarrierLink, NotTaken};

/// A received webhook request.
pub(crate) struct Request {
    pub(crate) uri: Uri,
    pub(crate) headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
}

impl<S: Send + Sync> FromRequest<S> for Request {
    type Rejection = Infallible;

    async fn from_request(request: axum::extract::Request, state: &S) -> Result<Self, Infallible> {
        let (uri, headers) = (request.uri().clone(), request.headers().clone());
        let body = Bytes::from_request(request, state).await;
        Ok(Self { uri, headers, body })
    }
}

impl Request {
    /// Returns the requested path and query.
    pub(crate) fn asked(&self) -> &str {
        asked(&self.uri)
    }

    /// Returns the text of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Returns the whole body, or the error response if the body is incomplete or too large.
    pub(crate) fn body(&self) -> Result<&Bytes, Response> {
        self.body.as_ref().map_err(link::unread)
    }
}

/// Returns the requested path and query.
pub(crate) fn asked(uri: &Uri) -> &str {
    uri.path_and_query().map_or("", |asked| asked.as_str())
}

/// An inbound call, as its carrier announces it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Announcement {
    /// Carrier's id of the leg.
    pub call: CarrierCallId,
    /// Number of the caller; `None` if it is withheld.
    pub from: Option<PhoneNumber>,
    /// Number that was called; `None` if it is not a valid number.
    pub to: Option<PhoneNumber>,
}

impl Announcement {
    /// Offers the call to the agent that answers the called number.
    pub(crate) async fn offer(self, link: &CarrierLink) -> Result<WayBack, NotTaken> {
        let Some(to) = self.to else {
            return Err(NotTaken::Refused(InboundRefusal::NobodyAnswers));
        };
        let call = InboundCall {
            carrier: link.carrier(),
            call: self.call,
            from: self.from,
            to,
        };
        link.announced(call).await
    }
}

/// A carrier whose webhooks are answered with instructions.
pub(crate) trait Webhooks: Send + Sync + 'static {
    type Carrier: Joins;

    fn carrier(&self) -> &Arc<Self::Carrier>;

    fn taken(&self) -> &TakenCalls;

    /// Parses the leg report of a webhook at this address. Returns the response to send if the webhook does
    /// not come from the carrier or reports nothing that we act on.
    fn report(&self, at: &'static str, request: &Request) -> Result<LegReport, Response>;

    /// Adapts a report about a call's own leg.
    fn of_own_leg(&self, report: LegReport) -> LegReport {
        report
    }

    /// Parses the inbound call that a webhook announces.
    fn announcement(&self, request: &Request) -> Result<Announcement, Response>;

    /// Returns instructions that open the media socket of a call.
    fn connect(&self, back: &WayBack) -> Response;

    /// Returns instructions that refuse a call. If the service is unhealthy, the carrier may try elsewhere.
    fn refuse(&self, refusal: InboundRefusal) -> Response;
}

/// Returns the shared routes plus `own`. Handlers get the webhooks as an extension.
pub(crate) fn routes<W: Webhooks>(
    webhooks: Arc<W>,
    own: &[(&str, axum::routing::MethodRouter<CarrierLink>)],
) -> Router<CarrierLink> {
    let name = webhooks.carrier().name();
    let common = [
        ("status/{attempt}/{proof}", post(status::<W>)),
        ("conference/{try}/{proof}", post(conference::<W>)),
        ("events", post(events::<W>)),
        ("inbound", post(inbound::<W>)),
    ];
    let all = common.iter().chain(own);
    all.fold(Router::new(), |router, (path, handler)| {
        router.route(&format!("/carriers/{name}/{path}"), handler.clone())
    })
    .layer(Extension(webhooks))
}

/// Handles a report about a call's own leg.
async fn status<W: Webhooks>(
    Extension(webhooks): Extension<Arc<W>>,
    State(link): State<CarrierLink>,
    Path((attempt, proof)): Path<(String, String)>,
    request: Request,
) -> Result<Response, Response> {
    let report = webhooks.report("status", &request)?;
    link.ensure_here(&attempt, Purpose::Status, &proof).await?;
    Ok(own_leg(&*webhooks, &link, &attempt, proof, report).await)
}

/// Handles a report about an inbound leg. Such a leg has no address of its own; it is reported to an address
/// of the account.
async fn events<W: Webhooks>(
    Extension(webhooks): Extension<Arc<W>>,
    State(link): State<CarrierLink>,
    request: Request,
) -> Result<Response, Response> {
    let report = webhooks.report("events", &request)?;
    let Some(call) = report.call.as_ref() else {
        return Ok(link::taken());
    };
    if !webhooks.taken().knows(call) {
        link.ensure_told_here(call, &report.progress).await?;
    }
    let Some(back) = webhooks.taken().way_back(call, &report.progress) else {
        return Ok(link::taken());
    };
    let attempt = back.attempt.to_string();
    Ok(own_leg(&*webhooks, &link, &attempt, back.status_token, report).await)
}

async fn own_leg<W: Webhooks>(
    webhooks: &W,
    link: &CarrierLink,
    attempt: &str,
    proof: String,
    report: LegReport,
) -> Response {
    let report = webhooks.of_own_leg(report);
    conferences::release_at_end(webhooks.carrier(), &report);
    link.report(attempt, proof, report).await
}

/// Handles a report about the destination that is to be joined with a call.
async fn conference<W: Webhooks>(
    Extension(webhooks): Extension<Arc<W>>,
    State(link): State<CarrierLink>,
    Path((name, proof)): Path<(String, String)>,
    request: Request,
) -> Result<Response, Response> {
    let report = webhooks.report("conference", &request)?;
    link.ensure_here(&name, Purpose::Status, &proof).await?;
    let destination = Destination::named(link, webhooks.carrier(), &name, proof);
    Ok(match (destination, report.call) {
        (Some(destination), Some(leg)) => destination.told(leg, report.progress).await,
        (Some(_), None) => link::taken(),
        (None, _) => link::no_attempt(),
    })
}

/// Handles an inbound call.
async fn inbound<W: Webhooks>(
    Extension(webhooks): Extension<Arc<W>>,
    State(link): State<CarrierLink>,
    request: Request,
) -> Result<Response, Response> {
    let announced = webhooks.announcement(&request)?;
    let call = announced.call.clone();
    Ok(match announced.offer(&link).await {
        Ok(back) => {
            remember(&*webhooks, &link, call, &back).await;
            webhooks.connect(&back)
        }
        Err(NotTaken::Elsewhere(elsewhere)) => elsewhere,
        Err(NotTaken::Refused(refusal)) => webhooks.refuse(refusal),
    })
}

/// Remembers an accepted call, because some of its reports name no attempt. If the caller has already hung
/// up, the end is reported now.
pub(crate) async fn remember<W: Webhooks>(webhooks: &W, link: &CarrierLink, call: CarrierCallId, back: &WayBack) {
    if let Some(end) = webhooks.taken().remember(call, back.clone()) {
        link.report(&back.attempt.to_string(), back.status_token.clone(), end)
            .await;
    }
}
