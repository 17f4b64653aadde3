//! Tests of test calls that are held in text: no speech provider is asked, and the answers tell all that the agent did.

use std::{sync::Arc, time::Duration};

use carriers::plain;
use domain::ports::{
    NotReady,
    language_model::{HistoryItem, LanguageError, LanguageModel, ReplyEvent, ReplyRequest, Speaker},
    store::ConversationStatus,
    synthesizer::{Synthesizer, Voice, VoiceConfig},
    transcriber::{Transcriber, TranscriberConfig, TranscriptSink, TranscriptStream},
};
use futures_util::{
    StreamExt,
    future::join_all,
    stream::{self, BoxStream},
};
use net::address_policy::AddressPolicy;
use serde_json::{Value, json};
use support::{
    client::Answer,
    sink::Sink,
    world::{World, WorldSettings},
};
use tokio::time::{Instant, sleep};

use crate::conversations::Dialer;

const TESTS: &str = "/public/v1/agents/test-call";
const LIVE: &str = "/public/v1/calls/live";

/// Speech providers that must not be asked.
struct NoSpeech;

impl Transcriber for NoSpeech {
    fn sample_rate(&self, _wanted: u32) -> u32 {
        panic!("a recogniser was asked")
    }

    fn open(&self, _config: TranscriberConfig, _sink: TranscriptSink) -> Box<dyn TranscriptStream> {
        panic!("a recogniser was opened")
    }
}

impl Synthesizer for NoSpeech {
    fn open(&self, _config: VoiceConfig) -> Box<dyn Voice> {
        panic!("a voice was opened")
    }
}

/// A model that looks up a price, ends the call, rambles for more than a minute, repeats the text after a second,
/// ponders for a minute, or says yes, as the user wants.
struct Clerk;

impl LanguageModel for Clerk {
    fn reply(&self, request: ReplyRequest) -> BoxStream<'static, Result<ReplyEvent, LanguageError>> {
        let said = |item: &HistoryItem| match item {
            HistoryItem::Said {
                speaker: Speaker::User,
                text,
                ..
            } => Some(text.clone()),
            _ => None,
        };
        let last = request.history.iter().rev().find_map(said).unwrap_or_default();
        let has_price = request.history.iter().any(
            |item| matches!(item, HistoryItem::Tool { name, result, .. } if name == "prices" && result["ok"] == true),
        );
        let text = |text: &str| Ok(ReplyEvent::Text(text.to_owned()));
        let tool = |name: &str, arguments: Value| {
            Ok(ReplyEvent::Tool {
                name: name.to_owned(),
                arguments,
                echo: None,
            })
        };
        let after = |seconds, text: String| {
            let answer = async move {
                sleep(Duration::from_secs(seconds)).await;
                Ok(ReplyEvent::Text(text))
            };
            stream::once(answer).boxed()
        };
        if last.contains("Repeat") {
            return after(1, last);
        }
        if last.contains("ponder") {
            return after(60, "No.".to_owned());
        }
        if last.contains("long") {
            let pieces = stream::iter(1..=15).then(|n| async move {
                sleep(Duration::from_secs(5)).await;
                Ok(ReplyEvent::Text(format!("Point {n}. ")))
            });
            return pieces.boxed();
        }
        let events = match last.as_str() {
            last if last.contains("price") && has_price => vec![text("It is sixty euros.")],
            last if last.contains("price") => vec![text("One second. "), tool("prices", json!({ "day": "Monday" }))],
            last if last.contains("bye") => vec![text("Goodbye."), tool("endCall", json!({ "reason": "done" }))],
            _ => vec![text("Yes.")],
        };
        stream::iter(events).boxed()
    }
}

/// A service whose speech providers are not configured, with an agent for outbound calls.
struct Scene {
    world: World,
    server: Sink,
    agent: Value,
}

impl Scene {
    async fn start() -> Self {
        let server = Sink::answering("application/json", r#"{ "euros": 60 }"#).await;
        let world = World::start_with(WorldSettings {
            trunk: Some(Arc::new(|_: &str| plain::trunk())),
            addresses: AddressPolicy::everything(),
            mind: Some(Arc::new(Clerk)),
            transcriber: Arc::new(NoSpeech),
            synthesizer: Arc::new(NoSpeech),
            talking: Arc::new(|_| Err(NotReady("voice `babble` is not configured".to_owned()))),
            ..WorldSettings::default()
        })
        .await;
        let tool = json!({ "name": "prices", "description": "Tells the price.", "url": server.url("/prices") });
        let tool = world.client.post("/public/v1/tools", tool).await.expect(201);
        let hours = json!({ "name": "Hours", "text": "We open at nine." });
        let hours = world
            .client
            .post("/public/v1/knowledge-base/documents/text", hours)
            .await;
        let agent = json!({
            "name": "Draft", "direction": "outbound",
            "conversationConfig": {
                "turn": { "turnTimeout": 3, "silenceEndCallTimeout": 20 },
                "agent": {
                    "greetingMessage": "Hello {{name}}.",
                    "prompt": {
                        "prompt": "Be brief.", "toolIds": [tool.text("/data/toolId")],
                        "knowledgeBase": [hours.expect(201).text("/data/documentId")],
                        "builtInTools": { "endCall": { "enabled": true } },
                    },
                },
            },
            "platformSettings": { "callActions": { "postCallWebhook": server.url("/hook") } },
        });
        Self { world, server, agent }
    }

    async fn begin(&self) -> String {
        let body = json!({ "agent": self.agent, "mode": "text", "dynamicVariables": { "name": "Maria" } });
        let made = self.world.client.post(TESTS, body).await.expect(201);
        let id = made.text("/data/conversationId");
        assert_eq!(*made.data(), json!({ "conversationId": id }), "no media socket");
        id
    }

    async fn send(&self, id: &str, text: &str) -> Answer {
        let path = format!("/public/v1/conversations/{id}/text");
        self.world.client.post(&path, json!({ "text": text })).await
    }

    async fn say(&self, id: &str, text: &str) -> Value {
        self.send(id, text).await.expect(200).data().clone()
    }

    /// Returns speakers and words of the recorded turns.
    async fn record(&self, id: &str) -> Vec<(String, String)> {
        self.world.pass(1).await;
        let turns = self
            .world
            .client
            .get(&format!("/public/v1/conversations/{id}/turns"))
            .await;
        let turns = turns.expect(200);
        let turns = turns.data().as_array().unwrap().iter();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        turns
            .map(|turn| (text(&turn["speaker"]), text(&turn["words"])))
            .collect()
    }
}

fn words(answer: &Value) -> Vec<&str> {
    let turns = answer["turns"].as_array().unwrap().iter();
    turns.map(|turn| turn["words"].as_str().unwrap()).collect()
}

#[tokio::test(start_paused = true)]
async fn an_agent_without_speech_providers_answers_in_text_with_all_that_it_did() {
    let mut scene = Scene::start().await;
    scene.world.delivers();
    let spoken = scene.world.client.post(TESTS, json!({ "agent": scene.agent })).await;
    assert_eq!(spoken.expect(409).code(), "not_configured");
    let id = scene.begin().await;
    let yes = scene.say(&id, "Are you there?").await;
    assert_eq!(
        (words(&yes), &yes["next"], &yes["toolCalls"]),
        (vec!["Yes."], &json!("user"), &json!([]))
    );
    let turn = &yes["turns"][0];
    assert!(
        turn["latency"]["playoutMs"].is_number() && turn["model"].is_string(),
        "{turn:#}"
    );
    assert_eq!(turn.get("voice"), None);
    let passages = json!([{ "document": "Hours", "heading": "", "text": "We open at nine." }]);
    assert_eq!(turn["passages"], passages);

    let price = scene.say(&id, "And the price?").await;
    assert_eq!(words(&price), ["One second.", "It is sixty euros."]);
    let call = json!({
        "name": "prices", "run": price["toolCalls"][0]["run"], "arguments": { "day": "Monday" },
        "result": { "ok": true, "simulated": true },
    });
    assert_eq!((&price["toolCalls"], &price["next"]), (&json!([call]), &json!("user")));

    let last = scene.say(&id, "Good bye").await;
    assert_eq!((words(&last), &last["next"]), (vec!["Goodbye."], &json!("nobody")));
    assert_eq!(last["toolCalls"][0]["name"], "endCall");
    let over = scene.world.until_over(&id, 10).await;
    assert_eq!(
        (&over["status"], &over["test"]),
        (&json!("completed"), &json!(true)),
        "{over:#}"
    );
    let expected = [
        ("agent", "Hello Maria."),
        ("user", "Are you there?"),
        ("agent", "Yes."),
        ("user", "And the price?"),
        ("agent", "One second."),
        ("agent", "It is sixty euros."),
        ("user", "Good bye"),
        ("agent", "Goodbye."),
    ];
    assert_eq!(
        scene.record(&id).await,
        expected.map(|(who, words)| (who.to_owned(), words.to_owned()))
    );
    let turns = scene
        .world
        .client
        .get(&format!("/public/v1/conversations/{id}/turns"))
        .await
        .expect(200);
    assert_eq!(
        (&turns.data()[2]["passages"], turns.data()[0].get("passages")),
        (&passages, None)
    );
    scene.world.pass(60).await;
    assert!(scene.server.requests().is_empty(), "{:?}", scene.server.requests());
}

#[tokio::test(start_paused = true)]
async fn a_call_in_text_waits_ten_minutes_for_a_text_and_ends() {
    let scene = Scene::start().await;
    let id = scene.begin().await;
    scene.world.pass(590).await;
    let yes = scene.say(&id, "Still there?").await;
    assert_eq!(words(&yes), ["Yes."]);
    scene.world.pass(590).await;
    assert_eq!(scene.world.read(&id).await["status"], "in_progress");
    assert_eq!(scene.record(&id).await.len(), 3, "the agent did not speak up");
    scene.world.pass(15).await;
    let over = scene.world.until_over(&id, 5).await;
    assert_eq!(over["status"], "completed");
    assert_eq!(scene.send(&id, "Hello?").await.expect(409).code(), "invalid_transition");
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_takes_long_goes_on_and_the_next_text_waits_for_it() {
    let scene = Scene::start().await;
    let id = scene.begin().await;
    let begun = Instant::now();
    let long = scene.say(&id, "The long list, please").await;
    assert_eq!((words(&long), &long["next"]), (vec![], &json!("agent")));
    assert!(begun.elapsed() < Duration::from_secs(55), "{:?}", begun.elapsed());
    let yes = scene.say(&id, "OK").await;
    assert_eq!((words(&yes), &yes["next"]), (vec!["Yes."], &json!("user")));
    let said = scene.record(&id).await;
    assert!(
        said[2].1.starts_with("Point 1. Point 2.") && said[2].1.ends_with("Point 15."),
        "{said:?}"
    );
    assert_eq!(said.len(), 5, "no filler, and the text after the answer: {said:?}");
    let end = format!("/public/v1/conversations/{id}/end");
    assert_eq!(
        scene.world.client.post(&end, json!({})).await.expect(200).data()["status"],
        "completed"
    );
}

#[tokio::test(start_paused = true)]
async fn texts_are_refused_that_are_wrong_or_for_another_call() {
    let scene = Scene::start().await;
    let id = scene.begin().await;
    let path = format!("/public/v1/conversations/{id}/text");
    for (body, expected) in [
        (json!({}), ("text", "required")),
        (json!({ "text": " " }), ("text", "required")),
        (json!({ "text": 1 }), ("text", "wrong_type")),
        (json!({ "text": "x".repeat(1_001) }), ("text", "too_long")),
        (
            json!({ "text": "Yes", "speaker": "agent" }),
            ("speaker", "unknown_field"),
        ),
    ] {
        let refused = scene.world.client.post(&path, body).await.expect(400);
        assert!(refused.fields().contains(&expected), "{:?}", refused.fields());
    }
    let stranger = scene.world.stranger().await;
    stranger.post(&path, json!({ "text": "Yes" })).await.expect(404);
    assert_eq!(scene.record(&id).await.len(), 1, "only the greeting");
}

#[tokio::test(start_paused = true)]
async fn a_call_with_audio_takes_no_texts() {
    let world = World::start_with(WorldSettings {
        trunk: Some(Arc::new(|_: &str| plain::trunk())),
        ..WorldSettings::default()
    })
    .await;
    let agent = json!({ "name": "Ann", "conversationConfig": { "agent": { "prompt": { "prompt": "Be brief." } } } });
    let made = world.client.post(TESTS, json!({ "agent": agent })).await.expect(201);
    assert!(made.text("/data/mediaUrl").starts_with("ws"));
    let path = format!("/public/v1/conversations/{}/text", made.text("/data/conversationId"));
    let begun = Instant::now();
    let refused = world.client.post(&path, json!({ "text": "Hello" })).await.expect(409);
    assert_eq!(refused.code(), "invalid_transition");
    assert!(begun.elapsed() < Duration::from_secs(1), "it does not wait for a turn");
}

#[tokio::test(start_paused = true)]
async fn calls_in_text_are_marked_and_filtered_in_the_list_and_few() {
    let scene = Scene::start().await;
    let id = scene.begin().await;
    let ids = async |query: &str| {
        let listed = scene.world.client.get(&format!("{LIVE}{query}")).await.expect(200);
        let calls = listed.data().as_array().unwrap().clone();
        assert!(calls.iter().all(|call| call["test"] == true), "{calls:?}");
        calls
            .iter()
            .map(|call| call["conversationId"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        (ids("").await, ids("?test=true").await, ids("?test=false").await),
        (vec![id.clone()], vec![id.clone()], vec![])
    );
    let refused = scene.world.client.get(&format!("{LIVE}?test=maybe")).await.expect(400);
    assert_eq!(refused.fields(), [("test", "invalid_value")]);
    for _ in 1..5 {
        scene.begin().await;
    }
    let body = json!({ "agent": scene.agent, "mode": "text" });
    scene.world.client.post(TESTS, body.clone()).await.expect(429);
    scene
        .world
        .client
        .post(&format!("/public/v1/conversations/{id}/end"), json!({}))
        .await
        .expect(200);
    scene.world.pass(1).await;
    scene.world.client.post(TESTS, body).await.expect(201);
}

#[tokio::test(start_paused = true)]
async fn a_repeated_request_names_the_same_call_in_text() {
    let scene = Scene::start().await;
    let body = json!({ "agent": scene.agent, "mode": "text" });
    let begin = async || {
        let request = scene
            .world
            .client
            .request("POST", TESTS)
            .header("idempotency-key", "tried-once");
        support::client::send(request.json(&body)).await.expect(201)
    };
    let (first, again) = (begin().await, begin().await);
    assert_eq!(again.data(), first.data());
    assert_eq!(first.data().get("mediaUrl"), None);
}

#[tokio::test(start_paused = true)]
async fn texts_that_come_at_once_are_answered_one_after_the_other() {
    let scene = Scene::start().await;
    let id = scene.begin().await;
    let fruits = [
        "apple", "pear", "plum", "fig", "lime", "date", "grape", "melon", "peach", "cherry",
    ];
    let texts = fruits.map(|fruit| format!("Repeat {fruit}."));
    let answers = join_all(texts.iter().map(|text| scene.say(&id, text))).await;
    for (text, answer) in texts.iter().zip(&answers) {
        assert_eq!((words(answer), &answer["next"]), (vec![text.as_str()], &json!("user")));
    }
    let said = scene.record(&id).await;
    assert_eq!(said.len(), 21);
    for pair in said[1..].chunks(2) {
        assert_eq!(
            (&*pair[0].0, &*pair[1].0, &pair[0].1),
            ("user", "agent", &pair[1].1),
            "{said:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn at_most_sixteen_texts_wait_and_none_longer_than_50_seconds() {
    let scene = Scene::start().await;
    let id = scene.begin().await;
    let answers = join_all((0..17).map(|_| scene.send(&id, "The long list, please"))).await;
    let (said, refused): (Vec<_>, Vec<_>) = answers.into_iter().partition(|answer| answer.status == 200);
    assert_eq!((said.len(), &said[0].data()["next"]), (1, &json!("agent")));
    let why = refused.into_iter().map(|answer| {
        let answer = answer.expect(409);
        assert_eq!(
            (answer.code(), answer.headers.contains_key("retry-after")),
            ("conflict", true)
        );
        answer.text("/error/message")
    });
    let (too_many, too_late): (Vec<_>, Vec<_>) =
        why.partition(|why| why.starts_with("this call has 16 unanswered texts"));
    assert_eq!((too_many.len(), too_late.len()), (1, 15), "{too_late:?}");
    assert!(too_late.iter().all(|why| why.contains("was not said")), "{too_late:?}");
    scene.world.pass(30).await;
    assert_eq!(scene.record(&id).await.len(), 3, "one text was said");
    assert_eq!(words(&scene.say(&id, "OK").await), ["Yes."]);
}

#[tokio::test(start_paused = true)]
async fn texts_that_wait_when_the_call_ends_are_refused() {
    let scene = Scene::start().await;
    let id = scene.begin().await;
    let end = format!("/public/v1/conversations/{id}/end");
    let waits = async {
        sleep(Duration::from_secs(1)).await;
        scene.send(&id, "OK").await
    };
    let ends = async {
        sleep(Duration::from_secs(3)).await;
        scene.world.client.post(&end, json!({})).await.expect(200)
    };
    let (asked, waited, _) = tokio::join!(scene.send(&id, "Please ponder it"), waits, ends);
    let after = scene.send(&id, "Hello?").await;
    for refused in [asked, waited, after] {
        assert_eq!(refused.expect(409).code(), "invalid_transition");
    }
    let said = scene.record(&id).await;
    assert_eq!(said.len(), 2, "the greeting and the first text: {said:?}");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_has_left_its_node_is_over_once_its_outcome_is_stored() {
    let dialer = Dialer::start(1).await;
    let attempt = dialer.dial().await;
    let path = format!("/public/v1/conversations/{}/text", attempt.claim.attempt);
    let send = || dialer.app.client.post(&path, json!({ "text": "Hello?" }));
    send().await.expect(503);
    let ends = async {
        sleep(Duration::from_millis(500)).await;
        dialer.finish(&attempt, ConversationStatus::Failed, &[]).await;
    };
    let (refused, ()) = tokio::join!(send(), ends);
    assert_eq!(refused.expect(409).code(), "invalid_transition");
}

#[tokio::test(start_paused = true)]
async fn a_text_is_said_each_time_that_it_is_sent() {
    let scene = Scene::start().await;
    let id = scene.begin().await;
    let path = format!("/public/v1/conversations/{id}/text");
    for _ in 0..2 {
        let request = scene.world.client.request("POST", &path);
        let request = request.header("idempotency-key", "said-twice");
        let answer = support::client::send(request.json(&json!({ "text": "Hello?" }))).await;
        assert_eq!(answer.expect(200).headers.get("idempotency-replayed"), None);
    }
    assert_eq!(scene.record(&id).await.len(), 5);
}

#[tokio::test(start_paused = true)]
async fn nobody_can_take_over_a_call_in_text() {
    let scene = Scene::start().await;
    let id = scene.begin().await;
    let path = format!("/public/v1/conversations/{id}/live-tickets");
    let refused = scene.world.client.post(&path, json!({ "for": "operate" })).await;
    let refused = refused.expect(409);
    assert_eq!(refused.code(), "invalid_transition");
    let why = refused.text("/error/message");
    assert_eq!(why, "a test call in text cannot be taken over");
    let follows = json!({ "for": "listen" });
    scene.world.client.post(&path, follows).await.expect(201);
}
