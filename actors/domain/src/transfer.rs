//! Kinds and destinations of call transfers.

use crate::phone_number::PhoneNumber;

/// Kind of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransferKind {
    /// The destination rings while the caller hears it; the agent leaves at once.
    Blind,
    /// The destination is called first, and the caller is joined with it when it answers.
    Conference,
    /// The caller's own SIP peer is asked to call the destination (RFC 3515).
    SipRefer,
}

impl TransferKind {
    /// Returns the kind that a `transferType` names, which is blind if it is absent; `None` for any other name.
    pub(crate) fn of(transfer_type: Option<&str>) -> Option<Self> {
        match transfer_type {
            None | Some("blind") => Some(Self::Blind),
            Some("conference") => Some(Self::Conference),
            Some("sip_refer") => Some(Self::SipRefer),
            Some(_) => None,
        }
    }
}

/// Destination of a transfer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Destination {
    /// A phone number.
    Phone(PhoneNumber),
    /// A SIP address, `sip:` or `sips:`.
    Sip(String),
}

impl Destination {
    /// Returns the text to dial.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Phone(number) => number.as_str(),
            Self::Sip(address) => address,
        }
    }
}
