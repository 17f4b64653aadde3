//! A media socket to the service: binary frames and JSON messages, as Vonage sends and takes them.

use std::{collections::BTreeSet, time::Duration};

use futures_util::{SinkExt, StreamExt};
use media::{codec, format::Encoding, resample::Resampler};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};
use tokio_tungstenite::tungstenite::Message;

use crate::stub_carriers::bridge::{self, ToService};

/// Audio that may be sent ahead: the 1024 messages of the older documents.
const MOST_AHEAD: Duration = Duration::from_secs(20);
const FRAME: Duration = Duration::from_millis(20);
const CLOSE_WITHIN: Duration = Duration::from_secs(2);

/// What the service sends.
pub(super) enum Told {
    /// To be played, in mu-law.
    Audio(Vec<u8>),
    /// To be returned when what came before has been played.
    Mark(String),
    /// Drop what is not played yet.
    Clear,
    /// What Vonage would not understand, or play as noise.
    Nonsense(String),
    /// The connection is gone.
    Gone,
}

/// An open socket.
pub(super) struct Socket {
    service: ToService,
    rate: u32,
    up: Option<Resampler>,
    down: Option<Resampler>,
    /// When all that was sent has been played.
    played_at: Instant,
    /// Marks that are not returned yet, by their payloads. A clear forgets them.
    marks: BTreeSet<String>,
}

/// The rate of a content type that Vonage offers.
pub(super) fn rate(content_type: &str) -> Option<u32> {
    match content_type {
        "audio/l16;rate=8000" => Some(8_000),
        "audio/l16;rate=16000" => Some(16_000),
        "audio/l16;rate=24000" => Some(24_000),
        _ => None,
    }
}

fn convert(resampler: &mut Option<Resampler>, samples: Vec<i16>) -> Vec<i16> {
    let Some(resampler) = resampler else { return samples };
    let mut converted = Vec::with_capacity(2 * samples.len());
    resampler.process(&samples, &mut converted);
    converted
}

impl Socket {
    /// Opens the socket of an endpoint, and says what it is.
    pub(super) async fn open(endpoint: &Value) -> Result<Self, String> {
        let content_type = endpoint["content-type"].as_str().unwrap_or_default();
        let rate = rate(content_type).ok_or("content-type is not offered")?;
        let shown = match endpoint["authorization"]["type"].as_str() {
            Some("custom") => endpoint["authorization"]["value"].as_str().unwrap_or_default(),
            _ => "",
        };
        let uri = endpoint["uri"].as_str().unwrap_or_default();
        let opened = bridge::open(uri, ("authorization", shown)).await;
        let between = |from, to| (from != to).then(|| Resampler::new(from, to).ok()).flatten();
        let mut socket = Self {
            service: opened.map_err(|error| error.to_string())?,
            rate,
            up: between(8_000, rate),
            down: between(rate, 8_000),
            played_at: Instant::now(),
            marks: BTreeSet::new(),
        };
        let mut connected = json!({ "event": "websocket:connected", "content-type": content_type });
        if let (Some(connected), Some(headers)) = (connected.as_object_mut(), endpoint["headers"].as_object()) {
            connected.extend(headers.clone());
        }
        socket.text(&connected).await;
        Ok(socket)
    }

    async fn text(&mut self, message: &Value) {
        // A socket that is gone is noticed when it is listened to.
        let _ = self.service.send(Message::Text(message.to_string().into())).await;
    }

    /// Passes on what the telephone says, in mu-law.
    pub(super) async fn audio(&mut self, mulaw: &[u8]) {
        let (mut samples, mut bytes) = (Vec::new(), Vec::new());
        codec::decode(Encoding::MuLaw, mulaw, &mut samples);
        for sample in convert(&mut self.up, samples) {
            bytes.extend(sample.to_le_bytes());
        }
        let _ = self.service.send(Message::Binary(bytes.into())).await;
    }

    pub(super) async fn key(&mut self, key: &str) {
        self.text(&json!({ "event": "websocket:dtmf", "digit": key, "duration": 260 }))
            .await;
    }

    /// Everything before this mark has been played. Those that a clear forgot are not returned.
    pub(super) async fn played(&mut self, mark: &str) {
        if self.marks.remove(mark) {
            let payload: Value = serde_json::from_str(mark).unwrap_or_default();
            self.text(&json!({ "event": "websocket:notify", "payload": payload }))
                .await;
        }
    }

    /// What the service sends next.
    pub(super) async fn told(&mut self) -> Told {
        loop {
            match self.service.next().await {
                Some(Ok(Message::Binary(bytes))) => return self.frame(&bytes),
                Some(Ok(Message::Text(text))) => return self.command(&text).await,
                Some(Ok(Message::Close(_)) | Err(_)) | None => return Told::Gone,
                Some(Ok(_)) => {}
            }
        }
    }

    fn frame(&mut self, bytes: &[u8]) -> Told {
        let wanted = self.rate as usize / 50 * 2;
        if bytes.len() != wanted {
            return Told::Nonsense(format!("frame of {} bytes, and not of {wanted}", bytes.len()));
        }
        let now = Instant::now();
        self.played_at = self.played_at.max(now) + FRAME;
        if self.played_at - now > MOST_AHEAD {
            return Told::Nonsense("more than 20 s of audio ahead".to_owned());
        }
        let samples = bytes.chunks_exact(2).map(|pair| i16::from_le_bytes([pair[0], pair[1]]));
        let samples = convert(&mut self.down, samples.collect());
        let mut mulaw = Vec::new();
        codec::encode(Encoding::MuLaw, &samples, &mut mulaw);
        Told::Audio(mulaw)
    }

    async fn command(&mut self, text: &str) -> Told {
        let said: Value = serde_json::from_str(text).unwrap_or_default();
        match said["action"].as_str() {
            Some("clear") => {
                self.marks.clear();
                self.played_at = Instant::now();
                self.text(&json!({ "event": "websocket:cleared" })).await;
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

    /// Closes it in a whole handshake.
    pub(super) async fn close(mut self) {
        let _ = timeout(CLOSE_WITHIN, async {
            let _ = self.service.close(None).await;
            while let Some(Ok(_)) = self.service.next().await {}
        })
        .await;
    }
}
