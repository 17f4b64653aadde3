//! An account at Vonage, and the application that its calls belong to.

use domain::phone_number::PhoneNumber;
use media::format::{Encoding, LineFormat};

use super::token::ApplicationKey;
use crate::{
    kind::{
        Choice,
        variables::{SettingsError, Variables},
    },
    webhooks::{StreamTokens, stream_tokens::Form},
};
use net::key::Key;

/// Name of the carrier in settings, routes and stored rows.
pub const NAME: &str = "vonage";
/// Variables without which there is no account.
pub(super) const VARIABLES: &[&str] = &["VONAGE_APPLICATION_ID", "VONAGE_PRIVATE_KEY", "VONAGE_SIGNATURE_SECRET"];
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

impl VonageAccount {
    /// Reads the account.
    pub(super) fn read(variables: &Variables<'_>) -> Result<Self, SettingsError> {
        Ok(Self {
            base_url: variables.api("VONAGE_BASE_URL", BASE_URL)?,
            application: variables.needed("VONAGE_APPLICATION_ID")?,
            key: application_key(&variables.needed("VONAGE_PRIVATE_KEY")?)?,
            signature_secret: variables.key("VONAGE_SIGNATURE_SECRET")?,
            from: variables.number("VONAGE_PHONE_NUMBER")?,
            rate: variables.choice("VONAGE_SAMPLE_RATE")?,
        })
    }
}

/// Returns the tokens that Vonage presents when it opens a media socket. Its instructions contain them.
pub fn stream_tokens(signature_secret: &str) -> StreamTokens {
    StreamTokens::new(NAME, Form::Bearer, signature_secret)
}

/// Reads a key from its text or from the file at this path.
fn application_key(text: &str) -> Result<ApplicationKey, SettingsError> {
    if text.contains("-----BEGIN") {
        return ApplicationKey::from_pem(text).map_err(|error| format!("VONAGE_PRIVATE_KEY: {error}").into());
    }
    // The value is not shown: if it is not a path, it may be a key without its PEM header.
    let pem = std::fs::read_to_string(text).map_err(|error| {
        format!(
            "VONAGE_PRIVATE_KEY: must be a PEM key or the path of one: {}",
            error.kind()
        )
    })?;
    ApplicationKey::from_pem(&pem).map_err(|error| format!("VONAGE_PRIVATE_KEY: the file {error}").into())
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

impl Choice for Rate {
    const ALL: &'static [(&'static str, Self)] = &[("8000", Self::Narrow), ("16000", Self::Wide)];
}

impl Rate {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        kind::variables::tests::{account, changed, refused},
        vonage::KIND,
    };
    use sim::stub_carriers::vonage::PRIVATE_KEY;

    fn whole<'a>(more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
        let variables = [
            ("VONAGE_APPLICATION_ID", "app-1"),
            ("VONAGE_PRIVATE_KEY", PRIVATE_KEY),
            ("VONAGE_SIGNATURE_SECRET", "tell-nobody"),
        ];
        changed(&variables, more)
    }

    #[test]
    fn an_account_is_read_and_its_keys_are_shown_nowhere() {
        let vonage = account(VonageAccount::read, &whole(&[])).unwrap();
        let shown = format!("{vonage:?}");
        assert!(!shown.contains("tell-nobody") && !shown.contains("MII"), "{shown}");
        assert_eq!(
            (&*vonage.base_url, vonage.rate, vonage.from),
            (BASE_URL, Rate::Wide, None)
        );
        let more = [
            ("VONAGE_SAMPLE_RATE", "8000"),
            ("VONAGE_PHONE_NUMBER", "+15550000001"),
            ("VONAGE_BASE_URL", "https://api-us.vonage.com/"),
        ];
        let vonage = account(VonageAccount::read, &whole(&more)).unwrap();
        assert_eq!(
            (&*vonage.base_url, vonage.rate),
            ("https://api-us.vonage.com", Rate::Narrow)
        );
        assert_eq!(vonage.from.unwrap().as_str(), "+15550000001");
    }

    #[test]
    fn a_key_may_be_in_a_file() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), PRIVATE_KEY).unwrap();
        let path = file.path().to_str().unwrap();
        assert!(account(VonageAccount::read, &whole(&[("VONAGE_PRIVATE_KEY", path)])).is_ok());
        std::fs::write(file.path(), "nothing").unwrap();
        let why = refused(&KIND, &whole(&[("VONAGE_PRIVATE_KEY", path)]));
        assert!(
            why.starts_with("VONAGE_PRIVATE_KEY: the file is not the private key"),
            "{why}"
        );
    }

    #[test]
    fn what_is_missing_or_wrong_is_named() {
        for (changed, value, named) in [
            ("VONAGE_APPLICATION_ID", "", "VONAGE_APPLICATION_ID is not set"),
            ("VONAGE_PRIVATE_KEY", " ", "VONAGE_PRIVATE_KEY is not set"),
            ("VONAGE_SIGNATURE_SECRET", "", "VONAGE_SIGNATURE_SECRET is not set"),
            (
                "VONAGE_PRIVATE_KEY",
                "MII-tell-nobody",
                "VONAGE_PRIVATE_KEY: must be a PEM key",
            ),
            (
                "VONAGE_PRIVATE_KEY",
                "-----BEGIN PRIVATE KEY-----",
                "VONAGE_PRIVATE_KEY: is not the private key",
            ),
            ("VONAGE_SAMPLE_RATE", "24000", "VONAGE_SAMPLE_RATE: write 8000 or 16000"),
        ] {
            let why = refused(&KIND, &whole(&[(changed, value)]));
            assert!(why.starts_with(named) && !why.contains("tell-nobody"), "{why}");
        }
    }
}
