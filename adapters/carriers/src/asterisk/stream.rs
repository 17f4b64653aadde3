//! Media protocol of Asterisk's `chan_websocket`: audio in binary messages, control in text messages. Control
//! messages are plain text or JSON, depending on Asterisk's version and settings. We use the same form. Pure.
//!
//! Source: `channels/chan_websocket.c` of Asterisk, and its document `Channel-Drivers/WebSocket.md`.

use std::{
    borrow::Cow,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use media::format::LineFormat;
use serde::Deserialize;
use serde_json::{Value, json};

use super::account::Codec;
use crate::kind::Choice;
use crate::protocol::{
    Event, MAX_NAME_BYTES, MediaMessage, MediaProtocol, MediaWriter, MessageError, Start, audio,
    framing::{FramedWriter, Lengths, Wording},
    ignored_or, key, mark,
};

/// Length of Asterisk's frames, in milliseconds.
const FRAME_MS: u32 = 20;
/// Maximum audio in one outgoing message, in milliseconds: 16,000 bytes at most. Asterisk accepts 65,500 bytes.
const MAX_AUDIO_MS: u32 = 500;
/// Maximum length of a command. Asterisk silently drops longer ones.
const MAX_COMMAND_BYTES: usize = 128;
/// Accepted formats, for the text of an error.
const TAKEN: &str = "slin16, slin, ulaw or alaw in frames of 20 ms";

/// Events whose messages must be well-formed.
const KNOWN: [&str; 3] = ["MEDIA_START", "MEDIA_MARK_PROCESSED", "DTMF_END"];

/// Form of control messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Speech {
    Words,
    Json,
}

/// Reader and writer of this protocol.
#[derive(Debug)]
pub struct AsteriskProtocol {
    codec: Codec,
    speech: Speech,
    /// Whether Asterisk's queue is full.
    full: Arc<AtomicBool>,
}

/// A control message in either form.
#[derive(Deserialize)]
struct Control<'a> {
    #[serde(borrow)]
    event: Cow<'a, str>,
    #[serde(borrow, default)]
    connection_id: Cow<'a, str>,
    #[serde(borrow, default)]
    format: Cow<'a, str>,
    #[serde(default)]
    optimal_frame_size: Value,
    #[serde(borrow, default)]
    digit: Cow<'a, str>,
    #[serde(borrow, default)]
    correlation_id: Cow<'a, str>,
    #[serde(borrow, default)]
    error_text: Cow<'a, str>,
}

impl<'a> Control<'a> {
    /// Parses plain text: the event, then `name:value` pairs. The name of a mark stands alone.
    fn words(text: &'a str) -> Self {
        let (event, rest) = text.split_once(' ').unwrap_or((text, ""));
        let field = |name: &str| {
            let value = rest
                .split(' ')
                .find_map(|word| word.strip_prefix(name)?.strip_prefix(':'));
            Cow::Borrowed(value.unwrap_or_default())
        };
        Self {
            event: event.into(),
            connection_id: field("connection_id"),
            format: field("format"),
            optimal_frame_size: field("optimal_frame_size").into(),
            digit: field("digit"),
            correlation_id: rest.into(),
            error_text: rest.into(),
        }
    }
}

impl AsteriskProtocol {
    /// Creates the protocol for a stream that was requested with this codec.
    pub fn new(codec: Codec) -> Self {
        Self {
            codec,
            speech: Speech::Words,
            full: Arc::default(),
        }
    }

    fn event(&mut self, control: &Control<'_>) -> Result<Event, MessageError> {
        match &*control.event {
            "MEDIA_START" => return self.start(control),
            // A mark without a name is not ours.
            "MEDIA_MARK_PROCESSED" if !control.correlation_id.is_empty() => {
                return mark("correlation_id", control.correlation_id.clone());
            }
            "DTMF_END" => return Ok(key(&control.digit)),
            "MEDIA_XOFF" => {
                metrics::counter!("ringback_asterisk_queues_full_total").increment(1);
                self.full.store(true, Ordering::Relaxed);
            }
            "MEDIA_XON" => self.full.store(false, Ordering::Relaxed),
            "ERROR" => {
                metrics::counter!("ringback_asterisk_stream_errors_total").increment(1);
                let words: String = control.error_text.chars().take(200).collect();
                tracing::warn!(words = %words.escape_debug(), "Asterisk rejected a media stream message");
            }
            _ => {}
        }
        Ok(Event::Ignored)
    }

    fn start(&mut self, control: &Control<'_>) -> Result<Event, MessageError> {
        // The first versions do not send the format. Then it is the requested one.
        let codec = match &*control.format {
            "" => Some(self.codec),
            name => Codec::named(name),
        };
        let frame = match &control.optimal_frame_size {
            Value::String(text) if text.is_empty() => None,
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            value => Some(value.to_string()),
        };
        let fits = |codec: &Codec| {
            let wanted = codec.format().bytes_for_ms(FRAME_MS).to_string();
            frame.as_ref().is_none_or(|frame| *frame == wanted)
        };
        let Some(codec) = codec.filter(fits) else {
            let shown = |text: &str| text.chars().take(MAX_NAME_BYTES).collect();
            return Err(MessageError::Format {
                encoding: shown(&control.format),
                rate: format!("{} bytes a frame, unknown", shown(&frame.unwrap_or_default()) as String),
                channels: "1".to_owned(),
                taken: TAKEN,
            });
        };
        self.codec = codec;
        Ok(Event::Start(Start {
            stream: control.connection_id.chars().take(MAX_NAME_BYTES).collect(),
            // The channel in this message is the stream's, not the telephone's.
            call: None,
            format: codec.format(),
        }))
    }
}

impl MediaProtocol for AsteriskProtocol {
    fn read_text(&mut self, text: &str) -> Result<Event, MessageError> {
        let text = text.trim();
        if !text.starts_with('{') {
            return self.event(&Control::words(text));
        }
        match serde_json::from_str::<Control<'_>>(text) {
            Ok(control) => {
                self.speech = Speech::Json;
                self.event(&control)
            }
            Err(error) => ignored_or(text, &error, &KNOWN),
        }
    }

    fn read_binary(&mut self, message: &[u8]) -> Result<Event, MessageError> {
        audio(message, self.codec.format().encoding.bytes_per_sample())
    }

    fn writer(&mut self, start: &Start) -> Box<dyn MediaWriter> {
        let words = AsteriskWords {
            speech: self.speech,
            full: self.full.clone(),
        };
        Box::new(words.writer(start.format))
    }
}

/// Writes whole frames, because Asterisk drops the rest. Keys are pressed through ARI.
struct AsteriskWords {
    speech: Speech,
    full: Arc<AtomicBool>,
}

impl AsteriskWords {
    fn writer(self, format: LineFormat) -> FramedWriter<Self> {
        FramedWriter::new(self, format, Lengths::of_frames(format, FRAME_MS, MAX_AUDIO_MS))
    }

    fn command(&self, command: &str, id: &str) -> String {
        match (self.speech, id) {
            (Speech::Words, "") => command.to_owned(),
            (Speech::Words, id) => format!("{command} {id}"),
            (Speech::Json, "") => json!({ "command": command }).to_string(),
            (Speech::Json, id) => json!({ "command": command, "correlation_id": id }).to_string(),
        }
    }
}

impl Wording for AsteriskWords {
    fn audio(&self, piece: Vec<u8>) -> MediaMessage {
        MediaMessage::Binary(piece)
    }

    /// 18 s of audio may wait at Asterisk. More would be discarded there, or played far too late.
    fn takes_audio(&self) -> bool {
        let full = self.full.load(Ordering::Relaxed);
        if full {
            metrics::counter!("ringback_asterisk_audio_dropped_total").increment(1);
        }
        !full
    }

    fn mark(&self, name: &str) -> Option<MediaMessage> {
        let mark = self.command("MARK_MEDIA", name);
        (mark.len() <= MAX_COMMAND_BYTES).then_some(MediaMessage::Text(mark))
    }

    fn clear(&self) -> MediaMessage {
        MediaMessage::Text(self.command("FLUSH_MEDIA", ""))
    }
}

#[cfg(test)]
mod tests {
    use domain::ports::media_leg::{InboundItem, OutboundItem};
    use proptest::prelude::*;

    use super::*;

    fn started(codec: Codec, text: &str) -> (AsteriskProtocol, Start) {
        let mut protocol = AsteriskProtocol::new(codec);
        match protocol.read_text(text).unwrap() {
            Event::Start(start) => (protocol, start),
            other => panic!("{other:?}"),
        }
    }

    fn json_start(format: &str, frame: u32) -> String {
        json!({
            "event": "MEDIA_START", "connection_id": "c1", "channel": "WebSocket/c1/0x1", "channel_id": "ringback.a.m1",
            "format": format, "optimal_frame_size": frame, "ptime": 20, "channel_variables": {},
        })
        .to_string()
    }

    fn words_start(format: &str, frame: u32) -> String {
        format!(
            "MEDIA_START connection_id:c1 channel:WebSocket/c1/0x1 channel_id:x format:{format} \
             optimal_frame_size:{frame} ptime:20"
        )
    }

    #[test]
    fn a_stream_begins_in_words_and_in_json() {
        for (codec, frame) in [
            (Codec::Slin16, 640),
            (Codec::Slin, 320),
            (Codec::Ulaw, 160),
            (Codec::Alaw, 160),
        ] {
            for text in [json_start(codec.name(), frame), words_start(codec.name(), frame)] {
                let (_, start) = started(Codec::Ulaw, &text);
                assert_eq!((start.format, start.call, &*start.stream), (codec.format(), None, "c1"));
            }
        }
        // The first versions send neither the format nor anything beyond the frame size.
        let old = "MEDIA_START connection_id:c1 channel:WebSocket/c1/0x1 optimal_frame_size:160";
        assert_eq!(started(Codec::Ulaw, old).1.format, Codec::Ulaw.format());
        let (_, start) = started(Codec::Slin16, "MEDIA_START");
        assert_eq!(start.format, Codec::Slin16.format());
    }

    #[test]
    fn a_format_that_was_not_asked_for_and_cannot_be_taken_is_refused() {
        for text in [
            json_start("opus", 0),
            json_start("slin16", 320),
            words_start("g722", 160),
            words_start("ulaw", 80),
            "MEDIA_START optimal_frame_size:x".to_owned(),
        ] {
            let refused = AsteriskProtocol::new(Codec::Ulaw).read_text(&text);
            assert!(
                matches!(refused, Err(MessageError::Format { .. })),
                "{text}: {refused:?}"
            );
        }
    }

    #[test]
    fn audio_comes_in_whole_samples() {
        for (codec, half_is_refused) in [
            (Codec::Slin16, true),
            (Codec::Slin, true),
            (Codec::Ulaw, false),
            (Codec::Alaw, false),
        ] {
            let (mut protocol, _) = started(codec, "MEDIA_START");
            assert!(
                matches!(protocol.read_binary(&[1; 640]), Ok(Event::Media(_))),
                "{codec:?}"
            );
            assert_eq!(protocol.read_binary(&[1; 641]).is_err(), half_is_refused, "{codec:?}");
        }
    }

    #[test]
    fn marks_and_keys_come_in_both_ways_of_writing() {
        let mut protocol = AsteriskProtocol::new(Codec::Ulaw);
        let mark = Event::Item(InboundItem::Mark("u7".into()));
        let nine = Event::Item(InboundItem::Digit('9'));
        for (text, event) in [
            ("MEDIA_MARK_PROCESSED u7", mark.clone()),
            (
                r#"{"event":"MEDIA_MARK_PROCESSED","channel_id":"x","correlation_id":"u7"}"#,
                mark,
            ),
            ("DTMF_END digit:9", nine.clone()),
            ("DTMF_END digit:9 channel_id:x", nine.clone()),
            (r#"{"event":"DTMF_END","channel_id":"x","digit":"9"}"#, nine),
            ("MEDIA_MARK_PROCESSED", Event::Ignored),
            ("QUEUE_DRAINED", Event::Ignored),
            ("STATUS channel_id:x queue_length:43 queue_full:false", Event::Ignored),
            ("ERROR channel_id:x error_text:no", Event::Ignored),
            (r#"{"event":"WEATHER","digit":7}"#, Event::Ignored),
            ("", Event::Ignored),
        ] {
            assert_eq!(protocol.read_text(text), Ok(event), "{text}");
        }
        for damaged in [r#"{"event":"DTMF_END","digit":7}"#, "{", r#"{"digit":"1"}"#] {
            assert!(
                matches!(protocol.read_text(damaged), Err(MessageError::Malformed(_))),
                "{damaged}"
            );
        }
        // A key that no telephone has does not end a call.
        for (text, event) in [
            ("DTMF_END digit:x", Event::Ignored),
            ("DTMF_END digit:a", Event::Item(InboundItem::Digit('A'))),
        ] {
            assert_eq!(protocol.read_text(text), Ok(event), "{text}");
        }
    }

    fn write(writer: &mut dyn MediaWriter, item: &OutboundItem) -> Vec<MediaMessage> {
        let mut messages = Vec::new();
        writer.write(item, &mut messages);
        messages
    }

    fn binary(messages: &[MediaMessage]) -> Vec<usize> {
        messages
            .iter()
            .filter_map(|message| match message {
                MediaMessage::Binary(bytes) => Some(bytes.len()),
                MediaMessage::Text(_) => None,
            })
            .collect()
    }

    #[test]
    fn audio_goes_out_in_whole_frames_and_a_mark_waits_for_the_rest() {
        let (mut protocol, start) = started(Codec::Slin16, &words_start("slin16", 640));
        let mut writer = protocol.writer(&start);
        assert_eq!(binary(&write(&mut *writer, &OutboundItem::Audio(vec![1; 700]))), [640]);
        assert_eq!(
            binary(&write(&mut *writer, &OutboundItem::Audio(vec![1; 570]))),
            Vec::<usize>::new()
        );
        let marked = write(&mut *writer, &OutboundItem::Mark("u1".into()));
        assert_eq!(binary(&marked), [640]);
        assert_eq!(marked[1], MediaMessage::Text("MARK_MEDIA u1".into()));
        assert_eq!(
            binary(&write(&mut *writer, &OutboundItem::Audio(vec![1; 64_000]))),
            [16_000; 4]
        );
        write(&mut *writer, &OutboundItem::Audio(vec![1; 5]));
        let cleared = write(&mut *writer, &OutboundItem::Clear);
        assert_eq!(cleared, [MediaMessage::Text("FLUSH_MEDIA".into())]);
        assert_eq!(
            binary(&write(&mut *writer, &OutboundItem::Audio(vec![1; 639]))),
            Vec::<usize>::new()
        );
    }

    #[test]
    fn who_speaks_json_is_answered_in_json_within_what_asterisk_takes() {
        let (mut protocol, start) = started(Codec::Ulaw, &json_start("ulaw", 160));
        let mut writer = protocol.writer(&start);
        let marked = write(&mut *writer, &OutboundItem::Mark("u1".into()));
        assert_eq!(
            marked,
            [MediaMessage::Text(
                r#"{"command":"MARK_MEDIA","correlation_id":"u1"}"#.into()
            )]
        );
        let cleared = write(&mut *writer, &OutboundItem::Clear);
        assert_eq!(cleared, [MediaMessage::Text(r#"{"command":"FLUSH_MEDIA"}"#.into())]);
        assert_eq!(write(&mut *writer, &OutboundItem::Mark("x".repeat(100))), []);
    }

    #[test]
    fn nothing_is_sent_while_the_queue_of_asterisk_is_full() {
        for [off, on] in [
            ["MEDIA_XOFF", "MEDIA_XON"],
            [r#"{"event":"MEDIA_XOFF"}"#, r#"{"event":"MEDIA_XON"}"#],
        ] {
            let (mut protocol, start) = started(Codec::Ulaw, &words_start("ulaw", 160));
            let mut writer = protocol.writer(&start);
            protocol.read_text(off).unwrap();
            assert_eq!(write(&mut *writer, &OutboundItem::Audio(vec![1; 320])), []);
            assert_eq!(write(&mut *writer, &OutboundItem::Mark("u1".into())).len(), 1);
            protocol.read_text(on).unwrap();
            assert_eq!(binary(&write(&mut *writer, &OutboundItem::Audio(vec![1; 320]))), [320]);
        }
    }

    proptest! {
        #[test]
        fn nothing_that_comes_makes_it_panic(
            text in "\\PC{0,200}",
            event in prop::sample::select(vec!["MEDIA_START ", "DTMF_END ", "MEDIA_MARK_PROCESSED ", "{\"event\":\"MEDIA_START\",", "ERROR "]),
            bytes in proptest::collection::vec(any::<u8>(), 0..700),
        ) {
            let mut protocol = AsteriskProtocol::new(Codec::Slin16);
            let _ = protocol.read_text(&text);
            let _ = protocol.read_text(&format!("{event}{text}"));
            let _ = protocol.read_binary(&bytes);
        }

        #[test]
        fn every_sample_goes_out_once_and_in_frames(
            pieces in proptest::collection::vec(0..2_000_usize, 0..20),
            codec in prop::sample::select(Codec::ALL.iter().map(|(_, codec)| *codec).collect::<Vec<_>>()),
        ) {
            let frame = codec.format().bytes_for_ms(20);
            let (mut protocol, start) = started(codec, "MEDIA_START");
            let mut writer = protocol.writer(&start);
            let (mut sent, mut out) = (0, 0);
            for piece in pieces {
                sent += piece;
                for length in binary(&write(&mut *writer, &OutboundItem::Audio(vec![1; piece]))) {
                    prop_assert!(length.is_multiple_of(frame) && length <= 65_500);
                    out += length;
                }
            }
            out += binary(&write(&mut *writer, &OutboundItem::Mark("m".into()))).iter().sum::<usize>();
            prop_assert_eq!(out, sent.div_ceil(frame) * frame);
        }
    }
}
