//! Twilio, and SignalWire in Twilio's API: calls and their instructions, signed webhooks, and signed media sockets.

mod api;
mod call;
mod flow;
mod form;
mod inbound;
mod media;
mod twiml;

use std::{
    collections::BTreeMap,
    io,
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::extract::ws::WebSocket;
use serde_json::{Value, json};

use self::call::{Call, Calls, status};
use super::{
    base::{Handle, Stub, StubBase, phones::Progress},
    caller::{self, Caller},
    run::{Started, StubKind},
    settings::{NUMBER, StubCarrierSettings, locked},
};
use crate::schema::{self, Misfit};

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
    fn name(self) -> &'static str {
        match self {
            Self::Twilio => "twilio",
            Self::SignalWire => "signalwire",
        }
    }
}

/// The stub of Twilio.
pub static KIND: StubKind = StubKind {
    name: "twilio",
    title: "Twilio",
    reorders: false,
    start: |settings| {
        Box::pin(async {
            let stub = TwilioStub::start(Flavour::Twilio, settings).await?;
            let account = vec![
                ("TWILIO_BASE_URL", stub.url()),
                ("TWILIO_ACCOUNT_SID", ACCOUNT.to_owned()),
                ("TWILIO_AUTH_TOKEN", TOKEN.to_owned()),
                ("TWILIO_PHONE_NUMBER", NUMBER.to_owned()),
            ];
            Ok(Started::new(stub.here(), account, stub))
        })
    },
};

/// The stub of SignalWire.
pub static SIGNALWIRE: StubKind = StubKind {
    name: "signalwire",
    title: "SignalWire",
    reorders: false,
    start: |settings| {
        Box::pin(async {
            let stub = TwilioStub::start(Flavour::SignalWire, settings).await?;
            let account = vec![
                ("SIGNALWIRE_BASE_URL", stub.url()),
                ("SIGNALWIRE_PROJECT_ID", ACCOUNT.to_owned()),
                ("SIGNALWIRE_TOKEN", TOKEN.to_owned()),
                ("SIGNALWIRE_SIGNING_KEY", SIGNING_KEY.to_owned()),
                ("SIGNALWIRE_PHONE_NUMBER", NUMBER.to_owned()),
            ];
            Ok(Started::new(stub.here(), account, stub))
        })
    },
};

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
    flavour: Flavour,
    faults: TwilioFaults,
    base: StubBase,
    calls: Calls,
    last_order: Mutex<BTreeMap<String, String>>,
    last_change: Mutex<BTreeMap<String, String>>,
    refers: Mutex<Vec<String>>,
}

impl Twilio {
    fn key(&self) -> &'static str {
        match self.flavour {
            Flavour::Twilio => TOKEN,
            Flavour::SignalWire => SIGNING_KEY,
        }
    }

    fn signature_header(&self) -> &'static str {
        match self.flavour {
            Flavour::Twilio => "x-twilio-signature",
            Flavour::SignalWire => "x-signalwire-signature",
        }
    }

    /// Sends a webhook; returns the status of the response (0 for none) and its body.
    async fn tell(&self, url: &str, form: &BTreeMap<String, String>) -> (u16, String) {
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
    fn takes(&self, document: &str) -> bool {
        let verbs = twiml::parse(document).unwrap_or_default();
        let mut elements = verbs.iter().map(twiml::Verb::as_object);
        let result = elements.try_for_each(|element| schema::message(self.service(), "TwiML", &element));
        result
            .inspect_err(|misfit| self.base.complain(misfit.to_string()))
            .is_ok()
    }
}

impl Stub for Twilio {
    type Leg = Call;

    fn base(&self) -> &StubBase {
        &self.base
    }

    fn service(&self) -> &'static str {
        self.flavour.name()
    }

    fn refusal(&self, misfit: &Misfit) -> (u16, Value) {
        (
            400,
            json!({ "code": 20_001, "message": misfit.to_string(), "status": 400 }),
        )
    }

    fn leg(&self, sid: &str) -> Option<Arc<Call>> {
        self.calls.get(sid)
    }

    fn reported(self: &Arc<Self>, call: &Arc<Call>, progress: Progress) {
        call.becomes(progress.into());
    }

    async fn talk(self: Arc<Self>, call: Arc<Call>, phone: WebSocket) {
        flow::run(self, call, phone).await;
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

/// A running stub. Dropping it ends the stub.
pub type TwilioStub = Handle<Twilio>;

impl TwilioStub {
    /// Starts a stub.
    ///
    /// # Errors
    /// Returns an error if the address cannot be served.
    pub async fn start(flavour: Flavour, settings: StubCarrierSettings) -> io::Result<Self> {
        Self::start_with(flavour, settings, TwilioFaults::default()).await
    }

    /// Starts a stub with faults.
    ///
    /// # Errors
    /// Returns an error in the cases of [`TwilioStub::start`].
    pub async fn start_with(flavour: Flavour, settings: StubCarrierSettings, faults: TwilioFaults) -> io::Result<Self> {
        let (base, listener) = StubBase::bind(settings).await?;
        let stub = Arc::new(Twilio {
            flavour,
            faults,
            base,
            calls: Calls::default(),
            last_order: Mutex::default(),
            last_change: Mutex::default(),
            refers: Mutex::default(),
        });
        let inbound = caller::route(inbound::by_order(stub.clone()));
        Ok(Self::serve(stub, listener, api::routes(flavour), inbound))
    }

    /// Returns the base URL of its API.
    pub fn url(&self) -> String {
        self.here()
    }

    /// Returns the status of each call in the carrier's words, oldest first.
    pub fn statuses(&self) -> Vec<&'static str> {
        self.0.calls.all().iter().map(|call| status(call.stage())).collect()
    }

    /// Returns the id of each call, oldest first.
    pub fn sids(&self) -> Vec<String> {
        self.0.calls.all().iter().map(|call| call.id.clone()).collect()
    }

    /// Returns the form of the last request for a call.
    pub fn last_order(&self) -> BTreeMap<String, String> {
        locked(&self.0.last_order).clone()
    }

    /// Returns the form of the last request that gave a call other instructions.
    pub fn last_change(&self) -> BTreeMap<String, String> {
        locked(&self.0.last_change).clone()
    }

    /// Returns the target of each SIP REFER that calls were to send, oldest first.
    pub fn refers(&self) -> Vec<String> {
        locked(&self.0.refers).clone()
    }

    /// Announces a call to one of the account's numbers, whose voice address is at `service`.
    pub async fn announce(&self, service: &str, sid: &str, parties: (&str, &str)) -> Announced {
        self.0.announce(service, sid, &Caller::of(parties)).await
    }

    /// Makes a telephone call one of the account's numbers. If the call is accepted, the telephone's persona talks.
    pub async fn call_in(&self, service: &str, sid: &str, parties: (&str, &str)) -> Announced {
        inbound::call_in(&self.0, service, sid, &Caller::of(parties)).await
    }

    /// Hangs up the telephone of a call.
    pub async fn hang_up(&self, sid: &str) {
        if let Some(call) = self.0.calls.get(sid) {
            self.phones.hang_up(&call.line).await;
        }
    }

    /// Returns the signature header of a request to `address` with this form.
    pub fn signature(&self, address: &str, form: &[(&str, &str)]) -> (&'static str, String) {
        let form = form
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let signature = form::sign(self.0.key(), address, &form.collect());
        (self.0.signature_header(), signature)
    }
}
