//! Address and key of each provider, from the providers' usual environment variables.

use std::collections::BTreeMap;

use crate::{
    endpoint::Address,
    name::ProviderName,
    protocols::llm::format::Format,
    registry::{PROVIDERS, address},
};
use net::{http_client::open_base_url, key::Key};

pub use crate::endpoint::{Endpoint, NotConfigured};

/// Environment variables of all providers' keys and addresses.
pub fn variables() -> impl Iterator<Item = &'static str> {
    addresses().flat_map(|(_, address)| [address.key, address.base])
}

/// An environment variable does not hold a valid provider address. Holds its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}: write an address such as https://api.example.com/v1, without a password")]
pub struct InvalidAddress(pub &'static str);

fn addresses() -> impl Iterator<Item = (&'static str, &'static Address)> {
    PROVIDERS
        .iter()
        .filter_map(|provider| Some((provider.name, provider.address.as_ref()?)))
}

/// Addresses and keys of all providers that are set or have a usual local address.
#[derive(Debug, Clone, Default)]
pub struct ProviderSettings {
    endpoints: BTreeMap<&'static str, Endpoint>,
    /// Format of the text of models at addresses of the operator's own.
    pub format: Format,
}

impl ProviderSettings {
    /// Reads the settings. `variable` returns the value of an environment variable.
    pub fn read(variable: impl Fn(&str) -> Option<String>) -> Result<Self, InvalidAddress> {
        let given = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
        let mut endpoints = BTreeMap::new();
        for (provider, known) in addresses() {
            let key = given(known.key).map(|key| Key::new(key.trim()));
            let base = given(known.base);
            let base_url = match &base {
                Some(text) => Some(open_base_url(text.trim()).ok_or(InvalidAddress(known.base))?),
                None => known.default_base.map(str::to_owned),
            };
            // At a custom address there may be a server that needs no key.
            let usable = known.local || key.is_some() || (base.is_some() && known.default_base.is_some());
            if let Some(base_url) = base_url.filter(|_| usable) {
                let endpoint = Endpoint {
                    assumed: key.is_none() && base.is_none(),
                    key,
                    ..Endpoint::new(provider, known, base_url)
                };
                endpoints.insert(provider, endpoint);
            }
        }
        let format = Format::default();
        Ok(Self { endpoints, format })
    }

    /// Reads the settings from the environment of this process.
    pub fn from_environment() -> Result<Self, InvalidAddress> {
        Self::read(|name| std::env::var(name).ok())
    }

    /// Returns the format of a server's models, as far as the settings know it: not for a provider's own address.
    pub(crate) fn format(&self, endpoint: &Endpoint) -> Format {
        let known = endpoint.address;
        match known.local || known.default_base.is_some_and(|base| base != endpoint.base_url) {
            true => self.format,
            false => Format::Auto,
        }
    }

    /// Asks a provider with a query parameter not to store speech.
    pub(crate) fn ask_for_privacy(&mut self, provider: &str) {
        if let Some(endpoint) = self.endpoints.get_mut(provider) {
            endpoint.privacy = endpoint.address.privacy.as_ref().map(|privacy| privacy.parameter);
        }
    }

    /// Removes servers at assumed addresses unless the service itself names them. Otherwise an agent could
    /// make the service connect to whatever listens on this machine.
    #[must_use]
    pub fn only_named_or_set<'a>(mut self, named: impl Iterator<Item = &'a ProviderName>) -> Self {
        let named: Vec<&str> = named.map(|name| name.provider.as_str()).collect();
        self.endpoints
            .retain(|provider, endpoint| !endpoint.assumed || named.contains(provider));
        self
    }

    /// Returns the address and key of a provider.
    pub fn endpoint(&self, provider: &str) -> Result<&Endpoint, NotConfigured> {
        if let Some(endpoint) = self.endpoints.get(provider) {
            return Ok(endpoint);
        }
        let known = address(provider).ok_or_else(|| NotConfigured::Unknown {
            provider: provider.to_owned(),
            known: addresses().map(|(name, _)| name).collect(),
        })?;
        Err(NotConfigured::Unset {
            provider: provider.to_owned(),
            variable: match known.default_base {
                Some(_) if !known.local => known.key,
                _ => known.base,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<ProviderSettings, InvalidAddress> {
        ProviderSettings::read(|name| {
            let found = variables.iter().find(|(variable, _)| *variable == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn a_key_or_an_address_makes_a_provider_usable() {
        let settings = read(&[
            ("DEEPGRAM_API_KEY", " secret\n"),
            ("OPENAI_BASE_URL", "http://127.0.0.1:9000/v1/"),
        ])
        .unwrap();
        let deepgram = settings.endpoint("deepgram").unwrap();
        assert_eq!(deepgram.key.as_ref().unwrap().secret(), "secret");
        assert_eq!(deepgram.socket_url("/v1/listen"), "wss://api.deepgram.com/v1/listen");
        assert!(!format!("{settings:?}").contains("secret"));
        let openai = settings.endpoint("openai").unwrap();
        assert_eq!(openai.url("/models"), "http://127.0.0.1:9000/v1/models");
        assert_eq!(openai.socket_url("/x"), "ws://127.0.0.1:9000/v1/x");
        assert!(settings.endpoint("ollama").is_ok());
        let named: ProviderName = "kokoro".parse().unwrap();
        let settings = settings.only_named_or_set(std::iter::once(&named));
        assert!(settings.endpoint("kokoro").is_ok() && settings.endpoint("openai").is_ok());
        let why = settings.endpoint("ollama").unwrap_err().to_string();
        assert!(why.contains("OLLAMA_BASE_URL"), "{why}");
    }

    #[test]
    fn what_is_missing_is_named() {
        let settings = read(&[("ANTHROPIC_API_KEY", "  ")]).unwrap();
        let why = settings.endpoint("anthropic").unwrap_err().to_string();
        assert_eq!(why, "provider `anthropic` is not configured: set ANTHROPIC_API_KEY");
        assert!(
            settings
                .endpoint("azure")
                .unwrap_err()
                .to_string()
                .contains("AZURE_OPENAI_ENDPOINT")
        );
        let why = settings.endpoint("nobody").unwrap_err().to_string();
        assert!(
            why.starts_with("provider `nobody` is unknown; known here: openai, "),
            "{why}"
        );
        let why = settings.endpoint("deepgramm").unwrap_err().to_string();
        assert!(why.contains("is unknown; did you mean `deepgram`? known"), "{why}");
        let why = read(&[("KOKORO_BASE_URL", "localhost")]).unwrap_err().to_string();
        assert!(why.starts_with("KOKORO_BASE_URL: write an address"), "{why}");
        let why = read(&[("OPENAI_BASE_URL", "http://u:secret@127.0.0.1/v1")]).unwrap_err();
        assert!(!why.to_string().contains("secret"), "{why}");
    }
}
