//! Tests of ElevenLabs' messages, intact and corrupted, and of the words in their alignments.

use domain::ports::usage::Meter;
use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::protocols::tts::{http_audio, protocol::Spoken, spoken_text::SpokenText};
use crate::registry::elevenlabs::ELEVENLABS;
use net::key::Key;

fn endpoint() -> Endpoint {
    Endpoint {
        key: Some(Key::new("secret")),
        ..Endpoint::new(NAME, ELEVENLABS.address.as_ref().unwrap(), "https://api.elevenlabs.io")
    }
}

fn config(sample_rate: u32, latency: u8) -> VoiceConfig {
    VoiceConfig {
        provider: None,
        voice: "a voice/1".into(),
        language: "en-US".into(),
        sample_rate,
        format: None,
        speed: 2.0,
        stability: 0.4,
        similarity_boost: 1.5,
        latency,
        dictionaries: Vec::new(),
        meter: Meter::default(),
    }
}

fn dialect(sample_rate: u32, latency: u8) -> MultiStream {
    let config = config(sample_rate, latency);
    let source = ElevenLabs::new(endpoint(), None, http_audio::client());
    MultiStream {
        endpoint: endpoint(),
        model: source.model(&config),
        voice: config.voice.clone(),
        language: plain_language(&config),
        format: line_format(&config),
        settings: settings(&source.model(&config), &config),
        locators: Vec::new(),
    }
}

#[test]
fn the_address_asks_for_what_the_line_can_use() {
    let url = dialect(8_000, 3).url();
    assert!(
        url.starts_with("wss://api.elevenlabs.io/v1/text-to-speech/a%20voice%2F1/multi-stream-input?"),
        "{url}"
    );
    for part in [
        "model_id=eleven_flash_v2_5",
        "output_format=ulaw_8000",
        "auto_mode=true",
        "language_code=en",
    ] {
        assert!(url.contains(part), "{part} in {url}");
    }
    let url = dialect(16_000, 1).url();
    assert!(
        url.contains("output_format=pcm_16000") && url.contains("eleven_multilingual_v2"),
        "{url}"
    );
    assert!(!url.contains("language_code"), "{url}");
}

#[test]
fn a_text_is_a_context_that_is_opened_flushed_and_closed() {
    let mut out = Vec::new();
    dialect(8_000, 3).begin(7, "Hello there.  ", &mut out);
    let out: Vec<Value> = out.iter().map(|text| serde_json::from_str(text).unwrap()).collect();
    assert_eq!(
        out,
        [
            json!({ "text": " ", "context_id": "t7",
                    "voice_settings": { "stability": 0.4, "similarity_boost": 1.0, "speed": 1.2 } }),
            json!({ "text": "Hello there. ", "context_id": "t7" }),
            json!({ "context_id": "t7", "flush": true }),
            json!({ "context_id": "t7", "close_context": true }),
        ]
    );
}

#[test]
fn either_spelling_is_read() {
    for (context, alignment, starts, durations) in [
        ("contextId", "alignment", "charStartTimesMs", "charDurationsMs"),
        ("context_id", "alignment", "charsStartTimesMs", "charsDurationsMs"),
        (
            "contextId",
            "normalizedAlignment",
            "char_start_times_ms",
            "char_durations_ms",
        ),
        (
            "contextId",
            "normalized_alignment",
            "chars_start_times_ms",
            "chars_durations_ms",
        ),
        (
            "contextId\":\"t3\",\"context_id",
            "alignment",
            "charStartTimesMs",
            "charDurationsMs\":null,\"charsDurationsMs",
        ),
        (
            "isFinal\":false,\"is_final\":true,\"contextId",
            "alignment",
            "chars_start_times_ms\":[7],\"charsStartTimesMs",
            "charDurationsMs\":[20,30],\"charsDurationsMs\":[9,9],\"char_durations_ms",
        ),
        (
            "contextId",
            "normalizedAlignment\":null,\"normalized_alignment",
            "charStartTimesMs\":[0,20],\"charStartTimesMs",
            "charDurationsMs",
        ),
    ] {
        let message = format!(
            r#"{{"audio":"AAAA","{context}":"t3","more":[1],
                "{alignment}":{{"chars":["H","\""],"{starts}":[0,20],"{durations}":[20,30]}}}}"#
        );
        let heard = dialect(8_000, 3).read(&message).map(|heard| {
            let spoken: Vec<_> = heard.spoken.iter().map(|s| (s.text.to_string(), s.end_ms)).collect();
            (
                heard.id,
                heard.audio.map(std::borrow::Cow::into_owned),
                spoken,
                heard.ended,
            )
        });
        let spoken = vec![("H".to_owned(), 20.0), ("\"".to_owned(), 50.0)];
        assert_eq!(heard, Ok((Some(3), Some("AAAA".into()), spoken, false)), "{message}");
        let doubled = crate::json::doubled(&message);
        assert_eq!(
            dialect(8_000, 3).read(&doubled),
            dialect(8_000, 3).read(&message),
            "{doubled}"
        );
    }
}

#[test]
fn what_is_not_ours_or_not_known_is_ignored() {
    for message in [
        r#"{"audio":"AAAA","contextId":"other"}"#,
        r#"{"audio":"AAAA"}"#,
        r#"{"type":"new thing","contextId":"t"}"#,
        "{}",
    ] {
        assert_eq!(dialect(8_000, 3).read(message), Ok(VoiceEvent::default()), "{message}");
    }
    for message in ["", "{\"audio\":7,\"contextId\":\"t1\"}", "{\"audio\":\"AA", "null"] {
        assert!(
            matches!(dialect(8_000, 3).read(message), Err(Failure::Protocol(_))),
            "{message}"
        );
    }
}

#[test]
fn an_error_is_its_contexts_or_the_connections() {
    let dialect = dialect(8_000, 3);
    let message = r#"{"message":"no characters left","error":"quota_exceeded","code":1008}"#;
    let heard = dialect.read(message).unwrap();
    assert!(matches!((heard.id, heard.failed), (None, Some(Failure::Refused(_)))));
    let message = r#"{"contextId":"t2","error":"system_busy","message":"later"}"#;
    let heard = dialect.read(message).unwrap();
    assert!(matches!(
        (heard.id, heard.failed),
        (Some(2), Some(Failure::Busy { .. }))
    ));
}

/// Plays messages with an alignment cut anywhere, each with the audio of its characters.
fn words(text: &str, cuts: &[usize]) -> Vec<(usize, u64)> {
    let all: Vec<char> = text.chars().collect();
    let mut spoken = SpokenText::new(text, LineFormat::MULAW_8000, 8_000).unwrap();
    let mut rest = all.as_slice();
    for cut in cuts.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (part, behind) = rest.split_at((*cut).min(rest.len()));
        rest = behind;
        use base64::Engine;
        let audio = base64::engine::general_purpose::STANDARD.encode(vec![0xFF; part.len() * 80]);
        let times = part.iter().enumerate().map(|(n, c)| Spoken {
            text: c.to_string().into(),
            is_word: false,
            end_ms: 10.0 * (n + 1) as f64,
            from_here: true,
        });
        let heard = VoiceEvent {
            id: Some(0),
            audio: Some(audio.into()),
            spoken: times.collect(),
            ..VoiceEvent::default()
        };
        spoken.take(&heard).unwrap();
    }
    spoken.finish();
    let pieces = std::iter::from_fn(|| spoken.next());
    pieces
        .flat_map(|piece| piece.words)
        .map(|word| (word.text_end, word.sample_end))
        .collect()
}

proptest! {
    #[test]
    fn however_an_alignment_is_cut_every_word_has_its_end(
        text in "[a-z,é ]{1,60}",
        cuts in prop::collection::vec(1usize..20, 1..10),
    ) {
        let ends = text.split_whitespace().map(|w| w.as_ptr().addr() - text.as_ptr().addr() + w.len());
        let want: Vec<_> = ends.map(|end| (end, 80 * text[..end].chars().count() as u64)).collect();
        prop_assert_eq!(words(&text, &cuts), want);
    }

    #[test]
    fn no_message_panics(message in "\\PC{0,60}", chars in prop::collection::vec("\\PC{0,2}", 0..5), at in any::<f64>()) {
        let dialect = dialect(8_000, 3);
        let _ = dialect.read(&message);
        let odd = json!({ "contextId": "t1", "audio": message, "alignment": { "chars": chars,
            "charStartTimesMs": [at, -at, 1e300], "charDurationsMs": [at] } }).to_string();
        if let Ok(heard) = dialect.read(&odd) {
            let mut spoken = SpokenText::new("two words", LineFormat::MULAW_8000, 8_000).unwrap();
            let _ = spoken.take(&heard);
        }
    }
}
