//! Telnyx for tests, on real sockets: its API, its signed webhooks and its media sockets, in front of an exchange whose
//! telephones it translates for. Written from Telnyx's documents; it takes faults by order.

mod api;
mod audio;
mod call;
mod commands;
mod flow;
mod inbound;
mod media;
mod webhooks;

use std::{
    collections::BTreeMap,
    io,
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::AtomicUsize},
    time::Duration,
};

use axum::serve::ListenerExt;
use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use ring::signature::{Ed25519KeyPair, KeyPair};
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinSet};

pub use self::audio::{ByteOrder, Codec};
use self::call::{Call, Leg, Stage};
use super::{
    Delivered, SERVICE, Stall,
    caller::{self, Caller},
    rooms::Rooms,
};
use crate::exchange::{Exchange, ExchangeError, ExchangeHandle, ExchangeSettings, LogEntry};
use net::http_client;

/// How the stub is to behave.
#[derive(Debug, Clone)]
pub struct TelnyxSettings {
    /// Where it listens; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Where the service is that calls from outside are announced to, without a slash at the end.
    pub service: String,
    /// The telephones behind it. Its clock is the stub's too.
    pub exchange: ExchangeSettings,
    /// Who picks up at which number; at others the last digit says it.
    pub personas: BTreeMap<String, String>,
    /// The one API key that is taken.
    pub api_key: String,
    /// The one application that calls are placed by.
    pub connection: String,
    /// The seed of the key that webhooks are signed with.
    pub seed: [u8; 32],
    /// What callees are heard in, whatever was asked for.
    pub heard_in: Option<Codec>,
    /// How L16 samples are written.
    pub order: ByteOrder,
    /// Calls on one page of a list.
    pub page: usize,
    /// What goes wrong.
    pub faults: TelnyxFaults,
}

/// What goes wrong.
#[derive(Debug, Clone, Default)]
pub struct TelnyxFaults {
    /// So many dials are refused with 429 first.
    pub throttled: usize,
    /// Dials are taken and never answered.
    pub lost_answers: bool,
    /// Of so many dials one is taken and never answered; 0 for none.
    pub lost_answer_each: usize,
    /// Webhooks come late, in another order, and twice.
    pub untidy_webhooks: bool,
    /// No webhook comes at all.
    pub no_webhooks: bool,
    /// Every seventh frame changes places with the next.
    pub shuffled_frames: bool,
    /// The media sockets of dials are opened while they ring.
    pub early_streams: bool,
    /// The first media socket of each call breaks after so many frames.
    pub cut_after: Option<u64>,
    /// The first media socket of each call stands still.
    pub stall: Option<Stall>,
    /// Of a media socket that broke nothing is told, and Telnyx goes on believing in it.
    pub unnoticed_losses: bool,
    /// So many media sockets are not opened.
    pub streams_refused: usize,
    /// What is told of calls from outside comes to the application's own address all the time.
    pub own_address_only: bool,
    /// So many commands are answered with an error of the server's, though they are done.
    pub broken_commands: usize,
    /// Webhooks of this event come so much later.
    pub late: Option<(&'static str, Duration)>,
}

impl Default for TelnyxSettings {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            service: SERVICE.to_owned(),
            exchange: ExchangeSettings::on_loopback(),
            personas: BTreeMap::new(),
            api_key: "KEY-of-the-stub".to_owned(),
            connection: "1293384261075731499".to_owned(),
            seed: [7; 32],
            heard_in: None,
            order: ByteOrder::Big,
            page: 250,
            faults: TelnyxFaults::default(),
        }
    }
}

/// Why the stub does not start.
#[derive(Debug, thiserror::Error)]
pub enum TelnyxError {
    /// Its telephones do not start.
    #[error(transparent)]
    Exchange(#[from] ExchangeError),
    /// It cannot listen.
    #[error("stub of Telnyx cannot listen: {0}")]
    Listen(#[from] io::Error),
    /// No HTTP client.
    #[error("stub of Telnyx cannot build its HTTP client: {0}")]
    Client(#[from] reqwest::Error),
    /// No key out of the seed.
    #[error("stub of Telnyx has no key to sign with")]
    Key,
}

/// What all calls share.
struct Switch {
    settings: TelnyxSettings,
    key: Ed25519KeyPair,
    client: reqwest::Client,
    exchange_url: String,
    /// Where the telephones reach the stub, without scheme.
    own: SocketAddr,
    throttled: AtomicUsize,
    refused: AtomicUsize,
    broken: AtomicUsize,
    rooms: Rooms,
    keys: Mutex<Vec<String>>,
    commands: Mutex<Vec<(String, Value)>>,
    delivered: Mutex<Vec<Delivered>>,
    calls: Mutex<BTreeMap<String, Arc<Call>>>,
    dials: Mutex<Vec<Value>>,
    complaints: Mutex<Vec<String>>,
    tasks: Mutex<JoinSet<()>>,
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

    fn call(&self, id: &str) -> Option<Arc<Call>> {
        lock(&self.calls).get(id).cloned()
    }

    fn complain(&self, about: String) {
        lock(&self.complaints).push(about);
    }

    fn add(&self, leg: Leg) -> Arc<Call> {
        let call = Arc::new(Call::new(leg));
        lock(&self.calls).insert(call.leg.id.clone(), call.clone());
        call
    }

    /// Ends a call, whether its telephone has been rung or not.
    async fn cut_off(self: &Arc<Self>, call: &Arc<Call>) {
        let Some(line) = call.line.get() else {
            return self.ended(call, "originator_cancel", "487");
        };
        let gone = self
            .client
            .delete(format!("{}/v1/calls/{line}", self.exchange_url))
            .send()
            .await;
        if let Err(error) = gone {
            tracing::warn!(%error, "a phone could not be hung up");
        }
    }

    fn ended(self: &Arc<Self>, call: &Arc<Call>, cause: &str, sip: &str) {
        call.becomes(Stage::Over);
        let causes = json!({ "hangup_cause": cause, "sip_hangup_cause": sip, "hangup_source": "unknown" });
        self.tell(call, "call.hangup", causes);
    }
}

/// A running stub. Dropping it cuts all calls off at once.
pub struct TelnyxStub {
    switch: Arc<Switch>,
    exchange: ExchangeHandle,
    server: tokio::task::JoinHandle<()>,
}

impl TelnyxStub {
    /// Listens, and serves until it is dropped.
    ///
    /// # Errors
    ///
    /// When it, or the exchange behind it, cannot listen.
    pub async fn start(settings: TelnyxSettings) -> Result<Self, TelnyxError> {
        let exchange = Exchange::start(settings.exchange.clone()).await?;
        let listener = TcpListener::bind(settings.listen).await?;
        let switch = Arc::new(Switch {
            key: Ed25519KeyPair::from_seed_unchecked(&settings.seed).map_err(|_| TelnyxError::Key)?,
            client: http_client::builder().pool_max_idle_per_host(0).build()?,
            exchange_url: exchange.url(),
            own: listener.local_addr()?,
            throttled: AtomicUsize::new(settings.faults.throttled),
            refused: AtomicUsize::new(settings.faults.streams_refused),
            broken: AtomicUsize::new(settings.faults.broken_commands),
            rooms: Rooms::default(),
            keys: Mutex::default(),
            commands: Mutex::default(),
            delivered: Mutex::default(),
            calls: Mutex::default(),
            dials: Mutex::default(),
            complaints: Mutex::default(),
            tasks: Mutex::default(),
            settings,
        });
        let app = api::router(switch.clone()).merge(caller::route(inbound::by_order(switch.clone())));
        let listener = listener.tap_io(|connection| {
            if let Err(error) = connection.set_nodelay(true) {
                tracing::debug!(%error, "cannot set TCP_NODELAY");
            }
        });
        let server = tokio::spawn(async move {
            if let Err(error) = axum::serve(listener, app).await {
                tracing::error!(%error, "stub of Telnyx stopped serving");
            }
        });
        Ok(Self {
            switch,
            exchange,
            server,
        })
    }

    /// The address an account's `base_url` takes.
    pub fn url(&self) -> String {
        format!("http://{}/v2", self.switch.own)
    }

    /// The public key, as the portal shows it.
    pub fn public_key(&self) -> String {
        BASE64.encode(self.switch.key.public_key().as_ref())
    }

    /// The signature header of a body at a time in seconds since 1970.
    pub fn sign(&self, seconds: i64, body: &str) -> String {
        self.switch.sign(seconds, body.as_bytes())
    }

    /// The dial requests so far, as they came.
    pub fn dials(&self) -> Vec<Value> {
        lock(&self.switch.dials).clone()
    }

    /// What Telnyx would complain about.
    pub fn complaints(&self) -> Vec<String> {
        lock(&self.switch.complaints).clone()
    }

    /// Calls that ring or talk.
    pub fn live_calls(&self) -> usize {
        let calls = lock(&self.switch.calls);
        calls.values().filter(|call| !call.is_over()).count()
    }

    /// The commands so far, as they came.
    pub fn commands(&self) -> Vec<(String, Value)> {
        lock(&self.switch.commands).clone()
    }

    /// Media sockets that were opened for calls nobody answered, and that the service has closed.
    pub async fn early_streams_closed(&self) -> usize {
        let take = |call: &Arc<Call>| lock(&call.early_stream).take();
        let early: Vec<_> = lock(&self.switch.calls).values().filter_map(take).collect();
        let mut closed = 0;
        for mut stream in early {
            closed += usize::from(matches!(stream.told().await, media::Told::Gone));
        }
        closed
    }

    /// The keys that were pressed by its API.
    pub fn keys(&self) -> Vec<String> {
        lock(&self.switch.keys).clone()
    }

    /// Every webhook that was delivered, by its event.
    pub fn delivered(&self) -> Vec<Delivered> {
        lock(&self.switch.delivered).clone()
    }

    /// A telephone calls one of the account's numbers, whose application is at `service`. Where the call is answered,
    /// the telephone's persona talks.
    pub fn call_in(&self, service: &str, id: &str, parties: (&str, &str)) {
        self.switch.call_in(service, id, &Caller::of(parties));
    }

    /// Announces a call from outside once more; false where it was not announced before.
    pub fn announce(&self, id: &str) -> bool {
        let call = self.switch.call(id);
        call.inspect(|call| self.switch.announce(call)).is_some()
    }

    /// The telephone of a call is hung up.
    pub async fn hang_up(&self, id: &str) {
        if let Some(call) = self.switch.call(id) {
            self.switch.cut_off(&call).await;
        }
    }

    /// The telephones' record.
    pub fn entries(&self) -> Vec<LogEntry> {
        self.exchange.entries()
    }
}

impl std::fmt::Debug for TelnyxStub {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TelnyxStub")
            .field("own", &self.switch.own)
            .finish_non_exhaustive()
    }
}

impl Drop for TelnyxStub {
    fn drop(&mut self) {
        self.server.abort();
        lock(&self.switch.tasks).abort_all();
    }
}
