//! Receiver of webhooks that records them and answers as the test wants.

use std::{
    collections::HashMap,
    net::{Ipv4Addr, SocketAddr},
    sync::{Arc, Mutex, MutexGuard},
};

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode, Uri},
    response::{IntoResponse, Response},
};
use serde_json::Value;
use standardwebhooks::Webhook;
use tokio::{
    net::TcpListener,
    sync::mpsc,
    task::{AbortHandle, JoinSet},
};

/// Received webhook.
#[derive(Debug, Clone)]
pub struct Hit {
    pub path: String,
    pub id: String,
    pub at: i64,
    pub signature: String,
    pub body: String,
}

impl Hit {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    pub fn conversation(&self) -> String {
        self.json()["data"]["conversationId"].as_str().unwrap().to_owned()
    }

    /// Returns whether one of its signatures matches this secret, according to the specification's own package.
    pub fn is_signed_with(&self, secret: &str) -> bool {
        let signed = Webhook::new(secret)
            .unwrap()
            .sign(&self.id, self.at, self.body.as_bytes());
        let signed = signed.unwrap();
        self.signature.split(' ').any(|signature| signature == signed)
    }
}

/// Answer of the receiver.
#[derive(Debug, Clone)]
pub enum Reply {
    Status(u16),
    With(u16, &'static str, String),
    /// No answer at all.
    Never,
}

/// Notifies the test when this hit comes, before or after the answer.
#[derive(Debug, Clone, Copy)]
pub enum Cut {
    BeforeAnswer,
    AfterAnswer,
}

pub struct Told {
    pub hits: Vec<Hit>,
    pub reply: Reply,
    /// Answers for individual paths.
    pub replies: HashMap<&'static str, Reply>,
    pub cuts: HashMap<usize, Cut>,
}

pub struct Receiver {
    pub address: SocketAddr,
    told: Arc<Mutex<Told>>,
    cuts: Option<mpsc::UnboundedReceiver<()>>,
    server: AbortHandle,
    _tasks: JoinSet<()>,
}

#[derive(Clone)]
struct Inside {
    told: Arc<Mutex<Told>>,
    cut: mpsc::UnboundedSender<()>,
}

async fn receive(State(inside): State<Inside>, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
    let text = |name: &str| headers[name].to_str().unwrap().to_owned();
    assert_eq!(text("content-type"), "application/json");
    let hit = Hit {
        path: uri.path().to_owned(),
        id: text("webhook-id"),
        at: text("webhook-timestamp").parse().unwrap(),
        signature: text("webhook-signature"),
        body: String::from_utf8(body.to_vec()).unwrap(),
    };
    let (reply, cut) = {
        let mut told = inside.told.lock().unwrap();
        let number = told.hits.len();
        let reply = told.replies.get(&*hit.path).unwrap_or(&told.reply).clone();
        told.hits.push(hit);
        (reply, told.cuts.remove(&number))
    };
    match cut {
        Some(Cut::BeforeAnswer) => {
            inside.cut.send(()).unwrap();
            std::future::pending::<()>().await;
        }
        // The answer is on its way when the test is notified.
        Some(Cut::AfterAnswer) => {
            let cut = inside.cut.clone();
            tokio::spawn(async move { cut.send(()) });
        }
        None => {}
    }
    match reply {
        Reply::Status(status) => StatusCode::from_u16(status).unwrap().into_response(),
        Reply::With(status, name, value) => (StatusCode::from_u16(status).unwrap(), [(name, value)]).into_response(),
        Reply::Never => std::future::pending().await,
    }
}

impl Receiver {
    /// Starts a receiver on all addresses of this machine, so that 127.x.y.z gives a test any number of hosts.
    pub async fn start() -> Self {
        let told = Arc::new(Mutex::new(Told {
            hits: Vec::new(),
            reply: Reply::Status(204),
            replies: HashMap::new(),
            cuts: HashMap::new(),
        }));
        let (sender, cuts) = mpsc::unbounded_channel();
        let inside = Inside {
            told: Arc::clone(&told),
            cut: sender,
        };
        let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut tasks = JoinSet::new();
        let router = Router::new().fallback(receive).with_state(inside);
        let server = tasks.spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self {
            address: (Ipv4Addr::LOCALHOST, port).into(),
            told,
            cuts: Some(cuts),
            server,
            _tasks: tasks,
        }
    }

    /// Returns the channel that reports the hits at which the test wants to cut in. Works once.
    pub fn cuts(&mut self) -> mpsc::UnboundedReceiver<()> {
        self.cuts.take().unwrap()
    }

    pub fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap()
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub fn hits(&self) -> Vec<Hit> {
        self.told().hits.clone()
    }

    /// Stops listening.
    pub fn vanish(&self) {
        self.server.abort();
    }
}
