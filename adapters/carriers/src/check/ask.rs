//! Requests of a check. They are small and read only, and problems are worded so that a person can act on
//! them. No key is ever shown.

use reqwest::{RequestBuilder, StatusCode};
use serde_json::Value;

use crate::{
    http::{Clients, SetupError, send},
    words::plain_words,
};
use net::http_client::body;

/// Client for the requests of a check.
pub(super) struct Asker(Clients);

impl Asker {
    pub(super) fn new() -> Result<Self, SetupError> {
        Clients::new().map(Self)
    }

    pub(super) fn get(&self, address: &str) -> RequestBuilder {
        self.0.client.get(address)
    }

    /// Returns the answer, or the problem.
    pub(super) async fn json(&self, request: RequestBuilder) -> Result<Value, String> {
        let answer = send(request).await.map_err(|error| error.to_string())?;
        let status = answer.status();
        let said = body(answer).await.map_err(|error| error.to_string())?;
        match status {
            status if status.is_success() => {
                serde_json::from_slice(&said).map_err(|_| "it answers, but not with JSON; check the address".to_owned())
            }
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                let words = own_words(&said).map_or_else(String::new, |words| format!(": {words}"));
                Err(format!("the account or its key was refused ({status}{words})"))
            }
            StatusCode::NOT_FOUND => Err("not found (404): check the account's id and the address".to_owned()),
            StatusCode::TOO_MANY_REQUESTS => Err("too many requests (429): try again in a minute".to_owned()),
            status if status.is_redirection() => {
                Err(format!("it redirects to another address ({status}); check the address"))
            }
            status => {
                let words = own_words(&said).map_or_else(String::new, |words| format!(": {words}"));
                Err(format!("it answered {status}{words}"))
            }
        }
    }
}

/// Returns a carrier's error text from the fields in which carriers put it. Nothing else is worth showing.
fn own_words(said: &[u8]) -> Option<String> {
    let said: Value = serde_json::from_slice(said).ok()?;
    let fields = [
        &said["message"],
        &said["errors"][0]["detail"],
        &said["errors"][0]["title"],
        &said["detail"],
        &said["title"],
    ];
    let words = fields.into_iter().find_map(Value::as_str)?;
    Some(plain_words(words)).filter(|words| !words.is_empty())
}

/// Adds to a problem the address that was asked and the settings to correct.
pub(super) fn asked_of(address: &str, why: &str, settings: &str) -> String {
    format!("asked at {address}: {why}. Its settings: {settings}")
}
