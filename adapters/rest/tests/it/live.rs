//! Tests of tickets, of listeners and of followers, with a call whose feed the test holds.

mod attacks;

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use actors::{
    call::{CallMessage, CallPhase, CallSnapshot, OperateRefusal},
    lines::LinesMessage,
    live_feed::{Following, LiveAudio, LiveEvent, LiveFeed, LiveState},
    switchboard::Switchboard,
};
use domain::{
    accounts::login_link,
    history::Speaker,
    id::{AttemptId, NodeId},
};
use futures_util::{SinkExt, StreamExt};
use rest::{LiveAccess, RestState, server::ServerLimits};
use serde_json::{Value, json};
use support::{
    app::{PUBLIC_URL, START, TestApp},
    client::{Answer, send},
    fake_actor::answering_at_once,
};
use tokio::{net::TcpStream, sync::oneshot};
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream, connect_async,
    tungstenite::{self, ClientRequestBuilder, Message, http::Uri},
};

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// Address of pages that may use the API.
const FRIEND: &str = "https://app.example.com";
const START_MESSAGE: &str = r#"{"event":"start","format":"pcm_8000","channels":"apart"}"#;

/// Names of the listeners that joined and left, and of the operator.
#[derive(Default)]
struct Visits {
    joined: Vec<String>,
    left: usize,
    /// The operator who has the call.
    operator: Option<String>,
}

/// A service with one live call.
struct Scene {
    app: TestApp,
    feed: LiveFeed,
    visits: Arc<Mutex<Visits>>,
    id: String,
}

impl Scene {
    async fn start() -> Self {
        Self::with_listeners(200).await
    }

    async fn with_listeners(listeners: usize) -> Self {
        let (feed, visits) = (LiveFeed::default(), Arc::<Mutex<Visits>>::default());
        let call_side = call_side(feed.clone(), visits.clone()).await;
        let app = TestApp::changed(ServerLimits::default(), |state| RestState {
            switchboard: Switchboard {
                lines: call_side.lines,
                ..state.switchboard
            },
            live: LiveAccess::new(listeners, &[FRIEND.to_owned()]),
            ..state
        })
        .await;
        let id = call(&app, "+15550100010").await;
        Self { app, feed, visits, id }
    }

    fn path(&self, end: &str) -> String {
        format!("/public/v1/conversations/{}/{end}", self.id)
    }

    async fn ask(&self, purpose: &str) -> Answer {
        self.app
            .client
            .post(&self.path("live-tickets"), json!({ "for": purpose }))
            .await
    }

    async fn ticket(&self) -> String {
        self.ask("listen").await.expect(201).text("/data/ticket")
    }

    /// Opens a listener's WebSocket with a ticket, from a page of an origin. Returns the status of a refusal.
    async fn open(&self, id: &str, ticket: &str, origin: Option<&str>) -> Result<Socket, u16> {
        self.open_for("listen", (id, ticket), origin).await
    }

    async fn open_for(&self, purpose: &str, (id, ticket): (&str, &str), origin: Option<&str>) -> Result<Socket, u16> {
        let base = self.app.client.base.replacen("http", "ws", 1);
        let address = format!("{base}/public/v1/conversations/{id}/{purpose}?ticket={ticket}");
        let mut request = ClientRequestBuilder::new(address.parse::<Uri>().unwrap());
        if let Some(origin) = origin {
            request = request.with_header("origin", origin);
        }
        match connect_async(request).await {
            Ok((socket, _)) => Ok(socket),
            Err(tungstenite::Error::Http(answer)) => Err(answer.status().as_u16()),
            Err(error) => panic!("{error}"),
        }
    }

    /// Opens a listener.
    async fn listen(&self) -> Socket {
        let mut socket = self.open(&self.id, &self.ticket().await, None).await.unwrap();
        socket.send(Message::Text(START_MESSAGE.into())).await.unwrap();
        assert_eq!(event(&mut socket).await["event"], "ready");
        socket
    }

    fn plays(&self, sample: i16) {
        let samples = [sample; 320].into();
        let sent = self.feed.audio.send(LiveAudio {
            sample_rate: 8_000,
            samples,
        });
        assert!(sent.is_ok(), "nobody listens");
    }
}

/// Creates a call that a node dials.
async fn call(app: &TestApp, number: &str) -> String {
    app.dialed_call(NodeId::new(), number).await.to_string()
}

/// Returns a switchboard whose calls all have this feed.
async fn call_side(feed: LiveFeed, visits: Arc<Mutex<Visits>>) -> Switchboard {
    let lines = answering_at_once(move |message| match message {
        LinesMessage::Holds { reply, .. } => drop(reply.send(true)),
        LinesMessage::Follow {
            message: CallMessage::Follow { listener, reply },
            ..
        } => {
            let audio = listener.map(|by| {
                visits.lock().unwrap().joined.push(by);
                let visits = visits.clone();
                let (place, left) = oneshot::channel();
                tokio::spawn(async move {
                    assert!(left.await.is_err());
                    visits.lock().unwrap().left += 1;
                });
                (feed.audio.subscribe(), place)
            });
            let now = LiveEvent::State {
                state: LiveState::Listening,
                since: START,
            };
            let _ = reply.send(Some(Following {
                now,
                events: feed.events.subscribe(),
                audio,
            }));
        }
        LinesMessage::Follow {
            message: CallMessage::Present(reply),
            ..
        } => drop(reply.send(feed.present(LiveState::Listening))),
        LinesMessage::InspectCall { reply, .. } => {
            let operator = visits.lock().unwrap().operator.clone();
            let _ = reply.send(CallSnapshot {
                phase: CallPhase::Listening,
                turns: 0,
                operator,
                is_text: false,
            });
        }
        LinesMessage::Operate { reply, .. } => drop(reply.send(Err(OperateRefusal::Taken("bob".into())))),
        _ => {}
    });
    Switchboard {
        lines: lines.await.into(),
        ..Switchboard::default()
    }
}

/// Returns the next event of a listener.
async fn event(socket: &mut Socket) -> Value {
    match socket.next().await {
        Some(Ok(Message::Text(text))) => serde_json::from_str(&text).unwrap(),
        other => panic!("{other:?}"),
    }
}

async fn close_code(socket: &mut Socket) -> u16 {
    loop {
        match socket.next().await {
            Some(Ok(Message::Close(Some(frame)))) => return frame.code.into(),
            Some(Ok(_)) => {}
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_list_shows_what_is_said_to_those_who_may_follow_the_calls() {
    let scene = Scene::start().await;
    let (list, app) = ("/public/v1/calls/live?present=true", &scene.app);
    let present = async || app.client.get(list).await.expect(200).data()[0]["present"].clone();
    let silent = json!({ "state": "listening", "mood": "neutral" });
    assert_eq!(present().await, silent);
    let (speaker, is_final) = (Speaker::Agent, true);
    let text = format!("{}the end", "word ".repeat(100));
    scene.feed.tell(LiveEvent::Words {
        speaker,
        text,
        is_final,
    });
    let shown = present().await;
    let text = shown["words"]["text"].as_str().unwrap();
    assert_eq!(
        (text.chars().count(), &shown["words"]["speaker"]),
        (200, &json!("agent"))
    );
    assert!(text.ends_with("word the end"), "{text}");
    let plain = app.client.get("/public/v1/calls/live").await.expect(200);
    assert!(plain.data()[0].get("present").is_none());
    let wrong = app.client.get("/public/v1/calls/live?present=1").await.expect(400);
    assert_eq!(wrong.fields(), [("present", "invalid_value")]);

    let key = json!({ "name": "reader", "scopes": ["read"] });
    let made = app.client.post("/public/v1/me/api-keys", key).await.expect(201);
    let request = app
        .client
        .bare("GET", list)
        .header("x-api-key", made.text("/data/apiKey"));
    assert_eq!(send(request).await.expect(403).code(), "forbidden");
    let off = json!({ "liveListening": false });
    app.client.patch("/public/v1/safeguards", off).await.expect(200);
    let refused = app.client.get(list).await.expect(403);
    assert!(
        refused.text("/error/message").contains("`liveListening`"),
        "{}",
        refused.body
    );
}

#[tokio::test(start_paused = true)]
async fn a_ticket_names_its_address_and_its_end() {
    let scene = Scene::start().await;
    let made = scene.ask("listen").await.expect(201);
    let ticket = made.text("/data/ticket");
    assert_eq!(ticket.len(), 64);
    let address = format!(
        "{}{}?ticket={ticket}",
        PUBLIC_URL.replacen("http", "ws", 1),
        scene.path("listen")
    );
    assert_eq!(made.text("/data/url"), address);
    assert_eq!(made.headers["cache-control"], "no-store");
    assert!(
        made.text("/data/expiresAt").starts_with("2026-01-01T00:00:30"),
        "{}",
        made.body
    );
    assert!(
        scene
            .ask("operate")
            .await
            .expect(201)
            .text("/data/url")
            .contains("/operate?ticket=")
    );
    for (body, field, code) in [
        (json!({}), "for", "required"),
        (json!({ "for": "whisper" }), "for", "not_allowed"),
        (json!({ "for": true }), "for", "wrong_type"),
        (json!({ "for": "listen", "seconds": 60 }), "seconds", "unknown_field"),
    ] {
        let answer = scene
            .app
            .client
            .post(&scene.path("live-tickets"), body)
            .await
            .expect(400);
        assert_eq!(answer.fields(), [(field, code)]);
    }
    let stranger = scene.app.stranger().await;
    let body = json!({ "for": "listen" });
    stranger.post(&scene.path("live-tickets"), body).await.expect(404);
    stranger.get(&scene.path("live")).await.expect(404);
}

#[tokio::test(start_paused = true)]
async fn a_ticket_works_once_and_soon_and_for_its_call_and_purpose() {
    let scene = Scene::start().await;
    let ticket = scene.ticket().await;
    scene.open(&scene.id, &ticket, None).await.unwrap();
    assert_eq!(
        scene.open(&scene.id, &ticket, None).await.err(),
        Some(404),
        "used twice"
    );

    let ticket = scene.ticket().await;
    tokio::time::sleep(Duration::from_secs(31)).await;
    assert_eq!(scene.open(&scene.id, &ticket, None).await.err(), Some(404), "late");

    let other = call(&scene.app, "+15550100011").await;
    let ticket = scene.ticket().await;
    assert_eq!(scene.open(&other, &ticket, None).await.err(), Some(404), "another call");
    let nobodys = AttemptId::new().to_string();
    assert_eq!(scene.open(&nobodys, &ticket, None).await.err(), Some(404), "no call");

    let operates = scene.ask("operate").await.expect(201).text("/data/ticket");
    assert_eq!(
        scene.open(&scene.id, &operates, None).await.err(),
        Some(404),
        "another purpose"
    );
    for guessed in ["", "x", &"0".repeat(64), &ticket[1..], &ticket.to_uppercase()] {
        assert_eq!(scene.open(&scene.id, guessed, None).await.err(), Some(404), "{guessed}");
    }
    // None of this has used the ticket up.
    scene.open(&scene.id, &ticket, None).await.unwrap();
    // Without an upgrade it is refused, and gone.
    let ticket = scene.ticket().await;
    let path = format!("{}?ticket={ticket}", scene.path("listen"));
    send(scene.app.client.bare("GET", &path)).await.expect(400);
    assert_eq!(scene.open(&scene.id, &ticket, None).await.err(), Some(404));
}

#[tokio::test(start_paused = true)]
async fn at_most_50_tickets_of_a_call_wait() {
    let scene = Scene::start().await;
    for _ in 0..50 {
        scene.ask("listen").await.expect(201);
    }
    let refused = scene.ask("listen").await.expect(409);
    assert_eq!(refused.code(), "conflict");
    tokio::time::sleep(Duration::from_secs(31)).await;
    scene.ask("listen").await.expect(201);
}

#[tokio::test(start_paused = true)]
async fn pages_of_foreign_origins_cannot_listen() {
    let scene = Scene::start().await;
    let here = scene.app.client.base.clone();
    for (origin, allowed) in [
        (PUBLIC_URL, true),
        (FRIEND, true),
        (&*here, true),
        ("https://evil.example.com", false),
        ("http://calls.example.com", false),
        ("https://app.example.com.evil.example", false),
        ("null", false),
        ("", false),
    ] {
        let opened = scene.open(&scene.id, &scene.ticket().await, Some(origin)).await;
        let expected = if allowed { None } else { Some(403) };
        assert_eq!(opened.err(), expected, "{origin}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_sessions_ticket_is_of_use_to_its_page_only() {
    let scene = Scene::start().await;
    let client = &scene.app.client;
    let body = json!({ "email": "ada@example.com", "apiKey": client.key });
    let signed_in = client.bare("POST", "/public/v1/session").json(&body);
    let signed_in = send(signed_in.header("origin", &client.base)).await.expect(201);
    let cookie = signed_in.headers["set-cookie"].to_str().unwrap();
    let cookie = cookie.split(';').next().unwrap().to_owned();
    for (origin, allowed) in [
        (Some(&*client.base), true),
        (Some(FRIEND), false),
        (Some(PUBLIC_URL), false),
        (None, false),
    ] {
        let request = client.bare("POST", &scene.path("live-tickets"));
        let request = request.header("origin", &client.base).header("cookie", &cookie);
        let ticket = send(request.json(&json!({ "for": "listen" }))).await;
        let ticket = ticket.expect(201).text("/data/ticket");
        let opened = scene.open(&scene.id, &ticket, origin).await;
        let expected = if allowed { None } else { Some(403) };
        assert_eq!(opened.err(), expected, "{origin:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_listener_gets_a_packet_of_opus_for_each_20_ms() {
    let scene = Scene::start().await;
    let mut socket = scene.open(&scene.id, &scene.ticket().await, None).await.unwrap();
    let start = json!({ "event": "start", "format": "opus", "channels": "apart" });
    socket.send(Message::Text(start.to_string().into())).await.unwrap();
    let ready = json!({ "event": "ready", "format": "opus", "channels": "apart" });
    assert_eq!(event(&mut socket).await, ready);
    for n in 0..20 {
        // The last samples of the first piece wait in the filter between the rates.
        scene.plays(n);
        if n == 0 {
            continue;
        }
        match socket.next().await {
            // RFC 6716, section 3.1: stereo, one frame. The samples would have 1,280 bytes.
            Some(Ok(Message::Binary(packet))) => assert_eq!((packet[0] & 7, packet.len() < 400), (4, true)),
            other => panic!("{other:?}"),
        }
    }
    let ticket = scene.ask("operate").await.expect(201).text("/data/ticket");
    let base = scene.app.client.base.replacen("http", "ws", 1);
    let address = format!("{base}{}?ticket={ticket}", scene.path("operate"));
    let (mut operator, _) = connect_async(address).await.unwrap();
    let start = json!({ "event": "start", "format": "opus" }).to_string();
    operator.send(Message::Text(start.into())).await.unwrap();
    assert_eq!(close_code(&mut operator).await, 1_008);
}

#[tokio::test(start_paused = true)]
async fn a_session_has_the_name_of_its_key_or_else_the_accounts_address() {
    let scene = Scene::start().await;
    let client = &scene.app.client;
    let link = login_link(&*scene.app.store, None).await.unwrap();
    let key = json!({ "email": "ada@example.com", "apiKey": client.key });
    for proof in [key, json!({ "token": link.as_str() })] {
        let signed_in = client.bare("POST", "/public/v1/session").json(&proof);
        let signed_in = send(signed_in.header("origin", &client.base)).await.expect(201);
        let cookie = signed_in.headers["set-cookie"].to_str().unwrap();
        let request = client.bare("POST", &scene.path("live-tickets"));
        let request = request.header("cookie", cookie.split(';').next().unwrap());
        let request = request.header("origin", &client.base).json(&json!({ "for": "listen" }));
        let ticket = send(request).await.expect(201).text("/data/ticket");
        let mut socket = scene.open(&scene.id, &ticket, Some(&client.base)).await.unwrap();
        socket.send(Message::Text(START_MESSAGE.into())).await.unwrap();
        assert_eq!(event(&mut socket).await["event"], "ready");
    }
    let joined = scene.visits.lock().unwrap().joined.clone();
    assert_eq!(joined, ["account key", "ada@example.com (browser)"]);
}

#[tokio::test(start_paused = true)]
async fn a_slow_listener_loses_audio_and_goes_on_with_the_present() {
    let scene = Scene::start().await;
    let (mut slow, mut other) = (scene.listen().await, scene.listen().await);
    // The channel keeps 2 s. The listeners' tasks do not run meanwhile.
    for _ in 0..1_000 {
        scene.plays(1);
    }
    // Audio is sent every 100 ms.
    tokio::time::sleep(Duration::from_millis(150)).await;
    scene.plays(2);
    for listener in [&mut slow, &mut other] {
        let lost = json!({ "event": "lost", "milliseconds": 20_000 });
        assert_eq!(event(listener).await, lost);
        match listener.next().await {
            Some(Ok(Message::Binary(frame))) => assert_eq!(frame[..], [2, 0].repeat(320)[..]),
            other => panic!("{other:?}"),
        }
    }
    scene.feed.tell(LiveEvent::End);
    assert_eq!(event(&mut slow).await, json!({ "event": "end" }));
    assert_eq!(close_code(&mut slow).await, 1_000);
    drop(other);
    tokio::time::sleep(Duration::from_secs(3)).await;
    let visits = scene.visits.lock().unwrap();
    assert_eq!(
        (&visits.joined[..], visits.left),
        (&["account key".to_owned(), "account key".to_owned()][..], 2)
    );
}

#[tokio::test(start_paused = true)]
async fn a_node_has_a_bounded_number_of_listeners() {
    let scene = Scene::with_listeners(1).await;
    let first = scene.listen().await;
    assert_eq!(
        scene.open(&scene.id, &scene.ticket().await, None).await.err(),
        Some(503)
    );
    drop(first);
    tokio::time::sleep(Duration::from_secs(3)).await;
    scene.listen().await;
}

#[tokio::test(start_paused = true)]
async fn an_account_has_at_most_half_of_a_nodes_listeners() {
    let scene = Scene::with_listeners(3).await;
    let (first, _second) = (scene.listen().await, scene.listen().await);
    let refused = async |id: &str, ticket: String| {
        let path = format!("/public/v1/conversations/{id}/listen?ticket={ticket}");
        let refused = send(scene.app.client.bare("GET", &path)).await.expect(503);
        refused.text("/error/message")
    };
    let why = refused(&scene.id, scene.ticket().await).await;
    assert!(why.contains("half of RINGBACK_MAX_LISTENERS"), "{why}");

    let eve = scene.app.stranger().await;
    let theirs = scene.app.dialed_call_of(&eve, NodeId::new(), "+15550100011").await;
    let theirs = theirs.to_string();
    let ticket = async || {
        let path = format!("/public/v1/conversations/{theirs}/live-tickets");
        let made = eve.post(&path, json!({ "for": "listen" })).await.expect(201);
        made.text("/data/ticket")
    };
    let mut third = scene.open(&theirs, &ticket().await, None).await.unwrap();
    third.send(Message::Text(START_MESSAGE.into())).await.unwrap();
    assert_eq!(event(&mut third).await["event"], "ready");
    let why = refused(&theirs, ticket().await).await;
    assert!(why.contains("as RINGBACK_MAX_LISTENERS allows"), "{why}");
    drop(first);
    tokio::time::sleep(Duration::from_secs(3)).await;
    scene.listen().await;
}

#[tokio::test(start_paused = true)]
async fn a_listener_is_sent_for_a_new_ticket_when_the_node_stops() {
    let scene = Scene::start().await;
    let mut listener = scene.listen().await;
    scene.app.node.stop();
    assert_eq!(close_code(&mut listener).await, 1_012);
}

#[tokio::test(start_paused = true)]
async fn a_listener_that_talks_is_cut_off() {
    let scene = Scene::start().await;
    let mut listener = scene.listen().await;
    listener.send(Message::Binary(vec![0; 320].into())).await.unwrap();
    assert_eq!(close_code(&mut listener).await, 1_008);
}

#[tokio::test(start_paused = true)]
async fn a_slow_follower_is_told_how_many_events_are_lost() {
    let scene = Scene::start().await;
    let answer = scene
        .app
        .client
        .request("GET", &scene.path("live"))
        .send()
        .await
        .unwrap();
    assert_eq!(answer.status(), 200);
    for number in 0..300 {
        scene.feed.tell(LiveEvent::Words {
            speaker: Speaker::Agent,
            text: number.to_string(),
            is_final: false,
        });
    }
    scene.feed.tell(LiveEvent::End);
    let text = answer.text().await.unwrap();
    assert!(text.contains(r#""state":"listening""#), "{text}");
    assert!(text.contains("event: lost\nid: 2\ndata: {\"count\":45}\n\n"), "{text}");
    assert!(
        !text.contains(r#""text":"44""#) && text.contains(r#""text":"45""#),
        "{text}"
    );
    assert!(text.trim_end().ends_with("event: end\nid: 258\ndata: {}"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_follower_whose_key_is_gone_is_cut_off() {
    let scene = Scene::start().await;
    let key = json!({ "name": "wallboard", "scopes": ["live"] });
    let made = scene.app.client.post("/public/v1/me/api-keys", key).await.expect(201);
    let request = scene.app.client.bare("GET", &scene.path("live"));
    let request = request.header("x-api-key", made.text("/data/apiKey"));
    let answer = request.send().await.unwrap();
    assert_eq!(answer.status(), 200);
    let path = format!("/public/v1/me/api-keys/{}", made.text("/data/keyId"));
    scene.app.client.delete(&path).await.expect(200);
    let text = tokio::time::timeout(Duration::from_secs(40), answer.text())
        .await
        .unwrap();
    assert!(!text.unwrap().contains("event: end"));
    // A key without the scope follows nothing.
    let key = json!({ "name": "reader", "scopes": ["read"] });
    let made = scene.app.client.post("/public/v1/me/api-keys", key).await.expect(201);
    let request = scene.app.client.bare("GET", &scene.path("live"));
    let refused = send(request.header("x-api-key", made.text("/data/apiKey"))).await;
    assert_eq!(refused.expect(403).code(), "forbidden");
}

#[tokio::test(start_paused = true)]
async fn a_second_operator_is_told_who_has_the_call_however_late() {
    let scene = Scene::start().await;
    let base = scene.app.client.base.replacen("http", "ws", 1);
    let address = |ticket: &Answer| {
        let ticket = ticket.text("/data/ticket");
        format!("{base}{}?ticket={ticket}", scene.path("operate"))
    };
    let ticket = scene.ask("operate").await.expect(201);
    // Another one is faster by a moment.
    let (mut socket, _) = connect_async(address(&ticket)).await.unwrap();
    let start = json!({ "event": "start", "format": "pcm_8000" }).to_string();
    socket.send(Message::Text(start.into())).await.unwrap();
    match socket.next().await {
        Some(Ok(Message::Close(Some(close)))) => {
            assert_eq!(u16::from(close.code), 1_008);
            assert!(close.reason.contains("bob has the call"), "{}", close.reason);
        }
        other => panic!("{other:?}"),
    }
    let ticket = scene.ask("operate").await.expect(201);
    scene.visits.lock().unwrap().operator = Some("bob".into());
    match connect_async(address(&ticket)).await {
        Err(tungstenite::Error::Http(answer)) => assert_eq!(answer.status().as_u16(), 409),
        other => panic!("{:?}", other.map(|_| ())),
    }
    let refused = scene.ask("operate").await.expect(409);
    assert_eq!(refused.code(), "conflict");
    assert!(
        refused.text("/error/message").contains("bob has the call"),
        "{}",
        refused.body
    );
    scene.ask("listen").await.expect(201);
}
