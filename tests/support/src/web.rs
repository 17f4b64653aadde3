//! A test web server that answers with raw bytes and counts connections.

use std::{
    net::{IpAddr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

/// Function from a path to the whole response.
type Answer = dyn Fn(&str) -> Vec<u8> + Send + Sync;

/// A running server. Dropping it stops the server.
pub struct Web {
    pub address: SocketAddr,
    connections: Arc<AtomicUsize>,
    server: JoinHandle<()>,
}

impl Web {
    /// Serves on an address; port 0 takes a free port.
    pub async fn start(at: SocketAddr, answer: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind(at).await.unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let (counted, answer): (_, Arc<Answer>) = (connections.clone(), Arc::new(answer));
        let server = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                counted.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(serve(stream, answer.clone()));
            }
        });
        Self {
            address,
            connections,
            server,
        }
    }

    /// Serves on a free port of the loopback address.
    pub async fn local(answer: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static) -> Self {
        Self::start(([127, 0, 0, 1], 0).into(), answer).await
    }

    /// Returns the URL of a path.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Returns the number of connections so far.
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        self.server.abort();
    }
}

/// Handles one request with one response. An empty response resets the connection.
async fn serve(mut stream: TcpStream, answer: Arc<Answer>) {
    let mut head = Vec::new();
    while !head.windows(4).any(|bytes| bytes == b"\r\n\r\n") {
        let mut piece = [0; 1024];
        match stream.read(&mut piece).await {
            Ok(0) | Err(_) => return,
            Ok(count) => head.extend_from_slice(&piece[..count]),
        }
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let path = head.split(' ').nth(1).unwrap_or_default();
    let bytes = answer(path);
    if bytes.is_empty() {
        stream.set_zero_linger().unwrap();
        return;
    }
    // A client that has read enough may disconnect.
    let _ = stream.write_all(&bytes).await;
    let _ = stream.shutdown().await;
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest).await;
}

/// Returns a response with a body.
pub fn ok(content_type: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    response("200 OK", &format!("content-type: {content_type}\r\n"), body)
}

/// Returns a redirect.
pub fn redirect(status: u16, location: &str) -> Vec<u8> {
    response(&format!("{status} Redirect"), &format!("location: {location}\r\n"), "")
}

/// Returns any response; each header ends in CR LF.
pub fn response(status: &str, headers: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let head = format!(
        "HTTP/1.1 {status}\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

/// An address that stands for the public internet in tests: another one of this machine's loopback.
pub const PUBLIC: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(127, 0, 0, 2));
