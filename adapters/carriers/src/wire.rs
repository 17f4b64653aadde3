//! What the media sockets of all carriers have in common, whatever their messages look like. Pure.

pub mod json_stream;
pub mod number;

use std::borrow::Cow;

use domain::ports::media_leg::{InboundItem, LegAbilities, OutboundItem};
use media::format::LineFormat;
use serde::Deserialize;

/// Longest name of a stream, a call or a mark.
pub const MAX_NAME_BYTES: usize = 128;

/// A carrier's messages: read by this, written by the writer it makes once the stream has begun.
pub trait MediaWire: Send + Sync {
    /// Reads a text message.
    ///
    /// # Errors
    ///
    /// When it is not in the carrier's format. An unknown kind of message is [`Event::Ignored`].
    fn read_text(&mut self, text: &str) -> Result<Event, WireError>;

    /// Reads a binary message.
    ///
    /// # Errors
    ///
    /// When it is not in the carrier's format, which for many has none.
    fn read_binary(&mut self, _message: &[u8]) -> Result<Event, WireError> {
        Err(WireError::Binary)
    }

    /// Whether the far end ends the call by closing the socket, rather than losing it.
    fn closing_ends_the_call(&self) -> bool {
        false
    }

    /// Whether the far end may open the socket while the call still rings, and begin when it is answered.
    fn opens_early(&self) -> bool {
        false
    }

    /// What the far end of the stream can do; asked once it has begun.
    fn abilities(&self) -> LegAbilities;

    /// Who writes to the stream that has begun so.
    fn writer(&mut self, start: &Start) -> Box<dyn MediaWriter>;
}

/// Writes a carrier's messages, in order.
pub trait MediaWriter: Send {
    /// Adds what is said before anything else, once the call has taken the socket.
    fn begin(&mut self, _messages: &mut Vec<WireMessage>) {}

    /// Adds the messages of an item. [`OutboundItem::Close`] has none.
    fn write(&mut self, item: &OutboundItem, messages: &mut Vec<WireMessage>);
}

/// A message to a carrier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WireMessage {
    /// Text.
    Text(String),
    /// Bytes.
    Binary(Vec<u8>),
}

/// A message from a carrier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// Says which call this is.
    Start(Start),
    /// Audio of the caller.
    Media(Media),
    /// A mark that came back, or a key.
    Item(InboundItem),
    /// The carrier ends the stream.
    Stop,
    /// A message that tells nothing, or is not for us.
    Ignored,
}

/// The beginning of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Start {
    /// Names the stream in what is sent back; empty where nothing does.
    pub stream: String,
    /// The carrier's name for the call leg, where it tells it.
    pub call: Option<String>,
    /// Encoding and rate, both ways.
    pub format: LineFormat,
}

/// A frame of audio.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Media {
    /// Its number, from 1 on; none where the carrier counts in no way we know.
    pub chunk: Option<u64>,
    /// Its time since the start of the stream, in milliseconds.
    pub timestamp_ms: Option<u64>,
    /// In the line's encoding.
    pub audio: Vec<u8>,
}

/// A message that is not in the carrier's format.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// Not the JSON object that the event wants.
    #[error("malformed message: {0}")]
    Malformed(String),
    /// A known event without the object named after it.
    #[error("`{0}` message without its `{0}` object")]
    Incomplete(&'static str),
    /// Audio that is not base64.
    #[error("payload is not base64: {0}")]
    Payload(#[from] base64::DecodeError),
    /// Another line format than those of this carrier.
    #[error("stream is {encoding} at {rate} Hz with {channels} channels; only {taken} is taken")]
    Format {
        /// The encoding it named.
        encoding: String,
        /// The rate it named.
        rate: String,
        /// The channels it named.
        channels: String,
        /// What would have been taken.
        taken: &'static str,
    },
    /// A name that no format has.
    #[error("`{name}` is no audio format; {taken} is taken")]
    NoFormat {
        /// As it was given.
        name: String,
        /// What would have been taken.
        taken: &'static str,
    },
    /// A key that no telephone has.
    #[error("`{0}` is not a key: 0 to 9, *, # and A to D are")]
    Digit(String),
    /// A name that is empty or too long.
    #[error("`{field}` has {length} bytes; 1 to {MAX_NAME_BYTES} are taken")]
    Name {
        /// Which name.
        field: &'static str,
        /// Its length.
        length: usize,
    },
    /// Bytes on a stream of text.
    #[error("binary message; this stream is text")]
    Binary,
}

/// A JSON message that does not fit a carrier's shapes is still only ignored when its event is none of the known ones.
///
/// # Errors
///
/// When its event is known, or it has none; with the words of `error`.
pub fn ignored_or(text: &str, error: &serde_json::Error, known: &[&str]) -> Result<Event, WireError> {
    #[derive(Deserialize)]
    struct EventOnly<'a> {
        #[serde(borrow)]
        event: Cow<'a, str>,
    }
    match serde_json::from_str::<EventOnly<'_>>(text) {
        Ok(only) if !known.contains(&&*only.event) => Ok(Event::Ignored),
        _ => Err(WireError::Malformed(error.to_string())),
    }
}

/// A key that was pressed.
///
/// # Errors
///
/// When no telephone has it.
pub fn known_key(text: &str) -> Result<Event, WireError> {
    match pressed(text) {
        Some(key) => Ok(Event::Item(InboundItem::Digit(key))),
        None => Err(WireError::Digit(text.chars().take(8).collect())),
    }
}

/// A key as a carrier tells it. What is none, such as a hook flash, is no reason to end a call, and passed over.
pub fn key(text: &str) -> Event {
    pressed(text).map_or(Event::Ignored, |key| Event::Item(InboundItem::Digit(key)))
}

fn pressed(text: &str) -> Option<char> {
    let mut characters = text.chars();
    let key = characters.next().filter(|_| characters.next().is_none())?;
    let key = key.to_ascii_uppercase();
    matches!(key, '0'..='9' | '*' | '#' | 'A'..='D').then_some(key)
}

/// Takes a name that can be kept and sent back.
///
/// # Errors
///
/// When it is empty or too long.
pub fn named(field: &'static str, name: &str) -> Result<(), WireError> {
    match name.len() {
        1..=MAX_NAME_BYTES => Ok(()),
        length => Err(WireError::Name { field, length }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_carrier_s_key_is_taken_or_passed_over_and_a_client_s_is_taken_or_wrong() {
        let taken = |key| Event::Item(InboundItem::Digit(key));
        for (text, expected) in [("5", taken('5')), ("#", taken('#')), ("d", taken('D'))] {
            assert_eq!((key(text), known_key(text)), (expected.clone(), Ok(expected)), "{text}");
        }
        for text in ["", "12", "E", "\u{e9}", "\0", "flash"] {
            assert_eq!(key(text), Event::Ignored, "{text}");
            assert!(matches!(known_key(text), Err(WireError::Digit(_))), "{text}");
        }
    }
}
