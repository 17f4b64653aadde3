//! Tests of every message of Telnyx's stream, intact and damaged.

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use domain::ports::media_leg::{InboundItem, OutboundItem};
use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::{
    protocol::Media,
    telnyx::line::{ByteOrder, Codec},
};

const START: &str = r#"{"event":"start","sequence_number":"1","stream_id":"32de","start":{"user_id":"u","call_control_id":"v3:a","call_session_id":"s","from":"+14155550100","to":"+14155550199","client_state":"eA==","tags":[],"media_format":{"encoding":"PCMU","sample_rate":8000,"channels":1}}}"#;

const PCMU: LineChoice = LineChoice {
    codec: Codec::Pcmu,
    order: ByteOrder::Big,
};
const L16: LineChoice = LineChoice {
    codec: Codec::L16,
    order: ByteOrder::Big,
};

fn read(text: &str) -> Result<Event, MessageError> {
    TelnyxProtocol::new(PCMU).read_text(text)
}

fn started(choice: LineChoice) -> Event {
    Event::Start(Start {
        stream: "32de".into(),
        call: Some("v3:a".into()),
        format: choice.codec.format(),
    })
}

fn audio(chunk: Option<u64>, timestamp_ms: Option<u64>) -> Event {
    Event::Media(Media {
        chunk,
        timestamp_ms,
        audio: vec![0x7f, 0xff, 0x80],
    })
}

#[test]
fn every_message_of_a_stream_is_read() {
    for (text, event) in [
        (
            r#"{"event":"connected","version":"1.0.0","stream_auth_token":"x"}"#,
            Event::Ignored,
        ),
        (START, started(PCMU)),
        (
            r#"{"event":"media","sequence_number":"4","stream_id":"32de","media":{"track":"inbound","chunk":"2","timestamp":"5","payload":"f/+A"}}"#,
            audio(Some(2), Some(5)),
        ),
        (r#"{"media":{"payload":"f\/+A"},"event":"media"}"#, audio(None, None)),
        (
            r#"{"event":"media","media":{"chunk":7,"timestamp":null,"payload":"f/+A"}}"#,
            audio(Some(7), None),
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
            r##"{"event":"dtmf","stream_id":"32de","sequence_number":"7","occurred_at":"2026-01-01T00:00:00Z","dtmf":{"digit":"#"}}"##,
            Event::Item(InboundItem::Digit('#')),
        ),
        (
            r#"{"event":"mark","sequence_number":"8","stream_id":"32de","mark":{"name":"u7"}}"#,
            Event::Item(InboundItem::Mark("u7".into())),
        ),
        (
            r#"{"event":"error","stream_id":"32de","payload":{"code":100004,"title":"invalid_media","detail":"x"}}"#,
            Event::Ignored,
        ),
        (r#"{"event":"error","payload":7}"#, Event::Ignored),
        (
            r#"{"event":"stop","sequence_number":"9","stream_id":"32de","stop":{"user_id":"u","call_control_id":"v3:a"}}"#,
            Event::Stop,
        ),
        (r#"{"event":"weather","media":7,"start":"soon"}"#, Event::Ignored),
    ] {
        assert_eq!(read(text), Ok(event), "{text}");
    }
}

#[test]
fn a_start_with_numbers_as_strings_or_without_channels_is_read() {
    let strings = START
        .replace(":8000", r#":"8000""#)
        .replace(r#""channels":1"#, r#""channels":"1""#);
    assert_eq!(read(&strings), Ok(started(PCMU)));
    assert_eq!(read(&START.replace(r#","channels":1"#, "")), Ok(started(PCMU)));
}

#[test]
fn the_line_stays_what_was_asked_for_whatever_comes() {
    let mut protocol = TelnyxProtocol::new(PCMU);
    assert_eq!(protocol.read_text(&START.replace("PCMU", "PCMA")), Ok(started(PCMU)));
    // The loudest A-law sample becomes the loudest mu-law sample.
    let frame = r#"{"event":"media","media":{"payload":"Kqo="}}"#;
    let Ok(Event::Media(heard)) = protocol.read_text(frame) else {
        panic!("no audio");
    };
    assert_eq!(heard.audio.len(), 2);
    assert!(heard.audio[0] < 0x08 && heard.audio[1] < 0x88, "{:x?}", heard.audio);
    let wide = START.replace("PCMU", "L16").replace("8000", "16000");
    assert_eq!(TelnyxProtocol::new(L16).read_text(&wide), Ok(started(L16)));
}

#[test]
fn a_corrupted_message_is_an_error_that_names_its_fault() {
    for (text, named) in [
        ("", "malformed"),
        ("[]", "malformed"),
        (r#"{"event":7}"#, "malformed"),
        (r#"{"media":{}}"#, "malformed"),
        (&START[..START.len() - 1], "malformed"),
        (&START.replace("call_control_id", "call_id"), "call_control_id"),
        (&START.replace("PCMU", "OPUS"), "OPUS at 8000 Hz"),
        (&START.replace("8000", "11025"), "11025 Hz"),
        (&START.replace(r#""channels":1"#, r#""channels":2"#), "2 channels"),
        (&START.replace("v3:a", ""), "start.call_control_id"),
        (&START.replace("32de", ""), "stream_id"),
        (&START.replace("32de", &"M".repeat(129)), "129 bytes"),
        (r#"{"event":"start"}"#, "without its `start`"),
        (r#"{"event":"media"}"#, "without its `media`"),
        (r#"{"event":"mark"}"#, "without its `mark`"),
        (r#"{"event":"dtmf"}"#, "without its `dtmf`"),
        (r#"{"event":"media","media":{"track":"inbound"}}"#, "payload"),
        (r#"{"event":"media","media":{"payload":"f/+"}}"#, "base64"),
        (r#"{"event":"dtmf","dtmf":{"digit":5}}"#, "string"),
        (r#"{"event":"mark","mark":{"name":""}}"#, "mark.name"),
    ] {
        let error = read(text).unwrap_err().to_string();
        assert!(error.contains(named), "{text}: {error}");
    }
    assert_eq!(TelnyxProtocol::new(PCMU).read_binary(&[1]), Err(MessageError::Binary));
}

/// Returns the messages that a writer sends for these items.
fn written(choice: LineChoice, items: &[OutboundItem]) -> Vec<Value> {
    let (mut writer, mut messages) = (super::writer(choice), Vec::new());
    for item in items {
        writer.write(item, &mut messages);
    }
    let text = |message| match message {
        MediaMessage::Text(text) => serde_json::from_str(&text).unwrap(),
        MediaMessage::Binary(_) => panic!("the stream is text"),
    };
    messages.into_iter().map(text).collect()
}

fn payload(message: &Value) -> Vec<u8> {
    BASE64.decode(message["media"]["payload"].as_str().unwrap()).unwrap()
}

#[test]
fn what_is_sent_has_telnyx_s_own_form() {
    assert_eq!(
        media("", &[0x7f, 0xff, 0x80]),
        r#"{"event":"media","media":{"payload":"f/+A"}}"#
    );
    assert_eq!(mark("", "u7"), r#"{"event":"mark","mark":{"name":"u7"}}"#);
    assert_eq!(clear(""), r#"{"event":"clear"}"#);
    assert_eq!(written(PCMU, &[OutboundItem::Close]), Vec::<Value>::new());
}

#[test]
fn a_tail_waits_for_more_or_is_filled_up_before_a_mark() {
    let sent = written(
        PCMU,
        &[
            OutboundItem::Audio(vec![1; 100]),
            OutboundItem::Audio(vec![2; 100]),
            OutboundItem::Audio(vec![3; 50]),
            OutboundItem::Mark("m1".into()),
            OutboundItem::Mark("m2".into()),
        ],
    );
    assert_eq!(payload(&sent[0]), [[1; 100], [2; 100]].concat());
    let mut tail = vec![3; 50];
    tail.resize(160, 0xff);
    assert_eq!(payload(&sent[1]), tail);
    assert_eq!(sent[2]["mark"]["name"], "m1");
    assert_eq!((sent[3]["mark"]["name"].as_str(), sent.len()), (Some("m2"), 4));
}

#[test]
fn a_tail_is_dropped_by_clear() {
    let sent = written(
        PCMU,
        &[
            OutboundItem::Audio(vec![1; 100]),
            OutboundItem::Clear,
            OutboundItem::Mark("m1".into()),
        ],
    );
    assert_eq!(sent.len(), 2);
    assert_eq!(sent[0]["event"], "clear");
}

#[test]
fn linear_samples_go_out_in_the_chosen_order() {
    let item = [OutboundItem::Audio([0x34, 0x12].repeat(320))];
    assert_eq!(payload(&written(L16, &item)[0]), [0x12, 0x34].repeat(320));
    let little = LineChoice {
        order: ByteOrder::Little,
        ..L16
    };
    assert_eq!(payload(&written(little, &item)[0]), [0x34, 0x12].repeat(320));
}

proptest! {
    #[test]
    fn all_audio_goes_out_once_in_order_in_pieces_that_telnyx_takes(
        pieces in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 1..9_000), 1..12),
        wide in any::<bool>(),
    ) {
        let choice = if wide { L16 } else { PCMU };
        let format = choice.codec.format();
        let mut items: Vec<OutboundItem> = pieces.iter().cloned().map(OutboundItem::Audio).collect();
        items.push(OutboundItem::Mark("end".into()));
        let sent = written(choice, &items);
        let mut bytes = Vec::new();
        for message in &sent[..sent.len() - 1] {
            let mut piece = payload(message);
            prop_assert!(piece.len() >= format.bytes_for_ms(MIN_AUDIO_MS));
            prop_assert!(piece.len() <= format.bytes_for_ms(MAX_AUDIO_MS));
            prop_assert!(piece.len().is_multiple_of(2));
            prop_assert!(message.to_string().len() < 64 * 1024);
            choice.reorder(format.encoding, &mut piece);
            bytes.extend(piece);
        }
        let whole = pieces.concat();
        prop_assert!(bytes.len() < whole.len() + format.bytes_for_ms(MIN_AUDIO_MS));
        prop_assert_eq!(&bytes[..whole.len()], &whole[..]);
        prop_assert!(bytes[whole.len()..].iter().all(|byte| *byte == media::codec::silence(format.encoding)));
    }

    #[test]
    fn any_mark_comes_back_as_it_was_sent(name in "\\PC{1,30}") {
        prop_assert_eq!(read(&mark("", &name)), Ok(Event::Item(InboundItem::Mark(name))));
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "\\PC{0,200}", at in 0..START.len(), with in any::<char>()) {
        let _ = read(&text);
        let damaged: String = START.chars().enumerate().map(|(i, c)| if i == at { with } else { c }).collect();
        let _ = read(&damaged);
    }
}
