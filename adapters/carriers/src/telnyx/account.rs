//! An account at Telnyx.

use domain::phone_number::PhoneNumber;

use super::{line::LineChoice, signature::WebhookKey};
use net::key::Key;

/// Where Telnyx is asked.
pub const BASE_URL: &str = "https://api.telnyx.com/v2";

/// Where it is, who asks, and what its webhooks are signed with.
#[derive(Debug, Clone)]
pub struct TelnyxAccount {
    /// `https://`, the host and the version, without a slash at the end.
    pub base_url: String,
    /// Who asks.
    pub api_key: Key,
    /// Checks the signatures of webhooks.
    pub public_key: WebhookKey,
    /// The Call Control application that calls are placed by.
    pub connection: String,
    /// Caller ID where the agent has none.
    pub from: Option<PhoneNumber>,
    /// The codec of calls.
    pub line: LineChoice,
    /// How it is found out who answers, where that is asked for.
    pub machines: Machines,
}

/// Telnyx's ways to find out who answers. Both tell when a mailbox beeps.
/// <https://developers.telnyx.com/docs/voice/programmable-voice/answering-machine-detection>
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Machines {
    /// By the length of what is said; part of every call's price.
    #[default]
    Standard,
    /// By a model of theirs, at a price of its own.
    Premium,
}

impl Machines {
    /// The one of this name: `standard` or `premium`.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "standard" => Some(Self::Standard),
            "premium" => Some(Self::Premium),
            _ => None,
        }
    }

    /// As a dial asks for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Standard => "detect_beep",
            Self::Premium => "premium",
        }
    }
}
