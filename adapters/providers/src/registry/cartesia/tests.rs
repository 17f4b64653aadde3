//! Tests of Cartesia's messages, intact and corrupted.

use domain::ports::usage::Meter;
use proptest::prelude::*;

use super::*;

fn dialect(sample_rate: u32) -> TtsSocket {
    let address = CARTESIA.address.as_ref().unwrap();
    let endpoint = Endpoint::new(CARTESIA.name, address, "https://api.cartesia.ai");
    Cartesia::new(endpoint, None).protocol(&VoiceConfig {
        provider: None,
        voice: "v".into(),
        language: "hi-IN".into(),
        sample_rate,
        format: None,
        speed: 1.2,
        stability: 0.5,
        similarity_boost: 0.8,
        latency: 3,
        dictionaries: Vec::new(),
        meter: Meter::default(),
    })
}

#[test]
fn a_text_is_a_context_of_its_own() {
    let mut out = Vec::new();
    dialect(8_000).begin(3, "Hello. ", &mut out);
    let message: Value = serde_json::from_str(&out[0]).unwrap();
    assert_eq!(message["context_id"], "t3");
    assert_eq!(message["continue"], false);
    assert_eq!(message["max_buffer_delay_ms"], 0);
    assert_eq!(message["language"], "hi");
    assert_eq!(message["generation_config"]["speed"], 1.2);
    let format = json!({ "container": "raw", "encoding": "pcm_mulaw", "sample_rate": 8_000 });
    assert_eq!(message["output_format"], format);
}

#[test]
fn every_message_is_read_and_others_are_ignored() {
    let dialect = dialect(16_000);
    let chunk = r#"{"type":"chunk","data":"AAAA","context_id":"t1","done":false,"status_code":206,"step_time":1.5}"#;
    let heard = dialect.read(chunk).unwrap();
    let doubled = crate::json::doubled(chunk);
    assert_eq!(dialect.read(&doubled).as_ref(), Ok(&heard), "{doubled}");
    assert_eq!(
        (heard.id, heard.audio.as_deref(), heard.ended),
        (Some(1), Some("AAAA"), false)
    );
    let times = r#"{"type":"timestamps","context_id":"t1",
        "word_timestamps":{"words":["Hello","you"],"start":[0.0,0.4],"end":[0.35,0.8]}}"#;
    let heard = dialect.read(times).unwrap();
    let spoken: Vec<_> = heard.spoken.iter().map(|s| (s.text.as_ref(), s.end_ms)).collect();
    assert_eq!(spoken, [("Hello", 350.0), ("you", 800.0)]);
    assert!(
        dialect
            .read(r#"{"type":"done","context_id":"t1","done":true}"#)
            .unwrap()
            .ended
    );
    for ignored in [
        r#"{"type":"flush_done","context_id":"t1","done":false}"#,
        r#"{"type":"chunk","data":"AAAA","context_id":"other"}"#,
        r#"{"type":"news"}"#,
    ] {
        let heard = dialect.read(ignored).unwrap();
        assert!(
            heard.audio.is_none() && !heard.ended && heard.failed.is_none(),
            "{ignored}"
        );
    }
    let error = r#"{"type":"error","error_code":"concurrency_limited","title":"Too many","status_code":429,
        "context_id":"t1","done":true}"#;
    assert_eq!(
        dialect.read(error).unwrap().failed,
        Some(Failure::Busy { retry_after: None })
    );
    assert!(matches!(dialect.read("{\"type\":7}"), Err(Failure::Protocol(_))));
}

proptest! {
    #[test]
    fn no_message_panics(message in "\\PC{0,60}", end in any::<f64>()) {
        let _ = dialect(8_000).read(&message);
        let odd = json!({ "type": message, "context_id": message, "word_timestamps": { "words": [message], "end": [end] } });
        let _ = dialect(8_000).read(&odd.to_string());
    }
}
