//! Clients that follow a call or listen to it through a node that does not hold it.

use std::{sync::Arc, time::Duration};

use actors::{
    call::{CallMessage, CallPhase, CallSnapshot, CommandAnswer},
    lines::LinesMessage,
    live_feed::{Following, LiveAudio, LiveEvent, LiveFeed, LiveState},
    switchboard::Switchboard,
};
use domain::{
    history::{Speaker, TurnFact},
    id::NodeId,
    time::TokioClock,
};
use futures_util::{SinkExt, StreamExt};
use peers::{Peers, PeersSettings, directory::Holder, routes};
use reqwest::RequestBuilder;
use rest::{RestState, server::ServerLimits};
use serde_json::json;
use support::{
    app::{START, Served, TestApp, serve_router, state},
    client::send,
    fake_actor::answering_at_once,
    switchboard::FakeNode,
};
use tokio::{
    net::TcpListener,
    sync::oneshot,
    time::{Instant, sleep, timeout},
};
use tokio_tungstenite::{connect_async, tungstenite::Message};

use super::{media::Phone, site::Register};

/// Two nodes with the whole API. The second one holds a call.
struct Nodes {
    first: TestApp,
    first_peers: Peers,
    feed: LiveFeed,
    register: Arc<Register>,
    id: String,
    _second: (Served, FakeNode),
}

fn among(register: &Arc<Register>, me: NodeId) -> Peers {
    let settings = PeersSettings {
        me,
        address: None,
        directory: register.clone(),
        clock: Arc::new(TokioClock::starting_at(START)),
    };
    Peers::among(settings).unwrap()
}

/// Time that the agent of a call in text takes for its answer: longer than most answers of other nodes may take.
const ANSWERS_AFTER: Duration = Duration::from_secs(20);

/// Tells of an answer of the agent.
async fn answers(feed: LiveFeed) {
    sleep(ANSWERS_AFTER).await;
    feed.tell(LiveEvent::Turn(Box::new(TurnFact {
        seq: 2,
        speaker: Speaker::Agent,
        text: "Yes.".to_owned(),
        started_ms: 20_000,
        ended_ms: 20_000,
        interrupted: false,
        damaged: false,
        detail: Default::default(),
    })));
    feed.tell(LiveEvent::State {
        state: LiveState::Listening,
        since: START,
    });
}

/// Returns a switchboard that holds every call, in text and with this feed.
async fn holding(feed: LiveFeed) -> Switchboard {
    let lines = answering_at_once(move |message| match message {
        LinesMessage::Holds { reply, .. } => drop(reply.send(true)),
        LinesMessage::Follow {
            message: CallMessage::Follow { listener, reply },
            ..
        } => {
            let now = LiveEvent::State {
                state: LiveState::Listening,
                since: START,
            };
            let _ = reply.send(Some(Following {
                now,
                events: feed.events.subscribe(),
                audio: listener.map(|_| (feed.audio.subscribe(), oneshot::channel().0)),
            }));
        }
        LinesMessage::Follow {
            message: CallMessage::Present(reply),
            ..
        } => drop(reply.send(feed.present(LiveState::Thinking))),
        LinesMessage::InspectCall { reply, .. } => drop(reply.send(CallSnapshot {
            phase: CallPhase::Listening,
            turns: 1,
            operator: None,
            is_text: true,
        })),
        LinesMessage::Command { reply, .. } => {
            feed.tell(LiveEvent::State {
                state: LiveState::Thinking,
                since: START,
            });
            tokio::spawn(answers(feed.clone()));
            let _ = reply.send(CommandAnswer::Done);
        }
        _ => {}
    });
    Switchboard {
        lines: lines.await.into(),
        ..Switchboard::default()
    }
}

async fn nodes() -> Nodes {
    let (register, feed) = (Arc::<Register>::default(), LiveFeed::default());
    let first_peers = among(&register, NodeId::new());
    let own = first_peers.clone();
    let first = TestApp::changed(ServerLimits::default(), |state| RestState { peers: own, ..state }).await;
    let (node, actors) = (NodeId::new(), FakeNode::default());
    let second = RestState {
        peers: among(&register, node),
        switchboard: holding(feed.clone()).await,
        ..state(first.store.clone(), &actors).await
    };
    let commands = routes::router(&second.peers, second.switchboard.clone(), Arc::new(|| {}));
    let routes = rest::with_envelope(rest::routes(second)).merge(commands);
    let second = serve_router(routes, ServerLimits::default()).await;
    let call = first.dialed_call(node, "+15550100010").await;
    let holder = Holder {
        node,
        address: format!("http://{}", second.0),
        token: None,
    };
    register.lives(node, holder.address.clone());
    register.holds(call, holder);
    Nodes {
        first,
        first_peers,
        feed,
        register,
        id: call.to_string(),
        _second: (second, actors),
    }
}

impl Nodes {
    fn path(&self, end: &str) -> String {
        format!("/public/v1/conversations/{}/{end}", self.id)
    }

    /// Opens a listener at the first node with the ticket that a request gets there.
    async fn listen(&self, ticket: RequestBuilder, origin: Option<&str>) -> Phone {
        let ticket = send(ticket.json(&json!({ "for": "listen" }))).await.expect(201);
        let base = self.first.client.base.replacen("http", "ws", 1);
        let address = format!("{base}{}?ticket={}", self.path("listen"), ticket.text("/data/ticket"));
        let mut request = tokio_tungstenite::tungstenite::ClientRequestBuilder::new(address.parse().unwrap());
        if let Some(origin) = origin {
            request = request.with_header("origin", origin);
        }
        let (mut socket, _) = connect_async(request).await.unwrap();
        let start = r#"{"event":"start","format":"pcm_8000","channels":"apart"}"#;
        socket.send(Message::Text(start.into())).await.unwrap();
        match timeout(Duration::from_secs(5), socket.next()).await.unwrap() {
            Some(Ok(Message::Text(ready))) => assert!(ready.contains("ready"), "{ready}"),
            other => panic!("{other:?}"),
        }
        socket
    }

    async fn hears(&self, socket: &mut Phone) {
        let sample_rate = 8_000;
        let samples = [1; 320].into();
        assert!(self.feed.audio.send(LiveAudio { sample_rate, samples }).is_ok());
        match timeout(Duration::from_secs(5), socket.next()).await.unwrap() {
            Some(Ok(Message::Binary(frame))) => assert_eq!(frame.len(), 640),
            other => panic!("{other:?}"),
        }
    }

    fn by_key(&self) -> RequestBuilder {
        self.first.client.request("POST", &self.path("live-tickets"))
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_of_another_node_is_listened_to_with_a_key_or_a_session() {
    let nodes = nodes().await;
    let mut by_key = nodes.listen(nodes.by_key(), None).await;
    nodes.hears(&mut by_key).await;
    drop(by_key);
    // The rules on sessions depend on the host at which the browser asked.
    let client = &nodes.first.client;
    let body = json!({ "email": "ada@example.com", "apiKey": client.key });
    let signed_in = client.bare("POST", "/public/v1/session").json(&body);
    let signed_in = send(signed_in.header("origin", &client.base)).await.expect(201);
    let cookie = signed_in.headers["set-cookie"].to_str().unwrap();
    let cookie = cookie.split(';').next().unwrap();
    let ticket = client
        .bare("POST", &nodes.path("live-tickets"))
        .header("cookie", cookie);
    let ticket = ticket.header("origin", &client.base);
    let mut by_session = nodes.listen(ticket, Some(&client.base)).await;
    nodes.hears(&mut by_session).await;
    // Errors of the other node come as they are.
    let wrong = nodes.by_key().json(&json!({ "for": "whisper" }));
    assert_eq!(send(wrong).await.expect(400).fields(), [("for", "not_allowed")]);
    let path = format!("{}?ticket=x", nodes.path("listen"));
    send(client.bare("GET", &path)).await.expect(404);
}

#[tokio::test(start_paused = true)]
async fn a_list_shows_the_states_of_other_nodes_calls_and_waits_a_second_at_most() {
    let nodes = nodes().await;
    nodes.feed.tell(LiveEvent::Words {
        speaker: Speaker::User,
        text: "Yes, on".to_owned(),
        is_final: false,
    });
    // Takes connections and never answers.
    let stuck = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", stuck.local_addr().unwrap());
    nodes.register.lives(NodeId::new(), address);
    let list = "/public/v1/calls/live?present=true";
    let began = Instant::now();
    let answer = nodes.first.client.get(list).await.expect(200);
    assert!(began.elapsed() < Duration::from_millis(1_200), "{:?}", began.elapsed());
    let words = json!({ "speaker": "user", "text": "Yes, on" });
    let present = json!({ "state": "thinking", "words": words, "mood": "neutral" });
    assert_eq!(answer.data()[0]["present"], present);
    // Without its node the call is shown without its state.
    nodes.register.is_unavailable(true);
    let answer = nodes.first.client.get(list).await.expect(200);
    assert_eq!(answer.data()[0]["conversationId"], nodes.id.as_str());
    assert_eq!(answer.data()[0].get("present"), None);
}

#[tokio::test(start_paused = true)]
async fn a_text_for_another_nodes_call_is_answered_although_that_takes_long() {
    let nodes = nodes().await;
    let began = Instant::now();
    let path = nodes.path("text");
    let answer = nodes
        .first
        .client
        .post(&path, json!({ "text": "Hello?" }))
        .await
        .expect(200);
    assert_eq!(
        (answer.text("/data/turns/0/words"), answer.text("/data/next")),
        ("Yes.".to_owned(), "user".to_owned())
    );
    assert!(began.elapsed() >= ANSWERS_AFTER, "{:?}", began.elapsed());
    assert_eq!(
        nodes.first.client.post(&path, json!({})).await.expect(400).fields(),
        [("text", "required")]
    );
}

#[tokio::test(start_paused = true)]
async fn events_of_another_nodes_call_come_as_they_happen() {
    let nodes = nodes().await;
    let request = nodes.first.client.request("GET", &nodes.path("live"));
    let answer = request.send().await.unwrap();
    assert_eq!(
        (answer.status().as_u16(), &answer.headers()["content-type"]),
        (200, &"text/event-stream".parse().unwrap())
    );
    let mut pieces = answer.bytes_stream();
    let mut text = String::new();
    let began = Instant::now();
    while !text.contains("event: state") {
        text.push_str(std::str::from_utf8(&pieces.next().await.unwrap().unwrap()).unwrap());
    }
    // Longer than any answer may take.
    sleep(Duration::from_secs(60)).await;
    nodes.feed.tell(LiveEvent::End);
    while let Some(piece) = pieces.next().await {
        text.push_str(std::str::from_utf8(&piece.unwrap()).unwrap());
    }
    assert!(text.contains("event: end"), "{text}");
    assert!(began.elapsed() < Duration::from_secs(61), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_node_that_leaves_lets_followers_go_and_waits_for_none() {
    let nodes = nodes().await;
    let mut listener = nodes.listen(nodes.by_key(), None).await;
    let follower = nodes
        .first
        .client
        .request("GET", &nodes.path("live"))
        .send()
        .await
        .unwrap();
    let began = Instant::now();
    nodes.first_peers.drain(Duration::from_secs(600)).await;
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    nodes.first_peers.let_followers_go(Duration::from_secs(3)).await;
    assert!(began.elapsed() >= Duration::from_secs(3), "{:?}", began.elapsed());
    let ended = timeout(Duration::from_secs(5), listener.next()).await.unwrap();
    assert!(
        !matches!(ended, Some(Ok(Message::Binary(_) | Message::Text(_)))),
        "{ended:?}"
    );
    let text = timeout(Duration::from_secs(5), follower.text()).await.unwrap();
    assert!(!text.is_ok_and(|text| text.contains("event: end")));
}
