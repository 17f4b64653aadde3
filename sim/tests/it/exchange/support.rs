//! A scripted service in front of the exchange. It accepts status callbacks and media sockets, and says
//! what the test tells it.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{
    Json, Router,
    extract::{
        Path, State, WebSocketUpgrade,
        ws::{Message, WebSocket},
    },
    http::StatusCode,
    response::Response,
    routing::{get, post},
    serve::ListenerExt,
};
use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use media::{
    babble::{Listener, Speaker, Transcript, Voice},
    codec,
    format::Encoding,
};
use serde_json::{Value, json};
use sim::exchange::{Exchange, ExchangeHandle, ExchangeSettings, LogEntry, LogEvent};
use tokio::{
    net::TcpListener,
    sync::mpsc,
    time::{Instant, timeout},
};

#[derive(Clone)]
struct Endpoints {
    statuses: Arc<Mutex<Vec<(Instant, Value)>>>,
    /// Responses given before 204s begin.
    refusals: Arc<Mutex<Vec<StatusCode>>>,
    sockets: mpsc::Sender<(String, WebSocket)>,
}

/// The service and the exchange it dials through.
pub struct Service {
    pub exchange: ExchangeHandle,
    pub http: reqwest::Client,
    addr: SocketAddr,
    endpoints: Endpoints,
    sockets: mpsc::Receiver<(String, WebSocket)>,
}

async fn status(State(endpoints): State<Endpoints>, Json(body): Json<Value>) -> StatusCode {
    let mut refusals = endpoints.refusals.lock().unwrap();
    if !refusals.is_empty() {
        return refusals.remove(0);
    }
    endpoints.statuses.lock().unwrap().push((Instant::now(), body));
    StatusCode::NO_CONTENT
}

async fn socket(State(endpoints): State<Endpoints>, Path(token): Path<String>, upgrade: WebSocketUpgrade) -> Response {
    upgrade.on_upgrade(move |socket| async move {
        let _ = endpoints.sockets.send((token, socket)).await;
    })
}

pub fn quick() -> ExchangeSettings {
    ExchangeSettings {
        pick_up: Duration::from_secs(2)..=Duration::from_secs(2),
        ..ExchangeSettings::on_loopback()
    }
}

impl Service {
    pub async fn start(settings: ExchangeSettings) -> Self {
        let (sender, sockets) = mpsc::channel(1_000);
        let endpoints = Endpoints {
            statuses: Arc::default(),
            refusals: Arc::default(),
            sockets: sender,
        };
        let app = Router::new()
            .route("/status/{token}", post(status))
            .route("/media/{token}", get(socket))
            .with_state(endpoints.clone());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener.tap_io(|tcp| tcp.set_nodelay(true).unwrap()), app).await });
        Self {
            exchange: Exchange::start(settings).await.unwrap(),
            http: net::http_client::builder().build().unwrap(),
            addr,
            endpoints,
            sockets,
        }
    }

    pub fn refuse_statuses(&self, answers: &[StatusCode]) {
        self.endpoints.refusals.lock().unwrap().extend(answers);
    }

    pub fn dial_body(&self, to: &str, persona: &str) -> Value {
        json!({
            "to": to, "from": "+15550001111", "attempt": format!("attempt-{to}"),
            "statusUrl": format!("http://{}/status/{}", self.addr, &to[1..]),
            "streamUrl": format!("ws://{}/media/{}", self.addr, &to[1..]),
            "ringTimeoutSeconds": 30, "hints": { "persona": persona },
        })
    }

    pub async fn post(&self, body: &Value) -> (u16, Value) {
        let url = format!("{}/v1/calls", self.exchange.url());
        let answer = self.http.post(url).json(body).send().await.unwrap();
        (answer.status().as_u16(), answer.json().await.unwrap())
    }

    /// Dials and returns the call's id.
    pub async fn dial(&self, to: &str, persona: &str) -> String {
        let (status, body) = self.post(&self.dial_body(to, persona)).await;
        assert_eq!(status, 201, "{body}");
        body["callId"].as_str().unwrap().to_owned()
    }

    pub async fn hang_up(&self, call: &str) -> u16 {
        let url = format!("{}/v1/calls/{call}", self.exchange.url());
        self.http.delete(url).send().await.unwrap().status().as_u16()
    }

    /// Returns the next telephone that opens its media socket.
    pub async fn phone(&mut self) -> Conversation {
        let (token, socket) = timeout(Duration::from_secs(60), self.sockets.recv())
            .await
            .unwrap()
            .unwrap();
        Conversation::new(token, socket).await
    }

    pub fn no_phone_dialed_in(&mut self) -> bool {
        self.sockets.try_recv().is_err()
    }

    /// Returns the statuses of a call, as text, in order of arrival.
    pub fn statuses(&self, call: &str) -> Vec<String> {
        let statuses = self.endpoints.statuses.lock().unwrap();
        let of_call = statuses.iter().filter(|(_, body)| body["callId"] == call);
        of_call
            .map(|(_, body)| match body["cause"].as_str() {
                Some(cause) => format!("{} {cause}", body["status"].as_str().unwrap()),
                None => body["status"].as_str().unwrap().to_owned(),
            })
            .collect()
    }

    pub fn status_bodies(&self) -> Vec<Value> {
        self.endpoints
            .statuses
            .lock()
            .unwrap()
            .iter()
            .map(|(_, body)| body.clone())
            .collect()
    }

    /// Waits until the call has reported its end.
    pub async fn ended(&self, call: &str) -> Vec<String> {
        let wait = async {
            while !self.statuses(call).iter().any(|status| status.starts_with("ended")) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        timeout(Duration::from_secs(900), wait)
            .await
            .expect("the call never ended");
        self.statuses(call)
    }

    pub fn log(&self, call: &str) -> Vec<LogEvent> {
        let of_call = |entry: LogEntry| (entry.call_id == call).then_some(entry.event);
        self.exchange.entries().into_iter().filter_map(of_call).collect()
    }
}

/// One telephone's socket, seen from the service.
pub struct Conversation {
    pub token: String,
    pub stream: String,
    pub call: String,
    socket: WebSocket,
    opened: Instant,
    listener: Listener,
    transcript: Transcript,
    /// Words of the callee, with the time of their end.
    pub said: Vec<String>,
    pub marks: Vec<(u64, String)>,
    pub samples: Vec<i16>,
    pub frames: usize,
    pub stopped: bool,
    pub closed: bool,
}

impl Conversation {
    async fn new(token: String, mut socket: WebSocket) -> Self {
        let opened = Instant::now();
        let connected = next_json(&mut socket).await.unwrap();
        assert_eq!(connected["event"], "connected");
        let start = next_json(&mut socket).await.unwrap();
        assert_eq!(start["event"], "start");
        assert_eq!(start["start"]["mediaFormat"]["sampleRate"], 8000);
        Self {
            token,
            stream: start["streamSid"].as_str().unwrap().to_owned(),
            call: start["start"]["callSid"].as_str().unwrap().to_owned(),
            socket,
            opened,
            listener: Listener::new(),
            transcript: Transcript::default(),
            said: Vec::new(),
            marks: Vec::new(),
            samples: Vec::new(),
            frames: 0,
            stopped: false,
            closed: false,
        }
    }

    pub fn now_ms(&self) -> u64 {
        u64::try_from(self.opened.elapsed().as_millis()).unwrap()
    }

    async fn send(&mut self, message: Value) {
        self.socket
            .send(Message::Text(message.to_string().into()))
            .await
            .unwrap();
    }

    /// Sends a sentence at once; returns its length in milliseconds.
    pub async fn say(&mut self, text: &str) -> u64 {
        let audio = mulaw(text);
        for piece in audio.chunks(8_000) {
            let payload = BASE64.encode(piece);
            let stream = self.stream.clone();
            self.send(json!({ "event": "media", "streamSid": stream, "media": { "payload": payload } }))
                .await;
        }
        audio.len() as u64 / 8
    }

    pub async fn mark(&mut self, name: &str) {
        let stream = self.stream.clone();
        self.send(json!({ "event": "mark", "streamSid": stream, "mark": { "name": name } }))
            .await;
    }

    pub async fn clear(&mut self) {
        let stream = self.stream.clone();
        self.send(json!({ "event": "clear", "streamSid": stream })).await;
    }

    pub async fn send_raw(&mut self, message: Message) {
        self.socket.send(message).await.unwrap();
    }

    /// Closes the stream and reads to its end.
    pub async fn close(&mut self) {
        self.socket.send(Message::Close(None)).await.unwrap();
        self.listen_until(|phone| phone.closed).await;
    }

    /// Handles one message.
    async fn step(&mut self) {
        let Some(message) = next_json(&mut self.socket).await else {
            self.closed = true;
            return;
        };
        assert_eq!(message["streamSid"], *self.stream);
        match message["event"].as_str().unwrap() {
            "media" => self.hear(message["media"]["payload"].as_str().unwrap()),
            "mark" => {
                let name = message["mark"]["name"].as_str().unwrap().to_owned();
                self.marks.push((self.now_ms(), name));
            }
            "stop" => self.stopped = true,
            other => panic!("unexpected {other}"),
        }
    }

    fn hear(&mut self, payload: &str) {
        let bytes = BASE64.decode(payload).unwrap();
        assert_eq!(bytes.len(), 160);
        self.frames += 1;
        let mut samples = Vec::new();
        codec::decode(Encoding::MuLaw, &bytes, &mut samples);
        let mut heard = Vec::new();
        self.listener.push(&samples, &mut heard);
        self.samples.extend(samples);
        for event in heard {
            if let Some(utterance) = self.transcript.take(event) {
                assert!(!utterance.damaged);
                self.said.push(utterance.text);
            }
        }
    }

    /// Listens until `holds` returns `true`; panics after two minutes.
    pub async fn listen_until(&mut self, holds: impl Fn(&Self) -> bool) {
        let listen = async {
            while !holds(self) && !self.closed {
                self.step().await;
            }
        };
        timeout(Duration::from_secs(120), listen).await.expect("waited in vain");
        assert!(holds(self), "the phone closed first");
    }

    pub async fn listen_ms(&mut self, ms: u64) {
        let until = self.now_ms() + ms;
        self.listen_until(|phone| phone.now_ms() >= until).await;
    }

    pub async fn hear_sentences(&mut self, count: usize) -> String {
        self.listen_until(|phone| phone.said.len() >= count).await;
        self.said[count - 1].clone()
    }
}

async fn next_json(socket: &mut WebSocket) -> Option<Value> {
    loop {
        match socket.recv().await {
            Some(Ok(Message::Text(text))) => return Some(serde_json::from_str(&text).unwrap()),
            Some(Ok(Message::Close(_)) | Err(_)) | None => return None,
            Some(Ok(_)) => {}
        }
    }
}

pub fn mulaw(text: &str) -> Vec<u8> {
    let mut speaker = Speaker::new(text, Voice::named("agent"), 8_000).unwrap();
    let mut bytes = Vec::new();
    while let Some(samples) = speaker.next_chunk(160) {
        codec::encode(Encoding::MuLaw, &samples, &mut bytes);
    }
    bytes
}
