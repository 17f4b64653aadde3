//! The way out of a stub recogniser's socket, with the fault it was ordered to have.

use std::ops::ControlFlow;

use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade};
use tokio::time::sleep;

use crate::stub_providers::Fault;

/// A message has this many bytes at most, and a reader's buffer so many.
const MAX_MESSAGE_BYTES: usize = 256 * 1024;
const BUFFER_BYTES: usize = 4 * 1024;

/// A message that no client should take.
const OVERSIZED_BYTES: usize = 3 * 1024 * 1024;

/// A socket with the bounds of the stubs.
pub(in crate::stub_providers) fn bounded(upgrade: WebSocketUpgrade) -> WebSocketUpgrade {
    upgrade
        .read_buffer_size(BUFFER_BYTES)
        .write_buffer_size(BUFFER_BYTES)
        .max_write_buffer_size(OVERSIZED_BYTES * 2)
        .max_message_size(MAX_MESSAGE_BYTES)
        .max_frame_size(MAX_MESSAGE_BYTES)
}

/// What a provider says when it breaks: a message, and how it closes.
#[derive(Debug, Clone)]
pub(in crate::stub_providers) struct LastWords {
    pub(in crate::stub_providers) message: Option<String>,
    pub(in crate::stub_providers) code: u16,
    pub(in crate::stub_providers) reason: &'static str,
}

/// The way out.
pub(in crate::stub_providers) struct Outlet {
    pub(in crate::stub_providers) socket: WebSocket,
    fault: Fault,
    last_words: LastWords,
    sent: usize,
}

impl Outlet {
    pub(in crate::stub_providers) fn new(socket: WebSocket, fault: Fault, last_words: LastWords) -> Self {
        Self {
            socket,
            fault,
            last_words,
            sent: 0,
        }
    }

    /// Sends a message, unless the fault has another; breaks when the connection is to be dropped.
    pub(in crate::stub_providers) async fn send(&mut self, message: String) -> ControlFlow<()> {
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

    /// Closes in order.
    pub(in crate::stub_providers) async fn close(&mut self, code: u16, reason: &'static str) -> ControlFlow<()> {
        let frame = CloseFrame {
            code,
            reason: reason.into(),
        };
        let _ = self.put(Message::Close(Some(frame))).await;
        self.read_out().await
    }

    /// Closes without a status.
    pub(in crate::stub_providers) async fn close_silently(&mut self) -> ControlFlow<()> {
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

    /// Reads until the peer has closed too, so that what was written, or the answer to its own close, is not cut off by a
    /// reset.
    pub(in crate::stub_providers) async fn read_out(&mut self) -> ControlFlow<()> {
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
