//! WebSockets to providers: connected within two seconds, with small buffers and limits on incoming messages.

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

/// Time limit for a provider to accept a connection.
pub const CONNECT_WITHIN: Duration = Duration::from_secs(2);

/// Longest message accepted, in bytes: a second of 48 kHz audio in base64 is 128 KiB.
const MAX_MESSAGE_BYTES: usize = 1024 * 1024;

/// Tungstenite zeroes its read buffer before every read; zeroing its default of 128 KiB costs more than a call.
const BUFFER_BYTES: usize = 4 * 1024;

/// Limit of unsent bytes before a provider that does not read is cut off: 30 s of 16 kHz audio.
const MAX_WRITE_BUFFER_BYTES: usize = 1024 * 1024;

/// Number of bytes of a rejection's body that are read for its text.
const REFUSAL_BYTES: usize = 2 * 1024;

/// A WebSocket to a provider.
pub type ProviderSocket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// Reason why a connection failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConnectError {
    /// The provider answered the handshake with a status other than success.
    #[error("{status}: {words}")]
    Refused {
        /// The HTTP status.
        status: u16,
        /// Text of the provider: its `dg-error` header or the beginning of the body.
        words: String,
    },
    /// The provider could not be reached.
    #[error("{0}")]
    Unreachable(String),
}

/// Opens a socket.
///
/// # Errors
///
/// Returns an error if the URL or a header is invalid, if the provider rejects the handshake, or if it takes
/// longer than [`CONNECT_WITHIN`].
pub async fn connect(url: &str, headers: &[(&'static str, impl AsRef<str>)]) -> Result<ProviderSocket, ConnectError> {
    install_cryptography();
    let unreachable = |why: String| ConnectError::Unreachable(why);
    let mut request = url.into_client_request().map_err(|e| unreachable(e.to_string()))?;
    for (name, value) in headers {
        let mut value = HeaderValue::from_str(value.as_ref())
            .map_err(|_| unreachable(format!("header {name} contains characters that are not allowed")))?;
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
        // The answer may repeat the handshake, including the key.
        words: match without_secrets(&words) {
            words if words.is_empty() => status.to_string(),
            words => words,
        },
    }
}
