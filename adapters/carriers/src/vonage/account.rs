//! An account at Vonage, and the application that its calls belong to.

use domain::phone_number::PhoneNumber;
use media::format::{Encoding, LineFormat};

use super::token::ApplicationKey;
use net::key::Key;

/// Where Vonage is asked.
pub const BASE_URL: &str = "https://api.nexmo.com";

/// Where it is, which application asks, and what its webhooks are signed with.
#[derive(Debug, Clone)]
pub struct VonageAccount {
    /// `https://` and the host, without a slash at the end.
    pub base_url: String,
    /// The application that calls are placed by.
    pub application: String,
    /// Signs the tokens that requests show.
    pub key: ApplicationKey,
    /// Signs webhooks.
    pub signature_secret: Key,
    /// Caller ID where the agent has none.
    pub from: Option<PhoneNumber>,
    /// The sampling rate of calls.
    pub rate: Rate,
}

/// Samples a second of a media socket, both ways. Vonage offers 24,000 too, which no telephone fills.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Rate {
    /// 8,000: what most telephone networks carry.
    Narrow,
    /// 16,000.
    #[default]
    Wide,
}

impl Rate {
    /// Both of them.
    pub const ALL: [Self; 2] = [Self::Narrow, Self::Wide];

    /// The one of so many samples a second, in digits.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|rate| rate.hz().to_string() == name)
    }

    /// Samples a second.
    pub fn hz(self) -> u32 {
        match self {
            Self::Narrow => 8_000,
            Self::Wide => 16_000,
        }
    }

    /// The line's format at this rate.
    pub fn format(self) -> LineFormat {
        LineFormat {
            encoding: Encoding::Linear16,
            sample_rate: self.hz(),
        }
    }

    /// As Vonage writes it.
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Narrow => "audio/l16;rate=8000",
            Self::Wide => "audio/l16;rate=16000",
        }
    }
}
