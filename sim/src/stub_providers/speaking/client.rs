//! Socket of a tts stub, with the faults set by the test.

use std::{sync::Arc, time::Duration};

use axum::{
    extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade},
    response::Response,
};

use crate::stub_providers::{fault::Fault, log::Service, stub::Stub};

/// Small, like those of the service's own sockets.
const READ_BUFFER_BYTES: usize = 4 * 1024;
const MAX_MESSAGE_BYTES: usize = 256 * 1024;

/// Action for the next message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// Send it.
    Send,
    /// Send neither it nor anything after it.
    Nothing,
    /// Drop the connection.
    Drop,
    /// Send something else in its place.
    Instead(Odd),
}

/// Replacement of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Odd {
    /// Not in the format.
    Malformed,
    /// Several megabytes.
    Oversized,
    /// Error of the provider.
    Error,
}

/// Counts messages until the fault is due.
#[derive(Debug)]
pub(crate) struct Faulty {
    fault: Fault,
    sent: usize,
}

impl Faulty {
    pub(crate) fn new(fault: Fault) -> Self {
        Self { fault, sent: 0 }
    }

    /// Returns the action for the next message.
    pub(crate) fn step(&mut self) -> Step {
        let sent = self.sent;
        self.sent += 1;
        match self.fault {
            Fault::Hang => Step::Nothing,
            Fault::StallAfter(after) if sent >= after => Step::Nothing,
            Fault::DropAfter(after) if sent >= after => Step::Drop,
            Fault::MalformedAfter(after) if sent == after => Step::Instead(Odd::Malformed),
            Fault::OversizedAfter(after) if sent == after => Step::Instead(Odd::Oversized),
            Fault::ErrorAfter(after) if sent == after => Step::Instead(Odd::Error),
            _ => Step::Send,
        }
    }

    /// Returns whether nothing is sent any more.
    fn is_silent(&self) -> bool {
        match self.fault {
            Fault::Hang => true,
            Fault::StallAfter(after) => self.sent >= after,
            _ => false,
        }
    }

    /// Returns the interval between the smallest messages, if the fault is a drip.
    pub(crate) fn drip(&self) -> Option<Duration> {
        match self.fault {
            Fault::Drip(each) => Some(each),
            _ => None,
        }
    }
}

/// Returns megabytes without meaning.
pub(crate) fn oversized() -> String {
    "A".repeat(3 * 1024 * 1024)
}

/// Upgrades a request with small buffers and logs the end of the socket.
pub(crate) fn upgrade<F>(
    socket: WebSocketUpgrade,
    stub: Arc<Stub>,
    service: Service,
    fault: Fault,
    serve: impl FnOnce(ClientSocket) -> F + Send + 'static,
) -> Response
where
    F: Future<Output = ()> + Send,
{
    socket
        .read_buffer_size(READ_BUFFER_BYTES)
        .write_buffer_size(READ_BUFFER_BYTES)
        .max_message_size(MAX_MESSAGE_BYTES)
        .max_frame_size(MAX_MESSAGE_BYTES)
        .on_upgrade(async move |socket| {
            stub.received(service, "connected");
            let client = ClientSocket {
                socket,
                faulty: Faulty::new(fault),
                stub: stub.clone(),
                service,
            };
            serve(client).await;
            stub.received(service, "disconnected");
        })
}

/// The connection is over.
#[derive(Debug)]
pub(crate) struct Gone;

/// Code and reason of a close by the stub.
#[derive(Debug)]
pub(crate) struct Closing {
    pub code: u16,
    pub reason: &'static str,
}

/// A client's socket.
pub(crate) struct ClientSocket {
    socket: WebSocket,
    pub faulty: Faulty,
    stub: Arc<Stub>,
    service: Service,
}

impl ClientSocket {
    /// Returns the next text message; the library answers control frames.
    pub(crate) async fn receive(&mut self) -> Result<String, Gone> {
        loop {
            match self.socket.recv().await {
                Some(Ok(Message::Text(text))) => {
                    self.stub.received(self.service, text.as_str());
                    return Ok(text.to_string());
                }
                Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Binary(_))) => {}
                Some(Ok(Message::Close(_)) | Err(_)) | None => return Err(Gone),
            }
        }
    }

    /// Sends a message that is subject to faults: a response, or a replacement of it.
    pub(crate) async fn answer(&mut self, message: Message, error: impl FnOnce() -> String) -> Result<(), Gone> {
        match self.faulty.step() {
            Step::Send => self.send(message).await,
            Step::Nothing => Ok(()),
            Step::Drop => Err(Gone),
            Step::Instead(Odd::Malformed) => self.send(Message::text("{\"audio\": 7, \"type\"")).await,
            Step::Instead(Odd::Oversized) => self.send(Message::text(oversized())).await,
            Step::Instead(Odd::Error) => self.send(Message::text(error())).await,
        }
    }

    /// Sends a message that is no response, so faults do not count it.
    pub(crate) async fn say(&mut self, text: String) -> Result<(), Gone> {
        match self.faulty.is_silent() {
            true => Ok(()),
            false => self.send(Message::text(text)).await,
        }
    }

    async fn send(&mut self, message: Message) -> Result<(), Gone> {
        self.socket.send(message).await.map_err(|_| Gone)
    }

    /// Sends the reason and closes.
    pub(crate) async fn close(&mut self, closing: Closing) {
        let frame = CloseFrame {
            code: closing.code,
            reason: closing.reason.into(),
        };
        if self.send(Message::Close(Some(frame))).await.is_ok() {
            // A reset must not cut off written data.
            let rest = async { while let Some(Ok(_)) = self.socket.recv().await {} };
            let _ = tokio::time::timeout(Duration::from_secs(2), rest).await;
        }
    }
}
