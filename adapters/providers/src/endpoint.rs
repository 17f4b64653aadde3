//! Address and key of a provider: the environment variables that hold them, and how requests carry the key.

use domain::{ports::NotReady, suggestion::suggestion};
use net::key::Key;
use reqwest::header::HeaderValue;

/// How a provider is reached.
#[derive(Debug)]
pub struct Address {
    /// Environment variable of its key.
    pub key: &'static str,
    /// Environment variable of its address.
    pub base: &'static str,
    /// Address used if none is set.
    pub default_base: Option<&'static str>,
    /// Whether it is a self-hosted server, which needs no key.
    pub local: bool,
    /// Header with the key, and what stands before the key there.
    pub(crate) key_header: (&'static str, &'static str),
    /// Further headers of each request.
    pub(crate) headers: &'static [(&'static str, &'static str)],
    /// Setting that keeps it from storing speech.
    pub(crate) privacy: Option<Privacy>,
}

/// Returns the address of a hosted provider whose variables begin with its name, and which takes its key as a bearer token.
macro_rules! hosted {
    ($prefix:literal, $url:literal) => {
        $crate::endpoint::Address {
            key: concat!($prefix, "_API_KEY"),
            base: concat!($prefix, "_BASE_URL"),
            default_base: Some($url),
            local: false,
            key_header: ("authorization", "Bearer "),
            headers: &[],
            privacy: None,
        }
    };
}

pub(crate) use hosted;

/// Setting that keeps a provider from storing speech.
#[derive(Debug)]
pub(crate) struct Privacy {
    /// Long name of the argument.
    pub(crate) argument: &'static str,
    /// Environment variable.
    pub(crate) variable: &'static str,
    /// Help text.
    pub(crate) help: &'static str,
    /// Value that asks for nothing.
    pub(crate) default: &'static str,
    /// Query parameter, of each request with speech or its text, at any other value.
    pub(crate) parameter: (&'static str, &'static str),
}

/// Address and key of a provider.
#[derive(Debug, Clone)]
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
    /// Names of its variables, and of its headers.
    pub address: &'static Address,
}

impl Endpoint {
    /// Creates the endpoint of a provider at an address, without a key.
    pub(crate) fn new(provider: &'static str, address: &'static Address, base_url: impl Into<String>) -> Self {
        Self {
            provider,
            base_url: base_url.into(),
            key: None,
            assumed: false,
            privacy: None,
            address,
        }
    }

    /// Returns the address of a path. The path begins with a slash.
    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base_url)
    }

    /// Returns the WebSocket address of a path.
    pub fn socket_url(&self, path: &str) -> String {
        // `https` becomes `wss`.
        format!("{}{path}", self.base_url.replacen("http", "ws", 1))
    }

    /// Returns the headers of each request, with the key if there is one.
    pub(crate) fn headers(&self) -> Vec<(&'static str, String)> {
        let (name, scheme) = self.address.key_header;
        let key = self.key.iter().map(|key| (name, format!("{scheme}{}", key.secret())));
        let others = self.address.headers.iter();
        key.chain(others.map(|(name, value)| (*name, (*value).to_owned())))
            .collect()
    }

    /// Adds these headers to a request.
    pub(crate) fn signed(&self, request: reqwest::RequestBuilder) -> reqwest::RequestBuilder {
        self.headers().into_iter().fold(request, |request, (name, value)| {
            match HeaderValue::from_str(&value) {
                Ok(mut value) => {
                    value.set_sensitive(true);
                    request.header(name, value)
                }
                // The request then fails when it is sent.
                Err(_) => request.header(name, value),
            }
        })
    }
}

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

/// Returns `; did you mean …?` if a known name is similar, otherwise a semicolon.
fn near(name: &str, known: &[&str]) -> String {
    let suggestion = suggestion(name, known);
    if suggestion.is_empty() {
        ";".to_owned()
    } else {
        suggestion
    }
}

impl From<NotConfigured> for NotReady {
    fn from(why: NotConfigured) -> Self {
        Self(why.to_string())
    }
}
