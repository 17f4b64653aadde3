//! The real server with the memory store: `let app = TestApp::start().await;`.

use std::{net::SocketAddr, sync::Arc};

use actors::switchboard::Switchboard;
use axum::{Router, routing::get};
use carriers::{numbers::NumberLists, settings::CarrierSettings};
use domain::{
    admission::Gate,
    agent::Agent,
    api_key::generate_key,
    id::{AttemptId, NodeId},
    ports::{
        NotReady,
        store::{Account, AttemptStore, CallStore, NewAccount, NodeStore, Permit, PermitRequest, Store},
    },
    time::{Timestamp, TokioClock},
};
use integrations::documents::{DocumentSettings, Documents};
use net::address_policy::{AddressPolicy, SystemResolver};
use peers::Peers;
use providers::{
    catalog::ProviderCatalog, config::ProviderConfig, knowledge::KnowledgeCache, limits, settings::ProviderSettings,
};
use rest::{
    CheckedServices, RateLimit, RestState, Site,
    server::{Endpoint, ServerLimits, Tls, serve},
};
use serde_json::json;
use testkit::{fake_services::FakeServices, memory_store::MemoryStore};
use tokio::{net::TcpListener, sync::oneshot, task::JoinHandle};

use super::{client::Client, contract::PANICS, program, switchboard::FakeNode};

/// 2026-01-01T00:00:00Z.
pub const START: Timestamp = Timestamp(1_767_225_600_000_000);

/// Public address of the service, as if a proxy with HTTPS stood in front.
pub const PUBLIC_URL: &str = "https://calls.example.com";

/// A running server. Dropping it stops the server.
pub struct TestApp {
    pub address: SocketAddr,
    pub store: Arc<MemoryStore>,
    pub node: FakeNode,
    /// The node's addresses for the handlers.
    pub switchboard: Switchboard,
    pub account: Account,
    /// Client with the key of `account`.
    pub client: Client,
    server: JoinHandle<()>,
    _shutdown: oneshot::Sender<()>,
}

impl TestApp {
    pub async fn start() -> Self {
        Self::with_limits(ServerLimits::default()).await
    }

    pub async fn with_limits(limits: ServerLimits) -> Self {
        Self::with(limits, document_settings()).await
    }

    /// Starts a server with these document settings.
    pub async fn with_documents(documents: DocumentSettings) -> Self {
        Self::with(ServerLimits::default(), documents).await
    }

    async fn with(limits: ServerLimits, documents: DocumentSettings) -> Self {
        Self::changed(limits, |state| RestState {
            address_policy: documents.policy.clone(),
            documents: Arc::new(Documents::new(documents).unwrap()),
            ..state
        })
        .await
    }

    /// Starts a server whose handlers get a changed state.
    pub async fn changed(limits: ServerLimits, change: impl FnOnce(RestState) -> RestState) -> Self {
        let store = Arc::new(MemoryStore::new(Arc::new(TokioClock::starting_at(START))));
        let node = FakeNode::default();
        let state = change(state(store.clone(), &node).await);
        let switchboard = state.switchboard.clone();
        let routes = rest::routes(state).route(PANICS, get(panics));
        let (address, shutdown, server) = serve_router(rest::with_envelope(routes), limits).await;
        let (account, key) = new_account(&*store, "ada@example.com").await;
        Self {
            address,
            client: Client::new(&format!("http://{address}"), &key),
            store,
            node,
            switchboard,
            account,
            server,
            _shutdown: shutdown,
        }
    }

    /// Returns a client of another account.
    pub async fn stranger(&self) -> Client {
        let (_, key) = new_account(&*self.store, "eve@example.com").await;
        Client::new(&self.client.base, &key)
    }

    /// Creates an agent and returns its id.
    pub async fn agent(&self) -> String {
        agent_of(&self.client).await
    }

    /// Creates a call to this number that the node dials.
    pub async fn dialed_call(&self, node: NodeId, number: &str) -> AttemptId {
        self.dialed_call_of(&self.client, node, number).await
    }

    /// Does the same for a client of any account.
    pub async fn dialed_call_of(&self, client: &Client, node: NodeId, number: &str) -> AttemptId {
        let body = json!({ "agentId": agent_of(client).await, "phoneNumber": number });
        client.post("/public/v1/calls", body).await.expect(201);
        self.store.register_node(node, None).await.unwrap();
        let claim = self.store.claim_calls(node, 1).await.unwrap()[0].claim;
        let request = PermitRequest {
            carrier: "simulated".into(),
            caller_id: None,
            agent_version: None,
            restricted_prefixes: Vec::new(),
        };
        let permit = self.store.permit(claim, request).await.unwrap();
        assert!(matches!(permit, Permit::Granted { .. }), "{permit:?}");
        claim.attempt
    }
}

async fn agent_of(client: &Client) -> String {
    let prompt = json!({ "agent": { "prompt": { "prompt": "Ask for the city." } } });
    let body = json!({ "name": "Ann", "conversationConfig": prompt });
    let made = client.post("/public/v1/agents/create", body).await.expect(201);
    made.text("/data/agentId")
}

/// Returns the state that handlers need, around any store.
pub async fn state(store: Arc<dyn Store>, node: &FakeNode) -> RestState {
    RestState {
        switchboard: node.spawn(store.clone()).await,
        knowledge: Arc::new(KnowledgeCache::new(store.clone(), None)),
        store,
        peers: Peers::none(),
        public_url: PUBLIC_URL.into(),
        site: Site::new(PUBLIC_URL, false),
        sign_in_limit: Arc::default(),
        carrier_is_simulated: true,
        limits: Arc::new(|agent| limits::texts(agent, &ProviderConfig::default())),
        catalog: catalog(|_| None),
        numbers: numbers(|_| None),
        forget_speech: Arc::new(|| ()),
        talking: Arc::new(talking),
        texting: Arc::new(talking),
        dialing: Arc::new(dialing),
        gate: Gate::default(),
        rate_limit: Arc::new(RateLimit::per_second(0)),
        spool_dir: std::env::temp_dir(),
        recordings_dir: std::env::temp_dir(),
        upload_limit: rest::upload_limit(),
        event_stream_limit: rest::event_stream_limit(4_096),
        account_events: rest::AccountEvents::new(4_096),
        live: rest::LiveAccess::new(200, &["https://app.example.com".to_owned()]),
        stopping: node.stopping(),
        documents: Arc::new(Documents::new(document_settings()).unwrap()),
        services: CheckedServices::new(Arc::new(FakeServices::default())),
        address_policy: AddressPolicy::public_only(),
        prices: None,
    }
}

/// Returns the numbers of the carriers of a service with these environment variables.
pub fn numbers(variable: impl Fn(&str) -> Option<String>) -> Arc<NumberLists> {
    let settings = CarrierSettings::read(variable).unwrap();
    Arc::new(NumberLists::new(&settings).unwrap())
}

/// Returns the catalog of a service with these environment variables, whose settings name the voice `babble` and the
/// model `interviewer`.
pub fn catalog(variable: impl Fn(&str) -> Option<String>) -> Arc<ProviderCatalog> {
    let settings = ProviderSettings::read(variable).unwrap();
    let settings = settings.only_named_or_set(std::iter::empty());
    let voice = ("babble".to_owned(), String::new());
    let model = ("interviewer".to_owned(), "interviewer".to_owned());
    Arc::new(ProviderCatalog::new(&settings, vec![voice], vec![model]).unwrap())
}

/// The service has no key of OpenAI.
fn talking(agent: &Agent) -> Result<(), NotReady> {
    match agent.conversation_config.agent.prompt.llm.as_str() {
        "interviewer" | "default" => Ok(()),
        other => Err(NotReady(format!("`{other}` needs OPENAI_API_KEY"))),
    }
}

/// The service has no account at Telnyx either.
fn dialing(agent: &Agent) -> Result<(), NotReady> {
    talking(agent)?;
    match &agent.phone_numbers[..] {
        [number] if number.provider.as_deref() == Some("telnyx") => {
            Err(NotReady("`telnyx` needs TELNYX_API_KEY".into()))
        }
        _ => Ok(()),
    }
}

/// Returns the settings of documents as in the service, read by the real binary.
pub fn document_settings() -> DocumentSettings {
    DocumentSettings {
        policy: AddressPolicy::public_only(),
        resolver: Arc::new(SystemResolver),
        program: program::path(),
    }
}

async fn panics() {
    panic!("as asked");
}

/// A server: its address, its stop signal, and its task.
pub type Served = (SocketAddr, oneshot::Sender<()>, JoinHandle<()>);

/// Serves any router on a free port.
pub async fn serve_router(router: Router, limits: ServerLimits) -> Served {
    serve_router_in(None, router, limits).await
}

/// Does the same, over TLS if there is a certificate.
pub async fn serve_router_in(tls: Option<Tls>, router: Router, limits: ServerLimits) -> Served {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (shutdown, asked) = oneshot::channel::<()>();
    let server = tokio::spawn(serve(Endpoint::new(listener, tls), router, limits, async {
        let _ = asked.await;
    }));
    (address, shutdown, server)
}

/// Creates an account and returns it with its key.
pub async fn new_account(store: &dyn Store, email: &str) -> (Account, String) {
    let (plain, key) = generate_key();
    let account = Account::new(email);
    let new = NewAccount {
        account: account.clone(),
        webhook_secret: "whsec_test".into(),
        key,
    };
    store.create_account(new).await.unwrap();
    (account, plain)
}

impl Drop for TestApp {
    fn drop(&mut self) {
        self.server.abort();
    }
}
