//! Twilio, and SignalWire in Twilio's words: the API of calls, their instructions, signed webhooks, and signed media
//! sockets.

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
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{
    Json,
    extract::{Path, State, ws::WebSocketUpgrade},
    http::StatusCode,
    response::{IntoResponse, Response},
    routing::{get, post},
    serve::ListenerExt,
};
use reqwest::Client;
use tokio::{net::TcpListener, task::JoinSet};

use self::call::{Calls, Stage};
use super::{
    Delivered, Dial, Journal, Stall, StubCarrierSettings,
    caller::{self, Caller},
    delivery::Callbacks,
    locked,
    phones::{Phones, Progress, Report},
    rooms::Rooms,
};
use crate::exchange::LogEntry;
use net::http_client;

/// Which of the two carriers a stub is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flavour {
    /// Twilio.
    Twilio,
    /// SignalWire.
    SignalWire,
}

impl Flavour {
    /// As addresses of the service name it.
    fn name(self) -> &'static str {
        match self {
            Self::Twilio => "twilio",
            Self::SignalWire => "signalwire",
        }
    }
}

/// The account a stub has.
pub const ACCOUNT: &str = "AC00000000000000000000000000000001";
/// Its auth token, and what Twilio signs with.
pub const TOKEN: &str = "stub-auth-token";
/// What SignalWire signs with.
pub const SIGNING_KEY: &str = "PSK_stub";

/// How long a webhook's answer is waited for: Twilio's own bound.
const PATIENCE: Duration = Duration::from_secs(15);
const DEAF_PATIENCE: Duration = Duration::from_secs(5);

/// What goes wrong.
#[derive(Debug, Clone, Copy, Default)]
pub struct TwilioFaults {
    /// Other instructions for a call are never answered, and webhooks are waited for 5 s.
    pub deaf: bool,
    /// The first media stream of each call breaks after so many frames.
    pub cut_after: Option<u64>,
    /// A call that is asked for waits so long before it starts.
    pub queued: Option<Duration>,
    /// The first media stream of each call stands still.
    pub stall: Option<Stall>,
}

/// What the routes share.
struct Stub {
    flavour: Flavour,
    here: String,
    callbacks: Callbacks,
    faults: TwilioFaults,
    journal: Journal,
    phones: Phones,
    client: Client,
    calls: Calls,
    rooms: Rooms,
    keys: Mutex<Vec<String>>,
    complaints: Mutex<Vec<String>>,
    last_order: Mutex<BTreeMap<String, String>>,
}

impl Stub {
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

    fn complain(&self, about: impl Into<String>) {
        locked(&self.complaints).push(about.into());
    }

    /// Sends a webhook; the status it is answered with, 0 for none, and what the answer says.
    async fn tell(&self, url: &str, form: &BTreeMap<String, String>) -> (u16, String) {
        let body = url::form_urlencoded::Serializer::new(String::new())
            .extend_pairs(form)
            .finish();
        let patience = if self.faults.deaf { DEAF_PATIENCE } else { PATIENCE };
        let sent = self
            .client
            .post(url)
            .timeout(patience)
            .header("content-type", "application/x-www-form-urlencoded")
            .header(self.signature_header(), form::sign(self.key(), url, form))
            .body(body)
            .send()
            .await;
        let Ok(answer) = sent else {
            return (0, String::new());
        };
        let status = answer.status().as_u16();
        (status, answer.text().await.unwrap_or_default())
    }
}

/// How the announcement of a call was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Announced {
    /// The HTTP status.
    pub status: u16,
    /// The instructions.
    pub twiml: String,
}

/// A running stub. It ends when this is dropped.
pub struct TwilioStub {
    stub: Arc<Stub>,
    _tasks: JoinSet<()>,
}

impl TwilioStub {
    /// Starts one.
    ///
    /// # Errors
    ///
    /// When the address cannot be served.
    pub async fn start(flavour: Flavour, settings: StubCarrierSettings) -> io::Result<Self> {
        Self::start_with(flavour, settings, TwilioFaults::default()).await
    }

    /// Starts one with which something is wrong.
    ///
    /// # Errors
    ///
    /// As [`TwilioStub::start`].
    pub async fn start_with(flavour: Flavour, settings: StubCarrierSettings, faults: TwilioFaults) -> io::Result<Self> {
        let listener = TcpListener::bind(settings.listen).await?;
        let address: SocketAddr = listener.local_addr()?;
        let stub = Arc::new(Stub {
            flavour,
            here: format!("http://{address}"),
            callbacks: settings.callbacks,
            faults,
            journal: Journal::new(settings.dials),
            phones: Phones::start(settings.clock.clone(), settings.personas, settings.scripts).await?,
            client: http_client::builder().build().map_err(io::Error::other)?,
            calls: Calls::new(settings.clock),
            rooms: Rooms::default(),
            keys: Mutex::default(),
            complaints: Mutex::default(),
            last_order: Mutex::default(),
        });
        let router = api::routes(flavour)
            .route("/phones/{key}/status", post(reported))
            .route("/phones/{key}/media", get(media))
            .with_state(stub.clone())
            .merge(caller::route(inbound::by_order(stub.clone(), settings.service)));
        let listener = listener.tap_io(|stream| {
            let _ = stream.set_nodelay(true);
        });
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            if let Err(error) = axum::serve(listener, router).await {
                tracing::error!(%error, "stub carrier ended");
            }
        });
        Ok(Self { stub, _tasks: tasks })
    }

    /// Where its API is.
    pub fn url(&self) -> String {
        self.stub.here.clone()
    }

    /// Every dial that came in.
    pub fn dials(&self) -> Vec<Dial> {
        locked(&self.stub.journal.dials).clone()
    }

    /// Every callback that was delivered.
    pub fn delivered(&self) -> Vec<Delivered> {
        locked(&self.stub.journal.delivered).clone()
    }

    /// What the phones have on record.
    pub fn entries(&self) -> Vec<LogEntry> {
        self.stub.phones.entries()
    }

    /// Calls that ring or talk.
    pub fn live_calls(&self) -> usize {
        self.stub.phones.live_calls()
    }

    /// How each call stands, in the carrier's words, oldest first.
    pub fn statuses(&self) -> Vec<&'static str> {
        self.stub.calls.all().iter().map(|call| call.stage().status()).collect()
    }

    /// The name of each call, oldest first.
    pub fn sids(&self) -> Vec<String> {
        self.stub.calls.all().iter().map(|call| call.sid.clone()).collect()
    }

    /// What the carrier would complain about.
    pub fn complaints(&self) -> Vec<String> {
        locked(&self.stub.complaints).clone()
    }

    /// The keys that were pressed by messages on media streams.
    pub fn keys(&self) -> Vec<String> {
        locked(&self.stub.keys).clone()
    }

    /// The form of the last request for a call.
    pub fn last_order(&self) -> BTreeMap<String, String> {
        locked(&self.stub.last_order).clone()
    }

    /// Announces a call to one of the account's numbers, whose voice address is at `service`.
    pub async fn announce(&self, service: &str, sid: &str, parties: (&str, &str)) -> Announced {
        self.stub.announce(service, sid, &Caller::of(parties)).await
    }

    /// A telephone calls one of the account's numbers. Where the call is taken, the telephone's persona talks.
    pub async fn call_in(&self, service: &str, sid: &str, parties: (&str, &str)) -> Announced {
        inbound::call_in(&self.stub, service, sid, &Caller::of(parties)).await
    }

    /// The telephone of a call is hung up.
    pub async fn hang_up(&self, sid: &str) {
        if let Some(call) = self.stub.calls.get(sid) {
            self.stub.phones.hang_up(call.line()).await;
        }
    }

    /// What the header of a request to `address` with this form must hold.
    pub fn signature(&self, address: &str, form: &[(&str, &str)]) -> (&'static str, String) {
        let form = form
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        (
            self.stub.signature_header(),
            form::sign(self.stub.key(), address, &form.collect()),
        )
    }
}

/// A phone's line has something to report.
async fn reported(State(stub): State<Arc<Stub>>, Path(key): Path<String>, Json(report): Json<Report>) -> StatusCode {
    let Some(call) = stub.calls.get(&key) else {
        return StatusCode::NOT_FOUND;
    };
    call.becomes(match report.progress {
        Progress::Ringing => Stage::Ringing,
        Progress::Answered => Stage::InProgress,
        Progress::Ended { cause } => Stage::ended(&cause),
    });
    StatusCode::NO_CONTENT
}

/// A phone that was picked up.
async fn media(State(stub): State<Arc<Stub>>, Path(key): Path<String>, phone: WebSocketUpgrade) -> Response {
    match stub.calls.get(&key) {
        Some(call) => phone.on_upgrade(move |phone| flow::run(stub, call, phone)),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}
