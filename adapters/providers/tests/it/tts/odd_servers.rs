//! Tests of servers with invalid answers: none, silence, other audio than requested, or audio that is far too
//! slow. It is never taken for speech, never kept, and counts against the server.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::{
    Router,
    http::{HeaderMap, HeaderValue, StatusCode, header},
};
use base64::{Engine, engine::general_purpose::STANDARD};
use domain::ports::{
    synthesizer::{SpeechError, Synthesizer, VoiceConfig},
    usage::Meter,
};
use futures_util::{SinkExt, StreamExt};
use net::guard::{Guards, Kind};
use providers::{settings::ProviderSettings, tts::TextToSpeech};
use serde_json::{Value, json};
use tokio::{
    net::{TcpListener, TcpStream},
    time::sleep,
};
use tokio_tungstenite::{accept_async, tungstenite::Message};

use super::{Spoken, TEXT, config, listen, tick};

const KEY: &str = "sk-Canary-0123456789";

/// Server, and voices that use it alone.
struct Odd {
    voices: TextToSpeech,
    guards: Guards,
    requests: Arc<AtomicUsize>,
}

impl Odd {
    fn new(provider: &str, url: &str, requests: Arc<AtomicUsize>) -> Self {
        tick();
        let settings = ProviderSettings::read(|name| match name {
            "OPENAI_BASE_URL" => Some(format!("{url}/v1")),
            "CARTESIA_BASE_URL" => Some(url.to_owned()),
            name if name.ends_with("_API_KEY") => Some(KEY.into()),
            _ => None,
        });
        let guards = Guards::default();
        let choices = vec![provider.parse().unwrap()];
        Self {
            voices: TextToSpeech::new(choices, &settings.unwrap(), &guards, None).unwrap(),
            guards,
            requests,
        }
    }

    /// Starts a server that answers every request for speech this way.
    async fn http(status: u16, kind: Option<&str>, body: &[u8]) -> Self {
        let requests = Arc::<AtomicUsize>::default();
        let mut headers = HeaderMap::new();
        if let Some(kind) = kind {
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_str(kind).unwrap());
        }
        let (counted, body, status) = (requests.clone(), body.to_vec(), StatusCode::from_u16(status).unwrap());
        let answer = move || {
            counted.fetch_add(1, Ordering::Relaxed);
            // A vector would be given a content type.
            let answer = (status, headers.clone(), axum::body::Body::from(body.clone()));
            async move { answer }
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, Router::new().fallback(answer)).await });
        Self::new("openai", &url, requests)
    }

    /// Starts a server that sends these messages for each text, each after a pause. `CONTEXT` stands for the
    /// text's name.
    async fn cartesia(script: Vec<(u64, String)>) -> Self {
        let requests = Arc::<AtomicUsize>::default();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let counted = requests.clone();
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                tokio::spawn(serve(socket, script.clone(), counted.clone()));
            }
        });
        Self::new("cartesia", &url, requests)
    }

    /// Speaks the first text of a call.
    async fn speak(&self, text: &str) -> Spoken {
        self.speak_as("", text).await
    }

    async fn speak_as(&self, voice: &str, text: &str) -> Spoken {
        let config = VoiceConfig {
            voice: voice.to_owned(),
            ..config(8_000, &Meter::default())
        };
        listen(self.voices.open(config).speak(text.to_owned())).await
    }

    fn is_down(&self) -> bool {
        ["openai", "cartesia"]
            .iter()
            .any(|provider| self.guards.get(Kind::TextToSpeech, provider).is_down())
    }

    fn requests(&self) -> usize {
        self.requests.load(Ordering::Relaxed)
    }
}

async fn serve(socket: TcpStream, script: Vec<(u64, String)>, counted: Arc<AtomicUsize>) {
    // On a paused clock a late acknowledgement would be minutes late.
    socket.set_nodelay(true).unwrap();
    let mut socket = accept_async(socket).await.unwrap();
    while let Some(Ok(message)) = socket.next().await {
        let Ok(Value::Object(asked)) = serde_json::from_str(message.to_text().unwrap_or_default()) else {
            continue;
        };
        if asked.get("transcript").is_none() {
            continue;
        }
        counted.fetch_add(1, Ordering::Relaxed);
        for (pause_ms, message) in &script {
            sleep(Duration::from_millis(*pause_ms)).await;
            let message = message.replace("CONTEXT", asked["context_id"].as_str().unwrap());
            if socket.send(Message::text(message)).await.is_err() {
                return;
            }
        }
    }
}

/// Loud tone at 8 kHz in mu-law.
fn tone(ms: usize) -> Vec<u8> {
    (0..8 * ms)
        .map(|n| if (n / 10).is_multiple_of(2) { 0x10 } else { 0x90 })
        .collect()
}

/// Loud tone at 24 kHz in 16 bits, starting from silence.
fn linear_tone(ms: usize) -> Vec<u8> {
    let sample = |n: usize| if (n / 20).is_multiple_of(2) { 6_000_i16 } else { -6_000 };
    let samples = (0..24 * ms).map(|n| if n == 0 { 0 } else { sample(n) });
    samples.flat_map(i16::to_le_bytes).collect()
}

fn chunk(audio: &[u8]) -> String {
    json!({ "type": "chunk", "context_id": "CONTEXT", "data": STANDARD.encode(audio), "done": false }).to_string()
}

fn done() -> String {
    json!({ "type": "done", "context_id": "CONTEXT", "done": true }).to_string()
}

/// Returns the message of an error, or a text that says there was none.
fn why(spoken: &Spoken) -> String {
    match &spoken.error {
        Some(error) => error.to_string(),
        None => format!("no error, {} samples in {:?}", spoken.samples.len(), spoken.took),
    }
}

#[tokio::test(start_paused = true)]
async fn a_text_of_which_nothing_sounds_has_failed_and_the_provider_goes_down() {
    let silence = vec![0xFF; 8 * 100];
    for (case, odd) in [
        ("an empty body", Odd::http(200, Some("audio/pcm"), b"").await),
        ("one byte", Odd::http(200, None, b"x").await),
        ("silence", Odd::http(200, None, &[0; 24_000]).await),
        ("an end at once", Odd::cartesia(vec![(0, done())]).await),
        (
            "silence on a socket",
            Odd::cartesia(vec![(0, chunk(&silence)), (0, done())]).await,
        ),
    ] {
        let mut calls = 0;
        while !odd.is_down() && calls < 10 {
            let spoken = odd.speak(TEXT).await;
            calls += 1;
            let failed = matches!(spoken.error, Some(SpeechError::Protocol(_)));
            assert!(failed && spoken.samples.is_empty(), "{case}: {}", why(&spoken));
        }
        assert!(odd.is_down() && calls <= 5, "{case}: after {calls}");
        let name = if case.contains("end") || case.contains("socket") {
            "cartesia"
        } else {
            "openai"
        };
        let probed = odd.voices.probe(&name.parse().unwrap()).await;
        assert!(probed.is_err(), "{case}: the probe is content");
    }
}

#[tokio::test(start_paused = true)]
async fn a_text_without_words_may_be_silent() {
    let odd = Odd::cartesia(vec![(0, done())]).await;
    for _ in 0..6 {
        assert_eq!(odd.speak("… !").await.error, None);
    }
    assert!(!odd.is_down());
}

#[tokio::test(start_paused = true)]
async fn what_is_too_short_for_its_text_is_not_kept() {
    for (text, ms, asked) in [
        (TEXT, 125, 2),
        // A short word is short.
        ("Yes.", 250, 1),
        (TEXT, 4_000, 1),
        // Six characters, but one and a half seconds of speech.
        ("您好，请稍等", 1_500, 1),
    ] {
        let odd = Odd::http(200, Some("audio/pcm"), &linear_tone(ms)).await;
        for _ in 0..2 {
            let spoken = odd.speak(text).await;
            assert_eq!(spoken.error, None, "{text} {ms} ms");
            assert!(spoken.samples.len() >= 8 * (ms - 10), "{text} {ms} ms");
            // Speech is kept once its last listener is gone.
            sleep(Duration::from_millis(20)).await;
        }
        assert_eq!(odd.requests(), asked, "{text} {ms} ms");
    }
    let odd = Odd::http(200, Some("audio/pcm"), &linear_tone(125)).await;
    let probed = odd.voices.probe(&"openai".parse().unwrap()).await;
    assert!(probed.unwrap_err().to_string().contains("too short"));
}

#[tokio::test(start_paused = true)]
async fn no_key_and_no_long_words_come_back() {
    let long = "A".repeat(300_000);
    for odd in [
        Odd::http(200, Some(&format!("text/html; key={KEY}")), b"x").await,
        Odd::http(400, None, format!("{KEY} {long}").as_bytes()).await,
        Odd::cartesia(vec![(0, json!(format!("key {KEY} {long}")).to_string())]).await,
        Odd::cartesia(vec![
            (0, chunk(&tone(200))),
            (0, json!(format!("{KEY} {long}")).to_string()),
        ])
        .await,
    ] {
        let why = why(&odd.speak(TEXT).await);
        assert!(!why.to_lowercase().contains("canary"), "{why}");
        assert!(!why.contains("no error") && why.chars().count() <= 400, "{why}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_refuses_all_that_is_asked_is_down_for_new_calls() {
    for status in [301, 400, 404, 422] {
        let odd = Odd::http(status, None, b"{}").await;
        let mut calls = 0;
        while !odd.is_down() && calls < 10 {
            let spoken = odd.speak(&format!("{TEXT} {calls}")).await;
            calls += 1;
            assert!(spoken.error.is_some());
        }
        assert!(odd.is_down() && calls <= 5, "{status}: after {calls}");
        // Bad requests of a single call, or of agents with their own voice name, do not count against the provider.
        let odd = Odd::http(404, None, b"{}").await;
        let mut voice = odd.voices.open(config(8_000, &Meter::default()));
        for n in 0..10 {
            listen(voice.speak(format!("{TEXT} {n}"))).await;
            odd.speak_as("bad", &format!("{TEXT} {n}")).await;
        }
        assert!(!odd.is_down(), "{status}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_voice_slower_than_speech_is_given_up_and_goes_down() {
    let words: Vec<&str> = TEXT.split_whitespace().collect();
    for timed in [false, true] {
        let mut script = Vec::new();
        for n in 0..60 {
            script.push((400, chunk(&tone(110))));
            if let Some(word) = words.get(n).filter(|_| timed) {
                let end = 0.11 * (n + 1) as f64;
                let times = json!({ "words": [word], "start": [end - 0.1], "end": [end] });
                let message = json!({ "type": "timestamps", "context_id": "CONTEXT", "word_timestamps": times });
                script.push((0, message.to_string()));
            }
        }
        script.push((0, done()));
        let odd = Odd::cartesia(script).await;
        let mut texts = 0;
        while !odd.is_down() && texts < 10 {
            let spoken = odd.speak(&format!("{TEXT} {texts}")).await;
            texts += 1;
            let failed = matches!(spoken.error, Some(SpeechError::Unavailable(_)));
            assert!(
                failed && spoken.took < Duration::from_secs(10),
                "{timed}: {}",
                why(&spoken)
            );
        }
        // The fifth counts once its last listener is gone.
        assert!(odd.is_down() && texts <= 6, "{timed}: after {texts}");
    }
}

#[tokio::test(start_paused = true)]
async fn other_things_than_raw_audio_are_not_played() {
    let all = |head: &[u8]| [head, &linear_tone(500)].concat();
    for (kind, body) in [
        (Some("audio/mpeg"), linear_tone(500)),
        (Some("Audio/MP3"), linear_tone(500)),
        (Some("audio/ogg; codecs=opus"), linear_tone(500)),
        (Some("audio/aac"), linear_tone(500)),
        (Some("audio/flac"), linear_tone(500)),
        (Some("audio/webm"), linear_tone(500)),
        (Some("video/mp4"), linear_tone(500)),
        (Some("application/problem+JSON"), linear_tone(500)),
        (None, all(b"RIFF\x24\x08\0\0WAVEfmt ")),
        (Some("audio/wav"), all(b"RIFF\x24\x08\0\0WAVEfmt ")),
        (None, all(b"ID3\x04\0\0\0\0\0\x22")),
        (None, all(b"\xFF\xFB\x90\x64\0\x0F\xF0\0")),
        (None, all(b"OggS\0\x02\0\0\0\0")),
        (None, all(b"fLaC\0\0\0\x22")),
        (None, all(b"\x1A\x45\xDF\xA3\x9F\x42")),
        (Some("application/octet-stream"), all(b"<!DOCTYPE html><html>")),
        (None, all(b"\n<html lang=en>")),
        (None, all(b"<?xml version='1.0'?><Error>")),
        (None, all(b"{\"error\":{\"message\":\"down\"}}")),
        (None, b"{ \"detail\": 1 }".to_vec()),
    ] {
        let odd = Odd::http(200, kind, &body).await;
        let spoken = odd.speak(TEXT).await;
        let failed = matches!(spoken.error, Some(SpeechError::Protocol(_))) && spoken.samples.is_empty();
        let head = String::from_utf8_lossy(&body[..body.len().min(12)]);
        assert!(failed, "{kind:?} {head:?}: {}", why(&spoken));
    }
    for (kind, head) in [
        (None, &b"\0\0"[..]),
        (Some("audio/pcm"), b""),
        (Some("audio/L16;rate=24000;channels=1"), b""),
        (Some("application/octet-stream"), b""),
        // The body has no file header.
        (Some("audio/wav"), b""),
        // Quiet samples that begin like other formats.
        (None, b"<\0\x10\0\x05\0"),
        (None, b"{\0\x10\0\x05\0"),
        (None, b"\xFF\xFF\xFB\xFF\x02\0"),
    ] {
        let odd = Odd::http(200, kind, &all(head)).await;
        let spoken = odd.speak("Yes.").await;
        assert!(
            spoken.error.is_none() && spoken.samples.len() > 3_900,
            "{kind:?} {head:?}: {}",
            why(&spoken)
        );
    }
}
