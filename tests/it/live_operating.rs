//! Tests of an operator who takes a live call over, observed at the phone, the operator, the model and in the record.

mod attacks;
mod audio;
mod transfers;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use domain::{
    phrases::Phrases,
    ports::{
        language_model::{HistoryItem, LanguageError, LanguageModel, ReplyEvent, ReplyRequest, Speaker},
        synthesizer::Synthesizer,
    },
};
use futures_util::{
    SinkExt, StreamExt,
    future::join_all,
    stream::{self, BoxStream},
};
use media::{
    babble::{Listener, Speaker as Babble, Transcript, Voice},
    codec,
    format::Encoding,
};
use providers::babble::BabbleSynthesizer;
use serde_json::{Value, json};
use sim::exchange::{Script, Step};
use tokio::{net::TcpStream, time::Instant};
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream, connect_async,
    tungstenite::{Error, Message},
};

use support::{
    client::Answer,
    phone_audio::MS,
    words::{lines, texts, tidy},
    world::{World, WorldSettings},
};

const NUMBER: &str = "+15550100010";

/// Name of the key that the tests use.
const KEY: &str = "account key";

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// A model that records what it is asked on.
#[derive(Clone, Default)]
struct Model(Arc<Mutex<Vec<ReplyRequest>>>);

impl LanguageModel for Model {
    fn reply(&self, request: ReplyRequest) -> BoxStream<'static, Result<ReplyEvent, LanguageError>> {
        self.0.lock().unwrap().push(request);
        stream::iter([Ok(ReplyEvent::Text("I see.".into()))]).boxed()
    }
}

/// A live call some seconds after its greeting. Its callee asks something 20 s after it, and hangs up a minute later.
struct Live {
    world: World,
    model: Model,
    id: String,
}

async fn live() -> Live {
    live_with(Arc::new(BabbleSynthesizer)).await
}

/// Returns such a call of an agent with this voice.
async fn live_with(synthesizer: Arc<dyn Synthesizer>) -> Live {
    let steps = [
        Step::UntilAgentSaid,
        Step::WaitMs(20_000),
        Step::Say("What is it about?".into()),
        Step::WaitMs(60_000),
        Step::HangUp,
    ];
    let model = Model::default();
    let world = World::start_with(WorldSettings {
        scripts: BTreeMap::from([("waits".to_owned(), Script::of(steps))]),
        keep_audio: true,
        synthesizer,
        mind: Some(Arc::new(model.clone())),
        ..WorldSettings::default()
    })
    .await;
    let agent = json!({ "name": "Ann", "conversationConfig": {
        "agent": { "greetingMessage": "Hello, this is Ann.", "prompt": { "prompt": "Be brief." } },
        "tts": { "voiceId": "babble:default" },
        "turn": { "turnTimeout": 5, "silenceEndCallTimeout": 15 },
    } });
    let agent = world.agent(agent).await;
    let call = json!({ "agentId": agent, "phoneNumber": NUMBER, "name": "Maria",
                       "dynamicVariables": { "script": "waits" } });
    let made = world.client.post("/public/v1/calls", call).await.expect(201);
    let id = made.text("/data/conversationId");
    world.pass(7).await;
    Live { world, model, id }
}

impl Live {
    async fn ticket(&self) -> Answer {
        let path = format!("/public/v1/conversations/{}/live-tickets", self.id);
        self.world.client.post(&path, json!({ "for": "operate" })).await
    }

    async fn address(&self) -> String {
        self.ticket().await.expect(201).text("/data/url")
    }

    async fn operate(&self) -> Operator {
        let mut operator = Operator::at(&self.address().await).await;
        operator.start().await;
        let ready = json!({ "event": "ready", "format": "pcm_8000", "contactName": "Maria", "variables": { "script": "waits" } });
        assert_eq!(operator.events, [ready]);
        operator
    }

    /// Returns the details of the events of this name.
    fn told(&self, kind: &str) -> Vec<Value> {
        let events = self.world.events(&self.id).into_iter();
        events
            .filter(|(name, _)| name == kind)
            .map(|(_, detail)| detail)
            .collect()
    }

    fn asked(&self) -> usize {
        self.model.0.lock().unwrap().len()
    }
}

/// An operator's browser.
struct Operator {
    socket: Socket,
    heard: Vec<i16>,
    events: Vec<Value>,
    close: Option<(u16, String)>,
}

impl Operator {
    async fn at(address: &str) -> Self {
        let (socket, _) = connect_async(address).await.unwrap();
        Self {
            socket,
            heard: Vec::new(),
            events: Vec::new(),
            close: None,
        }
    }

    async fn tell(&mut self, event: Value) {
        self.socket.send(Message::Text(event.to_string().into())).await.unwrap();
    }

    /// Sends `start`, and waits for the answer.
    async fn start(&mut self) {
        self.tell(json!({ "event": "start", "format": "pcm_8000" })).await;
        while self.events.is_empty() && self.close.is_none() {
            self.take_next().await;
        }
    }

    async fn take_next(&mut self) {
        match self.socket.next().await {
            Some(Ok(Message::Binary(frame))) => {
                assert_eq!(frame.len(), 320, "20 ms");
                codec::decode(Encoding::Linear16, &frame, &mut self.heard);
            }
            Some(Ok(Message::Text(event))) => self.events.push(serde_json::from_str(&event).unwrap()),
            Some(Ok(Message::Close(Some(frame)))) => self.close = Some((frame.code.into(), frame.reason.to_string())),
            Some(Ok(_)) => {}
            None | Some(Err(Error::ConnectionClosed)) => {
                self.close.get_or_insert((1_005, String::new()));
            }
            Some(Err(error)) => panic!("{error}"),
        }
    }

    /// Sends 20 ms, and takes what comes meanwhile.
    async fn frame(&mut self, samples: &[i16]) {
        let mut bytes = Vec::new();
        codec::encode(Encoding::Linear16, samples, &mut bytes);
        self.socket.send(Message::Binary(bytes.into())).await.unwrap();
        let next = Instant::now() + Duration::from_millis(20);
        while self.close.is_none() && tokio::time::timeout_at(next, self.take_next()).await.is_ok() {}
    }

    async fn says(&mut self, text: &str) {
        let mut voice = Babble::new(text, Voice::new(190.0), 8_000).unwrap();
        while let Some(mut samples) = voice.next_chunk(160) {
            samples.resize(160, 0);
            self.frame(&samples).await;
        }
    }

    async fn is_silent(&mut self, ms: u64) {
        for _ in 0..ms / 20 {
            self.frame(&[0; 160]).await;
        }
    }

    /// Takes everything until the socket closes. Returns the code and the reason.
    async fn until_closed(&mut self) -> (u16, String) {
        while self.close.is_none() {
            self.take_next().await;
        }
        self.close.clone().unwrap()
    }

    /// Returns what was heard.
    fn understood(&self) -> Vec<String> {
        let (mut heard, mut transcript) = (Vec::new(), Transcript::default());
        let mut listener = Listener::new();
        listener.push(&self.heard, &mut heard);
        listener.finish(&mut heard);
        let texts = heard.into_iter().filter_map(|event| transcript.take(event));
        texts
            .map(|said| tidy(&said.text))
            .filter(|text| !text.is_empty())
            .collect()
    }
}

#[tokio::test(start_paused = true)]
async fn an_operator_talks_with_the_user_and_the_agent_goes_on_with_what_was_said() {
    let live = live().await;
    let mut operator = live.operate().await;
    let asked = live.asked();
    operator.is_silent(200).await;
    operator.says("Hello, this is Ada.").await;
    operator.is_silent(30_000).await;
    assert_eq!(operator.understood(), ["What is it about?"]);
    operator.says("It is about your parcel.").await;
    assert_eq!(live.asked(), asked, "the agent is silent");
    operator.is_silent(500).await;
    operator
        .tell(json!({ "event": "giveBack", "note": "Offer ten per cent." }))
        .await;
    assert_eq!(operator.until_closed().await, (1_000, "given back".to_owned()));
    live.world.pass(4).await;
    let request = live.model.0.lock().unwrap()[asked].clone();
    let notes: Vec<&str> = request.notes.iter().map(|note| &*note.text).collect();
    assert_eq!(notes, ["Offer ten per cent."]);
    let said: Vec<(Speaker, String)> = request
        .history
        .iter()
        .filter_map(|item| match item {
            HistoryItem::Said { speaker, text, .. } => Some((*speaker, text.clone())),
            _ => None,
        })
        .collect();
    let told = [
        (Speaker::Operator, "Hello, this is Ada.".to_owned()),
        (Speaker::User, "What is it about?".to_owned()),
        (Speaker::Operator, "It is about your parcel.".to_owned()),
    ];
    assert_eq!(said[said.len() - 3..], told, "{said:?}");
    let over = live.world.until_over(&live.id, 120).await;
    assert_eq!(
        lines(&over, "Operator"),
        ["Hello, this is Ada.", "It is about your parcel."],
        "{over:#}"
    );
    assert_eq!(lines(&over, "User"), ["What is it about?"]);
    let phone = texts(&live.world.phones().call(NUMBER).heard()).join(" ");
    for words in ["Hello, this is Ada.", "It is about your parcel. I see."] {
        assert!(phone.contains(words), "{phone}");
    }
    assert_eq!(live.told("operator_joined"), [json!({ "by": KEY })]);
    assert_eq!(
        live.told("operator_left"),
        [json!({ "by": KEY, "reason": "given_back" })]
    );
}

#[tokio::test(start_paused = true)]
async fn the_agent_is_back_within_three_seconds_of_an_operator_who_is_lost() {
    let back = Phrases::built_in("en").unwrap().back_with_you;
    for how in ["closes", "stalls"] {
        let live = live().await;
        let mut operator = live.operate().await;
        operator.says("One moment, I will look at that for you.").await;
        operator.is_silent(200).await;
        let lost = Instant::now();
        let lost_ms = live.world.played(NUMBER).length_ms();
        let kept = (how == "stalls").then_some(operator);
        let heard = |world: &World| texts(&world.phones().call(NUMBER).heard()).join(" ");
        // A phone's record has a sentence once it was heard whole.
        let sentence = Duration::from_secs(6);
        while !heard(&live.world).contains(back) {
            tokio::time::sleep(Duration::from_millis(100)).await;
            assert!(
                lost.elapsed() < Duration::from_secs(3) + sentence,
                "{how}: {}",
                heard(&live.world)
            );
        }
        let silence = live.world.played(NUMBER).longest_silence(lost_ms) / MS;
        assert!(silence <= 3_000, "{how}: {silence} ms");
        let left = live.told("operator_left");
        assert_eq!(left, [json!({ "by": KEY, "reason": "lost" })], "{how}");
        drop(kept);
    }
}

#[tokio::test(start_paused = true)]
async fn of_ten_operators_one_has_the_call_and_the_others_are_told_who() {
    let live = live().await;
    let addresses = join_all((0..10).map(|_| live.address())).await;
    let sockets = join_all(addresses.iter().map(|address| async move {
        let mut operator = Operator::at(address).await;
        operator.start().await;
        operator
    }))
    .await;
    let (mut seated, refused): (Vec<_>, Vec<_>) = sockets.into_iter().partition(|operator| operator.close.is_none());
    assert_eq!((seated.len(), refused.len()), (1, 9));
    for operator in refused {
        let (code, reason) = operator.close.unwrap();
        assert!(code == 1_008 && reason.contains(KEY), "{code} {reason}");
    }
    let late = live.ticket().await.expect(409);
    assert_eq!(late.code(), "conflict");
    assert!(late.text("/error/message").contains(KEY), "{}", late.body);
    let said = json!({ "text": "Hello?" });
    let path = format!("/public/v1/conversations/{}/say", live.id);
    let say = live.world.client.post(&path, said).await.expect(409);
    assert!(say.text("/error/message").contains("`operator`"), "{}", say.body);
    seated[0].tell(json!({ "event": "giveBack" })).await;
    assert_eq!(seated[0].until_closed().await.0, 1_000);
    live.world.pass(1).await;
    live.ticket().await.expect(201);
}

#[tokio::test(start_paused = true)]
async fn what_an_operator_sends_is_bounded_and_the_end_of_the_call_is_told() {
    let live = live().await;
    let mut operator = live.operate().await;
    for _ in 0..20 {
        // 200 ms at once, ten times as fast as time.
        operator.frame(&[500; 1_600]).await;
    }
    operator.is_silent(500).await;
    let lost = operator
        .events
        .iter()
        .filter_map(|event| event["milliseconds"].as_u64());
    let lost: u64 = lost.sum();
    assert!((2_900..=3_700).contains(&lost), "{lost}");
    operator
        .tell(json!({ "event": "giveBack", "note": "a".repeat(1_001) }))
        .await;
    operator.is_silent(100).await;
    let error = operator.events.last().unwrap().clone();
    assert_eq!(error["event"], "error");
    assert!(error["message"].as_str().unwrap().contains("1000"), "{error}");
    let end = format!("/public/v1/conversations/{}/end", live.id);
    live.world.client.post(&end, json!({})).await;
    assert_eq!(operator.until_closed().await.0, 1_000);
    assert_eq!(operator.events.last(), Some(&json!({ "event": "end" })));
    live.world.until_over(&live.id, 20).await;
    assert_eq!(
        live.told("operator_left"),
        [json!({ "by": KEY, "reason": "call_ended" })]
    );
}

#[tokio::test(start_paused = true)]
async fn a_ticket_for_another_purpose_and_a_wrong_start_are_refused() {
    let live = live().await;
    let path = format!("/public/v1/conversations/{}/live-tickets", live.id);
    let listens = live
        .world
        .client
        .post(&path, json!({ "for": "listen" }))
        .await
        .expect(201);
    let address = listens.text("/data/url").replace("/listen?", "/operate?");
    let Err(Error::Http(refused)) = connect_async(address).await else {
        panic!("a ticket to listen took the call over")
    };
    assert_eq!(refused.status(), 404);
    for (start, named) in [
        (json!({ "event": "start", "format": "opus" }), "`format`"),
        (json!({ "event": "giveBack" }), "start"),
        (json!({ "event": "start", "format": "pcm_8000", "x": 1 }), "start"),
    ] {
        let mut operator = Operator::at(&live.address().await).await;
        operator.tell(start.clone()).await;
        let (code, reason) = operator.until_closed().await;
        assert!(code == 1_008 && reason.contains(named), "{start}: {code} {reason}");
    }
    assert!(live.told("operator_joined").is_empty());
}
