//! A telephone exchange for tests, demos and benches. Ringback sees it as a carrier like any other: a dial
//! API, status callbacks, a list of calls, and telephones that open a media socket in Twilio's format. The
//! exchange knows only what a carrier knows about Ringback. It keeps its own record of every call, and tests
//! judge Ringback by that record.

mod call;
mod callback;
mod faults;
mod handset;
mod http;
mod inbound;
mod line;
mod log;
mod onward;
mod persona;
mod phone;
mod played;
mod protocol;
mod registry;
mod script;
mod sound;
mod stagger;

use std::{
    collections::BTreeMap,
    io,
    net::SocketAddr,
    ops::RangeInclusive,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use axum::serve::ListenerExt;
use domain::time::{Clock, SystemClock};
use net::bind::way_out;
use tokio::{
    net::TcpListener,
    sync::{Semaphore, watch},
    task::JoinSet,
    time::{Instant, timeout},
};

pub(crate) use self::http::malformed;
use self::{
    handset::Background, inbound::Calling, log::Log, played::PlayedAudio, registry::Registry, stagger::Stagger,
};
pub use self::{
    handset::Figures,
    log::{LogEntry, LogEvent, read_log},
    persona::Persona,
    script::{Echo, LineSound, MediaFaults, Script, Stall, Step},
};

/// Longest time for calls to end when the exchange closes.
const CLOSE_WITHIN: Duration = Duration::from_secs(5);

/// Settings of an exchange.
#[derive(Debug, Clone)]
pub struct ExchangeSettings {
    /// Listen address of the dial API; port 0 takes a free port.
    pub listen: SocketAddr,
    /// Record file. A dial is written to it before the dial is answered.
    pub log: Option<PathBuf>,
    /// Keeps the record in memory too, for [`ExchangeHandle::entries`].
    pub keep_log: bool,
    /// Keeps the audio that the phones play in memory, for [`ExchangeHandle::played`].
    pub keep_audio: bool,
    /// Seed that varies the callees and their words.
    pub seed: u64,
    /// Number of lines; a dial beyond them is refused with 429.
    pub max_calls: usize,
    /// Range of the ringing time before pick-up; the number determines the time within the range.
    pub pick_up: RangeInclusive<Duration>,
    /// White noise behind every callee, as root mean square relative to full scale; `None` is digital silence.
    pub line_noise_dbfs: Option<f64>,
    /// Spreads the phones' frame times evenly, even if the phones pick up at the same moment.
    pub spread_frames: bool,
    /// Scripts for callees, by the name in a contact's `script` field.
    pub scripts: BTreeMap<String, Script>,
    /// Sends every status callback twice.
    pub duplicate_statuses: bool,
    /// Default address to announce a phone's own call to.
    pub announce_to: Option<String>,
    /// Longest call; the exchange ends a call that is still up after this time.
    pub longest_call: Duration,
    /// Wall clock of the record and of the list of calls.
    pub clock: Arc<dyn Clock>,
}

impl ExchangeSettings {
    /// Returns the settings of an exchange at `listen` with 1,000 lines, callees that pick up after one or
    /// two rings, and no record.
    pub fn at(listen: SocketAddr) -> Self {
        Self {
            listen,
            log: None,
            keep_log: false,
            keep_audio: false,
            seed: 0,
            max_calls: 1_000,
            pick_up: Duration::from_secs(2)..=Duration::from_secs(6),
            line_noise_dbfs: None,
            spread_frames: false,
            scripts: BTreeMap::new(),
            duplicate_statuses: false,
            announce_to: None,
            longest_call: Duration::from_secs(3_600),
            clock: Arc::new(SystemClock),
        }
    }

    /// Returns the settings of an exchange on a free loopback port that keeps its record in memory.
    pub fn on_loopback() -> Self {
        Self {
            keep_log: true,
            ..Self::at(SocketAddr::from(([127, 0, 0, 1], 0)))
        }
    }
}

/// Reasons why an exchange cannot start.
#[derive(Debug, thiserror::Error)]
pub enum ExchangeError {
    /// The exchange cannot listen on the address.
    #[error("exchange cannot listen on {addr}: {source}{}", way_out(.source, "--listen"))]
    Listen {
        /// Listen address.
        addr: SocketAddr,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The record cannot be written.
    #[error("exchange cannot write its record {}: {source}", path.display())]
    Log {
        /// Path of the record.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The HTTP client for callbacks cannot be built.
    #[error("exchange cannot build its HTTP client: {0}")]
    Client(#[from] reqwest::Error),
}

/// State that all calls share.
struct Switch {
    settings: ExchangeSettings,
    log: Log,
    client: reqwest::Client,
    lines: Arc<Semaphore>,
    registry: Registry,
    /// Calls that the phones make themselves.
    calling: Calling,
    background: Arc<Background>,
    played_audio: PlayedAudio,
    stagger: Stagger,
    tasks: Mutex<JoinSet<()>>,
}

impl Switch {
    /// Starts a task that ends with the exchange.
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        while tasks.try_join_next().is_some() {}
        tasks.spawn(task);
    }
}

/// Starts exchanges.
#[derive(Debug, Clone, Copy)]
pub struct Exchange;

impl Exchange {
    /// Listens and serves until the handle is dropped or stopped.
    ///
    /// # Errors
    /// Returns an error if the address or the record file cannot be used.
    pub async fn start(settings: ExchangeSettings) -> Result<ExchangeHandle, ExchangeError> {
        let log = Log::open(settings.log.as_deref(), settings.keep_log, settings.clock.clone()).map_err(|source| {
            ExchangeError::Log {
                path: settings.log.clone().unwrap_or_default(),
                source,
            }
        })?;
        let addr = settings.listen;
        let listen = |source| ExchangeError::Listen { addr, source };
        let listener = TcpListener::bind(addr).await.map_err(listen)?;
        let addr = listener.local_addr().map_err(listen)?;
        let switch = Arc::new(Switch {
            log,
            client: callback::client()?,
            lines: Arc::new(Semaphore::new(settings.max_calls.min(Semaphore::MAX_PERMITS))),
            registry: Registry::default(),
            calling: Calling::default(),
            background: Arc::new(Background::new(settings.line_noise_dbfs)),
            played_audio: PlayedAudio::default(),
            stagger: Stagger::new(settings.spread_frames),
            tasks: Mutex::default(),
            settings,
        });
        let (stop, mut stopped) = watch::channel(());
        let app = http::router(switch.clone());
        let listener = listener.tap_io(|connection| {
            // Without this, a response may wait for the client's delayed acknowledgement.
            if let Err(error) = connection.set_nodelay(true) {
                tracing::debug!(%error, "cannot set TCP_NODELAY");
            }
        });
        let serve = axum::serve(listener, app).with_graceful_shutdown(async move {
            // Dropping the handle completes this too.
            let _ = stopped.changed().await;
        });
        let server = tokio::spawn(async move {
            if let Err(error) = serve.await {
                tracing::error!(%error, "exchange server failed");
            }
        });
        Ok(ExchangeHandle {
            addr,
            switch,
            server,
            stop,
        })
    }
}

/// A running exchange. Dropping it cuts off all calls at once.
pub struct ExchangeHandle {
    /// Listen address of the dial API.
    pub addr: SocketAddr,
    switch: Arc<Switch>,
    server: tokio::task::JoinHandle<()>,
    stop: watch::Sender<()>,
}

impl std::fmt::Debug for ExchangeHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ExchangeHandle")
            .field("addr", &self.addr)
            .finish_non_exhaustive()
    }
}

impl ExchangeHandle {
    /// Returns the base URL for a carrier client.
    pub fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// Returns the record so far, or nothing if it is not kept in memory.
    pub fn entries(&self) -> Vec<LogEntry> {
        self.switch.log.entries()
    }

    /// Returns all that the phone with this number has played in its latest call, at 8 kHz and with the silence between;
    /// nothing if audio is not kept.
    pub fn played(&self, number: &str) -> Vec<i16> {
        self.switch.played_audio.samples(number)
    }

    /// Returns the number of calls that ring or talk.
    pub fn live_calls(&self) -> usize {
        self.switch.registry.all_live().len()
    }

    /// Refuses new dials and hangs up all calls. Returns when their ends are reported and recorded, or after 5 s.
    pub async fn stop(self) {
        let _ = self.stop.send(());
        for entry in self.switch.registry.all_live() {
            entry.hang_up.notify_one();
        }
        let deadline = Instant::now() + CLOSE_WITHIN;
        let mut tasks = std::mem::take(&mut *self.switch.tasks.lock().unwrap_or_else(PoisonError::into_inner));
        let _ = tokio::time::timeout_at(deadline, async { while tasks.join_next().await.is_some() {} }).await;
        if let Ok(Err(error)) = timeout(CLOSE_WITHIN, self.switch.log.flush()).await {
            tracing::error!(%error, "exchange record incomplete");
        }
    }
}

impl Drop for ExchangeHandle {
    fn drop(&mut self) {
        self.server.abort();
        self.switch
            .tasks
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .abort_all();
    }
}

/// Runs the command `ringback phones`: an exchange in its own process, until `shutdown` completes.
///
/// # Errors
/// Returns an error if the address or the record file cannot be used.
pub async fn run_phones(settings: ExchangeSettings, shutdown: impl Future<Output = ()>) -> Result<(), ExchangeError> {
    let exchange = Exchange::start(settings).await?;
    tracing::info!(addr = %exchange.addr, "exchange listening");
    shutdown.await;
    exchange.stop().await;
    Ok(())
}

/// Reads a service's message to a phone, for fuzzing.
#[cfg(feature = "fuzzing")]
pub fn fuzzed(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data) {
        let _ = protocol::read(text, "MZ1");
    }
}
