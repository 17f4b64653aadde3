//! An account at Twilio, or at SignalWire, which implements Twilio's API with its own addresses and headers.

use domain::phone_number::PhoneNumber;

use net::key::Key;

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
    pub fn name(self) -> &'static str {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_its_own_address() {
        let account = |flavour| TwilioAccount {
            flavour,
            base_url: "https://x".into(),
            account: "A1".into(),
            user: "A1".into(),
            password: Key::new("secret"),
            signing_key: Key::new("secret"),
            shared_key: None,
            from: None,
        };
        assert_eq!(
            account(Flavour::Twilio).calls(),
            "https://x/2010-04-01/Accounts/A1/Calls"
        );
        assert_eq!(
            account(Flavour::SignalWire).calls(),
            "https://x/api/laml/2010-04-01/Accounts/A1/Calls"
        );
    }
}
