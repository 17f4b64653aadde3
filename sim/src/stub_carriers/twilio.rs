//! Twilio, and SignalWire in Twilio's API: calls and their instructions, signed webhooks, and signed media sockets.

mod api;
mod call;
mod flow;
mod form;
mod inbound;
mod media;
mod stub;
mod twiml;

use std::{
    collections::BTreeMap,
    io,
    sync::{Arc, Mutex},
};

use axum::extract::ws::WebSocket;
use serde_json::{Value, json};

use self::call::{Call, Calls, status};
pub use self::stub::{ACCOUNT, Announced, Flavour, SIGNING_KEY, TOKEN, Twilio, TwilioFaults};
use super::{
    base::{Handle, Stub, StubBase, phones::Progress},
    caller::{self, Caller},
    run::{Started, StubKind},
    settings::{NUMBER, StubCarrierSettings, locked},
};
use crate::schema::Misfit;

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
    pub async fn announce(&self, service: &str, sid: &str, from: &str, to: &str) -> Announced {
        inbound::announce(&self.0, service, sid, &Caller::of(from, to)).await
    }

    /// Makes a telephone call one of the account's numbers. If the call is accepted, the telephone's persona talks.
    pub async fn call_in(&self, service: &str, sid: &str, from: &str, to: &str) -> Announced {
        inbound::call_in(&self.0, service, sid, &Caller::of(from, to)).await
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
