//! Vonage for tests, on real sockets: its API of calls, signed webhooks, instructions and media sockets, in
//! front of the telephones of an exchange. Written from Vonage's documents. It injects faults on request.

mod api;
mod flow;
mod inbound;
mod leg;
mod socket;
mod stub;
mod token;

use std::{
    io,
    sync::{Arc, Mutex},
};

use axum::extract::ws::WebSocket;
use serde_json::{Value, json};

use self::{
    leg::{Leg, Legs},
    token::{Applications, Signer},
};
pub use self::{
    stub::{Announced, Vonage, VonageFaults},
    token::{APPLICATION, PRIVATE_KEY, SIGNATURE_SECRET},
};
use super::{
    base::{Handle, Stub, StubBase, phones::Progress},
    caller::{self, Caller},
    run::{Started, StubKind},
    settings::{NUMBER, StubCarrierSettings, locked},
};
use crate::schema::Misfit;

/// The stub.
pub static KIND: StubKind = StubKind {
    name: "vonage",
    title: "Vonage",
    reorders: false,
    start: |settings| {
        Box::pin(async {
            let stub = VonageStub::start(settings, VonageFaults::default()).await?;
            let account = vec![
                ("VONAGE_BASE_URL", stub.url()),
                ("VONAGE_APPLICATION_ID", APPLICATION.to_owned()),
                ("VONAGE_PRIVATE_KEY", PRIVATE_KEY.trim_end().to_owned()),
                ("VONAGE_SIGNATURE_SECRET", SIGNATURE_SECRET.to_owned()),
                ("VONAGE_PHONE_NUMBER", NUMBER.to_owned()),
            ];
            Ok(Started::new(stub.here(), account, stub))
        })
    },
};

impl Stub for Vonage {
    type Leg = Leg;

    fn base(&self) -> &StubBase {
        &self.base
    }

    fn service(&self) -> &'static str {
        "vonage"
    }

    fn refusal(&self, misfit: &Misfit) -> (u16, Value) {
        let why = misfit.to_string();
        let invalid = json!([{ "name": misfit.field.trim_start_matches('/'), "reason": why }]);
        (
            400,
            json!({ "title": "Bad Request", "detail": why, "invalid_parameters": invalid }),
        )
    }

    fn leg(&self, uuid: &str) -> Option<Arc<Leg>> {
        self.legs.get(uuid)
    }

    fn reported(self: &Arc<Self>, leg: &Arc<Leg>, progress: Progress) {
        leg.becomes(progress.into());
    }

    async fn talk(self: Arc<Self>, leg: Arc<Leg>, phone: WebSocket) {
        flow::run(self, leg, phone).await;
    }
}

/// A running stub. Dropping it ends the stub.
pub type VonageStub = Handle<Vonage>;

impl VonageStub {
    /// Starts a stub.
    ///
    /// # Errors
    /// Returns an error if the address cannot be served.
    pub async fn start(settings: StubCarrierSettings, faults: VonageFaults) -> io::Result<Self> {
        let (base, listener) = StubBase::bind(settings).await?;
        let stub = Arc::new(Vonage {
            faults,
            legs: Legs::default(),
            signer: Signer::new(base.clock.clone()),
            applications: Applications::new(base.clock.clone()).ok_or(io::ErrorKind::InvalidData)?,
            last_order: Mutex::default(),
            base,
        });
        let inbound = caller::route(inbound::by_order(stub.clone()));
        Ok(Self::serve(stub, listener, api::routes(), inbound))
    }

    /// Returns the base URL of its API.
    pub fn url(&self) -> String {
        self.here()
    }

    /// Returns the last request for a call, as received.
    pub fn last_order(&self) -> Value {
        locked(&self.0.last_order).clone()
    }

    /// Returns the signature header of a webhook with this body.
    pub fn sign(&self, body: &str) -> String {
        self.0.signer.header(body.as_bytes())
    }

    /// Returns the header of [`Self::sign`], signed at a time in seconds since 1970.
    pub fn sign_at(&self, body: &str, seconds: i64) -> String {
        self.0.signer.header_at(body.as_bytes(), seconds)
    }

    /// Announces a call to one of the account's numbers, whose application is at `service`; returns `None` if
    /// nothing answers there.
    pub async fn announce(&self, service: &str, uuid: &str, from: &str, to: &str) -> Option<Announced> {
        inbound::announce(&self.0, service, uuid, &Caller::of(from, to)).await
    }

    /// Makes a telephone call one of the account's numbers. If the call is accepted, the telephone's persona talks.
    pub async fn call_in(&self, service: &str, uuid: &str, from: &str, to: &str) -> Option<Announced> {
        inbound::call_in(&self.0, service, uuid, &Caller::of(from, to)).await
    }

    /// Hangs up the telephone of a call.
    pub async fn hang_up(&self, uuid: &str) {
        if let Some(leg) = self.0.legs.get(uuid) {
            self.phones.hang_up(&leg.line).await;
        }
    }
}
