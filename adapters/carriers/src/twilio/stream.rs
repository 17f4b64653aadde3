//! Twilio's media protocol: JSON text over a WebSocket, audio as base64 of 8 kHz mu-law, numbers as strings. Pure.
//!
//! Source: <https://www.twilio.com/docs/voice/media-streams/websocket-messages>

use domain::ports::media_leg::{LegAbilities, OutboundItem};
use media::format::LineFormat;
use serde::Deserialize;

pub use crate::protocol::json_stream::{clear, mark, media};
use crate::protocol::{
    Event, MediaMessage, MediaProtocol, MediaWriter, MessageError, PLAYER, Start,
    json_stream::{self, FormatBody, Said, digit},
    named,
};

/// Encoding and sample rate of every stream.
pub const FORMAT: LineFormat = LineFormat::MULAW_8000;

/// Maximum audio in one outgoing message, in bytes: 2 s, which stays below half of the 64 KiB that a message may have.
pub const MAX_AUDIO_BYTES: usize = 16_000;

/// Events whose messages must be well-formed.
const KNOWN: [&str; 6] = ["media", "mark", "dtmf", "start", "connected", "stop"];

/// Reader and writer of this protocol.
#[derive(Debug, Default)]
pub struct TwilioProtocol {
    /// Whether the far end presses keys that are sent. SignalWire's does, Twilio's does not.
    pub presses_keys: bool,
}

impl MediaProtocol for TwilioProtocol {
    fn read_text(&mut self, text: &str) -> Result<Event, MessageError> {
        parse(text)
    }

    fn abilities(&self) -> LegAbilities {
        LegAbilities {
            digits: self.presses_keys,
            ..PLAYER
        }
    }

    fn writer(&mut self, start: &Start) -> Box<dyn MediaWriter> {
        Box::new(TwilioWriter {
            stream: start.stream.clone(),
            presses_keys: self.presses_keys,
        })
    }
}

/// Writer of one stream.
struct TwilioWriter {
    stream: String,
    presses_keys: bool,
}

impl MediaWriter for TwilioWriter {
    fn write(&mut self, item: &OutboundItem, messages: &mut Vec<MediaMessage>) {
        let stream = &self.stream;
        messages.push(MediaMessage::Text(match item {
            OutboundItem::Audio(audio) => {
                let pieces = audio.chunks(MAX_AUDIO_BYTES);
                messages.extend(pieces.map(|piece| MediaMessage::Text(media(stream, piece))));
                return;
            }
            OutboundItem::Mark(name) => mark(stream, name),
            OutboundItem::Clear => clear(stream),
            // <https://signalwire.com/docs/compatibility-api/cxml/voice/stream>
            OutboundItem::Digit(key) if self.presses_keys => digit(stream, *key),
            OutboundItem::Digit(_) | OutboundItem::Close => return,
        }));
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StartBody {
    stream_sid: String,
    call_sid: String,
    media_format: FormatBody,
}

/// Parses one text message. An unknown event is [`Event::Ignored`], whatever else the message contains.
pub fn parse(text: &str) -> Result<Event, MessageError> {
    match json_stream::parse(text, &KNOWN, |audio| audio)? {
        Said::Event(event) => Ok(event),
        Said::Start(start, _) => start_event(start),
        Said::Error(_) => Ok(Event::Ignored),
    }
}

fn start_event(start: StartBody) -> Result<Event, MessageError> {
    let format = start.media_format;
    if format.encoding != "audio/x-mulaw" || format.rate() != "8000" || !format.is_mono() {
        return Err(format.refused("audio/x-mulaw at 8000 Hz mono"));
    }
    named("start.streamSid", &start.stream_sid)?;
    named("start.callSid", &start.call_sid)?;
    Ok(Event::Start(Start {
        stream: start.stream_sid,
        call: Some(start.call_sid),
        format: FORMAT,
    }))
}

#[cfg(test)]
mod tests {
    use domain::ports::media_leg::InboundItem;
    use proptest::prelude::*;

    use super::*;
    use crate::protocol::Media;

    const START: &str = r#"{"event":"start","sequenceNumber":"1","streamSid":"MZ1","start":{"accountSid":"AC1","streamSid":"MZ1","callSid":"CA1","tracks":["inbound"],"mediaFormat":{"encoding":"audio/x-mulaw","sampleRate":8000,"channels":1},"customParameters":{"conversationId":"x"}}}"#;

    #[test]
    fn every_message_of_a_stream_is_read() {
        let audio = |chunk, timestamp_ms| {
            let audio = vec![0x7f, 0xff, 0x80];
            Event::Media(Media {
                chunk,
                timestamp_ms,
                audio,
            })
        };
        for (text, event) in [
            (
                r#"{"event":"connected","protocol":"Call","version":"1.0.0"}"#,
                Event::Ignored,
            ),
            (
                START,
                Event::Start(Start {
                    stream: "MZ1".into(),
                    call: Some("CA1".into()),
                    format: FORMAT,
                }),
            ),
            (
                r#"{"event":"media","sequenceNumber":"3","streamSid":"MZ1","media":{"track":"inbound","chunk":"1","timestamp":"5","payload":"f/+A"}}"#,
                audio(Some(1), Some(5)),
            ),
            // An encoder may escape the slash, and order the keys as it likes.
            (r#"{"media":{"payload":"f\/+A"},"event":"media"}"#, audio(None, None)),
            // Numbers come as numbers or strings; invalid ones are `None`.
            (
                r#"{"event":"media","media":{"chunk":7,"timestamp":140,"payload":"f/+A"}}"#,
                audio(Some(7), Some(140)),
            ),
            (
                r#"{"event":"media","media":{"chunk":"x","timestamp":-1,"payload":"f/+A"}}"#,
                audio(None, None),
            ),
            (
                r#"{"event":"media","media":{"chunk":null,"timestamp":1.5,"payload":"f/+A"}}"#,
                audio(None, None),
            ),
            (
                r#"{"event":"media","media":{"track":"outbound","payload":"f/+A"}}"#,
                Event::Ignored,
            ),
            (
                r#"{"event":"media","media":{"track":"inbound","payload":""}}"#,
                Event::Ignored,
            ),
            (
                r##"{"event":"dtmf","sequenceNumber":"5","streamSid":"MZ1","dtmf":{"track":"inbound_track","digit":"#"}}"##,
                Event::Item(InboundItem::Digit('#')),
            ),
            (
                r#"{"event":"mark","sequenceNumber":"4","streamSid":"MZ1","mark":{"name":"u7"}}"#,
                Event::Item(InboundItem::Mark("u7".into())),
            ),
            (
                r#"{"event":"stop","sequenceNumber":"9","streamSid":"MZ1","stop":{"accountSid":"AC1","callSid":"CA1"}}"#,
                Event::Stop,
            ),
            (r#"{"event":"weather","media":7,"start":"soon"}"#, Event::Ignored),
        ] {
            assert_eq!(parse(text), Ok(event), "{text}");
        }
    }

    #[test]
    fn a_start_with_numbers_as_strings_is_read() {
        let text = START
            .replace(":8000", r#":"8000""#)
            .replace(r#""channels":1"#, r#""channels":"1""#);
        assert!(matches!(parse(&text), Ok(Event::Start(_))));
    }

    #[test]
    fn a_corrupted_message_is_an_error_that_names_its_fault() {
        for (text, named) in [
            ("", "malformed"),
            ("[]", "malformed"),
            ("7", "malformed"),
            (r#"{"event":7}"#, "malformed"),
            (r#"{"media":{}}"#, "malformed"),
            (&START[..START.len() - 1], "malformed"),
            (&START.replace("callSid", "calSid"), "callSid"),
            (&START.replace("x-mulaw", "x-L16"), "audio/x-L16"),
            (&START.replace("8000", "16000"), "16000 Hz"),
            (&START.replace(r#""channels":1"#, r#""channels":2"#), "2 channels"),
            (&START.replace("CA1", ""), "start.callSid"),
            (&START.replace("MZ1", &"M".repeat(129)), "129 bytes"),
            (r#"{"event":"start"}"#, "without its `start`"),
            (r#"{"event":"media"}"#, "without its `media`"),
            (r#"{"event":"media","media":{"track":"inbound"}}"#, "payload"),
            (r#"{"event":"media","media":{"payload":"f/+"}}"#, "base64"),
            (r#"{"event":"media","media":{"payload":"f/+é"}}"#, "base64"),
            (r#"{"event":"dtmf","dtmf":{"digit":5}}"#, "string"),
            (r#"{"event":"mark","mark":{}}"#, "name"),
            (r#"{"event":"mark","mark":{"name":""}}"#, "mark.name"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(named), "{text}: {error}");
        }
    }

    #[test]
    fn what_is_sent_has_twilio_s_own_form() {
        assert_eq!(
            media("MZ1", &[0x7f, 0xff, 0x80]),
            r#"{"event":"media","streamSid":"MZ1","media":{"payload":"f/+A"}}"#
        );
        assert_eq!(
            mark("MZ1", "u7"),
            r#"{"event":"mark","streamSid":"MZ1","mark":{"name":"u7"}}"#
        );
        assert_eq!(clear("MZ1"), r#"{"event":"clear","streamSid":"MZ1"}"#);
        assert_eq!(
            digit("MZ1", '#'),
            r##"{"event":"dtmf","streamSid":"MZ1","dtmf":{"digit":"#"}}"##
        );
    }

    #[test]
    fn a_stream_name_cannot_break_out_of_its_string() {
        let sent = clear(r#"MZ","event":"x"#);
        let value: serde_json::Value = serde_json::from_str(&sent).unwrap();
        assert_eq!(value["event"], "clear");
    }

    proptest! {
        #[test]
        fn any_audio_sent_is_read_back(audio in proptest::collection::vec(any::<u8>(), 1..2_000)) {
            let expected = Event::Media(Media { chunk: None, timestamp_ms: None, audio: audio.clone() });
            prop_assert_eq!(parse(&media("MZ1", &audio)), Ok(expected));
        }

        #[test]
        fn any_mark_sent_is_read_back(name in "\\PC{1,30}") {
            prop_assert_eq!(parse(&mark("MZ1", &name)), Ok(Event::Item(InboundItem::Mark(name))));
        }

        #[test]
        fn no_text_makes_the_reader_panic(text in "\\PC{0,200}", at in 0..START.len(), with in any::<char>()) {
            let _ = parse(&text);
            let damaged: String = START.chars().enumerate().map(|(i, c)| if i == at { with } else { c }).collect();
            let _ = parse(&damaged);
        }
    }
}
