//! Tests that the stubs enforce the providers' rules towards their clients.

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use sim::stub_providers::{self, StubHandle, StubSettings};
use tokio::net::TcpStream;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async_with_config, tungstenite::Message};

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

async fn stub() -> StubHandle {
    super::tick();
    stub_providers::start(StubSettings::on_loopback()).await.unwrap()
}

async fn connect(stub: &StubHandle, path: &str) -> Socket {
    let url = format!("{}{path}", stub.url().replacen("http", "ws", 1));
    connect_async_with_config(url, None, true).await.unwrap().0
}

async fn send(socket: &mut Socket, messages: &[Value]) {
    for message in messages {
        socket.send(Message::text(message.to_string())).await.unwrap();
    }
}

/// Returns all messages up to the close, and its code.
async fn rest(socket: &mut Socket) -> (Vec<Value>, u16) {
    let mut all = Vec::new();
    while let Some(Ok(message)) = socket.next().await {
        match message {
            Message::Text(text) => all.push(serde_json::from_str(&text).unwrap()),
            Message::Close(frame) => return (all, frame.map_or(1005, |frame| frame.code.into())),
            _ => {}
        }
    }
    (all, 1006)
}

const MULTI: &str = "/v1/text-to-speech/v/multi-stream-input?model_id=m&output_format=ulaw_8000";

#[tokio::test(start_paused = true)]
async fn a_sixth_context_closes_elevenlabs() {
    let stub = stub().await;
    let mut socket = connect(&stub, MULTI).await;
    for n in 0..6 {
        send(&mut socket, &[json!({ "text": " ", "context_id": format!("c{n}") })]).await;
    }
    assert_eq!(rest(&mut socket).await.1, 1008);
}

#[tokio::test(start_paused = true)]
async fn settings_of_an_open_context_stay() {
    let stub = stub().await;
    for first in [
        json!({ "text": " ", "context_id": "c", "voice_settings": { "speed": 1.0 } }),
        json!({ "text": "", "context_id": "c" }),
    ] {
        let mut socket = connect(&stub, MULTI).await;
        let second = json!({ "text": "x ", "context_id": "c", "voice_settings": { "speed": 1.1 } });
        send(&mut socket, &[first, second]).await;
        assert_eq!(rest(&mut socket).await.1, 1008);
    }
}

#[tokio::test(start_paused = true)]
async fn a_quiet_socket_is_closed_and_a_keep_alive_keeps_it() {
    let stub = stub().await;
    let mut socket = connect(&stub, &format!("{MULTI}&inactivity_timeout=30")).await;
    for _ in 0..4 {
        tokio::time::sleep(std::time::Duration::from_secs(20)).await;
        send(&mut socket, &[json!({ "text": "" })]).await;
    }
    let quiet = tokio::time::Instant::now();
    assert_eq!(rest(&mut socket).await, (Vec::new(), 1008));
    assert!((29..=31).contains(&quiet.elapsed().as_secs()));
}

#[tokio::test(start_paused = true)]
async fn a_flush_gives_audio_and_only_a_closed_context_its_end() {
    let stub = stub().await;
    let mut socket = connect(&stub, MULTI).await;
    let context = json!("c");
    send(
        &mut socket,
        &[
            json!({ "text": " ", "context_id": context }),
            json!({ "text": "Hi. ", "context_id": context, "flush": true }),
            json!({ "text": "You. ", "context_id": context }),
        ],
    )
    .await;
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    send(&mut socket, &[json!({ "context_id": context, "close_context": true })]).await;
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    send(&mut socket, &[json!({ "close_socket": true })]).await;
    let (all, code) = rest(&mut socket).await;
    assert_eq!(code, 1000);
    assert!(all.iter().all(|message| message["contextId"] == context));
    let ends: Vec<_> = all.iter().map(|message| message["isFinal"] == true).collect();
    assert_eq!(ends.iter().filter(|end| **end).count(), 1);
    assert!(ends.last().unwrap());
    let said: String = all
        .iter()
        .flat_map(|message| message["alignment"]["chars"].as_array().cloned().unwrap_or_default())
        .filter_map(|c| c.as_str().map(str::to_owned))
        .collect();
    assert_eq!(said, "Hi.You.");
    for message in &all {
        let lengths = ["chars", "charStartTimesMs", "charDurationsMs"]
            .map(|name| message["alignment"][name].as_array().map(Vec::len));
        assert!(lengths[0] == lengths[1] && lengths[1] == lengths[2]);
    }
}

#[tokio::test(start_paused = true)]
async fn one_stream_waits_for_its_schedule_and_closes_behind_its_end() {
    let stub = stub().await;
    let mut socket = connect(
        &stub,
        "/v1/text-to-speech/v/stream-input?model_id=m&output_format=pcm_16000",
    )
    .await;
    send(
        &mut socket,
        &[json!({ "text": " " }), json!({ "text": "Too short to be begun. " })],
    )
    .await;
    let waited = tokio::time::timeout(std::time::Duration::from_secs(5), socket.next()).await;
    assert!(waited.is_err(), "nothing is spoken before 120 characters");
    send(&mut socket, &[json!({ "text": "" })]).await;
    let (all, code) = rest(&mut socket).await;
    assert_eq!(code, 1000);
    assert!(all.len() > 2 && all.last().unwrap()["isFinal"] == true && all.last().unwrap()["audio"].is_null());
    assert!(all.iter().all(|message| message.get("contextId").is_none()));
}

#[tokio::test(start_paused = true)]
async fn deepgram_takes_twenty_flushes_a_minute() {
    let stub = stub().await;
    let mut socket = connect(
        &stub,
        "/v1/speak?model=aura-2-thalia-en&encoding=mulaw&sample_rate=8000",
    )
    .await;
    for _ in 0..21 {
        send(
            &mut socket,
            &[json!({ "type": "Speak", "text": "Hi." }), json!({ "type": "Flush" })],
        )
        .await;
    }
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    send(&mut socket, &[json!({ "type": "Clear" }), json!({ "type": "Close" })]).await;
    let (all, code) = rest(&mut socket).await;
    let count = |kind: &str| all.iter().filter(|message| message["type"] == kind).count();
    assert_eq!(
        (
            count("Metadata"),
            count("Flushed"),
            count("Warning"),
            count("Cleared"),
            code
        ),
        (1, 20, 1, 1, 1000)
    );
}

#[tokio::test(start_paused = true)]
async fn cartesia_answers_a_bad_request_with_its_error() {
    let stub = stub().await;
    let mut socket = connect(&stub, "/tts/websocket?cartesia_version=2026-03-01").await;
    send(
        &mut socket,
        &[json!({ "context_id": "c", "transcript": "Hi.", "voice": { "id": "v" } })],
    )
    .await;
    let Some(Ok(Message::Text(text))) = socket.next().await else {
        panic!("no answer")
    };
    let answer: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        (&answer["type"], &answer["context_id"], &answer["done"]),
        (&json!("error"), &json!("c"), &json!(true))
    );
}
