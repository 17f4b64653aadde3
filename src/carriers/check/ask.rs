//! The requests of a check: small, read only, and told in words a person can act on. No key is ever shown.

use actors::ports::carrier::plain_words;
use reqwest::{RequestBuilder, StatusCode};
use serde_json::Value;

use crate::carriers::http::{Clients, SetupError, body, send};

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
        let said = body(answer).await?;
        match status {
            status if status.is_success() => serde_json::from_slice(&said)
                .map_err(|_| "it answers, but with something that is no JSON: is the address right?".to_owned()),
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                Err(format!("the account or its key is not taken ({status})"))
            }
            StatusCode::NOT_FOUND => {
                Err("nothing is there (404): is the account's id, or the address, right?".to_owned())
            }
            status => {
                let words = plain_words(&String::from_utf8_lossy(&said));
                Err(format!("it answered {status}: {words}"))
            }
        }
    }
}

/// A problem with the address that was asked.
pub(super) fn asked_of(address: &str, why: &str) -> String {
    format!("asked at {address}: {why}")
}
