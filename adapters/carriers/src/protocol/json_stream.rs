//! The common part of Twilio's and Telnyx's media streams: JSON text messages with an `event` field and an
//! object of the same name, and audio as base64. Pure.

use std::borrow::Cow;

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use serde::{Deserialize, Serialize};

use super::{
    event::{Event, Media},
    message::{MessageError, ignored_or, key, mark as returned_mark},
    number::{Count, Written},
};

/// Every message, parsed in one pass. `S` is the object of `start`.
#[derive(Deserialize)]
struct Message<'a, S> {
    #[serde(borrow)]
    event: Cow<'a, str>,
    /// Name of the stream, if it stands outside `start`.
    #[serde(borrow, default)]
    stream_id: Cow<'a, str>,
    #[serde(borrow)]
    media: Option<MediaBody<'a>>,
    #[serde(borrow)]
    mark: Option<MarkBody<'a>>,
    #[serde(borrow)]
    dtmf: Option<DigitBody<'a>>,
    start: Option<S>,
    payload: Option<ErrorBody>,
}

#[derive(Deserialize)]
struct MarkBody<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
}

#[derive(Deserialize)]
struct DigitBody<'a> {
    #[serde(borrow)]
    digit: Cow<'a, str>,
}

#[derive(Deserialize, Default)]
struct ErrorBody {
    code: Option<Written>,
}

/// The format in a `start` message.
#[derive(Deserialize)]
pub(crate) struct FormatBody {
    pub(crate) encoding: String,
    #[serde(alias = "sampleRate")]
    sample_rate: Written,
    channels: Option<Written>,
}

impl FormatBody {
    pub(crate) fn rate(&self) -> String {
        self.sample_rate.to_string()
    }

    fn channels(&self) -> String {
        self.channels
            .as_ref()
            .map_or_else(|| "1".to_owned(), ToString::to_string)
    }

    pub(crate) fn is_mono(&self) -> bool {
        self.channels() == "1"
    }

    /// Returns the error if only `taken` is accepted.
    pub(crate) fn refused(self, taken: &'static str) -> MessageError {
        MessageError::Format {
            rate: self.rate(),
            channels: self.channels(),
            encoding: self.encoding,
            taken,
        }
    }
}

/// What a message says.
pub(crate) enum Said<S> {
    Event(Event),
    /// The stream starts. The name of the stream may be in the object instead.
    Start(S, String),
    /// The carrier rejected a message of ours, for the reason with this code.
    Error(String),
}

/// Reads a message, with its audio converted by `read`. The message of an event in `known` must be well-formed.
pub(crate) fn parse<'a, S: Deserialize<'a>>(
    text: &'a str,
    known: &[&str],
    read: impl FnOnce(Vec<u8>) -> Vec<u8>,
) -> Result<Said<S>, MessageError> {
    let message: Message<'a, S> = match serde_json::from_str(text) {
        Ok(message) => message,
        Err(error) => return ignored_or(text, &error, known).map(Said::Event),
    };
    let missing = MessageError::Incomplete;
    Ok(Said::Event(match &*message.event {
        "media" => message.media.ok_or(missing("media"))?.event(read)?,
        "mark" => returned_mark("mark.name", message.mark.ok_or(missing("mark"))?.name)?,
        "dtmf" => key(&message.dtmf.ok_or(missing("dtmf"))?.digit),
        "start" => {
            let start = message.start.ok_or(missing("start"))?;
            return Ok(Said::Start(start, message.stream_id.into_owned()));
        }
        "stop" => Event::Stop,
        "error" => {
            let code = message.payload.unwrap_or_default().code;
            return Ok(Said::Error(code.as_ref().map(ToString::to_string).unwrap_or_default()));
        }
        _ => Event::Ignored,
    }))
}

/// A frame of audio. Its payload borrows from the text, so in the usual case only the audio is allocated.
#[derive(Deserialize)]
struct MediaBody<'a> {
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
    fn event(&self, read: impl FnOnce(Vec<u8>) -> Vec<u8>) -> Result<Event, MessageError> {
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

#[derive(Serialize)]
struct Outgoing<'a> {
    event: &'static str,
    #[serde(rename = "streamSid", skip_serializing_if = "str::is_empty")]
    stream: &'a str,
    #[serde(flatten)]
    body: Option<Body<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Body<'a> {
    Media { payload: String },
    Mark { name: &'a str },
    Dtmf { digit: char },
}

/// Writes a message. `stream` is empty if messages carry no stream name.
fn message(event: &'static str, stream: &str, body: Option<Body<'_>>) -> String {
    // Contains only strings and options, so serialisation cannot fail.
    serde_json::to_string(&Outgoing { event, stream, body }).unwrap_or_default()
}

/// Returns a message with audio to play after what was sent before.
pub fn media(stream: &str, audio: &[u8]) -> String {
    let payload = BASE64.encode(audio);
    message("media", stream, Some(Body::Media { payload }))
}

/// Returns a message that asks for `name` to come back once everything sent before it has been played.
pub fn mark(stream: &str, name: &str) -> String {
    message("mark", stream, Some(Body::Mark { name }))
}

/// Returns a message that drops audio not yet played. Outstanding marks come back at once.
pub fn clear(stream: &str) -> String {
    message("clear", stream, None)
}

/// Returns a message that presses a key.
pub fn digit(stream: &str, digit: char) -> String {
    message("dtmf", stream, Some(Body::Dtmf { digit }))
}
