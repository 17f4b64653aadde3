//! Requests to Telnyx's Call Control, version 2: dials, commands to a call, lists, and the stream options.
//!
//! Source: <https://developers.telnyx.com/api-reference/call-commands/dial>

use std::time::Duration;

use domain::ports::carrier::{CarrierCallId, CarrierError, DialError, LastLook, WayBack};
use reqwest::RequestBuilder;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::{
    account::{NAME, TelnyxAccount},
    mark,
    refusal::ErrorAnswer,
};
use crate::{
    http::{self, Clients, Refusal as _, SetupError, base, below},
    kind::Choice,
    webhooks::{StreamTokens, addresses::Addresses},
};

/// Page size of a list, in calls: Telnyx's maximum.
const PAGE: &str = "250";
/// Pause before a command that found Telnyx unhealthy is sent again, once, with the same id. Telnyx's
/// documentation requires more than 500 ms.
const AGAIN_AFTER: Duration = Duration::from_millis(600);

/// Account, credentials, and the base of our addresses.
#[derive(Debug, Clone)]
pub(super) struct Api {
    clients: Clients,
    pub(super) account: TelnyxAccount,
    tokens: StreamTokens,
    pub(super) addresses: Addresses,
}

/// Options of a media stream in dials and `streaming_start`. Our audio goes to the leg itself
/// (`self`), not to the leg that it may be joined with.
#[derive(Serialize)]
pub(super) struct Stream {
    stream_url: String,
    stream_track: &'static str,
    stream_codec: &'static str,
    /// Without this field, Telnyx silently drops our audio.
    stream_bidirectional_mode: &'static str,
    stream_bidirectional_codec: &'static str,
    stream_bidirectional_sampling_rate: u32,
    stream_bidirectional_target_legs: &'static str,
    stream_auth_token: String,
}

/// Webhook address of a leg, and the state that its webhooks carry.
#[derive(Serialize)]
pub(super) struct Reports {
    webhook_url: String,
    webhook_url_method: &'static str,
    client_state: String,
}

#[derive(Deserialize)]
struct Dialed {
    data: Call,
}

/// A call in a list.
#[derive(Deserialize)]
pub(super) struct Call {
    pub(super) call_control_id: String,
    #[serde(default)]
    pub(super) client_state: Option<String>,
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

impl Api {
    pub(super) fn new(account: TelnyxAccount, public: &str, tokens: StreamTokens) -> Result<Self, SetupError> {
        let account = TelnyxAccount {
            base_url: base("carrier's address", &account.base_url)?,
            ..account
        };
        Ok(Self {
            clients: Clients::new()?,
            account,
            tokens,
            addresses: Addresses::new(public, NAME)?,
        })
    }

    fn with_key(&self, request: RequestBuilder) -> RequestBuilder {
        request.bearer_auth(self.account.api_key.secret())
    }

    /// Returns the stream options of an attempt's call.
    pub(super) fn stream(&self, back: &WayBack) -> Stream {
        let codec = self.account.line.codec;
        Stream {
            stream_url: self.addresses.media(back.attempt, &back.media_token),
            stream_track: "inbound_track",
            stream_codec: codec.name(),
            stream_bidirectional_mode: "rtp",
            stream_bidirectional_codec: codec.name(),
            stream_bidirectional_sampling_rate: codec.format().sample_rate,
            stream_bidirectional_target_legs: "self",
            stream_auth_token: self.tokens.token(back.attempt),
        }
    }

    /// Returns the webhook options of an attempt's own leg.
    pub(super) fn reports(&self, back: &WayBack) -> Reports {
        Reports {
            webhook_url: self.addresses.status(back),
            webhook_url_method: "POST",
            client_state: mark::client_state(back.attempt),
        }
    }

    pub(super) async fn dial(&self, order: &impl Serialize, last_look: &LastLook) -> Result<CarrierCallId, DialError> {
        let address = format!("{}/calls", self.account.base_url);
        let dial = self.with_key(self.clients.dialer.post(address).json(order));
        http::place(dial, last_look, ErrorAnswer::read, |answer: &Dialed| {
            &answer.data.call_control_id
        })
        .await
    }

    /// Sends a command to a call. Returns `NotFound` if Telnyx cannot have issued this id.
    pub(super) async fn command(&self, call: &CarrierCallId, action: &str, wish: &Value) -> Result<(), CarrierError> {
        let call = http::addressable(call)?;
        let address = below(&self.account.base_url, &["calls", &call.0, "actions", action])?;
        let command = self.with_key(self.clients.client.post(address).json(wish));
        http::ask(command, ErrorAnswer::read).await.map(drop)
    }

    /// Sends a command with an id, and again if Telnyx was unhealthy. Telnyx carries it out once.
    pub(super) async fn command_once(
        &self,
        call: &CarrierCallId,
        action: &str,
        mut wish: Value,
    ) -> Result<(), CarrierError> {
        if wish.get("command_id").is_none() {
            wish["command_id"] = json!(uuid::Uuid::new_v4().to_string());
        }
        match self.command(call, action, &wish).await {
            Err(CarrierError::Unavailable(_)) => {
                sleep(AGAIN_AFTER).await;
                self.command(call, action, &wish).await
            }
            answer => answer,
        }
    }

    /// Reads one page of ringing and answered calls. Also returns the cursor of the next page.
    pub(super) async fn page(&self, after: Option<&str>) -> Result<(Vec<Call>, Option<String>), CarrierError> {
        let address = below(
            &self.account.base_url,
            &["connections", &self.account.connection, "active_calls"],
        )?;
        let mut request = self.clients.client.get(address).query(&[("page[limit]", PAGE)]);
        if let Some(after) = after {
            request = request.query(&[("page[after]", after)]);
        }
        let list: CallList = http::ask_json(self.with_key(request)).await?;
        let next = list.meta.cursors.after.filter(|next| Some(&**next) != after);
        Ok((list.data, next))
    }
}

/// Merges the fields of several objects into one.
pub(super) fn wish(parts: &[Value]) -> Value {
    let fields = parts.iter().filter_map(Value::as_object).flatten();
    Value::Object(fields.map(|(name, value)| (name.clone(), value.clone())).collect())
}
