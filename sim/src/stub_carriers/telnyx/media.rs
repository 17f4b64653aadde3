//! A media socket to the service: JSON messages in Telnyx's format.

use std::sync::Arc;

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use super::{
    audio::{Codec, Converter},
    call::{Call, StreamAsk},
    stub::{Telnyx, take_one},
};
use crate::{
    schema,
    stub_carriers::{
        base::stall::Standstill,
        bridge::{self, BridgeError, MediaSocket, ToService, Told},
    },
};

/// Telnyx accepts chunks of 20 ms to 30 s.
const CHUNK_MS: std::ops::RangeInclusive<usize> = 20..=30_000;
/// Milliseconds of a telephone's frame.
const FRAME_MS: u64 = 20;

/// An open socket.
pub struct Stream {
    stub: Arc<Telnyx>,
    service: ToService,
    id: String,
    /// Codec of the service's audio; `None` if that audio is dropped.
    spoken: Option<Codec>,
    up: Converter,
    down: Converter,
    sequence: u64,
    frames: u64,
    /// Frame that is sent after the next one.
    held: Option<String>,
    has_faults: bool,
    standstill: Standstill,
    /// Codec of the callees' audio.
    heard: Codec,
}

/// Reasons why no socket to the service could be opened.
#[derive(Debug, thiserror::Error)]
pub enum StreamError {
    #[error("connection_refused")]
    Refused,
    #[error(transparent)]
    Bridge(#[from] BridgeError),
}

impl Stream {
    /// Opens a requested socket and sends its `start`.
    pub async fn open(stub: &Arc<Telnyx>, call: &Call, ask: &StreamAsk, has_faults: bool) -> Result<Self, StreamError> {
        let mut stream = Self::connect(stub, ask, has_faults).await?;
        stream.begin(call).await;
        Ok(stream)
    }

    /// Opens a requested socket. The call may still ring.
    pub async fn connect(stub: &Arc<Telnyx>, ask: &StreamAsk, has_faults: bool) -> Result<Self, StreamError> {
        if take_one(&stub.refused) {
            return Err(StreamError::Refused);
        }
        let opened = bridge::open(&ask.stream_url, "x-telnyx-streaming-auth-token", &ask.stream_auth_token).await;
        let service = opened.inspect_err(|error| stub.base.complain(format!("no media socket: {error}")))?;
        let order = stub.settings.order;
        let asked = Codec::named(&ask.stream_codec).unwrap_or_default();
        let heard = stub.settings.heard_in.unwrap_or(asked);
        let rate = Some(ask.stream_bidirectional_sampling_rate)
            .filter(|rate| *rate > 0)
            .unwrap_or(8_000);
        let spoken = Codec::named(&ask.stream_bidirectional_codec);
        // Audio of another rate than was asked for would be noise.
        let spoken =
            spoken.filter(|codec| ask.stream_bidirectional_mode == "rtp" && codec.format().sample_rate == rate);
        let mut stream = Self {
            stub: stub.clone(),
            service,
            id: format!("stream-{}", uuid::Uuid::new_v4()),
            spoken,
            up: Converter::to(heard, order),
            down: Converter::from(spoken.unwrap_or_default(), order),
            sequence: 0,
            frames: 0,
            held: None,
            has_faults,
            standstill: Standstill::new(stub.base.stall.filter(|_| has_faults)),
            heard,
        };
        let connected = json!({ "event": "connected", "version": "1.0.0" });
        stream.service.text(&connected).await;
        Ok(stream)
    }

    /// Sends the `start` once the call is answered.
    pub async fn begin(&mut self, call: &Call) {
        let (leg, heard, format) = (&call.order, self.heard, self.heard.format());
        let start = json!({
            "user_id": "stub", "call_control_id": call.id, "call_session_id": "s", "from": leg.from, "to": leg.to,
            "client_state": call.shown()["client_state"], "tags": [],
            "media_format": { "encoding": heard.name(), "sample_rate": format.sample_rate, "channels": 1 },
        });
        self.event("start", &start).await;
    }

    /// Returns whether the socket must break now.
    pub fn is_cut(&self) -> bool {
        let cut_after = self.stub.base.cut_after.filter(|_| self.has_faults);
        cut_after.is_some_and(|frames| self.frames >= frames)
    }

    /// Returns whether the socket is stalled now.
    pub fn is_still(&mut self) -> bool {
        self.standstill.is_on(self.frames)
    }

    async fn text(&mut self, text: String) {
        self.service.send(Message::Text(text.into())).await;
    }

    fn numbered(&mut self, event: &str, body: &Value) -> String {
        self.sequence += 1;
        let sequence = self.sequence.to_string();
        json!({ "event": event, "sequence_number": sequence, "stream_id": self.id, event: body }).to_string()
    }

    async fn event(&mut self, event: &str, body: &Value) {
        if let Some(held) = self.held.take() {
            self.text(held).await;
        }
        let text = self.numbered(event, body);
        self.text(text).await;
    }

    fn read(&mut self, text: &str) -> Option<Told> {
        let said: Value = serde_json::from_str(text).unwrap_or_default();
        if let Err(misfit) = schema::message("telnyx", "stream", &said) {
            return Some(Told::Nonsense(format!("malformed_frame: {misfit}")));
        }
        match said["event"].as_str() {
            Some("media") => {
                let payload = said["media"]["payload"].as_str().unwrap_or_default();
                self.spoken(BASE64.decode(payload).unwrap_or_default())
            }
            Some("mark") => Some(Told::Mark(said["mark"]["name"].as_str().unwrap_or_default().to_owned())),
            Some("clear") => Some(Told::Clear),
            _ => Some(Told::Nonsense(format!("malformed_frame: {text}"))),
        }
    }

    fn spoken(&mut self, audio: Vec<u8>) -> Option<Told> {
        let format = self.spoken?.format();
        let ms = audio.len() / format.bytes_for_ms(1);
        if !CHUNK_MS.contains(&ms) {
            return Some(Told::Nonsense(format!("invalid_media: {ms} ms")));
        }
        Some(Told::Audio(self.down.decode(audio)))
    }

    /// Closes the socket with a complete closing handshake.
    pub async fn close(mut self) {
        self.event("stop", &json!({ "user_id": "stub" })).await;
        self.service.close().await;
    }
}

impl MediaSocket for Stream {
    async fn audio(&mut self, mulaw: &[u8]) {
        self.frames += 1;
        if self.is_still() {
            return;
        }
        let (chunk, timestamp) = (self.frames.to_string(), (self.frames * FRAME_MS).to_string());
        let payload = BASE64.encode(self.up.encode(mulaw));
        let body = json!({ "track": "inbound", "chunk": chunk, "timestamp": timestamp, "payload": payload });
        let message = self.numbered("media", &body);
        if self.stub.settings.faults.shuffled_frames && self.frames.is_multiple_of(7) {
            self.held = Some(message);
            return;
        }
        self.text(message).await;
        // The held frame is sent after the one that should follow it.
        if let Some(held) = self.held.take() {
            self.text(held).await;
        }
    }

    async fn key(&mut self, key: &str) {
        self.event("dtmf", &json!({ "digit": key })).await;
    }

    async fn played(&mut self, mark: &str) {
        self.event("mark", &json!({ "name": mark })).await;
    }

    async fn told(&mut self) -> Told {
        loop {
            match self.service.next().await {
                Some(Message::Text(text)) => {
                    if let Some(told) = self.read(&text) {
                        return told;
                    }
                }
                Some(_) => {}
                None => return Told::Gone,
            }
        }
    }
}
