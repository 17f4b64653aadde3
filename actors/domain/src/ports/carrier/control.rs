//! Control of an answered call by its carrier: transfer it, press keys, open its media socket again.

use super::call_id::CarrierCallId;
pub use crate::transfer::{Destination, TransferKind};
use crate::{
    dial_token::{DialToken, Purpose},
    id::AttemptId,
    phone_number::PhoneNumber,
};

/// Abilities of a carrier beyond placing and ending calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CarrierAbilities {
    /// It detects whether a person or a machine answered, if a dial asks for it.
    pub detects_machines: bool,
    /// It can transfer a call by SIP REFER.
    pub refer: bool,
    /// It presses keys by itself. Otherwise they are played as tones in the call's audio.
    pub digits: bool,
    /// It asks how to continue a call whose media socket broke, and any node that answers may take it over.
    pub comes_back: bool,
}

/// A requested transfer. Its result arrives as a report: [`super::CallProgress::Transferred`] or
/// [`super::CallProgress::TransferFailed`]. A carrier that cannot tell reports nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transfer {
    /// Kind of the transfer.
    pub kind: TransferKind,
    /// Destination.
    pub to: Destination,
    /// Number shown to the destination; none to use the carrier's default.
    pub from: Option<PhoneNumber>,
    /// Proofs for the call's return from the carrier.
    pub back: WayBack,
}

/// Parts of the URLs given to a carrier during a call, as in [`super::DialRequest`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WayBack {
    /// The attempt.
    pub attempt: AttemptId,
    /// Proof for a status callback.
    pub status_token: String,
    /// Proof for a media socket.
    pub media_token: String,
}

impl WayBack {
    /// Creates the proofs of an attempt from the token of its permit.
    pub fn of(attempt: AttemptId, token: &DialToken) -> Self {
        Self {
            attempt,
            status_token: token.proof(Purpose::Status),
            media_token: token.proof(Purpose::Media),
        }
    }
}

/// An incoming call as its carrier announces it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InboundCall {
    /// The carrier's name.
    pub carrier: &'static str,
    /// The carrier's id of the leg; a call that is announced twice is one call.
    pub call: CarrierCallId,
    /// Number of the caller; none if it is withheld or is not a phone number.
    pub from: Option<PhoneNumber>,
    /// Number that was called; [`PhoneNumber::withheld`] if an agent was requested by its id alone.
    pub to: PhoneNumber,
}

/// Reason why an incoming call is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InboundRefusal {
    /// No agent answers this number at this carrier.
    #[error("no agent answers this number")]
    NobodyAnswers,
    /// No line is free, or the node takes no new work.
    #[error("no line is free")]
    Busy,
    /// Too many calls of the account wait for their media socket. Never reported to a telephone carrier.
    #[error("too many calls of this account wait for their media socket")]
    TooMany,
    /// The database is unavailable; the caller may try again.
    #[error("the service is unavailable now")]
    Unavailable,
}
