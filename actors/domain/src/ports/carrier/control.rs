//! What a carrier does to a call that talks: hand it on, press keys, open its media socket again.

use super::CarrierCallId;
pub use crate::transfer::{Destination, TransferKind};
use crate::{
    dial_token::{DialToken, Purpose},
    id::AttemptId,
    phone_number::PhoneNumber,
};

/// What a carrier offers beyond placing and ending calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CarrierAbilities {
    /// It tells by itself whether a person or a machine answered, where a dial asks for it.
    pub detects_machines: bool,
    /// It can hand a call on by SIP REFER.
    pub refer: bool,
    /// It presses keys by itself. Elsewhere they are played as tones in the call's own audio.
    pub digits: bool,
    /// It asks by itself how a call goes on whose media socket broke, and whoever answers may take it.
    pub comes_back: bool,
}

/// A wish to hand a call on. Whether it went well comes as a report: [`super::CallProgress::Transferred`] or
/// [`super::CallProgress::TransferFailed`]; a carrier that cannot tell reports nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transfer {
    /// How.
    pub kind: TransferKind,
    /// To whom.
    pub to: Destination,
    /// The number the destination is shown; none where the carrier has a default.
    pub from: Option<PhoneNumber>,
    /// The call's way back in.
    pub back: WayBack,
}

/// What addresses given to a carrier in the middle of a call are made of, as in [`super::DialRequest`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WayBack {
    /// The attempt.
    pub attempt: AttemptId,
    /// Proves a status callback.
    pub status_token: String,
    /// Proves a media socket.
    pub media_token: String,
}

impl WayBack {
    /// That of an attempt that was permitted with this token.
    pub fn of(attempt: AttemptId, token: &DialToken) -> Self {
        Self {
            attempt,
            status_token: token.proof(Purpose::Status),
            media_token: token.proof(Purpose::Media),
        }
    }
}

/// A call from outside, as its carrier announces it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InboundCall {
    /// The carrier's name.
    pub carrier: &'static str,
    /// Its id of the leg; the same call announced twice is one call.
    pub call: CarrierCallId,
    /// Who calls; none when the number is withheld or is no telephone number.
    pub from: Option<PhoneNumber>,
    /// The number that was called; [`PhoneNumber::withheld`] where an agent was asked for by its id alone.
    pub to: PhoneNumber,
}

/// Why a call from outside is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InboundRefusal {
    /// No agent answers this number at this carrier.
    #[error("no agent answers this number")]
    NobodyAnswers,
    /// No line is free, or the node takes no new work.
    #[error("no line is free")]
    Busy,
    /// The account has too many calls that wait for their media socket; never told to a carrier of telephones.
    #[error("too many calls of this account wait for their media socket")]
    TooMany,
    /// The database is away; the caller may try again.
    #[error("the service is not well")]
    Unavailable,
}
