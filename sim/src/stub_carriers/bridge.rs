//! The media socket of a call to the service.

use std::io;

use tokio::net::TcpStream;
use tokio_tungstenite::{
    WebSocketStream, client_async,
    tungstenite::{self, client::IntoClientRequest, http::HeaderValue},
};

/// The socket to the service.
pub(super) type ToService = WebSocketStream<TcpStream>;

/// No socket to the service.
#[derive(Debug, thiserror::Error)]
pub(super) enum BridgeError {
    #[error("stream address is not ws://host:port/path")]
    Address,
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("{0}")]
    Handshake(#[from] tungstenite::Error),
}

/// Opens the socket at `address` with one header of the carrier's.
pub(super) async fn open(address: &str, header: (&'static str, &str)) -> Result<ToService, BridgeError> {
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
    Ok(socket)
}
