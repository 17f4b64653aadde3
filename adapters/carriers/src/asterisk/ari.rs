//! Requests to Asterisk's REST interface.
//!
//! Source: `rest-api/api-docs/channels.json`, `bridges.json` and `playbacks.json` of Asterisk.

use std::{borrow::Cow, time::Duration};

use domain::{
    id::AttemptId,
    ports::carrier::{CarrierError, DialError, LastLook},
};
use reqwest::{Method, RequestBuilder, StatusCode};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::json;

use super::{account::AsteriskAccount, event::Channel};
use crate::{
    http::{self, Clients, Concerns, Refusal, SetupError, base, below, refused_dial, unexpected, words_or},
    webhooks::conferences::of_destination,
};
use net::http_client::body_within;

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
    /// Attempt, which becomes a variable of the channel.
    pub attempt: AttemptId,
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
struct AriError {
    message: String,
    error: String,
}

/// Client for Asterisk's REST interface.
#[derive(Debug, Clone)]
pub struct Ari {
    clients: Clients,
    account: AsteriskAccount,
}

impl Refusal for AriError {
    fn read(body: &[u8]) -> Self {
        serde_json::from_slice(body).unwrap_or_default()
    }

    fn code(&self) -> Cow<'_, str> {
        "".into()
    }

    fn words(&self) -> &str {
        match &*self.message {
            "" => &self.error,
            message => message,
        }
    }

    fn concerns(&self, _: StatusCode) -> Option<Concerns> {
        None
    }

    /// Asterisk creates the channel before it responds, so an error means that there is none. The exception is an id in
    /// use: that channel is ours.
    fn of_dial(&self, status: StatusCode, _: Option<Duration>) -> DialError {
        let words = words_or(self.words(), status);
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

    /// Status 409 means that the channel is leaving the application or not in it yet.
    fn of_wish(&self, status: StatusCode) -> CarrierError {
        match status.as_u16() {
            400 | 409 | 422 => CarrierError::Refused(words_or(self.words(), status)),
            _ => unexpected(status),
        }
    }
}

impl Ari {
    /// Creates a client for this account.
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

    fn request(&self, method: Method, segments: &[&str]) -> Result<RequestBuilder, CarrierError> {
        let request = self
            .clients
            .client
            .request(method, below(&self.account.ari_url, segments)?);
        Ok(request.basic_auth(&self.account.user, Some(self.account.password.secret())))
    }

    async fn command(&self, method: Method, segments: &[&str], query: &[(&str, &str)]) -> Result<(), CarrierError> {
        http::ask(self.request(method, segments)?.query(query), AriError::read)
            .await
            .map(drop)
    }

    async fn read<T: DeserializeOwned>(&self, segments: &[&str]) -> Result<T, CarrierError> {
        let answer = http::answered(self.request(Method::GET, segments)?).await?;
        http::parse(body_within(answer, MAX_LIST_BYTES).await)
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
        let request = self.clients.dialer.post(below(&self.account.ari_url, &["channels"])?);
        let request = request.basic_auth(&self.account.user, Some(self.account.password.secret()));
        Ok(request
            .query(&query)
            .json(&json!({ "variables": { "RINGBACK_ATTEMPT": of.attempt.to_string() } }))
            .timeout(DIAL_WITHIN))
    }

    /// Creates a channel and calls it, once. If the response is lost or the id is in use, looks the channel up.
    pub async fn dial(&self, of: &Originate, last_look: &LastLook) -> Result<(), DialError> {
        let request = self
            .origination(of)
            .map_err(|error| DialError::Rejected(error.to_string()))?;
        let Err(lost) = http::accepted(request, last_look, AriError::read).await else {
            return Ok(());
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
    pub async fn originate(&self, of: &Originate) -> Result<(), CarrierError> {
        self.dial(of, &LastLook::default()).await.map_err(of_destination)
    }

    /// Reads a channel.
    pub async fn channel(&self, id: &str) -> Result<Channel, CarrierError> {
        let looked = tokio::time::timeout(LOOK_WITHIN, self.read(&["channels", id])).await;
        looked.unwrap_or_else(|_| Err(CarrierError::Unavailable("timed out".to_owned())))
    }

    /// Lists all channels, including those of other applications.
    pub async fn channels(&self) -> Result<Vec<Channel>, CarrierError> {
        self.read(&["channels"]).await
    }

    /// Lists all bridges, including those of other applications.
    pub async fn bridges(&self) -> Result<Vec<Bridge>, CarrierError> {
        self.read(&["bridges"]).await
    }

    /// Hangs up a channel, with a reason from ARI's list.
    pub async fn hang_up(&self, channel: &str, reason: &str) -> Result<(), CarrierError> {
        let query = [("reason", reason)];
        self.command(Method::DELETE, &["channels", channel], &query).await
    }

    /// Answers an inbound channel.
    pub async fn answer(&self, channel: &str) -> Result<(), CarrierError> {
        self.command(Method::POST, &["channels", channel, "answer"], &[]).await
    }

    /// Sends DTMF keys to a channel.
    pub async fn press(&self, channel: &str, keys: &str) -> Result<(), CarrierError> {
        let query = [("dtmf", keys), ("between", KEY_MS), ("duration", KEY_MS)];
        self.command(Method::POST, &["channels", channel, "dtmf"], &query).await
    }

    /// Asks the far end of an answered channel to call another party (SIP REFER).
    pub async fn redirect(&self, channel: &str, endpoint: &str) -> Result<(), CarrierError> {
        let query = [("endpoint", endpoint)];
        self.command(Method::POST, &["channels", channel, "redirect"], &query)
            .await
    }

    /// Creates a bridge if it does not exist yet.
    pub async fn bridge(&self, bridge: &str) -> Result<(), CarrierError> {
        let query = [("type", "mixing"), ("name", bridge)];
        self.command(Method::POST, &["bridges", bridge], &query).await
    }

    /// Adds a channel to a bridge.
    pub async fn join(&self, bridge: &str, channel: &str) -> Result<(), CarrierError> {
        let query = [("channel", channel)];
        self.command(Method::POST, &["bridges", bridge, "addChannel"], &query)
            .await
    }

    /// Removes a bridge; its channels stay.
    pub async fn unbridge(&self, bridge: &str) -> Result<(), CarrierError> {
        self.command(Method::DELETE, &["bridges", bridge], &[]).await
    }

    /// Plays a ringing tone in a bridge until it is stopped by this name.
    pub async fn start_ringing(&self, bridge: &str, sound: &str) -> Result<(), CarrierError> {
        let query = [("media", "tone:ring")];
        self.command(Method::POST, &["bridges", bridge, "play", sound], &query)
            .await
    }

    /// Stops the ringing tone.
    pub async fn stop_ringing(&self, sound: &str) -> Result<(), CarrierError> {
        self.command(Method::DELETE, &["playbacks", sound], &[]).await
    }
}
