//! Leads what a carrier brings to the calls of this node: a report goes to its call, a media socket is upgraded once its
//! call would take it.

use std::{sync::Arc, time::Duration};

use actors::{
    call::{CallMessage, GoesOn, LegRefusal},
    lines::{Asking, NotGoingOn},
    switchboard::Switchboard,
};
use axum::{
    Json,
    extract::{
        rejection::BytesRejection,
        ws::{WebSocketUpgrade, rejection::WebSocketUpgradeRejection},
    },
    http::StatusCode,
    response::{IntoResponse, Response},
};
use domain::{
    dial_token::Purpose,
    id::AttemptId,
    ports::{
        carrier::{CallProgress, CarrierCallId, InboundCall, InboundRefusal, LegReport, WayBack},
        media_leg::MediaLeg,
    },
};
use serde_json::json;
use tokio::time::sleep;

use super::{
    media_socket::{self, Claim, Desk},
    waiting::{NoPlace, WaitingRoom},
    wire::MediaWire,
};
use net::log_gate;
use peers::{NotKnown, Peers, Shown, Unreached};

/// Largest status callback.
pub const MAX_CALLBACK_BYTES: usize = 16 * 1024;
/// A call whose end is told before anybody took it may be about to be taken by another node: pauses before each look.
const ENDED_EARLY: [Duration; 3] = [Duration::ZERO, Duration::from_millis(500), Duration::from_millis(1_500)];

/// A carrier's way to the calls of this node.
#[derive(Clone)]
pub struct CarrierLink {
    desk: Desk,
    waiting: Arc<WaitingRoom>,
    peers: Peers,
}

/// Why a call from outside is not taken here.
#[derive(Debug)]
pub enum NotTaken {
    /// Nobody takes it.
    Refused(InboundRefusal),
    /// Another node has it, or might: what to answer before anything else is done.
    Elsewhere(Response),
}

/// Why a call that its carrier brought back does not go on from here.
#[derive(Debug)]
pub enum NotBack {
    /// It is over, or the address names none: it is to be hung up.
    Over,
    /// That cannot be said now: it is to be asked again.
    NotNow,
    /// What to answer as it is.
    Elsewhere(Response),
}

/// A request to open a media socket, as a handler gets it.
pub type Upgrade = Result<WebSocketUpgrade, WebSocketUpgradeRejection>;

impl CarrierLink {
    /// Leads to `switchboard`. It finds no call before it is told whose link it is.
    pub fn new(switchboard: Switchboard) -> Self {
        Self {
            desk: Desk {
                switchboard,
                carrier: "",
            },
            waiting: WaitingRoom::new(),
            peers: Peers::none(),
        }
    }

    /// The same, which knows the way to calls that these other nodes hold.
    #[must_use]
    pub fn among(self, peers: Peers) -> Self {
        Self { peers, ..self }
    }

    /// The carrier.
    pub fn carrier(&self) -> &'static str {
        self.desk.carrier
    }

    /// The other nodes.
    pub fn peers(&self) -> &Peers {
        &self.peers
    }

    /// The same as the link of this carrier, with places of its own: it leads to its calls and to nobody else's.
    #[must_use]
    pub fn of(&self, carrier: &'static str) -> Self {
        Self {
            desk: Desk {
                carrier,
                ..self.desk.clone()
            },
            waiting: WaitingRoom::new(),
            peers: self.peers.clone(),
        }
    }

    /// Whether the call of an address is here, or nowhere else: the address names the attempt, alone or before a dot, and a
    /// proof. To be asked before anything is done about a request, but once it is known to be the carrier's.
    ///
    /// # Errors
    ///
    /// What to answer where another node holds the call, or might; so do those below.
    pub async fn ensure_here(&self, named: &str, purpose: Purpose, proof: &str) -> Result<(), Response> {
        self.ensure_shown_here(named, Shown::Proof(purpose, proof)).await
    }

    /// The same where the proof is all that shows whose request it is.
    ///
    /// # Errors
    ///
    /// As [`CarrierLink::ensure_here`].
    pub async fn ensure_unsigned_here(&self, named: &str, purpose: Purpose, proof: &str) -> Result<(), Response> {
        self.ensure_shown_here(named, Shown::Unsigned(purpose, proof)).await
    }

    /// The same for an attempt that the carrier's own signature vouches for.
    ///
    /// # Errors
    ///
    /// As [`CarrierLink::ensure_here`].
    pub async fn ensure_vouched_here(&self, attempt: AttemptId) -> Result<(), Response> {
        self.ensure_attempt_here(attempt, Shown::Vouched).await
    }

    /// The same for what is told of a call at an address of the whole account.
    ///
    /// # Errors
    ///
    /// As [`CarrierLink::ensure_here`].
    pub async fn ensure_told_here(&self, call: &CarrierCallId, progress: &CallProgress) -> Result<(), Response> {
        let looks = match progress {
            CallProgress::Ended(_) => &ENDED_EARLY[..],
            _ => &ENDED_EARLY[..1],
        };
        self.ensure_call_here(call, looks).await
    }

    async fn ensure_call_here(&self, call: &CarrierCallId, looks: &[Duration]) -> Result<(), Response> {
        if !self.peers.are_possible() {
            return Ok(());
        }
        for pause in looks {
            sleep(*pause).await;
            match self.peers.attempt_of(self.desk.carrier, call).await {
                Ok(Some(attempt)) => return self.ensure_attempt_here(attempt, Shown::Vouched).await,
                Ok(None) => {}
                Err(_) => return Ok(()),
            }
        }
        Ok(())
    }

    async fn ensure_shown_here(&self, named: &str, shown: Shown<'_>) -> Result<(), Response> {
        match named.split('.').next().map(str::parse) {
            Some(Ok(attempt)) => self.ensure_attempt_here(attempt, shown).await,
            _ => Ok(()),
        }
    }

    async fn ensure_attempt_here(&self, attempt: AttemptId, shown: Shown<'_>) -> Result<(), Response> {
        if !self.peers.are_possible() || self.holds(attempt).await {
            return Ok(());
        }
        match self.peers.holder(attempt, shown).await {
            Ok(None) => Ok(()),
            Ok(Some(elsewhere)) => Err(elsewhere.into_response()),
            Err(not_known) => Err(not_known.into_response()),
        }
    }

    /// How a call goes on whose media socket broke, as its carrier asks. Where its node does not answer, `unreached`, it is
    /// taken over here.
    ///
    /// # Errors
    ///
    /// What to answer where it does not, or not from here.
    pub async fn came_back(
        &self,
        token: &str,
        leg: CarrierCallId,
        unreached: Option<Unreached>,
    ) -> Result<GoesOn, NotBack> {
        let claim = Claim::parse(token).ok_or(NotBack::Over)?;
        if unreached.is_none() && self.peers.are_possible() && !self.holds(claim.attempt).await {
            self.back_elsewhere(&claim).await?;
        }
        let asking = Asking {
            carrier: self.desk.carrier,
            attempt: claim.attempt,
            proof: claim.proof.clone(),
            leg,
        };
        match (self.desk.switchboard.came_back(asking).await, unreached) {
            (Ok(goes_on), unreached) => {
                if let Some(unreached) = unreached {
                    self.peers.took_over(claim.attempt, unreached);
                }
                Ok(goes_on)
            }
            (Err(NotGoingOn::Over), _) => Err(NotBack::Over),
            (Err(NotGoingOn::Elsewhere), None) => {
                self.back_elsewhere(&claim).await?;
                Err(NotBack::NotNow)
            }
            (Err(NotGoingOn::Elsewhere | NotGoingOn::NotKnown), _) => Err(NotBack::NotNow),
        }
    }

    /// Has the node asked that holds a call, if it is another.
    async fn back_elsewhere(&self, claim: &Claim) -> Result<(), NotBack> {
        let shown = Shown::Proof(Purpose::Media, &claim.proof);
        match self.peers.holder(claim.attempt, shown).await {
            Ok(Some(elsewhere)) => Err(NotBack::Elsewhere(elsewhere.or_here().into_response())),
            Ok(None) => Ok(()),
            Err(NotKnown) => Err(NotBack::NotNow),
        }
    }

    /// Whether the call is here, or the node does not say.
    async fn holds(&self, attempt: AttemptId) -> bool {
        self.desk.switchboard.holds(attempt).await != Some(false)
    }

    /// Takes a status callback for the attempt and with the proof of its address. One that is late, repeated or for a
    /// call that is over is answered like one that was taken: the carrier has done its part and shall not send it
    /// again.
    pub async fn report(&self, attempt: &str, proof: String, report: LegReport) -> Response {
        let Ok(attempt) = attempt.parse::<AttemptId>() else {
            return no_attempt();
        };
        let message = |reply| CallMessage::Progress { proof, report, reply };
        match self.desk.tell_call(attempt, message).await {
            Some(Ok(()) | Err(LegRefusal::UnknownCall | LegRefusal::AnotherLeg | LegRefusal::NotNow)) => taken(),
            Some(Err(LegRefusal::BadProof)) => refusal(
                StatusCode::FORBIDDEN,
                "bad_proof",
                "the proof in the address does not match",
            ),
            None => refusal(
                StatusCode::SERVICE_UNAVAILABLE,
                "unavailable",
                "the node cannot take callbacks now; send it again",
            ),
        }
    }

    /// Offers a call that a carrier announced to the agent that answers its number. Announced again at another node, it is
    /// the same call.
    ///
    /// # Errors
    ///
    /// Why it is not taken here.
    pub async fn announced(&self, call: InboundCall) -> Result<WayBack, NotTaken> {
        let (id, now) = (call.call.clone(), &ENDED_EARLY[..1]);
        self.ensure_call_here(&id, now).await.map_err(NotTaken::Elsewhere)?;
        let taken = self.receive(call).await;
        if taken == Err(InboundRefusal::NobodyAnswers) {
            // Another node may have been announced it at the same moment.
            self.ensure_call_here(&id, now).await.map_err(NotTaken::Elsewhere)?;
        }
        taken.map_err(NotTaken::Refused)
    }

    /// Offers a call from outside to the agent that answers its number.
    ///
    /// # Errors
    ///
    /// Why it is not taken; the carrier is told to refuse it politely.
    pub async fn receive(&self, call: InboundCall) -> Result<WayBack, InboundRefusal> {
        self.desk.switchboard.announce(call, None).await
    }

    /// Opens the media socket of the call that `token` names, `{attempt}.{proof}`.
    pub async fn media(self, token: &str, socket: Upgrade, wire: Box<dyn MediaWire>) -> Response {
        let Some(claim) = Claim::parse(token) else {
            return refusal(StatusCode::NOT_FOUND, "not_found", "the address names no call");
        };
        let socket = match socket {
            Ok(socket) => socket,
            Err(rejection) => return refusal(rejection.status(), "not_a_websocket", &rejection.body_text()),
        };
        if let Err(elsewhere) = self.ensure_unsigned_here(token, Purpose::Media, &claim.proof).await {
            return elsewhere;
        }
        if let Err(refused) = self.may_enter(&claim).await {
            // A call that was asked may have found out that another node has taken it over.
            let here = self.ensure_unsigned_here(token, Purpose::Media, &claim.proof).await;
            return here.err().unwrap_or(refused);
        }
        match self.waiting.enter(claim.attempt, wire.opens_early()) {
            Ok(place) => media_socket::upgrade(socket, wire, self.desk, (claim, place)),
            Err(full @ NoPlace::OfCall) => refusal(StatusCode::CONFLICT, "not_now", &full.to_string()),
            Err(full @ NoPlace::OfCarrier) => {
                refusal(StatusCode::SERVICE_UNAVAILABLE, "unavailable", &full.to_string())
            }
        }
    }

    /// Hands the call that `claim` names its audio, where it does not come by a WebSocket; none when the node does not
    /// answer.
    pub async fn offer(&self, claim: Claim, leg: MediaLeg) -> Option<Result<(), LegRefusal>> {
        let Claim { attempt, proof } = claim;
        let message = |reply| CallMessage::Media { proof, leg, reply };
        self.desk.tell_call(attempt, message).await
    }

    /// Whether the call that a socket names has none and would take it now; none when the node does not say.
    pub async fn wants_media(&self, claim: &Claim) -> Option<Result<(), LegRefusal>> {
        claim.ask(&self.desk, false).await
    }

    /// Whether the call that a socket names would take it now, be it in the place of another; none when the node does not
    /// say.
    pub async fn takes_media(&self, claim: &Claim) -> Option<Result<(), LegRefusal>> {
        claim.ask(&self.desk, true).await
    }

    /// Whether the call that a socket names would take it. Asked before the upgrade: a socket that nobody proved may
    /// not stand in the way of those that calls wait for.
    async fn may_enter(&self, claim: &Claim) -> Result<(), Response> {
        let refused = match self.takes_media(claim).await {
            Some(Ok(())) => return Ok(()),
            Some(Err(refused)) => refused,
            None => {
                let message = "the node cannot take media sockets now; open it again";
                return Err(refusal(StatusCode::SERVICE_UNAVAILABLE, "unavailable", message));
            }
        };
        let (status, code) = match refused {
            LegRefusal::UnknownCall => (StatusCode::NOT_FOUND, "not_found"),
            LegRefusal::BadProof => (StatusCode::FORBIDDEN, "bad_proof"),
            LegRefusal::AnotherLeg => (StatusCode::CONFLICT, "another_leg"),
            LegRefusal::NotNow => (StatusCode::CONFLICT, "not_now"),
        };
        if let Some(left_out) = log_gate::opens(self.desk.carrier, "media refused") {
            tracing::info!(attempt = %claim.attempt, reason = %refused, left_out, "media socket refused");
        }
        Err(refusal(status, code, &refused.to_string()))
    }
}

/// A callback whose body does not come whole, or within its bound.
pub fn unread(rejection: &BytesRejection) -> Response {
    let status = rejection.status();
    if status == StatusCode::PAYLOAD_TOO_LARGE {
        let message = format!("a status callback has at most {MAX_CALLBACK_BYTES} bytes");
        return refusal(status, "too_large", &message);
    }
    refusal(status, "invalid_body", &rejection.body_text())
}

/// A callback that is done with.
pub fn taken() -> Response {
    StatusCode::NO_CONTENT.into_response()
}

/// A callback whose address names no attempt.
pub fn no_attempt() -> Response {
    refusal(StatusCode::NOT_FOUND, "not_found", "the address names no attempt")
}

/// A callback that cannot be read.
pub fn invalid(error: &dyn std::error::Error) -> Response {
    refusal(StatusCode::BAD_REQUEST, "invalid_body", &error.to_string())
}

/// What is not signed by the carrier whose address it came to: counted, and answered 403. `at` is `status` or `media`.
pub fn forged(carrier: &'static str, at: &'static str) -> Response {
    metrics::counter!("ringback_carrier_forgeries_total", "carrier" => carrier, "door" => at).increment(1);
    if let Some(left_out) = log_gate::opens(carrier, at) {
        tracing::warn!(
            carrier,
            door = at,
            left_out,
            "request without the carrier's signature refused"
        );
    }
    refusal(
        StatusCode::FORBIDDEN,
        "bad_signature",
        "the signature does not match this address and body; RINGBACK_PUBLIC_URL must be the address the carrier calls",
    )
}

/// An error of ours to a carrier.
pub fn refusal(status: StatusCode, code: &str, message: &str) -> Response {
    let error = json!({ "code": code, "message": message, "status": status.as_u16() });
    (status, Json(json!({ "success": false, "error": error }))).into_response()
}
