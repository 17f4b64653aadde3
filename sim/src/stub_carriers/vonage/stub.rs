//! The state of the stub, and the webhooks that it sends.

use std::sync::Mutex;

use serde_json::Value;

use super::{
    leg::Legs,
    token::{Applications, Signer},
};
use crate::{schema, stub_carriers::base::StubBase};

/// Faults of the stub.
#[derive(Debug, Clone, Copy, Default)]
pub struct VonageFaults {
    /// No event is sent for any leg.
    pub no_events: bool,
    /// Vonage does not report a broken socket, and the call is held.
    pub silent_losses: bool,
    /// A call with new instructions keeps its media socket.
    pub kept_sockets: bool,
    /// Most calls on one page of a list.
    pub short_pages: Option<usize>,
}

/// The stub.
pub struct Vonage {
    pub(super) faults: VonageFaults,
    pub(super) base: StubBase,
    pub(super) legs: Legs,
    pub(super) signer: Signer,
    pub(super) applications: Applications,
    pub(super) last_order: Mutex<Value>,
}

impl Vonage {
    /// Sends a webhook; returns its response if that is a list of instructions.
    pub(super) async fn tell(&self, url: &str, body: &Value) -> Option<Vec<Value>> {
        let sent = self.post(url, body).await;
        let answer = sent.as_ref().map_or(0, |answer| answer.status().as_u16());
        self.base.told(body["status"].as_str().unwrap_or_default(), answer);
        let answer = sent.filter(|answer| answer.status().is_success())?;
        self.instructions(answer).await.as_array().cloned()
    }

    /// Returns the body of a response if it is a list of instructions that Vonage takes.
    pub(super) async fn instructions(&self, answer: reqwest::Response) -> Value {
        let ncco: Value = answer.json().await.unwrap_or_default();
        match ncco.is_array().then(|| schema::message("vonage", "NCCO", &ncco)) {
            Some(Err(misfit)) => {
                self.base.complain(misfit.to_string());
                Value::Null
            }
            _ => ncco,
        }
    }

    /// Sends a signed request; returns `None` if there is no response.
    pub(super) async fn post(&self, url: &str, body: &Value) -> Option<reqwest::Response> {
        let text = body.to_string();
        let request = self.base.client.post(url).header("content-type", "application/json");
        let request = request.header("authorization", self.signer.header(text.as_bytes()));
        request.body(text).send().await.ok()
    }
}

/// Response to the announcement of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Announced {
    /// HTTP status.
    pub status: u16,
    /// Instructions.
    pub ncco: Value,
}
