//! Requests to Asterisk's REST interface.
//!
//! Source: `rest-api/api-docs/channels.json`, `bridges.json` and `playbacks.json` of Asterisk.

use std::time::Duration;

use domain::ports::carrier::{CarrierError, DialError, LastLook};
use reqwest::{Method, RequestBuilder, Response, StatusCode, Url};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};

use super::{account::AsteriskAccount, event::Channel};
use crate::{
    http::{Clients, SetupError, base, protocol, refused_dial, send, send_dial, unexpected, words_or},
    webhooks::conferences::of_destination,
};
use net::http_client::{body, body_within};

/// Time limit of a dial request. Asterisk responds before it calls. The rest of a dial's ten seconds is for
/// the wait for the event connection before, and for the lookup of the channel after.
const DIAL_WITHIN: Duration = Duration::from_secs(5);
/// Time limit for looking up a channel.
const LOOK_WITHIN: Duration = Duration::from_millis(2_500);
/// Maximum size of a list. Asterisk lists all channels at once, with about a kilobyte each.
const MAX_LIST_BYTES: usize = 32 * 1024 * 1024;
/// Length of a key press and of the pause after it, in milliseconds.
const KEY_MS: &str = "100";

/// A channel that Asterisk is to create, call, and hand to our application when it is answered.
#[derive(Debug, Clone)]
pub struct Originate {
    /// Id of the channel. Asterisk refuses an id that is already in use.
    pub channel: String,
    /// Endpoint to call.
    pub endpoint: String,
    /// Caller ID.
    pub caller: Option<String>,
    /// Maximum ring time, in seconds.
    pub ring_seconds: u64,
    /// Codec, if not the endpoint's own.
    pub formats: Option<&'static str>,
    /// Variables of the channel.
    pub variables: Value,
}

/// A bridge.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Bridge {
    /// Id of the bridge.
    pub id: String,
    /// Channels in the bridge.
    pub channels: Vec<String>,
}

/// ARI's error response.
#[derive(Deserialize, Default)]
#[serde(default)]
struct ErrorAnswer {
    message: String,
    error: String,
}

/// Client for Asterisk's REST interface.
#[derive(Debug, Clone)]
pub struct Ari {
    clients: Clients,
    account: AsteriskAccount,
}

async fn words(answer: Response) -> String {
    let status = answer.status();
    let said: ErrorAnswer = match body(answer).await {
        Ok(said) => serde_json::from_slice(&said).unwrap_or_default(),
        Err(_) => ErrorAnswer::default(),
    };
    words_or(
        if said.message.is_empty() {
            &said.error
        } else {
            &said.message
        },
        status,
    )
}

async fn done(answer: Response) -> Result<(), CarrierError> {
    let status = answer.status();
    if status.is_success() {
        return Ok(());
    }
    // Status 409 means that the channel is leaving the application or not in it yet.
    match status {
        StatusCode::BAD_REQUEST | StatusCode::CONFLICT | StatusCode::UNPROCESSABLE_ENTITY => {
            Err(CarrierError::Refused(words(answer).await))
        }
        status => Err(unexpected(status)),
    }
}

impl Ari {
    /// Creates a client for this account.
    ///
    /// # Errors
    ///
    /// Returns an error if the ARI URL is invalid.
    pub fn new(account: AsteriskAccount) -> Result<Self, SetupError> {
        let ari_url = base("ASTERISK_ARI_URL", &account.ari_url)?;
        Ok(Self {
            clients: Clients::new()?,
            account: AsteriskAccount { ari_url, ..account },
        })
    }

    /// Returns the account.
    pub fn account(&self) -> &AsteriskAccount {
        &self.account
    }

    fn address(&self, segments: &[&str]) -> Result<Url, CarrierError> {
        let protocol = |error: url::ParseError| CarrierError::Protocol(error.to_string());
        let mut address = Url::parse(&self.account.ari_url).map_err(protocol)?;
        if let Ok(mut path) = address.path_segments_mut() {
            path.extend(segments);
        }
        Ok(address)
    }

    fn request(&self, method: Method, segments: &[&str]) -> Result<RequestBuilder, CarrierError> {
        let request = self.clients.client.request(method, self.address(segments)?);
        Ok(request.basic_auth(&self.account.user, Some(self.account.password.secret())))
    }

    async fn command(&self, method: Method, segments: &[&str], query: &[(&str, &str)]) -> Result<(), CarrierError> {
        done(send(self.request(method, segments)?.query(query)).await?).await
    }

    async fn read<T: DeserializeOwned>(&self, segments: &[&str]) -> Result<T, CarrierError> {
        let answer = send(self.request(Method::GET, segments)?).await?;
        if !answer.status().is_success() {
            return Err(unexpected(answer.status()));
        }
        let said = body_within(answer, MAX_LIST_BYTES).await;
        let said = said.map_err(|error| CarrierError::Unavailable(error.to_string()))?;
        serde_json::from_slice(&said).map_err(|error| protocol(&error))
    }

    fn origination(&self, of: &Originate) -> Result<RequestBuilder, CarrierError> {
        let timeout = of.ring_seconds.to_string();
        let mut query = vec![
            ("endpoint", &*of.endpoint),
            ("app", &self.account.app),
            ("channelId", &of.channel),
            ("timeout", &timeout),
        ];
        query.extend(of.caller.as_deref().map(|caller| ("callerId", caller)));
        query.extend(of.formats.map(|formats| ("formats", formats)));
        let request = self.clients.dialer.post(self.address(&["channels"])?);
        let request = request.basic_auth(&self.account.user, Some(self.account.password.secret()));
        Ok(request
            .query(&query)
            .json(&json!({ "variables": of.variables }))
            .timeout(DIAL_WITHIN))
    }

    /// Creates a channel and calls it, once. If the response is lost or the id is in use, looks the channel up.
    ///
    /// # Errors
    ///
    /// Returns an error that says what is certain about the call.
    pub async fn dial(&self, of: &Originate, last_look: &LastLook) -> Result<(), DialError> {
        let request = self
            .origination(of)
            .map_err(|error| DialError::Rejected(error.to_string()))?;
        let lost = match send_dial(request, last_look).await {
            Ok(answer) if answer.status().is_success() => return Ok(()),
            Ok(answer) => refused(answer.status(), words(answer).await),
            Err(error) => error,
        };
        if !matches!(lost, DialError::Unknown(_)) {
            return Err(lost);
        }
        match self.channel(&of.channel).await {
            Ok(_) => Ok(()),
            // The call may be over already, or the request may still be on its way.
            Err(_) => Err(lost),
        }
    }

    /// Creates an additional channel for an established call.
    ///
    /// # Errors
    ///
    /// Returns an error if the channel is not created or the result is unknown.
    pub async fn originate(&self, of: &Originate) -> Result<(), CarrierError> {
        self.dial(of, &LastLook::default()).await.map_err(of_destination)
    }

    /// Reads a channel.
    ///
    /// # Errors
    ///
    /// Returns an error if the channel does not exist or Asterisk does not respond.
    pub async fn channel(&self, id: &str) -> Result<Channel, CarrierError> {
        let looked = tokio::time::timeout(LOOK_WITHIN, self.read(&["channels", id])).await;
        looked.unwrap_or_else(|_| Err(CarrierError::Unavailable("timed out".to_owned())))
    }

    /// Lists all channels, including those of other applications.
    ///
    /// # Errors
    ///
    /// Returns an error if Asterisk returns no list.
    pub async fn channels(&self) -> Result<Vec<Channel>, CarrierError> {
        self.read(&["channels"]).await
    }

    /// Lists all bridges, including those of other applications.
    ///
    /// # Errors
    ///
    /// Returns an error if Asterisk returns no list.
    pub async fn bridges(&self) -> Result<Vec<Bridge>, CarrierError> {
        self.read(&["bridges"]).await
    }

    /// Hangs up a channel, with a reason from ARI's list.
    ///
    /// # Errors
    ///
    /// Returns an error if the channel does not exist or Asterisk does not respond.
    pub async fn hang_up(&self, channel: &str, reason: &str) -> Result<(), CarrierError> {
        let query = [("reason", reason)];
        self.command(Method::DELETE, &["channels", channel], &query).await
    }

    /// Answers an inbound channel.
    ///
    /// # Errors
    ///
    /// Returns an error if the channel does not exist or Asterisk does not respond.
    pub async fn answer(&self, channel: &str) -> Result<(), CarrierError> {
        self.command(Method::POST, &["channels", channel, "answer"], &[]).await
    }

    /// Sends DTMF keys to a channel.
    ///
    /// # Errors
    ///
    /// Returns an error if the channel does not exist or Asterisk does not respond.
    pub async fn press(&self, channel: &str, keys: &str) -> Result<(), CarrierError> {
        let query = [("dtmf", keys), ("between", KEY_MS), ("duration", KEY_MS)];
        self.command(Method::POST, &["channels", channel, "dtmf"], &query).await
    }

    /// Asks the far end of an answered channel to call another party (SIP REFER).
    ///
    /// # Errors
    ///
    /// Returns an error if the channel does not exist or is not SIP, or Asterisk does not respond.
    pub async fn redirect(&self, channel: &str, endpoint: &str) -> Result<(), CarrierError> {
        let query = [("endpoint", endpoint)];
        self.command(Method::POST, &["channels", channel, "redirect"], &query)
            .await
    }

    /// Creates a bridge if it does not exist yet.
    ///
    /// # Errors
    ///
    /// Returns an error if Asterisk does not respond.
    pub async fn bridge(&self, bridge: &str) -> Result<(), CarrierError> {
        let query = [("type", "mixing"), ("name", bridge)];
        self.command(Method::POST, &["bridges", bridge], &query).await
    }

    /// Adds a channel to a bridge.
    ///
    /// # Errors
    ///
    /// Returns an error if the bridge or channel does not exist or Asterisk does not respond.
    pub async fn join(&self, bridge: &str, channel: &str) -> Result<(), CarrierError> {
        let query = [("channel", channel)];
        self.command(Method::POST, &["bridges", bridge, "addChannel"], &query)
            .await
    }

    /// Removes a bridge; its channels stay.
    ///
    /// # Errors
    ///
    /// Returns an error if the bridge does not exist or Asterisk does not respond.
    pub async fn unbridge(&self, bridge: &str) -> Result<(), CarrierError> {
        self.command(Method::DELETE, &["bridges", bridge], &[]).await
    }

    /// Plays a ringing tone in a bridge until it is stopped by this name.
    ///
    /// # Errors
    ///
    /// Returns an error if the bridge does not exist or Asterisk does not respond.
    pub async fn start_ringing(&self, bridge: &str, sound: &str) -> Result<(), CarrierError> {
        let query = [("media", "tone:ring")];
        self.command(Method::POST, &["bridges", bridge, "play", sound], &query)
            .await
    }

    /// Stops the ringing tone.
    ///
    /// # Errors
    ///
    /// Returns an error if the tone is not playing or Asterisk does not respond.
    pub async fn stop_ringing(&self, sound: &str) -> Result<(), CarrierError> {
        self.command(Method::DELETE, &["playbacks", sound], &[]).await
    }
}

/// Converts a dial's error status. Asterisk creates the channel before it responds, so an error means that
/// there is none. The exception is an id in use: that channel is ours.
fn refused(status: StatusCode, words: String) -> DialError {
    match status {
        StatusCode::CONFLICT => DialError::Unknown(words),
        // No such endpoint, trunk or codec: every number would fail.
        StatusCode::INTERNAL_SERVER_ERROR => DialError::AccountRefused(format!(
            "Asterisk made no channel ({words}); check the endpoint that ASTERISK_ENDPOINT names"
        )),
        StatusCode::FORBIDDEN => DialError::AccountRefused(words),
        StatusCode::NOT_FOUND => DialError::AccountRefused(format!("{words}; check ASTERISK_ARI_URL")),
        StatusCode::SERVICE_UNAVAILABLE => DialError::Busy { retry_after: None },
        status => refused_dial("", None, status, None, &words),
    }
}
