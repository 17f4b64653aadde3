//! Shared base of every HTTP client of the service.

use std::sync::Once;

use reqwest::Response;

/// Limit on an answer's size. Carriers' answers are small, so a larger one comes from something else.
const MAX_ANSWER_BYTES: usize = 1024 * 1024;

static CRYPTOGRAPHY: Once = Once::new();

/// Installs the process-wide cryptography provider for TLS. HTTP clients and database connections panic if
/// there is none.
pub fn install_cryptography() {
    CRYPTOGRAPHY.call_once(|| {
        if rustls::crypto::ring::default_provider().install_default().is_err() {
            tracing::debug!("another cryptography provider is already installed");
        }
    });
}

/// The text is not an HTTP address that paths can be appended to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("write an address such as {0}")]
pub struct InvalidBaseUrl(&'static str);

/// Reason why an answer's body could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BodyError {
    /// The connection broke off or timed out. Holds the cause without the address.
    #[error("{0}")]
    BrokenOff(String),
    /// The body is larger than the limit.
    #[error("answer is larger than {most} bytes")]
    TooLarge {
        /// Limit in bytes.
        most: usize,
    },
}

/// Returns an HTTP address that paths can be appended to, without query, fragment or trailing slash. Returns
/// `None` if the text is not such an address.
pub fn base_url(text: &str) -> Option<String> {
    let http = text.starts_with("http://") || text.starts_with("https://");
    let sound = http && !text.contains(['?', '#', ' ']) && reqwest::Url::parse(text).is_ok();
    sound.then(|| text.trim_end_matches('/').to_owned())
}

/// Does the same for an address without a user and password, which messages and lists may show.
pub fn open_base_url(text: &str) -> Option<String> {
    base_url(text).filter(|url| !url.contains('@'))
}

/// Parses an HTTP address and removes the trailing slash.
///
/// # Errors
///
/// Returns an error if the text is not such an address.
pub fn parse_base_url(text: &str) -> Result<String, InvalidBaseUrl> {
    base_url(text).ok_or(InvalidBaseUrl("https://calls.example.com"))
}

/// Parses an HTTP address like [`parse_base_url`], for a setting whose address is usually on this machine.
///
/// # Errors
///
/// Returns an error if the text is not such an address.
pub fn parse_local_base_url(text: &str) -> Result<String, InvalidBaseUrl> {
    base_url(text).ok_or(InvalidBaseUrl("http://127.0.0.1:9000"))
}

/// Returns a client builder that takes no proxy from the environment, because nothing in between may repeat
/// or read the requests to carriers and providers.
pub fn builder() -> reqwest::ClientBuilder {
    install_cryptography();
    reqwest::Client::builder().no_proxy()
}

/// Reads an answer's body, up to 1 MiB.
///
/// # Errors
///
/// Returns an error if the connection breaks off or the body is too large.
pub async fn body(answer: Response) -> Result<Vec<u8>, BodyError> {
    body_within(answer, MAX_ANSWER_BYTES).await
}

/// Reads an answer's body, up to `most` bytes.
///
/// # Errors
///
/// Returns an error if the connection breaks off or the body is too large.
pub async fn body_within(mut answer: Response, most: usize) -> Result<Vec<u8>, BodyError> {
    let mut bytes = Vec::new();
    while let Some(chunk) = answer
        .chunk()
        .await
        .map_err(|error| BodyError::BrokenOff(cause(&error)))?
    {
        if bytes.len() + chunk.len() > most {
            return Err(BodyError::TooLarge { most });
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

/// Returns the innermost message of an error. The outer messages of reqwest contain the address, which holds
/// a secret proof.
pub fn cause(error: &reqwest::Error) -> String {
    let mut words = if error.is_timeout() {
        "timed out"
    } else {
        "request failed"
    }
    .to_owned();
    let mut inner = std::error::Error::source(error);
    while let Some(source) = inner {
        words = source.to_string();
        inner = source.source();
    }
    words
}
