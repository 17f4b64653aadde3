//! Hostile clients of the API, each with one connection at a time.

use std::{net::SocketAddr, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::{Instant, sleep, timeout},
};

use super::neighbourhood::Neighbourhood;
use crate::BenchError;

/// Kind of attack.
#[derive(Debug, Clone, Copy)]
pub enum Attack {
    /// Sends a header a byte at a time.
    SlowHeaders,
    /// Sends a body a byte at a time.
    SlowBody,
    /// Requests large responses and does not read them.
    SlowReading,
    /// Sends a hundred thousand brackets.
    DeepJson,
    /// Uploads a file of one endless line.
    EndlessLine,
    /// Uploads a file of one endless quoted field.
    EndlessField,
    /// Uploads a file of one record of empty fields.
    Commas,
    /// Sends endless header lines.
    ManyHeaders,
    /// Sends one endless header.
    LongHeader,
}

/// All attacks.
pub const ALL: [Attack; 9] = [
    Attack::SlowHeaders,
    Attack::SlowBody,
    Attack::SlowReading,
    Attack::DeepJson,
    Attack::EndlessLine,
    Attack::EndlessField,
    Attack::Commas,
    Attack::ManyHeaders,
    Attack::LongHeader,
];

const BRACKETS: usize = 100_000;
/// Length of endless files and headers.
const ENDLESS: usize = 32 * 1024 * 1024;
/// Bytes per write.
const PIECE: usize = 16 * 1024;
/// Pause between two bytes of a slow client.
const DRIP: Duration = Duration::from_millis(100);
const BOUNDARY: &str = "hostile";

impl Attack {
    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::SlowHeaders => "slow headers",
            Self::SlowBody => "slow body",
            Self::SlowReading => "answers that are not read",
            Self::DeepJson => "JSON of 100,000 brackets",
            Self::EndlessLine => "CSV line without end",
            Self::EndlessField => "CSV field without end",
            Self::Commas => "CSV record of commas without end",
            Self::ManyHeaders => "header lines without end",
            Self::LongHeader => "header without end",
        }
    }
}

/// One connection with its deadline.
struct Connection {
    stream: TcpStream,
    until: Instant,
}

impl Connection {
    async fn open(address: SocketAddr, lasts: Duration) -> Result<Self, BenchError> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            until: Instant::now() + lasts,
        })
    }

    fn is_over(&self) -> bool {
        Instant::now() >= self.until
    }

    /// Sends bytes; returns `false` if the service accepts no more or the time is over.
    async fn send(&mut self, bytes: &[u8]) -> bool {
        let left = self.until.saturating_duration_since(Instant::now());
        matches!(timeout(left, self.stream.write_all(bytes)).await, Ok(Ok(())))
    }

    /// Sends the same piece again and again.
    async fn send_on(&mut self, piece: &[u8], bytes: usize) {
        for _ in 0..bytes / piece.len().max(1) {
            if !self.send(piece).await {
                return;
            }
        }
    }

    /// Sends one byte after the other.
    async fn drip(&mut self, bytes: &[u8]) {
        for byte in bytes.iter().cycle() {
            if self.is_over() || !self.send(&[*byte]).await {
                return;
            }
            sleep(DRIP).await;
        }
    }

    /// Reads the response until the service closes or the time is over.
    async fn read_to_end(&mut self) {
        let left = self.until.saturating_duration_since(Instant::now());
        let mut answer = Vec::new();
        let _ = timeout(left.min(Duration::from_secs(1)), self.stream.read_to_end(&mut answer)).await;
    }
}

/// Attacks until the service closes the connection, or for `lasts`.
pub async fn run(attack: Attack, target: &Neighbourhood, lasts: Duration) -> Result<(), BenchError> {
    let mut connection = Connection::open(target.site.settings.listen, lasts).await?;
    let head = |line: &str, more: &str| {
        let (address, key) = (target.site.settings.listen, &target.site.key);
        format!("{line} HTTP/1.1\r\nhost: {address}\r\nx-api-key: {key}\r\n{more}").into_bytes()
    };
    let json = |length: usize| format!("content-type: application/json\r\ncontent-length: {length}\r\n\r\n");
    match attack {
        Attack::SlowHeaders => {
            connection.send(&head("GET /public/v1/me", "x-slow: ")).await;
            connection.drip(b"slow").await;
        }
        Attack::SlowBody => {
            connection
                .send(&head("POST /public/v1/contacts", &json(1_000_000)))
                .await;
            connection.drip(b" ").await;
        }
        Attack::SlowReading => {
            let request = head("GET /public/openapi.json", "\r\n");
            connection.send_on(&request, 4 * 1024 * 1024).await;
            sleep(connection.until.saturating_duration_since(Instant::now())).await;
        }
        Attack::DeepJson => {
            connection
                .send(&head("POST /public/v1/contacts", &json(2 * BRACKETS)))
                .await;
            connection.send("[".repeat(BRACKETS).as_bytes()).await;
            connection.send("]".repeat(BRACKETS).as_bytes()).await;
            connection.read_to_end().await;
        }
        Attack::EndlessLine => file(&mut connection, target, "phone,name\n", b'a').await,
        Attack::EndlessField => file(&mut connection, target, "phone,name\n+15550100010,\"", b'\n').await,
        Attack::Commas => file(&mut connection, target, "phone,name\n", b',').await,
        Attack::ManyHeaders => {
            connection.send(&head("GET /public/v1/me", "")).await;
            connection.send_on("x-a: b\r\n".repeat(512).as_bytes(), ENDLESS).await;
            connection.read_to_end().await;
        }
        Attack::LongHeader => {
            connection.send(&head("GET /public/v1/me", "x-long: ")).await;
            connection.send_on(&[b'a'; PIECE], ENDLESS).await;
            connection.read_to_end().await;
        }
    }
    Ok(())
}

/// Uploads a file of contacts that begins well and never ends.
async fn file(connection: &mut Connection, target: &Neighbourhood, begins: &str, goes_on: u8) {
    let (address, key, agent) = (target.site.settings.listen, &target.site.key, &target.agent);
    let length = ENDLESS * 2;
    let head = format!(
        "POST /public/v1/campaigns/csv HTTP/1.1\r\nhost: {address}\r\nx-api-key: {key}\r\n\
         content-type: multipart/form-data; boundary={BOUNDARY}\r\ncontent-length: {length}\r\n\r\n\
         --{BOUNDARY}\r\ncontent-disposition: form-data; name=\"name\"\r\n\r\nHostile\r\n\
         --{BOUNDARY}\r\ncontent-disposition: form-data; name=\"agentId\"\r\n\r\n{agent}\r\n\
         --{BOUNDARY}\r\ncontent-disposition: form-data; name=\"file\"; filename=\"c.csv\"\r\n\
         content-type: text/csv\r\n\r\n"
    );
    if connection.send(head.as_bytes()).await && connection.send(begins.as_bytes()).await {
        connection.send_on(&[goes_on; PIECE], ENDLESS).await;
        connection.read_to_end().await;
    }
}
