//! Routes reports and media sockets from carriers to the calls of this node. A media socket is upgraded once
//! its call would take it.

pub(crate) mod media_socket;
mod waiting;

use std::{fmt, sync::Arc, time::Duration};

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

use self::{
    media_socket::{Claim, Desk},
    waiting::{NoPlace, WaitingRoom},
};
use crate::protocol::MediaProtocol;
use net::log_gate;
use peers::{NotKnown, Peers, Shown, Unreached};

/// Largest body of a status callback.
pub const MAX_CALLBACK_BYTES: usize = 16 * 1024;
/// Pauses before each lookup of a call that is reported as ended before any node has accepted it. Another node
/// may be accepting it at that moment.
const ENDED_EARLY: [Duration; 3] = [Duration::ZERO, Duration::from_millis(500), Duration::from_millis(1_500)];

/// A carrier's access to the calls of this node.
#[derive(Clone)]
pub struct CarrierLink {
    desk: Desk,
    waiting: Arc<WaitingRoom>,
    peers: Peers,
}

/// Reason why an inbound call is not accepted here.
#[derive(Debug)]
pub enum NotTaken {
    /// The call is refused.
    Refused(InboundRefusal),
    /// Another node holds the call, or might; contains the response to send first.
    Elsewhere(Response),
}

/// Reason why a call does not continue here after its carrier asked for instructions.
#[derive(Debug)]
pub enum NotBack {
    /// The call is over, or the address names no call; the carrier should hang up.
    Over,
    /// Not known at the moment; the carrier should ask again.
    NotNow,
    /// Another node holds the call. Contains the response to send unchanged.
    Elsewhere(Response),
}

/// A request to open a media socket, as a handler receives it.
pub type Upgrade = Result<WebSocketUpgrade, WebSocketUpgradeRejection>;

impl CarrierLink {
    /// Creates a link to `switchboard`. It finds calls only after [`CarrierLink::of`] sets the carrier.
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

    /// Adds the other nodes, so that calls they hold can be reached.
    #[must_use]
    pub fn among(self, peers: Peers) -> Self {
        Self { peers, ..self }
    }

    /// Returns the carrier's name.
    pub fn carrier(&self) -> &'static str {
        self.desk.carrier
    }

    /// Returns the other nodes.
    pub fn peers(&self) -> &Peers {
        &self.peers
    }

    /// Creates the link of this carrier, with a waiting room of its own. It reaches only the carrier's calls.
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

    /// Checks that the call of an address is held here or nowhere. The address contains the attempt, alone or
    /// before a dot, and a proof. Call this before acting on a request, but after its signature was verified.
    /// The error is the response to send if another node holds the call, or might. This also applies to the functions below.
    pub async fn ensure_here(&self, named: &str, purpose: Purpose, proof: &str) -> Result<(), Response> {
        self.ensure_shown_here(named, Shown::Proof(purpose, proof)).await
    }

    /// Does the same for a request that only the proof authenticates.
    pub async fn ensure_unsigned_here(&self, named: &str, purpose: Purpose, proof: &str) -> Result<(), Response> {
        self.ensure_shown_here(named, Shown::Unsigned(purpose, proof)).await
    }

    /// Does the same for an attempt that the carrier's signature vouches for.
    pub async fn ensure_vouched_here(&self, attempt: AttemptId) -> Result<(), Response> {
        self.ensure_attempt_here(attempt, Shown::Vouched).await
    }

    /// Does the same for a call that is reported at an address of the whole account.
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

    /// Decides how a call continues after its media socket broke and the carrier asks for instructions. If
    /// the call's node does not respond (`unreached`), the call is taken over here.
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

    /// Forwards the request to the node that holds the call, if that is another one.
    async fn back_elsewhere(&self, claim: &Claim) -> Result<(), NotBack> {
        let shown = Shown::Proof(Purpose::Media, &claim.proof);
        match self.peers.holder(claim.attempt, shown).await {
            Ok(Some(elsewhere)) => Err(NotBack::Elsewhere(elsewhere.or_here().into_response())),
            Ok(None) => Ok(()),
            Err(NotKnown) => Err(NotBack::NotNow),
        }
    }

    /// Returns whether the call is here. Also true if the switchboard does not respond.
    async fn holds(&self, attempt: AttemptId) -> bool {
        self.desk.switchboard.holds(attempt).await != Some(false)
    }

    /// Handles a status callback for the attempt and proof in its address. A callback that is late, repeated
    /// or for a finished call gets the same response as an accepted one, so that the carrier does not send it
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

    /// Offers a call that a carrier announced to the agent that answers its number. If it is announced again
    /// at another node, it remains the same call.
    pub async fn announced(&self, call: InboundCall) -> Result<WayBack, NotTaken> {
        let (id, now) = (call.call.clone(), &ENDED_EARLY[..1]);
        self.ensure_call_here(&id, now).await.map_err(NotTaken::Elsewhere)?;
        let taken = self.receive(call).await;
        if taken == Err(InboundRefusal::NobodyAnswers) {
            // It may have been announced to another node at the same moment.
            self.ensure_call_here(&id, now).await.map_err(NotTaken::Elsewhere)?;
        }
        taken.map_err(NotTaken::Refused)
    }

    /// Offers an inbound call to the agent that answers its number.
    /// The handler passes a refusal on in the carrier's own terms.
    pub async fn receive(&self, call: InboundCall) -> Result<WayBack, InboundRefusal> {
        self.desk.switchboard.announce(call, None).await
    }

    /// Opens the media socket of the call that `token` names, as `{attempt}.{proof}`.
    pub async fn media(self, token: &str, socket: Upgrade, protocol: Box<dyn MediaProtocol>) -> Response {
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
            // The call may have discovered that another node has taken it over.
            let here = self.ensure_unsigned_here(token, Purpose::Media, &claim.proof).await;
            return here.err().unwrap_or(refused);
        }
        match self.waiting.enter(claim.attempt, protocol.opens_early()) {
            Ok(place) => media_socket::upgrade(socket, protocol, self.desk, claim, place),
            Err(full @ NoPlace::OfCall) => refusal(StatusCode::CONFLICT, "not_now", &full.to_string()),
            Err(full @ NoPlace::OfCarrier) => {
                refusal(StatusCode::SERVICE_UNAVAILABLE, "unavailable", &full.to_string())
            }
        }
    }

    /// Hands audio that does not come through a WebSocket to the call named by `claim`. Returns `None` if the
    /// node does not respond.
    pub async fn offer(&self, claim: Claim, leg: MediaLeg) -> Option<Result<(), LegRefusal>> {
        let Claim { attempt, proof } = claim;
        let message = |reply| CallMessage::Media { proof, leg, reply };
        self.desk.tell_call(attempt, message).await
    }

    /// Returns whether the call named by a socket has no socket and would take one now; `None` if the node
    /// does not respond.
    pub async fn wants_media(&self, claim: &Claim) -> Option<Result<(), LegRefusal>> {
        claim.ask(&self.desk, false).await
    }

    /// Returns whether the call named by a socket would take it now, even in place of another; `None` if the
    /// node does not respond.
    pub async fn takes_media(&self, claim: &Claim) -> Option<Result<(), LegRefusal>> {
        claim.ask(&self.desk, true).await
    }

    /// Returns whether a caller without a media socket may open one. A socket that no call takes would leave the
    /// caller in silence.
    pub async fn may_open_media(&self, claim: &Claim) -> bool {
        matches!(self.takes_media(claim).await, Some(Ok(())) | None)
    }

    /// Checks that the call named by a socket would take it. Called before the upgrade, so that
    /// unauthenticated sockets do not block those that calls wait for.
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

/// Returns the response to a callback with an incomplete or too large body.
pub fn unread(rejection: &BytesRejection) -> Response {
    let status = rejection.status();
    if status == StatusCode::PAYLOAD_TOO_LARGE {
        let message = format!("a status callback has at most {MAX_CALLBACK_BYTES} bytes");
        return refusal(status, "too_large", &message);
    }
    refusal(status, "invalid_body", &rejection.body_text())
}

/// Returns the response to a processed callback.
pub fn taken() -> Response {
    StatusCode::NO_CONTENT.into_response()
}

/// Returns the response to a callback whose address names no attempt.
pub fn no_attempt() -> Response {
    refusal(StatusCode::NOT_FOUND, "not_found", "the address names no attempt")
}

/// Returns the response to a callback that cannot be parsed.
pub fn invalid(error: &dyn std::error::Error) -> Response {
    refusal(StatusCode::BAD_REQUEST, "invalid_body", &error.to_string())
}

/// Counts a request without the carrier's signature and returns a 403 response. `at` is `status` or `media`.
pub fn forged(carrier: &'static str, at: &'static str) -> Response {
    metrics::counter!("ringback_carrier_forgeries_total", "carrier" => carrier, "door" => at).increment(1);
    if let Some(left_out) = log_gate::opens(carrier, at) {
        tracing::warn!(carrier, endpoint = at, left_out, "unsigned request refused");
    }
    refusal(
        StatusCode::FORBIDDEN,
        "bad_signature",
        "the signature does not match this address and body; RINGBACK_PUBLIC_URL must be the address the carrier calls",
    )
}

/// Does the same for a webhook whose signature is refused for this reason.
pub fn forged_webhook(carrier: &'static str, at: &'static str, reason: &dyn fmt::Display) -> Response {
    if let Some(left_out) = log_gate::opens(carrier, "webhook") {
        tracing::warn!(carrier, %reason, left_out, "webhook refused");
    }
    forged(carrier, at)
}

/// Returns an error response to a carrier.
pub fn refusal(status: StatusCode, code: &str, message: &str) -> Response {
    let error = json!({ "code": code, "message": message, "status": status.as_u16() });
    (status, Json(json!({ "success": false, "error": error }))).into_response()
}
