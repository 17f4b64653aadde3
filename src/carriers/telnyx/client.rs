//! Places, ends and lists calls by Telnyx's Call Control, version 2.
//!
//! Source: <https://developers.telnyx.com/api-reference/call-commands/dial>

use actors::{
    phone_number::PhoneNumber,
    ports::carrier::{Carrier, CarrierCallId, CarrierError, DialError, DialRequest, ListedCall},
    time::Timestamp,
};
use async_trait::async_trait;
use reqwest::{RequestBuilder, Url};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{
    account::TelnyxAccount,
    doors::NAME,
    mark::{self, StreamTokens},
    refusal::{ALREADY_ENDED, ErrorAnswer},
};
use crate::carriers::http::{
    Clients, SetupError, base, body, dialed, protocol, retry_after, send, send_dial, socket_address, unexpected,
};

/// Calls of one page of a list: the most that Telnyx gives.
const PAGE: &str = "250";
/// Pages that are read at most: 10,000 calls at once.
const PAGES: usize = 40;
/// How long it may ring by Telnyx's limits, in seconds.
const RING_SECONDS: std::ops::RangeInclusive<u64> = 5..=600;

/// An account at Telnyx.
#[derive(Debug, Clone)]
pub struct TelnyxCarrier {
    clients: Clients,
    account: TelnyxAccount,
    tokens: StreamTokens,
    /// Where Telnyx reaches this node, without a slash at the end.
    public: String,
}

/// A dial. What is sent goes to the leg itself (`self`): it is the only one of its call.
#[derive(Serialize)]
struct Dial<'a> {
    connection_id: &'a str,
    to: &'a str,
    from: &'a str,
    timeout_secs: u64,
    client_state: String,
    /// A repeat with the same id within 60 s is ignored. The client never repeats; whatever stands between might.
    command_id: String,
    webhook_url: String,
    webhook_url_method: &'static str,
    stream_url: String,
    stream_track: &'static str,
    stream_codec: &'static str,
    /// Without it, what is sent is dropped without a word.
    stream_bidirectional_mode: &'static str,
    stream_bidirectional_codec: &'static str,
    stream_bidirectional_sampling_rate: u32,
    stream_bidirectional_target_legs: &'static str,
    stream_auth_token: String,
}

#[derive(Deserialize)]
struct Dialed {
    data: Call,
}

#[derive(Deserialize)]
struct Call {
    call_control_id: String,
    #[serde(default)]
    client_state: Option<String>,
}

#[derive(Deserialize)]
struct CallList {
    data: Vec<Call>,
    #[serde(default)]
    meta: Meta,
}

#[derive(Deserialize, Default)]
struct Meta {
    #[serde(default)]
    cursors: Cursors,
}

#[derive(Deserialize, Default)]
struct Cursors {
    #[serde(default)]
    after: Option<String>,
}

impl TelnyxCarrier {
    /// The account, of a carrier that reaches this node at `public`.
    ///
    /// # Errors
    ///
    /// When one of the addresses is none.
    pub fn new(account: TelnyxAccount, public: &str, tokens: StreamTokens) -> Result<Self, SetupError> {
        let account = TelnyxAccount {
            base_url: base("carrier's address", &account.base_url)?,
            ..account
        };
        Ok(Self {
            clients: Clients::new()?,
            account,
            tokens,
            public: base("public address", public)?,
        })
    }

    fn with_key(&self, request: RequestBuilder) -> RequestBuilder {
        request.bearer_auth(self.account.api_key.secret())
    }

    /// An address below the account's.
    fn address(&self, segments: &[&str]) -> Result<Url, CarrierError> {
        let protocol = |error: url::ParseError| CarrierError::Protocol(error.to_string());
        let mut address = Url::parse(&self.account.base_url).map_err(protocol)?;
        if let Ok(mut path) = address.path_segments_mut() {
            path.extend(segments);
        }
        Ok(address)
    }

    fn body<'a>(&'a self, request: &'a DialRequest, from: &'a PhoneNumber) -> Dial<'a> {
        let (attempt, codec) = (request.attempt, self.account.line.codec);
        let (shortest, longest) = RING_SECONDS.into_inner();
        Dial {
            connection_id: &self.account.connection,
            to: request.to.as_str(),
            from: from.as_str(),
            timeout_secs: request.ring_timeout.as_secs().clamp(shortest, longest),
            client_state: mark::client_state(attempt),
            command_id: attempt.to_string(),
            webhook_url: format!(
                "{}/carriers/{NAME}/status/{attempt}/{}",
                self.public, request.status_token
            ),
            webhook_url_method: "POST",
            stream_url: format!(
                "{}/carriers/{NAME}/media/{attempt}.{}",
                socket_address(&self.public),
                request.media_token
            ),
            stream_track: "inbound_track",
            stream_codec: codec.name(),
            stream_bidirectional_mode: "rtp",
            stream_bidirectional_codec: codec.name(),
            stream_bidirectional_sampling_rate: codec.format().sample_rate,
            stream_bidirectional_target_legs: "self",
            stream_auth_token: self.tokens.token(attempt),
        }
    }

    /// One page of the calls that ring or talk, and where the next one begins.
    async fn page(&self, after: Option<&str>) -> Result<(Vec<Call>, Option<String>), CarrierError> {
        let address = self.address(&["connections", &self.account.connection, "active_calls"])?;
        let mut request = self.clients.client.get(address).query(&[("page[limit]", PAGE)]);
        if let Some(after) = after {
            request = request.query(&[("page[after]", after)]);
        }
        let answer = send(self.with_key(request)).await?;
        if !answer.status().is_success() {
            return Err(unexpected(answer.status()));
        }
        let said = body(answer).await.map_err(CarrierError::Unavailable)?;
        let list: CallList = serde_json::from_slice(&said).map_err(|error| protocol(&error))?;
        let next = list.meta.cursors.after.filter(|next| Some(&**next) != after);
        Ok((list.data, next))
    }
}

#[async_trait]
impl Carrier for TelnyxCarrier {
    fn name(&self) -> &'static str {
        NAME
    }

    async fn dial(&self, request: &DialRequest) -> Result<CarrierCallId, DialError> {
        let Some(from) = request.from.as_ref().or(self.account.from.as_ref()) else {
            let wanted = "no caller ID: set TELNYX_PHONE_NUMBER, or give the agent a number in phoneNumbers";
            return Err(DialError::AccountRefused(wanted.to_owned()));
        };
        let address = format!("{}/calls", self.account.base_url);
        let dial = self.clients.dialer.post(address).json(&self.body(request, from));
        let answer = send_dial(self.with_key(dial)).await?;
        let (status, pause) = (answer.status(), retry_after(answer.headers()));
        if !status.is_success() {
            let said = body(answer).await.unwrap_or_default();
            return Err(ErrorAnswer::read(&said).of_dial(status, pause));
        }
        let said = body(answer).await.map_err(DialError::Unknown)?;
        dialed(&said, |answer: &Dialed| &answer.data.call_control_id)
    }

    async fn hang_up(&self, call: &CarrierCallId) -> Result<(), CarrierError> {
        // No answer gave such an id, and its address would be another's.
        let Some(call) = CarrierCallId::checked(&call.0) else {
            return Err(CarrierError::NotFound);
        };
        let address = self.address(&["calls", &call.0, "actions", "hangup"])?;
        let answer = send(self.with_key(self.clients.client.post(address).json(&json!({})))).await?;
        let status = answer.status();
        if status.is_success() {
            return Ok(());
        }
        let said = body(answer).await.unwrap_or_default();
        match &*ErrorAnswer::read(&said).code {
            ALREADY_ENDED => Err(CarrierError::NotFound),
            _ => Err(unexpected(status)),
        }
    }

    /// Telnyx lists the calls of an application that ring or talk, by our mark and not by number; those that are over
    /// it does not list.
    async fn find_calls(&self, _: &PhoneNumber, _: Timestamp) -> Result<Vec<ListedCall>, CarrierError> {
        let (mut found, mut after) = (Vec::new(), None);
        for _ in 0..PAGES {
            let (calls, next) = self.page(after.as_deref()).await?;
            let over = calls.is_empty() || next.is_none();
            found.extend(calls.iter().filter_map(listed_call));
            if over {
                break;
            }
            after = next;
        }
        Ok(found)
    }
}

/// A call that bears our mark; without one it may be anybody's. Whom it calls the list does not tell.
fn listed_call(call: &Call) -> Option<ListedCall> {
    let attempt = mark::attempt(call.client_state.as_deref()?)?;
    Some(ListedCall {
        call: CarrierCallId::checked(&call.call_control_id)?,
        attempt: Some(attempt),
        to: String::new(),
        live: true,
    })
}
