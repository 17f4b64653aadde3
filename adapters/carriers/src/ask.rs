//! Requests that change nothing at a carrier. Problems are worded so that a person can act on them, and no key is ever
//! shown.

use reqwest::{RequestBuilder, StatusCode, header::CONTENT_TYPE};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{
    http::{Clients, SetupError, send},
    words::plain_words,
};
use net::http_client::body;

/// Problem text for an answer that does not come from the carrier.
pub(crate) const NOT_ITS_OWN: &str = "it answers, but not like this carrier; check the address";

/// Client for these requests.
pub(crate) struct Asker(Clients);

impl Asker {
    pub(crate) fn new() -> Result<Self, SetupError> {
        Clients::new().map(Self)
    }

    pub(crate) fn get(&self, address: &str) -> RequestBuilder {
        self.0.client.get(address)
    }

    /// Sends a form to an address. Returns the status and the text of the answer, or `None` if nobody answers.
    pub(crate) async fn posted(&self, address: &str, (header, value): (&str, String)) -> Option<(StatusCode, String)> {
        let request = self.0.client.post(address).header(header, value);
        let request = request.header(CONTENT_TYPE, "application/x-www-form-urlencoded");
        let answer = send(request).await.ok()?;
        let status = answer.status();
        let said = body(answer).await.ok()?;
        Some((status, String::from_utf8_lossy(&said).into_owned()))
    }

    /// Returns the answer, or the problem.
    pub(crate) async fn json<T: DeserializeOwned>(&self, request: RequestBuilder) -> Result<T, String> {
        let answer = send(request).await.map_err(|error| error.to_string())?;
        let status = answer.status();
        let said = body(answer).await.map_err(|error| error.to_string())?;
        match status {
            status if status.is_success() => serde_json::from_slice(&said).map_err(|_| NOT_ITS_OWN.to_owned()),
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
pub(crate) fn asked_of(address: &str, why: &str, settings: &str) -> String {
    format!("asked at {address}: {why}. Its settings: {settings}")
}
