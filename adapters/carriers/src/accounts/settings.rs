//! Carrier settings, from each carrier's usual environment variables. Agents' numbers can name any carrier
//! whose account is set. `RINGBACK_CARRIER` chooses the carrier for calls that name none.

use std::sync::Arc;

use crate::{
    kind::{Account, CarrierKind},
    registry::KINDS,
    simulated,
};

pub use crate::kind::variables::SettingsError;

/// A carrier whose account is set.
#[derive(Debug, Clone)]
pub struct SetCarrier {
    /// Carrier.
    pub kind: &'static CarrierKind,
    /// Account.
    pub account: Arc<dyn Account>,
}

/// Accounts at carriers.
#[derive(Debug, Clone, Default)]
pub struct CarrierSettings(Vec<SetCarrier>);

impl CarrierSettings {
    /// Reads the settings. `variable` returns the value of an environment variable.
    pub fn read(variable: impl Fn(&str) -> Option<String>) -> Result<Self, SettingsError> {
        let accounts = KINDS.iter().copied().filter_map(|kind| {
            let account = kind.read(&variable).transpose()?;
            Some(account.map(|account| SetCarrier { kind, account }))
        });
        accounts.collect::<Result<_, _>>().map(Self)
    }

    /// Reads the settings from the environment of this process.
    pub fn from_environment() -> Result<Self, SettingsError> {
        Self::read(|name| std::env::var(name).ok())
    }

    /// Adds a telephone exchange at this address.
    #[must_use]
    pub fn with_exchange(mut self, url: Option<&str>) -> Self {
        self.0.extend(url.map(|url| SetCarrier {
            kind: &simulated::KIND,
            account: Arc::new(simulated::ExchangeAccount(url.to_owned())),
        }));
        self
    }

    /// Returns the carriers whose accounts are set.
    pub fn carriers(&self) -> &[SetCarrier] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_set_is_no_carrier() {
        let variables = [
            ("TWILIO_ACCOUNT_SID", " "),
            ("TWILIO_PHONE_NUMBER", "+15550000001"),
            ("VONAGE_PHONE_NUMBER", "+15550000001"),
        ];
        let settings = CarrierSettings::read(|name| {
            let found = variables.iter().find(|(variable, _)| *variable == name);
            found.map(|(_, value)| (*value).to_owned())
        });
        assert!(settings.unwrap().carriers().is_empty());
    }
}
