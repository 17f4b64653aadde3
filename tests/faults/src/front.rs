//! The proxy in front of the nodes, configured as in deploy/compose.Caddyfile: each request goes to the next
//! node that is ready. Each node is probed once a second. A node that cannot be reached is skipped for a
//! while, and the request goes to another. A request that was begun is not repeated unless it only reads.
//! Connections to nodes are kept.

use std::{
    io,
    net::SocketAddr,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use http_body_util::{BodyExt, Full, combinators::BoxBody};
use hyper::{
    HeaderMap, Method, Request, Response, StatusCode,
    body::Incoming,
    client::conn::http1::{self, SendRequest},
    header::{self, HeaderName},
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinHandle,
    time::{Instant, sleep, timeout},
};

use crate::http::{self, Ask};

/// `health_interval`.
const ASKED_EVERY: Duration = Duration::from_secs(1);
/// `health_timeout`.
const ASKED_FOR: Duration = Duration::from_secs(2);
/// `fail_duration`.
const LEFT_OUT_FOR: Duration = Duration::from_secs(5);
/// `lb_try_duration`.
const TRIES_FOR: Duration = Duration::from_secs(2);
/// `lb_try_interval`.
const TRIES_EVERY: Duration = Duration::from_millis(100);
/// `dial_timeout`.
const CONNECTS_WITHIN: Duration = Duration::from_secs(1);

/// Headers of one connection only.
const HOP_BY_HOP: [HeaderName; 4] = [
    header::CONNECTION,
    header::TRANSFER_ENCODING,
    header::TE,
    HeaderName::from_static("keep-alive"),
];

type Sender = SendRequest<Full<Bytes>>;
type Body = BoxBody<Bytes, hyper::Error>;

/// State of a node.
struct Upstream {
    address: SocketAddr,
    is_ready: bool,
    left_out_until: Option<Instant>,
    /// Connections that are kept for the next request.
    kept: Vec<Sender>,
}

impl Upstream {
    fn is_open(&self) -> bool {
        self.is_ready && self.left_out_until.is_none_or(|until| until <= Instant::now())
    }
}

#[derive(Default)]
struct Shared {
    upstreams: Mutex<Vec<Upstream>>,
    turn: AtomicUsize,
    /// Requests that went to another node, because the first could not be reached or a kept connection had ended.
    again: AtomicUsize,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Vec<Upstream>> {
        self.upstreams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the next node that accepts requests.
    fn next(&self) -> Option<SocketAddr> {
        let upstreams = self.lock();
        let first = self.turn.fetch_add(1, Ordering::Relaxed);
        let mut all = (0..upstreams.len()).map(|n| &upstreams[(first + n) % upstreams.len()]);
        all.find(|upstream| upstream.is_open()).map(|upstream| upstream.address)
    }

    fn change<T>(&self, address: SocketAddr, change: impl FnOnce(&mut Upstream) -> T) -> Option<T> {
        let mut upstreams = self.lock();
        upstreams.iter_mut().find(|one| one.address == address).map(change)
    }

    /// Returns a kept connection that can take a request now.
    fn kept(&self, address: SocketAddr) -> Option<Sender> {
        self.change(address, |upstream| {
            upstream.kept.retain(|sender| !sender.is_closed());
            let at = upstream.kept.iter().position(Sender::is_ready)?;
            Some(upstream.kept.swap_remove(at))
        })
        .flatten()
    }
}

/// A running front.
pub struct Front {
    pub address: SocketAddr,
    shared: Arc<Shared>,
    tasks: Vec<JoinHandle<()>>,
}

impl Front {
    /// Starts a front on a free port.
    pub async fn start(nodes: &[SocketAddr]) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let shared = Arc::<Shared>::default();
        *shared.lock() = nodes
            .iter()
            .map(|&address| Upstream {
                address,
                is_ready: false,
                left_out_until: None,
                kept: Vec::new(),
            })
            .collect();
        let mut tasks: Vec<_> = nodes
            .iter()
            .map(|&node| tokio::spawn(ask_again_and_again(shared.clone(), node)))
            .collect();
        tasks.push(tokio::spawn(accept(shared.clone(), listener)));
        Ok(Self { address, shared, tasks })
    }

    /// Returns the number of requests that were sent to another node than the first.
    pub fn sent_again(&self) -> usize {
        self.shared.again.load(Ordering::Relaxed)
    }

    /// Returns whether it sends requests to this node.
    pub fn sends_to(&self, node: SocketAddr) -> bool {
        self.shared.change(node, |upstream| upstream.is_open()).unwrap_or(false)
    }
}

impl Drop for Front {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

/// Probes one node periodically.
async fn ask_again_and_again(shared: Arc<Shared>, node: SocketAddr) {
    loop {
        let url = format!("http://{node}/ready");
        let asked = http::send(Ask {
            method: "GET",
            url: &url,
            headers: &[],
            body: Vec::new(),
            within: ASKED_FOR,
        });
        let is_ready = asked.await.is_ok_and(|(status, _)| status == 200);
        shared.change(node, |upstream| {
            upstream.is_ready = is_ready;
            if !is_ready {
                upstream.kept.clear();
            }
        });
        sleep(ASKED_EVERY).await;
    }
}

async fn accept(shared: Arc<Shared>, listener: TcpListener) {
    while let Ok((client, _)) = listener.accept().await {
        let _ = client.set_nodelay(true);
        let shared = shared.clone();
        tokio::spawn(async move {
            let service = service_fn(move |request| {
                let shared = shared.clone();
                async move { Ok::<_, std::convert::Infallible>(answer(&shared, request).await) }
            });
            let serving = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(client), service)
                .with_upgrades();
            let _ = serving.await;
        });
    }
}

fn plain(status: StatusCode, text: &str) -> Response<Body> {
    let body = Full::new(Bytes::copy_from_slice(text.as_bytes())).map_err(|never| match never {});
    let mut answer = Response::new(body.boxed());
    *answer.status_mut() = status;
    answer
}

fn strip(headers: &mut HeaderMap) {
    for name in HOP_BY_HOP {
        headers.remove(name);
    }
}

/// Reasons why a request was not answered.
enum Trouble {
    /// It did not reach the node, so another node may get it.
    NotSent,
    /// Its result is unknown.
    Broken(hyper::Error),
}

async fn answer(shared: &Shared, mut request: Request<Incoming>) -> Response<Body> {
    let upgrade = request.headers().contains_key(header::UPGRADE);
    let client = upgrade.then(|| hyper::upgrade::on(&mut request));
    let (head, body) = request.into_parts();
    let Ok(body) = body.collect().await else {
        return plain(StatusCode::BAD_REQUEST, "the body broke off");
    };
    let body = body.to_bytes();
    let until = Instant::now() + TRIES_FOR;
    let mut tries = 0;
    loop {
        let mut copy = Request::new(Full::new(body.clone()));
        *copy.method_mut() = head.method.clone();
        *copy.uri_mut() = head.uri.clone();
        *copy.headers_mut() = head.headers.clone();
        if !upgrade {
            strip(copy.headers_mut());
        }
        let Some(node) = shared.next() else {
            if Instant::now() >= until {
                return plain(StatusCode::SERVICE_UNAVAILABLE, "the front found no node ready");
            }
            sleep(TRIES_EVERY).await;
            continue;
        };
        shared.again.fetch_add(usize::from(tries > 0), Ordering::Relaxed);
        tries += 1;
        match send(shared, node, copy, upgrade).await {
            Ok(mut answer) => {
                if let Some(client) = client.filter(|_| answer.status() == StatusCode::SWITCHING_PROTOCOLS) {
                    let server = hyper::upgrade::on(&mut answer);
                    tokio::spawn(join(client, server));
                } else {
                    strip(answer.headers_mut());
                }
                return answer.map(BodyExt::boxed);
            }
            Err(Trouble::Broken(error)) if !matches!(head.method, Method::GET | Method::HEAD) => {
                return plain(StatusCode::BAD_GATEWAY, &format!("the front: {node}: {error}"));
            }
            Err(_) if Instant::now() >= until => return plain(StatusCode::BAD_GATEWAY, "the front reached no node"),
            Err(_) => sleep(TRIES_EVERY).await,
        }
    }
}

/// Passes data between both sides once both have left HTTP.
async fn join(client: hyper::upgrade::OnUpgrade, server: hyper::upgrade::OnUpgrade) {
    if let (Ok(client), Ok(server)) = tokio::join!(client, server) {
        let _ = tokio::io::copy_bidirectional(&mut TokioIo::new(client), &mut TokioIo::new(server)).await;
    }
}

async fn send(
    shared: &Shared,
    node: SocketAddr,
    request: Request<Full<Bytes>>,
    upgrade: bool,
) -> Result<Response<Incoming>, Trouble> {
    let kept = shared.kept(node).filter(|_| !upgrade);
    let mut sender = match kept {
        Some(sender) => sender,
        None => match timeout(CONNECTS_WITHIN, connect(node)).await {
            Ok(Ok(sender)) => sender,
            Ok(Err(_)) | Err(_) => {
                let until = Some(Instant::now() + LEFT_OUT_FOR);
                shared.change(node, |upstream| upstream.left_out_until = until);
                return Err(Trouble::NotSent);
            }
        },
    };
    match sender.try_send_request(request).await {
        Ok(answer) => {
            if !upgrade {
                shared.change(node, |upstream| upstream.kept.push(sender));
            }
            Ok(answer)
        }
        Err(mut error) => match error.take_message() {
            Some(_) => Err(Trouble::NotSent),
            None => Err(Trouble::Broken(error.into_error())),
        },
    }
}

async fn connect(node: SocketAddr) -> io::Result<Sender> {
    let stream = TcpStream::connect(node).await?;
    stream.set_nodelay(true)?;
    let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
    tokio::spawn(connection.with_upgrades());
    Ok(sender)
}
