//! Tests of recognisers that stay connected but send nothing useful: endless partial words, unknown messages,
//! the same request to ask again, or far too many words.

use futures_util::{SinkExt, StreamExt};
use net::guard::{Guards, Kind};
use providers::settings::ProviderSettings;
use serde_json::json;
use sim::stub_providers::{StubTimes, openai};
use tokio::net::TcpListener;
use tokio_tungstenite::{accept_async, tungstenite::Message};

use super::support::{Call, KEY, stt_with, stub};

const TEXT: &str = "Good morning, where is my parcel?";

/// Starts a server that speaks Scribe's protocol and answers each message with these.
async fn server(answers: Vec<String>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((connection, _)) = listener.accept().await {
            let answers = answers.clone();
            tokio::spawn(async move {
                let mut socket = accept_async(connection).await.unwrap();
                let ready = json!({ "message_type": "session_started" });
                let mut sent = socket.send(Message::text(ready.to_string())).await;
                while let (Ok(()), Some(Ok(_))) = (sent, socket.next().await) {
                    sent = Ok(());
                    for answer in &answers {
                        sent = sent.and(socket.send(Message::text(answer.clone())).await);
                    }
                }
            });
        }
    });
    url
}

fn settings(scribe: &str, others: &str) -> ProviderSettings {
    let read = ProviderSettings::read(|name| match name {
        "ELEVENLABS_BASE_URL" => Some(scribe.to_owned()),
        "OPENAI_BASE_URL" => Some(format!("{others}/v1")),
        name if name.ends_with("_API_KEY") => Some(KEY.to_owned()),
        _ => None,
    });
    read.unwrap()
}

fn message(kind: &str, text: &str) -> String {
    json!({ "message_type": kind, "text": text }).to_string()
}

fn nonsense() -> [String; 3] {
    [
        message("partial_transcript", "Good"),
        message("news_of_the_day", "none"),
        json!({ "message_type": "commit_throttled", "error": "too soon" }).to_string(),
    ]
}

#[tokio::test(start_paused = true)]
async fn who_never_says_what_was_asked_for_is_left_alone() {
    for answer in nonsense() {
        let url = server(vec![answer.clone()]).await;
        let guards = Guards::default();
        guards.will_be_probed();
        let stt = stt_with("elevenlabs", &settings(&url, &url), &guards);
        let mut calls = 0;
        while !guards.get(Kind::SpeechToText, "elevenlabs").is_down() && calls < 3 {
            calls += 1;
            let mut call = Call::open(&stt);
            call.silence(6_000).await;
            call.say(TEXT).await;
            call.silence(20_000).await;
            assert!(call.told.failure().is_some(), "{answer}");
        }
        assert!(guards.get(Kind::SpeechToText, "elevenlabs").is_down(), "{answer}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_it_did_not_say_the_next_one_does() {
    for answer in nonsense() {
        let url = server(vec![answer.clone()]).await;
        let stub = stub(StubTimes::AT_ONCE).await;
        let stt = stt_with("elevenlabs,openai", &settings(&url, &stub.url()), &Guards::default());
        let mut call = Call::open(&stt);
        call.silence(500).await;
        call.say(TEXT).await;
        call.silence(15_000).await;
        call.say("Thanks.").await;
        call.silence(3_000).await;
        let heard = call.told.finals().join(" ");
        assert!(heard.ends_with("Thanks."), "{answer}: {heard}");
        assert!(!stub.received(openai::TRANSCRIPTIONS).is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_finals_is_no_speech() {
    let long = message("committed_transcript", &"word ".repeat(3_200));
    for (answers, seconds) in [(vec![long.clone(); 10], 10), (vec![long], 60)] {
        let url = server(answers).await;
        let guards = Guards::default();
        let stt = stt_with("elevenlabs", &settings(&url, &url), &guards);
        let mut call = Call::open(&stt);
        for _ in 0..seconds / 5 {
            call.say(TEXT).await;
            call.silence(3_000).await;
        }
        let bytes: usize = call.told.finals().iter().map(String::len).sum();
        assert!(bytes < 16 * 1024 + seconds * 300, "{bytes} bytes in {seconds} s");
        assert!(call.told.failure().is_some());
    }
}
