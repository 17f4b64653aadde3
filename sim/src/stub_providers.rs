//! Providers of language models and speech for tests and benches, on real sockets and with the real
//! protocols. They speak and understand babble, so that every word of a call through them can be checked.
//! Faults and delays are set by the test.

mod cartesia;
mod chat_completions;
mod elevenlabs;
mod embeddings;
mod event_stream;
mod fault;
mod flux;
mod language_model;
mod listen;
mod log;
mod messages;
mod recogniser;
mod report;
mod scribe;
mod speak;
mod speaking;
mod speech;
mod times;
mod transcriptions;

use std::{
    collections::BTreeMap,
    io,
    net::SocketAddr,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};

use axum::{
    Json, Router,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
    serve::ListenerExt,
};
use rand::{SeedableRng, rngs::StdRng};
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinSet};

use crate::schema::{self, Misfit};

pub use self::{
    fault::Fault,
    log::{Received, Service},
    times::{Spread, StubTimes},
};

/// A model, voice or keyword whose name contains this has faults: every third request or connection
/// hangs, or drops midway.
pub const FAULTY: &str = "faulty";

/// One in this many requests of a faulty name has a fault.
const FAULT_EVERY: usize = 3;

/// Settings of the stubs.
#[derive(Debug, Clone)]
pub struct StubSettings {
    /// Listen address; port 0 takes a free port.
    pub listen: SocketAddr,
    /// Delays.
    pub times: StubTimes,
    /// Seed of the delays.
    pub seed: u64,
    /// The only key that is accepted; `None` accepts any.
    pub key: Option<String>,
    /// The provider whose models are accepted, as its package lists them; `None` accepts any model.
    pub models_of: Option<&'static str>,
    /// Keeps a log of received messages, for [`StubHandle::received`]. Dropping the handle then panics if a request or
    /// a message had a field that its service does not take.
    pub keep_log: bool,
}

impl StubSettings {
    /// Returns the settings of stubs on a free loopback port, without delays, that accept any key and keep a log.
    pub fn on_loopback() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            times: StubTimes::AT_ONCE,
            seed: 0,
            key: None,
            models_of: None,
            keep_log: true,
        }
    }
}

/// State that all stubs share.
#[derive(Debug)]
pub(crate) struct Stub {
    pub(crate) settings: StubSettings,
    faults: Mutex<BTreeMap<Service, Vec<Fault>>>,
    /// Number of requests of faulty names so far.
    faulty: AtomicUsize,
    /// Number of requests and connections so far that drew random numbers.
    chances: AtomicU64,
    log: log::Log,
    misfits: Mutex<Vec<String>>,
}

impl Stub {
    /// Returns the fault of a request for a model, a voice or a word with this name.
    pub(crate) fn fault_of(&self, service: Service, name: &str) -> Fault {
        if !name.contains(FAULTY) {
            return self.fault(service);
        }
        let n = self.faulty.fetch_add(1, Ordering::Relaxed);
        match (n % FAULT_EVERY, n / FAULT_EVERY % 2) {
            (0, 0) => Fault::Hang,
            (0, _) => Fault::DropAfter(3),
            _ => Fault::None,
        }
    }

    /// Returns the fault of this request or connection. A fault is used up unless it is the last of its list.
    pub(crate) fn fault(&self, service: Service) -> Fault {
        let mut faults = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
        match faults.get_mut(&service) {
            Some(waiting) if waiting.len() > 1 => waiting.remove(0),
            Some(waiting) => waiting.first().cloned().unwrap_or_default(),
            None => Fault::None,
        }
    }

    /// Records that a client opened a socket with this `query`; returns the fault of the connection.
    pub(crate) fn connected(&self, service: Service, query: Option<&str>) -> Fault {
        let query = query.unwrap_or_default();
        self.received(service, format!("connected {query}"));
        self.fault_of(service, query)
    }

    /// Returns random numbers for one request or connection. A repeated request draws others, as with a real provider.
    pub(crate) fn chances(&self) -> StdRng {
        let n = self.chances.fetch_add(1, Ordering::Relaxed);
        StdRng::seed_from_u64(self.settings.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ n)
    }

    /// Records a message or an action of a client.
    pub(crate) fn received(&self, service: Service, what: impl Into<String>) {
        if self.settings.keep_log {
            self.log.push(Received {
                service,
                what: what.into(),
            });
        }
    }

    /// Returns whether a service takes all fields of a socket message.
    pub(crate) fn takes_fields(&self, service: &str, kind: &str, message: &str) -> bool {
        let result = schema::text(service, kind, message);
        result.inspect_err(|misfit| self.complain(misfit)).is_ok()
    }

    fn complain(&self, misfit: &Misfit) {
        let mut misfits = self.misfits.lock().unwrap_or_else(PoisonError::into_inner);
        misfits.push(misfit.to_string());
    }

    /// Returns an error if the provider's package does not know a model.
    pub(crate) fn takes_model(&self, kind: &str, model: &str) -> Result<(), String> {
        let is_known = |provider| schema::known_model(provider, kind, model).is_some();
        match self.settings.models_of.is_none_or(is_known) {
            true => Ok(()),
            false => Err(format!(
                "The model `{model}` does not exist or you do not have access to it."
            )),
        }
    }

    /// Returns whether a key is accepted.
    pub(crate) fn takes(&self, key: Option<&str>) -> bool {
        self.settings.key.as_deref().is_none_or(|right| key == Some(right))
    }
}

/// Running stubs. Dropping the handle stops them.
pub struct StubHandle {
    address: SocketAddr,
    stub: Arc<Stub>,
    _tasks: JoinSet<()>,
}

impl StubHandle {
    /// Returns `http://` and the address served. Chat completions and other OpenAI routes begin with `/v1` there.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Sets the faults of a service's next requests or connections, in order; the last one stays. An empty
    /// list means no faults.
    pub fn set_faults(&self, service: Service, faults: Vec<Fault>) {
        let mut waiting = self.stub.faults.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.insert(service, faults);
    }

    /// Returns the messages that clients sent to a service so far.
    pub fn received(&self, service: Service) -> Vec<String> {
        self.stub.log.of(service)
    }
}

impl Drop for StubHandle {
    /// A client may repeat a refused request without the field, so the refusal alone would not be seen in a test.
    fn drop(&mut self) {
        let misfits = self.stub.misfits.lock().unwrap_or_else(PoisonError::into_inner);
        let in_test = self.stub.settings.keep_log && !std::thread::panicking();
        assert!(
            !in_test || misfits.is_empty(),
            "requests with fields that no schema has: {misfits:?}"
        );
    }
}

/// Starts the stubs.
///
/// # Errors
/// Returns an error if the address cannot be served.
pub async fn start(settings: StubSettings) -> io::Result<StubHandle> {
    let listener = TcpListener::bind(settings.listen).await?;
    let address = listener.local_addr()?;
    let stub = Arc::new(Stub {
        settings,
        faults: Mutex::default(),
        faulty: AtomicUsize::new(0),
        chances: AtomicU64::new(0),
        log: log::Log::default(),
        misfits: Mutex::default(),
    });
    let router = router(&stub).with_state(stub.clone());
    let listener = listener.tap_io(|stream| {
        // Messages are small and must not wait for more.
        let _ = stream.set_nodelay(true);
    });
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        if let Err(error) = axum::serve(listener, router).await {
            tracing::error!(%error, "stub provider server failed");
        }
    });
    Ok(StubHandle {
        address,
        stub,
        _tasks: tasks,
    })
}

/// Returns an error response with this body. With status 429 it says when to retry.
fn refused(status: u16, body: Value) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = (status, Json(body)).into_response();
    if status == StatusCode::TOO_MANY_REQUESTS {
        response.headers_mut().insert(header::RETRY_AFTER, 1.into());
    }
    response
}

/// Returns the same in OpenAI's format; `field` is the invalid one.
fn refused_by_openai(status: u16, kind: &str, message: &str, code: Option<&str>, field: Option<&str>) -> Response {
    let error = json!({ "message": message, "type": kind, "param": field, "code": code });
    refused(status, json!({ "error": error }))
}

/// Returns a request's header.
fn given<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name)?.to_str().ok()
}

/// Returns the key of a request from the bearer token.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    given(headers, "authorization")?.strip_prefix("Bearer ")
}

/// Returns the routes of all stubs.
fn router(stub: &Arc<Stub>) -> Router<Arc<Stub>> {
    let guarded = |service, routes| {
        let stub = stub.clone();
        schema::guarded(routes, service, move |misfit| stub.complain(misfit))
    };
    let openai = chat_completions::routes()
        .merge(embeddings::routes())
        .merge(speech::routes())
        .merge(transcriptions::routes());
    let deepgram = flux::routes().merge(listen::routes()).merge(speak::routes());
    Router::new()
        .route("/health", get(async || "ok"))
        .route("/checked", get(async || Json(schema::checked())))
        .merge(guarded("openai", openai))
        .merge(guarded("anthropic", messages::routes()))
        .merge(guarded("deepgram", deepgram))
        .merge(guarded("elevenlabs", scribe::routes().merge(elevenlabs::routes())))
        .merge(guarded("cartesia", cartesia::routes()))
}
