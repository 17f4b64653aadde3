//! The event socket: one for the application. Events are lost while there is none.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use axum::{
    extract::{
        Query, State,
        ws::{Message, WebSocket, WebSocketUpgrade},
    },
    http::StatusCode,
    response::Response,
};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::stub::{Asterisk, refusal};
use crate::stub_carriers::settings::locked;

/// Most events that may wait.
const WAITING: usize = 1_024;

/// The present socket.
pub(super) struct Events {
    untidy: bool,
    closed: AtomicBool,
    pub(super) sockets: AtomicUsize,
    socket: Mutex<Socket>,
}

#[derive(Default)]
struct Socket {
    app: String,
    texts: Option<mpsc::Sender<String>>,
    held: Option<String>,
    told: usize,
}

impl Events {
    pub(super) fn new(untidy: bool) -> Self {
        Self {
            untidy,
            closed: false.into(),
            sockets: 0.into(),
            socket: Mutex::default(),
        }
    }

    pub(super) fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        locked(&self.socket).texts = None;
    }

    pub(super) fn open(&self) {
        self.closed.store(false, Ordering::SeqCst);
    }
}

impl Socket {
    fn send(&self, text: &str) {
        if let Some(texts) = &self.texts {
            let _ = texts.try_send(text.to_owned());
        }
    }
}

impl Asterisk {
    /// Returns the application that the socket listens for.
    pub(super) fn app(&self) -> String {
        locked(&self.events.socket).app.clone()
    }

    /// Sends an event.
    pub(super) fn tell(&self, kind: &str, fields: &Value) {
        let mut socket = locked(&self.events.socket);
        let mut event = json!({
            "type": kind, "application": socket.app, "timestamp": self.now(), "asterisk_id": "00:00:00:00:00:01",
        });
        if let (Some(event), Some(fields)) = (event.as_object_mut(), fields.as_object()) {
            event.extend(fields.clone());
        }
        let text = event.to_string();
        if !self.events.untidy {
            return socket.send(&text);
        }
        socket.told += 1;
        if socket.told.is_multiple_of(3) && kind != "ChannelDestroyed" {
            if let Some(held) = socket.held.replace(text) {
                socket.send(&held);
            }
            return;
        }
        socket.send(&text);
        socket.send(&text);
        if let Some(held) = socket.held.take() {
            socket.send(&held);
        }
    }
}

pub(super) async fn listen(
    State(stub): State<Arc<Asterisk>>,
    Query(query): Query<std::collections::BTreeMap<String, String>>,
    socket: WebSocketUpgrade,
) -> Response {
    if stub.events.closed.load(Ordering::SeqCst) {
        return refusal(StatusCode::SERVICE_UNAVAILABLE, "Shutting down");
    }
    let Some(app) = query.get("app").cloned() else {
        return refusal(StatusCode::BAD_REQUEST, "HTTP request is missing param: [app]");
    };
    socket.on_upgrade(move |socket| serve(stub, app, socket))
}

async fn serve(stub: Arc<Asterisk>, app: String, mut socket: WebSocket) {
    let (texts, mut waiting) = mpsc::channel(WAITING);
    {
        let mut present = locked(&stub.events.socket);
        present.send(&json!({ "type": "ApplicationReplaced", "application": app }).to_string());
        present.texts = Some(texts);
        present.app = app;
    }
    stub.events.sockets.fetch_add(1, Ordering::SeqCst);
    loop {
        tokio::select! {
            text = waiting.recv() => match text {
                Some(text) => {
                    if socket.send(Message::Text(text.into())).await.is_err() {
                        return;
                    }
                }
                None => break,
            },
            message = socket.recv() => match message {
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return,
            },
        }
    }
    let _ = socket.send(Message::Close(None)).await;
}
