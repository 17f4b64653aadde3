//! What the stubs of all providers share: their settings and state, and the shape of a stub.

use std::{
    collections::BTreeMap,
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
};
use rand::{SeedableRng, rngs::StdRng};
use serde_json::Value;

use crate::{
    schema::{self, Misfit},
    stub_providers::{
        fault::Fault,
        log::{Log, Received, Service},
        times::StubTimes,
    },
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
    pub(super) faults: Mutex<BTreeMap<Service, Vec<Fault>>>,
    /// Number of requests of faulty names so far.
    faulty: AtomicUsize,
    /// Number of requests and connections so far that drew random numbers.
    chances: AtomicU64,
    pub(super) log: Log,
    pub(super) misfits: Mutex<Vec<String>>,
}

impl Stub {
    pub(super) fn new(settings: StubSettings) -> Self {
        Self {
            settings,
            faults: Mutex::default(),
            faulty: AtomicUsize::new(0),
            chances: AtomicU64::new(0),
            log: Log::default(),
            misfits: Mutex::default(),
        }
    }

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

    pub(super) fn complain(&self, misfit: &Misfit) {
        let mut misfits = self.misfits.lock().unwrap_or_else(PoisonError::into_inner);
        misfits.push(misfit.to_string());
    }

    /// Returns an error if the provider's package does not know a model.
    pub(crate) fn takes_model(&self, kind: &str, model: &str) -> Result<(), UnknownModel> {
        let is_known = |provider| schema::known_model(provider, kind, model).is_some();
        match self.settings.models_of.is_none_or(is_known) {
            true => Ok(()),
            false => Err(UnknownModel(model.to_owned())),
        }
    }

    /// Returns whether a key is accepted.
    pub(crate) fn takes(&self, key: Option<&str>) -> bool {
        self.settings.key.as_deref().is_none_or(|right| key == Some(right))
    }
}

/// Error of a request for a model that the provider's package does not know.
#[derive(Debug, thiserror::Error)]
#[error("The model `{0}` does not exist or you do not have access to it.")]
pub(crate) struct UnknownModel(String);

/// Stub of one provider.
pub(crate) struct StubProvider {
    /// Name of its schema.
    pub(crate) name: &'static str,
    pub(crate) routes: fn() -> Router<Arc<Stub>>,
    /// Returns the status and body that refuse a request for a field, in the provider's words.
    pub(crate) refusal: fn(&str, &str) -> (u16, Value),
}

/// Returns an error response with this body. With status 429 it says when to retry.
pub(crate) fn refused(status: u16, body: Value) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = (status, Json(body)).into_response();
    if status == StatusCode::TOO_MANY_REQUESTS {
        response.headers_mut().insert(header::RETRY_AFTER, 1.into());
    }
    response
}

/// Returns a request's header.
pub(crate) fn given<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name)?.to_str().ok()
}

/// Returns the key of a request from the bearer token.
pub(crate) fn bearer(headers: &HeaderMap) -> Option<&str> {
    given(headers, "authorization")?.strip_prefix("Bearer ")
}
