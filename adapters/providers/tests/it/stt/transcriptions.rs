//! Tests of `/v1/audio/transcriptions`, which gets whole utterances.

use std::time::Duration;

use axum::{Router, http::StatusCode, routing::post};
use domain::ports::{
    transcriber::TranscriptEvent,
    usage::{Meter, Unit},
};
use net::guard::Guards;
use providers::settings::ProviderSettings;
use sim::stub_providers::{Fault, Spread, StubTimes, openai};
use tokio::net::TcpListener;

use super::support::{Call, config, stt, stt_with, stub};

const TEXT: &str = "Good morning, where is my parcel?";

fn slow(ms: u64) -> StubTimes {
    StubTimes {
        final_transcript: Spread { p50_ms: ms, p95_ms: ms },
        ..StubTimes::AT_ONCE
    }
}

#[tokio::test(start_paused = true)]
async fn an_utterance_is_posted_once_the_voice_has_paused() {
    for (name, model) in [
        ("openai", "model=gpt-transcribe"),
        ("openai/whisper-1", "model=whisper-1"),
        ("groq", "model=whisper-large-v3-turbo"),
        ("speaches", "model=Systran/faster-whisper-small"),
        ("whispercpp", "model=whisper-1"),
        ("vllm", "model=openai/whisper-large-v3"),
    ] {
        let stub = stub(slow(600)).await;
        let meter = Meter::default();
        let mut config = config(&meter);
        config.keywords = vec!["Ringback".into()];
        let mut call = Call::open_with(&stt(name, &stub), config, meter);
        call.silence(3_000).await;
        call.say(TEXT).await;
        assert!(call.told.interims().is_empty());
        call.silence(2_000).await;
        assert_eq!(call.told.finals(), [TEXT], "{name}");
        let received = stub.received(openai::TRANSCRIPTIONS);
        assert_eq!(received.len(), 1);
        assert!(
            received[0].starts_with(model) && received[0].contains("language=en&prompt=Ringback"),
            "{received:?}"
        );
        // One second before the voice, the voice, and the pause.
        let provider = name.split('/').next().unwrap();
        let used = call.meter.used(provider, Unit::AudioMs);
        let wanted = 1_000 + super::support::spoken(TEXT, 8_000).len() as u64 / 8 + 120;
        assert!(used.abs_diff(wanted) < 150, "{used} {wanted}");
        let shown = &call.meter.shown().unwrap()[provider];
        let named = model.trim_start_matches("model=");
        assert_eq!(shown["models"][named]["seconds"], shown["seconds"], "{shown}");
        assert!(call.stream.capabilities().final_within >= Duration::from_secs(1));
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_said_while_one_is_under_way_is_posted_next_and_nothing_twice() {
    let stub = stub(slow(4_500)).await;
    let mut call = Call::open(&stt("speaches", &stub));
    for text in ["My name is", "Ann", "Lee."] {
        call.say(text).await;
        call.silence(200).await;
    }
    call.silence(12_000).await;
    assert_eq!(call.told.finals().join(" "), "My name is Ann Lee.");
    assert_eq!(call.told.count_finals(), 3, "each asking is answered");
    assert_eq!(
        stub.received(openai::TRANSCRIPTIONS).len(),
        2,
        "those that waited went together"
    );
}

#[tokio::test(start_paused = true)]
async fn nothing_is_posted_where_nobody_spoke() {
    let stub = stub(StubTimes::AT_ONCE).await;
    let mut call = Call::open(&stt("whispercpp", &stub));
    call.silence(2_000).await;
    call.stream.finalize();
    call.silence(200).await;
    call.stream.speech_started();
    call.silence(500).await;
    call.stream.finalize();
    call.silence(200).await;
    assert_eq!((call.told.count_finals(), call.told.finals().len()), (2, 0));
    assert!(stub.received(openai::TRANSCRIPTIONS).is_empty());
}

#[tokio::test(start_paused = true)]
async fn each_fault_is_survived() {
    for fault in [
        Fault::Hang,
        Fault::Refuse(500),
        Fault::Refuse(429),
        Fault::DropAfter(0),
        Fault::StallAfter(0),
        Fault::MalformedAfter(0),
        Fault::OversizedAfter(0),
        Fault::ErrorAfter(0),
        Fault::Drip(Duration::from_millis(5)),
    ] {
        let stub = stub(slow(300)).await;
        stub.set_faults(openai::TRANSCRIPTIONS, vec![fault.clone(), Fault::None]);
        let mut call = Call::open(&stt("openai", &stub));
        call.silence(500).await;
        call.say(TEXT).await;
        call.silence(9_000).await;
        assert_eq!(call.told.finals(), [TEXT], "{fault:?}");
        assert_eq!(call.told.failure(), None);
    }
}

#[tokio::test(start_paused = true)]
async fn an_utterance_that_is_refused_counts_as_not_understood() {
    let stub = stub(StubTimes::AT_ONCE).await;
    stub.set_faults(
        openai::TRANSCRIPTIONS,
        vec![Fault::None, Fault::Refuse(422), Fault::None],
    );
    let mut call = Call::open(&stt("openai", &stub));
    for text in ["One.", "Two.", "Three."] {
        call.say(text).await;
        call.silence(1_000).await;
    }
    assert_eq!(call.told.finals(), ["One.", "Three."]);
    let damaged = |event: &TranscriptEvent| matches!(event, TranscriptEvent::Final { damaged: true, .. });
    assert_eq!(call.told.all().iter().filter(|(_, event)| damaged(event)).count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_ends_leaves_its_request() {
    let stub = stub(slow(3_000)).await;
    let mut call = Call::open(&stt("openai", &stub));
    call.say(TEXT).await;
    call.silence(500).await;
    drop(call);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(stub.received(openai::TRANSCRIPTIONS).last().unwrap(), "disconnected");
}

#[tokio::test(start_paused = true)]
async fn an_utterance_without_end_is_posted_in_pieces() {
    let stub = stub(slow(500)).await;
    let mut call = Call::open(&stt("openai", &stub));
    call.stream.speech_started();
    for _ in 0..28 {
        call.play(&super::support::spoken(TEXT, 8_000)).await;
    }
    call.silence(200).await;
    call.stream.finalize();
    call.silence(2_000).await;
    assert!(stub.received(openai::TRANSCRIPTIONS).len() > 1);
    // A word may be split where a piece ends, but no whole sentence is lost.
    let said = call.told.finals().join(" ");
    assert!(said.matches("my parcel?").count() >= 26, "{said}");
}

/// Call with a recogniser at a server that answers every utterance this way.
async fn answering(status: u16, body: String) -> Call {
    let answer = move || {
        let answer = (StatusCode::from_u16(status).unwrap(), body.clone());
        async move { answer }
    };
    let router = Router::new().route("/v1/audio/transcriptions", post(answer));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}/v1", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    let settings = ProviderSettings::read(|name| (name == "SPEACHES_BASE_URL").then(|| base.clone()));
    let mut call = Call::open(&stt_with("speaches", &settings.unwrap(), &Guards::default()));
    call.silence(500).await;
    call.say(TEXT).await;
    call.silence(20_000).await;
    call
}

#[tokio::test(start_paused = true)]
async fn a_refusal_of_many_words_is_still_a_refusal() {
    for status in [401, 404, 429] {
        let call = answering(status, "x".repeat(400 * 1024)).await;
        let told = call.told.failure().unwrap_or_default();
        let sorted = match status {
            429 => told.contains("busy"),
            _ => told.contains(&status.to_string()) && told.len() < 400,
        };
        assert!(sorted, "{status}: {told}");
    }
}

#[tokio::test(start_paused = true)]
async fn more_words_than_anybody_can_say_are_no_transcript() {
    let words = "word ".repeat(4_000);
    let call = answering(200, serde_json::json!({ "text": words }).to_string()).await;
    assert_eq!(call.told.finals().len(), 0);
    assert!(
        call.told.failure().unwrap().contains("words"),
        "{:?}",
        call.told.failure()
    );
}
