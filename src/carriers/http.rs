//! What the clients of all carriers have in common: how requests go out, and what is certain when one fails.

use std::{net::SocketAddr, time::Duration};

use actors::ports::carrier::{CarrierCallId, CarrierError, DialError};
use reqwest::{
    Client, RequestBuilder, Response, StatusCode, Url,
    header::{HeaderMap, RETRY_AFTER},
};
use serde::de::DeserializeOwned;

use crate::{carriers::words::plain_words, http_client};

const CONNECT_WITHIN: Duration = Duration::from_secs(3);
const ANSWER_WITHIN: Duration = Duration::from_secs(10);
/// A connection that nobody uses is closed.
const IDLE_WITHIN: Duration = Duration::from_secs(5);
/// A carrier that asks for a longer pause is asked again as one that names none.
const LONGEST_PAUSE_SECONDS: u64 = 3600;
/// Answers are small; one that is not is not the carrier's.
const MAX_ANSWER_BYTES: usize = 1024 * 1024;

/// A setting the carrier cannot work with.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// Not an `http` or `https` address.
    #[error("{setting} `{value}` is not an http:// or https:// address")]
    Address {
        /// Which address.
        setting: &'static str,
        /// Its value.
        value: String,
    },
    /// An address of one's own that cannot be listened at.
    #[error("{setting} {address}: cannot listen there: {error}")]
    Listen {
        /// Which address.
        setting: &'static str,
        /// Its value.
        address: SocketAddr,
        /// Why not.
        error: std::io::Error,
    },
    /// The HTTP client cannot be built.
    #[error("cannot build the carrier's HTTP client: {0}")]
    Client(#[from] reqwest::Error),
}

/// The two clients of a carrier.
#[derive(Debug, Clone)]
pub struct Clients {
    /// For dials. Without a pool: a kept connection may die under a request, which would make its fate unknown.
    pub dialer: Client,
    /// For everything that may be asked again.
    pub client: Client,
}

impl Clients {
    /// Clients that follow no redirect and repeat nothing.
    ///
    /// # Errors
    ///
    /// When the system gives no TLS.
    pub fn new() -> Result<Self, SetupError> {
        let builder = || {
            http_client::builder()
                .redirect(reqwest::redirect::Policy::none())
                .retry(reqwest::retry::never())
                .connect_timeout(CONNECT_WITHIN)
                .timeout(ANSWER_WITHIN)
        };
        Ok(Self {
            dialer: builder().pool_max_idle_per_host(0).build()?,
            client: builder().pool_idle_timeout(IDLE_WITHIN).build()?,
        })
    }
}

/// An address that paths can be put behind, without a slash at its end.
///
/// # Errors
///
/// When it is no address of HTTP; the error names `setting`.
pub fn base(setting: &'static str, value: &str) -> Result<String, SetupError> {
    let refused = || SetupError::Address {
        setting,
        value: value.to_owned(),
    };
    let url = Url::parse(value).map_err(|_| refused())?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() || url.query().is_some() {
        return Err(refused());
    }
    Ok(url.as_str().trim_end_matches('/').to_owned())
}

/// The same address for a WebSocket: `http` becomes `ws`, `https` becomes `wss`.
pub fn socket_address(http: &str) -> String {
    http.replacen("http", "ws", 1)
}

/// Sends a dial, once.
///
/// # Errors
///
/// No answer: nothing was sent, or nobody knows.
pub async fn send_dial(request: RequestBuilder) -> Result<Response, DialError> {
    match request.send().await {
        Ok(answer) => Ok(answer),
        // The request goes out only on a connection that stands.
        Err(error) if error.is_connect() => Err(DialError::Unreachable(cause(&error))),
        Err(error) => Err(DialError::Unknown(cause(&error))),
    }
}

/// Sends what may be asked again.
///
/// # Errors
///
/// When there is no answer.
pub async fn send(request: RequestBuilder) -> Result<Response, CarrierError> {
    let sent = request.send().await;
    sent.map_err(|error| CarrierError::Unavailable(cause(&error)))
}

/// Reads an answer's body within its bound.
///
/// # Errors
///
/// When it breaks off or is too large.
pub async fn body(answer: Response) -> Result<Vec<u8>, String> {
    body_within(answer, MAX_ANSWER_BYTES).await
}

/// Reads the body of an answer that may be so many bytes long.
///
/// # Errors
///
/// When it breaks off or is too large.
pub async fn body_within(mut answer: Response, most: usize) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    while let Some(chunk) = answer.chunk().await.map_err(|error| cause(&error))? {
        if bytes.len() + chunk.len() > most {
            return Err(format!("answer is larger than {most} bytes"));
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

/// The call that the answer to a dial names, by its `id`.
///
/// # Errors
///
/// When it names none that could be asked for: nobody knows what was dialed.
pub fn dialed<T: DeserializeOwned>(said: &[u8], id: impl FnOnce(&T) -> &str) -> Result<CarrierCallId, DialError> {
    match serde_json::from_slice::<T>(said) {
        Ok(call) => CarrierCallId::checked(id(&call))
            .ok_or_else(|| DialError::Unknown("answer names no call that could be asked for".to_owned())),
        Err(error) => Err(DialError::Unknown(plain_words(&format!(
            "answer is not a call: {error}"
        )))),
    }
}

/// An answer that is not in the carrier's format.
pub fn protocol(error: &serde_json::Error) -> CarrierError {
    CarrierError::Protocol(plain_words(&error.to_string()))
}

/// The carrier's own wish for a pause, in whole seconds: as HTTP has it, or as Telnyx tells when its limit begins anew.
pub fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = |name: &str| headers.get(name)?.to_str().ok()?.trim().parse().ok();
    let pause = seconds(RETRY_AFTER.as_str()).or_else(|| seconds("x-ratelimit-reset"))?;
    // A longer one is a time of day, or nonsense.
    (pause <= LONGEST_PAUSE_SECONDS).then(|| Duration::from_secs(pause))
}

/// A carrier's words, or those of the status where it said nothing.
pub fn words_or(said: &str, status: StatusCode) -> String {
    match plain_words(said) {
        empty if empty.is_empty() => status.to_string(),
        words => words,
    }
}

/// What an answer means that is no success.
pub fn unexpected(status: StatusCode) -> CarrierError {
    match status {
        StatusCode::NOT_FOUND => CarrierError::NotFound,
        StatusCode::TOO_MANY_REQUESTS => CarrierError::Unavailable("too many requests".to_owned()),
        status if status.is_server_error() => CarrierError::Unavailable(status.to_string()),
        status => CarrierError::Protocol(format!("answered {status}")),
    }
}

/// The innermost words of an error; reqwest's own repeat the address, which holds a proof.
fn cause(error: &reqwest::Error) -> String {
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
