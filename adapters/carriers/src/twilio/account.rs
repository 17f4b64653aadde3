//! An account at Twilio, or at SignalWire, which implements Twilio's API with its own addresses and headers.

use domain::phone_number::PhoneNumber;

use crate::kind::variables::{SettingsError, Variables};
use net::{http_client::base_url, key::Key};

/// Variables of which any one begins an account at Twilio.
pub(super) const BEGIN_TWILIO: &[&str] = &[
    "TWILIO_ACCOUNT_SID",
    "TWILIO_AUTH_TOKEN",
    "TWILIO_API_KEY",
    "TWILIO_API_SECRET",
];
/// Variables of an account at SignalWire.
pub(super) const BEGIN_SIGNALWIRE: &[&str] = &[
    "SIGNALWIRE_SPACE",
    "SIGNALWIRE_PROJECT_ID",
    "SIGNALWIRE_TOKEN",
    "SIGNALWIRE_SIGNING_KEY",
];

/// Provider of the account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flavour {
    /// <https://www.twilio.com/docs/voice/api/call-resource>
    Twilio,
    /// <https://signalwire.com/docs/compatibility-api>
    SignalWire,
}

impl Flavour {
    /// Returns the carrier's name in settings, routes and stored rows.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Twilio => "twilio",
            Self::SignalWire => "signalwire",
        }
    }
}

/// API address, credentials, and the keys of webhook signatures.
#[derive(Debug, Clone)]
pub struct TwilioAccount {
    /// Provider of the account.
    pub flavour: Flavour,
    /// Base URL: `https://` and the host, without a trailing slash.
    pub base_url: String,
    /// Id of the account (at SignalWire, of the project).
    pub account: String,
    /// User name for requests: the account itself, or one of its API keys.
    pub user: String,
    /// Secret of that user.
    pub password: Key,
    /// Key of webhook signatures: the account's auth token, or the project's signing key.
    pub signing_key: Key,
    /// Key of webhook signatures that name their own algorithm.
    pub shared_key: Option<Key>,
    /// Caller ID if the agent has none.
    pub from: Option<PhoneNumber>,
}

impl TwilioAccount {
    /// Reads the variables of Twilio.
    pub(super) fn of_twilio(variables: &Variables<'_>) -> Result<Self, SettingsError> {
        let account = variables.needed("TWILIO_ACCOUNT_SID")?;
        let token = variables.key("TWILIO_AUTH_TOKEN")?;
        let (user, password) = match variables.get("TWILIO_API_KEY") {
            Some(user) => (user, variables.of("an API key of Twilio's").key("TWILIO_API_SECRET")?),
            None => (account.clone(), token.clone()),
        };
        Ok(Self {
            flavour: Flavour::Twilio,
            base_url: variables.api("TWILIO_BASE_URL", "https://api.twilio.com")?,
            account,
            user,
            password,
            signing_key: token,
            shared_key: variables.get("TWILIO_WEBHOOK_SHARED_KEY").map(Key::new),
            from: variables.number("TWILIO_PHONE_NUMBER")?,
        })
    }

    /// Reads the variables of SignalWire.
    pub(super) fn of_signalwire(variables: &Variables<'_>) -> Result<Self, SettingsError> {
        let project = variables.needed("SIGNALWIRE_PROJECT_ID")?;
        let base_url = match variables.address("SIGNALWIRE_BASE_URL")? {
            Some(url) => url,
            None => space_address(&variables.needed("SIGNALWIRE_SPACE")?)?,
        };
        Ok(Self {
            flavour: Flavour::SignalWire,
            base_url,
            account: project.clone(),
            user: project,
            password: variables.key("SIGNALWIRE_TOKEN")?,
            signing_key: variables.key("SIGNALWIRE_SIGNING_KEY")?,
            shared_key: None,
            from: variables.number("SIGNALWIRE_PHONE_NUMBER")?,
        })
    }

    /// Returns the URL of the account's calls.
    pub fn calls(&self) -> String {
        self.resource("/Calls")
    }

    /// Returns the address of a resource of the account, such as `.json` or `/Calls`.
    pub fn resource(&self, path: &str) -> String {
        let api = match self.flavour {
            Flavour::Twilio => "",
            Flavour::SignalWire => "/api/laml",
        };
        format!("{}{api}/2010-04-01/Accounts/{}{path}", self.base_url, self.account)
    }
}

/// Returns the API address of a space. `example` and `example.signalwire.com` mean the same.
fn space_address(space: &str) -> Result<String, SettingsError> {
    let host = if space.contains('.') {
        space.to_owned()
    } else {
        format!("{space}.signalwire.com")
    };
    let plain = host
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-'));
    match base_url(&format!("https://{host}")).filter(|_| plain) {
        Some(url) => Ok(url),
        None => Err("SIGNALWIRE_SPACE: write the space's name, such as example or example.signalwire.com".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        kind::variables::tests::{account, refused},
        twilio::{KIND, SIGNALWIRE},
    };

    #[test]
    fn each_has_its_own_address() {
        let at = |flavour| TwilioAccount {
            flavour,
            base_url: "https://x".into(),
            account: "A1".into(),
            user: "A1".into(),
            password: Key::new("secret"),
            signing_key: Key::new("secret"),
            shared_key: None,
            from: None,
        };
        assert_eq!(at(Flavour::Twilio).calls(), "https://x/2010-04-01/Accounts/A1/Calls");
        assert_eq!(
            at(Flavour::SignalWire).calls(),
            "https://x/api/laml/2010-04-01/Accounts/A1/Calls"
        );
    }

    #[test]
    fn an_account_is_read_and_its_keys_are_shown_nowhere() {
        let twilio = [
            ("TWILIO_ACCOUNT_SID", "AC1"),
            ("TWILIO_AUTH_TOKEN", " tell-nobody\n"),
            ("TWILIO_PHONE_NUMBER", "+15550000001"),
        ];
        let signalwire = [
            ("SIGNALWIRE_SPACE", "example"),
            ("SIGNALWIRE_PROJECT_ID", "p1"),
            ("SIGNALWIRE_TOKEN", "PT-tell-nobody"),
            ("SIGNALWIRE_SIGNING_KEY", "PSK-tell-nobody"),
        ];
        let twilio = account(TwilioAccount::of_twilio, &twilio).unwrap();
        let signalwire = account(TwilioAccount::of_signalwire, &signalwire).unwrap();
        assert!(!format!("{twilio:?} {signalwire:?}").contains("tell-nobody"));
        assert_eq!((&*twilio.user, twilio.password.secret()), ("AC1", "tell-nobody"));
        assert_eq!(twilio.base_url, "https://api.twilio.com");
        assert_eq!(twilio.from.unwrap().as_str(), "+15550000001");
        assert_eq!(signalwire.base_url, "https://example.signalwire.com");
        assert_eq!(signalwire.signing_key.secret(), "PSK-tell-nobody");
    }

    #[test]
    fn an_api_key_asks_and_the_auth_token_signs() {
        let twilio = [
            ("TWILIO_ACCOUNT_SID", "AC1"),
            ("TWILIO_AUTH_TOKEN", "token-1"),
            ("TWILIO_API_KEY", "SK1"),
            ("TWILIO_API_SECRET", "secret-1"),
            ("TWILIO_BASE_URL", "http://127.0.0.1:9/"),
        ];
        let twilio = account(TwilioAccount::of_twilio, &twilio).unwrap();
        assert_eq!((&*twilio.user, twilio.password.secret()), ("SK1", "secret-1"));
        assert_eq!(twilio.signing_key.secret(), "token-1");
        assert_eq!(twilio.base_url, "http://127.0.0.1:9");
    }

    #[test]
    fn what_is_missing_or_wrong_is_named() {
        let whole = [("TWILIO_ACCOUNT_SID", "AC1"), ("TWILIO_AUTH_TOKEN", "token-1")];
        for (variables, named) in [
            (vec![whole[0]], "TWILIO_AUTH_TOKEN is not set"),
            (vec![whole[1]], "TWILIO_ACCOUNT_SID is not set"),
            (
                vec![whole[0], whole[1], ("TWILIO_API_KEY", "SK1")],
                "TWILIO_API_SECRET is not set",
            ),
            (
                vec![whole[0], whole[1], ("TWILIO_PHONE_NUMBER", "5550")],
                "TWILIO_PHONE_NUMBER: ",
            ),
            (
                vec![whole[0], whole[1], ("TWILIO_BASE_URL", "https://u:p@x")],
                "TWILIO_BASE_URL: ",
            ),
            (
                vec![("SIGNALWIRE_PROJECT_ID", "p1"), ("SIGNALWIRE_SPACE", "a/b?c")],
                "SIGNALWIRE_SPACE: ",
            ),
            (
                vec![("SIGNALWIRE_PROJECT_ID", "p1"), ("SIGNALWIRE_SPACE", "a")],
                "SIGNALWIRE_TOKEN is not set",
            ),
        ] {
            let signalwire = variables[0].0.starts_with("SIGNALWIRE");
            let why = refused(if signalwire { &SIGNALWIRE } else { &KIND }, &variables);
            assert!(why.starts_with(named), "{why}");
            assert!(!why.contains("u:p"), "{why}");
        }
    }
}
