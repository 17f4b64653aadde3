//! Shared code of all carriers' HTTP clients: how requests are sent, and how much is certain when one fails.

pub(crate) mod words;

use std::{
    borrow::Cow,
    io,
    net::SocketAddr,
    pin::Pin,
    sync::{Arc, OnceLock},
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use domain::ports::carrier::{CarrierCallId, CarrierError, DialError, DialRequest, LastLook, WayBack};
use hyper::body::{Frame, SizeHint};
use reqwest::{
    Body, Client, RequestBuilder, Response, StatusCode, Url,
    header::{HeaderMap, RETRY_AFTER},
};
use serde::de::DeserializeOwned;

use self::words::plain_words;
use net::{
    bind::way_out,
    http_client::{self, BodyError, body, cause},
};

const CONNECT_WITHIN: Duration = Duration::from_secs(3);
const ANSWER_WITHIN: Duration = Duration::from_secs(10);
/// Idle connections are closed after this time.
const IDLE_WITHIN: Duration = Duration::from_secs(5);
/// A carrier that asks for a longer pause is treated like one that asks for none.
const LONGEST_PAUSE_SECONDS: u64 = 3600;

/// Reason why a carrier's settings cannot be used.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum SetupError {
    #[error("{setting} `{value}` is not an http:// or https:// address")]
    Address { setting: &'static str, value: String },
    #[error("{setting} {address}: cannot listen on this address: {error}{}", way_out(.error, .setting))]
    Listen {
        setting: &'static str,
        address: SocketAddr,
        error: std::io::Error,
    },
    #[error("cannot build the carrier's HTTP client: {0}")]
    Client(#[from] reqwest::Error),
}

/// HTTP clients of a carrier.
#[derive(Debug, Clone)]
pub struct Clients {
    /// Client for dials. It keeps no connections: a kept connection may die during a request, which would
    /// make the outcome unknown.
    pub dialer: Client,
    /// Client for every request that may be repeated.
    pub client: Client,
}

impl Clients {
    /// Builds clients that follow no redirects and repeat no requests.
    pub fn new() -> Result<Self, SetupError> {
        let builder = || {
            http_client::builder()
                .redirect(reqwest::redirect::Policy::none())
                .retry(reqwest::retry::never())
                .connect_timeout(CONNECT_WITHIN)
                .timeout(ANSWER_WITHIN)
        };
        Ok(Self {
            dialer: builder().http1_only().pool_max_idle_per_host(0).build()?,
            client: builder().pool_idle_timeout(IDLE_WITHIN).build()?,
        })
    }
}

/// Returns an address that paths can be appended to, without a trailing slash.
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

/// Returns the same address for a WebSocket: `http` becomes `ws`, `https` becomes `wss`.
pub fn socket_address(http: &str) -> String {
    http.replacen("http", "ws", 1)
}

/// Sends a dial once. Checks again that it may still be sent when the connection is established and before
/// any part of the request is on it.
/// The error tells whether nothing was sent or the outcome is unknown.
pub async fn send_dial(request: RequestBuilder, last_look: &LastLook) -> Result<Response, DialError> {
    let (client, request) = request.build_split();
    let mut request = request.map_err(|error| DialError::Rejected(cause(&error)))?;
    let held_back = Arc::new(OnceLock::new());
    match request.body().and_then(Body::as_bytes) {
        Some(body) if !body.is_empty() => {
            let body = Guarded {
                body: Some(Bytes::copy_from_slice(body)),
                last_look: last_look.clone(),
                held_back: Arc::clone(&held_back),
            };
            *request.body_mut() = Some(Body::wrap(body));
        }
        // A request without a body is written without this check, so it comes first.
        _ => {
            if let Some(why) = last_look.refusal() {
                return Err(DialError::HeldBack(why));
            }
        }
    }
    let answer = client.execute(request).await;
    if let Some(why) = held_back.get() {
        return Err(DialError::HeldBack(why.clone()));
    }
    answer.map_err(|error| match error.is_connect() {
        // The request goes out only on an established connection.
        true => DialError::Unreachable(cause(&error)),
        false => DialError::Unknown(cause(&error)),
    })
}

/// Body of a dial. HTTP/1 asks for it when the connection is established and the head is still in memory. If
/// it is refused then, nothing of the request has been sent.
struct Guarded {
    body: Option<Bytes>,
    last_look: LastLook,
    held_back: Arc<OnceLock<String>>,
}

impl hyper::body::Body for Guarded {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let Some(body) = self.body.take() else {
            return Poll::Ready(None);
        };
        if let Some(why) = self.last_look.refusal() {
            // The body is requested once, so the cell is still empty.
            let _ = self.held_back.set(why);
            return Poll::Ready(Some(Err(io::Error::other("held back"))));
        }
        Poll::Ready(Some(Ok(Frame::data(body))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.body.as_ref().map_or(0, |body| body.len() as u64))
    }
}

/// Carrier's error response.
pub trait Refusal {
    /// Reads a response body. A body in an unknown format yields an empty refusal.
    fn read(body: &[u8]) -> Self;

    /// Returns the carrier's error code, or an empty text.
    fn code(&self) -> Cow<'_, str>;

    /// Returns the carrier's own words, or an empty text.
    fn words(&self) -> &str;

    /// Returns whom the refusal of a dial concerns, if that is known.
    fn concerns(&self, status: StatusCode) -> Option<Concerns>;

    /// Returns what the refusal means for a dial.
    fn of_dial(&self, status: StatusCode, retry_after: Option<Duration>) -> DialError {
        refused_dial(&self.code(), self.concerns(status), status, retry_after, self.words())
    }

    /// Returns what the refusal means for a request about an existing call.
    fn of_wish(&self, status: StatusCode) -> CarrierError {
        match status.as_u16() {
            404 | 429 => unexpected(status),
            400..=499 => CarrierError::Refused(words_or(self.words(), status)),
            _ => unexpected(status),
        }
    }
}

/// Whom a refused dial concerns, as far as the carrier's error code says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Concerns {
    /// The number does not exist.
    InvalidNumber,
    /// The number must not or cannot be called from this account; others may be.
    Destination,
    /// Too many calls or requests.
    Capacity,
    /// The key, the balance, the application, the caller ID, or something else that is sent with every call.
    Account,
}

/// A carrier's error codes, separated by spaces, by what they concern.
pub type Codes = [(Concerns, &'static str)];

/// Returns what an error code concerns.
pub fn look_up(codes: &Codes, code: &str) -> Option<Concerns> {
    let has = |of: &str| of.split(' ').any(|known| known == code);
    codes.iter().find_map(|(concerns, of)| has(of).then_some(*concerns))
}

/// Converts the refusal of a dial. If its error code concerns nobody that is known, the status decides.
pub fn refused_dial(
    code: &str,
    concerns: Option<Concerns>,
    status: StatusCode,
    retry_after: Option<Duration>,
    said: &str,
) -> DialError {
    let words = words_or(said, status);
    match (concerns, status.as_u16()) {
        (Some(Concerns::InvalidNumber), _) => DialError::InvalidNumber(words),
        (Some(Concerns::Destination), _) => DialError::Rejected(words),
        (Some(Concerns::Capacity), _) | (None, 429) => DialError::Busy { retry_after },
        (Some(Concerns::Account), _) | (None, 401 | 402 | 404 | 407) => DialError::AccountRefused(words),
        (None, 400..=407 | 409..=499) => DialError::Unclassified {
            kind: plain_words(format!("{} {code}", status.as_u16()).trim_end()),
            words,
        },
        // The call may have been placed.
        (None, _) => DialError::Unknown(format!("carrier answered {status}: {words}")),
    }
}

/// Sends a dial, and returns the answer of a carrier that accepts it. `read` reads a refusal.
pub async fn accepted<R: Refusal>(
    request: RequestBuilder,
    last_look: &LastLook,
    read: fn(&[u8]) -> R,
) -> Result<Response, DialError> {
    let answer = send_dial(request, last_look).await?;
    let (status, pause) = (answer.status(), retry_after(answer.headers()));
    if status.is_success() {
        return Ok(answer);
    }
    let said = body(answer).await.unwrap_or_default();
    Err(read(&said).of_dial(status, pause))
}

/// Places a call once. `read` reads a refusal, and `id` takes the call's id from the answer. The error tells what is
/// certain.
pub async fn place<R: Refusal, T: DeserializeOwned>(
    request: RequestBuilder,
    last_look: &LastLook,
    read: fn(&[u8]) -> R,
    id: impl FnOnce(&T) -> &str,
) -> Result<CarrierCallId, DialError> {
    let answer = accepted(request, last_look, read).await?;
    let said = body(answer)
        .await
        .map_err(|error| DialError::Unknown(error.to_string()))?;
    dialed(&said, id)
}

/// Sends a request that may be repeated and returns the body of the answer. `read` reads a refusal.
pub async fn ask<R: Refusal>(request: RequestBuilder, read: fn(&[u8]) -> R) -> Result<Vec<u8>, CarrierError> {
    let answer = send(request).await?;
    let status = answer.status();
    let said = body(answer).await;
    if status.is_success() {
        return said.map_err(unread);
    }
    Err(read(&said.unwrap_or_default()).of_wish(status))
}

/// Sends a request for JSON. A refusal is judged by its status alone.
pub async fn ask_json<T: DeserializeOwned>(request: RequestBuilder) -> Result<T, CarrierError> {
    parse(body(answered(request).await?).await)
}

/// Sends a request and returns the head of an answer that is no refusal.
pub async fn answered(request: RequestBuilder) -> Result<Response, CarrierError> {
    let answer = send(request).await?;
    match answer.status().is_success() {
        true => Ok(answer),
        false => Err(unexpected(answer.status())),
    }
}

/// Reads the body of an answer in JSON.
pub fn parse<T: DeserializeOwned>(said: Result<Vec<u8>, BodyError>) -> Result<T, CarrierError> {
    serde_json::from_slice(&said.map_err(unread)?).map_err(|error| protocol(&error))
}

/// Returns the error for an answer whose body could not be read.
#[expect(clippy::needless_pass_by_value, reason = "handed to map_err")]
pub fn unread(error: BodyError) -> CarrierError {
    CarrierError::Unavailable(error.to_string())
}

/// Returns the result of a dial whose request could not be made.
pub fn not_sent(error: CarrierError) -> DialError {
    match error {
        CarrierError::Protocol(words) => DialError::Unreachable(words),
        error => DialError::Unreachable(error.to_string()),
    }
}

/// Returns the address of a resource below `base`.
pub fn below(base: &str, segments: &[&str]) -> Result<Url, CarrierError> {
    let mut address = Url::parse(base).map_err(|error| CarrierError::Protocol(error.to_string()))?;
    if let Ok(mut path) = address.path_segments_mut() {
        path.extend(segments);
    }
    Ok(address)
}

/// Checks that a call's id can be part of an address. Carriers' answers give no other ids, and another id
/// would lead to an address with another meaning.
pub fn addressable(call: &CarrierCallId) -> Result<CarrierCallId, CarrierError> {
    CarrierCallId::checked(&call.0).ok_or(CarrierError::NotFound)
}

/// Reason why a carrier refers nobody to a telephone number.
pub const REFERS_TO_SIP: &str = "SIP REFER needs a sip: address instead of a telephone number";

/// Returns the message that there is no number to call from. `variable` is the setting that gives one.
pub fn no_caller_id(variable: &str) -> String {
    format!("no caller ID: set {variable}, or give the agent a number in phoneNumbers")
}

/// Returns the callback tokens of a call that is dialed.
pub fn way_back(request: &DialRequest) -> WayBack {
    WayBack {
        attempt: request.attempt,
        status_token: request.status_token.clone(),
        media_token: request.media_token.clone(),
    }
}

/// Sends a request that may be repeated.
pub async fn send(request: RequestBuilder) -> Result<Response, CarrierError> {
    let sent = request.send().await;
    sent.map_err(|error| CarrierError::Unavailable(cause(&error)))
}

/// Reads the call from the answer to a dial. `id` takes the call's id from it.
/// Without a usable id, the outcome of the dial is unknown.
pub fn dialed<T: DeserializeOwned>(said: &[u8], id: impl FnOnce(&T) -> &str) -> Result<CarrierCallId, DialError> {
    match serde_json::from_slice::<T>(said) {
        Ok(call) => CarrierCallId::checked(id(&call))
            .ok_or_else(|| DialError::Unknown("the answer has no usable call id".to_owned())),
        Err(error) => Err(DialError::Unknown(plain_words(&format!(
            "answer is not a call: {error}"
        )))),
    }
}

/// Returns the error for an answer that is not in the carrier's format.
pub fn protocol(error: &serde_json::Error) -> CarrierError {
    CarrierError::Protocol(plain_words(&error.to_string()))
}

/// Returns the pause that the carrier asks for, in whole seconds: from `Retry-After`, or from Telnyx's
/// `x-ratelimit-reset`.
pub fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = |name: &str| headers.get(name)?.to_str().ok()?.trim().parse().ok();
    let pause = seconds(RETRY_AFTER.as_str()).or_else(|| seconds("x-ratelimit-reset"))?;
    // A longer one is a time of day, or nonsense.
    (pause <= LONGEST_PAUSE_SECONDS).then(|| Duration::from_secs(pause))
}

/// Returns the carrier's message, or the status if there is none.
pub fn words_or(said: &str, status: StatusCode) -> String {
    match plain_words(said) {
        empty if empty.is_empty() => status.to_string(),
        words => words,
    }
}

/// Returns the error for a status that is not a success.
pub fn unexpected(status: StatusCode) -> CarrierError {
    match status {
        StatusCode::NOT_FOUND => CarrierError::NotFound,
        StatusCode::TOO_MANY_REQUESTS => CarrierError::Unavailable("too many requests".to_owned()),
        status if status.is_server_error() => CarrierError::Unavailable(status.to_string()),
        status => CarrierError::Protocol(format!("answered {status}")),
    }
}

#[cfg(test)]
#[path = "http/tests.rs"]
mod tests;
