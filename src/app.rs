//! The one place where ports meet adapters: builds the running service from its settings.

use std::{
    net::SocketAddr,
    path::PathBuf,
    sync::{Arc, OnceLock},
    time::Duration,
};

use actors::{
    agent::{Agent, DEFAULT_LLM, DEFAULT_VOICE},
    audio_stream::StreamSettings,
    id::NodeId,
    interviewer::Interviewer,
    journal::LiveFact,
    node::{Node, NodeArguments, NodeHandle, NodeSettings},
    ports::{Ports, store::Fact, store::Store},
    time::{Clock, SystemClock},
};
use axum::{Router, routing::get};
use metrics_exporter_prometheus::PrometheusHandle;
use tokio::{
    net::TcpListener,
    sync::{broadcast, watch},
    task::JoinSet,
};

use crate::{
    analysis_worker,
    carriers::{self, CarrierDoor, simulated::SimulatedCarrier},
    config::ServeConfig,
    exchange::{Exchange, ExchangeHandle, ExchangeSettings},
    recordings::WavRecordings,
    rest::{self, RestState},
    server::{self, ServerLimits},
    speech::babble::{BabbleSynthesizer, BabbleTranscriber},
    storage::SqlStore,
    telemetry,
};

type StartError = Box<dyn std::error::Error + Send + Sync>;

/// The running service.
pub struct App {
    /// The address it serves.
    pub address: SocketAddr,
    /// The database.
    pub store: Arc<SqlStore>,
    /// Facts of calls as they happen.
    pub live: broadcast::Sender<LiveFact>,
    node: Arc<NodeHandle>,
    stop_serving: watch::Sender<bool>,
    tasks: JoinSet<()>,
    /// The exchange of the simulated carrier, when it is in this process.
    _exchange: Option<ExchangeHandle>,
}

impl App {
    /// Binds, opens the database, joins the parts and serves.
    ///
    /// # Errors
    ///
    /// When the address or the database cannot be used.
    pub async fn start(config: ServeConfig) -> Result<Self, StartError> {
        metrics_handle();
        let listener = TcpListener::bind(config.listen)
            .await
            .map_err(|e| format!("RINGBACK_LISTEN {}: cannot listen there: {e}", config.listen))?;
        let address = listener.local_addr()?;
        let public_url = config.public_url.clone().unwrap_or_else(|| format!("http://{address}"));
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let database_url = &config.storage.database_url;
        let store = SqlStore::open(database_url, clock.clone()).await;
        let store = Arc::new(store.map_err(|e| format!("DATABASE_URL {database_url}: {e}"))?);

        let (exchange, exchange_url) = exchange(&config).await?;
        let ports = Ports {
            store: store.clone(),
            carrier: Arc::new(SimulatedCarrier::new(&exchange_url, &public_url)?),
            transcriber: Arc::new(BabbleTranscriber),
            synthesizer: Arc::new(BabbleSynthesizer),
            language_model: Arc::new(Interviewer),
            recordings: Arc::new(recordings(&config)?),
            clock,
        };
        let node = Node::start(NodeArguments {
            ports,
            settings: node_settings(&config),
        })
        .await?;
        let node = Arc::new(node);
        let live = node.live.clone();

        let (stop_serving, stopped) = watch::channel(false);
        let mut tasks = JoinSet::new();
        let spool_dir = config.storage.data_dir.join("spool");
        std::fs::create_dir_all(&spool_dir).map_err(|e| format!("cannot use {}: {e}", spool_dir.display()))?;
        let router = router(&config, spool_dir, store.clone(), node.clone());
        tasks.spawn(server::serve(
            listener,
            router,
            ServerLimits::default(),
            wait_for_true(stopped),
        ));
        tasks.spawn(analysis_worker::run(store.clone()));
        tasks.spawn(count(live.subscribe()));
        Ok(Self {
            address,
            store,
            live,
            node,
            stop_serving,
            tasks,
            _exchange: exchange,
        })
    }

    /// Returns when a write to the database failed in a way after which nothing more may be trusted.
    pub async fn storage_failed(&self) {
        // An error means the writer is gone, which is no better.
        let _ = self.store.failed().wait_for(|failed| *failed).await;
    }

    /// Places no new call, gives calls in progress `grace` to end, hangs up the rest, writes everything down, and
    /// stops serving.
    pub async fn stop(mut self, grace: Duration) {
        self.node.drain(grace).await;
        let _ = self.stop_serving.send(true);
        self.tasks.abort_all();
        while self.tasks.join_next().await.is_some() {}
        if let Some(node) = Arc::into_inner(self.node) {
            node.stop().await;
        }
    }
}

async fn exchange(config: &ServeConfig) -> Result<(Option<ExchangeHandle>, String), StartError> {
    if let Some(url) = &config.simulated_url {
        return Ok((None, url.clone()));
    }
    let loopback = SocketAddr::from(([127, 0, 0, 1], 0));
    let exchange = Exchange::start(ExchangeSettings::at(loopback)).await?;
    let url = exchange.url();
    Ok((Some(exchange), url))
}

fn node_settings(config: &ServeConfig) -> NodeSettings {
    NodeSettings {
        node: NodeId::new(),
        lines: config.max_calls as usize,
        calls_per_second: config.calls_per_second,
        ring_timeout: Duration::from_secs(u64::from(config.ring_timeout_seconds)),
        stream: StreamSettings {
            fixed_pause_ms: config.fixed_pause_ms,
        },
    }
}

fn recordings(config: &ServeConfig) -> Result<WavRecordings, StartError> {
    let folder = config.storage.data_dir.join("recordings");
    WavRecordings::new(folder.clone())
        .map_err(|e| format!("cannot use {} for recordings: {e}", folder.display()).into())
}

fn router(config: &ServeConfig, spool_dir: PathBuf, store: Arc<dyn Store>, node: Arc<NodeHandle>) -> Router {
    let switchboard = node.door();
    let rest = rest::router(RestState {
        store,
        switchboard: switchboard.clone(),
        carrier_is_simulated: config.carrier == "simulated",
        readiness: Arc::new(readiness),
        spool_dir,
    });
    let metrics = get(move || {
        let node = node.clone();
        async move { render_metrics(&node).await }
    });
    rest.merge(carriers::router(CarrierDoor::new(switchboard)))
        .route("/metrics", metrics)
}

/// Whether this build has what an agent asks for.
fn readiness(agent: &Agent) -> Result<(), String> {
    let config = &agent.conversation_config;
    let llm = &config.agent.prompt.llm;
    if llm != DEFAULT_LLM {
        return Err(format!(
            "language model `{llm}` is not configured; `{DEFAULT_LLM}` needs nothing"
        ));
    }
    let voice = &config.tts.voice_id;
    match voice.split_once(':') {
        Some((provider, _)) if provider != "babble" => Err(format!(
            "voice `{voice}` is not configured; `{DEFAULT_VOICE}` needs nothing"
        )),
        _ => Ok(()),
    }
}

/// Only one recorder can be installed in a process; several apps in one (tests) share it.
static METRICS: OnceLock<Option<PrometheusHandle>> = OnceLock::new();

fn metrics_handle() -> &'static Option<PrometheusHandle> {
    METRICS.get_or_init(|| telemetry::init_metrics().ok())
}

async fn render_metrics(node: &NodeHandle) -> String {
    if let Some(snapshot) = node.inspect().await {
        telemetry::set_gauges(snapshot);
    }
    metrics_handle()
        .as_ref()
        .map(PrometheusHandle::render)
        .unwrap_or_default()
}

/// Counts facts as they happen. A lagging counter skips: figures are not records.
async fn count(mut facts: broadcast::Receiver<LiveFact>) {
    loop {
        match facts.recv().await {
            Ok(LiveFact {
                fact: Fact::Turn(turn), ..
            }) => telemetry::count_turn(turn.speaker),
            Ok(LiveFact {
                fact: Fact::Event(event),
                ..
            }) => telemetry::count_event(&event.name),
            Err(broadcast::error::RecvError::Lagged(_)) => {}
            Err(broadcast::error::RecvError::Closed) => return,
        }
    }
}

async fn wait_for_true(mut flag: watch::Receiver<bool>) {
    // A dropped sender means the app is gone, which is a stop too.
    let _ = flag.wait_for(|stop| *stop).await;
}
