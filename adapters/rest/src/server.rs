//! The accept loop: HTTP/1, by itself or in TLS, with the limits that keep a slow or greedy client from harming the others.
//!
//! Everything that waits waits on tokio's clock, nothing but the reading of a certificate runs on other threads: it also
//! serves under a paused clock.

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

/// Where carriers call back: small bodies, read before anybody has shown who they are.
const CALLBACKS: &str = "/carriers/";

/// Bytes that are read of a request, or gathered of an answer, before somebody takes them. Uploads gain nothing from more.
const MOST_AT_ONCE: usize = 64 * 1024;

/// What a client may use up.
#[derive(Debug, Clone)]
pub struct ServerLimits {
    /// How long a client may say nothing: after the opening of a connection, in TLS's handshake, after an answer. A
    /// request's headers may take as long again from its first byte (from the last answer, where that was just now; a
    /// second longer where they began before it).
    pub header_timeout: Duration,
    /// Between two pieces of a request's body.
    pub body_idle_timeout: Duration,
    /// How long a client may take nothing of an answer (or of an upgraded socket's messages) that waits for it.
    pub write_stall_timeout: Duration,
    /// Bytes of a request's first line and headers.
    pub header_bytes: usize,
    /// Header lines of a request.
    pub header_count: usize,
    /// Open connections in all; beyond it new ones wait in the kernel's queue. Sockets that were upgraded no longer
    /// count: whoever upgrades them bounds them.
    pub connections: usize,
    /// Open connections of one address (of IPv6, of one /64); beyond it new ones are closed at once.
    pub connections_per_address: usize,
    /// Loopback addresses have no limit of their own: a proxy in front and the simulated exchange live there.
    pub loopback_is_exempt: bool,
    /// How long requests in progress may take after the shutdown began.
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

/// Serves `router` at `endpoint`, which may be a bare listener, until `shutdown` resolves; then takes no new connection,
/// lets requests in progress end within the grace time, and returns. Handlers find the peer's address in
/// `ConnectInfo<SocketAddr>`.
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
        tracing::warn!(open = connections.len(), "connections cut at the end of the grace time");
    }
}

/// Waits for room, then for a client. Errors of `accept` are of one connection, or pass (no file handle left).
async fn next_connection(
    listener: &TcpListener,
    room: &Arc<Semaphore>,
) -> (TcpStream, SocketAddr, Option<OwnedSemaphorePermit>) {
    if room.available_permits() == 0
        && let Some(left_out) = log_gate::opens("connections", "room")
    {
        tracing::warn!(left_out, "as many connections are open as there may be: others wait");
    }
    // The semaphore is never closed, so there always is a permit.
    let permit = Arc::clone(room).acquire_owned().await.ok();
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => return (stream, peer, permit),
            Err(error) if is_of_one_connection(&error) => {}
            Err(error) => {
                tracing::error!(%error, "cannot accept connections");
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

/// One connection, and what it holds until it ends.
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
        // Answers are small and whole; waiting to fill packets only delays them.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "TCP_NODELAY not set");
        }
        // Who says nothing costs a small task, and none of the buffers that HTTP begins with.
        let mut first = [0];
        if self
            .hear(stream.peek(&mut first), self.limits.header_timeout)
            .await
            .is_some()
        {
            Box::pin(self.converse(stream, router)).await;
        }
    }

    /// Each part in a place of its own, that a connection takes no more than the part it is in.
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
                    // Whether it still takes the word of farewell changes nothing.
                    let _ = stream.shutdown().await;
                    return;
                };
                heard = Bytes::copy_from_slice(&[first]);
            }
        }
    }

    /// Answers requests until the connection is over, or the client has asked nothing for a while: then the stream comes
    /// back, with what has come of the next request.
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
            // What was heard is answered.
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

    /// What `word` comes to; none when the client says nothing in time, or the service shuts down before it does.
    async fn hear<T>(&mut self, word: impl Future<Output = io::Result<T>>, limit: Duration) -> Option<T> {
        tokio::select! {
            // What was asked before the shutdown is answered.
            biased;
            heard = tokio::time::timeout(limit, word) => heard.ok()?.ok(),
            () = closed(&mut self.closing) => None,
        }
    }
}

/// Resolves when the shutdown begins.
async fn closed(closing: &mut watch::Receiver<bool>) {
    // An error means that `serve` itself is gone.
    let _ = closing.wait_for(|closing| *closing).await;
}

fn prepare(request: Request<Incoming>, peer: SocketAddr, idle: Duration, turn: Turn) -> Request<Body> {
    // A client that waits for `100 Continue` sends nothing to drain, and must not be told to begin.
    let drain = !request.headers().contains_key(header::EXPECT);
    let pace = match request.uri().path().starts_with(CALLBACKS) {
        true => Pace::of_small(idle),
        false => Pace::of_any_size(idle),
    };
    let mut request = request.map(|body| Body::new(GuardedBody::new(body, pace, drain, turn)));
    request.extensions_mut().insert(ConnectInfo(peer));
    request
}
