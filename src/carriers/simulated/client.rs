//! Places, ends and lists calls at the exchange.

use std::{collections::BTreeMap, time::Duration};

use actors::{
    phone_number::PhoneNumber,
    ports::carrier::{Carrier, CarrierCallId, CarrierError, DialError, DialRequest, ListedCall, plain_words},
    time::Timestamp,
};
use async_trait::async_trait;
use reqwest::{Client, Response, StatusCode, Url, header::RETRY_AFTER};
use serde::{Deserialize, Serialize};

use crate::http_client;

const CONNECT_WITHIN: Duration = Duration::from_secs(3);
const ANSWER_WITHIN: Duration = Duration::from_secs(10);
/// A connection that nobody uses is closed.
const IDLE_WITHIN: Duration = Duration::from_secs(5);
/// Answers are small; one that is not is not the exchange's.
const MAX_ANSWER_BYTES: usize = 1024 * 1024;

/// The fields that choose the callee.
const HINTS: [&str; 3] = ["persona", "script", "line"];

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
    /// The HTTP client cannot be built.
    #[error("cannot build the carrier's HTTP client: {0}")]
    Client(#[from] reqwest::Error),
}

/// An account at the exchange.
#[derive(Debug, Clone)]
pub struct SimulatedCarrier {
    /// Without a pool: a kept connection may die under a request, which would make its fate unknown.
    dialer: Client,
    client: Client,
    calls: String,
    /// Where the exchange reaches this node by HTTP and by WebSocket, without a slash at the end.
    callbacks: String,
    streams: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DialBody<'a> {
    to: &'a str,
    from: Option<&'a str>,
    attempt: String,
    status_url: String,
    stream_url: String,
    ring_timeout_seconds: f64,
    /// Of the contact's fields only the one an exchange reads: the others are none of a carrier's business.
    hints: BTreeMap<&'static str, &'a str>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DialAnswer {
    call_id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ListAnswer {
    calls: Vec<ListedItem>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ListedItem {
    call_id: String,
    attempt: Option<String>,
    to: String,
    live: bool,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ErrorAnswer {
    code: String,
    message: String,
}

fn base(setting: &'static str, value: &str) -> Result<String, SetupError> {
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

fn client() -> reqwest::ClientBuilder {
    http_client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .connect_timeout(CONNECT_WITHIN)
        .timeout(ANSWER_WITHIN)
}

impl SimulatedCarrier {
    /// An account at the exchange at `exchange_url`, which reaches this node at `public_url`.
    pub fn new(exchange_url: &str, public_url: &str) -> Result<Self, SetupError> {
        let callbacks = base("public address", public_url)?;
        // `http` becomes `ws`, `https` becomes `wss`.
        let streams = callbacks.replacen("http", "ws", 1);
        Ok(Self {
            dialer: client().pool_max_idle_per_host(0).build()?,
            client: client().pool_idle_timeout(IDLE_WITHIN).build()?,
            calls: format!("{}/v1/calls", base("exchange address", exchange_url)?),
            callbacks,
            streams,
        })
    }

    fn body<'a>(&self, request: &'a DialRequest) -> DialBody<'a> {
        let attempt = request.attempt;
        DialBody {
            to: request.to.as_str(),
            from: request.from.as_ref().map(PhoneNumber::as_str),
            attempt: attempt.to_string(),
            status_url: format!(
                "{}/carriers/simulated/status/{attempt}/{}",
                self.callbacks, request.status_token
            ),
            stream_url: format!(
                "{}/carriers/simulated/media/{attempt}.{}",
                self.streams, request.media_token
            ),
            ring_timeout_seconds: request.ring_timeout.as_secs_f64(),
            hints: HINTS
                .into_iter()
                .filter_map(|hint| Some((hint, request.hints.get(hint)?.as_str())))
                .collect(),
        }
    }
}

/// Reads an answer's body within its bound.
async fn body(mut answer: Response) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    while let Some(chunk) = answer.chunk().await.map_err(|error| cause(&error))? {
        if bytes.len() + chunk.len() > MAX_ANSWER_BYTES {
            return Err(format!("answer is larger than {MAX_ANSWER_BYTES} bytes"));
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
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

async fn refused(answer: Response) -> DialError {
    let status = answer.status();
    let retry_after = answer
        .headers()
        .get(RETRY_AFTER)
        .and_then(|value| value.to_str().ok()?.parse().ok())
        .map(Duration::from_secs);
    let said: ErrorAnswer = body(answer)
        .await
        .ok()
        .and_then(|bytes| serde_json::from_slice(&bytes).ok())
        .unwrap_or_default();
    let words = match plain_words(&said.message) {
        empty if empty.is_empty() => status.to_string(),
        words => words,
    };
    match status {
        StatusCode::BAD_REQUEST | StatusCode::NOT_FOUND | StatusCode::UNPROCESSABLE_ENTITY => {
            if said.code == "invalid_number" {
                DialError::InvalidNumber(words)
            } else {
                DialError::Rejected(words)
            }
        }
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => DialError::AccountRefused(words),
        StatusCode::TOO_MANY_REQUESTS => DialError::Busy { retry_after },
        _ => DialError::Unknown(format!("carrier answered {status}: {words}")),
    }
}

fn unavailable(error: &reqwest::Error) -> CarrierError {
    CarrierError::Unavailable(cause(error))
}

fn unexpected(status: StatusCode) -> CarrierError {
    match status {
        StatusCode::NOT_FOUND => CarrierError::NotFound,
        StatusCode::TOO_MANY_REQUESTS => CarrierError::Unavailable("too many requests".to_owned()),
        status if status.is_server_error() => CarrierError::Unavailable(status.to_string()),
        status => CarrierError::Protocol(format!("answered {status}")),
    }
}

#[async_trait]
impl Carrier for SimulatedCarrier {
    fn name(&self) -> &'static str {
        "simulated"
    }

    async fn dial(&self, request: &DialRequest) -> Result<CarrierCallId, DialError> {
        let sent = self.dialer.post(&self.calls).json(&self.body(request)).send().await;
        let answer = match sent {
            Ok(answer) => answer,
            // The request goes out only on a connection that stands.
            Err(error) if error.is_connect() => return Err(DialError::Unreachable(cause(&error))),
            Err(error) => return Err(DialError::Unknown(cause(&error))),
        };
        if !answer.status().is_success() {
            return Err(refused(answer).await);
        }
        let bytes = body(answer).await.map_err(DialError::Unknown)?;
        match serde_json::from_slice::<DialAnswer>(&bytes) {
            Ok(answer) => CarrierCallId::checked(&answer.call_id)
                .ok_or_else(|| DialError::Unknown("answer names no call that could be asked for".to_owned())),
            Err(error) => Err(DialError::Unknown(plain_words(&format!(
                "answer is not a call: {error}"
            )))),
        }
    }

    async fn hang_up(&self, call: &CarrierCallId) -> Result<(), CarrierError> {
        // No answer gave such an id, and its address would be another's.
        let Some(call) = CarrierCallId::checked(&call.0) else {
            return Err(CarrierError::NotFound);
        };
        let mut address = Url::parse(&self.calls).map_err(|error| CarrierError::Protocol(error.to_string()))?;
        if let Ok(mut path) = address.path_segments_mut() {
            path.push(&call.0);
        }
        let answer = self.client.delete(address).send().await.map_err(|e| unavailable(&e))?;
        match answer.status() {
            status if status.is_success() => Ok(()),
            status => Err(unexpected(status)),
        }
    }

    async fn find_calls(&self, to: &PhoneNumber, since: Timestamp) -> Result<Vec<ListedCall>, CarrierError> {
        let query = [("to", to.as_str()), ("sinceMicros", &since.0.to_string())];
        let sent = self.client.get(&self.calls).query(&query).send().await;
        let answer = sent.map_err(|e| unavailable(&e))?;
        if !answer.status().is_success() {
            return Err(unexpected(answer.status()));
        }
        let bytes = body(answer).await.map_err(CarrierError::Unavailable)?;
        let listed: ListAnswer =
            serde_json::from_slice(&bytes).map_err(|error| CarrierError::Protocol(plain_words(&error.to_string())))?;
        Ok(listed.calls.into_iter().filter_map(listed_call).collect())
    }
}

/// A call that cannot be asked for again is as good as not listed: its dial's fate stays unknown.
fn listed_call(item: ListedItem) -> Option<ListedCall> {
    let Some(call) = CarrierCallId::checked(&item.call_id) else {
        tracing::warn!(
            bytes = item.call_id.len(),
            "a listed call has an id that cannot be used"
        );
        return None;
    };
    Some(ListedCall {
        call,
        attempt: item.attempt.and_then(|attempt| attempt.parse().ok()),
        to: item.to,
        live: item.live,
    })
}
