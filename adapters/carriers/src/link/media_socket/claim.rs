//! The call that a media socket claims to belong to, and whether that call would take it.

use actors::{
    call::{CallMessage, LegRefusal, LegReply},
    switchboard::Switchboard,
};
use domain::{id::AttemptId, ports::carrier::WayBack};

/// The node's switchboard, addressed on behalf of one carrier.
#[derive(Clone)]
pub struct Desk {
    /// Switchboard that is asked.
    pub switchboard: Switchboard,
    /// Carrier that asks.
    pub carrier: &'static str,
}

/// Call that a socket claims to belong to.
#[derive(Debug, Clone)]
pub struct Claim {
    /// Attempt in the address.
    pub attempt: AttemptId,
    /// Proof in the address, 64 hex digits.
    pub proof: String,
}

impl Desk {
    /// Sends a report or a media socket to a call of the carrier. Returns `None` if the node does not respond.
    pub async fn tell_call(
        &self,
        attempt: AttemptId,
        message: impl FnOnce(LegReply) -> CallMessage,
    ) -> Option<Result<(), LegRefusal>> {
        self.switchboard.tell_call((self.carrier, attempt), message).await
    }
}

impl Claim {
    /// Returns the claim of the socket that a call's carrier opens.
    pub(crate) fn of(back: &WayBack) -> Self {
        Self {
            attempt: back.attempt,
            proof: back.media_token.clone(),
        }
    }

    /// Parses `{attempt}.{proof}`. Anything else is rejected before the upgrade.
    pub fn parse(token: &str) -> Option<Self> {
        let (attempt, proof) = token.split_once('.')?;
        let hex = proof.len() == 64 && proof.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        hex.then_some(())?;
        Some(Self {
            attempt: attempt.parse().ok()?,
            proof: proof.to_owned(),
        })
    }

    /// Asks whether the call would take a socket now, if it has none or, with `replacing`, in place of its
    /// current one. Returns `None` if the node does not respond.
    pub(crate) async fn ask(&self, desk: &Desk, replacing: bool) -> Option<Result<(), LegRefusal>> {
        let message = |reply| CallMessage::AskMedia {
            proof: self.proof.clone(),
            replacing,
            reply,
        };
        desk.tell_call(self.attempt, message).await
    }
}
