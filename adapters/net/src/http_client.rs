//! Where every HTTP client of the service begins.

use std::sync::Once;

use reqwest::Response;

/// Answers are small; one that is not is not the carrier's.
const MAX_ANSWER_BYTES: usize = 1024 * 1024;

static CRYPTOGRAPHY: Once = Once::new();

/// Installs the one provider of cryptography for every TLS connection of the process: a client, or a database
/// connection, that finds none panics.
pub fn install_cryptography() {
    CRYPTOGRAPHY.call_once(|| {
        if rustls::crypto::ring::default_provider().install_default().is_err() {
            tracing::debug!("another provider of cryptography is installed");
        }
    });
}

/// The text is not an HTTP address that paths can be appended to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("write an address such as https://calls.example.com")]
pub struct InvalidBaseUrl;

/// Why an answer's body could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BodyError {
    /// The connection broke off or timed out: the cause, without the address.
    #[error("{0}")]
    BrokenOff(String),
    /// It is larger than the limit.
    #[error("answer is larger than {most} bytes")]
    TooLarge {
        /// The limit in bytes.
        most: usize,
    },
}

/// An address that paths can be put behind: of HTTP, with nothing after its path, and without a slash at its end. None
/// when the text is no such address.
pub fn base_url(text: &str) -> Option<String> {
    let http = text.starts_with("http://") || text.starts_with("https://");
    let sound = http && !text.contains(['?', '#', ' ']) && reqwest::Url::parse(text).is_ok();
    sound.then(|| text.trim_end_matches('/').to_owned())
}

/// Reads an address of HTTP without a slash at its end.
///
/// # Errors
///
/// When the text is no such address.
pub fn parse_base_url(text: &str) -> Result<String, InvalidBaseUrl> {
    base_url(text).ok_or(InvalidBaseUrl)
}

/// A client that takes no proxy from the environment: calls to carriers and providers must not be repeated, or
/// read, by something between.
pub fn builder() -> reqwest::ClientBuilder {
    install_cryptography();
    reqwest::Client::builder().no_proxy()
}

/// Reads an answer's body within its bound.
///
/// # Errors
///
/// When it breaks off or is too large.
pub async fn body(answer: Response) -> Result<Vec<u8>, BodyError> {
    body_within(answer, MAX_ANSWER_BYTES).await
}

/// Reads the body of an answer that may be so many bytes long.
///
/// # Errors
///
/// When it breaks off or is too large.
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

/// The innermost words of an error; reqwest's own repeat the address, which holds a proof.
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
