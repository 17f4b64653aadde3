//! Providers of language and speech for tests and benches, on real sockets and in the real ones' words. They speak and
//! understand babble, so that every word of a call held through them can be checked, and take faults and times by
//! order.

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

pub use self::{
    fault::Fault,
    log::{Received, Service},
    times::{Spread, StubTimes},
};

/// A model, a voice or a keyword with this in its name has faults: every third request or connection hangs, or drops in
/// the midst.
pub const FAULTY: &str = "faulty";

/// Of so many requests of a faulty name one has a fault.
const FAULT_EVERY: usize = 3;

/// How the stubs are to behave.
#[derive(Debug, Clone)]
pub struct StubSettings {
    /// Where they listen; port 0 takes a free one.
    pub listen: SocketAddr,
    /// How long they take.
    pub times: StubTimes,
    /// Chooses those times.
    pub seed: u64,
    /// The one key that is taken; any when none.
    pub key: Option<String>,
    /// Remember what was received, for [`StubHandle::received`].
    pub keep_log: bool,
}

impl StubSettings {
    /// On a free loopback port, at once, with any key and a log.
    pub fn on_loopback() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            times: StubTimes::AT_ONCE,
            seed: 0,
            key: None,
            keep_log: true,
        }
    }
}

/// What all stubs share.
#[derive(Debug)]
pub(crate) struct Stub {
    pub(crate) settings: StubSettings,
    faults: Mutex<BTreeMap<Service, Vec<Fault>>>,
    /// Requests of faulty names so far.
    faulty: AtomicUsize,
    /// Requests and connections so far that took chances.
    chances: AtomicU64,
    log: log::Log,
}

impl Stub {
    /// The fault of a request for a model, a voice or a word of this name.
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

    /// The fault of this request or connection, which is used up unless it is the last of its list, and stays.
    pub(crate) fn fault(&self, service: Service) -> Fault {
        let mut faults = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
        match faults.get_mut(&service) {
            Some(waiting) if waiting.len() > 1 => waiting.remove(0),
            Some(waiting) => waiting.first().cloned().unwrap_or_default(),
            None => Fault::None,
        }
    }

    /// A client has opened a socket, asking for `query`: remembered. The fault of that connection.
    pub(crate) fn connected(&self, service: Service, query: Option<&str>) -> Fault {
        let query = query.unwrap_or_default();
        self.received(service, format!("connected {query}"));
        self.fault_of(service, query)
    }

    /// Chances of one request or connection. A request that is made again has others, as with a real provider.
    pub(crate) fn chances(&self) -> StdRng {
        let n = self.chances.fetch_add(1, Ordering::Relaxed);
        StdRng::seed_from_u64(self.settings.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ n)
    }

    /// Remembers something that a client sent, or did.
    pub(crate) fn received(&self, service: Service, what: impl Into<String>) {
        if self.settings.keep_log {
            self.log.push(Received {
                service,
                what: what.into(),
            });
        }
    }

    /// Whether a key is the right one.
    pub(crate) fn takes(&self, key: Option<&str>) -> bool {
        self.settings.key.as_deref().is_none_or(|right| key == Some(right))
    }
}

/// Running stubs. They end when this is dropped.
pub struct StubHandle {
    address: SocketAddr,
    stub: Arc<Stub>,
    _tasks: JoinSet<()>,
}

impl StubHandle {
    /// `http://` and the address served. Chat completions and other OpenAI routes begin with `/v1` there.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The faults of a service's next requests or connections, in order; the last one stays. None at all is health.
    pub fn set_faults(&self, service: Service, faults: Vec<Fault>) {
        let mut waiting = self.stub.faults.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.insert(service, faults);
    }

    /// What clients sent to a service so far.
    pub fn received(&self, service: Service) -> Vec<String> {
        self.stub.log.of(service)
    }
}

/// Starts the stubs.
///
/// # Errors
///
/// When the address cannot be served.
pub async fn start(settings: StubSettings) -> io::Result<StubHandle> {
    let listener = TcpListener::bind(settings.listen).await?;
    let address = listener.local_addr()?;
    let stub = Arc::new(Stub {
        settings,
        faults: Mutex::default(),
        faulty: AtomicUsize::new(0),
        chances: AtomicU64::new(0),
        log: log::Log::default(),
    });
    let router = router().with_state(stub.clone());
    let listener = listener.tap_io(|stream| {
        // Words are small and must not wait for more.
        let _ = stream.set_nodelay(true);
    });
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        if let Err(error) = axum::serve(listener, router).await {
            tracing::error!(%error, "stub providers ended");
        }
    });
    Ok(StubHandle {
        address,
        stub,
        _tasks: tasks,
    })
}

/// A refusal with this body. One for too many requests says when to come again.
fn refused(status: u16, body: Value) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = (status, Json(body)).into_response();
    if status == StatusCode::TOO_MANY_REQUESTS {
        response.headers_mut().insert(header::RETRY_AFTER, 1.into());
    }
    response
}

/// The same in OpenAI's words; `field` is the one that was wrong.
fn refused_by_openai(status: u16, kind: &str, message: &str, code: Option<&str>, field: Option<&str>) -> Response {
    let error = json!({ "message": message, "type": kind, "param": field, "code": code });
    refused(status, json!({ "error": error }))
}

/// A request's header.
fn given<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name)?.to_str().ok()
}

/// The key of a request that has it as most do.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    given(headers, "authorization")?.strip_prefix("Bearer ")
}

/// Every stub's routes.
fn router() -> Router<Arc<Stub>> {
    Router::new()
        .route("/health", get(async || "ok"))
        .merge(chat_completions::routes())
        .merge(messages::routes())
        .merge(flux::routes())
        .merge(listen::routes())
        .merge(scribe::routes())
        .merge(transcriptions::routes())
        .merge(cartesia::routes())
        .merge(elevenlabs::routes())
        .merge(embeddings::routes())
        .merge(speak::routes())
        .merge(speech::routes())
}
