//! Asterisk for tests, on real sockets: its REST interface and events, bridges, `chan_websocket` and AudioSocket, in front
//! of an exchange whose telephones it calls. Written from Asterisk's documents and source; it takes faults by order.

mod ari;
mod audiosocket;
mod bridges;
mod channels;
mod events;
mod phones;
mod sound;
mod websocket;

use std::{
    collections::BTreeMap,
    io,
    net::SocketAddr,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::serve::ListenerExt;
use tokio::{net::TcpListener, task::JoinSet};

use self::{bridges::Bridges, channels::Channel, events::Events};
use crate::exchange::{Exchange, ExchangeError, ExchangeHandle, ExchangeSettings, LogEntry};
use net::http_client;

/// The stub's user.
pub const USER: &str = "ringback";
/// Its password.
pub const PASSWORD: &str = "stub-password";
/// The one trunk.
pub const TRUNK: &str = "trunk";
/// The one section of `websocket_client.conf`.
pub const WEBSOCKET_CLIENT: &str = "ringback";

/// How the stub is to behave.
#[derive(Debug, Clone)]
pub struct AsteriskSettings {
    /// The telephones behind it. Its clock is the stub's too.
    pub exchange: ExchangeSettings,
    /// Who picks up at which number: a persona, or one of the exchange's scripts. At others the last digit says it.
    pub personas: BTreeMap<String, String>,
    /// Media sockets speak JSON, and not words.
    pub json: bool,
    /// So long after a SIP REFER the far end leaves, with whom it was to call; without it nothing comes of one.
    pub refers_taken: Option<Duration>,
    /// What goes wrong.
    pub faults: AsteriskFaults,
}

/// What goes wrong.
#[derive(Debug, Clone, Default)]
pub struct AsteriskFaults {
    /// Dials of telephones are taken and never answered.
    pub lost_answers: bool,
    /// Each so-manieth dial of a telephone is taken and never answered; 0 for none.
    pub lost_answer_each: usize,
    /// So many dials of telephones are refused with 503 first.
    pub refused_dials: usize,
    /// Every event comes twice, and every third one after the next.
    pub untidy_events: bool,
    /// The first media connection of a call breaks after so many frames from the telephone.
    pub cut_after: Option<u64>,
    /// A media connection sends nothing for so long, after so many frames, and all of it then.
    pub stall: Option<(u64, Duration)>,
}

impl Default for AsteriskSettings {
    fn default() -> Self {
        Self {
            exchange: ExchangeSettings::on_loopback(),
            personas: BTreeMap::new(),
            json: false,
            refers_taken: None,
            faults: AsteriskFaults::default(),
        }
    }
}

/// Why the stub does not start.
#[derive(Debug, thiserror::Error)]
pub enum AsteriskError {
    /// Its telephones do not start.
    #[error(transparent)]
    Exchange(#[from] ExchangeError),
    /// It cannot listen.
    #[error("stub of Asterisk cannot listen: {0}")]
    Listen(#[from] io::Error),
    /// No HTTP client.
    #[error("stub of Asterisk cannot build its HTTP client: {0}")]
    Client(#[from] reqwest::Error),
}

/// A request to make a channel, as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Originated {
    /// What is called.
    pub endpoint: String,
    /// The id it is to have.
    pub channel: String,
    /// The application.
    pub app: String,
    /// Caller ID.
    pub caller: String,
    /// How long it may ring, in seconds.
    pub timeout: String,
}

/// What all channels share.
struct Switch {
    settings: AsteriskSettings,
    client: reqwest::Client,
    exchange_url: String,
    own: SocketAddr,
    /// Where media sockets go: `uri` in `websocket_client.conf`.
    media_uri: Mutex<String>,
    refused: AtomicUsize,
    cut: AtomicUsize,
    channels: Mutex<BTreeMap<String, Arc<Channel>>>,
    bridges: Bridges,
    events: Events,
    journal: Mutex<Journal>,
    tasks: Mutex<JoinSet<()>>,
}

/// What the stub remembers.
#[derive(Default)]
struct Journal {
    originated: Vec<Originated>,
    complaints: Vec<String>,
    hung_up: Vec<(String, String)>,
    redirected: Vec<(String, String)>,
    pressed: Vec<(String, String)>,
    flushed_ms: Vec<u64>,
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Switch {
    /// Starts a task that ends with the stub.
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = lock(&self.tasks);
        while tasks.try_join_next().is_some() {}
        tasks.spawn(task);
    }

    fn channel(&self, id: &str) -> Option<Arc<Channel>> {
        lock(&self.channels).get(id).cloned()
    }

    fn complain(&self, about: String) {
        lock(&self.journal).complaints.push(about);
    }

    fn now(&self) -> String {
        self.settings.exchange.clock.now().to_iso8601()
    }
}

/// A running stub. Dropping it cuts all calls off at once.
pub struct AsteriskStub {
    switch: Arc<Switch>,
    exchange: ExchangeHandle,
    server: tokio::task::JoinHandle<()>,
}

impl AsteriskStub {
    /// Listens on a free loopback port and serves until it is dropped.
    ///
    /// # Errors
    ///
    /// When it, or the exchange behind it, cannot listen.
    pub async fn start(settings: AsteriskSettings) -> Result<Self, AsteriskError> {
        let exchange = Exchange::start(settings.exchange.clone()).await?;
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let switch = Arc::new(Switch {
            client: http_client::builder().pool_max_idle_per_host(0).build()?,
            exchange_url: exchange.url(),
            own: listener.local_addr()?,
            media_uri: Mutex::default(),
            refused: AtomicUsize::new(settings.faults.refused_dials),
            cut: AtomicUsize::new(usize::from(settings.faults.cut_after.is_some())),
            channels: Mutex::default(),
            bridges: Bridges::default(),
            events: Events::new(settings.faults.untidy_events),
            journal: Mutex::default(),
            tasks: Mutex::default(),
            settings,
        });
        let app = ari::router(switch.clone());
        let listener = listener.tap_io(|connection| {
            if let Err(error) = connection.set_nodelay(true) {
                tracing::debug!(%error, "cannot set TCP_NODELAY");
            }
        });
        let server = tokio::spawn(async move {
            if let Err(error) = axum::serve(listener, app).await {
                tracing::error!(%error, "stub of Asterisk stopped serving");
            }
        });
        Ok(Self {
            switch,
            exchange,
            server,
        })
    }

    /// The address an account's `ari_url` takes.
    pub fn url(&self) -> String {
        format!("http://{}/ari", self.switch.own)
    }

    /// Sets where media sockets go, below the service at this address.
    pub fn serve_media_to(&self, service: &str) {
        let socket = service.replacen("http", "ws", 1);
        *lock(&self.switch.media_uri) = format!("{socket}/carriers/asterisk/media");
    }

    /// A telephone calls a number; the id of its channel.
    pub async fn call_in(&self, from: &str, to: &str) -> String {
        phones::call_in(&self.switch, from, to).await
    }

    /// A telephone's key is pressed.
    pub fn press(&self, channel: &str, key: char) {
        self.switch.hears_key(channel, key);
    }

    /// The events' socket breaks; none is taken until they are let in again.
    pub fn lose_events(&self) {
        self.switch.events.close();
    }

    /// Events may be listened to again.
    pub fn let_events_in(&self) {
        self.switch.events.open();
    }

    /// Every request to make a channel of a telephone, as it came.
    pub fn dials(&self) -> Vec<Originated> {
        let mut all = self.originated();
        all.retain(|of| of.endpoint.starts_with("PJSIP/"));
        all
    }

    /// Every request to make a channel, as it came.
    pub fn originated(&self) -> Vec<Originated> {
        lock(&self.switch.journal).originated.clone()
    }

    /// What Asterisk would complain about.
    pub fn complaints(&self) -> Vec<String> {
        lock(&self.switch.journal).complaints.clone()
    }

    /// Channels that were hung up by request, with the reason.
    pub fn hung_up(&self) -> Vec<(String, String)> {
        lock(&self.switch.journal).hung_up.clone()
    }

    /// Channels whose far end was asked to call somebody else, and whom.
    pub fn redirected(&self) -> Vec<(String, String)> {
        lock(&self.switch.journal).redirected.clone()
    }

    /// Keys that were pressed in channels by request.
    pub fn pressed(&self) -> Vec<(String, String)> {
        lock(&self.switch.journal).pressed.clone()
    }

    /// Milliseconds of audio that were thrown away by each flush that found any.
    pub fn flushed_ms(&self) -> Vec<u64> {
        lock(&self.switch.journal).flushed_ms.clone()
    }

    /// The telephone of a channel is hung up by whoever holds it.
    pub async fn leave(&self, channel: &str) {
        if let Some(channel) = self.switch.channel(channel) {
            phones::hang_up(&self.switch, &channel).await;
            self.switch.destroy(&channel, (16, "Normal Clearing"), None);
        }
    }

    /// Channels there are, by id.
    pub fn channels(&self) -> Vec<String> {
        lock(&self.switch.channels).keys().cloned().collect()
    }

    /// Bridges there are, with the channels in each.
    pub fn bridges(&self) -> BTreeMap<String, Vec<String>> {
        self.switch.bridges.all()
    }

    /// Sockets for events that were taken so far.
    pub fn event_sockets(&self) -> usize {
        self.switch.events.sockets.load(Ordering::SeqCst)
    }

    /// The telephones' record.
    pub fn entries(&self) -> Vec<LogEntry> {
        self.exchange.entries()
    }

    /// Telephones that ring or talk.
    pub fn live_calls(&self) -> usize {
        self.exchange.live_calls()
    }
}

impl std::fmt::Debug for AsteriskStub {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AsteriskStub")
            .field("own", &self.switch.own)
            .finish_non_exhaustive()
    }
}

impl Drop for AsteriskStub {
    fn drop(&mut self) {
        self.server.abort();
        lock(&self.switch.tasks).abort_all();
    }
}
