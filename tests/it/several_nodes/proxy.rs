//! A proxy without session affinity: every request goes to the next node that is up. Sockets have a turn of their own, so
//! that however requests fall between them, three in a row reach three nodes.

use std::{
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional},
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

const MAX_HEAD_BYTES: usize = 64 * 1024;

type Nodes = Arc<Mutex<Vec<String>>>;

/// Passes requests on until it is dropped.
pub struct Proxy {
    address: SocketAddr,
    nodes: Nodes,
    unavailable: Arc<AtomicBool>,
    rejected: Arc<AtomicUsize>,
    _tasks: JoinSet<()>,
}

impl Proxy {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, nodes) = (listener.local_addr().unwrap(), Nodes::default());
        let mut tasks = JoinSet::new();
        let (unavailable, rejected) = (Arc::<AtomicBool>::default(), Arc::<AtomicUsize>::default());
        tasks.spawn(serve(listener, nodes.clone(), (unavailable.clone(), rejected.clone())));
        Self {
            address,
            nodes,
            unavailable,
            rejected,
            _tasks: tasks,
        }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Stops or resumes accepting requests. Requests already passed on continue.
    pub fn is_unavailable(&self, unavailable: bool) {
        self.unavailable.store(unavailable, Ordering::Relaxed);
    }

    /// Returns the number of requests it did not accept.
    pub fn rejected(&self) -> usize {
        self.rejected.load(Ordering::Relaxed)
    }

    /// Adds a node to send requests to.
    pub fn add(&self, node: &str) {
        let node = node.trim_start_matches("http://").to_owned();
        self.nodes.lock().unwrap().push(node);
    }
}

async fn serve(listener: TcpListener, nodes: Nodes, (unavailable, rejected): (Arc<AtomicBool>, Arc<AtomicUsize>)) {
    let (turns, mut connections) = (Arc::<Turns>::default(), JoinSet::new());
    loop {
        let (client, _) = listener.accept().await.unwrap();
        if unavailable.load(Ordering::Relaxed) {
            rejected.fetch_add(1, Ordering::Relaxed);
            continue;
        }
        let (nodes, turns) = (nodes.clone(), turns.clone());
        connections.spawn(async move { drop(pass(client, &nodes, &turns).await) });
    }
}

/// The numbers of requests and of sockets passed on so far.
#[derive(Default)]
struct Turns {
    requests: AtomicUsize,
    sockets: AtomicUsize,
}

impl Turns {
    /// Returns the nodes in the order in which they are tried.
    fn order(&self, nodes: &Nodes, is_socket: bool) -> Vec<String> {
        let mut nodes = nodes.lock().unwrap().clone();
        let passed = if is_socket { &self.sockets } else { &self.requests };
        let turn = passed.fetch_add(1, Ordering::Relaxed) % nodes.len().max(1);
        nodes.rotate_left(turn);
        nodes
    }
}

/// Connects to the first of the nodes that is up.
async fn connect(nodes: &[String]) -> std::io::Result<TcpStream> {
    let mut nobody = std::io::ErrorKind::NotConnected.into();
    for node in nodes {
        match TcpStream::connect(node).await {
            Ok(upstream) => return Ok(upstream),
            Err(error) => nobody = error,
        }
    }
    Err(nobody)
}

async fn pass(mut client: TcpStream, nodes: &Nodes, turns: &Turns) -> std::io::Result<()> {
    client.set_nodelay(true)?;
    let mut head = Vec::new();
    while !head.windows(4).any(|end| end == b"\r\n\r\n") && head.len() < MAX_HEAD_BYTES {
        if client.read_buf(&mut head).await? == 0 {
            return Ok(());
        }
    }
    let is_upgrade = String::from_utf8_lossy(&head).to_lowercase().contains("\r\nupgrade:");
    let mut upstream = connect(&turns.order(nodes, is_upgrade)).await?;
    upstream.set_nodelay(true)?;
    // With one request per connection no client sticks to a node.
    let line = head.windows(2).position(|end| end == b"\r\n").unwrap_or(0);
    if !is_upgrade {
        head.splice(line..line, *b"\r\nConnection: close");
    }
    upstream.write_all(&head).await?;
    copy_bidirectional(&mut client, &mut upstream).await.map(drop)
}
