//! Parts of every stub: the phones behind it, its server, and a record of its events.

pub(crate) mod delivery;
pub(crate) mod phones;
pub(crate) mod rooms;
pub(crate) mod stall;

use std::{
    collections::VecDeque,
    io,
    net::SocketAddr,
    ops::Deref,
    sync::{Arc, Mutex},
};

use axum::{
    Json, Router,
    extract::{
        Path, State,
        ws::{WebSocket, WebSocketUpgrade},
    },
    http::{StatusCode, header::CONTENT_TYPE},
    response::{IntoResponse, Response},
    routing::{get, post},
    serve::ListenerExt,
};
use domain::time::Clock;
use reqwest::Client;
use serde_json::Value;
use tokio::{net::TcpListener, task::JoinSet};

use self::{
    delivery::Callbacks,
    phones::{Phones, Progress, Report},
    rooms::Rooms,
    stall::Stall,
};
use super::settings::{Delivered, Dial, DialFault, StubCarrierSettings, locked};
use crate::{
    exchange::LogEntry,
    schema::{self, Misfit},
};
use net::http_client;

/// State that the stubs of all carriers share.
pub struct StubBase {
    pub(super) address: SocketAddr,
    /// Base URL of the service to which inbound calls are announced.
    pub(super) service: String,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) callbacks: Callbacks,
    pub(super) cut_after: Option<u64>,
    pub(super) stall: Option<Stall>,
    pub(super) client: Client,
    pub(super) phones: Phones,
    pub(super) rooms: Rooms,
    faults: Mutex<VecDeque<DialFault>>,
    dials: Mutex<Vec<Dial>>,
    delivered: Mutex<Vec<Delivered>>,
    keys: Mutex<Vec<String>>,
    complaints: Mutex<Vec<String>>,
    tasks: Mutex<JoinSet<()>>,
}

impl StubBase {
    /// Binds the address; nothing is served there yet.
    pub(super) async fn bind(settings: StubCarrierSettings) -> io::Result<(Self, TcpListener)> {
        let listener = TcpListener::bind(settings.listen).await?;
        let base = Self {
            address: listener.local_addr()?,
            phones: Phones::start(&settings).await?,
            service: settings.service,
            clock: settings.clock,
            callbacks: settings.callbacks,
            cut_after: settings.cut_after,
            stall: settings.stall,
            client: http_client::builder()
                .pool_max_idle_per_host(0)
                .build()
                .map_err(io::Error::other)?,
            rooms: Rooms::default(),
            faults: Mutex::new(settings.dials.into()),
            dials: Mutex::default(),
            delivered: Mutex::default(),
            keys: Mutex::default(),
            complaints: Mutex::default(),
            tasks: Mutex::default(),
        };
        Ok((base, listener))
    }

    /// Returns the stub's own base URL, without a trailing slash.
    pub(super) fn here(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Starts a task that ends with the stub.
    pub(super) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = locked(&self.tasks);
        while tasks.try_join_next().is_some() {}
        tasks.spawn(task);
    }

    /// Records a dial and returns its fault.
    pub(super) fn dialed(&self, dial: Dial) -> DialFault {
        locked(&self.dials).push(dial);
        locked(&self.faults).pop_front().unwrap_or(DialFault::None)
    }

    /// Records a callback and the HTTP status of its response.
    pub(super) fn told(&self, status: &str, answer: u16) {
        let status = status.to_owned();
        locked(&self.delivered).push(Delivered { status, answer });
    }

    pub(super) fn pressed(&self, keys: &str) {
        locked(&self.keys).push(keys.to_owned());
    }

    pub(super) fn complain(&self, about: impl Into<String>) {
        locked(&self.complaints).push(about.into());
    }

    /// Returns every dial received.
    pub fn dials(&self) -> Vec<Dial> {
        locked(&self.dials).clone()
    }

    /// Returns every callback delivered.
    pub fn delivered(&self) -> Vec<Delivered> {
        locked(&self.delivered).clone()
    }

    /// Returns the keys that were pressed by requests or messages.
    pub fn keys(&self) -> Vec<String> {
        locked(&self.keys).clone()
    }

    /// Returns the messages and requests that the carrier would complain about.
    pub fn complaints(&self) -> Vec<String> {
        locked(&self.complaints).clone()
    }

    /// Returns the record of the phones.
    pub fn entries(&self) -> Vec<LogEntry> {
        self.phones.entries()
    }

    /// Returns all that the phone with this number has played in its latest call, at 8 kHz.
    pub fn played(&self, number: &str) -> Vec<i16> {
        self.phones.played(number)
    }

    /// Returns the number of phones that ring or talk.
    pub fn live_calls(&self) -> usize {
        self.phones.live_calls()
    }
}

/// Returns the response of [`DialFault::Answer`].
pub(super) fn answer(status: u16, body: &'static str) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_REQUEST);
    (status, [(CONTENT_TYPE, "application/json")], body).into_response()
}

/// A carrier that has a stub.
pub trait Stub: Sized + Send + Sync + 'static {
    /// Owner of a phone's line.
    type Leg: Send + Sync + 'static;

    fn base(&self) -> &StubBase;

    /// Returns the service whose schemas its API and sockets have.
    fn service(&self) -> &'static str;

    /// Returns how the carrier refuses a request with a field that it does not take: status and body.
    fn refusal(&self, misfit: &Misfit) -> (u16, Value);

    fn leg(&self, id: &str) -> Option<Arc<Self::Leg>>;

    /// Handles a report of a phone's line.
    fn reported(self: &Arc<Self>, leg: &Arc<Self::Leg>, progress: Progress);

    /// Talks with a phone that was picked up, until it is hung up.
    fn talk(self: Arc<Self>, leg: Arc<Self::Leg>, phone: WebSocket) -> impl Future<Output = ()> + Send;
}

/// A running stub. Dropping it ends the stub and its calls.
pub struct Handle<S: Stub>(pub(super) Arc<S>);

impl<S: Stub> Handle<S> {
    /// Serves the stub's routes, and those of its phones.
    pub(super) fn serve(stub: Arc<S>, listener: TcpListener, routes: Router<Arc<S>>, more: Router) -> Self {
        let told = stub.clone();
        let refuse = move |misfit: &Misfit| {
            told.base().complain(misfit.to_string());
            told.refusal(misfit)
        };
        let router = schema::guarded(routes, stub.service(), refuse)
            .route("/phones/{id}/status", post(reported::<S>))
            .route("/phones/{id}/media", get(picked_up::<S>))
            .with_state(stub.clone())
            .merge(more);
        let listener = listener.tap_io(|stream| {
            let _ = stream.set_nodelay(true);
        });
        stub.base().spawn(async move {
            if let Err(error) = axum::serve(listener, router).await {
                tracing::error!(%error, "stub carrier server failed");
            }
        });
        Self(stub)
    }
}

impl<S: Stub> Deref for Handle<S> {
    type Target = StubBase;

    fn deref(&self) -> &StubBase {
        self.0.base()
    }
}

impl<S: Stub> Drop for Handle<S> {
    fn drop(&mut self) {
        locked(&self.tasks).abort_all();
    }
}

async fn reported<S: Stub>(
    State(stub): State<Arc<S>>,
    Path(id): Path<String>,
    Json(report): Json<Report>,
) -> StatusCode {
    if let Some(leg) = stub.leg(&id) {
        stub.reported(&leg, report.progress);
    }
    StatusCode::NO_CONTENT
}

async fn picked_up<S: Stub>(State(stub): State<Arc<S>>, Path(id): Path<String>, phone: WebSocketUpgrade) -> Response {
    match stub.leg(&id) {
        Some(leg) => phone.on_upgrade(move |phone| stub.talk(leg, phone)),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}
