//! Parts of the service, each built from the settings.

use std::{net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use actors::{
    audio_stream::StreamSettings,
    node::{Node, NodeArguments, NodeHandle, NodeSettings},
};
use domain::{
    admission::Gate,
    id::NodeId,
    node_times::Times,
    ports::{Ports, Readiness, carrier::Carriers, knowledge::KnowledgeBase, store::Store, tool_runner::ToolRunner},
    time::Clock,
};
use tokio::task::JoinSet;

use super::{
    metrics,
    opening::{Opened, StartError},
    trunks::line_for,
};
use crate::{config::ServeConfig, load, telemetry};
use integrations::{
    calendars::{self, Calendars},
    deliveries::{self, DeliveryWorker, Pace, WebhookLimits, WebhookSender},
    documents::{DocumentSettings, Documents, extract::this_program},
    http_tools::HttpTools,
};
use net::address_policy::{AddressPolicy, SystemResolver};
use peers::{Peers, PeersSettings, directory::StoreDirectory};
use providers::{
    babble::BabbleTranscriber,
    configured::Configured,
    knowledge::{Embeddings, KnowledgeCache},
    prober, summary,
};
use storage::{SqlStore, call_counting, call_notes, recordings::WavRecordings, retention};

/// Parts of the service.
#[derive(Clone)]
pub(super) struct Parts {
    pub(super) store: Arc<SqlStore>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) providers: Arc<Configured>,
    pub(super) calendars: Arc<Calendars>,
    pub(super) knowledge: Arc<dyn KnowledgeBase>,
    /// Check that an agent can talk.
    pub(super) talking: Readiness,
    /// Check that it can answer in text.
    pub(super) texting: Readiness,
    /// Check that its outbound calls can be held and go out.
    pub(super) dialing: Readiness,
    pub(super) node: Arc<NodeHandle>,
    pub(super) peers: Peers,
    pub(super) gate: Gate,
}

impl Parts {
    /// Connects ports and adapters, and starts the node.
    pub(super) async fn start(opened: &Opened, carriers: Carriers) -> Result<Self, StartError> {
        let Opened {
            config, store, clock, ..
        } = opened;
        let providers = Arc::new(providers(config)?);
        providers.check_names().await?;
        for line in summary::lines(&config.providers, &config.providers.settings()?) {
            tracing::info!("{line}");
        }
        let (calendar, mail) = (&config.calendars, config.mail.is_set());
        let calendars = Arc::new(Calendars::new(store.clone(), clock.clone(), calendar, mail)?);
        let http_tools = http_tools(config, store, clock)?;
        let knowledge: Arc<dyn KnowledgeBase> = Arc::new(knowledge(config, store.clone())?);
        let texting = texting(providers.clone(), mail, calendars.clone());
        let talking = talking(texting.clone(), providers.clone());
        let dialing = dialing(talking.clone(), carriers.clone());
        let ports = Ports {
            store: store.clone(),
            carriers,
            transcriber: providers.stt.clone(),
            synthesizer: providers.tts.clone(),
            language_model: providers.llm.clone(),
            analyst: providers.llm.clone(),
            tools: Arc::new(vec![calendars.clone() as Arc<dyn ToolRunner>, Arc::new(http_tools)]),
            knowledge: knowledge.clone(),
            health: Arc::new(providers.health(clock.clone())),
            readiness: dialing.clone(),
            recordings: Arc::new(recordings(config)?),
            clock: clock.clone(),
        };
        let settings = node_settings(config, opened.address, opened.times);
        let peers = peers(config, &settings, store.clone(), clock.clone())?;
        let node = Arc::new(Node::start(NodeArguments { ports, settings }).await?);
        store.keep_live_calls(Arc::new(node.calls()));
        Ok(Self {
            store: store.clone(),
            clock: clock.clone(),
            providers,
            calendars,
            knowledge,
            node,
            peers,
            talking,
            texting,
            dialing,
            gate: Gate::default(),
        })
    }

    /// Starts the tasks that run until the service stops.
    pub(super) fn run_background(&self, config: &ServeConfig, tasks: &mut JoinSet<()>) {
        let (store, switchboard) = (self.store.clone(), self.node.switchboard.clone());
        tasks.spawn(calendars::keep(self.calendars.clone()));
        let (folder, kept) = (recordings_dir(config), config.storage.kept);
        tasks.spawn(retention::run(store.clone(), self.clock.clone(), folder, kept));
        tasks.spawn(call_notes::run(store.clone(), self.gate.clone()));
        let prices = config.prices.clone();
        tasks.spawn(call_counting::run(store.clone(), self.gate.clone(), prices));
        tasks.spawn(load::watch(
            config.load,
            self.gate.clone(),
            store.clone(),
            switchboard.clone(),
        ));
        tasks.spawn(async move {
            tokio::join!(store.watch_server_history(), store.forget_old_dials());
        });
        tasks.spawn(load::watch_mailboxes(switchboard));
        tasks.spawn(telemetry::count(self.node.live.subscribe()));
        tasks.spawn(metrics::keep_small());
        tasks.spawn(prober::run(self.providers.clone(), config.providers.clone()));
    }
}

fn talking(texting: Readiness, providers: Arc<Configured>) -> Readiness {
    Arc::new(move |agent| {
        providers.ready_for(agent)?;
        texting(agent)
    })
}

fn texting(providers: Arc<Configured>, mail: bool, calendars: Arc<Calendars>) -> Readiness {
    Arc::new(move |agent| {
        providers.ready_in_text(agent)?;
        deliveries::mail_ready_for(mail, agent)?;
        calendars.ready_for(agent)
    })
}

fn dialing(talking: Readiness, carriers: Carriers) -> Readiness {
    Arc::new(move |agent| {
        talking(agent)?;
        line_for(agent, &carriers)
    })
}

fn node_settings(config: &ServeConfig, address: SocketAddr, times: Times) -> NodeSettings {
    NodeSettings {
        node: NodeId::new(),
        address: config.node_address(address),
        times,
        lines: config.max_calls as usize,
        calls_per_second: config.dials_per_second(),
        ring_timeout: Duration::from_secs(u64::from(config.ring_timeout_seconds)),
        stream: StreamSettings {
            fixed_pause_ms: config.fixed_pause_ms,
        },
        speculation: config.speculation.into(),
    }
}

/// Returns the client of other nodes; only a database server can have several.
fn peers(
    config: &ServeConfig,
    node: &NodeSettings,
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
) -> Result<Peers, StartError> {
    if !config.storage.database_url.is_postgres() {
        return Ok(Peers::none());
    }
    if node.address.is_none() {
        tracing::warn!(
            listen = %config.listen,
            "no address for other nodes; set RINGBACK_NODE_URL to get their callbacks and media sockets"
        );
    }
    let settings = PeersSettings {
        me: node.node,
        address: node.address.clone(),
        directory: Arc::new(StoreDirectory(store)),
        clock,
    };
    Ok(Peers::among(settings)?)
}

pub(super) fn recordings_dir(config: &ServeConfig) -> PathBuf {
    config.storage.data_dir.join("recordings")
}

fn recordings(config: &ServeConfig) -> Result<WavRecordings, StartError> {
    let folder = recordings_dir(config);
    WavRecordings::new(folder.clone())
        .map_err(|e| format!("cannot use {} for recordings: {e}", folder.display()).into())
}

pub(super) fn address_policy(config: &ServeConfig) -> AddressPolicy {
    match config.allow_private_urls {
        true => AddressPolicy::everything(),
        false => AddressPolicy::public_only(),
    }
}

pub(super) fn delivery_worker(config: &ServeConfig, parts: &Parts) -> Result<DeliveryWorker, StartError> {
    let (policy, limits) = (address_policy(config), WebhookLimits::default());
    let webhooks = WebhookSender::new(policy, Arc::new(SystemResolver), limits, parts.clock.clone())?;
    let worker = DeliveryWorker::new(parts.store.clone(), webhooks, config.mail.mailer()?, Pace::default());
    Ok(worker.behind(parts.gate.clone()).priced(config.prices.clone()))
}

fn http_tools(config: &ServeConfig, store: &Arc<SqlStore>, clock: &Arc<dyn Clock>) -> Result<HttpTools, StartError> {
    let (policy, resolver) = (address_policy(config), Arc::new(SystemResolver));
    Ok(HttpTools::new(store.clone(), policy, resolver, clock.clone())?)
}

pub(super) fn documents(address_policy: &AddressPolicy) -> Result<Documents, StartError> {
    let settings = DocumentSettings {
        policy: address_policy.clone(),
        resolver: Arc::new(SystemResolver),
        program: this_program().map_err(|e| format!("cannot find this program's own file: {e}"))?,
    };
    Ok(Documents::new(settings)?)
}

/// Checks that the first voice of the settings exists and speaks: it says one sentence.
///
/// # Errors
/// Returns an error that says what is wrong with it.
pub async fn try_voice(config: &ServeConfig) -> Result<(), StartError> {
    let providers = providers(config)?;
    // Unlike the service, which may wait for a program, this needs it now.
    let there = providers.tts.check_names().await;
    there.map_err(|why| format!("RINGBACK_TTS: {why}"))?;
    if let Some(voice) = config.providers.tts.first() {
        let spoken = providers.tts.probe(voice).await;
        spoken.map_err(|why| format!("RINGBACK_TTS: {voice}: {why}"))?;
    }
    Ok(())
}

fn knowledge(config: &ServeConfig, store: Arc<dyn Store>) -> Result<KnowledgeCache, StartError> {
    let settings = config.providers.settings()?;
    let model = config.providers.embeddings.as_ref();
    let embeddings = model.map(|model| Embeddings::new(model, &settings)).transpose();
    let embeddings = embeddings.map_err(|why| format!("RINGBACK_EMBEDDINGS: {why}"))?;
    Ok(KnowledgeCache::new(store, embeddings))
}

fn providers(config: &ServeConfig) -> Result<Configured, StartError> {
    let babble = config.babble.applied_to(BabbleTranscriber);
    let cache = config.storage.data_dir.join("speech");
    Ok(Configured::new(&config.providers, babble, Some(&cache))?)
}
