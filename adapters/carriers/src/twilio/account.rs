//! An account at Twilio, or at SignalWire, which speaks Twilio's API at addresses and with headers of its own.

use domain::phone_number::PhoneNumber;

use net::key::Key;

/// Whose account it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flavour {
    /// <https://www.twilio.com/docs/voice/api/call-resource>
    Twilio,
    /// <https://signalwire.com/docs/compatibility-api>
    SignalWire,
}

impl Flavour {
    /// The carrier's name in settings, routes and rows.
    pub fn name(self) -> &'static str {
        match self {
            Self::Twilio => "twilio",
            Self::SignalWire => "signalwire",
        }
    }
}

/// Where it is, who asks, and what its webhooks are signed with.
#[derive(Debug, Clone)]
pub struct TwilioAccount {
    /// Whose.
    pub flavour: Flavour,
    /// `https://` and the host, without a slash at the end.
    pub base_url: String,
    /// The account's id (at SignalWire the project's).
    pub account: String,
    /// Who asks: the account itself, or one of its API keys.
    pub user: String,
    /// The secret of who asks.
    pub password: Key,
    /// What webhooks are signed with: the account's auth token, or the project's signing key.
    pub signing_key: Key,
    /// What webhooks are signed with that name an algorithm of their own.
    pub shared_key: Option<Key>,
    /// Caller ID where the agent has none.
    pub from: Option<PhoneNumber>,
}

impl TwilioAccount {
    /// The collection of the account's calls.
    pub fn calls(&self) -> String {
        let api = match self.flavour {
            Flavour::Twilio => "",
            Flavour::SignalWire => "/api/laml",
        };
        format!("{}{api}/2010-04-01/Accounts/{}/Calls", self.base_url, self.account)
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
