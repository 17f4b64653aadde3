//! Media protocol of the plain link: binary audio messages, and small JSON messages with an `event`, both ways. Pure.
//!
//! The client begins with `start`. The formats are those in `start`, or else the agent's. `start` also says
//! whether we may send audio ahead of time. Audio is converted here, so that the call has one format for both
//! directions.

use std::borrow::Cow;

use domain::{
    agent::AudioFormat,
    ports::media_leg::{LegAbilities, OutboundItem},
};
use media::translate::Translator;
use serde::Deserialize;
use serde_json::{Value, json};

use super::format::{self, Formats};
use crate::protocol::{
    Event, MediaMessage, MediaProtocol, MediaWriter, MessageError, Start, audio, ignored_or, known_key, mark,
};

/// Events whose messages must be well-formed.
const KNOWN: [&str; 4] = ["start", "mark", "digit", "stop"];

/// Reader and writer of this protocol.
#[derive(Debug, Default)]
pub struct PlainProtocol {
    /// Formats of the call's agent, until the client names others.
    formats: Formats,
    started: bool,
    buffers: bool,
    /// Converter from the client to the call.
    hears: Option<Translator>,
    /// Converter from the call to the client, until the writer takes it.
    speaks: Option<Translator>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Message<'a> {
    #[serde(borrow)]
    event: Cow<'a, str>,
    #[serde(borrow, default)]
    format: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    input_format: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    output_format: Option<Cow<'a, str>>,
    #[serde(default)]
    buffers: bool,
    #[serde(borrow, default)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    digit: Option<Cow<'a, str>>,
}

impl PlainProtocol {
    /// Creates the protocol for a call whose agent has these formats.
    pub fn new(formats: Formats) -> Self {
        Self {
            formats,
            ..Self::default()
        }
    }

    fn start(&mut self, message: &Message<'_>) -> Result<Start, MessageError> {
        let either = |own: &Option<Cow<'_, str>>, agents: AudioFormat| {
            let named = own.as_deref().or(message.format.as_deref());
            named.map_or(Ok(agents), format::named)
        };
        self.formats = Formats {
            input: either(&message.input_format, self.formats.input)?,
            output: either(&message.output_format, self.formats.output)?,
        };
        let (formats, inside) = (self.formats, self.formats.inside());
        let no_way = |error: media::resample::ResampleError| MessageError::Malformed(error.to_string());
        self.hears = Translator::between(formats.input.line, inside).map_err(no_way)?;
        self.speaks = Translator::between(inside, formats.output.line).map_err(no_way)?;
        (self.started, self.buffers) = (true, message.buffers);
        Ok(Start {
            stream: String::new(),
            call: None,
            format: inside,
        })
    }
}

impl MediaProtocol for PlainProtocol {
    fn read_text(&mut self, text: &str) -> Result<Event, MessageError> {
        let message: Message<'_> = match serde_json::from_str(text) {
            Ok(message) => message,
            Err(error) => return ignored_or(text, &error, &KNOWN),
        };
        match &*message.event {
            "start" => self.start(&message).map(Event::Start),
            "mark" => mark("name", message.name.ok_or(MessageError::Incomplete("name"))?),
            "digit" => known_key(&message.digit.ok_or(MessageError::Incomplete("digit"))?),
            "stop" => Ok(Event::Stop),
            _ => Ok(Event::Ignored),
        }
    }

    fn read_binary(&mut self, message: &[u8]) -> Result<Event, MessageError> {
        if !message.is_empty() && !self.started {
            return Err(MessageError::Malformed("audio before the `start` message".to_owned()));
        }
        let mut event = audio(message, self.formats.input.line.encoding.bytes_per_sample())?;
        if let (Event::Media(media), Some(translator)) = (&mut event, &mut self.hears) {
            media.audio = translator.translate(&media.audio);
        }
        Ok(event)
    }

    fn closing_ends_the_call(&self) -> bool {
        true
    }

    /// A client without a buffer gets 20 ms at a time, so there is nothing to mark or clear.
    fn abilities(&self) -> LegAbilities {
        LegAbilities {
            buffers: self.buffers,
            marks: self.buffers,
            clear: self.buffers,
            digits: true,
        }
    }

    fn writer(&mut self, _start: &Start) -> Box<dyn MediaWriter> {
        Box::new(PlainWriter {
            formats: self.formats,
            speaks: self.speaks.take(),
        })
    }
}

/// Writer of one socket.
struct PlainWriter {
    formats: Formats,
    speaks: Option<Translator>,
}

fn text(message: &Value) -> MediaMessage {
    MediaMessage::Text(message.to_string())
}

impl MediaWriter for PlainWriter {
    fn begin(&mut self, messages: &mut Vec<MediaMessage>) {
        let (input, output) = (self.formats.input.name, self.formats.output.name);
        messages.push(text(&json!({
            "event": "ready", "format": output, "inputFormat": input, "outputFormat": output,
        })));
    }

    fn write(&mut self, item: &OutboundItem, messages: &mut Vec<MediaMessage>) {
        messages.push(match item {
            OutboundItem::Audio(audio) => match &mut self.speaks {
                None => MediaMessage::Binary(audio.clone()),
                Some(translator) => match translator.translate(audio) {
                    // Too little for output; it waits for more.
                    none if none.is_empty() => return,
                    audio => MediaMessage::Binary(audio),
                },
            },
            OutboundItem::Mark(name) => text(&json!({ "event": "mark", "name": name })),
            OutboundItem::Clear => {
                if let Some(translator) = &mut self.speaks {
                    translator.restart();
                }
                text(&json!({ "event": "clear" }))
            }
            OutboundItem::Digit(digit) => text(&json!({ "event": "digit", "digit": digit.to_string() })),
            OutboundItem::Close => return,
        });
    }
}

#[cfg(test)]
mod tests {
    use domain::ports::media_leg::InboundItem;
    use proptest::prelude::*;

    use super::{super::format::TAKEN, *};

    const START: &str = r#"{"event":"start","format":"pcm_8000","buffers":true,"extra":[1]}"#;

    fn read(text: &str) -> Result<Event, MessageError> {
        PlainProtocol::default().read_text(text)
    }

    /// Returns the formats that a client gets from this `start` message and agent, and the content of `ready`.
    fn begun(agent: Formats, text: &str) -> (PlainProtocol, Start, Value) {
        let mut protocol = PlainProtocol::new(agent);
        let Ok(Event::Start(start)) = protocol.read_text(text) else {
            panic!("{text}")
        };
        let mut messages = Vec::new();
        protocol.writer(&start).begin(&mut messages);
        let [MediaMessage::Text(ready)] = &messages[..] else {
            panic!("{messages:?}")
        };
        let ready = serde_json::from_str(ready).unwrap();
        (protocol, start, ready)
    }

    fn formats(input: &str, output: &str) -> Formats {
        Formats::named(Some(input), Some(output)).unwrap()
    }

    #[test]
    fn a_socket_begins_with_the_formats_it_asks_for_or_those_of_the_agent() {
        let own = formats("pcm_44100", "ulaw_8000");
        for (text, input, output) in [
            (r#"{"event":"start"}"#, "pcm_44100", "ulaw_8000"),
            (START, "pcm_8000", "pcm_8000"),
            (r#"{"event":"start","format":"ulaw_8000"}"#, "ulaw_8000", "ulaw_8000"),
            (
                r#"{"event":"start","inputFormat":"pcm_48000"}"#,
                "pcm_48000",
                "ulaw_8000",
            ),
            (
                r#"{"event":"start","format":"pcm_24000","outputFormat":"pcm_22050"}"#,
                "pcm_24000",
                "pcm_22050",
            ),
        ] {
            let (protocol, start, ready) = begun(own, text);
            let asked = formats(input, output);
            assert_eq!((protocol.formats, start.format), (asked, asked.inside()), "{text}");
            let told = json!({ "event": "ready", "format": output, "inputFormat": input, "outputFormat": output });
            assert_eq!(ready, told, "{text}");
            let abilities = protocol.abilities();
            assert_eq!(
                [abilities.buffers, abilities.marks, abilities.clear],
                [text == START; 3]
            );
        }
        let (_, _, ready) = begun(Formats::default(), r#"{"event":"start"}"#);
        assert_eq!(
            (&ready["format"], &ready["inputFormat"]),
            (&json!("pcm_16000"), &json!("pcm_16000"))
        );
        for name in ["pcm_11025", "mp3", ""] {
            let refused = read(&format!(r#"{{"event":"start","inputFormat":"{name}"}}"#)).unwrap_err();
            assert_eq!(
                refused.to_string(),
                format!("`{name}` is not an audio format; only {TAKEN} is accepted")
            );
        }
    }

    /// The audio has the right length in the other format, within what the filters hold back.
    #[test]
    fn every_pair_of_formats_keeps_time_both_ways() {
        for input in AudioFormat::ALL {
            for output in AudioFormat::ALL {
                let start = json!({ "event": "start", "inputFormat": input.name, "outputFormat": output.name });
                let mut protocol = PlainProtocol::default();
                let Ok(Event::Start(begun)) = protocol.read_text(&start.to_string()) else {
                    panic!("{start}")
                };
                let mut writer = protocol.writer(&begun);
                let (mut heard, mut spoken, mut messages) = (0, 0, Vec::new());
                for _ in 0..100 {
                    let Ok(Event::Media(media)) = protocol.read_binary(&vec![0; input.line.bytes_for_ms(20)]) else {
                        panic!("{start}")
                    };
                    heard += media.audio.len();
                    writer.write(
                        &OutboundItem::Audio(vec![0; begun.format.bytes_for_ms(20)]),
                        &mut messages,
                    );
                }
                for message in messages {
                    let MediaMessage::Binary(audio) = message else { panic!() };
                    spoken += audio.len();
                }
                for (came, line) in [(heard, begun.format), (spoken, output.line)] {
                    let due = line.bytes_for_ms(1_000) * 2;
                    assert!(
                        came <= due && came + line.bytes_for_ms(3) >= due,
                        "{start}: {came} of {due}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_clear_drops_what_the_filter_holds_too() {
        let (mut protocol, start, _) = begun(formats("pcm_48000", "pcm_48000"), r#"{"event":"start","buffers":true}"#);
        // The first writer took the output converter with it.
        protocol.read_text(r#"{"event":"start","buffers":true}"#).unwrap();
        let mut writer = protocol.writer(&start);
        let mut messages = Vec::new();
        let loud: Vec<u8> = (0..640).map(|n| if n % 2 == 0 { 0 } else { 0x30 }).collect();
        writer.write(&OutboundItem::Audio(loud), &mut messages);
        writer.write(&OutboundItem::Clear, &mut messages);
        messages.clear();
        writer.write(&OutboundItem::Audio(vec![0; 640]), &mut messages);
        let [MediaMessage::Binary(audio)] = &messages[..] else {
            panic!()
        };
        assert!(audio.iter().all(|byte| *byte == 0));
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
        let mut protocol = PlainProtocol::default();
        assert!(protocol.read_binary(&[1, 2]).is_err());
        protocol.read_text(START).unwrap();
        let Ok(Event::Media(media)) = protocol.read_binary(&[1, 2, 3, 4]) else {
            panic!()
        };
        assert_eq!((media.chunk, media.audio), (None, vec![1, 2, 3, 4]));
        assert!(protocol.read_binary(&[1, 2, 3]).is_err());
        assert_eq!(protocol.read_binary(&[]), Ok(Event::Ignored));
        protocol.read_text(r#"{"event":"start","format":"ulaw_8000"}"#).unwrap();
        assert!(protocol.read_binary(&[1, 2, 3]).is_ok());
    }

    #[test]
    fn what_is_written_is_what_is_documented() {
        let mut messages = Vec::new();
        let mut writer = PlainWriter {
            formats: Formats::default(),
            speaks: None,
        };
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
        assert_eq!(messages[0], MediaMessage::Binary(vec![1, 2]));
        assert_eq!(messages[1..], texts.map(|text| MediaMessage::Text(text.to_owned())));
    }

    proptest! {
        #[test]
        fn no_message_makes_the_reader_panic(
            text in "\\PC{0,200}", at in 0..START.len(), with in any::<char>(),
            bytes in proptest::collection::vec(any::<u8>(), 0..2_000),
        ) {
            let mut protocol = PlainProtocol::default();
            let _ = (protocol.read_text(&text), protocol.read_binary(&bytes));
            let damaged: String = START.chars().enumerate().map(|(i, c)| if i == at { with } else { c }).collect();
            let _ = (protocol.read_text(&damaged), protocol.read_binary(&bytes));
        }

        #[test]
        fn any_mark_comes_back_as_it_was_sent(name in "\\PC{1,30}") {
            let mut writer = PlainWriter { formats: Formats::default(), speaks: None };
            let mut messages = Vec::new();
            writer.write(&OutboundItem::Mark(name.clone()), &mut messages);
            let [MediaMessage::Text(sent)] = &messages[..] else { panic!() };
            prop_assert_eq!(read(sent), Ok(Event::Item(InboundItem::Mark(name))));
        }
    }
}
