//! Telnyx for tests, on real sockets: its API, its signed webhooks and its media sockets, in front of an
//! exchange with telephones. Written from Telnyx's documents. It injects faults on request.

mod api;
mod audio;
mod call;
mod commands;
mod flow;
mod inbound;
mod media;
mod stub;
mod webhooks;

use std::{
    io,
    sync::{Arc, Mutex, atomic::AtomicUsize},
};

use axum::extract::ws::WebSocket;
use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use ring::signature::{Ed25519KeyPair, KeyPair};
use serde_json::{Value, json};

pub use self::{
    audio::{ByteOrder, Codec},
    stub::{API_KEY, CONNECTION, Telnyx, TelnyxFaults, TelnyxSettings},
};
use self::{
    call::{Call, Calls},
    stub::SEED,
};
use super::{
    base::{
        Handle, Stub, StubBase,
        phones::{Cause, Progress},
    },
    bridge::{MediaSocket, Told},
    caller::{self, Caller},
    legs::Stage,
    run::{Started, StubKind},
    settings::{NUMBER, locked},
};
use crate::schema::Misfit;

/// The stub.
pub static KIND: StubKind = StubKind {
    name: "telnyx",
    title: "Telnyx",
    reorders: true,
    start: |settings| {
        Box::pin(async {
            let stub = TelnyxStub::start(TelnyxSettings::of(settings)).await?;
            let account = vec![
                ("TELNYX_BASE_URL", stub.url()),
                ("TELNYX_API_KEY", API_KEY.to_owned()),
                ("TELNYX_PUBLIC_KEY", stub.public_key()),
                ("TELNYX_CONNECTION_ID", CONNECTION.to_owned()),
                ("TELNYX_PHONE_NUMBER", NUMBER.to_owned()),
            ];
            Ok(Started::new(stub.here(), account, stub))
        })
    },
};

impl Telnyx {
    /// Ends a call, whether its telephone has been rung or not.
    async fn cut_off(self: &Arc<Self>, call: &Arc<Call>) {
        match call.line.get() {
            Some(_) => self.base.phones.hang_up(&call.line).await,
            None => self.ended(call, Cause::Canceled),
        }
    }

    fn ended(self: &Arc<Self>, call: &Arc<Call>, cause: Cause) {
        call.is_at(Stage::Over(cause));
        let (cause, sip) = match cause {
            Cause::Completed => ("normal_clearing", "200"),
            Cause::Busy => ("user_busy", "486"),
            Cause::NoAnswer => ("timeout", "487"),
            Cause::Rejected => ("call_rejected", "603"),
            Cause::Canceled => ("originator_cancel", "487"),
            Cause::Failed => ("unspecified", "500"),
        };
        let causes = json!({ "hangup_cause": cause, "sip_hangup_cause": sip, "hangup_source": "unknown" });
        self.tell(call, "call.hangup", causes);
    }
}

impl Stub for Telnyx {
    type Leg = Call;

    fn base(&self) -> &StubBase {
        &self.base
    }

    fn service(&self) -> &'static str {
        "telnyx"
    }

    fn refusal(&self, misfit: &Misfit) -> (u16, Value) {
        let (why, source) = (misfit.to_string(), json!({ "pointer": misfit.field }));
        let error = json!({ "code": "10015", "title": "Bad Request", "detail": why, "source": source });
        (422, json!({ "errors": [error] }))
    }

    fn leg(&self, id: &str) -> Option<Arc<Call>> {
        self.calls.get(id)
    }

    /// Telnyx does not report that the phone rings.
    fn reported(self: &Arc<Self>, call: &Arc<Call>, progress: Progress) {
        match progress {
            Progress::Ringing => {}
            Progress::Answered => {
                call.is_at(Stage::Answered);
                self.tell(call, "call.answered", json!({}));
                self.judge(call);
            }
            Progress::Ended { cause } => self.ended(call, cause),
        }
    }

    async fn talk(self: Arc<Self>, call: Arc<Call>, phone: WebSocket) {
        flow::run(self, call, phone).await;
    }
}

/// A running stub. Dropping it cuts off all calls at once.
pub type TelnyxStub = Handle<Telnyx>;

impl TelnyxStub {
    /// Listens and serves until it is dropped.
    ///
    /// # Errors
    /// Returns an error if the stub or the exchange behind it cannot listen.
    pub async fn start(settings: TelnyxSettings) -> io::Result<Self> {
        let (base, listener) = StubBase::bind(settings.carrier.clone()).await?;
        let stub = Arc::new(Telnyx {
            base,
            key: Ed25519KeyPair::from_seed_unchecked(&SEED).map_err(|_| io::ErrorKind::InvalidData)?,
            refused: AtomicUsize::new(settings.faults.streams_refused),
            broken: AtomicUsize::new(settings.faults.broken_commands),
            commands: Mutex::default(),
            calls: Calls::default(),
            orders: Mutex::default(),
            settings,
        });
        let inbound = caller::route(inbound::by_order(stub.clone()));
        Ok(Self::serve(stub, listener, api::routes(), inbound))
    }

    /// Returns the address for an account's `base_url`.
    pub fn url(&self) -> String {
        format!("{}/v2", self.here())
    }

    /// Returns the public key, as the portal shows it.
    pub fn public_key(&self) -> String {
        BASE64.encode(self.0.key.public_key().as_ref())
    }

    /// Returns the signature header of a body at a time in seconds since 1970.
    pub fn sign(&self, seconds: i64, body: &str) -> String {
        self.0.sign(seconds, body.as_bytes())
    }

    /// Returns the dial requests so far, as received.
    pub fn orders(&self) -> Vec<Value> {
        locked(&self.0.orders).clone()
    }

    /// Returns the commands so far, as received.
    pub fn commands(&self) -> Vec<(String, Value)> {
        locked(&self.0.commands).clone()
    }

    /// Returns how many media sockets were opened for calls that nobody answered and then closed by the service.
    pub async fn early_streams_closed(&self) -> usize {
        let calls = self.0.calls.all();
        let early: Vec<_> = calls
            .iter()
            .filter_map(|call| locked(&call.order.early_stream).take())
            .collect();
        let mut closed = 0;
        for mut stream in early {
            closed += usize::from(matches!(stream.told().await, Told::Gone));
        }
        closed
    }

    /// Makes a telephone call one of the account's numbers, whose application is at `service`. If the call is
    /// answered, the telephone's persona talks.
    pub fn call_in(&self, service: &str, id: &str, from: &str, to: &str) {
        self.0.call_in(service, id, &Caller::of(from, to));
    }

    /// Announces an inbound call once more; returns `false` if it was not announced before.
    pub fn announce(&self, id: &str) -> bool {
        let call = self.0.calls.get(id);
        call.inspect(|call| self.0.announce(call)).is_some()
    }

    /// Hangs up the telephone of a call.
    pub async fn hang_up(&self, id: &str) {
        if let Some(call) = self.0.calls.get(id) {
            self.0.cut_off(&call).await;
        }
    }
}
