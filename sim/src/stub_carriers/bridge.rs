//! The media socket from a call to the service.

use std::{io, time::Duration};

use futures_util::{SinkExt, StreamExt};
use serde_json::Value;
use tokio::{net::TcpStream, time::timeout};
use tokio_tungstenite::{
    WebSocketStream, client_async,
    tungstenite::{self, Message, client::IntoClientRequest, http::HeaderValue},
};

const CLOSE_WITHIN: Duration = Duration::from_secs(2);

/// Messages from the service.
pub enum Told {
    /// Mu-law to play.
    Audio(Vec<u8>),
    /// Mark to return when the previous audio has been played.
    Mark(String),
    /// Discards the audio that is not yet played.
    Clear,
    /// A key to press.
    Key(String),
    /// A message that the carrier would refuse, or play as noise.
    Nonsense(String),
    /// The connection is gone.
    Gone,
}

/// A media socket in the carrier's own protocol.
pub trait MediaSocket: Send {
    /// Sends a frame of 20 ms of the phone's audio, in mu-law.
    fn audio(&mut self, mulaw: &[u8]) -> impl Future<Output = ()> + Send;

    fn key(&mut self, key: &str) -> impl Future<Output = ()> + Send;

    /// Reports that everything before this mark has been played.
    fn played(&mut self, mark: &str) -> impl Future<Output = ()> + Send;

    /// Returns the next message from the service.
    fn told(&mut self) -> impl Future<Output = Told> + Send;
}

/// The socket to the service.
pub struct ToService(WebSocketStream<TcpStream>);

impl ToService {
    /// Sends a message. Errors are ignored: a service that is gone is noticed on the next read.
    pub async fn send(&mut self, message: Message) {
        let _ = self.0.send(message).await;
    }

    pub async fn text(&mut self, message: &Value) {
        self.send(Message::Text(message.to_string().into())).await;
    }

    /// Returns the next text or binary message, or `None` if the connection is gone.
    pub async fn next(&mut self) -> Option<Message> {
        loop {
            match self.0.next().await {
                Some(Ok(message @ (Message::Text(_) | Message::Binary(_)))) => return Some(message),
                Some(Ok(Message::Close(_)) | Err(_)) | None => return None,
                Some(Ok(_)) => {}
            }
        }
    }

    /// Closes the socket with a complete closing handshake.
    pub async fn close(mut self) {
        let _ = timeout(CLOSE_WITHIN, async {
            let _ = self.0.close(None).await;
            while let Some(Ok(_)) = self.0.next().await {}
        })
        .await;
    }
}

/// Reasons why no socket to the service could be opened.
#[derive(Debug, thiserror::Error)]
pub enum BridgeError {
    #[error("stream address is not of the form ws://host:port/path")]
    Address,
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("{0}")]
    Handshake(#[from] tungstenite::Error),
}

/// Opens the socket at `address` with one header of the carrier's.
pub async fn open(address: &str, header: &'static str, value: &str) -> Result<ToService, BridgeError> {
    let url = reqwest::Url::parse(address).map_err(|_| BridgeError::Address)?;
    let (Some(host), Some(port), "ws") = (url.host_str(), url.port_or_known_default(), url.scheme()) else {
        return Err(BridgeError::Address);
    };
    let stream = TcpStream::connect((host, port)).await?;
    stream.set_nodelay(true)?;
    let mut request = address.into_client_request()?;
    let value = HeaderValue::from_str(value).map_err(|_| BridgeError::Address)?;
    request.headers_mut().insert(header, value);
    let (socket, _) = client_async(request, stream).await?;
    Ok(ToService(socket))
}
