//! Attacks on tickets and WebSockets of live calls.

use futures_util::future::join_all;
use tokio_tungstenite::tungstenite::{
    Bytes,
    protocol::frame::{
        Frame,
        coding::{Data, OpCode},
    },
};

use super::*;

const OPERATES: &str = r#"{"event":"start","format":"pcm_8000"}"#;

impl Scene {
    async fn operate_ticket(&self) -> String {
        self.ask("operate").await.expect(201).text("/data/ticket")
    }

    /// Opens an operator's WebSocket to the call. Returns the status of a refusal.
    async fn operate(&self, ticket: &str, origin: Option<&str>) -> Option<u16> {
        self.open_for("operate", (&self.id, ticket), origin).await.err()
    }
}

/// Returns a frame of a message, the last one or not.
fn frame(kind: Data, payload: Vec<u8>, last: bool) -> Message {
    Message::Frame(Frame::message(Bytes::from(payload), OpCode::Data(kind), last))
}

/// Waits until the socket is closed in whatever way. Returns the code, if one came.
async fn closed(socket: &mut Socket) -> Option<u16> {
    while let Some(Ok(message)) = socket.next().await {
        if let Message::Close(frame) = message {
            return frame.map(|frame| frame.code.into());
        }
    }
    None
}

#[tokio::test(start_paused = true)]
async fn a_ticket_to_take_over_works_once_and_soon_and_for_its_call_and_page_only() {
    let scene = Scene::start().await;
    let ticket = scene.operate_ticket().await;
    assert_eq!(scene.operate(&ticket, None).await, None);
    assert_eq!(scene.operate(&ticket, None).await, Some(404), "used twice");
    let ticket = scene.operate_ticket().await;
    tokio::time::sleep(Duration::from_secs(31)).await;
    assert_eq!(scene.operate(&ticket, None).await, Some(404), "late");
    let other = call(&scene.app, "+15550100011").await;
    let ticket = scene.operate_ticket().await;
    let elsewhere = scene.open_for("operate", (&other, &ticket), None).await;
    assert_eq!(elsewhere.err(), Some(404), "another call");
    let listens = scene.ticket().await;
    assert_eq!(scene.operate(&listens, None).await, Some(404), "another purpose");
    for origin in ["https://evil.example.com", "null", ""] {
        let ticket = scene.operate_ticket().await;
        assert_eq!(scene.operate(&ticket, Some(origin)).await, Some(403), "{origin}");
        assert_eq!(
            scene.operate(&ticket, None).await,
            Some(404),
            "{origin}: gone with the try"
        );
    }
    assert_eq!(scene.operate(&scene.operate_ticket().await, Some(FRIEND)).await, None);
    let stranger = scene.app.stranger().await;
    let refused = stranger
        .post(&scene.path("live-tickets"), json!({ "for": "operate" }))
        .await;
    refused.expect(404);
}

#[tokio::test(start_paused = true)]
async fn thousands_of_tickets_stay_within_their_calls_and_are_forgotten() {
    let scene = Scene::start().await;
    let body = json!({ "for": "listen" });
    let mut ids = Vec::new();
    for n in 0..40 {
        ids.push(call(&scene.app, &format!("+1555020{n:04}")).await);
    }
    for id in &ids {
        let path = format!("/public/v1/conversations/{id}/live-tickets");
        let asked = join_all((0..60).map(|_| scene.app.client.post(&path, body.clone()))).await;
        let given = asked.iter().filter(|answer| answer.status == 201).count();
        let refused = asked.iter().filter(|answer| answer.status == 409).count();
        assert_eq!((given, refused), (50, 10));
    }
    // The tickets of other calls are in nobody's way, and none of the guesses is one.
    scene.listen().await;
    let guesses = (0..1_000_u32).map(|n| format!("{n:064x}"));
    for guess in guesses {
        assert_eq!(scene.open(&ids[0], &guess, None).await.err(), Some(404));
    }
    tokio::time::sleep(Duration::from_secs(31)).await;
    let path = format!("/public/v1/conversations/{}/live-tickets", ids[0]);
    scene.app.client.post(&path, body).await.expect(201);
}

#[tokio::test(start_paused = true)]
async fn odd_addresses_are_refused() {
    let scene = Scene::start().await;
    let path = scene.path("listen");
    let ticket = scene.ticket().await;
    for (query, status) in [
        (String::new(), 404),
        ("?ticket=".to_owned(), 404),
        (format!("?ticket={}", "a".repeat(4_000)), 404),
        ("?ticket=%00%ff%f0".to_owned(), 400),
        (format!("?ticket={ticket}&ticket={ticket}"), 400),
        (format!("?ticket={ticket}&as=ada"), 400),
    ] {
        let answer = send(scene.app.client.bare("GET", &format!("{path}{query}"))).await;
        assert_eq!(answer.status, status, "{query:.80}: {}", answer.body);
    }
    scene.open(&scene.id, &ticket, None).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn broken_and_oversized_first_messages_cost_a_listener_its_place_and_nothing_else() {
    let scene = Scene::with_listeners(1).await;
    let attacks = [
        ("oversized", vec![Message::Text("x".repeat(5_000).into())]),
        (
            "fragments",
            vec![
                frame(Data::Text, vec![b'x'; 3_000], false),
                frame(Data::Continue, vec![b'x'; 3_000], false),
            ],
        ),
        ("no UTF-8", vec![frame(Data::Text, vec![0xff, 0xfe, 0x80], true)]),
        ("deep", vec![Message::Text("[".repeat(4_000).into())]),
        ("binary", vec![Message::Binary(vec![0; 4_000].into())]),
        ("empty", vec![Message::Text("".into())]),
        ("late", Vec::new()),
    ];
    for (name, messages) in attacks {
        let mut socket = scene.open(&scene.id, &scene.ticket().await, None).await.unwrap();
        for message in messages {
            // The service may have closed before the last one.
            let _ = socket.send(message).await;
        }
        let code = closed(&mut socket).await;
        assert!(
            matches!(code, None | Some(1_002 | 1_007 | 1_008 | 1_009)),
            "{name}: {code:?}"
        );
        drop(socket);
        tokio::time::sleep(Duration::from_secs(3)).await;
        assert!(scene.visits.lock().unwrap().joined.is_empty(), "{name}");
    }
    // The only place is free.
    scene.listen().await;
}

#[tokio::test(start_paused = true)]
async fn what_comes_before_an_operators_start_is_no_audio_and_takes_nothing_over() {
    let scene = Scene::start().await;
    for message in [
        Message::Binary(vec![0; 320].into()),
        Message::Text(r#"{"event":"giveBack"}"#.into()),
        Message::Text(r#"{"event":"start","format":"pcm_8000","channels":"mixed"}"#.into()),
        Message::Text(r#"{"event":"start","format":["pcm_8000"]}"#.into()),
    ] {
        let ticket = scene.operate_ticket().await;
        let opened = scene.open_for("operate", (&scene.id, &ticket), None).await;
        let mut socket = opened.unwrap();
        socket.send(message.clone()).await.unwrap();
        assert_eq!(closed(&mut socket).await, Some(1_008), "{message}");
    }
    // The same with a sound first message reaches the call, which refuses here.
    let ticket = scene.operate_ticket().await;
    let mut socket = scene.open_for("operate", (&scene.id, &ticket), None).await.unwrap();
    socket.send(Message::Text(OPERATES.into())).await.unwrap();
    match socket.next().await {
        Some(Ok(Message::Close(Some(close)))) => assert!(close.reason.contains("bob has the call"), "{}", close.reason),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_listener_whose_key_is_gone_is_sent_off_and_its_ticket_opens_nothing() {
    let scene = Scene::start().await;
    let client = &scene.app.client;
    let key = json!({ "name": "wallboard", "scopes": ["live"] });
    let made = client.post("/public/v1/me/api-keys", key).await.expect(201);
    let ticket = async || {
        let request = client.bare("POST", &scene.path("live-tickets"));
        let request = request.header("x-api-key", made.text("/data/apiKey"));
        let answer = send(request.json(&json!({ "for": "listen" }))).await;
        answer.expect(201).text("/data/ticket")
    };
    let mut listener = scene.open(&scene.id, &ticket().await, None).await.unwrap();
    listener.send(Message::Text(START_MESSAGE.into())).await.unwrap();
    assert_eq!(event(&mut listener).await["event"], "ready");
    let unused = ticket().await;
    let path = format!("/public/v1/me/api-keys/{}", made.text("/data/keyId"));
    client.delete(&path).await.expect(200);
    assert_eq!(scene.open(&scene.id, &unused, None).await.err(), Some(403));
    let code = tokio::time::timeout(Duration::from_secs(20), close_code(&mut listener)).await;
    assert_eq!(code, Ok(1_008));
}

#[tokio::test(start_paused = true)]
async fn whoever_listens_is_sent_off_once_the_account_allows_nobody_to() {
    let scene = Scene::start().await;
    let mut listener = scene.listen().await;
    let request = scene.app.client.request("GET", &scene.path("live"));
    let follower = request.send().await.unwrap();
    let off = json!({ "liveListening": false });
    scene.app.client.patch("/public/v1/safeguards", off).await.expect(200);
    let code = tokio::time::timeout(Duration::from_secs(20), close_code(&mut listener)).await;
    assert_eq!(code, Ok(1_008));
    let text = tokio::time::timeout(Duration::from_secs(40), follower.text()).await;
    assert!(!text.unwrap().unwrap().contains("event: end"));
}
