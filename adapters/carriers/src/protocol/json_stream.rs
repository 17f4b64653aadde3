//! The common part of Twilio's and Telnyx's media streams: JSON text messages with an `event` field and an
//! object of the same name, and audio as base64. Pure.

use std::borrow::Cow;

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use domain::ports::media_leg::InboundItem;
use serde::{Deserialize, Serialize};

use super::{Event, Media, MessageError, named, number::Count};

/// A frame of audio. Its payload borrows from the text, so in the usual case only the audio is allocated.
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
    /// Returns the event, with the audio converted by `read`. Audio of another track than the caller's is ignored.
    ///
    /// # Errors
    ///
    /// Returns an error if the payload is not base64.
    pub fn event(&self, read: impl FnOnce(Vec<u8>) -> Vec<u8>) -> Result<Event, MessageError> {
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

/// A returned mark.
#[derive(Deserialize)]
pub struct MarkBody<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
}

impl MarkBody<'_> {
    /// Returns the event.
    ///
    /// # Errors
    ///
    /// Returns an error if the name is empty or too long.
    pub fn event(self) -> Result<Event, MessageError> {
        named("mark.name", &self.name)?;
        Ok(Event::Item(InboundItem::Mark(self.name.into_owned())))
    }
}

/// A pressed key.
#[derive(Deserialize)]
pub struct DigitBody<'a> {
    /// Key, as sent.
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
        // Contains only strings and options, so serialisation cannot fail.
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// Returns a message with audio to play after what was sent before. `stream` is empty if messages carry no stream name.
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

/// Returns a message that asks for `name` to come back once everything sent before it has been played.
pub fn mark(stream: &str, name: &str) -> String {
    let message = Outgoing {
        event: "mark",
        stream,
        mark: Some(OutgoingMark { name }),
        ..Outgoing::default()
    };
    message.text()
}

/// Returns a message that drops audio not yet played. Outstanding marks come back at once.
pub fn clear(stream: &str) -> String {
    let message = Outgoing {
        event: "clear",
        stream,
        ..Outgoing::default()
    };
    message.text()
}

/// Returns a message that presses a key.
pub fn digit(stream: &str, digit: char) -> String {
    let message = Outgoing {
        event: "dtmf",
        stream,
        dtmf: Some(OutgoingDigit { digit }),
        ..Outgoing::default()
    };
    message.text()
}
