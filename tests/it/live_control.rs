//! Tests of commands to a live call, observed at the phone, the carrier, the model and in the record.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use domain::ports::language_model::{LanguageError, LanguageModel, ReplyEvent, ReplyRequest};
use futures_util::stream::{self, BoxStream, StreamExt};
use serde_json::{Value, json};
use sim::exchange::{LogEvent, Script, Step};

use support::{
    client::Answer,
    phone_log::PhoneCall,
    words::{lines, texts},
    world::{World, WorldSettings},
};

const NUMBER: &str = "+15550100010";
const DESK: &str = "+15550100002";

/// A model that records the notes of its requests.
#[derive(Clone, Default)]
struct Listener(Arc<Mutex<Vec<Vec<String>>>>);

impl LanguageModel for Listener {
    fn reply(&self, request: ReplyRequest) -> BoxStream<'static, Result<ReplyEvent, LanguageError>> {
        let texts = request.notes.into_iter().map(|note| note.text);
        self.0.lock().unwrap().push(texts.collect());
        stream::iter([Ok(ReplyEvent::Text("I see.".into()))]).boxed()
    }
}

/// A live call 10 s after its answer, whose callee says something then.
struct Live {
    world: World,
    model: Listener,
    id: String,
}

async fn live() -> Live {
    live_with(&["What is it about?"]).await
}

/// Starts a call whose callee says each of these texts after 20 s.
async fn live_with(said: &[&str]) -> Live {
    let mut steps = vec![Step::Say("Hello?".into()), Step::UntilAgentSaid, Step::WaitMs(20_000)];
    for text in said {
        steps.extend([Step::Say((*text).into()), Step::UntilAgentSaid, Step::WaitMs(20_000)]);
    }
    steps.push(Step::HangUp);
    let model = Listener::default();
    let world = World::start_with(WorldSettings {
        scripts: BTreeMap::from([("waits".to_owned(), Script::of(steps))]),
        mind: Some(Arc::new(model.clone())),
        ..WorldSettings::default()
    })
    .await;
    let agent = json!({ "name": "Ann", "conversationConfig": {
        "agent": { "greetingMessage": "Hello, this is Ann.", "prompt": { "prompt": "Be brief." } },
        "tts": { "voiceId": "babble:default" },
        "turn": { "turnTimeout": -1 },
    } });
    let agent = world.agent(agent).await;
    let call = json!({ "agentId": agent, "phoneNumber": NUMBER, "dynamicVariables": { "script": "waits" } });
    let made = world.client.post("/public/v1/calls", call).await.expect(201);
    let id = made.text("/data/conversationId");
    world.pass(10).await;
    Live { world, model, id }
}

impl Live {
    async fn post(&self, command: &str, body: Value) -> Answer {
        let path = format!("/public/v1/conversations/{}/{command}", self.id);
        self.world.client.post(&path, body).await
    }

    /// Returns the events of a type, with the name of the key taken out.
    async fn told(&self, kind: &str) -> Vec<Value> {
        self.world.pass(1).await;
        let path = format!("/public/v1/conversations/{}/events?pageSize=100", self.id);
        let events = self.world.client.get(&path).await.expect(200).data().clone();
        let own = events.as_array().unwrap().iter().filter(|event| event["type"] == kind);
        own.map(|event| {
            let mut detail = event["detail"].clone();
            let by = detail.as_object_mut().unwrap().remove("by").unwrap();
            assert_eq!(by, "account key");
            detail
        })
        .collect()
    }
}

#[tokio::test(start_paused = true)]
async fn words_are_said_and_stand_in_the_transcript_and_a_note_reaches_the_model() {
    let live = live().await;
    let taken = live
        .post("say", json!({ "text": "One moment please." }))
        .await
        .expect(200);
    assert_eq!(*taken.data(), json!({ "conversationId": live.id }));
    live.post("instructions", json!({ "text": "Offer ten per cent." }))
        .await
        .expect(200);
    let over = live.world.until_over(&live.id, 120).await;
    let expected = ["Hello, this is Ann.", "One moment please.", "I see."];
    assert_eq!(lines(&over, "Agent"), expected, "{over:#}");
    assert_eq!(texts(&live.world.phones().call(NUMBER).heard()), expected);
    let asked = live.model.0.lock().unwrap().clone();
    assert!(
        !asked.is_empty() && asked.iter().all(|notes| *notes == ["Offer ten per cent."]),
        "{asked:?}"
    );
    assert_eq!(
        live.told("say").await,
        [json!({ "text": "One moment please.", "interrupt": false })]
    );
    assert_eq!(
        live.told("instructions").await,
        [json!({ "text": "Offer ten per cent.", "for": "call" })]
    );
    for command in ["say", "instructions"] {
        let late = live.post(command, json!({ "text": "Hello?" })).await.expect(409);
        assert_eq!(late.code(), "invalid_transition");
        assert!(late.text("/error/message").contains("completed"), "{}", late.body);
    }
}

#[tokio::test(start_paused = true)]
async fn a_note_for_the_turn_reaches_the_model_for_the_next_answer_only() {
    let live = live_with(&["What is it about?", "And what does it cost?"]).await;
    let once = json!({ "text": "Ask for the order number.", "for": "turn" });
    live.post("instructions", once.clone()).await.expect(200);
    let over = live.world.until_over(&live.id, 120).await;
    assert_eq!(
        lines(&over, "Agent"),
        ["Hello, this is Ann.", "I see.", "I see."],
        "{over:#}"
    );
    let asked = live.model.0.lock().unwrap().clone();
    let first_without = asked.iter().position(Vec::is_empty).unwrap();
    let (with, without) = asked.split_at(first_without);
    assert!(
        !with.is_empty() && with.iter().all(|notes| *notes == ["Ask for the order number."]),
        "{asked:?}"
    );
    assert!(without.iter().all(Vec::is_empty), "{asked:?}");
    assert_eq!(live.told("instructions").await, [once]);
}

#[tokio::test(start_paused = true)]
async fn keys_are_pressed_and_a_call_is_transferred() {
    let live = live().await;
    live.post("digits", json!({ "digits": "42#" })).await.expect(200);
    live.world.pass(3).await;
    let wanted =
        json!({ "phoneNumber": "+1 (555) 010-0002", "transferType": "conference", "message": "I connect you." });
    live.post("transfer", wanted.clone()).await.expect(200);
    let again = live.post("transfer", wanted).await.expect(409);
    assert_eq!(again.code(), "invalid_transition");
    let over = live.world.until_over(&live.id, 120).await;
    assert_eq!(over["callTransferred"], true, "{over:#}");
    assert!(lines(&over, "Agent").contains(&"I connect you.".to_owned()), "{over:#}");
    let entries: Vec<LogEvent> = live.world.entries().into_iter().map(|entry| entry.event).collect();
    let to = DESK.to_owned();
    let kind = "conference".to_owned();
    assert!(entries.contains(&LogEvent::TransferAsked { to, kind }), "{entries:?}");
    assert_eq!(live.told("digits").await, [json!({ "digits": "42#" })]);
    assert_eq!(
        live.told("transfer_wanted").await,
        [json!({ "to": DESK, "kind": "conference" })]
    );
}

#[tokio::test(start_paused = true)]
async fn a_menu_hears_the_keys() {
    let live = live().await;
    let agent = json!({ "name": "Ann", "conversationConfig": { "agent": { "prompt": { "prompt": "Ask." } } } });
    let agent = live.world.agent(agent).await;
    let call = json!({ "agentId": agent, "phoneNumber": "+15550100020", "dynamicVariables": { "persona": "ivr" } });
    let made = live.world.client.post("/public/v1/calls", call).await.expect(201);
    let is_answered = |call: &PhoneCall| call.to == "+15550100020" && call.media_opened().is_some();
    live.world
        .until(60, "answer", |phones| phones.calls().iter().any(is_answered))
        .await;
    live.world.pass(1).await;
    let path = format!("/public/v1/conversations/{}/digits", made.text("/data/conversationId"));
    live.world
        .client
        .post(&path, json!({ "digits": "9" }))
        .await
        .expect(200);
    live.world.pass(3).await;
    let mut events = live.world.entries().into_iter().map(|entry| entry.event);
    assert!(events.any(|event| matches!(event, LogEvent::HeardKey { key: '9' })));
}

#[tokio::test(start_paused = true)]
async fn hostile_values_are_refused_and_nothing_is_said() {
    let live = live().await;
    let long = "x".repeat(1_001);
    for (command, body, field, code) in [
        ("say", json!({}), "text", "required"),
        ("say", json!({ "text": " \n" }), "text", "required"),
        ("say", json!({ "text": long }), "text", "too_long"),
        ("say", json!({ "text": "a\u{7}b" }), "text", "invalid_value"),
        ("say", json!({ "text": "a\u{202e}b" }), "text", "invalid_value"),
        ("say", json!({ "text": "!!" }), "text", "invalid_value"),
        ("say", json!({ "text": ["Hi"] }), "text", "wrong_type"),
        (
            "say",
            json!({ "text": "Hi", "interrupt": "yes" }),
            "interrupt",
            "wrong_type",
        ),
        ("say", json!({ "text": "Hi", "voice": "x" }), "voice", "unknown_field"),
        ("instructions", json!({ "text": "\u{1b}[2J" }), "text", "invalid_value"),
        ("instructions", json!({ "text": long }), "text", "too_long"),
        (
            "instructions",
            json!({ "text": "Hi", "for": "ever" }),
            "for",
            "not_allowed",
        ),
        ("instructions", json!({ "text": "Hi", "for": 1 }), "for", "wrong_type"),
        ("digits", json!({}), "digits", "required"),
        ("digits", json!({ "digits": "" }), "digits", "invalid_value"),
        ("digits", json!({ "digits": "1 2" }), "digits", "invalid_value"),
        ("digits", json!({ "digits": "1".repeat(65) }), "digits", "invalid_value"),
        ("digits", json!({ "digits": 12 }), "digits", "wrong_type"),
        ("transfer", json!({}), "phoneNumber", "required"),
        (
            "transfer",
            json!({ "phoneNumber": "reception" }),
            "phoneNumber",
            "invalid_phone",
        ),
        (
            "transfer",
            json!({ "phoneNumber": DESK, "transferType": "warm" }),
            "transferType",
            "not_allowed",
        ),
        (
            "transfer",
            json!({ "phoneNumber": DESK, "message": "a\u{7}" }),
            "message",
            "invalid_value",
        ),
    ] {
        let answer = live.post(command, body).await.expect(400);
        assert_eq!(answer.fields(), [(field, code)], "{command}");
    }
    let limited = json!({ "allowedPrefixes": { "mode": "enforce", "prefixes": ["+49"] } });
    live.world
        .client
        .patch("/public/v1/safeguards", limited)
        .await
        .expect(200);
    let answer = live.post("transfer", json!({ "phoneNumber": DESK })).await.expect(400);
    assert_eq!(answer.fields()[0].0, "phoneNumber");
    let over = live.world.until_over(&live.id, 120).await;
    assert_eq!(lines(&over, "Agent"), ["Hello, this is Ann.", "I see."], "{over:#}");
}

#[tokio::test(start_paused = true)]
async fn a_ringing_call_names_its_state_and_a_strangers_call_is_not_found() {
    let live = live().await;
    let agent = live
        .world
        .agent(json!({ "name": "Ann", "conversationConfig": { "agent": { "prompt": { "prompt": "Ask." } } } }));
    let call = json!({ "agentId": agent.await, "phoneNumber": "+15550100020", "dynamicVariables": { "persona": "no-answer" } });
    let made = live.world.client.post("/public/v1/calls", call).await.expect(201);
    let ringing = made.text("/data/conversationId");
    live.world.pass(5).await;
    let path = format!("/public/v1/conversations/{ringing}/say");
    let refused = live
        .world
        .client
        .post(&path, json!({ "text": "Hello." }))
        .await
        .expect(409);
    assert_eq!(
        refused.text("/error/message"),
        "not possible now: the call is `ringing`"
    );
    let stranger = live.world.stranger().await;
    for (command, body) in [
        ("say", json!({ "text": "Hi." })),
        ("transfer", json!({ "phoneNumber": DESK })),
        ("digits", json!({ "digits": "1" })),
        ("instructions", json!({ "text": "Hi." })),
    ] {
        let path = format!("/public/v1/conversations/{}/{command}", live.id);
        let answer = stranger.post(&path, body).await.expect(404);
        assert_eq!(answer.code(), "not_found");
    }
    assert!(live.told("say").await.is_empty());
}
