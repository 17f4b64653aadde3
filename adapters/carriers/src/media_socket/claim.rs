//! Which call a media socket says it is for, and whether that would take it.

use actors::{call::LegRefusal, supervision::Sibling, switchboard::SwitchboardMessage};
use domain::id::AttemptId;

use super::ANSWER_WITHIN;

/// The node's switchboard, asked in the name of one carrier.
#[derive(Clone)]
pub struct Desk {
    /// Who answers.
    pub switchboard: Sibling<SwitchboardMessage>,
    /// Whose doors ask.
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
        let message = |reply| SwitchboardMessage::AskMedia {
            carrier: desk.carrier,
            attempt: self.attempt,
            proof: self.proof.clone(),
            replacing,
            reply,
        };
        desk.switchboard.ask(message, ANSWER_WITHIN).await
    }
}
