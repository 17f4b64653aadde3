//! Vonage for tests, on real sockets: its API of calls, signed webhooks, instructions and media sockets, in front of the
//! telephones of an exchange. Written from Vonage's documents; it takes faults by order.

mod api;
mod flow;
mod inbound;
mod leg;
mod socket;
mod token;

use std::{
    io,
    net::SocketAddr,
    sync::{Arc, Mutex},
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
use serde_json::Value;
use tokio::{net::TcpListener, task::JoinSet};

use self::{
    leg::{Legs, Stage},
    token::{Applications, Signer},
};
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

/// The private key of the one application there is. It opens nothing but this stub.
pub const PRIVATE_KEY: &str = include_str!("vonage/application.pem");
/// The one application.
pub const APPLICATION: &str = "aaaaaaaa-bbbb-cccc-dddd-0123456789ab";
/// What webhooks are signed with.
pub const SIGNATURE_SECRET: &str = "stub-signature-secret";

/// What goes wrong.
#[derive(Debug, Clone, Default)]
pub struct VonageFaults {
    /// No event comes of any leg.
    pub no_events: bool,
    /// The first media socket of each call breaks after so many frames.
    pub cut_after: Option<u64>,
    /// The first media socket of each call stands still.
    pub stall: Option<Stall>,
    /// Of a socket that broke nothing is told, and the call is held.
    pub silent_losses: bool,
    /// A call that is told otherwise keeps its media socket.
    pub kept_sockets: bool,
    /// Calls on one page of a list, at most.
    pub short_pages: Option<usize>,
}

/// What the routes share.
struct Stub {
    here: String,
    callbacks: Callbacks,
    faults: VonageFaults,
    journal: Journal,
    phones: Phones,
    client: Client,
    legs: Legs,
    rooms: Rooms,
    signer: Signer,
    applications: Applications,
    keys: Mutex<Vec<String>>,
    complaints: Mutex<Vec<String>>,
}

impl Stub {
    fn complain(&self, about: impl Into<String>) {
        locked(&self.complaints).push(about.into());
    }

    /// Sends a webhook; what it is answered with, if that is a list of instructions.
    async fn tell(&self, url: &str, body: &Value) -> Option<Vec<Value>> {
        let text = body.to_string();
        let sent = self
            .client
            .post(url)
            .header("content-type", "application/json")
            .header("authorization", self.signer.header(text.as_bytes()))
            .body(text)
            .send()
            .await;
        locked(&self.journal.delivered).push(Delivered {
            status: body["status"].as_str().unwrap_or_default().to_owned(),
            answer: sent.as_ref().map_or(0, |answer| answer.status().as_u16()),
        });
        let answer = sent.ok().filter(|answer| answer.status().is_success())?;
        match answer.json().await {
            Ok(Value::Array(ncco)) => Some(ncco),
            _ => None,
        }
    }
}

/// How the announcement of a call was answered.
#[derive(Debug, Clone, PartialEq)]
pub struct Announced {
    /// The HTTP status.
    pub status: u16,
    /// The instructions.
    pub ncco: Value,
}

/// A running stub. It ends when this is dropped.
pub struct VonageStub {
    stub: Arc<Stub>,
    _tasks: JoinSet<()>,
}

impl VonageStub {
    /// Starts one.
    ///
    /// # Errors
    ///
    /// When the address cannot be served.
    pub async fn start(settings: StubCarrierSettings, faults: VonageFaults) -> io::Result<Self> {
        let listener = TcpListener::bind(settings.listen).await?;
        let address: SocketAddr = listener.local_addr()?;
        let applications = Applications::new(settings.clock.clone()).ok_or(io::ErrorKind::InvalidData)?;
        let stub = Arc::new(Stub {
            here: format!("http://{address}"),
            callbacks: settings.callbacks,
            faults,
            journal: Journal::new(settings.dials),
            phones: Phones::start(settings.clock.clone(), settings.personas, settings.scripts).await?,
            client: http_client::builder()
                .pool_max_idle_per_host(0)
                .build()
                .map_err(io::Error::other)?,
            legs: Legs::new(settings.clock.clone()),
            rooms: Rooms::default(),
            signer: Signer::new(settings.clock),
            applications,
            keys: Mutex::default(),
            complaints: Mutex::default(),
        });
        let router = api::routes()
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

    /// Every call that was asked for by its API.
    pub fn dials(&self) -> Vec<Dial> {
        locked(&self.stub.journal.dials).clone()
    }

    /// Every webhook that was delivered; those that announce a call have no status.
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

    /// What Vonage would complain about, or play as noise.
    pub fn complaints(&self) -> Vec<String> {
        locked(&self.stub.complaints).clone()
    }

    /// The keys that were pressed by its API.
    pub fn keys(&self) -> Vec<String> {
        locked(&self.stub.keys).clone()
    }

    /// The last request for a call, as it came.
    pub fn last_order(&self) -> Value {
        self.stub.legs.last_order()
    }

    /// The header of a webhook with this body.
    pub fn sign(&self, body: &str) -> String {
        self.stub.signer.header(body.as_bytes())
    }

    /// The same, signed at a time in seconds since 1970.
    pub fn sign_at(&self, body: &str, seconds: i64) -> String {
        self.stub.signer.header_at(body.as_bytes(), seconds)
    }

    /// Announces a call to one of the account's numbers, whose application is at `service`; none when it is not there.
    pub async fn announce(&self, service: &str, uuid: &str, parties: (&str, &str)) -> Option<Announced> {
        self.stub.announce(service, uuid, &Caller::of(parties)).await
    }

    /// A telephone calls one of the account's numbers. Where the call is taken, the telephone's persona talks.
    pub async fn call_in(&self, service: &str, uuid: &str, parties: (&str, &str)) -> Option<Announced> {
        inbound::call_in(&self.stub, service, uuid, &Caller::of(parties)).await
    }

    /// The telephone of a call is hung up.
    pub async fn hang_up(&self, uuid: &str) {
        if let Some(leg) = self.stub.legs.get(uuid) {
            self.stub.phones.hang_up(leg.line()).await;
        }
    }
}

/// A phone's line has something to report.
async fn reported(State(stub): State<Arc<Stub>>, Path(key): Path<String>, Json(report): Json<Report>) -> StatusCode {
    let Some(leg) = stub.legs.get(&key) else {
        return StatusCode::NOT_FOUND;
    };
    leg.becomes(match report.progress {
        Progress::Ringing => Stage::Ringing,
        Progress::Answered => Stage::Answered,
        Progress::Ended { cause } => Stage::ended(&cause),
    });
    StatusCode::NO_CONTENT
}

/// A phone that was picked up.
async fn media(State(stub): State<Arc<Stub>>, Path(key): Path<String>, phone: WebSocketUpgrade) -> Response {
    match stub.legs.get(&key) {
        Some(leg) => phone.on_upgrade(move |phone| flow::run(stub, leg, phone)),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}
