//! Sending half of a stub recogniser's socket, with the fault set by the test.

use std::ops::ControlFlow;

use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade};
use tokio::time::sleep;

use crate::stub_providers::fault::Fault;

/// Most bytes of a message.
const MAX_MESSAGE_BYTES: usize = 256 * 1024;
/// Bytes of a socket's buffers.
const BUFFER_BYTES: usize = 4 * 1024;

/// Size of a message that no client should accept.
const OVERSIZED_BYTES: usize = 3 * 1024 * 1024;

/// Sets the limits of the stubs on a socket.
pub(crate) fn bounded(upgrade: WebSocketUpgrade) -> WebSocketUpgrade {
    upgrade
        .read_buffer_size(BUFFER_BYTES)
        .write_buffer_size(BUFFER_BYTES)
        .max_write_buffer_size(OVERSIZED_BYTES * 2)
        .max_message_size(MAX_MESSAGE_BYTES)
        .max_frame_size(MAX_MESSAGE_BYTES)
}

/// Error message and close of a provider that breaks.
#[derive(Debug, Clone)]
pub(crate) struct LastWords {
    pub(crate) message: Option<String>,
    pub(crate) code: u16,
    pub(crate) reason: &'static str,
}

/// Sender of a stub recogniser's messages.
pub(crate) struct Outlet {
    pub(crate) socket: WebSocket,
    fault: Fault,
    last_words: LastWords,
    sent: usize,
}

impl Outlet {
    pub(crate) fn new(socket: WebSocket, fault: Fault, last_words: LastWords) -> Self {
        Self {
            socket,
            fault,
            last_words,
            sent: 0,
        }
    }

    /// Sends a message, or the fault's instead; breaks if the connection must be dropped.
    pub(crate) async fn send(&mut self, message: String) -> ControlFlow<()> {
        let sent = self.sent;
        let message = match &self.fault {
            Fault::Hang => return ControlFlow::Continue(()),
            Fault::StallAfter(most) if sent >= *most => return ControlFlow::Continue(()),
            Fault::DropAfter(most) if sent >= *most => return ControlFlow::Break(()),
            Fault::MalformedAfter(most) if sent == *most => message.chars().take(message.len() / 2).collect(),
            Fault::OversizedAfter(most) if sent == *most => "x".repeat(OVERSIZED_BYTES),
            Fault::ErrorAfter(most) if sent >= *most => return self.fail().await,
            Fault::Drip(pause) => {
                sleep(*pause).await;
                message
            }
            _ => message,
        };
        self.sent += 1;
        self.put(Message::Text(message.into())).await?;
        match self.fault {
            Fault::DropAfter(most) if self.sent >= most => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }

    /// Closes with a status.
    pub(crate) async fn close(&mut self, code: u16, reason: &'static str) -> ControlFlow<()> {
        let frame = CloseFrame {
            code,
            reason: reason.into(),
        };
        let _ = self.put(Message::Close(Some(frame))).await;
        self.read_out().await
    }

    /// Closes without a status.
    pub(crate) async fn close_silently(&mut self) -> ControlFlow<()> {
        let _ = self.put(Message::Close(None)).await;
        self.read_out().await
    }

    async fn fail(&mut self) -> ControlFlow<()> {
        let LastWords { message, code, reason } = self.last_words.clone();
        if let Some(message) = message {
            self.put(Message::Text(message.into())).await?;
        }
        self.close(code, reason).await
    }

    /// Reads until the peer has closed too, so that a reset does not cut off written data or the response
    /// to the peer's close.
    pub(crate) async fn read_out(&mut self) -> ControlFlow<()> {
        let reading = async { while let Some(Ok(_)) = self.socket.recv().await {} };
        let _ = tokio::time::timeout(std::time::Duration::from_secs(2), reading).await;
        ControlFlow::Break(())
    }

    async fn put(&mut self, message: Message) -> ControlFlow<()> {
        match self.socket.send(message).await {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    }
}
