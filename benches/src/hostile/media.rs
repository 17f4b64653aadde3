//! Hostile peers at the media socket of a call that the service placed.

use std::time::Duration;

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use futures_util::{SinkExt, StreamExt};
use serde_json::json;
use tokio::{
    net::TcpStream,
    time::{Instant, timeout},
};
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream, connect_async,
    tungstenite::{
        Message,
        protocol::frame::{
            Frame,
            coding::{Data, OpCode},
        },
    },
};

use super::neighbourhood::Dialed;
use crate::BenchError;

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// Kind of attack.
#[derive(Debug, Clone, Copy)]
pub enum Attack {
    /// Sends frames of audio as fast as they are accepted.
    Flood,
    /// Does the same and reads nothing.
    FloodUnread,
    /// Sends messages of 16 MiB.
    Oversized,
    /// Sends messages that are not the carrier's.
    Malformed,
    /// Sends one message in endless fragments.
    Fragments,
}

/// All attacks.
pub const ALL: [Attack; 5] = [
    Attack::Flood,
    Attack::FloodUnread,
    Attack::Oversized,
    Attack::Malformed,
    Attack::Fragments,
];

const STREAM: &str = "MZhostile";
const OVERSIZED: usize = 16 * 1024 * 1024;

impl Attack {
    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Flood => "media frames without pause",
            Self::FloodUnread => "media frames without pause, nothing read",
            Self::Oversized => "media message of 16 MiB",
            Self::Malformed => "malformed media messages",
            Self::Fragments => "media message in fragments without end",
        }
    }

    fn message(self, n: u64) -> Message {
        match self {
            Self::Flood | Self::FloodUnread => Message::text(
                json!({
                    "event": "media", "sequenceNumber": (n + 2).to_string(), "streamSid": STREAM,
                    "media": { "track": "inbound", "chunk": (n + 1).to_string(), "timestamp": (n * 20).to_string(),
                        "payload": BASE64.encode([0xff_u8; 160]) },
                })
                .to_string(),
            ),
            Self::Oversized => Message::text("x".repeat(OVERSIZED)),
            Self::Malformed => Message::text(match n % 4 {
                0 => "{".repeat(1_000),
                1 => json!({ "event": "media", "streamSid": STREAM, "media": { "payload": "%%%" } }).to_string(),
                2 => json!({ "event": ["media"], "streamSid": { "a": 1 } }).to_string(),
                _ => String::new(),
            }),
            Self::Fragments => {
                let kind = if n == 0 { Data::Text } else { Data::Continue };
                Message::Frame(Frame::message(vec![b' '; 1_000], OpCode::Data(kind), false))
            }
        }
    }
}

/// Accepts the call and attacks until the socket is closed, or for `lasts`.
pub async fn run(attack: Attack, dialed: &Dialed, lasts: Duration) -> Result<(), BenchError> {
    let until = Instant::now() + lasts;
    let mut socket = opened(dialed).await?;
    let mut n = 0;
    while Instant::now() < until {
        let sent = timeout(lasts, socket.send(attack.message(n))).await;
        n += 1;
        if !matches!(sent, Ok(Ok(()))) {
            break;
        }
        if !matches!(attack, Attack::FloodUnread) {
            // Reads what is there, and waits a moment for more.
            while let Ok(Some(Ok(_))) = timeout(Duration::from_micros(20), socket.next()).await {}
        }
    }
    Ok(())
}

async fn opened(dialed: &Dialed) -> Result<Socket, BenchError> {
    let (mut socket, _) = connect_async(&dialed.socket).await?;
    let connected = json!({ "event": "connected", "protocol": "Call", "version": "1.0.0" });
    socket.send(Message::text(connected.to_string())).await?;
    let start = json!({
        "event": "start", "sequenceNumber": "1", "streamSid": STREAM,
        "start": {
            "accountSid": "ACsimulated", "streamSid": STREAM, "callSid": dialed.call, "tracks": ["inbound"],
            "mediaFormat": { "encoding": "audio/x-mulaw", "sampleRate": 8000, "channels": 1 }, "customParameters": {},
        },
    });
    socket.send(Message::text(start.to_string())).await?;
    Ok(socket)
}
