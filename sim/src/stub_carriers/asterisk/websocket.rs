//! `chan_websocket` as a client: a socket for a channel, its queue of frames and marks, and its control
//! messages in plain words or in JSON.

use std::{
    collections::VecDeque,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use futures_util::{SinkExt, StreamExt};
use media::format::LineFormat;
use serde_json::{Value, json};
use tokio::{
    net::TcpStream,
    sync::mpsc,
    time::{MissedTickBehavior, interval, sleep},
};
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream, connect_async_with_config,
    tungstenite::{Message, client::IntoClientRequest, http::HeaderValue},
};

use super::{
    channels::Channel,
    sound::{self, Sound},
    stub::{Asterisk, WEBSOCKET_CLIENT},
};
use crate::{
    schema,
    stub_carriers::{settings::locked, sound::Converter},
};

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

const QUEUE_MAX: usize = 1_000;
const XOFF: usize = 900;
const XON: usize = 800;
const MAX_COMMAND: usize = 128;
const MAX_MESSAGE: usize = 65_500;
const TICK: Duration = Duration::from_millis(20);

/// Options of a dial string, after the name of the connection.
#[derive(Debug, Clone)]
pub(super) struct Options {
    codec: String,
    format: LineFormat,
    parameters: String,
}

impl Options {
    /// Returns `None` if the options cannot be read.
    pub(super) fn read(text: &str) -> Option<Self> {
        let (mut codec, mut parameters, mut rest) = (None, String::new(), text);
        while let Some(option) = rest.chars().next() {
            let (value, behind) = match rest[1..].strip_prefix('(') {
                Some(inside) => inside.split_once(')')?,
                None => ("", &rest[1..]),
            };
            match option {
                'c' => codec = Some(value.to_owned()),
                'v' => parameters = value.replace(',', "&"),
                'n' => {}
                _ => return None,
            }
            rest = behind;
        }
        let codec = codec?;
        Some(Self {
            format: sound::format(&codec)?,
            codec,
            parameters,
        })
    }
}

/// Faults of a media connection.
pub(super) struct Interruption {
    frames: u64,
    /// Whether this connection breaks.
    cut: bool,
}

impl Interruption {
    pub(super) fn new(stub: &Asterisk) -> Self {
        Self {
            frames: 0,
            cut: stub.cut.swap(false, Ordering::SeqCst),
        }
    }

    /// Counts an outgoing frame and stalls if that is due; returns `None` if the connection breaks now.
    pub(super) async fn frame(&mut self, stub: &Asterisk) -> Option<()> {
        self.frames += 1;
        if let Some(stall) = stub.base.stall
            && self.frames == stall.after_frames
        {
            sleep(stall.lasts).await;
        }
        let broken = self.cut && stub.base.cut_after.is_some_and(|after| self.frames > after);
        (!broken).then_some(())
    }
}

/// Connects, and passes audio until either side ends.
pub(super) async fn run(stub: &Arc<Asterisk>, channel: &Arc<Channel>, options: Options) {
    let socket = match connect(stub, &options).await {
        Ok(socket) => socket,
        Err(why) => {
            stub.base.complain(format!("no media socket: {why}"));
            stub.tell_dial(channel, "CHANUNAVAIL");
            return stub.destroy(channel, 3, "No route to destination", None);
        }
    };
    let Some(from_channel) = locked(&channel.from_channel).take() else {
        return;
    };
    let mut driver = Driver {
        stub,
        channel,
        json: stub.settings.json,
        frame: options.format.bytes_for_ms(20),
        queue: VecDeque::new(),
        frames: 0,
        full: false,
        down: Converter::from(options.format),
    };
    driver.run(socket, from_channel, options).await;
    stub.destroy(channel, 16, "Normal Clearing", None);
}

async fn connect(stub: &Asterisk, options: &Options) -> Result<Socket, String> {
    let uri = format!("{}?{}", locked(&stub.media_uri), options.parameters);
    let mut request = uri.into_client_request().map_err(|error| error.to_string())?;
    let headers = request.headers_mut();
    headers.insert("sec-websocket-protocol", HeaderValue::from_static("media"));
    let connected = connect_async_with_config(request, None, true).await;
    let (socket, answer) = connected.map_err(|error| error.to_string())?;
    match answer.headers().get("sec-websocket-protocol") {
        Some(chosen) if chosen == "media" => Ok(socket),
        _ => Err("the server does not support the subprotocol `media`".to_owned()),
    }
}

/// Item of the playout queue.
enum Queued {
    Frame(Vec<u8>),
    Mark(String),
}

struct Driver<'a> {
    stub: &'a Arc<Asterisk>,
    channel: &'a Arc<Channel>,
    json: bool,
    frame: usize,
    queue: VecDeque<Queued>,
    frames: usize,
    full: bool,
    down: Converter,
}

impl Driver<'_> {
    /// Returns `None` when the socket is gone.
    async fn run(&mut self, socket: Socket, mut from_channel: mpsc::Receiver<Sound>, options: Options) -> Option<()> {
        let (mut sink, mut source) = socket.split();
        sink.send(Message::Text(self.started(&options.codec).into()))
            .await
            .ok()?;
        self.stub.answered(self.channel);
        let mut up = Converter::to(options.format);
        let mut interruption = Interruption::new(self.stub);
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
        loop {
            let mut events = Vec::new();
            tokio::select! {
                _ = ticks.tick(), if !self.queue.is_empty() => self.tick(&mut events),
                Some(sound) = from_channel.recv() => match sound {
                    Sound::Audio(samples) => {
                        interruption.frame(self.stub).await?;
                        sink.send(Message::Binary(up.encode(samples).into())).await.ok()?;
                    }
                    Sound::Key(key) => events.push(self.event("DTMF_END", &[("digit", key.to_string())])),
                },
                message = source.next() => match message {
                    Some(Ok(Message::Text(text))) => {
                        if self.queue.is_empty() {
                            ticks.reset_immediately();
                        }
                        self.command(&text, &mut events)?;
                    }
                    Some(Ok(Message::Binary(bytes))) => {
                        if self.queue.is_empty() {
                            ticks.reset_immediately();
                        }
                        self.binary(&bytes, &mut events)?;
                    }
                    Some(Ok(Message::Close(_))) => {
                        let _ = sink.close().await;
                        return None;
                    }
                    Some(Err(_)) | None => return None,
                    Some(Ok(_)) => {}
                },
                () = self.channel.hang_up.notified() => {
                    let _ = sink.close().await;
                    while let Some(Ok(_)) = source.next().await {}
                    return None;
                }
            }
            for event in events {
                sink.send(Message::Text(event.into())).await.ok()?;
            }
        }
    }

    fn started(&self, codec: &str) -> String {
        if self.json {
            return json!({
                "event": "MEDIA_START", "connection_id": WEBSOCKET_CLIENT, "channel": self.channel.name,
                "channel_id": self.channel.id, "format": codec, "optimal_frame_size": self.frame, "ptime": 20,
                "channel_variables": {},
            })
            .to_string();
        }
        format!(
            "MEDIA_START connection_id:{} channel:{} channel_id:{} format:{codec} optimal_frame_size:{} ptime:20",
            WEBSOCKET_CLIENT, self.channel.name, self.channel.id, self.frame
        )
    }

    fn event(&self, name: &str, fields: &[(&str, String)]) -> String {
        if self.json {
            let mut event = json!({ "event": name, "channel_id": self.channel.id });
            for (name, value) in fields {
                event[*name] = Value::String(value.clone());
            }
            return event.to_string();
        }
        let words = fields.iter().map(|(name, value)| match *name {
            "correlation_id" => format!(" {value}"),
            name => format!(" {name}:{value}"),
        });
        format!("{name}{}", words.collect::<String>())
    }

    /// Lets 20 ms pass: returns the marks that are due, then plays one frame.
    fn tick(&mut self, events: &mut Vec<String>) {
        if self.full && self.frames < XON {
            self.full = false;
            events.push(self.event("MEDIA_XON", &[]));
        }
        while let Some(next) = self.queue.pop_front() {
            match next {
                Queued::Mark(id) => events.push(self.event("MEDIA_MARK_PROCESSED", &[("correlation_id", id)])),
                Queued::Frame(bytes) => {
                    self.frames -= 1;
                    let samples = self.down.decode(&bytes);
                    self.stub.says(self.channel, &Sound::Audio(samples));
                    return;
                }
            }
        }
    }

    fn binary(&mut self, bytes: &[u8], events: &mut Vec<String>) -> Option<()> {
        if bytes.len() > MAX_MESSAGE {
            self.stub.base.complain(format!("a message of {} bytes", bytes.len()));
            return None;
        }
        if self.frames >= QUEUE_MAX {
            self.stub.base.complain("audio for a full queue".to_owned());
            return Some(());
        }
        let whole = bytes.chunks_exact(self.frame);
        if !whole.remainder().is_empty() {
            self.stub
                .base
                .complain(format!("{} bytes of audio lost", whole.remainder().len()));
        }
        for frame in whole {
            self.queue.push_back(Queued::Frame(frame.to_vec()));
            self.frames += 1;
            if !self.full && self.frames >= XOFF {
                self.full = true;
                events.push(self.event("MEDIA_XOFF", &[]));
            }
        }
        Some(())
    }

    /// Returns `None` if the channel must be hung up.
    fn command(&mut self, text: &str, events: &mut Vec<String>) -> Option<()> {
        if text.len() > MAX_COMMAND {
            self.stub.base.complain(format!("a command of {} bytes", text.len()));
            return Some(());
        }
        let (command, id) = if self.json {
            let said: Value = serde_json::from_str(text).unwrap_or_default();
            if let Err(misfit) = schema::message("asterisk", "command", &said) {
                self.stub.base.complain(misfit.to_string());
            }
            let field = |name: &str| said[name].as_str().unwrap_or_default().to_owned();
            (field("command"), field("correlation_id"))
        } else {
            let (command, id) = text.split_once(' ').unwrap_or((text, ""));
            (command.to_owned(), id.to_owned())
        };
        match &*command {
            "MARK_MEDIA" => self.queue.push_back(Queued::Mark(id)),
            "FLUSH_MEDIA" => {
                if self.frames > 0 {
                    locked(&self.stub.journal).flushed_ms.push(20 * self.frames as u64);
                }
                self.queue.clear();
                self.frames = 0;
            }
            "HANGUP" => return None,
            "GET_STATUS" => events.push(self.event("STATUS", &[("queue_length", self.frames.to_string())])),
            other => {
                self.stub.base.complain(format!("unknown command {other}"));
                if self.json && other.is_empty() {
                    let words = "Unable to parse JSON command".to_owned();
                    events.push(self.event("ERROR", &[("error_text", words)]));
                }
            }
        }
        Some(())
    }
}
