//! Tests of the protocol with each message of the reference, intact and corrupted.

use domain::ports::usage::Meter;
use proptest::prelude::*;

use media::format::LineFormat;

use super::*;
use crate::registry::deepgram::DEEPGRAM;

const TURN: &str = r#"{"type":"TurnInfo","request_id":"r","sequence_id":7,"event":"EndOfTurn","turn_index":0,"audio_window_start":0.0,
 "audio_window_end":2.1,"transcript":"Hi I need help.","words":[{"word":"Hi","confidence":0.99,"start":0.1,"end":0.3}],
 "end_of_turn_confidence":0.83,"trigger":"model"}"#;

fn flux(model: &str, language: &str, hinglish: bool) -> Flux {
    let endpoint = Endpoint::new(DEEPGRAM.name, DEEPGRAM.address.as_ref().unwrap(), "http://127.0.0.1:1");
    let config = TranscriberConfig {
        language: language.into(),
        hinglish,
        keywords: vec!["Ann".into()],
        format: LineFormat::MULAW_8000,
        meter: Meter::default(),
    };
    Flux::new(&endpoint, model, &config)
}

#[test]
fn the_model_fits_the_language() {
    for (model, language, hinglish, wanted) in [
        ("flux", "en-IN", false, "model=flux-general-en&"),
        ("flux", "es", false, "model=flux-general-multi&"),
        ("flux", "en", true, "language_hint=hi&language_hint=en&keyterm=Ann"),
        ("flux-general-multi", "pt-BR", false, "language_hint=pt&keyterm=Ann"),
        ("flux-general-en", "de", false, "eager_eot_threshold=0.5&keyterm=Ann"),
    ] {
        let flux = flux(model, language, hinglish);
        let Request { url, headers, .. } = flux.request();
        assert!(
            url.starts_with("ws://127.0.0.1:1/v2/listen?") && url.contains(wanted),
            "{url}"
        );
        assert!(headers.is_empty() && !url.contains("&language="));
    }
}

#[test]
fn every_message_is_read_or_passed_over() {
    let mut flux = flux("flux", "en", false);
    let text = || "Hi I need help.".to_owned();
    let mut read = |event: &str| flux.read(&TURN.replace("EndOfTurn", event)).unwrap();
    assert_eq!(read("StartOfTurn"), Some(RecogniserEvent::Interim(text())));
    assert_eq!(read("Update"), Some(RecogniserEvent::Interim(text())));
    assert_eq!(
        read("EagerEndOfTurn"),
        Some(RecogniserEvent::TurnPaused { text: text() })
    );
    assert_eq!(read("TurnResumed"), Some(RecogniserEvent::TurnResumed { text: text() }));
    assert_eq!(read("Something"), None);
    assert!(flux.finalize().is_some());
    let ended = RecogniserEvent::TurnEnded {
        text: text(),
        up_to_s: 2.1,
    };
    assert_eq!(flux.read(TURN).unwrap(), Some(ended.clone()));
    assert_eq!(flux.read(&json::doubled(TURN)).unwrap(), Some(ended));
    assert_eq!(flux.finalize(), None, "there is no turn to end");
    assert_eq!(
        flux.read(r#"{"type":"Connected","request_id":"r","sequence_id":0}"#)
            .unwrap(),
        Some(RecogniserEvent::Ready)
    );
    for other in [
        r#"{"type":"ConfigureSuccess","request_id":"r"}"#,
        r#"{"type":"Novelty"}"#,
        "{}",
    ] {
        assert_eq!(flux.read(other).unwrap(), None);
    }
    let error = r#"{"type":"Error","sequence_id":1,"code":"X","description":"it broke"}"#;
    assert_eq!(flux.read(error), Err(Failure::Unavailable("X: it broke".into())));
}

#[test]
fn what_cannot_be_read_may_have_been_the_end() {
    for spoilt in [
        "{",
        &TURN[..100],
        &TURN.replace("\"transcript\"", "\"text\""),
        &TURN.replace("2.1", "\"2.1\""),
        r#"{"type":"Error","code":7}"#,
    ] {
        assert!(
            matches!(flux("flux", "en", false).read(spoilt), Err(Failure::Protocol(_))),
            "{spoilt}"
        );
    }
}

proptest! {
    #[test]
    fn no_message_does_harm(text in ".{0,200}", cut in 0..TURN.len(), byte in any::<u8>()) {
        let mut flux = flux("flux", "en", false);
        // Any result is fine as long as it does not panic.
        let _ = flux.read(&text);
        let mut spoilt = TURN.as_bytes().to_vec();
        spoilt[cut] = byte;
        let _ = flux.read(&String::from_utf8_lossy(&spoilt));
    }
}
