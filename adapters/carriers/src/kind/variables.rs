//! Environment variables of a carrier's account.

use domain::phone_number::PhoneNumber;

use super::choice::{Choice, joined};
use net::{http_client::open_base_url, key::Key};

/// An invalid or incomplete carrier setting.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum SettingsError {
    #[error("{name} is not set but required for {account}: set it, or unset its related variables")]
    Missing { name: &'static str, account: &'static str },
    #[error("{0}")]
    Invalid(String),
}

impl<T: Into<String>> From<T> for SettingsError {
    fn from(text: T) -> Self {
        Self::Invalid(text.into())
    }
}

/// Non-empty environment variables, read for one account.
pub struct Variables<'a> {
    get: &'a dyn Fn(&str) -> Option<String>,
    /// Account that errors name.
    account: &'static str,
}

impl<'a> Variables<'a> {
    pub(super) fn new(get: &'a dyn Fn(&str) -> Option<String>, account: &'static str) -> Self {
        Self { get, account }
    }

    /// Returns the same variables for a part of the account, which errors name instead.
    pub(crate) fn of(&self, part: &'static str) -> Self {
        Self::new(self.get, part)
    }

    pub(crate) fn get(&self, name: &str) -> Option<String> {
        let value = (self.get)(name)?.trim().to_owned();
        (!value.is_empty()).then_some(value)
    }

    /// Returns a variable that the account requires.
    pub(crate) fn needed(&self, name: &'static str) -> Result<String, SettingsError> {
        let account = self.account;
        self.get(name).ok_or(SettingsError::Missing { name, account })
    }

    pub(crate) fn key(&self, name: &'static str) -> Result<Key, SettingsError> {
        self.needed(name).map(Key::new)
    }

    pub(crate) fn number(&self, name: &str) -> Result<Option<PhoneNumber>, SettingsError> {
        let Some(text) = self.get(name) else { return Ok(None) };
        let number = PhoneNumber::parse(&text).map_err(|error| format!("{name}: {error}"))?;
        Ok(Some(number))
    }

    /// Returns the address of an API, which is usually `usual`.
    pub(crate) fn api(&self, name: &str, usual: &str) -> Result<String, SettingsError> {
        Ok(self.address(name)?.unwrap_or_else(|| usual.to_owned()))
    }

    pub(crate) fn address(&self, name: &str) -> Result<Option<String>, SettingsError> {
        let Some(text) = self.get(name) else { return Ok(None) };
        match open_base_url(&text) {
            Some(url) => Ok(Some(url)),
            None => Err(format!("{name}: write an address such as https://api.example.com, without a password").into()),
        }
    }

    pub(crate) fn choice<T: Choice>(&self, name: &str) -> Result<T, SettingsError> {
        let Some(text) = self.get(name) else {
            return Ok(T::default());
        };
        let names: Vec<&str> = T::ALL.iter().map(|(name, _)| *name).collect();
        T::named(&text).ok_or_else(|| format!("{name}: write {}", joined(&names, "or")).into())
    }

    pub(crate) fn any(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.get(name).is_some())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::kind::CarrierKind;

    fn lookup(variables: &[(&str, &str)]) -> impl Fn(&str) -> Option<String> {
        |name| {
            let found = variables.iter().find(|(variable, _)| *variable == name);
            found.map(|(_, value)| (*value).to_owned())
        }
    }

    /// Reads an account from these variables.
    pub(crate) fn account<T>(
        read: fn(&Variables<'_>) -> Result<T, SettingsError>,
        variables: &[(&str, &str)],
    ) -> Result<T, SettingsError> {
        read(&Variables::new(&lookup(variables), "this account"))
    }

    /// Returns the variables of an account with some of them changed, and more.
    pub(crate) fn changed<'a>(whole: &[(&'a str, &'a str)], more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
        let is_kept = |(name, _): &&(&str, &str)| more.iter().all(|(changed, _)| changed != name);
        whole.iter().filter(is_kept).chain(more).copied().collect()
    }

    /// Returns why a carrier refuses these variables.
    pub(crate) fn refused(kind: &CarrierKind, variables: &[(&str, &str)]) -> String {
        kind.read(&lookup(variables)).unwrap_err().to_string()
    }
}
