//! Providers of language models and speech for tests and benches, on real sockets and with the real
//! protocols. They speak and understand babble, so that every word of a call through them can be checked.
//! Faults and delays are set by the test.

pub mod anthropic;
pub mod cartesia;
pub mod deepgram;
pub mod elevenlabs;
mod event_stream;
mod fault;
mod language_model;
mod log;
pub mod openai;
mod recogniser;
mod report;
mod speaking;
mod stub;
mod times;

use std::{
    io,
    net::SocketAddr,
    sync::{Arc, PoisonError},
};

use axum::{Json, Router, routing::get, serve::ListenerExt};
use tokio::{net::TcpListener, task::JoinSet};

use self::stub::{Stub, StubProvider};
pub use self::{
    fault::Fault,
    log::{Received, Service},
    stub::{FAULTY, StubSettings},
    times::{Spread, StubTimes},
};
use crate::schema::{self, Misfit};

/// The stubs of all providers. Those that only speak OpenAI's protocols have none of their own.
const PROVIDERS: [StubProvider; 5] = [
    openai::STUB,
    anthropic::STUB,
    deepgram::STUB,
    elevenlabs::STUB,
    cartesia::STUB,
];

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
    let stub = Arc::new(Stub::new(settings));
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

/// Returns the routes of all stubs.
fn router(stub: &Arc<Stub>) -> Router<Arc<Stub>> {
    let routes = Router::new()
        .route("/health", get(async || "ok"))
        .route("/checked", get(async || Json(schema::checked())));
    PROVIDERS.iter().fold(routes, |all, provider| {
        let stub = stub.clone();
        let refusal = provider.refusal;
        let refuse = move |misfit: &Misfit| {
            stub.complain(misfit);
            refusal(misfit.name(), &misfit.to_string())
        };
        all.merge(schema::guarded((provider.routes)(), provider.name, refuse))
    })
}
