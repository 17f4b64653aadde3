//! A stub carrier for manual use: it has its own address, simulated phones behind it, and prints the
//! environment that makes a service use it.

use std::{any::Any, fmt, io, net::SocketAddr, sync::Arc, time::Duration};

use domain::time::SystemClock;
use futures_util::future::BoxFuture;

use super::{
    base::delivery::Callbacks,
    settings::{NUMBER, StubCarrierSettings},
};

/// Frames of a telephone per second.
const FRAMES_A_SECOND: u64 = 50;

/// A carrier whose stub can be run.
#[derive(Debug)]
pub struct StubKind {
    /// Value of `RINGBACK_CARRIER`.
    pub name: &'static str,
    /// Name for people.
    pub title: &'static str,
    /// Whether untidy reports are also late and in another order.
    pub reorders: bool,
    /// Starts the stub.
    pub start: StartStub,
}

/// Starts a stub with these settings.
pub type StartStub = fn(StubCarrierSettings) -> BoxFuture<'static, io::Result<Started>>;

/// A started stub.
pub struct Started {
    /// Base URL of its API, which also takes requests for inbound calls.
    url: String,
    /// Environment variables of its account.
    account: Vec<(&'static str, String)>,
    /// The stub runs until this is dropped.
    _stub: Box<dyn Any + Send>,
}

impl Started {
    /// Keeps a stub that runs at this URL, with the variables of its account.
    pub(super) fn new(url: String, account: Vec<(&'static str, String)>, stub: impl Any + Send) -> Self {
        Self {
            url,
            account,
            _stub: Box::new(stub),
        }
    }
}

/// Options of a run.
#[derive(Debug, Clone)]
pub struct Wish {
    /// Carrier.
    pub carrier: &'static StubKind,
    /// Listen address; port 0 takes a free port.
    pub listen: SocketAddr,
    /// Base URL of the service, without a trailing slash.
    pub service: String,
    /// Sends every report twice, and some carriers' also late and in another order.
    pub untidy: bool,
    /// Time until the first media socket of each call breaks, to the second.
    pub cut_after: Option<Duration>,
}

/// A stub that runs until this is dropped.
pub struct Running {
    stub: Started,
    carrier: &'static StubKind,
    service: String,
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Running")
            .field("carrier", &self.carrier)
            .finish_non_exhaustive()
    }
}

/// Starts a stub.
///
/// # Errors
/// Returns an error if the stub cannot listen or its phones do not start.
pub async fn start(wish: Wish) -> io::Result<Running> {
    let settings = StubCarrierSettings {
        listen: wish.listen,
        service: wish.service.clone(),
        callbacks: if wish.untidy {
            Callbacks::Twice
        } else {
            Callbacks::InOrder
        },
        cut_after: wish.cut_after.map(|after| after.as_secs() * FRAMES_A_SECOND),
        ..StubCarrierSettings::on_loopback(Arc::new(SystemClock), &[])
    };
    Ok(Running {
        stub: (wish.carrier.start)(settings).await?,
        carrier: wish.carrier,
        service: wish.service,
    })
}

impl Running {
    /// Returns the environment variables that make a service use this stub: names and values.
    pub fn environment(&self) -> Vec<(&'static str, String)> {
        let mut variables = vec![
            ("RINGBACK_CARRIER", self.carrier.name.to_owned()),
            ("RINGBACK_PUBLIC_URL", self.service.clone()),
        ];
        variables.extend(self.stub.account.iter().cloned());
        variables
    }

    /// Returns the environment as shell commands, with further facts as comments.
    pub fn shell(&self) -> String {
        let (url, service) = (&self.stub.url, &self.service);
        let mut lines = format!(
            "# Stub of {} listens on {url}\n\
             # Phones call in to {service}: curl {url}/v1/inbound -d '{{\"from\":\"+15550100010\",\"to\":\"{NUMBER}\"}}'\n",
            self.carrier.name
        );
        for (name, value) in self.environment() {
            // None of the values contains a quote.
            lines.push_str(&format!("export {name}='{value}'\n"));
        }
        lines
    }
}
