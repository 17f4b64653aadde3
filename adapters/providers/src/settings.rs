//! Address and key of each provider, from the providers' usual environment variables.

use std::collections::BTreeMap;

use domain::{ports::NotReady, suggestion::suggestion};

use super::{format::Format, name::ProviderName};
use net::{http_client, key::Key};

/// Address and key of a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// Name of the provider, as in the settings.
    pub provider: &'static str,
    /// Base address, `http://` or `https://`, without a trailing slash.
    pub base_url: String,
    /// API key. Local servers may need none.
    pub key: Option<Key>,
    /// Whether neither address nor key was set, so that this is the usual local address of such servers.
    pub assumed: bool,
    /// Query parameter, of each request with speech or its text, that keeps the provider from storing them.
    pub privacy: Option<(&'static str, &'static str)>,
}

impl Endpoint {
    /// Returns the address of a path. The path begins with a slash.
    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base_url)
    }

    /// Returns the WebSocket address of a path.
    pub fn socket_url(&self, path: &str) -> String {
        // `https` becomes `wss`.
        format!("{}{path}", self.base_url.replacen("http", "ws", 1))
    }

    /// Returns the header with the key, after a scheme such as `Bearer `. Returns `None` if there is no key.
    pub fn key_header(&self, name: &'static str, scheme: &str) -> Option<(&'static str, String)> {
        let key = self.key.as_ref()?;
        Some((name, format!("{scheme}{}", key.secret())))
    }
}

/// Fixed facts about a provider.
#[derive(Debug, Clone, Copy)]
pub struct Known {
    /// Name of the provider.
    pub provider: &'static str,
    /// Environment variable of its key.
    pub key: &'static str,
    /// Environment variable of its address.
    pub base: &'static str,
    /// Address used if none is set.
    pub default_base: Option<&'static str>,
    /// Whether it is a self-hosted server, which needs no key.
    pub local: bool,
}

/// Returns the facts about a provider. Returns `None` for providers without an address.
pub fn known(provider: &str) -> Option<&'static Known> {
    KNOWN.iter().find(|known| known.provider == provider)
}

/// Describes a provider whose variables begin with its name.
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

/// Reason why a provider cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotConfigured {
    /// The provider is unknown.
    #[error("provider `{provider}` is unknown{} known here: {}", near(.provider, .known), .known.join(", "))]
    Unknown {
        /// Name as given.
        provider: String,
        /// Names that could be given.
        known: Vec<&'static str>,
    },
    /// Its key or its address is not set.
    #[error("provider `{provider}` is not configured: set {variable}")]
    Unset {
        /// Name of the provider.
        provider: String,
        /// Missing environment variable.
        variable: &'static str,
    },
    /// The provider does not offer this.
    #[error("provider `{provider}` has no {what}; known here: {}", .known.join(", "))]
    Unfit {
        /// Name of the provider.
        provider: String,
        /// Requested feature.
        what: &'static str,
        /// Names of the providers that offer it.
        known: Vec<&'static str>,
    },
    /// The provider has no default model, since its operator chooses the names.
    #[error("provider `{0}` needs a model: write `{0}/` and the model's name")]
    NoModel(String),
    /// The name would be part of a URL and contains characters with a meaning there.
    #[error("`{0}` is not a valid model or voice name: write one without `..`, `%`, `?`, `#` and `\\`")]
    Odd(String),
    /// The HTTP client cannot be built.
    #[error("cannot build the HTTP client: {0}")]
    Broken(String),
}

impl NotConfigured {
    /// Creates the error for a provider that is not among those that offer `what`.
    pub(crate) fn not_among(known_here: Vec<&'static str>, provider: &str, what: &'static str) -> Self {
        let (provider, is_known) = (provider.to_owned(), known(provider).is_some());
        match is_known {
            true => Self::Unfit {
                provider,
                what,
                known: known_here,
            },
            false => Self::Unknown {
                provider,
                known: known_here,
            },
        }
    }
}

/// Returns `; did you mean …?` if a known name is similar, otherwise a semicolon.
fn near(name: &str, known: &[&str]) -> String {
    let suggestion = suggestion(name, known);
    if suggestion.is_empty() {
        ";".to_owned()
    } else {
        suggestion
    }
}

/// Environment variables of all providers' keys and addresses.
pub fn variables() -> impl Iterator<Item = &'static str> {
    KNOWN.iter().flat_map(|known| [known.key, known.base])
}

/// An environment variable does not hold a valid provider address. Holds its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}: write an address such as https://api.example.com/v1, without a password")]
pub struct InvalidAddress(pub &'static str);

impl From<NotConfigured> for NotReady {
    fn from(why: NotConfigured) -> Self {
        Self(why.to_string())
    }
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
    ///
    /// # Errors
    ///
    /// Returns an error if an address is invalid. The message names its variable.
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
            // At a custom address there may be a server that needs no key.
            let usable = known.local || key.is_some() || (base.is_some() && known.default_base.is_some());
            if let Some(base_url) = base_url.filter(|_| usable) {
                let endpoint = Endpoint {
                    provider: known.provider,
                    base_url,
                    assumed: key.is_none() && base.is_none(),
                    key,
                    privacy: None,
                };
                endpoints.insert(known.provider, endpoint);
            }
        }
        let format = Format::default();
        Ok(Self { endpoints, format })
    }

    /// Reads the settings from the environment of this process.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`ProviderSettings::read`].
    pub fn from_environment() -> Result<Self, InvalidAddress> {
        Self::read(|name| std::env::var(name).ok())
    }

    /// Returns the format of a server's models, as far as the settings know it: not for a provider's own address.
    pub(crate) fn format(&self, endpoint: &Endpoint) -> Format {
        let is_own = |known: &Known| known.local || known.default_base.is_some_and(|base| base != endpoint.base_url);
        match known(endpoint.provider).is_some_and(is_own) {
            true => self.format,
            false => Format::Auto,
        }
    }

    /// Asks a provider with a query parameter not to store speech.
    pub(crate) fn ask_for_privacy(&mut self, provider: &str, parameter: (&'static str, &'static str)) {
        if let Some(endpoint) = self.endpoints.get_mut(provider) {
            endpoint.privacy = Some(parameter);
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
    ///
    /// # Errors
    ///
    /// Returns an error if the provider is unknown, or if its key or address is not set.
    pub fn endpoint(&self, provider: &str) -> Result<&Endpoint, NotConfigured> {
        if let Some(endpoint) = self.endpoints.get(provider) {
            return Ok(endpoint);
        }
        let known = known(provider).ok_or_else(|| NotConfigured::Unknown {
            provider: provider.to_owned(),
            known: KNOWN.iter().map(|known| known.provider).collect(),
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
