//! A phone's media socket on its way to the service: what one side sends the other gets, until either closes.

use std::io;

use axum::extract::ws::{Message as PhoneMessage, WebSocket};
use futures_util::{SinkExt, StreamExt};
use tokio::net::TcpStream;
use tokio_tungstenite::{
    WebSocketStream, client_async,
    tungstenite::{self, Message, client::IntoClientRequest, http::HeaderValue},
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

/// Passes texts both ways until one side closes; then the other is closed too, in a whole closing handshake.
pub(super) async fn join(mut phone: WebSocket, mut service: ToService) {
    loop {
        tokio::select! {
            from_phone = phone.recv() => match from_phone {
                Some(Ok(PhoneMessage::Text(text))) => {
                    if service.send(Message::Text(text.as_str().into())).await.is_err() {
                        break;
                    }
                }
                Some(Ok(PhoneMessage::Close(_)) | Err(_)) | None => break,
                Some(Ok(_)) => {}
            },
            from_service = service.next() => match from_service {
                Some(Ok(Message::Text(text))) => {
                    if phone.send(PhoneMessage::Text(text.as_str().into())).await.is_err() {
                        break;
                    }
                }
                Some(Ok(Message::Close(_)) | Err(_)) | None => break,
                Some(Ok(_)) => {}
            },
        }
    }
    let _ = service.close(None).await;
    while let Some(Ok(_)) = service.next().await {}
    let _ = phone.send(PhoneMessage::Close(None)).await;
    while let Some(Ok(_)) = phone.recv().await {}
}
