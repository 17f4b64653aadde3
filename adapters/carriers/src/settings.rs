//! Carrier settings, from each carrier's usual environment variables. Agents' numbers can name any carrier
//! whose account is set. `RINGBACK_CARRIER` chooses the carrier for calls that name none.

mod asterisk;
mod vonage;

use domain::phone_number::PhoneNumber;

use super::{
    asterisk::account::AsteriskAccount,
    telnyx::{
        account::{self, Machines, TelnyxAccount},
        line::{ByteOrder, Codec, LineChoice},
        signature::WebhookKey,
    },
    twilio::account::{Flavour, TwilioAccount},
    vonage::account::VonageAccount,
};
use net::{http_client::base_url, key::Key};

/// Accepted values of `RINGBACK_CARRIER`.
pub const NAMES: [&str; 6] = ["simulated", "twilio", "signalwire", "telnyx", "vonage", "asterisk"];

/// An invalid or incomplete carrier setting.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// An account is only partly set.
    #[error("{name} is not set but required for {account}: set it, or unset its related variables")]
    Missing {
        /// Missing variable.
        name: &'static str,
        /// Account that needs it.
        account: &'static str,
    },
    /// An invalid value. The text names the variable and the valid values.
    #[error("{0}")]
    Invalid(String),
}

impl<T: Into<String>> From<T> for SettingsError {
    fn from(text: T) -> Self {
        Self::Invalid(text.into())
    }
}

/// Accounts at real carriers.
#[derive(Debug, Clone, Default)]
pub struct CarrierSettings {
    /// Account at Twilio.
    pub twilio: Option<TwilioAccount>,
    /// Account at SignalWire, which implements Twilio's API.
    pub signalwire: Option<TwilioAccount>,
    /// Account at Telnyx.
    pub telnyx: Option<TelnyxAccount>,
    /// Account at Vonage.
    pub vonage: Option<VonageAccount>,
    /// Account of a self-hosted Asterisk.
    pub asterisk: Option<AsteriskAccount>,
}

impl CarrierSettings {
    /// Reads the settings. `variable` returns the value of an environment variable.
    ///
    /// # Errors
    ///
    /// Returns an error that names the variable if an account is only partly set or a value is invalid.
    pub fn read(variable: impl Fn(&str) -> Option<String>) -> Result<Self, SettingsError> {
        let given = |name: &str| {
            let value = variable(name)?.trim().to_owned();
            (!value.is_empty()).then_some(value)
        };
        let variables = Variables(&given);
        Ok(Self {
            twilio: variables.twilio()?,
            signalwire: variables.signalwire()?,
            telnyx: variables.telnyx()?,
            vonage: variables.vonage()?,
            asterisk: variables.asterisk()?,
        })
    }

    /// Reads the settings from the environment of this process.
    ///
    /// # Errors
    ///
    /// Returns an error as [`CarrierSettings::read`] does.
    pub fn from_environment() -> Result<Self, SettingsError> {
        Self::read(|name| std::env::var(name).ok())
    }
}

/// Returns the variables to set before a carrier of this name can be used.
pub fn wanted(carrier: &str) -> &'static str {
    match carrier {
        "twilio" => "set TWILIO_ACCOUNT_SID and TWILIO_AUTH_TOKEN",
        "signalwire" => "set SIGNALWIRE_SPACE, SIGNALWIRE_PROJECT_ID, SIGNALWIRE_TOKEN and SIGNALWIRE_SIGNING_KEY",
        "telnyx" => "set TELNYX_API_KEY, TELNYX_PUBLIC_KEY and TELNYX_CONNECTION_ID",
        "vonage" => "set VONAGE_APPLICATION_ID, VONAGE_PRIVATE_KEY and VONAGE_SIGNATURE_SECRET",
        "asterisk" => "set ASTERISK_ARI_URL, ASTERISK_ARI_USER, ASTERISK_ARI_PASSWORD and ASTERISK_ENDPOINT",
        _ => "there is no such carrier",
    }
}

/// Returns the names of all variables that a carrier of this name needs.
pub(super) fn variables(carrier: &str) -> Vec<&'static str> {
    let words = wanted(carrier).split([' ', ',']);
    let other = match carrier {
        "asterisk" => None,
        "simulated" => Some("RINGBACK_SIMULATED_URL"),
        _ => Some("RINGBACK_PUBLIC_URL"),
    };
    words.filter(|word| word.contains('_')).chain(other).collect()
}

/// Non-empty environment variables.
struct Variables<'a>(&'a dyn Fn(&str) -> Option<String>);

impl Variables<'_> {
    fn get(&self, name: &str) -> Option<String> {
        (self.0)(name)
    }

    /// Returns a variable that an account requires.
    fn needed(&self, name: &'static str, account: &'static str) -> Result<String, SettingsError> {
        self.get(name).ok_or(SettingsError::Missing { name, account })
    }

    fn key(&self, name: &'static str, account: &'static str) -> Result<Key, SettingsError> {
        self.needed(name, account).map(Key::new)
    }

    fn number(&self, name: &str) -> Result<Option<PhoneNumber>, SettingsError> {
        let Some(text) = self.get(name) else { return Ok(None) };
        let number = PhoneNumber::parse(&text).map_err(|error| format!("{name}: {error}"))?;
        Ok(Some(number))
    }

    fn address(&self, name: &str) -> Result<Option<String>, SettingsError> {
        let Some(text) = self.get(name) else { return Ok(None) };
        match base_url(&text).filter(|url| !url.contains('@')) {
            Some(url) => Ok(Some(url)),
            None => Err(format!("{name}: write an address such as https://api.example.com, without a password").into()),
        }
    }

    fn any(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.get(name).is_some())
    }

    fn twilio(&self) -> Result<Option<TwilioAccount>, SettingsError> {
        let names = [
            "TWILIO_ACCOUNT_SID",
            "TWILIO_AUTH_TOKEN",
            "TWILIO_API_KEY",
            "TWILIO_API_SECRET",
        ];
        if !self.any(&names) {
            return Ok(None);
        }
        let account = self.needed("TWILIO_ACCOUNT_SID", "Twilio")?;
        let token = self.key("TWILIO_AUTH_TOKEN", "Twilio")?;
        let (user, password) = match self.get("TWILIO_API_KEY") {
            Some(user) => (user, self.key("TWILIO_API_SECRET", "an API key of Twilio's")?),
            None => (account.clone(), token.clone()),
        };
        Ok(Some(TwilioAccount {
            flavour: Flavour::Twilio,
            base_url: self
                .address("TWILIO_BASE_URL")?
                .unwrap_or_else(|| "https://api.twilio.com".to_owned()),
            account,
            user,
            password,
            signing_key: token,
            shared_key: self.get("TWILIO_WEBHOOK_SHARED_KEY").map(Key::new),
            from: self.number("TWILIO_PHONE_NUMBER")?,
        }))
    }

    fn signalwire(&self) -> Result<Option<TwilioAccount>, SettingsError> {
        let names = [
            "SIGNALWIRE_SPACE",
            "SIGNALWIRE_PROJECT_ID",
            "SIGNALWIRE_TOKEN",
            "SIGNALWIRE_SIGNING_KEY",
        ];
        if !self.any(&names) {
            return Ok(None);
        }
        let project = self.needed("SIGNALWIRE_PROJECT_ID", "SignalWire")?;
        let base_url = match self.address("SIGNALWIRE_BASE_URL")? {
            Some(url) => url,
            None => space_address(&self.needed("SIGNALWIRE_SPACE", "SignalWire")?)?,
        };
        Ok(Some(TwilioAccount {
            flavour: Flavour::SignalWire,
            base_url,
            account: project.clone(),
            user: project,
            password: self.key("SIGNALWIRE_TOKEN", "SignalWire")?,
            signing_key: self.key("SIGNALWIRE_SIGNING_KEY", "SignalWire")?,
            shared_key: None,
            from: self.number("SIGNALWIRE_PHONE_NUMBER")?,
        }))
    }
}

/// Variables of Telnyx.
impl Variables<'_> {
    fn telnyx(&self) -> Result<Option<TelnyxAccount>, SettingsError> {
        if !self.any(&["TELNYX_API_KEY", "TELNYX_PUBLIC_KEY", "TELNYX_CONNECTION_ID"]) {
            return Ok(None);
        }
        let public_key = self.needed("TELNYX_PUBLIC_KEY", "Telnyx")?;
        let address = self.address("TELNYX_BASE_URL")?;
        Ok(Some(TelnyxAccount {
            base_url: address.unwrap_or_else(|| account::BASE_URL.to_owned()),
            api_key: self.key("TELNYX_API_KEY", "Telnyx")?,
            public_key: WebhookKey::parse(&public_key).map_err(|error| format!("TELNYX_PUBLIC_KEY: {error}"))?,
            connection: self.needed("TELNYX_CONNECTION_ID", "Telnyx")?,
            from: self.number("TELNYX_PHONE_NUMBER")?,
            line: LineChoice {
                codec: self.choice("TELNYX_CODEC", Codec::named, "PCMU, PCMA or L16")?,
                order: self.choice("TELNYX_L16_BYTE_ORDER", ByteOrder::named, "big or little")?,
            },
            machines: self.choice(
                "TELNYX_AMD",
                Machines::named,
                "standard, premium or premium_ios_call_screening_detection",
            )?,
        }))
    }

    fn choice<T: Default>(&self, name: &str, named: fn(&str) -> Option<T>, choices: &str) -> Result<T, SettingsError> {
        let Some(text) = self.get(name) else {
            return Ok(T::default());
        };
        named(&text).ok_or_else(|| format!("{name}: write {choices}").into())
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

    fn read(variables: &[(&str, &str)]) -> Result<CarrierSettings, SettingsError> {
        CarrierSettings::read(|name| {
            let found = variables.iter().find(|(variable, _)| *variable == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn nothing_set_is_no_carrier() {
        let settings = read(&[("TWILIO_ACCOUNT_SID", " "), ("TWILIO_PHONE_NUMBER", "+15550000001")]).unwrap();
        assert!(settings.twilio.is_none() && settings.signalwire.is_none());
    }

    #[test]
    fn the_variables_of_a_carrier_are_named() {
        let own = ["TELNYX_API_KEY", "TELNYX_PUBLIC_KEY", "TELNYX_CONNECTION_ID"];
        assert_eq!(variables("telnyx"), [&own[..], &["RINGBACK_PUBLIC_URL"]].concat());
        assert_eq!(variables("asterisk").len(), 4);
        assert_eq!(variables("simulated"), ["RINGBACK_SIMULATED_URL"]);
    }

    #[test]
    fn an_account_is_read_and_its_keys_are_shown_nowhere() {
        let settings = read(&[
            ("TWILIO_ACCOUNT_SID", "AC1"),
            ("TWILIO_AUTH_TOKEN", " tell-nobody\n"),
            ("TWILIO_PHONE_NUMBER", "+15550000001"),
            ("SIGNALWIRE_SPACE", "example"),
            ("SIGNALWIRE_PROJECT_ID", "p1"),
            ("SIGNALWIRE_TOKEN", "PT-tell-nobody"),
            ("SIGNALWIRE_SIGNING_KEY", "PSK-tell-nobody"),
        ])
        .unwrap();
        assert!(!format!("{settings:?}").contains("tell-nobody"));
        let twilio = settings.twilio.unwrap();
        assert_eq!((&*twilio.user, twilio.password.secret()), ("AC1", "tell-nobody"));
        assert_eq!(twilio.base_url, "https://api.twilio.com");
        assert_eq!(twilio.from.unwrap().as_str(), "+15550000001");
        let signalwire = settings.signalwire.unwrap();
        assert_eq!(signalwire.base_url, "https://example.signalwire.com");
        assert_eq!(signalwire.signing_key.secret(), "PSK-tell-nobody");
    }

    #[test]
    fn an_api_key_asks_and_the_auth_token_signs() {
        let settings = read(&[
            ("TWILIO_ACCOUNT_SID", "AC1"),
            ("TWILIO_AUTH_TOKEN", "token-1"),
            ("TWILIO_API_KEY", "SK1"),
            ("TWILIO_API_SECRET", "secret-1"),
            ("TWILIO_BASE_URL", "http://127.0.0.1:9/"),
        ]);
        let twilio = settings.unwrap().twilio.unwrap();
        assert_eq!((&*twilio.user, twilio.password.secret()), ("SK1", "secret-1"));
        assert_eq!(twilio.signing_key.secret(), "token-1");
        assert_eq!(twilio.base_url, "http://127.0.0.1:9");
    }

    const TELNYX: [(&str, &str); 3] = [
        ("TELNYX_API_KEY", "KEY-tell-nobody"),
        ("TELNYX_PUBLIC_KEY", "A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg="),
        ("TELNYX_CONNECTION_ID", "1293384261075731499"),
    ];

    #[test]
    fn an_account_at_telnyx_is_read() {
        let settings = read(&TELNYX).unwrap();
        assert!(!format!("{settings:?}").contains("tell-nobody"));
        let telnyx = settings.telnyx.unwrap();
        assert_eq!(telnyx.base_url, "https://api.telnyx.com/v2");
        assert_eq!((telnyx.line, telnyx.from), (LineChoice::default(), None));
        let more = [
            ("TELNYX_CODEC", "l16"),
            ("TELNYX_L16_BYTE_ORDER", "little"),
            ("TELNYX_AMD", "premium"),
            ("TELNYX_PHONE_NUMBER", "+15550000001"),
        ];
        let telnyx = read(&[&TELNYX[..], &more].concat()).unwrap().telnyx.unwrap();
        assert_eq!((telnyx.line.codec, telnyx.line.order), (Codec::L16, ByteOrder::Little));
        assert_eq!(
            (telnyx.machines, telnyx.from.unwrap().as_str()),
            (Machines::Premium, "+15550000001")
        );
    }

    #[test]
    fn what_is_wrong_of_telnyx_is_named() {
        for (changed, value, named) in [
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
            let mut variables = TELNYX.to_vec();
            variables.retain(|(name, _)| *name != changed);
            variables.push((changed, value));
            let why = read(&variables).unwrap_err().to_string();
            assert!(why.starts_with(named), "{why}");
        }
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
            let why = read(&variables).unwrap_err().to_string();
            assert!(why.starts_with(named), "{why}");
            assert!(!why.contains("u:p"), "{why}");
        }
    }
}
