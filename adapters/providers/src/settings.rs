//! Where each provider is, and the key it takes: the providers' usual environment variables.

use std::collections::BTreeMap;

use domain::ports::NotReady;

use super::name::ProviderName;
use net::{http_client, key::Key};

/// Where a provider is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// The provider's name, as in the settings.
    pub provider: &'static str,
    /// `http://` or `https://`, without a slash at the end.
    pub base_url: String,
    /// Local servers may do without.
    pub key: Option<Key>,
    /// Nobody set anything of it: it is where such servers usually are.
    pub assumed: bool,
}

impl Endpoint {
    /// The address of a path, which begins with a slash.
    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base_url)
    }

    /// The same for a WebSocket.
    pub fn socket_url(&self, path: &str) -> String {
        // `https` becomes `wss`.
        format!("{}{path}", self.base_url.replacen("http", "ws", 1))
    }

    /// The header with the key behind a scheme such as `Bearer `; none without a key.
    pub fn key_header(&self, name: &'static str, scheme: &str) -> Option<(&'static str, String)> {
        let key = self.key.as_ref()?;
        Some((name, format!("{scheme}{}", key.secret())))
    }
}

/// What is known of a provider whatever is set.
#[derive(Debug, Clone, Copy)]
pub struct Known {
    /// Its name.
    pub provider: &'static str,
    /// The environment variable of its key.
    pub key: &'static str,
    /// The environment variable of its address.
    pub base: &'static str,
    /// Where it is when nothing else is said.
    pub default_base: Option<&'static str>,
    /// A server of one's own, which needs no key.
    pub local: bool,
}

/// What is known of the provider of this name; nothing of those without an address.
pub fn known(provider: &str) -> Option<&'static Known> {
    KNOWN.iter().find(|known| known.provider == provider)
}

/// A provider whose variables begin with its name.
macro_rules! known {
    ($provider:literal, $prefix:literal, $local:literal, $base:literal) => {
        Known {
            provider: $provider,
            key: concat!($prefix, "_API_KEY"),
            base: concat!($prefix, "_BASE_URL"),
            default_base: Some($base),
            local: $local,
        }
    };
}

const KNOWN: &[Known] = &[
    known!("openai", "OPENAI", false, "https://api.openai.com/v1"),
    known!("anthropic", "ANTHROPIC", false, "https://api.anthropic.com"),
    known!("groq", "GROQ", false, "https://api.groq.com/openai/v1"),
    known!(
        "gemini",
        "GEMINI",
        false,
        "https://generativelanguage.googleapis.com/v1beta/openai"
    ),
    Known {
        provider: "azure",
        key: "AZURE_OPENAI_API_KEY",
        base: "AZURE_OPENAI_ENDPOINT",
        default_base: None,
        local: false,
    },
    known!("deepgram", "DEEPGRAM", false, "https://api.deepgram.com"),
    known!("elevenlabs", "ELEVENLABS", false, "https://api.elevenlabs.io"),
    known!("cartesia", "CARTESIA", false, "https://api.cartesia.ai"),
    known!("ollama", "OLLAMA", true, "http://127.0.0.1:11434/v1"),
    known!("vllm", "VLLM", true, "http://127.0.0.1:8000/v1"),
    known!("llamacpp", "LLAMACPP", true, "http://127.0.0.1:8080/v1"),
    known!("speaches", "SPEACHES", true, "http://127.0.0.1:8000/v1"),
    known!("whispercpp", "WHISPERCPP", true, "http://127.0.0.1:8080/v1"),
    known!("kokoro", "KOKORO", true, "http://127.0.0.1:8880/v1"),
];

/// Why a provider cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotConfigured {
    /// Nobody knows it.
    #[error("provider `{0}` is not known")]
    Unknown(String),
    /// Its key or its address is not set.
    #[error("provider `{provider}` is not configured: set {variable}")]
    Unset {
        /// Its name.
        provider: String,
        /// The environment variable that is missing.
        variable: &'static str,
    },
    /// It has none of that.
    #[error("provider `{provider}` has no {what}")]
    Unfit {
        /// Its name.
        provider: String,
        /// What was wanted.
        what: &'static str,
    },
    /// Its models have names of its owner's.
    #[error("provider `{0}` needs a model: write `{0}/` and the model's name")]
    NoModel(String),
    /// It would be a part of an address, and has what means something there.
    #[error("`{0}` can be no name of a model or a voice: write one without `..`, `%`, `?`, `#` and `\\`")]
    Odd(String),
    /// No client can be made.
    #[error("no connection can be made: {0}")]
    Broken(String),
}

/// Environment variables of all providers' keys and addresses.
pub fn variables() -> impl Iterator<Item = &'static str> {
    KNOWN.iter().flat_map(|known| [known.key, known.base])
}

/// This environment variable does not hold a provider's address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}: write an address such as https://api.example.com/v1, without a password")]
pub struct InvalidAddress(pub &'static str);

impl From<NotConfigured> for NotReady {
    fn from(why: NotConfigured) -> Self {
        Self(why.to_string())
    }
}

/// Every provider's address and key, as far as they are known.
#[derive(Debug, Clone, Default)]
pub struct ProviderSettings {
    endpoints: BTreeMap<&'static str, Endpoint>,
}

impl ProviderSettings {
    /// Reads them with `variable`, which tells an environment variable's value.
    ///
    /// # Errors
    ///
    /// When an address is none; the text names its variable.
    pub fn read(variable: impl Fn(&str) -> Option<String>) -> Result<Self, InvalidAddress> {
        let given = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
        let mut endpoints = BTreeMap::new();
        for known in KNOWN {
            let key = given(known.key).map(|key| Key::new(key.trim()));
            let base = given(known.base);
            let base_url = match &base {
                Some(text) => Some(base_url(text).ok_or(InvalidAddress(known.base))?),
                None => known.default_base.map(str::to_owned),
            };
            // Whoever gives an address may run a server there that wants no key.
            let usable = known.local || key.is_some() || (base.is_some() && known.default_base.is_some());
            if let Some(base_url) = base_url.filter(|_| usable) {
                let endpoint = Endpoint {
                    provider: known.provider,
                    base_url,
                    assumed: key.is_none() && base.is_none(),
                    key,
                };
                endpoints.insert(known.provider, endpoint);
            }
        }
        Ok(Self { endpoints })
    }

    /// Those of this process's environment.
    ///
    /// # Errors
    ///
    /// As [`ProviderSettings::read`].
    pub fn from_environment() -> Result<Self, InvalidAddress> {
        Self::read(|name| std::env::var(name).ok())
    }

    /// Without servers that are merely assumed, unless they are named by the service itself: an agent must not make the
    /// service talk to whatever listens on this machine.
    #[must_use]
    pub fn only_named_or_set<'a>(mut self, named: impl Iterator<Item = &'a ProviderName>) -> Self {
        let named: Vec<&str> = named.map(|name| name.provider.as_str()).collect();
        self.endpoints
            .retain(|provider, endpoint| !endpoint.assumed || named.contains(provider));
        self
    }

    /// Where a provider is.
    ///
    /// # Errors
    ///
    /// When it is not known, or its key or address is not set.
    pub fn endpoint(&self, provider: &str) -> Result<&Endpoint, NotConfigured> {
        if let Some(endpoint) = self.endpoints.get(provider) {
            return Ok(endpoint);
        }
        let known = known(provider).ok_or_else(|| NotConfigured::Unknown(provider.to_owned()))?;
        Err(NotConfigured::Unset {
            provider: provider.to_owned(),
            variable: match known.default_base {
                Some(_) if !known.local => known.key,
                _ => known.base,
            },
        })
    }
}

fn base_url(text: &str) -> Option<String> {
    http_client::base_url(text.trim()).filter(|url| !url.contains('@'))
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
        assert_eq!(
            settings.endpoint("nobody"),
            Err(NotConfigured::Unknown("nobody".into()))
        );
        let why = read(&[("KOKORO_BASE_URL", "localhost")]).unwrap_err().to_string();
        assert!(why.starts_with("KOKORO_BASE_URL: write an address"), "{why}");
        let why = read(&[("OPENAI_BASE_URL", "http://u:secret@127.0.0.1/v1")]).unwrap_err();
        assert!(!why.to_string().contains("secret"), "{why}");
    }
}
