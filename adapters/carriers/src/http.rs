//! What the clients of all carriers have in common: how requests go out, and what is certain when one fails.

use std::{
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

use crate::words::plain_words;
use net::http_client::{self, body, cause};

const CONNECT_WITHIN: Duration = Duration::from_secs(3);
const ANSWER_WITHIN: Duration = Duration::from_secs(10);
/// A connection that nobody uses is closed.
const IDLE_WITHIN: Duration = Duration::from_secs(5);
/// A carrier that asks for a longer pause is asked again as one that names none.
const LONGEST_PAUSE_SECONDS: u64 = 3600;

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
            dialer: builder().http1_only().pool_max_idle_per_host(0).build()?,
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

/// Sends a dial, once. It is looked whether it may still be sent when the connection stands and nothing of the request is
/// on it.
///
/// # Errors
///
/// No answer: nothing was sent, or nobody knows.
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
        // What has no body is written without asking for it.
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
        // The request goes out only on a connection that stands.
        true => DialError::Unreachable(cause(&error)),
        false => DialError::Unknown(cause(&error)),
    })
}

/// The body of a dial. HTTP/1 asks for it when the connection stands and the head lies in memory: one that is refused then
/// leaves nothing of the request on the wire.
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
            // Asked for once: it cannot be set already.
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

/// What a carrier says where it refuses.
pub trait Refusal {
    /// Reads an answer's body; one in no form at all says nothing.
    fn read(body: &[u8]) -> Self;

    /// What is certain about a dial that was refused so.
    fn of_dial(&self, status: StatusCode, retry_after: Option<Duration>) -> DialError;

    /// What it means for a wish that concerns a call.
    fn of_wish(&self, status: StatusCode) -> CarrierError;
}

/// Places a call, once; the answer names it by its `id`.
///
/// # Errors
///
/// What is certain, by the carrier's refusal `R` where there is one.
pub async fn place<R: Refusal, T: DeserializeOwned>(
    request: RequestBuilder,
    last_look: &LastLook,
    id: impl FnOnce(&T) -> &str,
) -> Result<CarrierCallId, DialError> {
    let answer = send_dial(request, last_look).await?;
    let (status, pause) = (answer.status(), retry_after(answer.headers()));
    if !status.is_success() {
        let said = body(answer).await.unwrap_or_default();
        return Err(R::read(&said).of_dial(status, pause));
    }
    let said = body(answer)
        .await
        .map_err(|error| DialError::Unknown(error.to_string()))?;
    dialed(&said, id)
}

/// Asks for what may be asked again; the body of the answer.
///
/// # Errors
///
/// When there is no answer; else as the carrier's refusal `R` says.
pub async fn ask<R: Refusal>(request: RequestBuilder) -> Result<Vec<u8>, CarrierError> {
    let answer = send(request).await?;
    let status = answer.status();
    let said = body(answer).await;
    if status.is_success() {
        return said.map_err(|error| CarrierError::Unavailable(error.to_string()));
    }
    Err(R::read(&said.unwrap_or_default()).of_wish(status))
}

/// Asks for JSON; a refusal means what its status does.
///
/// # Errors
///
/// When there is no answer, or it is not in the carrier's format.
pub async fn ask_json<T: DeserializeOwned>(request: RequestBuilder) -> Result<T, CarrierError> {
    let answer = send(request).await?;
    if !answer.status().is_success() {
        return Err(unexpected(answer.status()));
    }
    let said = body(answer)
        .await
        .map_err(|error| CarrierError::Unavailable(error.to_string()))?;
    serde_json::from_slice(&said).map_err(|error| protocol(&error))
}

/// A call's id that can be part of an address. No answer gave another one, and its address would be another's.
///
/// # Errors
///
/// Such a call is not found.
pub fn addressable(call: &CarrierCallId) -> Result<CarrierCallId, CarrierError> {
    CarrierCallId::checked(&call.0).ok_or(CarrierError::NotFound)
}

/// That there is no number to call from; `variable` would set one.
pub fn no_caller_id(variable: &str) -> String {
    format!("no caller ID: set {variable}, or give the agent a number in phoneNumbers")
}

/// The way back of a call that is dialed.
pub fn way_back(request: &DialRequest) -> WayBack {
    WayBack {
        attempt: request.attempt,
        status_token: request.status_token.clone(),
        media_token: request.media_token.clone(),
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

#[cfg(test)]
#[path = "http/tests.rs"]
mod tests;
