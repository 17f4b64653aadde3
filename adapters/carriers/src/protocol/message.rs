//! Reads single messages, and the errors of those that are not in the carrier's format.

use std::borrow::Cow;

use domain::ports::media_leg::InboundItem;
use serde::Deserialize;

use super::event::{Event, Media};

/// Longest name of a stream, call or mark.
pub const MAX_NAME_BYTES: usize = 128;

/// A message that is not in the carrier's format.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum MessageError {
    #[error("malformed message: {0}")]
    Malformed(String),
    #[error("`{0}` message without its `{0}` object")]
    Incomplete(&'static str),
    #[error("payload is not base64: {0}")]
    Payload(#[from] base64::DecodeError),
    #[error("stream is {encoding} at {rate} Hz with {channels} channels; only {taken} is accepted")]
    Format {
        encoding: String,
        rate: String,
        channels: String,
        taken: &'static str,
    },
    #[error("`{name}` is not an audio format; only {taken} is accepted")]
    NoFormat { name: String, taken: &'static str },
    #[error("`{0}` is not a telephone key; use 0 to 9, *, # or A to D")]
    Digit(String),
    #[error("`{field}` has {length} bytes; use 1 to {MAX_NAME_BYTES}")]
    Name { field: &'static str, length: usize },
    #[error("binary message; this stream is text")]
    Binary,
}

/// Returns [`Event::Ignored`] for a JSON message that could not be read, or `error` if its event is one of `known` or
/// missing.
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

/// Parses a pressed key, which a telephone must have.
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

/// Reads a returned mark from `field`.
pub fn mark(field: &'static str, name: Cow<'_, str>) -> Result<Event, MessageError> {
    named(field, &name)?;
    Ok(Event::Item(InboundItem::Mark(name.into_owned())))
}

/// Reads a binary message of audio that is not numbered. It must hold whole samples.
pub fn audio(message: &[u8], sample_bytes: usize) -> Result<Event, MessageError> {
    match message.len() {
        0 => Ok(Event::Ignored),
        length if !length.is_multiple_of(sample_bytes) => {
            Err(MessageError::Malformed(format!("{length} bytes are not whole samples")))
        }
        _ => Ok(Event::Media(Media {
            chunk: None,
            timestamp_ms: None,
            audio: message.to_vec(),
        })),
    }
}

/// Checks that a name can be stored and sent back: it is neither empty nor too long.
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
