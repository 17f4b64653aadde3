//! Where Twilio, or SignalWire, comes in: webhooks and media sockets, each signed. What is not is refused before
//! anything of it is looked at. Some webhooks are answered with instructions.

use std::sync::Arc;

use actors::call::LegRefusal;
use axum::{
    Extension, Router,
    body::Bytes,
    extract::{Path, State, rejection::BytesRejection},
    http::{HeaderMap, StatusCode, Uri, header::CONTENT_TYPE},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use domain::{
    dial_token::Purpose,
    ports::carrier::{CallProgress, Carrier, CarrierCallId, InboundCall, InboundRefusal, LegReport, WayBack},
};

use super::{
    account::Flavour,
    callback::{self, CallbackError, Dialed},
    client::TwilioCarrier,
    fields::Fields,
    instructions::{HANG_UP, reject},
    signature::Guard,
    stream::TwilioWire,
};
use crate::{
    CarrierDoor,
    conferences::{self, Destination},
    door::{self, NotBack, NotTaken, Unread, Upgrade},
    media_socket::Claim,
    taken_calls::TakenCalls,
};
use peers::{InVain, Unreached};

/// What the doors share.
#[derive(Debug)]
pub struct Doors {
    guard: Arc<Guard>,
    carrier: Arc<TwilioCarrier>,
    taken: TakenCalls,
}

/// A webhook as it comes.
type Request = (Uri, HeaderMap, Result<Bytes, BytesRejection>);

/// The attempt and the proof that an address names.
type Named = (String, String);

/// What came of asking the node that holds a call.
type Tried = (Option<Extension<Unreached>>, Option<Extension<InVain>>);

/// Why a webhook is answered at once.
#[derive(Debug)]
enum Unheard {
    Unread(Unread),
    /// To this carrier, at this door.
    Forged(&'static str, &'static str),
    Invalid(CallbackError),
    /// It tells nothing that we act on.
    Nothing,
}

impl From<CallbackError> for Unheard {
    fn from(error: CallbackError) -> Self {
        Self::Invalid(error)
    }
}

impl IntoResponse for Unheard {
    fn into_response(self) -> Response {
        match self {
            Self::Unread(unread) => unread.into_response(),
            Self::Forged(carrier, at) => door::forged(carrier, at),
            Self::Invalid(error) => door::invalid(&error),
            Self::Nothing => door::taken(),
        }
    }
}

fn instructions(twiml: String) -> Response {
    ([(CONTENT_TYPE, "text/xml; charset=utf-8")], twiml).into_response()
}

impl Doors {
    /// Doors that this guard stands at, to calls of this carrier.
    pub fn new(guard: Arc<Guard>, carrier: Arc<TwilioCarrier>) -> Self {
        Self {
            guard,
            carrier,
            taken: TakenCalls::default(),
        }
    }

    /// The routes.
    pub fn routes(self) -> Router<CarrierDoor> {
        let doors = Arc::new(self);
        let at = |door: &str| format!("/carriers/{}/{door}", doors.name());
        let [inbound, events, media, back] = [(); 4].map(|()| doors.clone());
        let inbound = move |State(door), uri: Uri, headers: HeaderMap, body| async move {
            inbound.inbound(door, (uri, headers, body)).await
        };
        let events = move |State(door), uri: Uri, headers: HeaderMap, body| async move {
            events.events(door, (uri, headers, body)).await
        };
        let media = move |State(door), Path(token): Path<String>, uri: Uri, headers: HeaderMap, socket| async move {
            media.media(door, &token, (&uri, &headers), socket).await
        };
        let again = back.clone();
        let back = move |State(door), Path(token): Path<String>, tried, uri: Uri, headers: HeaderMap, body| async move {
            back.back(door, (&token, 0, tried), (uri, headers, body)).await
        };
        let again = move |State(door), Path((token, asked)), tried, uri: Uri, headers: HeaderMap, body| async move {
            let (token, asked): (String, String) = (token, asked);
            // What we never wrote there is the last time.
            let asked = asked.parse().unwrap_or(u32::MAX);
            again.back(door, (&token, asked, tried), (uri, headers, body)).await
        };
        doors
            .of_calls()
            .route(&at("inbound"), post(inbound))
            .route(&at("events"), post(events))
            .route(&at("back/{token}"), post(back))
            .route(&at("back/{token}/{asked}"), post(again))
            .route(&at("media/{token}"), get(media))
    }

    /// The routes of addresses that name a call.
    fn of_calls(self: &Arc<Self>) -> Router<CarrierDoor> {
        let at = |door: &str| format!("/carriers/{}/{door}", self.name());
        let [status, machine, handed] = [(); 3].map(|()| self.clone());
        let [transfer, conference] = [(); 2].map(|()| self.clone());
        let status = move |State(door), Path(named), uri: Uri, headers: HeaderMap, body| async move {
            status.status(door, named, (uri, headers, body)).await
        };
        let machine = move |State(door), Path(named), uri: Uri, headers: HeaderMap, body| async move {
            machine.machine(door, named, (uri, headers, body)).await
        };
        let handed = move |State(door), Path(named), uri: Uri, headers: HeaderMap, body| async move {
            handed.handed(door, named, (uri, headers, body)).await
        };
        let transfer = move |State(door), Path(named), tried, uri: Uri, headers: HeaderMap, body| async move {
            transfer.transfer(door, (named, tried), (uri, headers, body)).await
        };
        let conference = move |State(door), Path(named), uri: Uri, headers: HeaderMap, body| async move {
            conference.conference(door, named, (uri, headers, body)).await
        };
        Router::new()
            .route(&at("status/{attempt}/{proof}"), post(status))
            .route(&at("machine/{attempt}/{proof}"), post(machine))
            .route(&at("handed/{attempt}/{proof}"), post(handed))
            .route(&at("transfer/{token}/{proof}"), post(transfer))
            .route(&at("conference/{try}/{proof}"), post(conference))
    }

    fn name(&self) -> &'static str {
        self.carrier.name()
    }

    /// The fields of a webhook that is the carrier's.
    fn signed(&self, at: &'static str, (uri, headers, body): Request) -> Result<Fields, Unheard> {
        let body = door::callback_body(body).map_err(Unheard::Unread)?;
        let asked = uri.path_and_query().map_or("", |asked| asked.as_str());
        if !self.guard.admits(asked, &headers, &body) {
            return Err(Unheard::Forged(self.name(), at));
        }
        Ok(Fields::read(&headers, &body))
    }

    /// What a status callback reports.
    fn report(&self, at: &'static str, request: Request) -> Result<LegReport, Unheard> {
        let report = callback::report(&self.signed(at, request)?)?;
        report.ok_or_else(|| {
            tracing::info!(
                carrier = self.name(),
                "status callback with a status nobody has told us about"
            );
            Unheard::Nothing
        })
    }

    /// A call's own leg.
    async fn status(&self, door: CarrierDoor, (attempt, proof): Named, request: Request) -> Response {
        let report = match self.report("status", request) {
            Ok(report) => report,
            Err(unheard) => return unheard.into_response(),
        };
        if let Some(elsewhere) = door.elsewhere(&attempt, Purpose::Status, &proof).await {
            return elsewhere;
        }
        self.leg(&door, (&attempt, proof), report).await
    }

    /// A leg that was given no address of its own: one from outside, told at the address of its number.
    async fn events(&self, door: CarrierDoor, request: Request) -> Response {
        let report = match self.report("events", request) {
            Ok(report) => report,
            Err(unheard) => return unheard.into_response(),
        };
        let call = report.call.as_ref();
        if let Some(unknown) = call.filter(|call| !self.taken.knows(call))
            && let Some(elsewhere) = door.elsewhere_told(unknown, &report.progress).await
        {
            return elsewhere;
        }
        let back = call.and_then(|call| self.taken.way_back(call, &report.progress));
        let Some(back) = back else {
            return door::taken();
        };
        self.leg(&door, (&back.attempt.to_string(), back.status_token), report)
            .await
    }

    async fn leg(&self, door: &CarrierDoor, (attempt, proof): (&str, String), report: LegReport) -> Response {
        let progress = self.carrier.queue.told(report.call.as_ref(), report.progress);
        let report = LegReport { progress, ..report };
        if let (CallProgress::Ended(_), Some(call)) = (&report.progress, &report.call) {
            let (carrier, call) = (self.carrier.clone(), call.clone());
            tokio::spawn(async move { conferences::release(&*carrier, &call).await });
        }
        door.report(attempt, proof, report).await
    }

    /// The carrier's verdict on who answered.
    async fn machine(&self, door: CarrierDoor, (attempt, proof): Named, request: Request) -> Response {
        let fields = self.signed("machine", request);
        let report = match fields.and_then(|fields| Ok(callback::machine(&fields)?)) {
            Ok(Some(report)) => report,
            Ok(None) => return door::taken(),
            Err(unheard) => return unheard.into_response(),
        };
        if let Some(elsewhere) = door.elsewhere(&attempt, Purpose::Status, &proof).await {
            return elsewhere;
        }
        door.report(&attempt, proof, report).await
    }

    /// The destination of a call that was handed on, while the caller waits for it.
    async fn handed(&self, door: CarrierDoor, (attempt, proof): Named, request: Request) -> Response {
        match self.report("handed", request) {
            Ok(LegReport {
                progress: CallProgress::Answered,
                ..
            }) => {}
            Ok(_) => return door::taken(),
            Err(unheard) => return unheard.into_response(),
        }
        if let Some(elsewhere) = door.elsewhere(&attempt, Purpose::Status, &proof).await {
            return elsewhere;
        }
        door.report(&attempt, proof, CallProgress::Transferred.into()).await
    }

    /// What became of a call that was handed on. Where nobody answered, the answer brings the caller back; where its node
    /// is gone meanwhile, to another one.
    async fn transfer(&self, door: CarrierDoor, ((token, proof), tried): (Named, Tried), request: Request) -> Response {
        let fields = self.signed("transfer", request);
        let dialed = fields.and_then(|fields| Ok((callback::call(&fields)?, callback::dialed(&fields)?)));
        let (leg, dialed) = match dialed {
            Ok(dialed) => dialed,
            Err(unheard) => return unheard.into_response(),
        };
        let (Some((attempt, media_token)), Some(claim)) = (token.split_once('.'), Claim::parse(&token)) else {
            return door::no_attempt();
        };
        let waits = matches!(dialed, Dialed::Failed(_));
        if waits && door.takes_media(&claim).await == Some(Err(LegRefusal::UnknownCall)) {
            return self.goes_on(&door, (&token, 0, tried), leg).await;
        }
        if let Some(elsewhere) = door.elsewhere(attempt, Purpose::Status, &proof).await {
            return elsewhere;
        }
        let (report, failed) = match dialed {
            Dialed::CallerLeft(report) => (report, false),
            Dialed::Talked => (CallProgress::Transferred.into(), false),
            Dialed::Failed(cause) => (conferences::failed(&cause).into(), true),
        };
        let answer = door.report(attempt, proof, report).await;
        if !answer.status().is_success() {
            return answer;
        }
        // A socket that no call takes would leave the caller with silence.
        match failed && matches!(door.takes_media(&claim).await, Some(Ok(())) | None) {
            true => instructions(self.carrier.instructions.stream(claim.attempt, media_token)),
            false => instructions(HANG_UP.to_owned()),
        }
    }

    /// The destination of a call that is to be joined with it.
    async fn conference(&self, door: CarrierDoor, named: Named, request: Request) -> Response {
        let report = match self.report("conference", request) {
            Ok(report) => report,
            Err(unheard) => return unheard.into_response(),
        };
        if let Some(elsewhere) = door.elsewhere(&named.0, Purpose::Status, &named.1).await {
            return elsewhere;
        }
        let destination = Destination::named(door, &self.carrier, named);
        match (destination, report.call) {
            (Some(destination), Some(leg)) => destination.told(leg, report.progress).await,
            (Some(_), None) => door::taken(),
            (None, _) => door::no_attempt(),
        }
    }

    /// A call from outside.
    async fn inbound(&self, door: CarrierDoor, request: Request) -> Response {
        let fields = self.signed("inbound", request);
        let announced = match fields.and_then(|fields| Ok(callback::announcement(&fields)?)) {
            Ok(announced) => announced,
            Err(unheard) => return unheard.into_response(),
        };
        let Some(to) = announced.to else {
            return refused(InboundRefusal::NobodyAnswers);
        };
        let call = InboundCall {
            carrier: self.name(),
            call: announced.call.clone(),
            from: announced.from,
            to,
        };
        match door.announced(call).await {
            Ok(back) => {
                let twiml = self.carrier.instructions.stream(back.attempt, &back.media_token);
                if let Some(end) = self.taken.remember(announced.call, back.clone()) {
                    // The caller is gone already.
                    door.report(&back.attempt.to_string(), back.status_token, end).await;
                }
                instructions(twiml)
            }
            Err(NotTaken::Elsewhere(elsewhere)) => elsewhere,
            Err(NotTaken::Refused(refusal)) => refused(refusal),
        }
    }

    /// A call whose media socket is gone, and which its instructions bring here.
    async fn back(&self, door: CarrierDoor, (token, asked, tried): (&str, u32, Tried), request: Request) -> Response {
        let leg = match self
            .signed("back", request)
            .and_then(|fields| Ok(callback::call(&fields)?))
        {
            Ok(leg) => leg,
            Err(unheard) => return unheard.into_response(),
        };
        self.goes_on(&door, (token, asked, tried), leg).await
    }

    /// How a call goes on whose caller has neither a media socket nor anybody else on the line.
    async fn goes_on(
        &self,
        door: &CarrierDoor,
        (token, asked, tried): (&str, u32, Tried),
        leg: CarrierCallId,
    ) -> Response {
        let (unreached, in_vain) = tried;
        let unreached = unreached.map(|Extension(unreached)| unreached);
        let came_back = match in_vain {
            Some(_) => Err(NotBack::NotNow),
            None => door.came_back(token, leg.clone(), unreached).await,
        };
        match came_back {
            Ok(goes_on) => {
                // Some reports of it name no attempt.
                if let Some(end) = self.taken.remember(leg, goes_on.back.clone()) {
                    let WayBack {
                        attempt, status_token, ..
                    } = goes_on.back.clone();
                    door.report(&attempt.to_string(), status_token, end).await;
                }
                instructions(self.carrier.instructions.stream_again(&goes_on))
            }
            Err(NotBack::Over) => instructions(HANG_UP.to_owned()),
            // To the carrier an error would be the end of the call.
            Err(NotBack::NotNow) => {
                let again = self.carrier.instructions.ask_again(token, asked);
                instructions(again.unwrap_or_else(|| {
                    tracing::error!(
                        carrier = self.name(),
                        "a call is hung up: nobody can say how it goes on"
                    );
                    HANG_UP.to_owned()
                }))
            }
            Err(NotBack::Elsewhere(answer)) => answer,
        }
    }

    async fn media(
        &self,
        door: CarrierDoor,
        token: &str,
        (uri, headers): (&Uri, &HeaderMap),
        socket: Upgrade,
    ) -> Response {
        let asked = uri.path_and_query().map_or("", |asked| asked.as_str());
        if !self.guard.admits_socket(asked, headers) {
            return door::forged(self.name(), "media");
        }
        let presses_keys = self.carrier.instructions.flavour == Flavour::SignalWire;
        door.media(token, socket, Box::new(TwilioWire { presses_keys })).await
    }
}

/// A call from outside that nobody takes. Where the service is not well, the carrier may try the number's fallback
/// address.
fn refused(refusal: InboundRefusal) -> Response {
    match refusal {
        InboundRefusal::NobodyAnswers => instructions(reject("rejected")),
        InboundRefusal::Busy | InboundRefusal::TooMany => instructions(reject("busy")),
        InboundRefusal::Unavailable => StatusCode::SERVICE_UNAVAILABLE.into_response(),
    }
}
