//! Types and helpers that all carriers' media protocols share. Pure.

pub mod json_stream;
pub mod number;

use std::borrow::Cow;

use domain::ports::media_leg::{InboundItem, LegAbilities, OutboundItem};
use media::format::LineFormat;
use serde::Deserialize;

/// Longest name of a stream, call or mark.
pub const MAX_NAME_BYTES: usize = 128;

/// A carrier's media protocol. It reads messages, and creates the writer once the stream has started.
pub trait MediaProtocol: Send + Sync {
    /// Reads a text message.
    ///
    /// # Errors
    ///
    /// Returns an error if the message is not in the carrier's format. An unknown kind of message is
    /// [`Event::Ignored`].
    fn read_text(&mut self, text: &str) -> Result<Event, MessageError>;

    /// Reads a binary message.
    ///
    /// # Errors
    ///
    /// Returns an error if the message is not in the carrier's format. Many carriers have no binary messages.
    fn read_binary(&mut self, _message: &[u8]) -> Result<Event, MessageError> {
        Err(MessageError::Binary)
    }

    /// Whether closing the socket means that the far end ended the call, rather than lost the connection.
    fn closing_ends_the_call(&self) -> bool {
        false
    }

    /// Whether the far end may open the socket while the call still rings and send `start` when it is answered.
    fn opens_early(&self) -> bool {
        false
    }

    /// Returns the abilities of the far end. Called once the stream has started.
    fn abilities(&self) -> LegAbilities;

    /// Creates the writer for a stream that started with `start`.
    fn writer(&mut self, start: &Start) -> Box<dyn MediaWriter>;
}

/// Writer of a carrier's messages, in order.
pub trait MediaWriter: Send {
    /// Adds the opening messages, once the call has taken the socket.
    fn begin(&mut self, _messages: &mut Vec<MediaMessage>) {}

    /// Adds the messages for an item. [`OutboundItem::Close`] produces none.
    fn write(&mut self, item: &OutboundItem, messages: &mut Vec<MediaMessage>);
}

/// A message to a carrier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MediaMessage {
    /// A text message.
    Text(String),
    /// A binary message.
    Binary(Vec<u8>),
}

/// A message from a carrier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// Start of the stream; says which call it belongs to.
    Start(Start),
    /// Audio of the caller.
    Media(Media),
    /// A returned mark, or a key.
    Item(InboundItem),
    /// The carrier ends the stream.
    Stop,
    /// A message without information, or not meant for us.
    Ignored,
}

/// Start of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Start {
    /// Name of the stream, repeated in outgoing messages; empty if they carry none.
    pub stream: String,
    /// Carrier's id of the leg, if given.
    pub call: Option<String>,
    /// Encoding and sample rate, both ways.
    pub format: LineFormat,
}

/// A frame of audio.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Media {
    /// Frame number, from 1; `None` if the carrier does not number frames in a known way.
    pub chunk: Option<u64>,
    /// Time since the start of the stream, in milliseconds.
    pub timestamp_ms: Option<u64>,
    /// Audio in the line's encoding.
    pub audio: Vec<u8>,
}

/// A message that is not in the carrier's format.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MessageError {
    /// Not the JSON object that the event requires.
    #[error("malformed message: {0}")]
    Malformed(String),
    /// A known event without the object named after it.
    #[error("`{0}` message without its `{0}` object")]
    Incomplete(&'static str),
    /// Audio that is not base64.
    #[error("payload is not base64: {0}")]
    Payload(#[from] base64::DecodeError),
    /// A line format that this carrier does not use.
    #[error("stream is {encoding} at {rate} Hz with {channels} channels; only {taken} is accepted")]
    Format {
        /// Encoding that the stream named.
        encoding: String,
        /// Sample rate that the stream named.
        rate: String,
        /// Channels that the stream named.
        channels: String,
        /// Accepted formats.
        taken: &'static str,
    },
    /// An unknown format name.
    #[error("`{name}` is not an audio format; only {taken} is accepted")]
    NoFormat {
        /// Name, as given.
        name: String,
        /// Accepted formats.
        taken: &'static str,
    },
    /// A key that no telephone has.
    #[error("`{0}` is not a telephone key; use 0 to 9, *, # or A to D")]
    Digit(String),
    /// A name that is empty or too long.
    #[error("`{field}` has {length} bytes; use 1 to {MAX_NAME_BYTES}")]
    Name {
        /// Name of the field.
        field: &'static str,
        /// Length in bytes.
        length: usize,
    },
    /// A binary message on a text stream.
    #[error("binary message; this stream is text")]
    Binary,
}

/// Returns [`Event::Ignored`] for a JSON message that could not be read if its event is not one of `known`.
///
/// # Errors
///
/// Returns `error` as [`MessageError::Malformed`] if the event is known or missing.
pub fn ignored_or(text: &str, error: &serde_json::Error, known: &[&str]) -> Result<Event, MessageError> {
    #[derive(Deserialize)]
    struct EventOnly<'a> {
        #[serde(borrow)]
        event: Cow<'a, str>,
    }
    match serde_json::from_str::<EventOnly<'_>>(text) {
        Ok(only) if !known.contains(&&*only.event) => Ok(Event::Ignored),
        _ => Err(MessageError::Malformed(error.to_string())),
    }
}

/// Parses a pressed key.
///
/// # Errors
///
/// Returns an error if no telephone has such a key.
pub fn known_key(text: &str) -> Result<Event, MessageError> {
    match pressed(text) {
        Some(key) => Ok(Event::Item(InboundItem::Digit(key))),
        None => Err(MessageError::Digit(text.chars().take(8).collect())),
    }
}

/// Parses a key that a carrier reports. Anything else, such as a hook flash, is ignored and does not end the call.
pub fn key(text: &str) -> Event {
    pressed(text).map_or(Event::Ignored, |key| Event::Item(InboundItem::Digit(key)))
}

fn pressed(text: &str) -> Option<char> {
    let mut characters = text.chars();
    let key = characters.next().filter(|_| characters.next().is_none())?;
    let key = key.to_ascii_uppercase();
    matches!(key, '0'..='9' | '*' | '#' | 'A'..='D').then_some(key)
}

/// Checks that a name can be stored and sent back.
///
/// # Errors
///
/// Returns an error if the name is empty or too long.
pub fn named(field: &'static str, name: &str) -> Result<(), MessageError> {
    match name.len() {
        1..=MAX_NAME_BYTES => Ok(()),
        length => Err(MessageError::Name { field, length }),
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
            assert!(matches!(known_key(text), Err(MessageError::Digit(_))), "{text}");
        }
    }
}
