//! Places, ends and lists calls at the exchange.

use std::{borrow::Cow, collections::BTreeMap, time::Duration};

use async_trait::async_trait;
use domain::{
    phone_number::PhoneNumber,
    ports::carrier::{
        Carrier, CarrierCallId, CarrierError, DialError, DialRequest, ListedCall, Transfer, TransferKind, WayBack,
    },
    time::Timestamp,
};
use reqwest::{StatusCode, Url};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    http::{self, Clients, Codes, Concerns, Refusal, SetupError, base, below, look_up, send, unexpected, words_or},
    webhooks::addresses::Addresses,
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
    pub(super) addresses: Addresses,
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
struct ExchangeError {
    code: String,
    message: String,
}

impl SimulatedCarrier {
    /// Creates the client of the exchange at `exchange_url`, which reaches this node at `public_url`.
    pub fn new(exchange_url: &str, public_url: &str) -> Result<Self, SetupError> {
        Ok(Self {
            clients: Clients::new()?,
            calls: format!("{}/v1/calls", base("exchange address", exchange_url)?),
            inbound: format!("{}/v1/inbound", base("exchange address", exchange_url)?),
            addresses: Addresses::new(public_url, NAME)?,
        })
    }

    /// Returns the URL of a call, or of a resource below it.
    fn address_of(&self, call: &CarrierCallId, part: Option<&str>) -> Result<Url, CarrierError> {
        let call = http::addressable(call)?;
        let path: Vec<&str> = std::iter::once(&*call.0).chain(part).collect();
        below(&self.calls, &path)
    }

    async fn ask(&self, call: &CarrierCallId, what: &str, body: &Value) -> Result<(), CarrierError> {
        let address = self.address_of(call, Some(what))?;
        http::ask(self.clients.client.post(address).json(body), ExchangeError::read)
            .await
            .map(drop)
    }

    /// Asks the exchange for the caller and the called number of an announced call.
    pub async fn who_calls(&self, call: &CarrierCallId) -> Result<(Option<PhoneNumber>, PhoneNumber), CarrierError> {
        let address = below(&self.inbound, &[&call.0])?;
        let caller: Caller = http::ask_json(self.clients.client.get(address).timeout(ASKED_BACK_WITHIN)).await?;
        let to = PhoneNumber::parse(&caller.to).map_err(|error| CarrierError::Protocol(error.to_string()))?;
        Ok((caller.from.and_then(|from| PhoneNumber::parse(&from).ok()), to))
    }

    fn body<'a>(&self, request: &'a DialRequest) -> DialBody<'a> {
        let back = http::way_back(request);
        DialBody {
            to: request.to.as_str(),
            from: request.from.as_ref().map(PhoneNumber::as_str),
            attempt: request.attempt.to_string(),
            status_url: self.addresses.status(&back),
            stream_url: self.addresses.media(back.attempt, &back.media_token),
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

impl Refusal for ExchangeError {
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
        http::place(dial, &request.last_look, ExchangeError::read, |answer: &DialAnswer| {
            &answer.call_id
        })
        .await
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
            "streamUrl": self.addresses.media(transfer.back.attempt, &transfer.back.media_token),
        });
        self.ask(call, "transfer", &body).await
    }

    async fn reopen_media(&self, call: &CarrierCallId, back: &WayBack) -> Result<(), CarrierError> {
        let body = json!({ "streamUrl": self.addresses.media(back.attempt, &back.media_token) });
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
