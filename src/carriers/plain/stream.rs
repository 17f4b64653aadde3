//! The plain door's media sockets: binary messages of audio, and small JSON messages with an `event` both ways. Pure.
//!
//! The client begins with `start`; what it says there decides the format, and whether we may send ahead of time.

use std::borrow::Cow;

use actors::ports::media_leg::{InboundItem, LegAbilities, OutboundItem};
use media::format::{Encoding, LineFormat};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::carriers::wire::{
    Event, Media, MediaWire, MediaWriter, Start, WireError, WireMessage, ignored_or, known_key, named,
};

/// What is taken as a format, for an error's words.
const TAKEN: &str = "pcm_16000, pcm_8000 or ulaw_8000";

/// The format of a client that names none.
const DEFAULT_FORMAT: &str = "pcm_16000";

/// The events whose messages must be in the format.
const KNOWN: [&str; 4] = ["start", "mark", "digit", "stop"];

/// Reads and writes this format.
#[derive(Debug, Default)]
pub struct PlainWire {
    format: &'static str,
    buffers: bool,
}

/// The name of a format, and what it stands for.
fn format(name: &str) -> Result<(&'static str, LineFormat), WireError> {
    let linear = |sample_rate| LineFormat {
        encoding: Encoding::Linear16,
        sample_rate,
    };
    match name {
        "pcm_16000" => Ok(("pcm_16000", linear(16_000))),
        "pcm_8000" => Ok(("pcm_8000", linear(8_000))),
        "ulaw_8000" => Ok(("ulaw_8000", LineFormat::MULAW_8000)),
        other => {
            let (encoding, rate) = other.split_once('_').unwrap_or((other, ""));
            Err(WireError::Format {
                encoding: encoding.chars().take(32).collect(),
                rate: rate.chars().take(8).collect(),
                channels: "1".to_owned(),
                taken: TAKEN,
            })
        }
    }
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    event: Cow<'a, str>,
    #[serde(borrow, default)]
    format: Option<Cow<'a, str>>,
    #[serde(default)]
    buffers: bool,
    #[serde(borrow, default)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    digit: Option<Cow<'a, str>>,
}

impl MediaWire for PlainWire {
    fn read_text(&mut self, text: &str) -> Result<Event, WireError> {
        let message: Message<'_> = match serde_json::from_str(text) {
            Ok(message) => message,
            Err(error) => return ignored_or(text, &error, &KNOWN),
        };
        match &*message.event {
            "start" => {
                let (name, format) = format(message.format.as_deref().unwrap_or(DEFAULT_FORMAT))?;
                (self.format, self.buffers) = (name, message.buffers);
                Ok(Event::Start(Start {
                    stream: String::new(),
                    call: None,
                    format,
                }))
            }
            "mark" => {
                let name = message.name.ok_or(WireError::Incomplete("name"))?;
                named("name", &name)?;
                Ok(Event::Item(InboundItem::Mark(name.into_owned())))
            }
            "digit" => known_key(&message.digit.ok_or(WireError::Incomplete("digit"))?),
            "stop" => Ok(Event::Stop),
            _ => Ok(Event::Ignored),
        }
    }

    fn read_binary(&mut self, message: &[u8]) -> Result<Event, WireError> {
        if message.is_empty() {
            return Ok(Event::Ignored);
        }
        if self.format.is_empty() {
            return Err(WireError::Malformed("audio before the `start` message".to_owned()));
        }
        if self.format.starts_with("pcm") && !message.len().is_multiple_of(2) {
            let length = message.len();
            return Err(WireError::Malformed(format!("{length} bytes are no whole samples")));
        }
        Ok(Event::Media(Media {
            chunk: None,
            timestamp_ms: None,
            audio: message.to_vec(),
        }))
    }

    fn closing_ends_the_call(&self) -> bool {
        true
    }

    /// A client that does not keep what comes ahead gets 20 ms at a time, and so has nothing to mark or to drop.
    fn abilities(&self) -> LegAbilities {
        LegAbilities {
            buffers: self.buffers,
            marks: self.buffers,
            clear: self.buffers,
            digits: true,
        }
    }

    fn writer(&self, _start: &Start) -> Box<dyn MediaWriter> {
        Box::new(PlainWriter { format: self.format })
    }
}

/// Writes to one socket.
struct PlainWriter {
    format: &'static str,
}

fn text(message: &Value) -> WireMessage {
    WireMessage::Text(message.to_string())
}

impl MediaWriter for PlainWriter {
    fn begin(&mut self, messages: &mut Vec<WireMessage>) {
        messages.push(text(&json!({ "event": "ready", "format": self.format })));
    }

    fn write(&mut self, item: &OutboundItem, messages: &mut Vec<WireMessage>) {
        messages.push(match item {
            OutboundItem::Audio(audio) => WireMessage::Binary(audio.clone()),
            OutboundItem::Mark(name) => text(&json!({ "event": "mark", "name": name })),
            OutboundItem::Clear => text(&json!({ "event": "clear" })),
            OutboundItem::Digit(digit) => text(&json!({ "event": "digit", "digit": digit.to_string() })),
            OutboundItem::Close => return,
        });
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const START: &str = r#"{"event":"start","format":"pcm_8000","buffers":true,"extra":[1]}"#;

    fn read(text: &str) -> Result<Event, WireError> {
        PlainWire::default().read_text(text)
    }

    #[test]
    fn a_socket_begins_with_the_format_it_asks_for() {
        for (text, encoding, sample_rate, buffers) in [
            (r#"{"event":"start"}"#, Encoding::Linear16, 16_000, false),
            (START, Encoding::Linear16, 8_000, true),
            (
                r#"{"event":"start","format":"ulaw_8000"}"#,
                Encoding::MuLaw,
                8_000,
                false,
            ),
        ] {
            let mut wire = PlainWire::default();
            let Ok(Event::Start(start)) = wire.read_text(text) else {
                panic!("{text}")
            };
            assert_eq!(start.format, LineFormat { encoding, sample_rate });
            let abilities = wire.abilities();
            assert_eq!([abilities.buffers, abilities.marks, abilities.clear], [buffers; 3]);
            let mut messages = Vec::new();
            wire.writer(&start).begin(&mut messages);
            let name = ["ulaw_8000", "pcm_8000", "pcm_16000"]
                .into_iter()
                .find(|name| format(name).is_ok_and(|(_, format)| format == start.format));
            assert_eq!(messages, [super::text(&json!({ "event": "ready", "format": name }))]);
        }
        let refused = read(r#"{"event":"start","format":"pcm_44100"}"#)
            .unwrap_err()
            .to_string();
        assert!(
            refused.contains("pcm at 44100 Hz") && refused.contains(TAKEN),
            "{refused}"
        );
    }

    #[test]
    fn controls_are_read_and_what_is_damaged_is_refused() {
        let mark = r#"{"event":"mark","name":"u7"}"#;
        assert_eq!(read(mark), Ok(Event::Item(InboundItem::Mark("u7".into()))));
        let digit = r##"{"event":"digit","digit":"#"}"##;
        assert_eq!(read(digit), Ok(Event::Item(InboundItem::Digit('#'))));
        assert_eq!(read(r#"{"event":"stop"}"#), Ok(Event::Stop));
        for text in [r#"{"event":"weather","name":7}"#, r#"{"event":"ready"}"#] {
            assert_eq!(read(text), Ok(Event::Ignored), "{text}");
        }
        for text in [
            "",
            "[]",
            "{}",
            r#"{"event":7}"#,
            r#"{"event":"mark"}"#,
            r#"{"event":"mark","name":""}"#,
            r#"{"event":"digit","digit":"12"}"#,
            r#"{"event":"digit","digit":1}"#,
            r#"{"event":"start","buffers":"yes"}"#,
            r#"{"event":"start","format":""}"#,
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn audio_comes_after_the_start_in_whole_samples() {
        let mut wire = PlainWire::default();
        assert!(wire.read_binary(&[1, 2]).is_err());
        wire.read_text(START).unwrap();
        let Ok(Event::Media(media)) = wire.read_binary(&[1, 2, 3, 4]) else {
            panic!()
        };
        assert_eq!((media.chunk, media.audio), (None, vec![1, 2, 3, 4]));
        assert!(wire.read_binary(&[1, 2, 3]).is_err());
        assert_eq!(wire.read_binary(&[]), Ok(Event::Ignored));
        wire.read_text(r#"{"event":"start","format":"ulaw_8000"}"#).unwrap();
        assert!(wire.read_binary(&[1, 2, 3]).is_ok());
    }

    #[test]
    fn what_is_written_is_what_is_documented() {
        let mut messages = Vec::new();
        let mut writer = PlainWriter { format: "pcm_16000" };
        for item in [
            OutboundItem::Audio(vec![1, 2]),
            OutboundItem::Mark("m\"1".into()),
            OutboundItem::Clear,
            OutboundItem::Digit('*'),
            OutboundItem::Close,
        ] {
            writer.write(&item, &mut messages);
        }
        let texts = [
            r#"{"event":"mark","name":"m\"1"}"#,
            r#"{"event":"clear"}"#,
            r#"{"event":"digit","digit":"*"}"#,
        ];
        assert_eq!(messages[0], WireMessage::Binary(vec![1, 2]));
        assert_eq!(messages[1..], texts.map(|text| WireMessage::Text(text.to_owned())));
    }

    proptest! {
        #[test]
        fn no_message_makes_the_reader_panic(
            text in "\\PC{0,200}", at in 0..START.len(), with in any::<char>(),
            bytes in proptest::collection::vec(any::<u8>(), 0..2_000),
        ) {
            let mut wire = PlainWire::default();
            let _ = (wire.read_text(&text), wire.read_binary(&bytes));
            let damaged: String = START.chars().enumerate().map(|(i, c)| if i == at { with } else { c }).collect();
            let _ = (wire.read_text(&damaged), wire.read_binary(&bytes));
        }

        #[test]
        fn any_mark_comes_back_as_it_was_sent(name in "\\PC{1,30}") {
            let (mut writer, mut messages) = (PlainWriter { format: "pcm_8000" }, Vec::new());
            writer.write(&OutboundItem::Mark(name.clone()), &mut messages);
            let [WireMessage::Text(sent)] = &messages[..] else { panic!() };
            prop_assert_eq!(read(sent), Ok(Event::Item(InboundItem::Mark(name))));
        }
    }
}
