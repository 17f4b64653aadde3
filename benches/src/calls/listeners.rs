//! Listeners beside the calls: each a WebSocket with a ticket, at calls of its own or all at one. Some may never read.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::{
    net::{TcpSocket, TcpStream},
    task::JoinSet,
    time::{Instant, sleep},
};
use tokio_tungstenite::{WebSocketStream, client_async, tungstenite::Message};

use crate::{BenchError, connection::source, site::Site};
use ringback::api_client::ApiClient;
use sim::samples::Samples;

/// First message of a listener: the format with the most bytes.
const START: &str = r#"{"event":"start","format":"pcm_16000","channels":"apart"}"#;

/// Duration of the audio in a binary message.
const FRAME: Duration = Duration::from_millis(20);

/// Addresses that the listeners come from.
const SOURCES: u32 = 20;

/// Receive buffer of a listener that never reads, in bytes: the smallest, so that its audio waits at the service.
const STALLED_BUFFER: u32 = 4_096;

/// Pause between two listeners that open.
const STAGGER: Duration = Duration::from_millis(5);

type Socket = WebSocketStream<TcpStream>;

/// Audio that reached the listeners.
#[derive(Debug, Clone, Default)]
pub struct Heard {
    /// Milliseconds by which each message came later than its place after the listener's first one.
    pub late_ms: Samples,
    /// Milliseconds of audio that listeners were told to have lost.
    pub lost_ms: u64,
}

/// Open listeners. Dropping this closes them.
pub struct Listeners {
    heard: Arc<Mutex<Heard>>,
    reading: JoinSet<Result<(), BenchError>>,
}

impl Listeners {
    /// Opens this many listeners, spread over the calls in progress or all at one of them.
    pub async fn open(site: &Site, api: &ApiClient, (count, on_one): (u32, bool)) -> Result<Self, BenchError> {
        let mut all = Self {
            heard: Arc::default(),
            reading: JoinSet::new(),
        };
        let calls = calls(api, count, on_one).await?;
        for (call, n) in calls.iter().cycle().zip(0..count) {
            let socket = open(site, api, (call, n), None).await?;
            all.reading.spawn(read(socket, Arc::clone(&all.heard)));
            sleep(STAGGER).await;
        }
        Ok(all)
    }

    /// Closes them. Returns what they heard, or why one of them ended before its call.
    pub async fn close(mut self) -> Result<Heard, BenchError> {
        while let Some(ended) = self.reading.try_join_next() {
            ended??;
        }
        self.reading.shutdown().await;
        let heard = std::mem::take(&mut *locked(&self.heard));
        Ok(heard)
    }
}

/// Opens this many listeners that never read, spread over the calls in progress or all at one of them. Dropping
/// the result closes them.
pub async fn open_stalled(
    site: &Site,
    api: &ApiClient,
    (count, on_one): (u32, bool),
) -> Result<Vec<Socket>, BenchError> {
    let calls = calls(api, count, on_one).await?;
    let mut stalled = Vec::new();
    for (call, n) in calls.iter().cycle().zip(0..count) {
        stalled.push(open(site, api, (call, n), Some(STALLED_BUFFER)).await?);
    }
    Ok(stalled)
}

/// Returns the ids of as many answered calls as listeners need, or of one.
async fn calls(api: &ApiClient, listeners: u32, on_one: bool) -> Result<Vec<String>, BenchError> {
    let wanted = if on_one { listeners.min(1) } else { listeners } as usize;
    let mut ids = Vec::new();
    let mut cursor = String::new();
    while ids.len() < wanted {
        let page = api.get(&format!("/public/v1/calls/live?pageSize=100{cursor}")).await?;
        let calls = page["data"].as_array().into_iter().flatten();
        let answered = calls.filter(|call| call["answeredAt"].is_string());
        ids.extend(answered.filter_map(|call| call["conversationId"].as_str().map(str::to_owned)));
        match page["pagination"]["nextCursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    ids.truncate(wanted);
    match ids.is_empty() && wanted > 0 {
        true => Err("no call to listen to".into()),
        false => Ok(ids),
    }
}

/// Opens the `n`-th listener, with a receive buffer of this many bytes.
async fn open(site: &Site, api: &ApiClient, (call, n): (&str, u32), buffer: Option<u32>) -> Result<Socket, BenchError> {
    let path = format!("/public/v1/conversations/{call}");
    let made = api
        .post(&format!("{path}/live-tickets"), json!({ "for": "listen" }))
        .await?;
    let ticket = made["data"]["ticket"].as_str().ok_or("the answer has no ticket")?;
    let address = site.settings.listen;
    let tcp = TcpSocket::new_v4()?;
    tcp.bind((source(n % SOURCES), 0).into())?;
    if let Some(bytes) = buffer {
        tcp.set_recv_buffer_size(bytes)?;
    }
    let stream = tcp.connect(address).await?;
    stream.set_nodelay(true)?;
    let (mut socket, _) = client_async(format!("ws://{address}{path}/listen?ticket={ticket}"), stream).await?;
    socket.send(Message::Text(START.into())).await?;
    Ok(socket)
}

/// Reads everything until the call is over.
async fn read(mut socket: Socket, heard: Arc<Mutex<Heard>>) -> Result<(), BenchError> {
    let (mut began, mut frames) = (None, 0);
    while let Some(message) = socket.next().await {
        match message? {
            Message::Binary(_) => {
                let now = Instant::now();
                let due = *began.get_or_insert(now) + FRAME * frames;
                frames += 1;
                let late = now.saturating_duration_since(due);
                locked(&heard).late_ms.push(late.as_secs_f64() * 1_000.0);
            }
            Message::Text(event) => {
                let event: Value = serde_json::from_str(&event)?;
                match event["event"].as_str() {
                    Some("end") => return Ok(()),
                    Some("lost") => locked(&heard).lost_ms += event["milliseconds"].as_u64().unwrap_or(0),
                    _ => {}
                }
            }
            Message::Close(Some(frame)) => return Err(format!("a listener was closed: {frame}").into()),
            _ => {}
        }
    }
    Err("a listener's connection ended before its call".into())
}

fn locked(heard: &Mutex<Heard>) -> MutexGuard<'_, Heard> {
    heard.lock().unwrap_or_else(PoisonError::into_inner)
}
