//! A plain HTTP/1 connection that is kept open: a client that costs next to nothing beside the service it measures.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpSocket, TcpStream},
};

use super::BenchError;

/// Bytes read at once.
const PIECE: usize = 16 * 1024;

/// Returns the loopback address of a client that stands for another machine: the service limits the connections of an
/// address.
pub fn source(client: u32) -> IpAddr {
    let last = u8::try_from(client + 10).unwrap_or(u8::MAX);
    IpAddr::V4(Ipv4Addr::new(127, 0, 0, last))
}

/// A response whose body came with its length.
#[derive(Debug)]
pub struct Answer {
    /// HTTP status.
    pub status: u16,
    /// Body.
    pub body: Vec<u8>,
    /// Cookie that it sets, as `name=value`.
    pub cookie: Option<String>,
}

async fn connected(source: Option<IpAddr>, address: SocketAddr) -> Result<TcpStream, BenchError> {
    let stream = match source {
        Some(source) => {
            let socket = TcpSocket::new_v4()?;
            socket.bind((source, 0).into())?;
            socket.connect(address).await?
        }
        None => TcpStream::connect(address).await?,
    };
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// One connection; one request at a time.
pub struct Connection {
    stream: TcpStream,
    source: Option<IpAddr>,
    address: SocketAddr,
    received: Vec<u8>,
    /// Session's cookie as `name=value`; empty without a session.
    cookie: String,
}

impl Connection {
    /// Connects.
    pub async fn open(address: SocketAddr) -> Result<Self, BenchError> {
        Self::new(None, address).await
    }

    /// Connects from this address, as another machine would.
    pub async fn open_from(source: IpAddr, address: SocketAddr) -> Result<Self, BenchError> {
        Self::new(Some(source), address).await
    }

    async fn new(source: Option<IpAddr>, address: SocketAddr) -> Result<Self, BenchError> {
        Ok(Self {
            stream: connected(source, address).await?,
            source,
            address,
            received: Vec::with_capacity(PIECE),
            cookie: String::new(),
        })
    }

    /// Sends a session's cookie with each later request.
    pub fn with_cookie(self, cookie: &str) -> Self {
        Self {
            cookie: cookie.to_owned(),
            ..self
        }
    }

    /// Signs in as a browser does. Returns the session's cookie.
    pub async fn sign_in(&mut self, email: &str, key: &str) -> Result<String, BenchError> {
        let body = json!({ "email": email, "apiKey": key }).to_string();
        let answer = self.post("/public/v1/session", "", &body).await?;
        let cookie = answer.cookie.filter(|_| answer.status == 201);
        cookie.ok_or_else(|| {
            format!(
                "signing in: {} {}",
                answer.status,
                String::from_utf8_lossy(&answer.body)
            )
            .into()
        })
    }

    /// Sends `GET path`, with an API key unless it is empty.
    pub async fn get(&mut self, path: &str, key: &str) -> Result<Answer, BenchError> {
        self.send(&format!("GET {path}"), key, "").await
    }

    /// Sends `POST path` with a JSON body.
    pub async fn post(&mut self, path: &str, key: &str, body: &str) -> Result<Answer, BenchError> {
        self.send(&format!("POST {path}"), key, body).await
    }

    /// A connection that the service closed because it was idle is opened again, as browsers do.
    async fn send(&mut self, line: &str, key: &str, body: &str) -> Result<Answer, BenchError> {
        if self.stream.try_read(&mut [0]).is_ok_and(|read| read == 0) {
            self.stream = connected(self.source, self.address).await?;
        }
        self.write(line, key, body).await?;
        self.answer().await
    }

    async fn write(&mut self, line: &str, key: &str, body: &str) -> Result<(), BenchError> {
        let mut request = format!("{line} HTTP/1.1\r\nhost: {}\r\n", self.address);
        match key.is_empty() {
            // As a browser.
            true => request.push_str(&format!("origin: http://{}\r\n", self.address)),
            false => request.push_str(&format!("x-api-key: {key}\r\n")),
        }
        if !self.cookie.is_empty() {
            request.push_str(&format!("cookie: {}\r\n", self.cookie));
        }
        if !body.is_empty() {
            let length = body.len();
            request.push_str(&format!(
                "content-type: application/json\r\ncontent-length: {length}\r\n"
            ));
        }
        request.push_str("\r\n");
        request.push_str(body);
        Ok(self.stream.write_all(request.as_bytes()).await?)
    }

    async fn answer(&mut self) -> Result<Answer, BenchError> {
        self.received.clear();
        let begins = loop {
            self.receive().await?;
            if let Some(end) = self.received.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
                break end + 4;
            }
        };
        let head = std::str::from_utf8(&self.received[..begins])?;
        let cookie = head.lines().find_map(|line| line.strip_prefix("set-cookie: "));
        let cookie = cookie.and_then(|text| text.split(';').next()).map(str::to_owned);
        let head = head.to_ascii_lowercase();
        let status = head.split(' ').nth(1).ok_or("the response has no status")?.parse()?;
        let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
        let length: usize = length.ok_or("the response has no content-length")?.trim().parse()?;
        while self.received.len() < begins + length {
            self.receive().await?;
        }
        let body = self.received[begins..begins + length].to_vec();
        Ok(Answer { status, body, cookie })
    }

    /// Sends `GET path` for an endless response, which [`Connection::receive_on`] reads.
    pub async fn begin(&mut self, path: &str, key: &str) -> Result<(), BenchError> {
        self.write(&format!("GET {path}"), key, "").await?;
        self.receive().await?;
        match self.received.starts_with(b"HTTP/1.1 200") {
            true => Ok(()),
            false => Err(format!("{path}: {}", String::from_utf8_lossy(&self.received)).into()),
        }
    }

    /// Replaces the buffer with the next received bytes.
    pub async fn receive_on(&mut self) -> Result<(), BenchError> {
        self.received.clear();
        self.receive().await
    }

    /// Returns the bytes received last.
    pub fn received(&self) -> &[u8] {
        &self.received
    }

    async fn receive(&mut self) -> Result<(), BenchError> {
        if self.stream.read_buf(&mut self.received).await? == 0 {
            return Err("the service closed the connection".into());
        }
        Ok(())
    }
}
