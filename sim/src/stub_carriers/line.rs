//! The line of a telephone of the exchange, which streams in Twilio's format.

use axum::extract::ws::{Message, WebSocket};
use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use media::{codec, format::Encoding, tone::generate};
use serde_json::{Value, json};

/// Length of a key's tone for the far end, and of the pause after it.
const KEY_MS: u32 = 100;
/// Samples of a frame.
const FRAME: usize = 160;

/// Messages from a telephone.
pub enum FromPhone {
    /// Audio in mu-law.
    Audio(Vec<u8>),
    /// A key.
    Key(String),
    /// The audio before this mark has been played.
    Mark(String),
}

/// An open line.
pub struct Line {
    socket: WebSocket,
    stream: String,
}

impl Line {
    pub fn new(socket: WebSocket) -> Self {
        Self {
            socket,
            stream: String::new(),
        }
    }

    /// Returns the next message of the telephone, or `None` if it was hung up.
    pub async fn hear(&mut self) -> Option<FromPhone> {
        loop {
            let text = match self.socket.recv().await {
                Some(Ok(Message::Text(text))) => text,
                None | Some(Ok(Message::Close(_)) | Err(_)) => return None,
                Some(Ok(_)) => continue,
            };
            let said: Value = serde_json::from_str(&text).unwrap_or_default();
            match said["event"].as_str() {
                Some("start") => self.stream = said["streamSid"].as_str().unwrap_or_default().to_owned(),
                Some("media") => {
                    let payload = said["media"]["payload"].as_str().unwrap_or_default();
                    return Some(FromPhone::Audio(BASE64.decode(payload).unwrap_or_default()));
                }
                Some("mark") => return Some(FromPhone::Mark(said["mark"]["name"].as_str()?.to_owned())),
                Some("dtmf") => return Some(FromPhone::Key(said["dtmf"]["digit"].as_str()?.to_owned())),
                _ => {}
            }
        }
    }

    /// Waits until the telephone has named its stream, which its first message does. A message that names
    /// another stream would make it hang up.
    async fn begun(&mut self) {
        while self.stream.is_empty() {
            let Some(Ok(message)) = self.socket.recv().await else {
                return;
            };
            let Message::Text(text) = message else { continue };
            let said: Value = serde_json::from_str(&text).unwrap_or_default();
            self.stream = said["start"]["streamSid"].as_str().unwrap_or_default().to_owned();
        }
    }

    async fn send(&mut self, message: &Value) {
        // A telephone that is gone is noticed on the next read.
        let _ = self.socket.send(Message::Text(message.to_string().into())).await;
    }

    /// Plays mu-law.
    pub async fn say(&mut self, mulaw: &[u8]) {
        self.begun().await;
        let media = json!({ "payload": BASE64.encode(mulaw) });
        self.send(&json!({ "event": "media", "streamSid": self.stream, "media": media }))
            .await;
    }

    /// Plays keys.
    pub async fn press(&mut self, keys: &str) {
        for key in keys.chars() {
            let mut samples = generate::dtmf(key, KEY_MS);
            samples.resize(2 * samples.len(), 0);
            let mut mulaw = Vec::new();
            codec::encode(Encoding::MuLaw, &samples, &mut mulaw);
            for frame in mulaw.chunks(FRAME) {
                self.say(frame).await;
            }
        }
    }

    pub async fn mark(&mut self, name: &str) {
        self.begun().await;
        self.send(&json!({ "event": "mark", "streamSid": self.stream, "mark": { "name": name } }))
            .await;
    }

    pub async fn clear(&mut self) {
        self.begun().await;
        self.send(&json!({ "event": "clear", "streamSid": self.stream })).await;
    }

    /// Closes the line with a complete closing handshake.
    pub async fn close(mut self) {
        let _ = self.socket.send(Message::Close(None)).await;
        while let Some(Ok(_)) = self.socket.recv().await {}
    }
}
