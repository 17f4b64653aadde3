//! Tests of the protocol with each message of the reference, intact and corrupted.

use domain::ports::usage::Meter;
use proptest::prelude::*;

use super::*;
use crate::registry::elevenlabs::ELEVENLABS;
use net::key::Key;

fn scribe(language: &str, hinglish: bool, sample_rate: u32) -> Scribe {
    let endpoint = Endpoint {
        key: Some(Key::new("secret")),
        ..Endpoint::new(
            ELEVENLABS.name,
            ELEVENLABS.address.as_ref().unwrap(),
            "https://api.elevenlabs.io",
        )
    };
    let config = TranscriberConfig {
        language: language.into(),
        hinglish,
        keywords: vec!["Ann Lee".into()],
        format: LineFormat::of_rate(sample_rate),
        meter: Meter::default(),
    };
    Scribe::new(&endpoint, None, &config)
}

#[test]
fn a_connection_and_a_chunk_are_as_the_reference_has_them() {
    let asked = scribe("en-GB", false, 16_000);
    let Request { url, headers, .. } = asked.request();
    assert_eq!(
        url,
        "wss://api.elevenlabs.io/v1/speech-to-text/realtime?model_id=scribe_v2_realtime&audio_format=pcm_16000\
         &commit_strategy=manual&language_code=en&keyterms=Ann+Lee"
    );
    assert_eq!(headers, &[("xi-api-key", "secret".to_owned())]);
    assert!(
        scribe("en", true, 8_000)
            .request()
            .url
            .contains("audio_format=ulaw_8000&commit_strategy=manual&language_code=hi")
    );
    let mut scribe = scribe("en", false, 8_000);
    let chunk = |audio: &str, commit: bool| {
        Message::text(format!(
            r#"{{"message_type":"input_audio_chunk","audio_base_64":"{audio}","commit":{commit},"sample_rate":8000}}"#
        ))
    };
    assert_eq!(scribe.audio(&[1, 2, 3]), chunk("AQID", false));
    assert_eq!(scribe.finalize(), Some(chunk("", true)));
}

#[test]
fn every_message_is_read_or_passed_over() {
    let mut scribe = scribe("en", false, 8_000);
    let mut read = |text: &str| scribe.read(text);
    let committed = |text: &str| RecogniserEvent::Final {
        text: text.into(),
        up_to_s: None,
        answers: true,
    };
    for (text, want) in [
        (
            r#"{"message_type":"session_started","session_id":"s","config":{}}"#,
            Some(RecogniserEvent::Ready),
        ),
        (
            r#"{"message_type":"partial_transcript","text":"Hi"}"#,
            Some(RecogniserEvent::Interim("Hi".into())),
        ),
        (
            r#"{"message_type":"committed_transcript","text":"Hi."}"#,
            Some(committed("Hi.")),
        ),
        (
            r#"{"message_type":"committed_transcript_with_timestamps","text":"Hi.","language_code":"en","words":[]}"#,
            None,
        ),
        (
            r#"{"message_type":"insufficient_audio_activity","error":"e"}"#,
            Some(committed("")),
        ),
        (
            r#"{"message_type":"commit_throttled","error":"e"}"#,
            Some(RecogniserEvent::AskAgain),
        ),
        (r#"{"message_type":"novelty"}"#, None),
        (r#"{"other":1}"#, None),
    ] {
        assert_eq!(read(text).as_ref(), Ok(&want), "{text}");
        assert_eq!(read(&crate::json::doubled(text)), Ok(want), "{text}");
    }
    let mut error = |kind: &str| read(&format!(r#"{{"message_type":"{kind}","error":"e"}}"#)).unwrap_err();
    for kind in ["auth_error", "quota_exceeded"] {
        assert_eq!(error(kind), Failure::Refused(format!("{kind}: e")));
    }
    for kind in ["input_error", "chunk_size_exceeded"] {
        assert_eq!(error(kind), Failure::OurFault(format!("{kind}: e")));
    }
    for kind in ["rate_limited", "resource_exhausted"] {
        assert_eq!(error(kind), Failure::Busy { retry_after: None });
    }
    for kind in ["transcriber_error", "queue_overflow", "new_error"] {
        assert_eq!(error(kind), Failure::Unavailable(format!("{kind}: e")));
    }
    assert_eq!(error("session_time_limit_exceeded"), expired());
}

#[test]
fn what_cannot_be_read_may_have_been_a_transcript() {
    for spoilt in [
        "",
        r#"{"message_type":"committed_transcript"}"#,
        r#"{"message_type":"partial_transcript","text":7}"#,
        r#"{"message_type":"committed_transcript","text":"Hi"#,
    ] {
        let read = scribe("en", false, 8_000).read(spoilt);
        assert!(matches!(read, Err(Failure::Protocol(_))), "{spoilt}");
    }
}

proptest! {
    #[test]
    fn no_message_does_harm(text in ".{0,200}", kind in "[a-z_]{0,30}") {
        let mut scribe = scribe("en", false, 8_000);
        // Any result is fine as long as it does not panic.
        let _ = scribe.read(&text);
        let _ = scribe.read(&format!(r#"{{"message_type":"{kind}","text":"{kind}"}}"#));
    }
}
