//! Where a call is handed on to, and how.

use crate::phone_number::PhoneNumber;

/// How a call is handed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransferKind {
    /// The destination is rung while the caller hears it ring; the agent is gone at once.
    Blind,
    /// The destination is rung first, and the caller is joined with it when it answers.
    Conference,
    /// The caller's own SIP peer is asked to call the destination (RFC 3515).
    SipRefer,
}

/// Where a call is handed on to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Destination {
    /// A telephone number.
    Phone(PhoneNumber),
    /// A SIP address, `sip:` or `sips:`.
    Sip(String),
}

impl Destination {
    /// As it is dialed.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Phone(number) => number.as_str(),
            Self::Sip(address) => address,
        }
    }
}
