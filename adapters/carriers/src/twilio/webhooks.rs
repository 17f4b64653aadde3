//! Signed webhooks and media sockets of Twilio and SignalWire. Unsigned requests are rejected before parsing.
//! Some webhooks are answered with instructions.

use std::sync::Arc;

use actors::call::LegRefusal;
use axum::{
    Extension, Router,
    extract::{Path, State},
    http::{HeaderMap, StatusCode, Uri, header::CONTENT_TYPE},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use domain::{
    dial_token::Purpose,
    ports::carrier::{CallProgress, Carrier, CarrierCallId, InboundRefusal, LegReport, WayBack},
};

use super::{
    account::Flavour,
    callback::{self, Dialed},
    client::TwilioCarrier,
    fields::Fields,
    instructions::{HANG_UP, reject},
    signature::Guard,
    stream::TwilioProtocol,
};
use crate::{
    link::{self, CarrierLink, NotBack, Upgrade, media_socket::Claim},
    webhooks::{self, Announcement, Request, Webhooks, conferences, taken_calls::TakenCalls},
};
use peers::{InVain, Unreached};

/// State that the handlers share.
#[derive(Debug)]
struct TwilioWebhooks {
    guard: Arc<Guard>,
    carrier: Arc<TwilioCarrier>,
    taken: TakenCalls,
}

type Shared = Extension<Arc<TwilioWebhooks>>;

/// Attempt and proof in an address.
type Named = Path<(String, String)>;

/// Result of asking the node that holds a call.
type Tried = (Option<Extension<Unreached>>, Option<Extension<InVain>>);

/// Returns the routes to this carrier's calls, whose requests `guard` verifies.
pub(super) fn routes(guard: Arc<Guard>, carrier: Arc<TwilioCarrier>) -> Router<CarrierLink> {
    let webhooks = TwilioWebhooks {
        guard,
        carrier,
        taken: TakenCalls::default(),
    };
    let own = [
        ("machine/{attempt}/{proof}", post(machine)),
        ("handed/{attempt}/{proof}", post(handed)),
        ("transfer/{token}/{proof}", post(transfer)),
        ("back/{token}", post(back)),
        ("back/{token}/{asked}", post(back_again)),
        ("document/{sealed}", post(document)),
        ("media/{token}", get(media)),
    ];
    webhooks::routes(Arc::new(webhooks), &own)
}

fn instructions(twiml: String) -> Response {
    ([(CONTENT_TYPE, "text/xml; charset=utf-8")], twiml).into_response()
}

fn hang_up() -> Response {
    instructions(HANG_UP.to_owned())
}

impl TwilioWebhooks {
    fn name(&self) -> &'static str {
        self.carrier.name()
    }

    /// Verifies a webhook and returns its fields.
    fn signed(&self, at: &'static str, request: &Request) -> Result<Fields, Response> {
        let body = request.body()?;
        if !self.guard.admits(request.asked(), &request.headers, body) {
            return Err(link::forged(self.name(), at));
        }
        Ok(Fields::read(&request.headers, body))
    }
}

impl Webhooks for TwilioWebhooks {
    type Carrier = TwilioCarrier;

    fn carrier(&self) -> &Arc<TwilioCarrier> {
        &self.carrier
    }

    fn taken(&self) -> &TakenCalls {
        &self.taken
    }

    fn report(&self, at: &'static str, request: &Request) -> Result<LegReport, Response> {
        let report = callback::report(&self.signed(at, request)?)?;
        report.ok_or_else(|| {
            tracing::info!(carrier = self.name(), "status callback with an unknown status");
            link::taken()
        })
    }

    fn of_own_leg(&self, report: LegReport) -> LegReport {
        let progress = self.carrier.queue.told(report.call.as_ref(), report.progress);
        LegReport { progress, ..report }
    }

    fn announcement(&self, request: &Request) -> Result<Announcement, Response> {
        Ok(callback::announcement(&self.signed("inbound", request)?)?)
    }

    fn connect(&self, back: &WayBack) -> Response {
        instructions(self.carrier.instructions.stream(back.attempt, &back.media_token))
    }

    fn refuse(&self, refusal: InboundRefusal) -> Response {
        match refusal {
            InboundRefusal::NobodyAnswers => instructions(reject("rejected")),
            InboundRefusal::Busy | InboundRefusal::TooMany => instructions(reject("busy")),
            InboundRefusal::Unavailable => StatusCode::SERVICE_UNAVAILABLE.into_response(),
        }
    }
}

/// Handles the carrier's verdict on who answered.
async fn machine(
    Extension(twilio): Shared,
    State(link): State<CarrierLink>,
    Path((attempt, proof)): Named,
    request: Request,
) -> Result<Response, Response> {
    let report = callback::machine(&twilio.signed("machine", &request)?)?;
    let report = report.ok_or_else(link::taken)?;
    link.ensure_here(&attempt, Purpose::Status, &proof).await?;
    Ok(link.report(&attempt, proof, report).await)
}

/// Handles a report about a transfer destination while the caller waits for it.
async fn handed(
    Extension(twilio): Shared,
    State(link): State<CarrierLink>,
    Path((attempt, proof)): Named,
    request: Request,
) -> Result<Response, Response> {
    if twilio.report("handed", &request)?.progress != CallProgress::Answered {
        return Ok(link::taken());
    }
    link.ensure_here(&attempt, Purpose::Status, &proof).await?;
    Ok(link.report(&attempt, proof, CallProgress::Transferred.into()).await)
}

/// Handles the result of a transfer. If nobody answered, the response brings the caller back. If the caller's
/// node is down, it brings the caller to another one.
async fn transfer(
    Extension(twilio): Shared,
    State(link): State<CarrierLink>,
    Path((token, proof)): Named,
    tried: Tried,
    request: Request,
) -> Result<Response, Response> {
    let fields = twilio.signed("transfer", &request)?;
    let leg = callback::call(&fields)?;
    let dialed = callback::dialed(&fields)?;
    let (Some((attempt, media_token)), Some(claim)) = (token.split_once('.'), Claim::parse(&token)) else {
        return Err(link::no_attempt());
    };
    let waits = matches!(dialed, Dialed::Failed(_));
    if waits && link.takes_media(&claim).await == Some(Err(LegRefusal::UnknownCall)) {
        return Ok(twilio.goes_on(&link, &token, 0, tried, leg).await);
    }
    link.ensure_here(attempt, Purpose::Status, &proof).await?;
    let (report, failed) = match dialed {
        Dialed::CallerLeft(report) => (report, false),
        Dialed::Talked => (CallProgress::Transferred.into(), false),
        Dialed::Failed(cause) => (conferences::failed(&cause).into(), true),
    };
    let answer = link.report(attempt, proof, report).await;
    if !answer.status().is_success() {
        return Err(answer);
    }
    Ok(match failed && link.may_open_media(&claim).await {
        true => instructions(twilio.carrier.instructions.stream(claim.attempt, media_token)),
        false => hang_up(),
    })
}

/// Handles a call that lost its media socket and asks for instructions.
async fn back(
    twilio: Shared,
    link: State<CarrierLink>,
    Path(token): Path<String>,
    tried: Tried,
    request: Request,
) -> Result<Response, Response> {
    back_again(twilio, link, Path((token, "0".to_owned())), tried, request).await
}

/// Does the same for a later request; the address contains the number of earlier ones.
async fn back_again(
    Extension(twilio): Shared,
    State(link): State<CarrierLink>,
    Path((token, asked)): Path<(String, String)>,
    tried: Tried,
    request: Request,
) -> Result<Response, Response> {
    let leg = callback::call(&twilio.signed("back", &request)?)?;
    // A value that we never wrote counts as the last time.
    let asked = asked.parse().unwrap_or(u32::MAX);
    Ok(twilio.goes_on(&link, &token, asked, tried, leg).await)
}

/// Handles a call whose instructions are at an address that we sent. SignalWire fetches them when it is answered, or
/// at once if they are new ones.
async fn document(
    Extension(twilio): Shared,
    Path(sealed): Path<String>,
    request: Request,
) -> Result<Response, Response> {
    twilio.signed("document", &request)?;
    match twilio.carrier.documents.open(&sealed) {
        Some(twiml) => Ok(instructions(twiml)),
        None => Err(link::refusal(
            StatusCode::NOT_FOUND,
            "not_found",
            "the address names no instructions, or has expired",
        )),
    }
}

impl TwilioWebhooks {
    /// Decides how a call continues whose caller has neither a media socket nor anybody else on the line.
    async fn goes_on(
        &self,
        link: &CarrierLink,
        token: &str,
        asked: u32,
        (unreached, in_vain): Tried,
        leg: CarrierCallId,
    ) -> Response {
        let unreached = unreached.map(|Extension(unreached)| unreached);
        let came_back = match in_vain {
            Some(_) => Err(NotBack::NotNow),
            None => link.came_back(token, leg.clone(), unreached).await,
        };
        match came_back {
            Ok(goes_on) => {
                webhooks::remember(self, link, leg, &goes_on.back).await;
                instructions(self.carrier.instructions.stream_again(&goes_on))
            }
            Err(NotBack::Over) => hang_up(),
            // An error response would end the call.
            Err(NotBack::NotNow) => match self.carrier.instructions.ask_again(token, asked) {
                Some(again) => instructions(again),
                None => {
                    tracing::error!(carrier = self.name(), "hanging up a call in unknown state");
                    hang_up()
                }
            },
            Err(NotBack::Elsewhere(answer)) => answer,
        }
    }
}

async fn media(
    Extension(twilio): Shared,
    State(link): State<CarrierLink>,
    Path(token): Path<String>,
    uri: Uri,
    headers: HeaderMap,
    socket: Upgrade,
) -> Response {
    if !twilio.guard.admits_socket(webhooks::asked(&uri), &headers) {
        return link::forged(twilio.name(), "media");
    }
    let presses_keys = twilio.carrier.instructions.flavour == Flavour::SignalWire;
    link.media(&token, socket, Box::new(TwilioProtocol { presses_keys }))
        .await
}
