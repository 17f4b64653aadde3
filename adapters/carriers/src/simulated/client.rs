//! Places, ends and lists calls at the exchange.

use std::{borrow::Cow, collections::BTreeMap, time::Duration};

use async_trait::async_trait;
use domain::{
    id::AttemptId,
    phone_number::PhoneNumber,
    ports::carrier::{
        Carrier, CarrierCallId, CarrierError, DialError, DialRequest, ListedCall, Transfer, TransferKind, WayBack,
    },
    time::Timestamp,
};
use reqwest::{StatusCode, Url};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::http::{
    self, Clients, Codes, Concerns, Refusal, SetupError, base, look_up, send, socket_address, unexpected, words_or,
};

/// Name of the carrier.
pub const NAME: &str = "simulated";
/// Time limit for asking the exchange about the caller. Its announcement waits for our response meanwhile.
const ASKED_BACK_WITHIN: Duration = Duration::from_secs(2);

/// Fields that choose the callee.
const HINTS: [&str; 3] = ["persona", "script", "line"];

/// An account at the exchange.
#[derive(Debug, Clone)]
pub struct SimulatedCarrier {
    clients: Clients,
    calls: String,
    /// URL of the inbound calls.
    inbound: String,
    /// Base URL at which the exchange reaches this node by HTTP, without a trailing slash; `streams` is the
    /// same for WebSockets.
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
    /// Only the contact fields that the exchange reads; the others are none of a carrier's business.
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

#[derive(Deserialize)]
struct Caller {
    from: Option<String>,
    to: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ErrorAnswer {
    code: String,
    message: String,
}

impl SimulatedCarrier {
    /// Creates the client of the exchange at `exchange_url`, which reaches this node at `public_url`.
    pub fn new(exchange_url: &str, public_url: &str) -> Result<Self, SetupError> {
        let callbacks = base("public address", public_url)?;
        let streams = socket_address(&callbacks);
        Ok(Self {
            clients: Clients::new()?,
            calls: format!("{}/v1/calls", base("exchange address", exchange_url)?),
            inbound: format!("{}/v1/inbound", base("exchange address", exchange_url)?),
            callbacks,
            streams,
        })
    }

    fn stream_url(&self, attempt: AttemptId, token: &str) -> String {
        format!("{}/carriers/simulated/media/{attempt}.{token}", self.streams)
    }

    /// Returns the URL of a call, or of a resource below it.
    fn address_of(&self, call: &CarrierCallId, below: Option<&str>) -> Result<Url, CarrierError> {
        let call = http::addressable(call)?;
        let mut address = Url::parse(&self.calls).map_err(|error| CarrierError::Protocol(error.to_string()))?;
        if let Ok(mut path) = address.path_segments_mut() {
            path.push(&call.0).extend(below);
        }
        Ok(address)
    }

    /// Sends a mid-call request.
    async fn ask(&self, call: &CarrierCallId, what: &str, body: &Value) -> Result<(), CarrierError> {
        let address = self.address_of(call, Some(what))?;
        http::ask::<ErrorAnswer>(self.clients.client.post(address).json(body))
            .await
            .map(drop)
    }

    /// Returns the addresses for status reports and media of a call.
    pub fn addresses(&self, back: &WayBack) -> (String, String) {
        let (attempt, of_carrier) = (back.attempt, "carriers/simulated");
        (
            format!("{}/{of_carrier}/status/{attempt}/{}", self.callbacks, back.status_token),
            format!("{}/{of_carrier}/media/{attempt}.{}", self.streams, back.media_token),
        )
    }

    /// Asks the exchange for the caller and the called number of an announced call.
    ///
    /// # Errors
    ///
    /// Returns `NotFound` if there is no such call.
    pub async fn who_calls(&self, call: &CarrierCallId) -> Result<(Option<PhoneNumber>, PhoneNumber), CarrierError> {
        let mut address = Url::parse(&self.inbound).map_err(|error| CarrierError::Protocol(error.to_string()))?;
        if let Ok(mut path) = address.path_segments_mut() {
            path.push(&call.0);
        }
        let caller: Caller = http::ask_json(self.clients.client.get(address).timeout(ASKED_BACK_WITHIN)).await?;
        let to = PhoneNumber::parse(&caller.to).map_err(|error| CarrierError::Protocol(error.to_string()))?;
        Ok((caller.from.and_then(|from| PhoneNumber::parse(&from).ok()), to))
    }

    fn body<'a>(&self, request: &'a DialRequest) -> DialBody<'a> {
        let (status_url, stream_url) = self.addresses(&http::way_back(request));
        DialBody {
            to: request.to.as_str(),
            from: request.from.as_ref().map(PhoneNumber::as_str),
            attempt: request.attempt.to_string(),
            status_url,
            stream_url,
            ring_timeout_seconds: request.ring_timeout.as_secs_f64(),
            hints: HINTS
                .into_iter()
                .filter_map(|hint| Some((hint, request.hints.get(hint)?.as_str())))
                .collect(),
        }
    }
}

/// Error codes of the exchange.
const CODES: &Codes = &[
    (Concerns::InvalidNumber, "invalid_number"),
    (Concerns::Destination, "not_reachable"),
];

impl Refusal for ErrorAnswer {
    fn read(body: &[u8]) -> Self {
        serde_json::from_slice(body).unwrap_or_default()
    }

    fn code(&self) -> Cow<'_, str> {
        (&*self.code).into()
    }

    fn words(&self) -> &str {
        &self.message
    }

    fn concerns(&self, status: StatusCode) -> Option<Concerns> {
        let account = (status == StatusCode::FORBIDDEN).then_some(Concerns::Account);
        look_up(CODES, &self.code).or(account)
    }

    fn of_wish(&self, status: StatusCode) -> CarrierError {
        match status.as_u16() {
            400 | 409 | 422 => CarrierError::Refused(words_or(&self.message, status)),
            _ => unexpected(status),
        }
    }
}

#[async_trait]
impl Carrier for SimulatedCarrier {
    fn name(&self) -> &'static str {
        NAME
    }

    async fn dial(&self, request: &DialRequest) -> Result<CarrierCallId, DialError> {
        let dial = self.clients.dialer.post(&self.calls).json(&self.body(request));
        http::place::<ErrorAnswer, _>(dial, &request.last_look, |answer: &DialAnswer| &answer.call_id).await
    }

    async fn hang_up(&self, call: &CarrierCallId) -> Result<(), CarrierError> {
        let answer = send(self.clients.client.delete(self.address_of(call, None)?)).await?;
        match answer.status() {
            status if status.is_success() => Ok(()),
            status => Err(unexpected(status)),
        }
    }

    async fn transfer(&self, call: &CarrierCallId, transfer: &Transfer) -> Result<(), CarrierError> {
        let kind = match transfer.kind {
            TransferKind::Blind => "blind",
            TransferKind::Conference => "conference",
            TransferKind::SipRefer => return Err(CarrierError::NotOffered("SIP REFER")),
        };
        let body = json!({
            "kind": kind,
            "to": transfer.to.as_str(),
            "from": transfer.from.as_ref().map(PhoneNumber::as_str),
            "streamUrl": self.stream_url(transfer.back.attempt, &transfer.back.media_token),
        });
        self.ask(call, "transfer", &body).await
    }

    async fn reopen_media(&self, call: &CarrierCallId, back: &WayBack) -> Result<(), CarrierError> {
        let body = json!({ "streamUrl": self.stream_url(back.attempt, &back.media_token) });
        self.ask(call, "media", &body).await
    }

    async fn find_calls(&self, to: &PhoneNumber, since: Timestamp) -> Result<Vec<ListedCall>, CarrierError> {
        let query = [("to", to.as_str()), ("sinceMicros", &since.0.to_string())];
        let listed: ListAnswer = http::ask_json(self.clients.client.get(&self.calls).query(&query)).await?;
        Ok(listed.calls.into_iter().filter_map(listed_call).collect())
    }
}

/// Converts a listed call. A call whose id cannot be used is left out, so the outcome of its dial stays unknown.
fn listed_call(item: ListedItem) -> Option<ListedCall> {
    let Some(call) = CarrierCallId::checked(&item.call_id) else {
        tracing::warn!(bytes = item.call_id.len(), "listed call has an unusable id");
        return None;
    };
    Some(ListedCall {
        call,
        attempt: item.attempt.and_then(|attempt| attempt.parse().ok()),
        to: item.to,
        live: item.live,
    })
}
