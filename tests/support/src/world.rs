//! The whole service under a clock that only tests move: memory store, real node, REST API and carrier
//! endpoints on real sockets, and an exchange with its phones. Clients use HTTP only.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use actors::node::{Node, NodeArguments, NodeHandle, NodeSettings};
use carriers::{CarrierLink, Trunk, simulated};
use domain::{
    admission::Gate,
    id::NodeId,
    interviewer::Interviewer,
    ports::{
        Ports, Readiness,
        analyst::{Analyst, NoAnalyst},
        carrier::Carriers,
        health::AlwaysWell,
        language_model::{LanguageError, LanguageModel, ReplyEvent, ReplyRequest},
        store::{RecordStore, StoreError, TurnFact},
        synthesizer::Synthesizer,
        tool_runner::ToolRunner,
        transcriber::Transcriber,
    },
    time::{Clock, Timestamp, TokioClock},
};
use futures_util::{StreamExt, stream::BoxStream};
use integrations::{
    analysis_worker,
    calendars::{CalendarConfig, Calendars},
    deliveries::{DeliveryWorker, Pace, WebhookLimits, WebhookSender},
    documents::Documents,
    http_tools::HttpTools,
};
use net::address_policy::{AddressPolicy, SystemResolver};
use peers::Peers;
use providers::{
    babble::{BabbleSynthesizer, BabbleTranscriber},
    config::ProviderConfig,
    knowledge::{Embeddings, KnowledgeCache},
    limits,
};
use rest::{
    CheckedServices, RateLimit, RestState, Site,
    server::{Endpoint, ServerLimits, serve},
};
use serde_json::{Value, json};
use sim::exchange::{Exchange, ExchangeHandle, ExchangeSettings, LogEntry, Script};
use testkit::{fake_services::FakeServices, fake_speech::FakeRecordings, memory_store::MemoryStore};
use tokio::{
    net::{TcpListener, TcpSocket},
    sync::watch,
    task::JoinSet,
    time::Instant,
};

use super::{
    app::{START, catalog, document_settings, new_account, numbers},
    certificate::SelfSigned,
    client::Client,
    phone_audio::PhoneAudio,
    phone_log::PhoneLog,
};

/// Interval at which a waiting test checks its condition.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Variable parts of a world.
pub struct WorldSettings {
    /// Recogniser.
    pub transcriber: Arc<dyn Transcriber>,
    /// Speech synthesis.
    pub synthesizer: Arc<dyn Synthesizer>,
    /// Scripts for phones.
    pub scripts: BTreeMap<String, Script>,
    /// Whether the audio that phones play is kept, for [`World::played`].
    pub keep_audio: bool,
    /// Settings of the node.
    pub node: NodeSettings,
    /// The only carrier, built from the address of the service; `None` uses the simulated one.
    pub trunk: Option<TrunkOf>,
    /// Certificate for TLS; `None` serves without TLS.
    pub certificate: Option<SelfSigned>,
    /// Destination of recordings.
    pub recordings: FakeRecordings,
    /// Addresses that clients may make the service connect to.
    pub addresses: AddressPolicy,
    /// Language model of the agent; `None` uses the interviewer with a record of its replies.
    pub mind: Option<Arc<dyn LanguageModel>>,
    /// Analyst of finished calls.
    pub analyst: Arc<dyn Analyst>,
    /// Embeddings for the search in documents.
    pub embeddings: Option<Embeddings>,
    /// Calendar for appointments; `None` means no calendar.
    pub calendars: Option<CalendarConfig>,
    /// Check that an agent's calls have their settings.
    pub readiness: Readiness,
    /// Check that its speech providers have theirs.
    pub talking: Readiness,
}

/// Builds a carrier for a service at an address.
pub type TrunkOf = Arc<dyn Fn(&str) -> Trunk + Send + Sync>;

impl From<NodeSettings> for WorldSettings {
    fn from(node: NodeSettings) -> Self {
        Self {
            node,
            ..Self::default()
        }
    }
}

impl Default for WorldSettings {
    fn default() -> Self {
        Self {
            transcriber: Arc::new(BabbleTranscriber),
            synthesizer: Arc::new(BabbleSynthesizer),
            scripts: BTreeMap::new(),
            keep_audio: false,
            node: NodeSettings::default(),
            trunk: None,
            certificate: None,
            recordings: FakeRecordings::default(),
            addresses: AddressPolicy::public_only(),
            mind: None,
            analyst: Arc::new(NoAnalyst),
            embeddings: None,
            calendars: None,
            readiness: Arc::new(|_| Ok(())),
            talking: Arc::new(|_| Ok(())),
        }
    }
}

/// The running service and its phones; dropping it stops them.
pub struct World {
    pub client: Client,
    /// Complete replies of the agent's model.
    pub replies: Replies,
    settings: WorldSettings,
    store: Arc<MemoryStore>,
    exchange_at: SocketAddr,
    exchange: Option<ExchangeHandle>,
    clock: Arc<dyn Clock>,
    node: NodeHandle,
    _reserved: TcpSocket,
    tasks: JoinSet<()>,
}

fn http_tools(settings: &WorldSettings, store: &Arc<MemoryStore>, clock: &Arc<dyn Clock>) -> HttpTools {
    let (policy, resolver) = (settings.addresses.clone(), Arc::new(SystemResolver));
    HttpTools::new(store.clone(), policy, resolver, clock.clone()).unwrap()
}

fn calendars(settings: &WorldSettings, store: &Arc<MemoryStore>, clock: &Arc<dyn Clock>) -> Arc<dyn ToolRunner> {
    let config = settings.calendars.clone().unwrap_or_default();
    Arc::new(Calendars::new(store.clone(), clock.clone(), &config, true).unwrap())
}

/// One start of the service's process.
async fn start_service(
    settings: &WorldSettings,
    store: &Arc<MemoryStore>,
    clock: &Arc<dyn Clock>,
    exchange_at: SocketAddr,
    replies: &Replies,
) -> (String, NodeHandle, JoinSet<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let tls = settings.certificate.as_ref().map(|own| own.load().unwrap());
    let scheme = if tls.is_some() { "https" } else { "http" };
    let address = format!("{scheme}://{}", listener.local_addr().unwrap());
    let trunk = match &settings.trunk {
        Some(trunk) => trunk(&address),
        None => simulated::trunk(&format!("http://{exchange_at}"), &address).unwrap(),
    };
    let name = trunk.carrier.name();
    let analyst = settings.analyst.clone();
    let ports = Ports {
        store: store.clone(),
        carriers: Carriers::new(trunk.carrier, Vec::new()),
        transcriber: settings.transcriber.clone(),
        synthesizer: settings.synthesizer.clone(),
        language_model: settings.mind.clone().unwrap_or_else(|| Arc::new(replies.clone())),
        analyst: analyst.clone(),
        tools: Arc::new(vec![
            calendars(settings, store, clock),
            Arc::new(http_tools(settings, store, clock)),
        ]),
        knowledge: Arc::new(KnowledgeCache::new(store.clone(), settings.embeddings.clone())),
        health: Arc::new(AlwaysWell),
        readiness: settings.readiness.clone(),
        recordings: Arc::new(settings.recordings.clone()),
        clock: clock.clone(),
    };
    let (readiness, knowledge) = (ports.readiness.clone(), ports.knowledge.clone());
    let talks = settings.talking.clone();
    let addresses = settings.addresses.clone();
    let settings = NodeSettings {
        node: NodeId::new(),
        ..settings.node.clone()
    };
    let node = Node::start(NodeArguments { ports, settings }).await.unwrap();
    let mut tasks = JoinSet::new();
    if let Some(event_listener) = trunk.event_listener {
        tasks.spawn(event_listener(CarrierLink::new(node.switchboard.clone())));
    }
    let stopping = watch::Sender::new(false);
    let rest = rest::router(RestState {
        store: store.clone(),
        switchboard: node.switchboard.clone(),
        peers: Peers::none(),
        public_url: address.as_str().into(),
        site: Site::new(&address, address.starts_with("https")),
        sign_in_limit: Arc::default(),
        carrier_is_simulated: true,
        limits: Arc::new(|agent| limits::texts(agent, &ProviderConfig::default())),
        catalog: catalog(|_| None),
        numbers: numbers(|_| None),
        forget_speech: Arc::new(|| ()),
        talking: talks,
        texting: Arc::new(|_| Ok(())),
        dialing: readiness,
        gate: Gate::default(),
        rate_limit: Arc::new(RateLimit::per_second(0)),
        spool_dir: std::env::temp_dir(),
        recordings_dir: std::env::temp_dir(),
        upload_limit: rest::upload_limit(),
        event_stream_limit: rest::event_stream_limit(4_096),
        account_events: rest::AccountEvents::new(4_096),
        live: rest::LiveAccess::new(200, &["https://app.example.com".to_owned()]),
        stopping: stopping.subscribe(),
        documents: Arc::new(Documents::new(document_settings()).unwrap()),
        knowledge,
        services: CheckedServices::new(Arc::new(FakeServices::default())),
        address_policy: addresses,
        prices: None,
    });
    let router = rest.merge(carriers::router(
        &CarrierLink::new(node.switchboard.clone()),
        [(name, trunk.routes)],
    ));
    let endpoint = Endpoint::new(listener, tls);
    tasks.spawn(serve(endpoint, router, ServerLimits::default(), std::future::pending()));
    tasks.spawn(analysis_worker::run(
        store.clone(),
        analyst,
        Gate::default(),
        stopping.subscribe(),
    ));
    // Ends the streams when nobody is left to signal their end.
    tasks.spawn(async move { stopping.closed().await });
    (address, node, tasks)
}

fn client(settings: &WorldSettings, address: &str, key: &str) -> Client {
    match &settings.certificate {
        Some(certificate) => Client::trusting(&certificate.pair, address, key),
        None => Client::new(address, key),
    }
}

impl World {
    /// Starts everything, with the exchange up.
    pub async fn start() -> Self {
        Self::start_with(WorldSettings::default()).await
    }

    /// Starts everything, with callees that may follow these scripts.
    pub async fn with_scripts(scripts: BTreeMap<String, Script>) -> Self {
        Self::start_with(WorldSettings {
            scripts,
            ..WorldSettings::default()
        })
        .await
    }

    /// Starts everything, with these settings.
    pub async fn start_with(settings: impl Into<WorldSettings>) -> Self {
        let mut world = Self::prepared(settings.into()).await;
        if world.settings.trunk.is_none() {
            world.carrier_comes().await;
        }
        world
    }

    /// Starts everything except the exchange: nothing listens at its address.
    pub async fn without_carrier() -> Self {
        Self::prepared(WorldSettings::default()).await
    }

    async fn prepared(settings: WorldSettings) -> Self {
        let reserved = reserved_port();
        let exchange_at = reserved.local_addr().unwrap();
        let clock: Arc<dyn Clock> = Arc::new(TokioClock::starting_at(START));
        let store = Arc::new(MemoryStore::new(clock.clone()));
        let replies = Replies::default();
        let (address, node, tasks) = start_service(&settings, &store, &clock, exchange_at, &replies).await;
        let (_, key) = new_account(&*store, "ada@example.com").await;
        Self {
            client: client(&settings, &address, &key),
            replies,
            settings,
            store,
            exchange_at,
            exchange: None,
            clock,
            node,
            _reserved: reserved,
            tasks,
        }
    }

    /// Kills the process now, and starts another one on the data that it left on disk.
    pub async fn restart(mut self) -> Self {
        self.tasks.shutdown().await;
        self.node.stop().await;
        let (address, node, tasks) = start_service(
            &self.settings,
            &self.store,
            &self.clock,
            self.exchange_at,
            &self.replies,
        )
        .await;
        Self {
            client: client(&self.settings, &address, &self.client.key),
            node,
            tasks,
            ..self
        }
    }

    /// Starts the exchange at the address that the carrier client knows.
    pub async fn carrier_comes(&mut self) {
        let settings = ExchangeSettings {
            listen: self.exchange_at,
            clock: self.clock.clone(),
            scripts: self.settings.scripts.clone(),
            keep_audio: self.settings.keep_audio,
            ..ExchangeSettings::on_loopback()
        };
        self.exchange = Some(Exchange::start(settings).await.unwrap());
    }

    /// Makes a phone call in; returns the result.
    pub async fn call_in(&self, call: Value) -> Value {
        let mut call = call;
        call["announceUrl"] = json!(format!("{}/carriers/simulated/inbound", self.client.base));
        let exchange = Client::new(&format!("http://{}", self.exchange_at), "");
        let answer = exchange.bare("POST", "/v1/inbound").json(&call).send().await.unwrap();
        answer.json().await.unwrap()
    }

    /// Returns the exchange's record, call by call.
    pub fn phones(&self) -> PhoneLog {
        PhoneLog::new(self.entries())
    }

    /// Returns the exchange's record, entry by entry.
    pub fn entries(&self) -> Vec<LogEntry> {
        self.exchange.as_ref().map(ExchangeHandle::entries).unwrap_or_default()
    }

    /// Returns all that the phone with this number has played in its latest call.
    pub fn played(&self, number: &str) -> PhoneAudio {
        let exchange = self.exchange.as_ref();
        PhoneAudio(exchange.map(|exchange| exchange.played(number)).unwrap_or_default())
    }

    /// Returns the stored turns of a conversation with their times.
    pub async fn turns(&self, conversation: &str) -> Vec<TurnFact> {
        self.store.turns(conversation.parse().unwrap()).await.unwrap()
    }

    /// Returns the conversation as it reads now.
    pub async fn read(&self, conversation: &str) -> Value {
        let path = format!("/public/v1/conversations/{conversation}");
        self.client.get(&path).await.expect(200).data().clone()
    }

    /// Lets time pass until a call is over, for at most `seconds`; returns the conversation.
    pub async fn until_over(&self, conversation: &str, seconds: u64) -> Value {
        let limit = Instant::now() + Duration::from_secs(seconds);
        loop {
            let now = self.read(conversation).await;
            if matches!(now["status"].as_str(), Some("completed" | "failed" | "cancelled")) {
                return now;
            }
            assert!(Instant::now() < limit, "not over within {seconds} s: {now}");
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// Returns the stored events of a conversation's call, oldest first: name and figures.
    pub fn events(&self, conversation: &str) -> Vec<(String, Value)> {
        let events = self.store.events(conversation.parse().unwrap());
        let events = events.into_iter().map(|event| {
            let figures = serde_json::from_str(&event.detail).unwrap();
            (event.name, figures)
        });
        events.collect()
    }

    /// Makes the database fail in this way from now on; `None` makes it work again.
    pub fn store_fails(&self, how: Option<StoreError>) {
        self.store.fail_with(how);
    }

    /// Returns the number of calls that ring or talk at the exchange.
    pub fn live_calls(&self) -> usize {
        self.exchange.as_ref().map_or(0, ExchangeHandle::live_calls)
    }

    /// Returns the wall-clock time of the service and of the phones' record.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Returns the number of actors in the service's tree, including the root.
    pub fn actors(&self) -> usize {
        self.node.actors()
    }

    /// Returns the ports of the service and the exchange.
    pub fn ports(&self) -> [u16; 2] {
        let service = self.client.base.rsplit_once(':').unwrap().1;
        [service.parse().unwrap(), self.exchange_at.port()]
    }

    /// Returns a client of another account.
    pub async fn stranger(&self) -> Client {
        let (_, key) = new_account(&*self.store, "eve@example.com").await;
        client(&self.settings, &self.client.base, &key)
    }

    /// Starts to deliver webhooks.
    pub fn delivers(&mut self) {
        let (policy, limits) = (self.settings.addresses.clone(), WebhookLimits::default());
        let webhooks = WebhookSender::new(policy, Arc::new(SystemResolver), limits, self.clock.clone()).unwrap();
        let worker = DeliveryWorker::new(self.store.clone(), webhooks, None, Pace::default());
        let stopping = watch::Sender::new(false);
        self.tasks.spawn(async move { worker.run(stopping.subscribe()).await });
    }

    /// Creates an agent and returns its id.
    pub async fn agent(&self, document: Value) -> String {
        let made = self.client.post("/public/v1/agents/create", document).await;
        made.expect(201).text("/data/agentId")
    }

    /// Creates and launches a campaign and returns its id; contacts are number and persona.
    pub async fn launch(&self, agent: &str, contacts: &[(&str, &str)], settings: Value) -> String {
        let contacts: Vec<Value> = contacts
            .iter()
            .map(|(number, persona)| json!({ "phoneNumber": number, "name": "Maria", "persona": persona }))
            .collect();
        let mut body = json!({ "name": "Check-ups", "agentId": agent, "contacts": contacts, "launch": true });
        for (name, value) in settings.as_object().unwrap() {
            body[name] = value.clone();
        }
        let made = self.client.post("/public/v1/campaigns", body).await;
        made.expect(201).text("/data/campaignId")
    }

    /// Sends `launch`, `pause` or `stop`; returns the campaign.
    pub async fn command(&self, campaign: &str, command: &str) -> Value {
        let path = format!("/public/v1/campaigns/{campaign}/{command}");
        self.client.post(&path, json!({})).await.expect(200).data().clone()
    }

    /// Returns the campaign as it reads now.
    pub async fn campaign(&self, campaign: &str) -> Value {
        let path = format!("/public/v1/campaigns/{campaign}");
        self.client.get(&path).await.expect(200).data().clone()
    }

    /// Returns the campaign's conversations in full, unordered.
    pub async fn conversations(&self, campaign: &str) -> Vec<Value> {
        let path = format!("/public/v1/conversations?campaignId={campaign}&pageSize=100");
        let list = self.client.get(&path).await.expect(200).data().clone();
        let mut all = Vec::new();
        for item in list.as_array().unwrap() {
            let id = item["conversationId"].as_str().or(item["id"].as_str()).unwrap();
            let path = format!("/public/v1/conversations/{id}");
            all.push(self.client.get(&path).await.expect(200).data().clone());
        }
        all
    }

    /// Returns the only conversation with a number.
    pub async fn conversation(&self, campaign: &str, number: &str) -> Value {
        let mut all = self.conversations(campaign).await;
        all.retain(|conversation| conversation["contactNumber"] == number);
        assert_eq!(all.len(), 1, "{number}: {all:?}");
        all.remove(0)
    }

    /// Lets time pass until the campaign has this status, for at most `seconds`.
    pub async fn until_status(&self, campaign: &str, status: &str, seconds: u64) -> Value {
        let limit = Instant::now() + Duration::from_secs(seconds);
        loop {
            let state = self.campaign(campaign).await;
            if state["status"] == status {
                return state;
            }
            assert!(Instant::now() < limit, "not {status} within {seconds} s: {state}");
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// Lets time pass until the phones' record satisfies a condition, for at most `seconds`.
    pub async fn until(&self, seconds: u64, what: &str, holds: impl Fn(&PhoneLog) -> bool) {
        let limit = Instant::now() + Duration::from_secs(seconds);
        while !holds(&self.phones()) {
            assert!(Instant::now() < limit, "no {what} within {seconds} s");
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// Lets time pass.
    pub async fn pass(&self, seconds: u64) {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
    }
}

/// Reserves a port that nobody else is given and at which nothing listens; the exchange may.
fn reserved_port() -> TcpSocket {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_reuseaddr(true).unwrap();
    socket.bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    socket
}

/// The interviewer, with a record of its replies.
#[derive(Clone, Default)]
pub struct Replies {
    made: Arc<Mutex<Vec<String>>>,
    delay: Arc<Mutex<Duration>>,
}

impl Replies {
    /// Returns the words of each reply, in the order of the requests.
    pub fn all(&self) -> Vec<String> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Sets the delay of its first word from now on.
    pub fn delay(&self, delay: Duration) {
        *self.delay.lock().unwrap_or_else(PoisonError::into_inner) = delay;
    }
}

impl LanguageModel for Replies {
    fn reply(&self, request: ReplyRequest) -> BoxStream<'static, Result<ReplyEvent, LanguageError>> {
        let words = domain::interviewer::plan(&request)
            .into_iter()
            .filter_map(|event| match event {
                ReplyEvent::Text(text) => Some(text),
                ReplyEvent::Tool { .. } => None,
            });
        let words = words.collect();
        self.made.lock().unwrap_or_else(PoisonError::into_inner).push(words);
        let delay = *self.delay.lock().unwrap_or_else(PoisonError::into_inner);
        if delay.is_zero() {
            return Interviewer.reply(request).boxed();
        }
        let thinks = futures_util::stream::once(tokio::time::sleep(delay)).filter_map(|()| async { None });
        thinks.chain(Interviewer.reply(request)).boxed()
    }
}
