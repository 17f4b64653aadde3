//! The state of the stub, and the webhooks that it sends.

use std::{collections::BTreeMap, sync::Mutex, time::Duration};

use super::{call::Calls, form, twiml};
use crate::{schema, stub_carriers::base::StubBase};

/// Carrier that a stub imitates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flavour {
    /// Twilio.
    Twilio,
    /// SignalWire.
    SignalWire,
}

impl Flavour {
    /// Returns the name in addresses of the service.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Twilio => "twilio",
            Self::SignalWire => "signalwire",
        }
    }
}

/// Account of a stub.
pub const ACCOUNT: &str = "AC00000000000000000000000000000001";
/// Auth token of the account, with which Twilio signs.
pub const TOKEN: &str = "stub-auth-token";
/// Key with which SignalWire signs.
pub const SIGNING_KEY: &str = "PSK_stub";

/// Longest wait for a webhook's response: Twilio's own limit.
const PATIENCE: Duration = Duration::from_secs(15);
const DEAF_PATIENCE: Duration = Duration::from_secs(5);

/// Faults of the stub.
#[derive(Debug, Clone, Copy, Default)]
pub struct TwilioFaults {
    /// New instructions for a call are never answered, and webhooks are waited for 5 s.
    pub deaf: bool,
    /// Time that a requested call waits before it starts.
    pub queued: Option<Duration>,
}

/// The stub of Twilio or SignalWire.
pub struct Twilio {
    pub(super) flavour: Flavour,
    pub(super) faults: TwilioFaults,
    pub(super) base: StubBase,
    pub(super) calls: Calls,
    pub(super) last_order: Mutex<BTreeMap<String, String>>,
    pub(super) last_change: Mutex<BTreeMap<String, String>>,
    pub(super) refers: Mutex<Vec<String>>,
}

impl Twilio {
    pub(super) fn key(&self) -> &'static str {
        match self.flavour {
            Flavour::Twilio => TOKEN,
            Flavour::SignalWire => SIGNING_KEY,
        }
    }

    pub(super) fn signature_header(&self) -> &'static str {
        match self.flavour {
            Flavour::Twilio => "x-twilio-signature",
            Flavour::SignalWire => "x-signalwire-signature",
        }
    }

    /// Sends a webhook; returns the status of the response (0 for none) and its body.
    pub(super) async fn tell(&self, url: &str, form: &BTreeMap<String, String>) -> (u16, String) {
        let body = url::form_urlencoded::Serializer::new(String::new())
            .extend_pairs(form)
            .finish();
        let patience = if self.faults.deaf { DEAF_PATIENCE } else { PATIENCE };
        let request = self.base.client.post(url).timeout(patience);
        let request = request.header(self.signature_header(), form::sign(self.key(), url, form));
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        let Ok(answer) = request.body(body).send().await else {
            return (0, String::new());
        };
        let status = answer.status().as_u16();
        let answer = answer.text().await.unwrap_or_default();
        match self.takes(&answer) {
            true => (status, answer),
            false => (status, String::new()),
        }
    }

    /// Returns whether the carrier takes all elements and attributes of a document. What cannot be read is left to its
    /// reader.
    pub(super) fn takes(&self, document: &str) -> bool {
        let verbs = twiml::parse(document).unwrap_or_default();
        let mut elements = verbs.iter().map(twiml::Verb::as_object);
        let result = elements.try_for_each(|element| schema::message(self.flavour.name(), "TwiML", &element));
        result
            .inspect_err(|misfit| self.base.complain(misfit.to_string()))
            .is_ok()
    }
}

/// Response to the announcement of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Announced {
    /// HTTP status.
    pub status: u16,
    /// Instructions.
    pub twiml: String,
}
