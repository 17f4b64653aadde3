//! The accept loop: HTTP/1, plain or over TLS, with limits that keep slow or greedy clients from harming others.
//!
//! All waiting uses tokio's clock, and only certificate files are read on other threads. So it also works
//! under a paused clock.

mod body;
mod certificate;
mod connection_limit;
mod idle_stream;
mod stall;
mod tls;

use std::{convert::Infallible, io, net::SocketAddr, pin::Pin, sync::Arc, time::Duration};

use axum::{Router, body::Body, extract::ConnectInfo};
use bytes::Bytes;
use hyper::{Request, StatusCode, body::Incoming, header, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore, watch},
    task::JoinSet,
};
use tower::ServiceExt;

use net::log_gate;

pub use body::BodyStalled;
use body::{GuardedBody, Pace};
pub use certificate::{TlsError, TlsFiles};
pub(crate) use connection_limit::network;
use connection_limit::{ConnectionLimit, ConnectionSlot};
use idle_stream::{During, IDLE_AFTER, IdleStream, Turn};
use stall::StallGuard;
pub use tls::FAILED_HANDSHAKES;
pub use tls::{Endpoint, Tls};

/// Prefix of carrier callbacks: small bodies that are read before authentication.
const CALLBACKS: &str = "/carriers/";

/// Maximum bytes that are buffered of a request or a response. Uploads gain nothing from more.
const MOST_AT_ONCE: usize = 64 * 1024;

/// Resource limits of clients.
#[derive(Debug, Clone)]
pub struct ServerLimits {
    /// Maximum silence of a client: after a connection opens, during the TLS handshake, after a response. The
    /// headers of a request may take as long again from its first byte. If the last response was just before,
    /// that counts from the response. If the headers began before the response, they may take a second
    /// longer.
    pub header_timeout: Duration,
    /// Maximum time between two pieces of a request's body.
    pub body_idle_timeout: Duration,
    /// Maximum time during which a client accepts nothing of a pending response (or of an upgraded socket's messages).
    pub write_stall_timeout: Duration,
    /// Maximum bytes of a request's first line and headers.
    pub header_bytes: usize,
    /// Maximum header lines of a request.
    pub header_count: usize,
    /// Maximum open connections. Further ones wait in the kernel's queue. Upgraded sockets do not count,
    /// because the code that upgrades them has its own limit.
    pub connections: usize,
    /// Maximum open connections per address (for IPv6, per /64). Further ones are closed at once.
    pub connections_per_address: usize,
    /// Whether loopback addresses have no limit of their own. A proxy in front and the simulated exchange use them.
    pub loopback_is_exempt: bool,
    /// Time that requests in progress may take after a shutdown began.
    pub shutdown_grace: Duration,
}

impl Default for ServerLimits {
    fn default() -> Self {
        Self {
            header_timeout: Duration::from_secs(10),
            body_idle_timeout: Duration::from_secs(10),
            write_stall_timeout: Duration::from_secs(30),
            header_bytes: 32 * 1024,
            header_count: 64,
            connections: 4096,
            connections_per_address: 256,
            loopback_is_exempt: true,
            shutdown_grace: Duration::from_secs(10),
        }
    }
}

/// Serves `router` at `endpoint`, which may be a bare listener, until `shutdown` resolves. Then it accepts no
/// new connections, lets requests in progress finish within the grace time, and returns. Handlers find the
/// peer's address in `ConnectInfo<SocketAddr>`.
pub async fn serve(
    endpoint: impl Into<Endpoint>,
    router: Router,
    limits: ServerLimits,
    shutdown: impl Future<Output = ()>,
) {
    let Endpoint { listener, tls } = endpoint.into();
    // Ends with this function.
    let mut renewal = JoinSet::new();
    if let Some(tls) = tls.clone() {
        renewal.spawn(tls.keep_renewed());
    }
    let limits = Arc::new(limits);
    let room = Arc::new(Semaphore::new(limits.connections));
    let per_address = Arc::new(ConnectionLimit::new(&limits));
    let (closing, watcher) = watch::channel(false);
    let mut connections = JoinSet::new();
    tokio::pin!(shutdown);
    loop {
        while connections.try_join_next().is_some() {}
        let (stream, peer, permit) = tokio::select! {
            () = &mut shutdown => break,
            next = next_connection(&listener, &room) => next,
        };
        let Some(slot) = per_address.admit(peer.ip()) else {
            if let Some(left_out) = log_gate::opens("connections", "address") {
                tracing::warn!(address = %peer.ip(), left_out, "connection refused: too many from this address");
            }
            continue;
        };
        let connection = Connection {
            peer,
            tls: tls.clone(),
            limits: Arc::clone(&limits),
            closing: watcher.clone(),
            _room: permit,
            _slot: slot,
        };
        connections.spawn(connection.run(stream, router.clone()));
    }
    drop(listener);
    closing.send_replace(true);
    let all_done = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(limits.shutdown_grace, all_done).await.is_err() {
        tracing::warn!(open = connections.len(), "connections closed after the grace time");
    }
}

/// Waits for a free slot, then for a client. Errors of `accept` concern one connection, or are temporary (no
/// file descriptor left).
async fn next_connection(
    listener: &TcpListener,
    room: &Arc<Semaphore>,
) -> (TcpStream, SocketAddr, Option<OwnedSemaphorePermit>) {
    if room.available_permits() == 0
        && let Some(left_out) = log_gate::opens("connections", "room")
    {
        tracing::warn!(left_out, "connection limit reached");
    }
    // The semaphore is never closed, so there is always a permit.
    let permit = Arc::clone(room).acquire_owned().await.ok();
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => return (stream, peer, permit),
            Err(error) if is_of_one_connection(&error) => {}
            Err(error) => {
                tracing::error!(%error, "accept failed");
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
        }
    }
}

fn is_of_one_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionRefused
    )
}

/// A connection and its resources.
struct Connection {
    peer: SocketAddr,
    tls: Option<Arc<Tls>>,
    limits: Arc<ServerLimits>,
    closing: watch::Receiver<bool>,
    _room: Option<OwnedSemaphorePermit>,
    _slot: ConnectionSlot,
}

impl Connection {
    async fn run(mut self, stream: TcpStream, router: Router) {
        // Responses are small and complete; waiting to fill packets only delays them.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "TCP_NODELAY not set");
        }
        // An idle connection costs a small task and allocates no HTTP buffers.
        let mut first = [0];
        if self
            .hear(stream.peek(&mut first), self.limits.header_timeout)
            .await
            .is_some()
        {
            Box::pin(self.converse(stream, router)).await;
        }
    }

    /// Serves the connection. Each phase is boxed separately, so that a connection uses only the memory of
    /// its current phase.
    async fn converse(mut self, stream: TcpStream, router: Router) {
        let stream = StallGuard::new(stream, self.limits.write_stall_timeout);
        let Some(tls) = self.tls.take() else {
            return Box::pin(self.speak_http(stream, router)).await;
        };
        let shaken = tokio::select! {
            shaken = Box::pin(tls.accept(stream, self.limits.header_timeout)) => shaken,
            () = closed(&mut self.closing) => None,
        };
        if let Some(stream) = shaken {
            Box::pin(self.speak_http(stream, router)).await;
        }
    }

    async fn speak_http(mut self, mut stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, router: Router) {
        let silence = self.limits.header_timeout.saturating_sub(IDLE_AFTER);
        let mut heard = Bytes::new();
        while let Some((returned, begun)) = self.answer(stream, heard, &router).await {
            (stream, heard) = (returned, begun);
            if heard.is_empty() {
                let Some(first) = self.hear(stream.read_u8(), silence).await else {
                    // It does not matter whether the peer still accepts the close message.
                    let _ = stream.shutdown().await;
                    return;
                };
                heard = Bytes::copy_from_slice(&[first]);
            }
        }
    }

    /// Serves requests until the connection ends or the client is idle for a while. In the latter case,
    /// returns the stream and the bytes of the next request read so far.
    async fn answer<S>(&mut self, stream: S, heard: Bytes, router: &Router) -> Option<(S, Bytes)>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (served, talk) = IdleStream::new(stream, heard);
        let (peer, idle, router, turns) = (self.peer, self.limits.body_idle_timeout, router.clone(), talk.clone());
        let service = service_fn(move |request: Request<Incoming>| {
            let (router, turn) = (router.clone(), turns.turn());
            let request = prepare(request, peer, idle, turns.turn());
            async move {
                let answer = router.oneshot(request).await?;
                Ok::<_, Infallible>(match answer.status() {
                    StatusCode::SWITCHING_PROTOCOLS => {
                        turn.never_ends();
                        answer
                    }
                    _ => answer.map(|body| Body::new(During::new(body, turn))),
                })
            }
        });
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new())
            .header_read_timeout(self.limits.header_timeout)
            .max_header_size(self.limits.header_bytes)
            .max_headers(self.limits.header_count)
            .max_buf_size(MOST_AT_ONCE.max(self.limits.header_bytes));
        let mut serving = Box::pin(http.serve_connection(TokioIo::new(served), service).with_upgrades());
        let end = tokio::select! {
            // Input received before is served first.
            biased;
            end = serving.as_mut() => Some(end),
            () = talk.silence() => None,
            () = closed(&mut self.closing) => {
                serving.as_mut().graceful_shutdown();
                Some(serving.as_mut().await)
            }
        };
        match end {
            None => {
                let parts = Pin::into_inner(serving).into_parts()?;
                Some((parts.io.into_inner().into_inner(), parts.read_buf))
            }
            Some(Ok(())) => None,
            Some(Err(error)) => {
                tracing::debug!(%error, "connection ended early");
                None
            }
        }
    }

    /// Waits for `word`. Returns `None` if the client stays silent too long, or the service shuts down before.
    async fn hear<T>(&mut self, word: impl Future<Output = io::Result<T>>, limit: Duration) -> Option<T> {
        tokio::select! {
            // Requests sent before the shutdown are served.
            biased;
            heard = tokio::time::timeout(limit, word) => heard.ok()?.ok(),
            () = closed(&mut self.closing) => None,
        }
    }
}

/// Waits until the shutdown begins.
async fn closed(closing: &mut watch::Receiver<bool>) {
    // An error means that `serve` itself has ended.
    let _ = closing.wait_for(|closing| *closing).await;
}

fn prepare(request: Request<Incoming>, peer: SocketAddr, idle: Duration, turn: Turn) -> Request<Body> {
    // A client that waits for `100 Continue` has sent nothing to drain, and must not be told to start.
    let drain = !request.headers().contains_key(header::EXPECT);
    let pace = match request.uri().path().starts_with(CALLBACKS) {
        true => Pace::of_small(idle),
        false => Pace::of_any_size(idle),
    };
    let mut request = request.map(|body| Body::new(GuardedBody::new(body, pace, drain, turn)));
    request.extensions_mut().insert(ConnectInfo(peer));
    request
}
