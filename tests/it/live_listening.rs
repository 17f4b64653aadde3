//! Tests of following a live call and listening to it, with the whole service and simulated phones.

use std::{collections::BTreeMap, time::Duration};

use futures_util::{SinkExt, StreamExt};
use media::{
    babble::{Listener, Transcript},
    codec,
    format::Encoding,
};
use serde_json::{Value, json};
use sim::exchange::{Script, Step};
use tokio::{net::TcpStream, task::JoinHandle, time::Instant};
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream, connect_async,
    tungstenite::{Error, Message},
};

use support::{
    words::{lines, tidy},
    world::{World, WorldSettings},
};

const NUMBER: &str = "+15550100010";

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// A live call 10 s after its answer. Its callee asks something at 20 s, and hangs up 20 s after the answer to it.
struct Live {
    world: World,
    id: String,
}

async fn live(records: bool) -> Live {
    let steps = [
        Step::UntilAgentSaid,
        Step::WaitMs(20_000),
        Step::Say("What is it about?".into()),
        Step::UntilAgentSaid,
        Step::WaitMs(20_000),
        Step::HangUp,
    ];
    let world = World::start_with(WorldSettings {
        scripts: BTreeMap::from([("waits".to_owned(), Script::of(steps))]),
        ..WorldSettings::default()
    })
    .await;
    let agent = json!({
        "name": "Ann",
        "conversationConfig": {
            "agent": { "greetingMessage": "Hello, this is Ann.", "prompt": { "prompt": "You call about a delivery." } },
            "turn": { "turnTimeout": -1 },
        },
        "platformSettings": { "privacy": { "recordVoice": records } },
    });
    let agent = world.agent(agent).await;
    let call = json!({ "agentId": agent, "phoneNumber": NUMBER, "dynamicVariables": { "script": "waits" } });
    let made = world.client.post("/public/v1/calls", call).await.expect(201);
    let id = made.text("/data/conversationId");
    world.pass(10).await;
    Live { world, id }
}

impl Live {
    fn path(&self, end: &str) -> String {
        format!("/public/v1/conversations/{}/{end}", self.id)
    }

    /// Returns the address of a WebSocket with a new ticket.
    async fn address(&self) -> String {
        let body = json!({ "for": "listen" });
        let made = self.world.client.post(&self.path("live-tickets"), body).await;
        made.expect(201).text("/data/url")
    }

    /// Opens a listener, and collects what it gets.
    async fn listen(&self, format: &'static str, channels: &'static str) -> JoinHandle<Got> {
        let (mut socket, _) = connect_async(self.address().await).await.unwrap();
        let start = json!({ "event": "start", "format": format, "channels": channels });
        socket.send(Message::Text(start.to_string().into())).await.unwrap();
        let ready = socket.next().await.unwrap().unwrap().into_text().unwrap();
        let ready: Value = serde_json::from_str(&ready).unwrap();
        assert_eq!(
            ready,
            json!({ "event": "ready", "format": format, "channels": channels })
        );
        tokio::spawn(Got::until_closed(socket))
    }

    async fn events(&self, kind: &str) -> Vec<Value> {
        let events = self
            .world
            .client
            .get(&self.path("events?pageSize=100"))
            .await
            .expect(200);
        let events = events.data().as_array().unwrap().clone();
        events.into_iter().filter(|event| event["type"] == kind).collect()
    }
}

/// Everything that a listener got.
#[derive(Default)]
struct Got {
    began: Option<Instant>,
    /// Frames, each with the milliseconds from the first one.
    frames: Vec<(u64, Vec<u8>)>,
    events: Vec<Value>,
    close: Option<u16>,
}

impl Got {
    async fn until_closed(mut socket: Socket) -> Self {
        let mut got = Self::default();
        while let Some(message) = socket.next().await {
            match message {
                Ok(Message::Binary(frame)) => {
                    let began = *got.began.get_or_insert_with(Instant::now);
                    let at = u64::try_from(began.elapsed().as_millis()).unwrap();
                    got.frames.push((at, frame.to_vec()));
                }
                Ok(Message::Text(event)) => got.events.push(serde_json::from_str(&event).unwrap()),
                Ok(Message::Close(Some(frame))) => got.close = Some(frame.code.into()),
                Ok(_) => {}
                Err(Error::ConnectionClosed) => break,
                Err(error) => panic!("{error}"),
            }
        }
        got
    }

    fn samples(&self, encoding: Encoding) -> Vec<i16> {
        let mut samples = Vec::new();
        for (_, frame) in &self.frames {
            codec::decode(encoding, frame, &mut samples);
        }
        samples
    }

    /// Returns the samples of one of two interleaved sides: 0 is the user, 1 the agent.
    fn side(&self, side: usize) -> Vec<i16> {
        let both = self.samples(Encoding::Linear16);
        both.chunks(2).map(|pair| pair[side]).collect()
    }
}

/// Returns what a voice says in samples at 8 kHz.
fn said(samples: &[i16]) -> Vec<String> {
    let (mut heard, mut transcript) = (Vec::new(), Transcript::default());
    let mut listener = Listener::new();
    listener.push(samples, &mut heard);
    listener.finish(&mut heard);
    let texts = heard.into_iter().filter_map(|event| transcript.take(event));
    texts
        .map(|utterance| tidy(&utterance.text))
        .filter(|text| !text.is_empty())
        .collect()
}

#[tokio::test(start_paused = true)]
async fn a_listener_hears_both_sides_apart_and_another_one_mixed() {
    for records in [true, false] {
        let live = live(records).await;
        let apart = live.listen("pcm_8000", "apart").await;
        let mixed = live.listen("mulaw_8000", "mixed").await;
        let wide = live.listen("pcm_16000", "mixed").await;
        let over = live.world.until_over(&live.id, 120).await;
        let (apart, mixed, wide) = (apart.await.unwrap(), mixed.await.unwrap(), wide.await.unwrap());
        // The greeting was over before they came.
        let agent = lines(&over, "Agent")[1..].to_vec();
        assert_eq!(lines(&over, "User"), ["What is it about?"]);
        assert!(!agent.is_empty(), "{over:#}");
        assert_eq!(said(&apart.side(0)).join(" "), "What is it about?");
        assert_eq!(said(&apart.side(1)).join(" "), agent.join(" "));
        let all = said(&mixed.samples(Encoding::MuLaw)).join(" ");
        assert_eq!(all, format!("What is it about? {}", agent.join(" ")));
        for (got, bytes) in [(&apart, 640), (&mixed, 160), (&wide, 640)] {
            assert!(got.frames.iter().all(|(_, frame)| frame.len() == bytes));
            // Every frame comes when its 20 ms are over, in the order of the call.
            for (number, (at, _)) in got.frames.iter().enumerate() {
                let due = number as u64 * 20;
                assert!(at.abs_diff(due) <= 100, "frame {number} came after {at} ms");
            }
            assert!(got.frames.len() > 1_000, "{}", got.frames.len());
            assert_eq!(got.events, [json!({ "event": "end" })]);
            assert_eq!(got.close, Some(1_000));
        }
        let joined = live.events("listener_joined").await;
        let by: Vec<&Value> = joined.iter().map(|event| &event["detail"]).collect();
        assert_eq!(by, [&json!({ "by": "account key" }); 3]);
        let body = json!({ "for": "listen" });
        let late = live.world.client.post(&live.path("live-tickets"), body).await;
        assert_eq!(late.expect(409).code(), "invalid_transition");
    }
}

#[tokio::test(start_paused = true)]
async fn a_listener_that_goes_is_recorded_and_costs_the_call_nothing() {
    let live = live(false).await;
    let (mut socket, _) = connect_async(live.address().await).await.unwrap();
    let start = json!({ "event": "start", "format": "pcm_8000", "channels": "mixed" });
    socket.send(Message::Text(start.to_string().into())).await.unwrap();
    for _ in 0..50 {
        socket.next().await.unwrap().unwrap();
    }
    // The network of this one is gone, and the next one does not read at all.
    drop(socket);
    let stuck = live.address().await;
    let (mut stuck, _) = connect_async(stuck).await.unwrap();
    stuck.send(Message::Text(start.to_string().into())).await.unwrap();
    live.world.pass(2).await;
    assert_eq!(live.events("listener_left").await.len(), 1);
    assert_eq!(live.events("listener_joined").await.len(), 2);
    let over = live.world.until_over(&live.id, 120).await;
    assert_eq!(over["status"], "completed", "{over:#}");
    assert_eq!(lines(&over, "User"), ["What is it about?"]);
}

#[tokio::test(start_paused = true)]
async fn a_wrong_start_is_refused_with_a_reason() {
    let live = live(false).await;
    for (start, named) in [
        (
            json!({ "event": "start", "format": "mp3", "channels": "mixed" }).to_string(),
            "pcm_16000",
        ),
        (
            json!({ "event": "start", "format": "pcm_8000", "channels": "both" }).to_string(),
            "apart",
        ),
        (
            json!({ "event": "begin", "format": "pcm_8000", "channels": "mixed" }).to_string(),
            "start",
        ),
        (
            json!({ "event": "start", "format": "pcm_8000", "channels": "mixed", "x": 1 }).to_string(),
            "`x`",
        ),
        ("{".to_owned(), "start"),
    ] {
        let (mut socket, _) = connect_async(live.address().await).await.unwrap();
        socket.send(Message::Text(start.clone().into())).await.unwrap();
        match socket.next().await {
            Some(Ok(Message::Close(Some(close)))) => {
                assert_eq!(u16::from(close.code), 1_008, "{start}");
                assert!(close.reason.contains(named), "{start}: {}", close.reason);
            }
            other => panic!("{start}: {other:?}"),
        }
    }
    let (silent, _) = connect_async(live.address().await).await.unwrap();
    let began = Instant::now();
    assert_eq!(Got::until_closed(silent).await.close, Some(1_008));
    assert!(began.elapsed().abs_diff(Duration::from_secs(10)) < Duration::from_secs(1));
    assert!(live.events("listener_joined").await.is_empty());
}

/// Splits a stream of events: type and data.
fn parsed(text: &str) -> Vec<(String, Value)> {
    let blocks = text.split("\n\n").filter(|block| block.contains("data: "));
    let field = |block: &str, name: &str| {
        let line = block.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.to_owned()
    };
    blocks
        .map(|block| {
            let data = serde_json::from_str(&field(block, "data: ")).unwrap();
            (field(block, "event: "), data)
        })
        .collect()
}

#[tokio::test(start_paused = true)]
async fn what_happens_is_streamed_while_it_happens() {
    let live = live(false).await;
    let request = live.world.client.request("GET", &live.path("live"));
    let answer = request.send().await.unwrap();
    assert_eq!(answer.status(), 200);
    assert_eq!(answer.headers()["content-type"], "text/event-stream");
    let reading = tokio::spawn(answer.text());
    let over = live.world.until_over(&live.id, 120).await;
    let events = parsed(&reading.await.unwrap().unwrap());
    let of = |kind: &str| -> Vec<Value> {
        let own = events.iter().filter(|(name, _)| name == kind);
        own.map(|(_, data)| data.clone()).collect()
    };
    assert_eq!(events[0].0, "state");
    let states: Vec<Value> = of("state").into_iter().map(|data| data["state"].clone()).collect();
    // A reply that was prepared ahead takes no time to think.
    let talking: Vec<&Value> = states.iter().filter(|state| **state != "thinking").collect();
    let answering = ["listening", "speaking", "listening"];
    assert!(talking.windows(3).any(|states| *states == answering), "{states:?}");
    assert!(
        of("state")
            .iter()
            .all(|data| data["since"].as_str().unwrap().ends_with('Z'))
    );
    // The user's words grow until they are final, and the agent's are told before their turn.
    let words = of("words");
    let of_user: Vec<&Value> = words.iter().filter(|words| words["speaker"] == "user").collect();
    let last = of_user.iter().rfind(|words| words["final"] == true).unwrap();
    assert_eq!(tidy(last["text"].as_str().unwrap()), "What is it about?");
    assert!(of_user.iter().any(|words| words["final"] == false), "{words:?}");
    assert!(words.iter().any(|words| words["speaker"] == "agent"));
    let mut turns = live
        .world
        .client
        .get(&live.path("turns"))
        .await
        .expect(200)
        .data()
        .clone();
    let turns = turns.as_array_mut().unwrap();
    for turn in turns.iter_mut() {
        turn.as_object_mut().unwrap().remove("latency");
    }
    assert_eq!(of("turn"), turns[1..], "{over:#}");
    assert_eq!(events.last().unwrap(), &("end".to_owned(), json!({})));
}

#[tokio::test(start_paused = true)]
async fn an_account_can_switch_it_off() {
    let live = live(false).await;
    let off = json!({ "liveListening": false });
    let client = &live.world.client;
    let address = live.address().await;
    client.patch("/public/v1/safeguards", off).await.expect(200);
    let refused = client
        .post(&live.path("live-tickets"), json!({ "for": "listen" }))
        .await
        .expect(403);
    assert!(
        refused.text("/error/message").contains("liveListening"),
        "{}",
        refused.body
    );
    let refused = client.get(&live.path("live")).await.expect(403);
    assert!(
        refused.text("/error/message").contains("liveListening"),
        "{}",
        refused.body
    );
    // A ticket from before is of no use either.
    assert!(connect_async(address).await.is_err());
    client
        .patch("/public/v1/safeguards", json!({ "liveListening": null }))
        .await
        .expect(200);
    live.address().await;
}
