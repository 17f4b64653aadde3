//! Parts shared by WebSockets to live calls: the message that starts them, the formats of their audio, and their end.

use std::{borrow::Cow, time::Duration};

use axum::{
    extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade, close_code, rejection::WebSocketUpgradeRejection},
    response::Response,
};
use futures_util::SinkExt;
use media::format::{Encoding, LineFormat};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;
use tokio::time::timeout;

use crate::response::error::{ApiError, ApiResult};

/// Size of the output that is gathered before it is written: 100 ms of both sides at 16 kHz fit.
const WRITE_BUFFER_BYTES: usize = 8 * 1024;
/// Maximum size of the output that waits for a socket.
const MAX_WRITE_BUFFER_BYTES: usize = 64 * 1024;
/// Time limit for the `start` message.
const START_WITHIN: Duration = Duration::from_secs(10);
/// Time that the client has to close after us.
const CLOSE_WITHIN: Duration = Duration::from_secs(2);

/// Close code for a client that gets a new ticket and opens another WebSocket.
const COME_AGAIN: u16 = close_code::RESTART;

/// Format of the audio.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Format {
    /// Linear 16-bit, little-endian, at 16 kHz.
    #[serde(rename = "pcm_16000")]
    Pcm16,
    /// The same at 8 kHz.
    #[serde(rename = "pcm_8000")]
    Pcm8,
    /// G.711 mu-law at 8 kHz.
    #[serde(rename = "mulaw_8000")]
    MuLaw8,
    /// Packets of Opus, for listeners only.
    #[serde(rename = "opus")]
    Opus,
}

impl Format {
    /// Returns encoding and rate of samples. `None` for packets.
    pub fn line(self) -> Option<LineFormat> {
        let linear = |sample_rate| LineFormat {
            encoding: Encoding::Linear16,
            sample_rate,
        };
        match self {
            Self::Pcm16 => Some(linear(16_000)),
            Self::Pcm8 => Some(linear(8_000)),
            Self::MuLaw8 => Some(LineFormat::MULAW_8000),
            Self::Opus => None,
        }
    }
}

/// Reason why a WebSocket is closed: code and text. `None` if the client is gone.
pub type Goodbye = Option<(u16, Cow<'static, str>)>;

/// Returns the reason for a client that gets a new ticket.
pub fn come_again() -> Goodbye {
    Some((
        COME_AGAIN,
        "the call is over or at another node, or this node stops: get a new ticket".into(),
    ))
}

/// Accepts a WebSocket whose messages have at most `most` bytes, and serves it.
///
/// # Errors
///
/// Returns an error if the request does not open a WebSocket.
pub fn open<F: Future<Output = ()> + Send + 'static>(
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
    (most, write_within): (usize, Duration),
    serve: impl FnOnce(LiveSocket) -> F + Send + 'static,
) -> ApiResult<Response> {
    let upgrade = upgrade.map_err(|refused| ApiError::Malformed(format!("open a WebSocket here: {refused}")))?;
    Ok(upgrade
        .max_write_buffer_size(MAX_WRITE_BUFFER_BYTES)
        .write_buffer_size(WRITE_BUFFER_BYTES)
        .max_message_size(most)
        .max_frame_size(most)
        .on_upgrade(move |socket| serve(LiveSocket { socket, write_within })))
}

/// A client's WebSocket.
pub struct LiveSocket {
    socket: WebSocket,
    /// Time after which a socket that accepts no bytes is given up.
    write_within: Duration,
}

impl LiveSocket {
    /// Waits for the `start` message.
    ///
    /// # Errors
    ///
    /// Returns the reason for which the socket is to be closed.
    pub async fn start<T: DeserializeOwned>(&mut self) -> Result<T, Goodbye> {
        match timeout(START_WITHIN, self.first()).await {
            Ok(first) => first,
            Err(_) => Err(Some((close_code::POLICY, "no `start` came within 10 s".into()))),
        }
    }

    async fn first<T: DeserializeOwned>(&mut self) -> Result<T, Goodbye> {
        loop {
            match self.receive().await {
                Some(Message::Text(text)) => {
                    return serde_json::from_str(&text)
                        .map_err(|error| Some((close_code::POLICY, format!("`start`: {error}").into())));
                }
                Some(Message::Binary(_)) => {
                    return Err(Some((close_code::POLICY, "the first message must be `start`".into())));
                }
                Some(_) => {}
                None => return Err(None),
            }
        }
    }

    /// Returns the next message, or `None` once the client is gone.
    pub async fn receive(&mut self) -> Option<Message> {
        match self.socket.recv().await {
            Some(Ok(Message::Close(_)) | Err(_)) | None => None,
            Some(Ok(message)) => Some(message),
        }
    }

    /// Sends an event. Returns false if the client is gone.
    pub async fn tell(&mut self, event: &Value) -> bool {
        self.send(Message::Text(event.to_string().into())).await
    }

    /// Sends messages with as few writes as possible. Returns false if the client is gone.
    pub async fn send_all(&mut self, messages: Vec<Message>) -> bool {
        let sent = async {
            for message in messages {
                self.socket.feed(message).await?;
            }
            self.socket.flush().await
        };
        matches!(timeout(self.write_within, sent).await, Ok(Ok(())))
    }

    /// Sends a message. Returns false if the client is gone.
    pub async fn send(&mut self, message: Message) -> bool {
        matches!(timeout(self.write_within, self.socket.send(message)).await, Ok(Ok(())))
    }

    /// Closes the socket with a reason.
    pub async fn close(mut self, goodbye: Goodbye) {
        let Some((code, reason)) = goodbye else { return };
        // A close frame holds up to 123 bytes of reason.
        let fits = &reason[..reason.floor_char_boundary(120)];
        let frame = CloseFrame {
            code,
            reason: fits.into(),
        };
        let close = async {
            // The answer is awaited, because closing a connection with unread input discards written output.
            if self.socket.send(Message::Close(Some(frame))).await.is_ok() {
                while let Some(Ok(_)) = self.socket.recv().await {}
            }
        };
        let _ = timeout(CLOSE_WITHIN, close).await;
    }
}
