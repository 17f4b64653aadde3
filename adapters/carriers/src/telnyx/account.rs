//! An account at Telnyx.

use domain::phone_number::PhoneNumber;

use super::{line::LineChoice, signature::WebhookKey};
use crate::kind::{
    Choice,
    variables::{SettingsError, Variables},
};
use net::key::Key;

/// Name of the carrier in settings, routes and stored rows.
pub const NAME: &str = "telnyx";
/// Variables without which there is no account.
pub(super) const VARIABLES: &[&str] = &["TELNYX_API_KEY", "TELNYX_PUBLIC_KEY", "TELNYX_CONNECTION_ID"];
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

impl TelnyxAccount {
    /// Reads the account.
    pub(super) fn read(variables: &Variables<'_>) -> Result<Self, SettingsError> {
        let public_key = variables.needed("TELNYX_PUBLIC_KEY")?;
        Ok(Self {
            base_url: variables.api("TELNYX_BASE_URL", BASE_URL)?,
            api_key: variables.key("TELNYX_API_KEY")?,
            public_key: WebhookKey::parse(&public_key).map_err(|error| format!("TELNYX_PUBLIC_KEY: {error}"))?,
            connection: variables.needed("TELNYX_CONNECTION_ID")?,
            from: variables.number("TELNYX_PHONE_NUMBER")?,
            line: LineChoice {
                codec: variables.choice("TELNYX_CODEC")?,
                order: variables.choice("TELNYX_L16_BYTE_ORDER")?,
            },
            machines: variables.choice("TELNYX_AMD")?,
        })
    }
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

impl Choice for Machines {
    const ALL: &'static [(&'static str, Self)] = &[
        ("standard", Self::Standard),
        ("premium", Self::Premium),
        (SCREENING, Self::PremiumWithScreening),
    ];
}

impl Machines {
    /// Returns the value of the field in a dial.
    pub fn word(self) -> &'static str {
        match self {
            Self::Standard => "detect_beep",
            Self::Premium => "premium",
            Self::PremiumWithScreening => SCREENING,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        kind::variables::tests::{account, changed, refused},
        telnyx::{
            KIND,
            line::{ByteOrder, Codec},
        },
    };

    const TELNYX: [(&str, &str); 3] = [
        ("TELNYX_API_KEY", "KEY-tell-nobody"),
        ("TELNYX_PUBLIC_KEY", "A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg="),
        ("TELNYX_CONNECTION_ID", "1293384261075731499"),
    ];

    #[test]
    fn an_account_at_telnyx_is_read() {
        let telnyx = account(TelnyxAccount::read, &TELNYX).unwrap();
        assert!(!format!("{telnyx:?}").contains("tell-nobody"));
        assert_eq!(telnyx.base_url, "https://api.telnyx.com/v2");
        assert_eq!((telnyx.line, telnyx.from), (LineChoice::default(), None));
        let more = [
            ("TELNYX_CODEC", "l16"),
            ("TELNYX_L16_BYTE_ORDER", "little"),
            ("TELNYX_AMD", "premium"),
            ("TELNYX_PHONE_NUMBER", "+15550000001"),
        ];
        let telnyx = account(TelnyxAccount::read, &[&TELNYX[..], &more].concat()).unwrap();
        assert_eq!((telnyx.line.codec, telnyx.line.order), (Codec::L16, ByteOrder::Little));
        assert_eq!(
            (telnyx.machines, telnyx.from.unwrap().as_str()),
            (Machines::Premium, "+15550000001")
        );
    }

    #[test]
    fn what_is_wrong_of_telnyx_is_named() {
        for (name, value, named) in [
            ("TELNYX_API_KEY", "", "TELNYX_API_KEY is not set"),
            ("TELNYX_PUBLIC_KEY", "", "TELNYX_PUBLIC_KEY is not set"),
            ("TELNYX_CONNECTION_ID", " ", "TELNYX_CONNECTION_ID is not set"),
            (
                "TELNYX_PUBLIC_KEY",
                "f/+A",
                "TELNYX_PUBLIC_KEY: is not a Telnyx public key",
            ),
            (
                "TELNYX_AMD",
                "both",
                "TELNYX_AMD: write standard, premium or premium_ios_call_screening_detection",
            ),
            ("TELNYX_CODEC", "opus", "TELNYX_CODEC: write PCMU, PCMA or L16"),
            (
                "TELNYX_L16_BYTE_ORDER",
                "both",
                "TELNYX_L16_BYTE_ORDER: write big or little",
            ),
        ] {
            let why = refused(&KIND, &changed(&TELNYX, &[(name, value)]));
            assert!(why.starts_with(named), "{why}");
        }
    }
}
