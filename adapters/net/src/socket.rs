//! WebSockets to providers: made within two seconds, with small buffers and bounds on what comes.

use std::time::Duration;

use tokio::{net::TcpStream, time::timeout};
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream, connect_async_with_config,
    tungstenite::{
        self,
        client::IntoClientRequest,
        http::{HeaderName, HeaderValue, StatusCode},
        protocol::WebSocketConfig,
    },
};

use crate::http_client::install_cryptography;
use crate::redact::without_secrets;

/// How long a provider may take to accept a connection.
pub const CONNECT_WITHIN: Duration = Duration::from_secs(2);

/// The longest message taken: a second of 48 kHz audio in base64 has 128 KiB.
const MAX_MESSAGE_BYTES: usize = 1024 * 1024;

/// Tungstenite zeroes its read buffer before every read; its default of 128 KiB costs more than a call.
const BUFFER_BYTES: usize = 4 * 1024;

/// A provider that reads nothing is cut off beyond this: 30 s of 16 kHz audio.
const MAX_WRITE_BUFFER_BYTES: usize = 1024 * 1024;

/// A refusal's body is read as far as this, for its words.
const REFUSAL_BYTES: usize = 2 * 1024;

/// A socket to a provider.
pub type ProviderSocket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// Why there is no socket.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConnectError {
    /// The provider answered the handshake with another status.
    #[error("{status}: {words}")]
    Refused {
        /// The HTTP status.
        status: u16,
        /// The provider's words: the beginning of the body, or its `dg-error` header.
        words: String,
    },
    /// It could not be reached.
    #[error("{0}")]
    Unreachable(String),
}

/// Opens a socket.
///
/// # Errors
///
/// When the address or a header is none, the provider refuses, or takes longer than [`CONNECT_WITHIN`].
pub async fn connect(url: &str, headers: &[(&'static str, impl AsRef<str>)]) -> Result<ProviderSocket, ConnectError> {
    install_cryptography();
    let unreachable = |why: String| ConnectError::Unreachable(why);
    let mut request = url.into_client_request().map_err(|e| unreachable(e.to_string()))?;
    for (name, value) in headers {
        let mut value =
            HeaderValue::from_str(value.as_ref()).map_err(|_| unreachable(format!("header {name} has odd bytes")))?;
        value.set_sensitive(true);
        request.headers_mut().insert(HeaderName::from_static(name), value);
    }
    let config = WebSocketConfig::default()
        .read_buffer_size(BUFFER_BYTES)
        .write_buffer_size(BUFFER_BYTES)
        .max_write_buffer_size(MAX_WRITE_BUFFER_BYTES)
        .max_message_size(Some(MAX_MESSAGE_BYTES))
        .max_frame_size(Some(MAX_MESSAGE_BYTES));
    let connected = connect_async_with_config(request, Some(config), true);
    match timeout(CONNECT_WITHIN, connected).await {
        Ok(Ok((socket, _))) => Ok(socket),
        Ok(Err(tungstenite::Error::Http(answer))) => Err(refusal(&answer)),
        Ok(Err(error)) => Err(unreachable(error.to_string())),
        Err(_) => Err(unreachable(format!(
            "no connection within {} s",
            CONNECT_WITHIN.as_secs()
        ))),
    }
}

fn refusal(answer: &tungstenite::http::Response<Option<Vec<u8>>>) -> ConnectError {
    let header = answer.headers().get("dg-error").and_then(|value| value.to_str().ok());
    let body = answer.body().as_deref().unwrap_or_default();
    let body = String::from_utf8_lossy(&body[..body.len().min(REFUSAL_BYTES)]);
    let words = header.map_or_else(|| body.trim().to_owned(), str::to_owned);
    let status: StatusCode = answer.status();
    ConnectError::Refused {
        status: status.as_u16(),
        // They may repeat the handshake, key and all.
        words: match without_secrets(&words) {
            words if words.is_empty() => status.to_string(),
            words => words,
        },
    }
}
