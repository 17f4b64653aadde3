//! An account at Telnyx.

use domain::phone_number::PhoneNumber;

use super::{line::LineChoice, signature::WebhookKey};
use net::key::Key;

/// Default base URL of Telnyx's API.
pub const BASE_URL: &str = "https://api.telnyx.com/v2";

/// API address, credentials, and the public key of webhook signatures.
#[derive(Debug, Clone)]
pub struct TelnyxAccount {
    /// Base URL: `https://`, the host and the version, without a trailing slash.
    pub base_url: String,
    /// API key.
    pub api_key: Key,
    /// Public key that verifies webhooks.
    pub public_key: WebhookKey,
    /// Call Control application that places calls.
    pub connection: String,
    /// Caller ID if the agent has none.
    pub from: Option<PhoneNumber>,
    /// Codec of calls.
    pub line: LineChoice,
    /// Method of answering machine detection, if it is requested.
    pub machines: Machines,
}

/// Telnyx's word for [`Machines::PremiumWithScreening`].
const SCREENING: &str = "premium_ios_call_screening_detection";

/// Telnyx's methods of answering machine detection. Both report when a mailbox beeps.
/// <https://developers.telnyx.com/docs/voice/programmable-voice/answering-machine-detection>
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Machines {
    /// By the length of the greeting; included in the price of a call.
    #[default]
    Standard,
    /// By Telnyx's own model, at an extra price.
    Premium,
    /// The same, and it judges again behind an iPhone's call screening. What the assistant asks, we hear ourselves.
    PremiumWithScreening,
}

impl Machines {
    /// Returns the method with this name: `standard`, `premium`, or Telnyx's own word for the third.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "standard" => Some(Self::Standard),
            "premium" => Some(Self::Premium),
            SCREENING => Some(Self::PremiumWithScreening),
            _ => None,
        }
    }

    /// Returns the value of the field in a dial.
    pub fn word(self) -> &'static str {
        match self {
            Self::Standard => "detect_beep",
            Self::Premium => "premium",
            Self::PremiumWithScreening => SCREENING,
        }
    }
}
