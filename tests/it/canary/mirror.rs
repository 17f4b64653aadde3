//! A server that plays every external service, refuses everything, and echoes the request.

use std::{
    net::SocketAddr,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, Method, StatusCode, Uri},
    response::{IntoResponse, Response},
};
use serde_json::json;
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
};

/// Statuses of its responses, one after the other.
const STATUSES: [StatusCode; 4] = [
    StatusCode::UNAUTHORIZED,
    StatusCode::INTERNAL_SERVER_ERROR,
    StatusCode::BAD_REQUEST,
    StatusCode::FORBIDDEN,
];

#[derive(Clone, Default)]
struct Shown(Arc<Mutex<String>>, Arc<AtomicUsize>);

impl Shown {
    fn add(&self, text: &str) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.push_str(text);
        all.push('\n');
    }
}

/// The server; it ends with the test's runtime.
pub struct Mirror {
    address: SocketAddr,
    /// Address at which it plays a mail server.
    pub mail: SocketAddr,
    shown: Shown,
}

impl Mirror {
    pub async fn start() -> Self {
        let shown = Shown::default();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new().fallback(send_back).with_state(shown.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        let post = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mail = post.local_addr().unwrap();
        let read = shown.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = post.accept().await {
                tokio::spawn(refuse_mail(stream, read.clone()));
            }
        });
        Self { address, mail, shown }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns everything that was sent to it.
    pub fn shown(&self) -> String {
        self.shown.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

async fn send_back(State(shown): State<Shown>, method: Method, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
    let body = String::from_utf8_lossy(&body);
    let lines: Vec<String> = headers
        .iter()
        .map(|(name, value)| format!("{name}: {}", String::from_utf8_lossy(value.as_bytes())))
        .collect();
    let said = format!("{method} {uri} with {} and {body}", lines.join(", "));
    shown.add(&said);
    let status = STATUSES[shown.1.fetch_add(1, Ordering::Relaxed) % STATUSES.len()];
    let echo = json!({
        "error": { "message": said, "type": "refused", "code": "refused" }, "message": said, "detail": said,
        "errors": [{ "title": said, "detail": said }], "err_msg": said, "reason": said,
    });
    (status, axum::Json(echo)).into_response()
}

async fn refuse_mail(stream: TcpStream, shown: Shown) {
    let (reads, mut writes) = stream.into_split();
    let mut lines = BufReader::new(reads).lines();
    let mut answer = "220 mirror\r\n".to_owned();
    loop {
        if writes.write_all(answer.as_bytes()).await.is_err() {
            return;
        }
        let Ok(Some(line)) = lines.next_line().await else {
            return;
        };
        shown.add(&line);
        answer = match line.get(..4).unwrap_or_default().to_uppercase().as_str() {
            "EHLO" => "250-mirror\r\n250 AUTH PLAIN LOGIN\r\n".to_owned(),
            "QUIT" => return,
            _ => format!("535 5.7.8 refused: {line}\r\n"),
        };
    }
}
