//! What Twilio's and Telnyx's media streams have in common: JSON text messages with an event and an object named after
//! it, audio as base64. Pure.

use std::borrow::Cow;

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use domain::ports::media_leg::InboundItem;
use serde::{Deserialize, Serialize};

use super::{Event, Media, WireError, named, number::Count};

/// A frame of audio; its payload is borrowed from the text, so the frequent case allocates nothing but the audio.
#[derive(Deserialize)]
pub struct MediaBody<'a> {
    #[serde(borrow, default)]
    track: Cow<'a, str>,
    #[serde(default)]
    chunk: Count,
    #[serde(default)]
    timestamp: Count,
    #[serde(borrow)]
    payload: Cow<'a, str>,
}

impl MediaBody<'_> {
    /// What it says, with the audio as `read` makes it of the bytes; nothing when it is not the caller's.
    ///
    /// # Errors
    ///
    /// When its payload is not base64.
    pub fn event(&self, read: impl FnOnce(Vec<u8>) -> Vec<u8>) -> Result<Event, WireError> {
        if !matches!(&*self.track, "" | "inbound") {
            return Ok(Event::Ignored);
        }
        let audio = read(BASE64.decode(self.payload.as_bytes())?);
        if audio.is_empty() {
            return Ok(Event::Ignored);
        }
        Ok(Event::Media(Media {
            chunk: self.chunk.0,
            timestamp_ms: self.timestamp.0,
            audio,
        }))
    }
}

/// A mark that comes back.
#[derive(Deserialize)]
pub struct MarkBody<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
}

impl MarkBody<'_> {
    /// What it says.
    ///
    /// # Errors
    ///
    /// When its name cannot be kept.
    pub fn event(self) -> Result<Event, WireError> {
        named("mark.name", &self.name)?;
        Ok(Event::Item(InboundItem::Mark(self.name.into_owned())))
    }
}

/// A key that was pressed.
#[derive(Deserialize)]
pub struct DigitBody<'a> {
    /// Which.
    #[serde(borrow)]
    pub digit: Cow<'a, str>,
}

#[derive(Serialize, Default)]
struct Outgoing<'a> {
    event: &'static str,
    #[serde(rename = "streamSid", skip_serializing_if = "str::is_empty")]
    stream: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    media: Option<OutgoingMedia>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mark: Option<OutgoingMark<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dtmf: Option<OutgoingDigit>,
}

#[derive(Serialize)]
struct OutgoingMedia {
    payload: String,
}

#[derive(Serialize)]
struct OutgoingMark<'a> {
    name: &'a str,
}

#[derive(Serialize)]
struct OutgoingDigit {
    digit: char,
}

impl Outgoing<'_> {
    fn text(&self) -> String {
        // Strings and options only: such a value always has a JSON form.
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// Audio to play after what was sent before. `stream` is the stream's name, and empty where messages bear none.
pub fn media(stream: &str, audio: &[u8]) -> String {
    let payload = BASE64.encode(audio);
    let message = Outgoing {
        event: "media",
        stream,
        media: Some(OutgoingMedia { payload }),
        ..Outgoing::default()
    };
    message.text()
}

/// Asks for `name` to come back once everything sent before it has been played.
pub fn mark(stream: &str, name: &str) -> String {
    let message = Outgoing {
        event: "mark",
        stream,
        mark: Some(OutgoingMark { name }),
        ..Outgoing::default()
    };
    message.text()
}

/// Drops what is not yet played; marks not yet returned come back at once.
pub fn clear(stream: &str) -> String {
    let message = Outgoing {
        event: "clear",
        stream,
        ..Outgoing::default()
    };
    message.text()
}

/// Presses a key.
pub fn digit(stream: &str, digit: char) -> String {
    let message = Outgoing {
        event: "dtmf",
        stream,
        dtmf: Some(OutgoingDigit { digit }),
        ..Outgoing::default()
    };
    message.text()
}
