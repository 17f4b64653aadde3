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
