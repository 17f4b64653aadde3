//! Vonage's media protocol: binary frames of linear samples, low byte first, 20 ms each, and JSON messages
//! between them. Pure.
//!
//! Source: <https://developer.vonage.com/en/voice/voice-api/concepts/websockets>

use std::borrow::Cow;

use media::format::LineFormat;
use serde::Deserialize;
use serde_json::{Value, json};

use super::account::Rate;
use crate::kind::Choice;
use crate::protocol::{
    Event, MediaMessage, MediaProtocol, MediaWriter, MessageError, Start, audio,
    framing::{FramedWriter, Lengths, Wording},
    ignored_or, key, mark,
};

/// Length of an audio message, in milliseconds. Other lengths are heard as noise, or not at all.
pub const FRAME_MS: u32 = 20;

/// Accepted formats, for the text of an error.
const TAKEN: &str = "audio/l16 at 8000 or 16000 Hz, mono,";

/// Events whose messages must be well-formed.
const KNOWN: [&str; 3] = ["websocket:connected", "websocket:dtmf", "websocket:notify"];

/// Reader and writer of this protocol.
#[derive(Debug)]
pub struct VonageProtocol;

/// Returns the rate in a content type such as `audio/l16;rate=16000`.
fn rate(content_type: &str) -> Result<Rate, MessageError> {
    let mut parts = content_type.split(';').map(str::trim);
    let encoding = parts.next().unwrap_or_default();
    let rate = parts.find_map(|part| part.strip_prefix("rate=")).unwrap_or_default();
    match Rate::named(rate) {
        Some(rate) if encoding.eq_ignore_ascii_case("audio/l16") => Ok(rate),
        _ => Err(MessageError::Format {
            encoding: encoding.chars().take(32).collect(),
            rate: rate.chars().take(8).collect(),
            channels: "1".to_owned(),
            taken: TAKEN,
        }),
    }
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow, default)]
    event: Cow<'a, str>,
    #[serde(borrow, rename = "content-type", default)]
    content_type: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    digit: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    dtmf: Option<Key<'a>>,
    #[serde(borrow, default)]
    payload: Option<Payload<'a>>,
}

#[derive(Deserialize)]
struct Key<'a> {
    #[serde(borrow)]
    digit: Cow<'a, str>,
}

#[derive(Deserialize)]
struct Payload<'a> {
    #[serde(borrow, default)]
    id: Cow<'a, str>,
}

impl MediaProtocol for VonageProtocol {
    fn read_text(&mut self, text: &str) -> Result<Event, MessageError> {
        let message: Message<'_> = match serde_json::from_str(text) {
            Ok(message) => message,
            Err(error) => return ignored_or(text, &error, &KNOWN),
        };
        match (&*message.event, message.dtmf) {
            ("websocket:connected", _) => {
                let content_type = message.content_type.ok_or(MessageError::Incomplete("content-type"))?;
                Ok(Event::Start(Start {
                    stream: String::new(),
                    call: None,
                    format: rate(&content_type)?.format(),
                }))
            }
            // Some clients nest the key one level deeper, with or without the event's name.
            ("websocket:dtmf" | "", Some(pressed)) => Ok(key(&pressed.digit)),
            ("websocket:dtmf", None) => Ok(key(&message.digit.ok_or(MessageError::Incomplete("digit"))?)),
            ("websocket:notify", _) => {
                let id = message.payload.ok_or(MessageError::Incomplete("payload"))?.id;
                mark("payload.id", id)
            }
            ("", None) => Err(MessageError::Malformed("message without an `event`".to_owned())),
            _ => Ok(Event::Ignored),
        }
    }

    fn read_binary(&mut self, message: &[u8]) -> Result<Event, MessageError> {
        audio(message, 2)
    }

    fn writer(&mut self, start: &Start) -> Box<dyn MediaWriter> {
        Box::new(writer(start.format))
    }
}

fn writer(format: LineFormat) -> FramedWriter<VonageWords> {
    FramedWriter::new(VonageWords, format, Lengths::of_frames(format, FRAME_MS, FRAME_MS))
}

/// The far end buffers at least 20 s, far more than is ever sent ahead.
struct VonageWords;

fn text(message: &Value) -> MediaMessage {
    MediaMessage::Text(message.to_string())
}

impl Wording for VonageWords {
    fn audio(&self, piece: Vec<u8>) -> MediaMessage {
        MediaMessage::Binary(piece)
    }

    fn mark(&self, name: &str) -> Option<MediaMessage> {
        Some(text(&json!({ "action": "notify", "payload": { "id": name } })))
    }

    fn clear(&self) -> MediaMessage {
        text(&json!({ "action": "clear" }))
    }
}

#[cfg(test)]
mod tests {
    use domain::ports::media_leg::{InboundItem, OutboundItem};
    use proptest::prelude::*;

    use super::*;

    const CONNECTED: &str =
        r#"{"event":"websocket:connected","content-type":"audio/l16;rate=16000","attempt":"a","system_roles":[1]}"#;

    fn read(text: &str) -> Result<Event, MessageError> {
        VonageProtocol.read_text(text)
    }

    fn written(rate: Rate, items: &[OutboundItem]) -> Vec<MediaMessage> {
        let (mut writer, mut messages) = (super::writer(rate.format()), Vec::new());
        for item in items {
            writer.write(item, &mut messages);
        }
        messages
    }

    #[test]
    fn a_socket_begins_with_its_rate() {
        for (content_type, rate) in [
            ("audio/l16;rate=16000", Rate::Wide),
            ("audio/L16; rate=8000", Rate::Narrow),
        ] {
            let text = json!({ "event": "websocket:connected", "content-type": content_type }).to_string();
            let Ok(Event::Start(start)) = read(&text) else {
                panic!("{text}")
            };
            assert_eq!(start.format, rate.format());
        }
        let Ok(Event::Start(start)) = read(CONNECTED) else {
            panic!()
        };
        assert_eq!((start.stream, start.call), (String::new(), None));
        for content_type in [
            "audio/l16",
            "audio/l16;rate=24000",
            "audio/pcmu;rate=8000",
            "",
            "rate=8000",
        ] {
            let text = json!({ "event": "websocket:connected", "content-type": content_type }).to_string();
            assert!(
                matches!(read(&text), Err(MessageError::Format { .. })),
                "{content_type}"
            );
        }
        let bare = r#"{"event":"websocket:connected"}"#;
        assert_eq!(read(bare), Err(MessageError::Incomplete("content-type")));
    }

    #[test]
    fn keys_marks_and_other_messages_are_read() {
        for text in [
            r#"{"event":"websocket:dtmf","digit":"5","duration":260}"#,
            r#"{"event":"websocket:dtmf","dtmf":{"digit":"5"}}"#,
            r#"{"dtmf":{"digit":"5","duration":260}}"#,
        ] {
            assert_eq!(read(text), Ok(Event::Item(InboundItem::Digit('5'))), "{text}");
        }
        let mark = r#"{"event":"websocket:notify","payload":{"id":"u7"}}"#;
        assert_eq!(read(mark), Ok(Event::Item(InboundItem::Mark("u7".into()))));
        for text in [
            r#"{"event":"websocket:cleared"}"#,
            r#"{"event":"websocket:dtmf","digit":"55"}"#,
            r#"{"event":"websocket:weather","payload":[1]}"#,
            r#"{"event":"websocket:weather","payload":"fine","digit":7}"#,
        ] {
            assert_eq!(read(text), Ok(Event::Ignored), "{text}");
        }
        for text in [
            "",
            "[]",
            "{}",
            "7",
            r#"{"event":7}"#,
            r#"{"event":"websocket:dtmf"}"#,
            r#"{"event":"websocket:dtmf","digit":5}"#,
            r#"{"event":"websocket:notify"}"#,
            r#"{"event":"websocket:notify","payload":{"id":7}}"#,
            r#"{"event":"websocket:notify","payload":{}}"#,
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn frames_are_the_caller_s_audio() {
        let Ok(Event::Media(media)) = VonageProtocol.read_binary(&[1, 2, 3, 4]) else {
            panic!()
        };
        assert_eq!(
            (media.chunk, media.timestamp_ms, media.audio),
            (None, None, vec![1, 2, 3, 4])
        );
        assert_eq!(VonageProtocol.read_binary(&[]), Ok(Event::Ignored));
        assert!(VonageProtocol.read_binary(&[1, 2, 3]).is_err());
    }

    #[test]
    fn a_tail_waits_for_more_or_is_filled_up_before_a_mark_and_dropped_by_clear() {
        let mark = |name: &str| text(&json!({ "action": "notify", "payload": { "id": name } }));
        let sent = written(
            Rate::Wide,
            &[
                OutboundItem::Audio(vec![1; 400]),
                OutboundItem::Audio(vec![2; 400]),
                OutboundItem::Mark("m1".into()),
                OutboundItem::Mark("m2".into()),
                OutboundItem::Audio(vec![3; 100]),
                OutboundItem::Clear,
                OutboundItem::Mark("m3".into()),
                OutboundItem::Close,
            ],
        );
        let mut tail = vec![2; 160];
        tail.resize(640, 0);
        let expected = [
            MediaMessage::Binary([vec![1; 400], vec![2; 240]].concat()),
            MediaMessage::Binary(tail),
            mark("m1"),
            mark("m2"),
            MediaMessage::Text(r#"{"action":"clear"}"#.into()),
            mark("m3"),
        ];
        assert_eq!(sent, expected);
    }

    fn item() -> impl Strategy<Value = OutboundItem> {
        prop_oneof![
            6 => proptest::collection::vec(any::<u8>(), 0..3_000).prop_map(OutboundItem::Audio),
            2 => "[a-z]{1,8}".prop_map(OutboundItem::Mark),
            1 => Just(OutboundItem::Clear),
            1 => Just(OutboundItem::Digit('1')),
        ]
    }

    proptest! {
        #[test]
        fn no_frame_has_another_length_whatever_is_sent(
            items in proptest::collection::vec(item(), 0..40), wide in any::<bool>(),
        ) {
            let (rate, length) = if wide { (Rate::Wide, 640) } else { (Rate::Narrow, 320) };
            for message in written(rate, &items) {
                if let MediaMessage::Binary(frame) = message {
                    prop_assert_eq!(frame.len(), length);
                }
            }
        }

        #[test]
        fn all_audio_goes_out_once_in_order(
            pieces in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 1..3_000), 1..12),
        ) {
            let mut items: Vec<OutboundItem> = pieces.iter().cloned().map(OutboundItem::Audio).collect();
            items.push(OutboundItem::Mark("end".into()));
            let sent = written(Rate::Wide, &items);
            let bytes: Vec<u8> = sent[..sent.len() - 1]
                .iter()
                .flat_map(|message| match message {
                    MediaMessage::Binary(frame) => frame.clone(),
                    MediaMessage::Text(text) => panic!("{text}"),
                })
                .collect();
            let whole = pieces.concat();
            prop_assert!(bytes.len() < whole.len() + 640);
            prop_assert_eq!(&bytes[..whole.len()], &whole[..]);
            prop_assert!(bytes[whole.len()..].iter().all(|byte| *byte == 0));
        }

        #[test]
        fn any_mark_comes_back_as_it_was_sent(name in "\\PC{1,30}") {
            let sent = written(Rate::Wide, &[OutboundItem::Mark(name.clone())]);
            let [MediaMessage::Text(sent)] = &sent[..] else { panic!() };
            let mut message: Value = serde_json::from_str(sent).unwrap();
            message["event"] = json!("websocket:notify");
            prop_assert_eq!(read(&message.to_string()), Ok(Event::Item(InboundItem::Mark(name))));
        }

        #[test]
        fn no_message_makes_the_reader_panic(
            text in "\\PC{0,200}", at in 0..CONNECTED.len(), with in any::<char>(),
            bytes in proptest::collection::vec(any::<u8>(), 0..2_000),
        ) {
            let _ = (read(&text), VonageProtocol.read_binary(&bytes));
            let damaged: String = CONNECTED.chars().enumerate().map(|(i, c)| if i == at { with } else { c }).collect();
            let _ = read(&damaged);
        }
    }
}
