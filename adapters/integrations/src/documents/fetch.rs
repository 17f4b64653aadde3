//! Fetching of documents from an address given by a client. Redirects, time and size are limited, and
//! addresses that are not allowed are never contacted.

use std::{error::Error, sync::Arc, time::Duration};

use bytes::{Bytes, BytesMut};
use reqwest::{Response, header};
use url::Url;

use net::{
    address_policy::{AddressPolicy, NotAllowed, Resolver, guard, is_of_no_address, refusal_in},
    http_client,
};

/// Maximum number of redirects.
pub const REDIRECTS: usize = 5;
/// Time limit from the first connection to the last byte.
pub const TIME: Duration = Duration::from_secs(10);
/// Maximum size of a document in bytes, after decompression.
pub const BODY_BYTES: usize = 10 * 1024 * 1024;
/// Maximum characters of an address.
pub const URL_CHARACTERS: usize = 2048;

/// Reason why an address cannot be that of a document, worded to follow the field's name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidUrl {
    /// More than [`URL_CHARACTERS`] characters.
    #[error("has more than {URL_CHARACTERS} characters")]
    TooLong,
    /// Not a URL.
    #[error("is not an address: {}; write https://HOST/PATH", why(.0))]
    NoAddress(url::ParseError),
    /// Scheme other than `http` and `https`.
    #[error("must begin with https:// or http://, not `{0:.40}:`")]
    Scheme(String),
    /// Contains a user name or a password.
    #[error("must not contain a user name or a password")]
    Password,
    /// Contains no host.
    #[error("must contain a host")]
    NoHost,
}

/// Reason why nothing was fetched.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    /// The given address cannot be that of a document.
    #[error("{0}")]
    Address(#[from] InvalidUrl),
    /// The address, or one it redirects to, is not allowed.
    #[error("{0}")]
    NotAllowed(#[from] NotAllowed),
    /// The remote server failed, or its answer is not accepted.
    #[error("{0}")]
    Upstream(String),
}

/// Fetched document.
#[derive(Debug, Clone)]
pub struct Fetched {
    /// Decompressed body.
    pub body: Bytes,
    /// Content type, if the server sent one.
    pub content_type: Option<String>,
}

/// Fetcher of documents.
pub struct Fetcher {
    client: reqwest::Client,
    policy: AddressPolicy,
}

impl Fetcher {
    /// Creates a fetcher.
    ///
    /// # Errors
    ///
    /// Returns an error if the HTTP client cannot be built.
    pub fn new(policy: AddressPolicy, resolver: Arc<dyn Resolver>) -> Result<Self, reqwest::Error> {
        let builder = http_client::builder()
            // Many servers refuse requests without a user agent.
            .user_agent("Ringback")
            .referer(false)
            .pool_max_idle_per_host(0);
        let client = guard(builder, &policy, resolver).build()?;
        Ok(Self { client, policy })
    }

    /// Fetches a document.
    ///
    /// # Errors
    /// Returns an error if there is no document, for any reason.
    pub async fn fetch(&self, text: &str) -> Result<Fetched, FetchError> {
        let url = parse(text)?;
        match tokio::time::timeout(TIME, self.follow(url)).await {
            Ok(outcome) => outcome,
            Err(_) => Err(FetchError::Upstream(format!(
                "the document did not arrive within {} s",
                TIME.as_secs()
            ))),
        }
    }

    async fn follow(&self, mut url: Url) -> Result<Fetched, FetchError> {
        for _ in 0..=REDIRECTS {
            self.policy.check_literal(&url)?;
            let request = self.client.get(url.clone()).header(
                header::ACCEPT,
                "text/html, application/pdf, text/markdown, text/plain;q=0.9, audio/*;q=0.1",
            );
            let response = request.send().await.map_err(|error| failed(&url, &error))?;
            match redirect(&url, &response)? {
                Some(next) => url = next,
                None => return body(&url, response).await,
            }
        }
        Err(FetchError::Upstream(format!(
            "the address redirects more than {REDIRECTS} times"
        )))
    }
}

/// Says why a text is not a URL.
fn why(error: &url::ParseError) -> String {
    match error {
        url::ParseError::RelativeUrlWithoutBase => "it has no https:// in front".to_owned(),
        other => other.to_string(),
    }
}

/// Checks an address before any connection is made.
///
/// # Errors
/// Returns an error that says what is wrong with it.
pub fn parse(text: &str) -> Result<Url, InvalidUrl> {
    if text.chars().count() > URL_CHARACTERS {
        return Err(InvalidUrl::TooLong);
    }
    let url = Url::parse(text).map_err(InvalidUrl::NoAddress)?;
    check(&url)?;
    Ok(url)
}

fn check(url: &Url) -> Result<(), InvalidUrl> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err(InvalidUrl::Scheme(url.scheme().to_owned()));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(InvalidUrl::Password);
    }
    if url.host_str().is_none_or(str::is_empty) {
        return Err(InvalidUrl::NoHost);
    }
    Ok(())
}

/// Returns the target of a redirect, if the response is one.
fn redirect(url: &Url, response: &Response) -> Result<Option<Url>, FetchError> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let upstream = |text: String| FetchError::Upstream(format!("{} {text}", shown(url)));
    let location = response.headers().get(header::LOCATION);
    let location = location.ok_or_else(|| upstream("redirects without a target".to_owned()))?;
    let next = std::str::from_utf8(location.as_bytes())
        .ok()
        .and_then(|text| url.join(text).ok());
    let next = next.ok_or_else(|| upstream("redirects to an invalid address".to_owned()))?;
    check(&next).map_err(|why| upstream(format!("redirects to an address that is not allowed: it {why}")))?;
    Ok(Some(next))
}

async fn body(url: &Url, mut response: Response) -> Result<Fetched, FetchError> {
    let upstream = |text: String| FetchError::Upstream(format!("{} {text}", shown(url)));
    let status = response.status();
    if !status.is_success() {
        return Err(upstream(format!("answered {status}")));
    }
    // The client removes this header for encodings that it has decoded.
    if let Some(encoding) = response.headers().get(header::CONTENT_ENCODING)
        && encoding != "identity"
    {
        let encoding = String::from_utf8_lossy(encoding.as_bytes()).into_owned();
        return Err(upstream(format!(
            "sent it in the unsupported encoding `{encoding:.40}`"
        )));
    }
    let too_large = || upstream(format!("sent more than {} MiB", BODY_BYTES / 1024 / 1024));
    if response
        .content_length()
        .is_some_and(|length| length > BODY_BYTES as u64)
    {
        return Err(too_large());
    }
    let content_type = response.headers().get(header::CONTENT_TYPE);
    let content_type = content_type.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
    let mut body = BytesMut::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| failed(url, &error))? {
        if body.len() + chunk.len() > BODY_BYTES {
            return Err(too_large());
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Fetched {
        body: body.freeze(),
        content_type,
    })
}

/// Distinguishes our own refusal from a failure of the remote server.
fn failed(url: &Url, error: &reqwest::Error) -> FetchError {
    if let Some(refusal) = refusal_in(error) {
        return FetchError::NotAllowed(refusal.clone());
    }
    if is_of_no_address(error) {
        let host = url.host_str().unwrap_or_default().to_owned();
        tracing::debug!(%host, %error, "host name has no address");
        return FetchError::NotAllowed(NotAllowed::Resolved { host });
    }
    let mut root: &dyn Error = error;
    while let Some(source) = root.source() {
        root = source;
    }
    let what = if error.is_connect() {
        "cannot be reached"
    } else {
        "did not send the document"
    };
    FetchError::Upstream(format!("{} {what}: {root}", shown(url)))
}

/// Formats an address for messages, without its query, which may contain secrets.
fn shown(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    url.set_fragment(None);
    format!("{url:.300}")
}
