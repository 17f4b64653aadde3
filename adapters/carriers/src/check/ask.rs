//! The requests of a check: small, read only, and told in words a person can act on. No key is ever shown.

use reqwest::{RequestBuilder, StatusCode};
use serde_json::Value;

use crate::{
    http::{Clients, SetupError, send},
    words::plain_words,
};
use net::http_client::body;

/// Asks carriers.
pub(super) struct Asker(Clients);

impl Asker {
    pub(super) fn new() -> Result<Self, SetupError> {
        Clients::new().map(Self)
    }

    pub(super) fn get(&self, address: &str) -> RequestBuilder {
        self.0.client.get(address)
    }

    /// The answer, or what is wrong.
    pub(super) async fn json(&self, request: RequestBuilder) -> Result<Value, String> {
        let answer = send(request).await.map_err(|error| error.to_string())?;
        let status = answer.status();
        let said = body(answer).await.map_err(|error| error.to_string())?;
        match status {
            status if status.is_success() => serde_json::from_slice(&said)
                .map_err(|_| "it answers, but with something that is no JSON: is the address right?".to_owned()),
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                let words = own_words(&said).map_or_else(String::new, |words| format!(": {words}"));
                Err(format!("the account or its key is not taken ({status}{words})"))
            }
            StatusCode::NOT_FOUND => {
                Err("nothing is there (404): is the account's id, or the address, right?".to_owned())
            }
            StatusCode::TOO_MANY_REQUESTS => Err("it is asked too often (429): try again in a minute".to_owned()),
            status if status.is_redirection() => Err(format!("it sends elsewhere ({status}): is the address right?")),
            status => {
                let words = own_words(&said).map_or_else(String::new, |words| format!(": {words}"));
                Err(format!("it answered {status}{words}"))
            }
        }
    }
}

/// What a carrier says in the fields its errors have; nothing else is worth showing.
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

/// A problem with the address that was asked, and where its cure is.
pub(super) fn asked_of(address: &str, why: &str, settings: &str) -> String {
    format!("asked at {address}: {why}. Its settings: {settings}")
}
