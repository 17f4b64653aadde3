//! The one place where ports meet adapters: builds the running service from its settings.

mod parts;
mod trunks;

use std::{
    net::SocketAddr,
    path::PathBuf,
    sync::{Arc, OnceLock},
    time::Duration,
};

use actors::{
    journal::LiveFact,
    node::{Node, NodeArguments, NodeHandle},
};
use axum::{
    Router,
    extract::{Request, State},
    http::{HeaderValue, StatusCode, header},
    middleware::{self, Next},
    response::Response,
    routing::get,
};
use domain::{
    admission::Gate,
    ports::{
        Ports,
        store::{Fact, Store},
        tool_runner::ToolRunner,
    },
    time::{Clock, SystemClock},
};
use metrics_exporter_prometheus::PrometheusHandle;
use tokio::{
    net::TcpListener,
    sync::{broadcast, watch},
    task::{JoinHandle, JoinSet},
    time::{Instant, timeout},
};

pub use self::parts::try_voice;
use self::{
    parts::{
        address_policy, courier, documents, http_tools, keep_dial_journal, node_settings, peers, recordings,
        recordings_dir, shelf, team,
    },
    trunks::{SideDoor, Trunks},
};
use crate::{
    config::ServeConfig,
    load::{self, ReadyDoor},
    telemetry,
};
use carriers::CarrierDoor;
use integrations::{
    analysis_worker,
    calendars::{self, Calendars},
    deliveries,
};
use net::bind::bind;
use peers::Peers;
use providers::{configured::Configured, prober, summary};
use rest::{
    RateLimit, Readiness, RestState,
    server::{self, Endpoint, ServerLimits},
    widget,
};
use sim::exchange::ExchangeHandle;
use storage::{SqlStore, retention};

/// How long requests in progress may take after the last call of a drain.
const LAST_ANSWERS: Duration = Duration::from_secs(30);

/// How long analyses under way may take after that. What is cut off is done by the next process.
const LAST_ANALYSES: Duration = Duration::from_secs(8);

/// How long deliveries may take after those: what is due gets a try.
const LAST_DELIVERIES: Duration = Duration::from_secs(8);

/// How long the database may take to close.
const CLOSE_WITHIN: Duration = Duration::from_secs(3);

/// How often measured times are put into their histograms; until then each takes memory.
const METRICS_UPKEEP: Duration = Duration::from_secs(5);

type StartError = Box<dyn std::error::Error + Send + Sync>;

/// The running service.
pub struct App {
    /// The address it serves.
    pub address: SocketAddr,
    /// The same with `http://` or `https://` before it.
    pub url: String,
    /// The database.
    pub store: Arc<SqlStore>,
    /// Facts of calls as they happen.
    pub live: broadcast::Sender<LiveFact>,
    node: Arc<NodeHandle>,
    peers: Peers,
    /// How long it takes requests while others are told not to send any.
    leaves_within: Duration,
    stop_serving: watch::Sender<bool>,
    /// After the server's: what ended last is to be told, too.
    stop_delivering: watch::Sender<bool>,
    courier: JoinHandle<()>,
    server: JoinSet<()>,
    analyses: JoinHandle<()>,
    tasks: JoinSet<()>,
    /// The exchange of the simulated carrier, when it is in this process.
    _exchange: Option<ExchangeHandle>,
}

impl App {
    /// Binds, opens the database, joins the parts and serves.
    ///
    /// # Errors
    ///
    /// When the address, the certificate or the database cannot be used.
    pub async fn start(config: ServeConfig) -> Result<Self, StartError> {
        metrics_handle();
        let (tls, times) = (config.tls.load()?, config.times.times()?);
        let listener = bind(config.listen)
            .and_then(TcpListener::from_std)
            .map_err(|e| format!("RINGBACK_LISTEN {}: cannot listen there: {e}", config.listen))?;
        let address = listener.local_addr()?;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let database_url = &config.storage.database_url;
        let store = SqlStore::open(database_url.secret(), clock.clone()).await;
        let store = store.map_err(|e| format!("DATABASE_URL {database_url}: {e}"))?;
        let store = Arc::new(store.of_nodes(times));
        keep_dial_journal(&config, &store).await?;

        let Trunks {
            carriers,
            doors: carrier_doors,
            attendants,
            exchange,
            side_door,
            bulkheads,
        } = trunks::join(&config, address).await?;
        let nobody_is_called = carriers
            .all()
            .all(|carrier| carrier.name() == trunks::SIMULATED || !carrier.dials());
        let lines = trunks::lines(carriers.clone());
        let team = Arc::new(team(&config)?);
        team.check_names().await?;
        for line in summary::lines(&config.providers, &config.providers.settings()?) {
            tracing::info!("{line}");
        }
        let calendars = Arc::new(Calendars::new(
            store.clone(),
            clock.clone(),
            &config.calendars,
            config.mail.is_set(),
        )?);
        let http_tools = http_tools(&config, &store, &clock)?;
        let ports = Ports {
            store: store.clone(),
            carriers,
            transcriber: team.ears.clone(),
            synthesizer: team.voices.clone(),
            language_model: team.language.clone(),
            tools: Arc::new(vec![calendars.clone() as Arc<dyn ToolRunner>, Arc::new(http_tools)]),
            knowledge: Arc::new(shelf(&config, store.clone())?),
            health: Arc::new(team.health(clock.clone())),
            recordings: Arc::new(recordings(&config)?),
            clock: clock.clone(),
        };
        let settings = node_settings(&config, (address, times));
        let peers = peers(&config, &settings, (store.clone(), clock.clone()))?;
        let node = Node::start(NodeArguments { ports, settings }).await?;
        store.keep_live_calls(Arc::new(node.calls()));
        let node = Arc::new(node);
        let live = node.live.clone();

        let (stop_serving, stopped) = watch::channel(false);
        let (mut server, mut tasks) = (JoinSet::new(), JoinSet::new());
        let gate = Gate::default();
        let courier = courier(&config, store.clone(), clock.clone())?.behind(gate.clone());
        let (stop_delivering, delivered) = watch::channel(false);
        let courier = tokio::spawn(courier.run(delivered));
        let spool_dir = config.storage.data_dir.join("spool");
        std::fs::create_dir_all(&spool_dir).map_err(|e| format!("cannot use {}: {e}", spool_dir.display()))?;
        let doors = Doors {
            store: store.clone(),
            node: node.clone(),
            peers: peers.clone(),
            team: team.clone(),
            calendars: calendars.clone(),
            carriers: carrier_doors,
            nobody_is_called,
            lines,
            public_url: trunks::public_url(&config, address).into(),
            stopping: stopped.clone(),
            gate: gate.clone(),
            ready: ReadyDoor {
                node: node.clone(),
                store: store.clone(),
                gate: gate.clone(),
                carriers: bulkheads,
            },
        };
        let router = router(&config, spool_dir, doors)?;
        let limits = ServerLimits {
            shutdown_grace: LAST_ANSWERS,
            header_timeout: Duration::from_secs(config.idle_seconds),
            connections: usize::try_from(config.max_connections).unwrap_or(usize::MAX),
            ..ServerLimits::default()
        };
        if let Some(SideDoor { listener, doors }) = side_door {
            let router = carriers::router(
                &CarrierDoor::new(node.switchboard.clone()),
                [(trunks::SIMULATED, doors)],
            );
            let router = router.layer(middleware::from_fn(telemetry::measure));
            let stopped = wait_for_true(stopped.clone());
            server.spawn(server::serve(listener, router, limits.clone(), stopped));
        }
        let endpoint = Endpoint::new(listener, tls);
        server.spawn(server::serve(endpoint, router, limits, wait_for_true(stopped)));
        let stopping = stop_serving.subscribe();
        let analyses = analysis_worker::run(store.clone(), team.language.clone(), gate.clone(), stopping);
        let analyses = tokio::spawn(analyses);
        tasks.spawn(calendars::keep(calendars));
        let folder = recordings_dir(&config);
        tasks.spawn(retention::run(store.clone(), clock, folder, config.storage.kept));
        let dialed_on = store.clone();
        tasks.spawn(async move {
            tokio::join!(dialed_on.watch_server_history(), dialed_on.forget_old_dials());
        });
        tasks.spawn(load::watch(config.load, gate, store.clone(), node.switchboard.clone()));
        tasks.spawn(load::watch_mailboxes(node.switchboard.clone()));
        tasks.spawn(count(live.subscribe()));
        tasks.spawn(keep_metrics_small());
        tasks.spawn(prober::run(team.clone(), config.providers.clone()));
        for attendant in attendants {
            tasks.spawn(attendant(CarrierDoor::new(node.switchboard.clone())));
        }
        Ok(Self {
            address,
            url: format!("{}://{address}", config.tls.scheme()),
            store,
            live,
            node,
            peers,
            leaves_within: Duration::from_secs(config.leave_seconds),
            stop_serving,
            stop_delivering,
            courier,
            server,
            analyses,
            tasks,
            _exchange: exchange,
        })
    }

    /// Returns when a write to the database failed in a way after which nothing more may be trusted.
    pub fn storage_failed(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut failed = self.store.failed();
        async move {
            if failed.wait_for(|failed| *failed).await.is_err() {
                // The store was closed, which is no failure.
                std::future::pending::<()>().await;
            }
        }
    }

    /// Returns when the other nodes of the database will not have this one among them, with the reason and the way out.
    pub fn refused(&self) -> impl Future<Output = String> + Send + use<> {
        self.node.refused()
    }

    /// The last word of a process that is about to end at once, for the other nodes; whether the database heard it.
    pub fn last_word(&self) -> impl Future<Output = bool> + Send + use<> {
        self.node.last_word()
    }

    /// Places no new call, gives calls in progress `grace` to end, hangs up the rest, writes everything down, answers
    /// the requests in progress, and frees the address and the database.
    pub async fn stop(mut self, grace: Duration) {
        let told = Instant::now();
        let left = || grace.saturating_sub(told.elapsed());
        // Sockets of calls that other nodes hold go through this one, too.
        tokio::join!(self.node.drain(grace, self.leaves_within), self.peers.drain(grace));
        // Each of these may have come here since the last one before it: a call from outside, a live call of a node that died
        // meanwhile, and a socket that is passed on.
        self.node.take_no_more(left()).await;
        self.peers.drain(left()).await;
        self.peers.close();
        let _ = self.stop_serving.send(true);
        while self.server.join_next().await.is_some() {}
        // It was told to stop together with the server, and takes no longer than it may.
        if timeout(LAST_ANALYSES, &mut self.analyses).await.is_err() {
            self.analyses.abort();
        }
        // It takes no longer than it may, either.
        let _ = self.stop_delivering.send(true);
        if timeout(LAST_DELIVERIES, &mut self.courier).await.is_err() {
            self.courier.abort();
        }
        self.tasks.abort_all();
        while self.tasks.join_next().await.is_some() {}
        if let Some(node) = Arc::into_inner(self.node) {
            node.stop().await;
        }
        if timeout(CLOSE_WITHIN, self.store.close()).await.is_err() {
            tracing::warn!("the database was not closed in time; what was answered is on disk");
        }
    }
}

/// What the routes lead to.
struct Doors {
    store: Arc<dyn Store>,
    node: Arc<NodeHandle>,
    peers: Peers,
    team: Arc<Configured>,
    calendars: Arc<Calendars>,
    carriers: Vec<(&'static str, Router<CarrierDoor>)>,
    nobody_is_called: bool,
    lines: Readiness,
    public_url: Arc<str>,
    stopping: watch::Receiver<bool>,
    gate: Gate,
    ready: ReadyDoor,
}

fn router(config: &ServeConfig, spool_dir: PathBuf, doors: Doors) -> Result<Router, StartError> {
    let Doors {
        store,
        node,
        peers,
        team,
        calendars,
        carriers,
        nobody_is_called,
        lines,
        public_url,
        stopping,
        gate,
        ready,
    } = doors;
    let switchboard = node.switchboard.clone();
    let (address_policy, mail) = (address_policy(config), config.mail.is_set());
    let voices = team.voices.clone();
    let forget_here: Arc<dyn Fn() + Send + Sync> = Arc::new(move || voices.forget_people());
    let of_peers = peers::routes::router(&peers, switchboard.clone(), forget_here.clone());
    let everywhere = peers.clone();
    let visitors = Arc::new(RateLimit::per_second(config.rate_limit));
    let widget = widget::router(store.clone(), visitors);
    let rest = rest::router(RestState {
        store,
        switchboard: switchboard.clone(),
        peers: peers.clone(),
        public_url,
        carrier_is_simulated: nobody_is_called,
        readiness: Arc::new(move |agent| {
            team.ready_for(agent)?;
            deliveries::mail_ready_for(mail, agent)?;
            calendars.ready_for(agent)
        }),
        forget_speech: Arc::new(move || {
            forget_here();
            everywhere.forget_speech();
        }),
        lines,
        gate,
        rate_limit: Arc::new(RateLimit::per_second(config.rate_limit)),
        spool_dir,
        recordings_dir: recordings_dir(config),
        upload_limit: rest::upload_limit(),
        event_stream_limit: rest::event_stream_limit(),
        stopping,
        documents: Arc::new(documents(&address_policy)?),
        address_policy,
    });
    let rest = rest::with_cors(rest, &config.cors_origins);
    let leaving = node.clone();
    let metrics = get(move || {
        let node = node.clone();
        async move { render_metrics(&node).await }
    });
    Ok(rest
        .merge(carriers::router(&CarrierDoor::new(switchboard).among(peers), carriers))
        .merge(of_peers)
        .merge(rest::openapi::docs_router())
        .merge(widget)
        .merge(ready.router())
        .route("/metrics", metrics)
        .layer(middleware::from_fn_with_state(leaving, part))
        .layer(middleware::from_fn(telemetry::measure)))
}

/// While the node leaves, no connection is kept for another request: it would meet the end of the process.
async fn part(State(node): State<Arc<NodeHandle>>, request: Request, next: Next) -> Response {
    let mut answer = next.run(request).await;
    if node.switchboard.is_draining() && answer.status() != StatusCode::SWITCHING_PROTOCOLS {
        answer
            .headers_mut()
            .insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    answer
}

/// Only one recorder can be installed in a process; several apps in one (tests) share it.
static METRICS: OnceLock<Option<PrometheusHandle>> = OnceLock::new();

fn metrics_handle() -> &'static Option<PrometheusHandle> {
    METRICS.get_or_init(|| telemetry::init_metrics().ok())
}

async fn render_metrics(node: &NodeHandle) -> String {
    telemetry::set_gauges(node.switchboard.inspect().await, node.actors());
    telemetry::set_journal(node.backlog());
    metrics_handle()
        .as_ref()
        .map(PrometheusHandle::render)
        .unwrap_or_default()
}

/// Without a reader of the metrics nothing else would empty what they gather.
async fn keep_metrics_small() {
    let Some(metrics) = metrics_handle() else { return };
    let mut upkeep = tokio::time::interval(METRICS_UPKEEP);
    loop {
        upkeep.tick().await;
        metrics.run_upkeep();
    }
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
            }) => telemetry::count_event(&event),
            Err(broadcast::error::RecvError::Lagged(_)) => {}
            Err(broadcast::error::RecvError::Closed) => return,
        }
    }
}

async fn wait_for_true(mut flag: watch::Receiver<bool>) {
    // A dropped sender means the app is gone, which is a stop too.
    let _ = flag.wait_for(|stop| *stop).await;
}
