//! Places, ends and lists calls by Twilio's API, 2010-04-01.
//!
//! Source: <https://www.twilio.com/docs/voice/api/call-resource>

use std::sync::Arc;

use actors::{
    phone_number::PhoneNumber,
    ports::carrier::{CallProgress, Carrier, CarrierCallId, CarrierError, DialError, DialRequest, ListedCall},
    time::Timestamp,
};
use async_trait::async_trait;
use chrono::DateTime;
use reqwest::{RequestBuilder, Url};
use serde::Deserialize;

use super::{
    account::{Flavour, TwilioAccount},
    callback,
    instructions::connect,
    refusal::{ErrorAnswer, NOT_IN_STATE},
    signature::Guard,
};
use crate::carriers::http::{
    Clients, SetupError, base, body, dialed, protocol, retry_after, send, send_dial, socket_address, unexpected,
};

/// Calls of one list; the newest come first, and those of one number since one dial are few.
const LISTED: &str = "200";
/// How long it may ring by Twilio's limits, in seconds.
const RING_SECONDS: std::ops::RangeInclusive<u64> = 5..=600;

/// An account at Twilio or SignalWire.
#[derive(Debug, Clone)]
pub struct TwilioCarrier {
    clients: Clients,
    account: TwilioAccount,
    guard: Arc<Guard>,
    /// Where the carrier reaches this node, without a slash at the end.
    public: String,
}

#[derive(Deserialize)]
struct Call {
    sid: String,
    #[serde(default)]
    to: String,
    #[serde(default)]
    status: String,
    #[serde(default)]
    direction: String,
    #[serde(default)]
    date_created: Option<String>,
}

#[derive(Deserialize)]
struct CallList {
    calls: Vec<Call>,
}

impl TwilioCarrier {
    /// The account, of a carrier that reaches this node at `public`.
    ///
    /// # Errors
    ///
    /// When one of the addresses is none.
    pub fn new(account: TwilioAccount, public: &str, guard: Arc<Guard>) -> Result<Self, SetupError> {
        let account = TwilioAccount {
            base_url: base("carrier's address", &account.base_url)?,
            ..account
        };
        Ok(Self {
            clients: Clients::new()?,
            account,
            guard,
            public: base("public address", public)?,
        })
    }

    fn with_password(&self, request: RequestBuilder) -> RequestBuilder {
        request.basic_auth(&self.account.user, Some(self.account.password.secret()))
    }

    fn form(&self, request: &DialRequest, from: &PhoneNumber) -> String {
        let (name, attempt) = (self.name(), request.attempt);
        let door = format!("/carriers/{name}/media/{attempt}.{}", request.media_token);
        let token = match self.account.flavour {
            Flavour::Twilio => None,
            Flavour::SignalWire => Some(self.guard.bearer(&door)),
        };
        let stream = format!("{}{door}", socket_address(&self.public));
        let status = format!(
            "{}/carriers/{name}/status/{attempt}/{}",
            self.public, request.status_token
        );
        let ring = request
            .ring_timeout
            .as_secs()
            .clamp(*RING_SECONDS.start(), *RING_SECONDS.end());
        let mut form = url::form_urlencoded::Serializer::new(String::new());
        form.append_pair("To", request.to.as_str())
            .append_pair("From", from.as_str())
            .append_pair("Twiml", &connect(&stream, token.as_deref()))
            .append_pair("Timeout", &ring.to_string())
            .append_pair("StatusCallback", &status)
            .append_pair("StatusCallbackMethod", "POST");
        for event in ["initiated", "ringing", "answered", "completed"] {
            form.append_pair("StatusCallbackEvent", event);
        }
        form.finish()
    }

    /// Asks for a call's end in one of its two ways.
    async fn end(&self, address: Url, way: &str) -> Result<End, CarrierError> {
        let change = self.clients.client.post(address).body(format!("Status={way}"));
        let change = change.header("content-type", "application/x-www-form-urlencoded");
        let answer = send(self.with_password(change)).await?;
        let status = answer.status();
        let said = body(answer).await.map_err(CarrierError::Unavailable)?;
        if !status.is_success() {
            return match ErrorAnswer::read(&said).code.0 {
                NOT_IN_STATE => Ok(End::NotInState),
                _ => Err(unexpected(status)),
            };
        }
        let call: Call = serde_json::from_slice(&said).map_err(|error| protocol(&error))?;
        Ok(match (callback::progress(&call.status, None), way) {
            (Some(CallProgress::Placed | CallProgress::Ringing), COMPLETED) => End::NotInState,
            (Some(CallProgress::Answered), CANCELED) => End::NotInState,
            _ => End::Over,
        })
    }

    fn call_address(&self, call: &CarrierCallId) -> Result<Url, CarrierError> {
        let mut address =
            Url::parse(&self.account.calls()).map_err(|error| CarrierError::Protocol(error.to_string()))?;
        if let Ok(mut path) = address.path_segments_mut() {
            path.push(&format!("{}.json", call.0));
        }
        Ok(address)
    }
}

/// Ends a call that was answered; one that was not, perhaps.
const COMPLETED: &str = "completed";
/// Ends a call that was not answered yet, and does nothing to one that was.
const CANCELED: &str = "canceled";

/// What became of a wish to end a call.
#[derive(Debug, PartialEq, Eq)]
enum End {
    Over,
    /// It was answered, or not yet, or it is over.
    NotInState,
}

#[async_trait]
impl Carrier for TwilioCarrier {
    fn name(&self) -> &'static str {
        self.account.flavour.name()
    }

    async fn dial(&self, request: &DialRequest) -> Result<CarrierCallId, DialError> {
        let Some(from) = request.from.as_ref().or(self.account.from.as_ref()) else {
            let variable = match self.account.flavour {
                Flavour::Twilio => "TWILIO_PHONE_NUMBER",
                Flavour::SignalWire => "SIGNALWIRE_PHONE_NUMBER",
            };
            let wanted = format!("no caller ID: set {variable}, or give the agent a number in phoneNumbers");
            return Err(DialError::AccountRefused(wanted));
        };
        let address = format!("{}.json", self.account.calls());
        let dial = self.clients.dialer.post(address).body(self.form(request, from));
        let dial = dial.header("content-type", "application/x-www-form-urlencoded");
        let answer = send_dial(self.with_password(dial)).await?;
        let (status, pause) = (answer.status(), retry_after(answer.headers()));
        if !status.is_success() {
            let said = body(answer).await.unwrap_or_default();
            return Err(ErrorAnswer::read(&said).of_dial(status, pause));
        }
        let said = body(answer).await.map_err(DialError::Unknown)?;
        dialed(&said, |call: &Call| &call.sid)
    }

    /// A call that rings is cancelled, one that was answered is completed, and between the two requests it may go from
    /// one to the other.
    async fn hang_up(&self, call: &CarrierCallId) -> Result<(), CarrierError> {
        // No answer gave such an id, and its address would be another's.
        let Some(call) = CarrierCallId::checked(&call.0) else {
            return Err(CarrierError::NotFound);
        };
        let address = self.call_address(&call)?;
        for way in [COMPLETED, CANCELED, COMPLETED] {
            if self.end(address.clone(), way).await? == End::Over {
                return Ok(());
            }
        }
        Err(CarrierError::NotFound)
    }

    /// Not by `StartTime`, which a call that still waits in the carrier's queue has none of.
    async fn find_calls(&self, to: &PhoneNumber, since: Timestamp) -> Result<Vec<ListedCall>, CarrierError> {
        let address = format!("{}.json", self.account.calls());
        let query = [("To", to.as_str()), ("PageSize", LISTED)];
        let answer = send(self.with_password(self.clients.client.get(address).query(&query))).await?;
        if !answer.status().is_success() {
            return Err(unexpected(answer.status()));
        }
        let said = body(answer).await.map_err(CarrierError::Unavailable)?;
        let listed: CallList = serde_json::from_slice(&said).map_err(|error| protocol(&error))?;
        Ok(listed
            .calls
            .into_iter()
            .filter_map(|call| listed_call(call, since))
            .collect())
    }
}

/// A call that we placed since then and that can be asked for again. The carrier keeps no mark of ours on it.
fn listed_call(call: Call, since: Timestamp) -> Option<ListedCall> {
    let outbound = call.direction.starts_with("outbound");
    let created = call.date_created.as_deref().and_then(seconds)?;
    // The carrier's times have whole seconds.
    let recent = created >= since.0.div_euclid(1_000_000);
    let id = CarrierCallId::checked(&call.sid)?;
    (outbound && recent).then(|| ListedCall {
        call: id,
        attempt: None,
        to: call.to,
        live: !matches!(callback::progress(&call.status, None), Some(CallProgress::Ended(_))),
    })
}

/// A time in RFC 2822's form, as Twilio writes it, or in RFC 3339's; in seconds since 1970.
fn seconds(text: &str) -> Option<i64> {
    let time = DateTime::parse_from_rfc2822(text).or_else(|_| DateTime::parse_from_rfc3339(text));
    time.ok().map(|time| time.timestamp())
}
