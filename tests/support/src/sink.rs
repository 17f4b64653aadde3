//! A test web server that gives the same response to every request and keeps the requests.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use axum::{Router, body::Bytes, extract::Request, http::header, response::IntoResponse};
use tokio::{net::TcpListener, task::JoinHandle};

/// One request.
#[derive(Debug, Clone)]
pub struct Received {
    pub method: String,
    /// Path and query.
    pub target: String,
    pub headers: BTreeMap<String, String>,
    pub body: String,
}

/// A running server. Dropping it stops the server.
pub struct Sink {
    address: std::net::SocketAddr,
    seen: Arc<Mutex<Vec<Received>>>,
    server: JoinHandle<()>,
}

impl Sink {
    /// Starts a server on a free port of this machine.
    pub async fn answering(content_type: &'static str, body: impl Into<String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let seen: Arc<Mutex<Vec<Received>>> = Arc::default();
        let (kept, body) = (seen.clone(), body.into());
        let router = Router::new().fallback(move |request: Request| {
            let (kept, body) = (kept.clone(), body.clone());
            async move {
                let received = received(request).await;
                kept.lock().unwrap_or_else(PoisonError::into_inner).push(received);
                ([(header::CONTENT_TYPE, content_type)], body).into_response()
            }
        });
        let server = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { address, seen, server }
    }

    /// Returns the URL of a path.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Returns all requests received.
    pub fn requests(&self) -> Vec<Received> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn received(request: Request) -> Received {
    let (head, body) = request.into_parts();
    let body: Bytes = axum::body::to_bytes(body, 1 << 20).await.unwrap_or_default();
    let value = |value: &axum::http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    Received {
        method: head.method.to_string(),
        target: head.uri.to_string(),
        headers: head
            .headers
            .iter()
            .map(|(name, held)| (name.to_string(), value(held)))
            .collect(),
        body: String::from_utf8_lossy(&body).into_owned(),
    }
}
