//! Which call a media socket says it is for, and whether that would take it.

use actors::{
    call::{CallMessage, LegRefusal, LegReply},
    switchboard::Switchboard,
};
use domain::id::AttemptId;

/// The node's switchboard, asked in the name of one carrier.
#[derive(Clone)]
pub struct Desk {
    /// Who answers.
    pub switchboard: Switchboard,
    /// Which carrier asks.
    pub carrier: &'static str,
}

/// Whom a socket says it is for.
#[derive(Debug, Clone)]
pub struct Claim {
    /// The attempt named in the address.
    pub attempt: AttemptId,
    /// The proof named there, 64 hex digits.
    pub proof: String,
}

impl Desk {
    /// Passes a report or a media socket on to a call of the carrier; none when the node does not answer.
    pub async fn tell_call(
        &self,
        attempt: AttemptId,
        message: impl FnOnce(LegReply) -> CallMessage,
    ) -> Option<Result<(), LegRefusal>> {
        self.switchboard.tell_call((self.carrier, attempt), message).await
    }
}

impl Claim {
    /// Reads `{attempt}.{proof}`; nothing else is worth an upgrade.
    pub fn parse(token: &str) -> Option<Self> {
        let (attempt, proof) = token.split_once('.')?;
        let hex = proof.len() == 64 && proof.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        hex.then_some(())?;
        Some(Self {
            attempt: attempt.parse().ok()?,
            proof: proof.to_owned(),
        })
    }

    /// Whether the call would take a socket now, where it has none or, if `replacing`, in the place of the one it has;
    /// none when the node does not say.
    pub(crate) async fn ask(&self, desk: &Desk, replacing: bool) -> Option<Result<(), LegRefusal>> {
        let message = |reply| CallMessage::AskMedia {
            proof: self.proof.clone(),
            replacing,
            reply,
        };
        desk.tell_call(self.attempt, message).await
    }
}
