//! A telephone exchange for tests, demos and benches. Ringback sees it as a carrier like any other: a dial
//! API, status callbacks, a list of calls, and telephones that open a media socket in Twilio's format. The
//! exchange knows only what a carrier knows about Ringback. It keeps its own record of every call, and tests
//! judge Ringback by that record.

mod audio;
mod call;
mod callback;
mod handset;
mod http;
mod inbound;
mod log;
mod onward;
mod persona;
mod phone;
mod protocol;
mod registry;
mod script;
mod settings;
mod switch;

use std::{
    io,
    net::SocketAddr,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use axum::{
    Router,
    extract::DefaultBodyLimit,
    routing::{delete, get, post},
    serve::ListenerExt,
};
use net::bind::way_out;
use tokio::{
    net::TcpListener,
    sync::{Semaphore, watch},
    time::{Instant, timeout},
};

pub(crate) use self::http::malformed;
use self::{
    audio::{played::PlayedAudio, stagger::Stagger},
    handset::Background,
    log::Log,
    registry::{Calling, Registry},
    switch::Switch,
};
pub use self::{
    handset::Figures,
    log::{LogEntry, LogEvent, read_log},
    persona::Persona,
    script::{Echo, LineSound, MediaFaults, Script, Stall, Step},
    settings::ExchangeSettings,
};

/// Longest time for calls to end when the exchange closes.
const CLOSE_WITHIN: Duration = Duration::from_secs(5);
/// Largest request.
const MAX_BODY_BYTES: usize = 64 * 1024;

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

/// Returns the routes of the dial API.
fn router(switch: Arc<Switch>) -> Router {
    Router::new()
        .route("/v1/calls", post(http::dial).get(http::list))
        .route("/v1/calls/{call}", delete(http::hang_up))
        .route("/v1/calls/{call}/transfer", post(http::transfer))
        .route("/v1/calls/{call}/media", post(http::media))
        .route("/v1/inbound", post(inbound::call_in))
        .route("/v1/inbound/{call}", get(inbound::who_calls))
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
        .with_state(switch)
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
        let app = router(switch.clone());
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
