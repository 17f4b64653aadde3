//! The media socket of a call to the service.

use std::{io, time::Duration};

use futures_util::{SinkExt, StreamExt};
use serde_json::Value;
use tokio::{net::TcpStream, time::timeout};
use tokio_tungstenite::{
    WebSocketStream, client_async,
    tungstenite::{self, Message, client::IntoClientRequest, http::HeaderValue},
};

const CLOSE_WITHIN: Duration = Duration::from_secs(2);

/// What the service sends.
pub enum Told {
    /// To be played, in mu-law.
    Audio(Vec<u8>),
    /// To be returned when what came before has been played.
    Mark(String),
    /// Drop what is not played yet.
    Clear,
    /// A key to press.
    Key(String),
    /// What the carrier would refuse, or play as noise.
    Nonsense(String),
    /// The connection is gone.
    Gone,
}

/// A media socket as its carrier speaks and hears by it.
pub trait MediaSocket: Send {
    /// A frame of 20 ms of the phone's, in mu-law.
    fn audio(&mut self, mulaw: &[u8]) -> impl Future<Output = ()> + Send;

    fn key(&mut self, key: &str) -> impl Future<Output = ()> + Send;

    /// Everything before this mark has been played.
    fn played(&mut self, mark: &str) -> impl Future<Output = ()> + Send;

    /// What the service sends next.
    fn told(&mut self) -> impl Future<Output = Told> + Send;
}

/// The socket to the service.
pub struct ToService(WebSocketStream<TcpStream>);

impl ToService {
    /// A service that is gone is noticed when it is listened to.
    pub async fn send(&mut self, message: Message) {
        let _ = self.0.send(message).await;
    }

    pub async fn text(&mut self, message: &Value) {
        self.send(Message::Text(message.to_string().into())).await;
    }

    /// The next text or bytes; none when the connection is gone.
    pub async fn next(&mut self) -> Option<Message> {
        loop {
            match self.0.next().await {
                Some(Ok(message @ (Message::Text(_) | Message::Binary(_)))) => return Some(message),
                Some(Ok(Message::Close(_)) | Err(_)) | None => return None,
                Some(Ok(_)) => {}
            }
        }
    }

    /// Closes it in a whole handshake.
    pub async fn close(mut self) {
        let _ = timeout(CLOSE_WITHIN, async {
            let _ = self.0.close(None).await;
            while let Some(Ok(_)) = self.0.next().await {}
        })
        .await;
    }
}

/// No socket to the service.
#[derive(Debug, thiserror::Error)]
pub enum BridgeError {
    #[error("stream address is not ws://host:port/path")]
    Address,
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("{0}")]
    Handshake(#[from] tungstenite::Error),
}

/// Opens the socket at `address` with one header of the carrier's.
pub async fn open(address: &str, header: (&'static str, &str)) -> Result<ToService, BridgeError> {
    let url = reqwest::Url::parse(address).map_err(|_| BridgeError::Address)?;
    let (Some(host), Some(port), "ws") = (url.host_str(), url.port_or_known_default(), url.scheme()) else {
        return Err(BridgeError::Address);
    };
    let stream = TcpStream::connect((host, port)).await?;
    stream.set_nodelay(true)?;
    let mut request = address.into_client_request()?;
    let value = HeaderValue::from_str(header.1).map_err(|_| BridgeError::Address)?;
    request.headers_mut().insert(header.0, value);
    let (socket, _) = client_async(request, stream).await?;
    Ok(ToService(socket))
}
