//! A media socket to the service: binary frames and JSON messages in Vonage's format.

use std::{collections::BTreeSet, time::Duration};

use media::format::{Encoding, LineFormat};
use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::Message;

use crate::{
    schema,
    stub_carriers::{
        bridge::{self, MediaSocket, ToService, Told},
        sound::{Converter, from_phone, to_phone},
    },
};

/// Most audio that may be sent ahead: the 1024 messages of the older documents.
const MOST_AHEAD: Duration = Duration::from_secs(20);
const FRAME: Duration = Duration::from_millis(20);

/// An open socket.
pub(super) struct Socket {
    service: ToService,
    format: LineFormat,
    up: Converter,
    down: Converter,
    /// Time at which everything sent has been played.
    played_at: Instant,
    /// Marks that are not returned yet, by their payloads. A clear removes them.
    marks: BTreeSet<String>,
}

/// Returns the rate of a content type that Vonage offers.
pub(super) fn rate(content_type: &str) -> Option<u32> {
    match content_type {
        "audio/l16;rate=8000" => Some(8_000),
        "audio/l16;rate=16000" => Some(16_000),
        "audio/l16;rate=24000" => Some(24_000),
        _ => None,
    }
}

impl Socket {
    /// Opens the socket of an endpoint and sends its first message; none if the service or the type is not there.
    pub(super) async fn open(endpoint: &Value) -> Option<Self> {
        let content_type = endpoint["content-type"].as_str().unwrap_or_default();
        let rate = rate(content_type)?;
        let shown = match endpoint["authorization"]["type"].as_str() {
            Some("custom") => endpoint["authorization"]["value"].as_str().unwrap_or_default(),
            _ => "",
        };
        let uri = endpoint["uri"].as_str().unwrap_or_default();
        let opened = bridge::open(uri, "authorization", shown).await;
        let format = LineFormat {
            encoding: Encoding::Linear16,
            sample_rate: rate,
        };
        let mut socket = Self {
            service: opened.ok()?,
            format,
            up: Converter::to(format),
            down: Converter::from(format),
            played_at: Instant::now(),
            marks: BTreeSet::new(),
        };
        let mut connected = json!({ "event": "websocket:connected", "content-type": content_type });
        if let (Some(connected), Some(headers)) = (connected.as_object_mut(), endpoint["headers"].as_object()) {
            connected.extend(headers.clone());
        }
        socket.service.text(&connected).await;
        Some(socket)
    }

    fn frame(&mut self, bytes: &[u8]) -> Told {
        let wanted = self.format.bytes_for_ms(20);
        if bytes.len() != wanted {
            return Told::Nonsense(format!("frame of {} bytes instead of {wanted}", bytes.len()));
        }
        let now = Instant::now();
        self.played_at = self.played_at.max(now) + FRAME;
        if self.played_at - now > MOST_AHEAD {
            return Told::Nonsense("more than 20 s of audio ahead".to_owned());
        }
        Told::Audio(to_phone(self.down.decode(bytes)))
    }

    async fn command(&mut self, text: &str) -> Told {
        let said: Value = serde_json::from_str(text).unwrap_or_default();
        if let Err(misfit) = schema::message("vonage", "socket", &said) {
            return Told::Nonsense(misfit.to_string());
        }
        match said["action"].as_str() {
            Some("clear") => {
                self.marks.clear();
                self.played_at = Instant::now();
                self.service.text(&json!({ "event": "websocket:cleared" })).await;
                Told::Clear
            }
            Some("notify") if said["payload"].is_object() => {
                let mark = said["payload"].to_string();
                self.marks.insert(mark.clone());
                Told::Mark(mark)
            }
            _ => Told::Nonsense(format!("unknown message: {text}")),
        }
    }

    pub(super) async fn close(self) {
        self.service.close().await;
    }
}

impl MediaSocket for Socket {
    async fn audio(&mut self, mulaw: &[u8]) {
        let bytes = self.up.encode(from_phone(mulaw));
        self.service.send(Message::Binary(bytes.into())).await;
    }

    async fn key(&mut self, key: &str) {
        let pressed = json!({ "event": "websocket:dtmf", "digit": key, "duration": 260 });
        self.service.text(&pressed).await;
    }

    /// Marks that a clear removed are not returned.
    async fn played(&mut self, mark: &str) {
        if self.marks.remove(mark) {
            let payload: Value = serde_json::from_str(mark).unwrap_or_default();
            let played = json!({ "event": "websocket:notify", "payload": payload });
            self.service.text(&played).await;
        }
    }

    async fn told(&mut self) -> Told {
        match self.service.next().await {
            Some(Message::Binary(bytes)) => self.frame(&bytes),
            Some(Message::Text(text)) => self.command(&text).await,
            _ => Told::Gone,
        }
    }
}
