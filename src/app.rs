//! Builds the running service from its settings. This is the only module where ports meet adapters.

mod metrics;
mod opening;
mod parts;
mod services;
mod trunks;

use std::{net::SocketAddr, sync::Arc, time::Duration};

use actors::{journal::LiveFact, node::NodeHandle};
use axum::{
    Router,
    extract::{Request, State},
    http::{HeaderValue, StatusCode, header},
    middleware::{self, Next},
    response::Response,
    routing::get,
};
use tokio::{
    sync::{broadcast, watch},
    task::{JoinHandle, JoinSet},
    time::{Instant, timeout},
};

pub use self::{opening::Opened, parts::try_voice};
use self::{
    opening::{StartError, connections, server_limits},
    parts::{Parts, address_policy, delivery_worker, documents, recordings_dir},
    services::InstalledServices,
    trunks::{OwnListener, Trunks},
};
use crate::{config::ServeConfig, load::ReadyEndpoint, telemetry};
use carriers::{CarrierLink, numbers::NumberLists};
use dashboard::Dashboard;
use integrations::analysis_worker;
use peers::Peers;
use providers::limits;
use rest::{
    CheckedServices, RateLimit, RestState, Site,
    server::{self, Endpoint},
    widget,
};
use sim::exchange::ExchangeHandle;
use storage::SqlStore;

/// How long analyses in progress may take after that. Another process does those that are cut off.
const LAST_ANALYSES: Duration = Duration::from_secs(8);

/// How long deliveries may take after the analyses. Each delivery that is due gets one try.
const LAST_DELIVERIES: Duration = Duration::from_secs(8);

/// How long the database may take to close.
const CLOSE_WITHIN: Duration = Duration::from_secs(3);

/// The running service.
pub struct App {
    /// Address that it serves.
    pub address: SocketAddr,
    /// The same address with `http://` or `https://` in front.
    pub url: String,
    /// Database.
    pub store: Arc<SqlStore>,
    /// Facts of calls as they happen.
    pub live: broadcast::Sender<LiveFact>,
    node: Arc<NodeHandle>,
    peers: Peers,
    /// Time after the signal to stop in which requests are still accepted if other nodes are alive.
    leaves_within: Duration,
    stop_serving: watch::Sender<bool>,
    /// Stops the delivery worker after the server, so that the last results are delivered too.
    stop_delivering: watch::Sender<bool>,
    deliveries: JoinHandle<()>,
    server: JoinSet<()>,
    analyses: JoinHandle<()>,
    tasks: JoinSet<()>,
    /// Exchange of the simulated carrier, if it runs in this process.
    _exchange: Option<ExchangeHandle>,
}

impl App {
    /// Binds the address, opens the database, connects the parts and serves.
    ///
    /// # Errors
    ///
    /// Returns an error if the address, the certificate or the database cannot be used.
    pub async fn start(config: ServeConfig) -> Result<Self, StartError> {
        Self::serve(Self::open(config).await?).await
    }

    /// Binds the address and opens the database. Waits `RINGBACK_START_WAIT_SECONDS` for a database server
    /// that is unreachable. To give up, drop the future.
    ///
    /// # Errors
    ///
    /// Returns an error if the address, the certificate or the database cannot be used.
    pub async fn open(config: ServeConfig) -> Result<Opened, StartError> {
        Opened::new(config).await
    }

    /// Connects the parts and serves.
    ///
    /// # Errors
    ///
    /// Returns an error if a setting, a folder or the database cannot be used.
    pub async fn serve(opened: Opened) -> Result<Self, StartError> {
        metrics::handle();
        let mut trunks = trunks::join(&opened.config, opened.address).await?;
        let parts = Parts::start(&opened, trunks.carriers.clone()).await?;
        let Opened {
            config,
            listener,
            address,
            tls,
            ..
        } = opened;

        let (stop_serving, stopped) = watch::channel(false);
        let (stop_delivering, delivered) = watch::channel(false);
        let worker = delivery_worker(&config, &parts)?;
        let deliveries = tokio::spawn(worker.run(delivered));
        let limits = server_limits(&config);
        let mut server = JoinSet::new();
        if let Some(OwnListener { listener, endpoints }) = trunks.own_listener.take() {
            let endpoint = CarrierLink::new(parts.node.switchboard.clone());
            let router = carriers::router(&endpoint, [(trunks::SIMULATED, endpoints)]);
            let router = router.layer(middleware::from_fn(telemetry::measure));
            let stopped = wait_for_true(stopped.clone());
            server.spawn(server::serve(listener, router, limits.clone(), stopped));
        }
        let (event_listeners, exchange) = (std::mem::take(&mut trunks.event_listeners), trunks.exchange.take());
        let router = router(&config, &parts, trunks, address, stopped.clone())?;
        let endpoint = Endpoint::new(listener, tls);
        server.spawn(server::serve(endpoint, router, limits, wait_for_true(stopped.clone())));
        let analyst = parts.providers.llm.clone();
        let analyses = analysis_worker::run(parts.store.clone(), analyst, parts.gate.clone(), stopped);
        let mut tasks = JoinSet::new();
        parts.run_background(&config, &mut tasks);
        for event_listener in event_listeners {
            tasks.spawn(event_listener(CarrierLink::new(parts.node.switchboard.clone())));
        }
        Ok(Self {
            address,
            url: format!("{}://{address}", config.tls.scheme()),
            store: parts.store,
            live: parts.node.live.clone(),
            node: parts.node,
            peers: parts.peers,
            leaves_within: Duration::from_secs(config.leave_seconds),
            stop_serving,
            stop_delivering,
            deliveries,
            server,
            analyses: tokio::spawn(analyses),
            tasks,
            _exchange: exchange,
        })
    }

    /// Waits until a database write fails in such a way that the store can no longer be trusted.
    pub fn storage_failed(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut failed = self.store.failed();
        async move {
            if failed.wait_for(|failed| *failed).await.is_err() {
                // The store was closed, which is not a failure.
                std::future::pending::<()>().await;
            }
        }
    }

    /// Waits until this process is refused as a node of the database. Returns the reason and the way out.
    pub fn refused(&self) -> impl Future<Output = String> + Send + use<> {
        self.node.refused()
    }

    /// Tells the other nodes that this process ends at once. Returns whether the database recorded it.
    pub fn last_word(&self) -> impl Future<Output = bool> + Send + use<> {
        self.node.last_word()
    }

    /// Stops the service. It places no new calls, gives calls in progress `grace` to end, hangs up the rest
    /// and writes everything down. Then it answers the requests in progress and frees the address and the
    /// database.
    pub async fn stop(mut self, grace: Duration) {
        let told = Instant::now();
        let left = || grace.saturating_sub(told.elapsed());
        // Sockets of calls that other nodes hold also pass through this node.
        tokio::join!(
            self.node.drain(grace, self.leaves_within),
            self.peers.drain(grace),
            self.peers.let_followers_go(grace.min(self.leaves_within)),
        );
        // Each of these may have arrived since the step before: an inbound call, a live call of a node that
        // has died meanwhile, and a socket that is passed on.
        self.node.take_no_more(left()).await;
        self.peers.drain(left()).await;
        self.peers.close();
        let _ = self.stop_serving.send(true);
        while self.server.join_next().await.is_some() {}
        // The analysis worker was told to stop together with the server. Its time is bounded.
        if timeout(LAST_ANALYSES, &mut self.analyses).await.is_err() {
            self.analyses.abort();
        }
        // The delivery worker's time is bounded too.
        let _ = self.stop_delivering.send(true);
        if timeout(LAST_DELIVERIES, &mut self.deliveries).await.is_err() {
            self.deliveries.abort();
        }
        self.tasks.abort_all();
        while self.tasks.join_next().await.is_some() {}
        if let Some(node) = Arc::into_inner(self.node) {
            node.stop().await;
        }
        if timeout(CLOSE_WITHIN, self.store.close()).await.is_err() {
            tracing::warn!("database not closed in time; acknowledged writes are on disk");
        }
    }
}

fn router(
    config: &ServeConfig,
    parts: &Parts,
    trunks: Trunks,
    address: SocketAddr,
    stopping: watch::Receiver<bool>,
) -> Result<Router, StartError> {
    let Parts { store, node, peers, .. } = parts.clone();
    let spool_dir = config.storage.data_dir.join("spool");
    std::fs::create_dir_all(&spool_dir).map_err(|e| format!("cannot use {}: {e}", spool_dir.display()))?;
    let carrier_is_simulated = !trunks
        .carriers
        .all()
        .any(|carrier| carrier.name() != trunks::SIMULATED && carrier.dials());
    let switchboard = node.switchboard.clone();
    let address_policy = address_policy(config);
    let voices = parts.providers.tts.clone();
    let forget_here: Arc<dyn Fn() + Send + Sync> = Arc::new(move || voices.forget_people());
    let of_peers = peers::routes::router(&peers, switchboard.clone(), forget_here.clone());
    let everywhere = peers.clone();
    let visitors = Arc::new(RateLimit::per_second(config.rate_limit));
    let widget = widget::router(store.clone(), visitors);
    let ready = ReadyEndpoint {
        node: node.clone(),
        store: store.clone(),
        gate: parts.gate.clone(),
        carriers: trunks.bulkheads,
    };
    let numbers = NumberLists::new(&trunks.settings)?;
    let services = InstalledServices {
        config: config.clone(),
        carriers: trunks.carriers,
        accounts: trunks.settings,
        parts: parts.clone(),
        ready: ready.clone(),
    };
    let provider_config = config.providers.clone();
    let public_url = trunks::public_url(config, address);
    let site = Site::new(&public_url, config.tls.is_set());
    let dashboard = Dashboard::new(store.clone(), site.clone(), dashboard::EMBEDDED);
    let rest = rest::router(RestState {
        store,
        switchboard: switchboard.clone(),
        peers: peers.clone(),
        public_url: public_url.into(),
        site,
        sign_in_limit: Arc::default(),
        carrier_is_simulated,
        talking: parts.talking.clone(),
        texting: parts.texting.clone(),
        dialing: parts.dialing.clone(),
        limits: Arc::new(move |agent| limits::texts(agent, &provider_config)),
        catalog: parts.providers.catalog.clone(),
        numbers: Arc::new(numbers),
        forget_speech: Arc::new(move || {
            forget_here();
            everywhere.forget_speech();
        }),
        gate: parts.gate.clone(),
        rate_limit: Arc::new(RateLimit::per_second(config.rate_limit)),
        spool_dir,
        recordings_dir: recordings_dir(config),
        upload_limit: rest::upload_limit(),
        event_stream_limit: rest::event_stream_limit(connections(config)),
        account_events: rest::AccountEvents::new(connections(config)),
        live: rest::LiveAccess::new(config.max_listeners, &config.cors_origins),
        stopping,
        documents: Arc::new(documents(&address_policy)?),
        knowledge: parts.knowledge.clone(),
        services: CheckedServices::new(Arc::new(services)),
        address_policy,
        prices: config.prices.clone(),
    });
    let rest = rest::with_cors(rest, &config.cors_origins);
    let leaving = node.clone();
    let rendered = get(move || {
        let node = node.clone();
        async move { metrics::render(&node).await }
    });
    let routes = rest
        .merge(carriers::router(
            &CarrierLink::new(switchboard).among(peers),
            trunks.endpoints,
        ))
        .merge(of_peers)
        .merge(rest::openapi::docs_router())
        .merge(widget)
        .merge(ready.router())
        .route("/metrics", rendered);
    Ok(dashboard
        .with(routes)
        .layer(middleware::from_fn_with_state(leaving, part))
        .layer(middleware::from_fn(telemetry::measure)))
}

/// Closes connections after their response while the node is leaving: a further request on them would be cut
/// off when the process ends.
async fn part(State(node): State<Arc<NodeHandle>>, request: Request, next: Next) -> Response {
    let mut answer = next.run(request).await;
    if node.switchboard.is_draining() && answer.status() != StatusCode::SWITCHING_PROTOCOLS {
        answer
            .headers_mut()
            .insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    answer
}

async fn wait_for_true(mut flag: watch::Receiver<bool>) {
    // A dropped sender means that the app is gone, which also counts as a stop.
    let _ = flag.wait_for(|stop| *stop).await;
}
