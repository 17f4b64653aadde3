//! TLS for the accept loop: the handshake before HTTP, and the certificate, which is reloaded while the service runs.

use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use rustls::{ServerConfig, server::Acceptor};
use tokio::{
    net::TcpListener,
    sync::Semaphore,
    time::{Instant, MissedTickBehavior, error::Elapsed, interval_at},
};
use tokio_rustls::{LazyConfigAcceptor, server::TlsStream};

use super::{
    certificate::{Reading, TlsError, TlsFiles},
    stall::StallGuard,
};

/// Interval of checks for changed files.
const LOOK_EVERY: Duration = Duration::from_secs(60);

/// Handshakes that may be computed at once. A signature keeps a thread busy for up to some milliseconds
/// (RSA). The others wait in a queue, which leaves the remaining threads, and the time between two of them,
/// to the audio of calls.
const COMPUTED_AT_ONCE: usize = 1;

/// Counter of failed handshakes, by reason.
pub const FAILED_HANDSHAKES: &str = "ringback_tls_handshakes_failed_total";

/// A listener, with or without TLS.
pub struct Endpoint {
    pub(super) listener: TcpListener,
    pub(super) tls: Option<Arc<Tls>>,
}

impl From<TcpListener> for Endpoint {
    fn from(listener: TcpListener) -> Self {
        Self { listener, tls: None }
    }
}

impl Endpoint {
    /// Creates an endpoint, with TLS if there is a certificate.
    pub fn new(listener: TcpListener, tls: Option<Tls>) -> Self {
        let tls = tls.map(Arc::new);
        Self { listener, tls }
    }
}

/// A certificate in use.
pub struct Tls {
    files: TlsFiles,
    /// Hash of the files as read by [`Self::load`].
    fingerprint: Option<[u8; 32]>,
    served: Mutex<Arc<ServerConfig>>,
    turns: Semaphore,
}

impl Tls {
    /// Reads the files. Blocks on the disk.
    ///
    /// # Errors
    ///
    /// Returns an error that names the wrong file and the problem.
    pub fn load(files: TlsFiles) -> Result<Self, TlsError> {
        let Reading { fingerprint, outcome } = files.read();
        Ok(Self {
            served: Mutex::new(outcome?),
            turns: Semaphore::new(COMPUTED_AT_ONCE),
            fingerprint,
            files,
        })
    }

    /// Performs the handshake of one connection, within `limit`. A failure is the client's problem: it is
    /// counted, and `None` is returned.
    pub(super) async fn accept(&self, stream: StallGuard, limit: Duration) -> Option<TlsStream<StallGuard>> {
        let shaken = tokio::time::timeout(limit, self.shake_hands(stream)).await;
        let why = reason(&shaken);
        match shaken {
            Ok(Ok(stream)) => return Some(stream),
            Ok(Err(error)) => tracing::debug!(why, %error, "TLS handshake failed"),
            Err(_) => tracing::debug!(why, "TLS handshake failed"),
        }
        metrics::counter!(FAILED_HANDSHAKES, "why" => why).increment(1);
        None
    }

    async fn shake_hands(&self, stream: StallGuard) -> io::Result<TlsStream<StallGuard>> {
        let hello = LazyConfigAcceptor::new(Acceptor::default(), stream).await?;
        let answer = {
            // Held for the computation only, never while waiting for a client.
            let _turn = self.turns.acquire().await;
            hello.into_stream(self.served())
        };
        answer.await
    }

    fn served(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.served.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Checks the files each minute and serves a changed certificate. An error is logged once, and the
    /// previous certificate stays in use. Never returns.
    pub(super) async fn keep_renewed(self: Arc<Self>) {
        let mut known = self.fingerprint;
        let mut looks = interval_at(Instant::now() + LOOK_EVERY, LOOK_EVERY);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            looks.tick().await;
            let files = self.files.clone();
            // The disk may be slow.
            let Ok(Reading { fingerprint, outcome }) = tokio::task::spawn_blocking(move || files.read()).await else {
                continue;
            };
            if fingerprint == known {
                continue;
            }
            known = fingerprint;
            match outcome {
                Ok(config) => {
                    *self.served.lock().unwrap_or_else(PoisonError::into_inner) = config;
                    tracing::info!("certificate renewed");
                }
                Err(why) => {
                    tracing::error!("{why}. The previous certificate stays in use until the files are fixed");
                }
            }
        }
    }
}

fn reason<T>(shaken: &Result<io::Result<T>, Elapsed>) -> &'static str {
    match shaken {
        Err(_) => "timeout",
        Ok(Err(error)) if error.kind() == io::ErrorKind::InvalidData => "refused",
        _ => "closed",
    }
}
