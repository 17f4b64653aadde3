//! The media socket: a telephone of the exchange on one side, Telnyx's stream on the other.

use std::sync::Arc;

use axum::{
    extract::{
        Path, State,
        ws::{Message, WebSocket, WebSocketUpgrade},
    },
    http::StatusCode,
    response::{IntoResponse, Response},
};
use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream, connect_async_with_config,
    tungstenite::{self, client::IntoClientRequest, http::HeaderValue},
};

use super::{Call, Switch, audio::Converter};
use crate::carriers::telnyx::line::Codec;

type Upstream = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// Telnyx takes chunks of 20 ms to 30 s.
const CHUNK_MS: std::ops::RangeInclusive<usize> = 20..=30_000;

pub(super) async fn open(
    State(switch): State<Arc<Switch>>,
    Path(id): Path<String>,
    socket: WebSocketUpgrade,
) -> Response {
    match switch.call(&id) {
        Some(call) => socket.on_upgrade(move |phone| bridge(switch, call, phone)),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

async fn connect(call: &Call) -> Result<Upstream, String> {
    let words = |error: tungstenite::Error| error.to_string();
    let mut request = call.ask.stream_url.as_str().into_client_request().map_err(words)?;
    let token = HeaderValue::from_str(&call.ask.stream_auth_token).map_err(|error| error.to_string())?;
    request.headers_mut().insert("x-telnyx-streaming-auth-token", token);
    let (socket, _) = connect_async_with_config(request, None, true).await.map_err(words)?;
    Ok(socket)
}

/// Translates until either side is gone. A stream that ends does not end the call: that takes a hang-up.
async fn bridge(switch: Arc<Switch>, call: Arc<Call>, mut phone: WebSocket) {
    match connect(&call).await {
        Ok(mut upstream) => {
            let mut translator = Translator::new(&switch, &call);
            if translator.run(&mut phone, &mut upstream).await.is_some() {
                return;
            }
        }
        Err(reason) => {
            switch.complain(format!("no media socket: {reason}"));
            switch.tell(&call, "streaming.failed", json!({ "failure_reason": reason }));
        }
    }
    while let Some(Ok(_)) = phone.recv().await {}
}

struct Translator<'a> {
    switch: &'a Switch,
    call: &'a Call,
    /// What the callee is heard in.
    heard: Codec,
    /// What the service speaks in; none when what it sends is dropped.
    spoken: Option<Codec>,
    up: Converter,
    down: Converter,
    /// The telephone's name of its stream.
    phone_stream: String,
    sequence: u64,
    frames: u64,
    held: Option<String>,
}

impl<'a> Translator<'a> {
    fn new(switch: &'a Switch, call: &'a Call) -> Self {
        let (ask, order) = (&call.ask, switch.settings.order);
        let asked = Codec::named(&ask.stream_codec).unwrap_or_default();
        let heard = switch.settings.heard_in.unwrap_or(asked);
        let spoken = Codec::named(&ask.stream_bidirectional_codec).filter(|_| ask.stream_bidirectional_mode == "rtp");
        Self {
            switch,
            call,
            heard,
            spoken,
            up: Converter::to(heard, order),
            down: Converter::from(spoken.unwrap_or_default(), order),
            phone_stream: String::new(),
            sequence: 0,
            frames: 0,
            held: None,
        }
    }

    /// Some when the telephone is gone, none when only the stream is.
    async fn run(&mut self, phone: &mut WebSocket, upstream: &mut Upstream) -> Option<()> {
        let connected = json!({ "event": "connected", "version": "1.0.0" }).to_string();
        upstream.send(connected.into()).await.ok()?;
        loop {
            if self
                .switch
                .settings
                .faults
                .cut_after
                .is_some_and(|frames| self.frames >= frames)
            {
                return None;
            }
            tokio::select! {
                message = phone.recv() => match message {
                    Some(Ok(Message::Text(text))) => {
                        for text in self.upwards(&text) {
                            upstream.send(text.into()).await.ok()?;
                        }
                    }
                    Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Binary(_))) => {}
                    None | Some(Ok(Message::Close(_)) | Err(_)) => {
                        let _ = upstream.close(None).await;
                        while let Some(Ok(_)) = upstream.next().await {}
                        return Some(());
                    }
                },
                message = upstream.next() => match message {
                    Some(Ok(tungstenite::Message::Text(text))) => {
                        let Some(text) = self.downwards(&text) else { continue };
                        if phone.send(Message::Text(text.into())).await.is_err() {
                            return Some(());
                        }
                    }
                    Some(Ok(tungstenite::Message::Close(_)) | Err(_)) | None => return None,
                    Some(Ok(_)) => {}
                },
            }
        }
    }

    fn stream(&self) -> String {
        format!("stream-{}", self.call.id)
    }

    fn numbered(&mut self, event: &str, body: &Value) -> String {
        self.sequence += 1;
        json!({
            "event": event, "sequence_number": self.sequence.to_string(), "stream_id": self.stream(), event: body,
        })
        .to_string()
    }

    /// What the telephone says, in Telnyx's words.
    fn upwards(&mut self, text: &str) -> Vec<String> {
        let said: Value = serde_json::from_str(text).unwrap_or_default();
        let message = match said["event"].as_str() {
            Some("start") => {
                self.phone_stream = said["streamSid"].as_str().unwrap_or_default().to_owned();
                self.start()
            }
            Some("media") => return self.frame(&said["media"]),
            Some("mark") => self.numbered("mark", &said["mark"]),
            Some("dtmf") => self.numbered("dtmf", &json!({ "digit": said["dtmf"]["digit"] })),
            Some("stop") => self.numbered("stop", &json!({ "call_control_id": self.call.id })),
            _ => return Vec::new(),
        };
        self.held.take().into_iter().chain([message]).collect()
    }

    fn start(&mut self) -> String {
        let ask = &self.call.ask;
        let body = json!({
            "user_id": "stub", "call_control_id": self.call.id, "call_session_id": "s", "from": ask.from,
            "to": ask.to, "client_state": ask.client_state, "tags": [],
            "media_format": {
                "encoding": self.heard.name(), "sample_rate": self.heard.format().sample_rate, "channels": 1,
            },
        });
        self.numbered("start", &body)
    }

    fn frame(&mut self, media: &Value) -> Vec<String> {
        let mulaw = BASE64
            .decode(media["payload"].as_str().unwrap_or_default())
            .unwrap_or_default();
        let payload = BASE64.encode(self.up.encode(&mulaw));
        let (chunk, timestamp) = (&media["chunk"], &media["timestamp"]);
        let body = json!({ "track": "inbound", "chunk": chunk, "timestamp": timestamp, "payload": payload });
        self.frames += 1;
        let message = self.numbered("media", &body);
        if self.switch.settings.faults.shuffled_frames && self.frames.is_multiple_of(7) {
            self.held = Some(message);
            return Vec::new();
        }
        // The one that was held comes after the one that should follow it.
        std::iter::once(message).chain(self.held.take()).collect()
    }

    /// What the service says, in the telephone's words.
    fn downwards(&mut self, text: &str) -> Option<String> {
        let Ok(said) = serde_json::from_str::<Value>(text) else {
            self.switch.complain(format!("malformed_frame: {text}"));
            return None;
        };
        let stream = &self.phone_stream;
        match said["event"].as_str() {
            Some("media") => {
                let payload = said["media"]["payload"].as_str().unwrap_or_default();
                let mulaw = self.spoken(BASE64.decode(payload).unwrap_or_default())?;
                let media = json!({ "payload": BASE64.encode(mulaw) });
                Some(json!({ "event": "media", "streamSid": self.phone_stream, "media": media }).to_string())
            }
            Some("mark") => Some(json!({ "event": "mark", "streamSid": stream, "mark": said["mark"] }).to_string()),
            Some("clear") => Some(json!({ "event": "clear", "streamSid": stream }).to_string()),
            _ => {
                self.switch.complain(format!("malformed_frame: {text}"));
                None
            }
        }
    }

    fn spoken(&mut self, audio: Vec<u8>) -> Option<Vec<u8>> {
        let format = self.spoken?.format();
        let ms = audio.len() / format.bytes_for_ms(1);
        if !CHUNK_MS.contains(&ms) {
            self.switch.complain(format!("invalid_media: {ms} ms"));
            return None;
        }
        Some(self.down.decode(audio))
    }
}
