//! Tests of the protocol with each message of the reference, intact and corrupted.

use domain::ports::usage::Meter;
use proptest::prelude::*;

use super::*;
use crate::registry::deepgram::DEEPGRAM;
use net::key::Key;

const FINAL: &str = r#"{"type":"Results","channel_index":[0,1],"duration":1.65,"start":2.0,"is_final":true,"speech_final":false,
 "channel":{"alternatives":[{"transcript":"Testing. 123.","confidence":0.78,
   "words":[{"word":"testing","start":1.07,"end":1.57,"confidence":0.69,"punctuated_word":"Testing."}]}]},
 "metadata":{"request_id":"x","model_info":{"name":"n","version":"v","arch":"a"},"model_uuid":"u"},"from_finalize":false}"#;

fn listen() -> Listen {
    let endpoint = Endpoint {
        key: Some(Key::new("secret")),
        ..Endpoint::new(
            DEEPGRAM.name,
            DEEPGRAM.address.as_ref().unwrap(),
            "https://api.deepgram.com",
        )
    };
    let config = TranscriberConfig {
        language: "en-US".into(),
        hinglish: false,
        keywords: Vec::new(),
        format: LineFormat::of_rate(16_000),
        meter: Meter::default(),
    };
    Listen::new(&endpoint, None, &config)
}

#[test]
fn a_connection_asks_for_what_turn_taking_needs() {
    let listen = listen();
    let Request { url, headers, .. } = listen.request();
    assert_eq!(
        url,
        "wss://api.deepgram.com/v1/listen?model=nova-3&language=en-US&encoding=linear16&sample_rate=16000&channels=1\
         &interim_results=true&endpointing=false&smart_format=true&no_delay=true&filler_words=true"
    );
    assert_eq!(headers, &[("authorization", "Token secret".to_owned())]);
}

#[test]
fn every_message_is_read_or_passed_over() {
    let read = |text: &str| listen().read(text).unwrap();
    let heard = |text: &str, answers| RecogniserEvent::Final {
        text: text.into(),
        up_to_s: Some(3.65),
        answers,
    };
    assert_eq!(read(FINAL), Some(heard("Testing. 123.", false)));
    assert_eq!(read(&json::doubled(FINAL)), Some(heard("Testing. 123.", false)));
    let finalized = FINAL.replace("\"from_finalize\":false", "\"from_finalize\":true");
    assert_eq!(read(&finalized), Some(heard("Testing. 123.", true)));
    let interim = FINAL.replace("\"is_final\":true", "\"is_final\":false");
    assert_eq!(read(&interim), Some(RecogniserEvent::Interim("Testing. 123.".into())));
    assert_eq!(
        read(&FINAL.replace(",\"from_finalize\":false", "")),
        Some(heard("Testing. 123.", false))
    );
    for other in [
        r#"{"type":"SpeechStarted","channel":[0,1],"timestamp":9.54}"#,
        r#"{"type":"UtteranceEnd","channel":[0,1],"last_word_end":2.395}"#,
        r#"{"type":"Metadata","transaction_key":"deprecated","request_id":"r","sha256":"s","created":"c","duration":0.0,"channels":1}"#,
        r#"{"type":"Unheard-of","channel":7}"#,
        r#"{"no":"type"}"#,
    ] {
        assert_eq!(read(other), None, "{other}");
    }
}

#[test]
fn what_cannot_be_read_may_have_been_a_final() {
    for spoilt in [
        "",
        "nonsense",
        r#"{"type":7}"#,
        &FINAL[..FINAL.len() / 2],
        &FINAL.replace("\"transcript\"", "\"transkript\""),
        &FINAL.replace("\"start\":2.0", "\"start\":\"two\""),
        &FINAL.replace("\"alternatives\":[", "\"alternatives\":7,\"x\":["),
    ] {
        assert!(matches!(listen().read(spoilt), Err(Failure::Protocol(_))), "{spoilt}");
    }
}

#[test]
fn a_close_tells_whether_to_come_again() {
    use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
    let why = |code: u16, reason: &str| {
        closed(Some(&CloseFrame {
            code: CloseCode::from(code),
            reason: reason.to_owned().into(),
        }))
    };
    assert!(matches!(why(1008, "DATA-0000"), Failure::OurFault(_)));
    assert_eq!(why(1011, "NET-0001"), expired());
    assert_eq!(why(1011, "NET-0001: no audio in time"), expired());
    assert!(matches!(
        why(1008, "no key term \"DATA-0000\""),
        Failure::Unavailable(_)
    ));
    assert!(matches!(why(1011, "NET-0000"), Failure::Unavailable(_)));
    assert!(matches!(closed(None), Failure::Unavailable(_)));
}

proptest! {
    #[test]
    fn no_message_does_harm(text in ".{0,200}", cut in 0..FINAL.len(), byte in any::<u8>()) {
        let mut listen = listen();
        // Any result is fine as long as it does not panic.
        let _ = listen.read(&text);
        let mut spoilt = FINAL.as_bytes().to_vec();
        spoilt[cut] = byte;
        let _ = listen.read(&String::from_utf8_lossy(&spoilt));
    }
}
