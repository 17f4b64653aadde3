//! Tests with the local program, installed and missing.

use domain::ports::usage::Meter;

use super::*;

fn config(voice: &str, language: &str) -> VoiceConfig {
    VoiceConfig {
        provider: None,
        voice: voice.into(),
        language: language.into(),
        sample_rate: 8_000,
        format: None,
        speed: 1.0,
        stability: 0.5,
        similarity_boost: 0.8,
        latency: 3,
        dictionaries: Vec::new(),
        meter: Meter::default(),
    }
}

#[test]
fn a_voice_is_a_plain_name_or_its_languages() {
    for (name, language, want) in [
        ("", "en", "en-us"),
        ("", "en-GB", "en-gb"),
        ("", "hi-IN", "hi"),
        ("en-us+f3", "en", "en-us+f3"),
        ("--help", "en", "en-us"),
        ("../x", "en", "en-us"),
        ("", "; rm", "en-us"),
    ] {
        assert_eq!(voice(&config(name, language)), want, "{name} {language}");
    }
}

#[tokio::test]
async fn a_missing_program_is_said_in_words() {
    let source = Espeak::at("/nowhere/espeak-ng");
    let mut pieces = source.open(&config("", "en")).speak("Hello.");
    let Some(Err(Failure::OurFault(why))) = pieces.next().await else {
        panic!("no refusal")
    };
    assert!(why.starts_with("espeak-ng is not installed"), "{why}");
    assert!(pieces.next().await.is_none());
}

#[tokio::test]
async fn something_else_than_a_wav_is_refused() {
    // `cat` fails with a usage message and gives no WAV.
    let source = Espeak::at("cat");
    let mut pieces = source.open(&config("", "en")).speak("Hello.");
    assert!(matches!(pieces.next().await, Some(Err(_))));
}

#[tokio::test]
async fn it_speaks_where_it_is_installed() {
    let source = Espeak::new();
    let mut voice = source.open(&config("", "en"));
    let mut pieces = voice.speak("-v; $(reboot) Good morning, this is a call about your appointment.");
    let mut samples = Vec::new();
    while let Some(piece) = pieces.next().await {
        match piece {
            Ok(piece) => samples.extend(piece.samples),
            Err(Failure::OurFault(why)) => return eprintln!("skipped: {why}"),
            Err(other) => panic!("{other:?}"),
        }
    }
    let seconds = samples.len() / 8_000;
    assert!((3..12).contains(&seconds), "{seconds} s");
    let loud = samples.iter().filter(|sample| sample.abs() > 500).count();
    assert!(loud > samples.len() / 10, "{loud} of {} are loud", samples.len());
    // When speech is dropped half-way, its process and permit are released.
    for _ in 0..3 * MOST_PROCESSES {
        let mut pieces = voice.speak("This one is dropped.");
        assert!(pieces.next().await.unwrap().is_ok());
    }
}
