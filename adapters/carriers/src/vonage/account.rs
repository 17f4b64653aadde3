//! An account at Vonage, and the application that its calls belong to.

use domain::phone_number::PhoneNumber;
use media::format::{Encoding, LineFormat};

use super::token::ApplicationKey;
use net::key::Key;

/// Default base URL of Vonage's API.
pub const BASE_URL: &str = "https://api.nexmo.com";

/// API address, credentials, and the key of webhook signatures.
#[derive(Debug, Clone)]
pub struct VonageAccount {
    /// Base URL: `https://` and the host, without a trailing slash.
    pub base_url: String,
    /// Application that places calls.
    pub application: String,
    /// Private key that signs the tokens of requests.
    pub key: ApplicationKey,
    /// Key of webhook signatures.
    pub signature_secret: Key,
    /// Caller ID if the agent has none.
    pub from: Option<PhoneNumber>,
    /// Sample rate of calls.
    pub rate: Rate,
}

/// Sample rate of a media socket, both ways. Vonage also offers 24,000 Hz, which no telephone uses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Rate {
    /// 8,000 Hz, as in most telephone networks.
    Narrow,
    /// 16,000 Hz.
    #[default]
    Wide,
}

impl Rate {
    /// Both rates.
    pub const ALL: [Self; 2] = [Self::Narrow, Self::Wide];

    /// Returns the rate with this number of samples per second, in digits.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|rate| rate.hz().to_string() == name)
    }

    /// Returns the samples per second.
    pub fn hz(self) -> u32 {
        match self {
            Self::Narrow => 8_000,
            Self::Wide => 16_000,
        }
    }

    /// Returns the line format at this rate.
    pub fn format(self) -> LineFormat {
        LineFormat {
            encoding: Encoding::Linear16,
            sample_rate: self.hz(),
        }
    }

    /// Returns the content type that Vonage uses.
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Narrow => "audio/l16;rate=8000",
            Self::Wide => "audio/l16;rate=16000",
        }
    }
}
