//! The words that tell that an AI speaks: what phones hear of them first, whatever they do meanwhile, and what the
//! record says.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use domain::ports::{
    language_model::{HistoryItem, LanguageError, LanguageModel, ReplyEvent, ReplyRequest, Speaker},
    store::DISCLOSURE,
};
use futures_util::stream::{self, BoxStream, StreamExt};
use serde_json::{Value, json};
use sim::exchange::{Script, Step};

use support::{
    phone_log::{PhoneCall, PhoneLog},
    words::{lines, texts},
    world::{World, WorldSettings},
};

const TEXTS: &str = include_str!("../../actors/domain/data/disclosures.txt");
const ENGLISH: &str = "This is Greenfield Dental. You are speaking with an AI assistant.";
const GERMAN: &str = "Hier ist Greenfield Dental. Sie sprechen mit einem KI-Assistenten.";
const GREETING: &str = "Hello Maria, is now a good time?";
const MESSAGE: &str = "Maria, please call us back.";
const MAILBOX: &str = "You have reached the voicemail of Bo. Please leave a message after the tone.";
const NUMBER: &str = "+15550100040";
const OURS: &str = "+15559990001";

fn say(text: &str) -> Step {
    Step::Say(text.to_owned())
}

fn scripts() -> BTreeMap<String, Script> {
    let over = |interrupts: Step| {
        vec![
            Step::IntoSpeechMs(1_000),
            interrupts,
            Step::WaitMs(40_000),
            Step::HangUp,
        ]
    };
    let scripts = [
        ("listens", vec![say("Hello?"), Step::WaitMs(40_000), Step::HangUp]),
        (
            "asks-first",
            vec![say("Who is this?"), Step::WaitMs(40_000), Step::HangUp],
        ),
        ("asks", over(say("Wait, who is this?"))),
        ("nods", over(Step::Murmur("mm-hm".to_owned()))),
        ("presses", over(Step::Press('1'))),
        ("opts-out", over(say("Please never call me again."))),
        ("leaves", vec![Step::IntoSpeechMs(1_000), Step::HangUp]),
        ("leaves-at-once", vec![Step::WaitMs(300), Step::HangUp]),
        (
            "loses-media",
            vec![
                Step::IntoSpeechMs(1_000),
                Step::LoseMedia,
                Step::WaitMs(40_000),
                Step::HangUp,
            ],
        ),
        ("mailbox", vec![say(MAILBOX), Step::Beep, Step::WaitMs(90_000)]),
        (
            "late-beep",
            vec![say(MAILBOX), Step::WaitMs(4_500), Step::Beep, Step::WaitMs(90_000)],
        ),
    ];
    scripts.map(|(name, steps)| (name.to_owned(), Script::of(steps))).into()
}

/// What was said in a call, in order.
type Conversation = Vec<(Speaker, String)>;

/// A model that says "I see." and records what was said before.
#[derive(Clone, Default)]
struct Listener(Arc<Mutex<Vec<Conversation>>>);

impl LanguageModel for Listener {
    fn reply(&self, request: ReplyRequest) -> BoxStream<'static, Result<ReplyEvent, LanguageError>> {
        let said = request.history.iter().filter_map(|item| match item {
            HistoryItem::Said { speaker, text, .. } => Some((*speaker, text.clone())),
            _ => None,
        });
        self.0.lock().unwrap().push(said.collect());
        stream::iter([Ok(ReplyEvent::Text("I see.".into()))]).boxed()
    }
}

/// Returns an agent that discloses itself in its language.
fn agent(language: &str) -> Value {
    json!({
        "name": "Greenfield Dental",
        "conversationConfig": {
            "agent": {
                "greetingMessage": GREETING.replace("Maria", "{{name}}"),
                "primaryLanguage": language,
                "prompt": { "prompt": "Be brief.", "builtInTools": { "voicemailDetection": {
                    "enabled": true, "voicemailMessage": MESSAGE.replace("Maria", "{{name}}"),
                } } },
            },
            "turn": { "turnTimeout": -1 },
        },
        "platformSettings": { "disclosure": { "enabled": true }, "callActions": { "smartOptOut": true } },
    })
}

/// Returns the same agent, which waits for the other person's words.
fn without_greeting() -> Value {
    let mut agent = agent("en");
    agent["conversationConfig"]["agent"]["greetingMessage"] = Value::Null;
    agent
}

struct Scene {
    world: World,
    model: Listener,
}

/// A call that is over: its conversation, and what its phone said and heard.
#[derive(Debug)]
struct Over {
    conversation: Value,
    phone: PhoneCall,
}

impl Scene {
    async fn new() -> Self {
        let model = Listener::default();
        let world = World::start_with(WorldSettings {
            scripts: scripts(),
            mind: Some(Arc::new(model.clone())),
            ..WorldSettings::default()
        })
        .await;
        Self { world, model }
    }

    async fn place(&self, agent: &str, number: &str, script: &str, more: Value) -> String {
        let mut call = json!({ "agentId": agent, "phoneNumber": number, "name": "Maria",
            "dynamicVariables": { "script": script } });
        for (name, value) in more.as_object().unwrap() {
            call[name] = value.clone();
        }
        let made = self.world.client.post("/public/v1/calls", call).await;
        made.expect(201).text("/data/conversationId")
    }

    async fn over(&self, id: &str, number: &str) -> Over {
        let conversation = self.world.until_over(id, 200).await;
        let phone = self.world.phones().call(number);
        Over { conversation, phone }
    }

    async fn call(&self, document: Value, script: &str) -> Over {
        let agent = self.world.agent(document).await;
        let id = self.place(&agent, NUMBER, script, json!({})).await;
        self.over(&id, NUMBER).await
    }
}

impl Over {
    fn heard(&self) -> String {
        texts(&self.phone.heard()).join(" ")
    }

    fn agent(&self) -> Vec<String> {
        lines(&self.conversation, "Agent")
    }

    /// Asserts that the phone heard these words first and once, and that the record says when.
    fn heard_first(&self, text: &str) {
        let heard = self.heard();
        assert!(heard.starts_with(text), "{text}: {heard}");
        assert_eq!(heard.matches(text).count(), 1, "{heard}");
        assert_eq!(self.agent()[0], text, "{:#}", self.conversation);
        assert_eq!(self.conversation["disclosure"]["text"], text);
        let at = self.conversation["disclosure"]["heardAt"].as_f64().unwrap();
        let words = text.split_whitespace().count();
        assert!(at > 0.1 * words as f64 && at < 60.0, "{at} s: {text}");
    }
}

async fn called(document: Value, script: &str) -> (Scene, Over) {
    let scene = Scene::new().await;
    let over = scene.call(document, script).await;
    (scene, over)
}

/// Calls an agent of each language at once. Returns each language's text with its call.
async fn in_every_language(script: &str) -> Vec<(String, Over)> {
    let scene = Scene::new().await;
    let mut calls = Vec::new();
    for (at, line) in TEXTS.lines().skip(1).enumerate() {
        let (code, text) = line.split_once(' ').unwrap();
        let id = scene.world.agent(agent(code)).await;
        let number = format!("+155501004{at:02}");
        let id = scene.place(&id, &number, script, json!({})).await;
        calls.push((text.replace("{{name}}", "Greenfield Dental"), id, number));
    }
    let mut over = Vec::new();
    for (text, id, number) in calls {
        over.push((text, scene.over(&id, &number).await));
    }
    assert!(over.len() >= 44);
    over
}

#[tokio::test(start_paused = true)]
async fn it_is_heard_first_in_every_language() {
    for (text, over) in in_every_language("listens").await {
        over.heard_first(&text);
        assert_eq!(over.agent()[1], GREETING);
    }
}

#[tokio::test(start_paused = true)]
async fn words_over_it_are_answered_after_it_in_every_language() {
    for (text, over) in in_every_language("asks").await {
        over.heard_first(&text);
        let transcript = over.conversation["transcript"].as_str().unwrap();
        let expected = format!("Agent: {text}\nUser: Wait, who is this?\nAgent: {GREETING}\nAgent: I see.");
        assert_eq!(transcript, expected);
    }
}

#[tokio::test(start_paused = true)]
async fn a_callee_who_hangs_up_in_it_did_not_hear_it_in_any_language() {
    for (text, over) in in_every_language("leaves").await {
        let expected = json!({ "text": text, "heardAt": null });
        assert_eq!(over.conversation["disclosure"], expected);
        assert!(text.starts_with(&over.heard()), "{}", over.heard());
    }
}

#[tokio::test(start_paused = true)]
async fn a_mailbox_records_it_before_the_message_in_every_language() {
    for (text, over) in in_every_language("mailbox").await {
        assert!(over.conversation["voiceMailDetected"] == true);
        let recorded: Vec<_> = over.phone.heard();
        let recorded: Vec<_> = recorded
            .into_iter()
            .filter(|words| words.from_ms >= over.phone.beeped_ms().unwrap())
            .collect();
        assert_eq!(texts(&recorded).join(" "), format!("{text} {MESSAGE}"));
        assert!(over.conversation["disclosure"]["heardAt"].as_f64().unwrap() > 3.0);
    }
}

#[tokio::test(start_paused = true)]
async fn neither_a_nod_nor_a_key_interrupts_it() {
    for script in ["nods", "presses"] {
        let (scene, over) = called(agent("en"), script).await;
        over.heard_first(ENGLISH);
        assert!(
            !scene
                .world
                .events(over.conversation["conversationId"].as_str().unwrap())
                .iter()
                .any(|(name, _)| name == "barged_in")
        );
        assert_eq!(over.agent()[1], GREETING, "{:#}", over.conversation);
    }
}

#[tokio::test(start_paused = true)]
async fn without_a_greeting_it_comes_first_and_words_before_and_over_it_are_answered() {
    for script in ["asks-first", "asks"] {
        let (scene, over) = called(without_greeting(), script).await;
        over.heard_first(ENGLISH);
        assert_eq!(over.agent(), [ENGLISH, "I see."], "{:#}", over.conversation);
        let told = scene.model.0.lock().unwrap().clone();
        assert!(
            told[0].iter().any(
                |(speaker, text)| *speaker == Speaker::User && text.contains("who is this")
                    || text.contains("Who is this")
            ),
            "{told:?}"
        );
    }
    let (scene, over) = called(without_greeting(), "nods").await;
    over.heard_first(ENGLISH);
    assert_eq!(over.agent(), [ENGLISH]);
    let at_ms = over.conversation["disclosure"]["heardAt"].as_f64().unwrap() * 1_000.0;
    let turns = scene
        .world
        .turns(over.conversation["conversationId"].as_str().unwrap())
        .await;
    let told = turns.iter().find(|turn| turn.speaker == Speaker::Agent).unwrap();
    assert!((at_ms - told.ended_ms as f64).abs() < 1.0, "{at_ms} {told:?}");
    let ended_ms = over.phone.heard()[0].to_ms as f64;
    assert!((at_ms - ended_ms).abs() < 1_000.0, "{at_ms} {ended_ms}");
}

#[tokio::test(start_paused = true)]
async fn a_graph_begins_after_it() {
    let mut document = without_greeting();
    document["workflow"] = json!({
        "nodes": {
            "start": { "type": "start" },
            "hello": { "type": "say", "message": { "type": "literal", "text": "We are open from nine to five." } },
            "bye": { "type": "end", "outcome": "success" },
        },
        "edges": {
            "a": { "source": "start", "target": "hello", "forwardCondition": { "type": "unconditional" } },
            "b": { "source": "hello", "target": "bye", "forwardCondition": { "type": "unconditional" } },
        },
    });
    for script in ["listens", "asks", "nods"] {
        let (_, over) = called(document.clone(), script).await;
        over.heard_first(ENGLISH);
        assert_eq!(
            over.agent()[1],
            "We are open from nine to five.",
            "{:#}",
            over.conversation
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_wish_never_to_be_called_again_is_honoured_after_it() {
    let (scene, over) = called(agent("en"), "opts-out").await;
    over.heard_first(ENGLISH);
    assert_eq!(over.agent(), [ENGLISH, "Understood, we won't call you again. Goodbye."]);
    let listed = scene.world.client.get("/public/v1/do-not-call").await.expect(200);
    assert_eq!(listed.data()[0]["phoneNumber"], NUMBER);
}

#[tokio::test(start_paused = true)]
async fn a_callee_who_hangs_up_before_it_did_not_hear_it_and_nobody_who_was_not_reached_has_one() {
    let (_, over) = called(agent("en"), "leaves-at-once").await;
    assert_eq!(
        over.conversation["disclosure"],
        json!({ "text": ENGLISH, "heardAt": null })
    );
    let scene = Scene::new().await;
    let id = scene.world.agent(agent("en")).await;
    let busy = json!({ "dynamicVariables": { "persona": "busy" } });
    let id = scene.place(&id, NUMBER, "", busy).await;
    assert_eq!(scene.world.until_over(&id, 60).await.get("disclosure"), None);
    let off = scene
        .world
        .agent(json!({ "name": "Ava", "conversationConfig": { "agent": {
        "greetingMessage": "Hello.", "prompt": { "prompt": "Be brief." } }, "turn": { "turnTimeout": -1 } } }));
    let id = scene.place(&off.await, "+15550100041", "listens", json!({})).await;
    let over = scene.over(&id, "+15550100041").await;
    assert_eq!(
        (over.agent(), over.conversation.get("disclosure")),
        (vec!["Hello.".to_owned()], None)
    );
}

#[tokio::test(start_paused = true)]
async fn it_is_said_again_after_the_line_was_lost_in_it() {
    let (_, over) = called(agent("en"), "loses-media").await;
    assert_eq!(over.agent()[1..], [ENGLISH, GREETING], "{:#}", over.conversation);
    assert!(ENGLISH.starts_with(&over.agent()[0]) && over.agent()[0] != ENGLISH);
    assert!(over.conversation["disclosure"]["heardAt"].is_number());
}

#[tokio::test(start_paused = true)]
async fn it_is_said_again_with_a_message_that_a_late_beep_cut_off() {
    let (_, over) = called(agent("en"), "late-beep").await;
    let beeped_ms = over.phone.beeped_ms().unwrap();
    let last = over.phone.heard();
    let recorded: Vec<_> = last
        .into_iter()
        .filter(|words| words.to_ms > beeped_ms + 2_000)
        .collect();
    let recorded = texts(&recorded).join(" ");
    assert!(recorded.ends_with(&format!("{ENGLISH} {MESSAGE}")), "{recorded}");
}

#[tokio::test(start_paused = true)]
async fn an_assistant_that_screens_calls_and_the_person_behind_it_are_both_told() {
    let scene = Scene::new().await;
    let id = scene.world.agent(agent("en")).await;
    let screening = json!({ "dynamicVariables": { "persona": "screening" } });
    let id = scene.place(&id, NUMBER, "", screening).await;
    scene.world.pass(60).await;
    scene
        .world
        .client
        .post(&format!("/public/v1/conversations/{id}/end"), json!({}))
        .await;
    let over = scene.over(&id, NUMBER).await;
    let said = over.agent();
    assert_eq!(said[0], ENGLISH, "{:#}", over.conversation);
    assert!(said[1].contains("Maria"), "{said:?}");
    let hello = over
        .phone
        .said()
        .into_iter()
        .find(|words| words.text.starts_with("Hello, this is"))
        .unwrap();
    let heard: Vec<_> = over
        .phone
        .heard()
        .into_iter()
        .filter(|words| words.from_ms > hello.to_ms)
        .collect();
    assert!(
        texts(&heard).join(" ").starts_with(&format!("{ENGLISH} {GREETING}")),
        "{heard:?}"
    );
    let at_ms = over.conversation["disclosure"]["heardAt"].as_f64().unwrap() * 1_000.0;
    assert!(at_ms > hello.to_ms as f64, "{at_ms}");
}

#[tokio::test(start_paused = true)]
async fn another_agent_that_takes_the_call_over_does_not_say_it_again() {
    let scene = Scene::new().await;
    let second = scene.world.agent(agent("en")).await;
    let mut first = agent("de");
    first["workflow"] = json!({
        "nodes": { "start": { "type": "start" }, "other": { "type": "standalone_agent", "agentId": second,
            "enableTransferredAgentFirstMessage": true } },
        "edges": { "a": { "source": "start", "target": "other", "forwardCondition": { "type": "unconditional" } } },
    });
    let over = scene.call(first, "listens").await;
    over.heard_first(GERMAN);
    assert_eq!(over.agent(), [GERMAN, GREETING, GREETING], "{:#}", over.conversation);
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_takes_over_from_one_without_it_says_it() {
    let scene = Scene::new().await;
    let second = scene.world.agent(agent("en")).await;
    let mut first = agent("en");
    first["platformSettings"]["disclosure"]["enabled"] = json!(false);
    first["workflow"] = json!({
        "nodes": { "start": { "type": "start" }, "other": { "type": "standalone_agent", "agentId": second } },
        "edges": { "a": { "source": "start", "target": "other", "forwardCondition": { "type": "unconditional" } } },
    });
    let over = scene.call(first, "listens").await;
    assert_eq!(over.agent()[..2], [GREETING, ENGLISH], "{:#}", over.conversation);
    assert!(over.conversation["disclosure"]["heardAt"].is_number());
}

#[tokio::test(start_paused = true)]
async fn a_further_call_of_the_campaign_says_it_again() {
    let scene = Scene::new().await;
    let id = scene.world.agent(agent("en")).await;
    let contacts = json!([{ "phoneNumber": NUMBER, "name": "Maria", "script": "mailbox" }]);
    let campaign = json!({ "name": "Check-ups", "agentId": id, "launch": true, "contacts": contacts,
        "followUpCall": true, "followUpAttempts": 1, "followUpIntervals": [1] });
    let made = scene.world.client.post("/public/v1/campaigns", campaign).await;
    let campaign = made.expect(201).text("/data/campaignId");
    scene.world.until_status(&campaign, "completed", 600).await;
    let calls = scene.world.conversations(&campaign).await;
    assert_eq!(calls.len(), 2);
    for call in calls {
        assert!(
            lines(&call, "Agent").ends_with(&[ENGLISH.to_owned(), MESSAGE.to_owned()]),
            "{call:#}"
        );
        assert!(call["disclosure"]["heardAt"].is_number());
    }
}

#[tokio::test(start_paused = true)]
async fn it_is_in_the_language_in_which_the_call_begins() {
    let scene = Scene::new().await;
    let mut document = agent("en");
    document["platformSettings"]["disclosure"]["text"] = json!("An AI of {{name}} speaks.");
    document["conversationConfig"]["languagePresets"] = json!({
        "de": {}, "fr": { "overrides": { "disclosure": { "text": "Une IA de {{name}} parle." } } },
    });
    let agent = scene.world.agent(document).await;
    for (at, (language, text)) in [
        ("en", "An AI of Greenfield Dental speaks."),
        ("de", GERMAN),
        ("fr", "Une IA de Greenfield Dental parle."),
    ]
    .into_iter()
    .enumerate()
    {
        let number = format!("+1555010050{at}");
        let id = scene
            .place(&agent, &number, "listens", json!({ "language": language }))
            .await;
        scene.over(&id, &number).await.heard_first(text);
    }
}

#[tokio::test(start_paused = true)]
async fn a_caller_is_told_before_the_greeting() {
    let scene = Scene::new().await;
    let mut document = agent("en");
    document["direction"] = json!("inbound");
    document["phoneNumbers"] = json!([{ "number": OURS, "provider": "simulated" }]);
    scene.world.agent(document).await;
    let answer = scene
        .world
        .call_in(json!({ "from": NUMBER, "to": OURS, "hints": { "script": "asks" } }))
        .await;
    let conversation = scene.world.until_over(answer["attempt"].as_str().unwrap(), 200).await;
    let phone = scene.world.phones().caller(NUMBER);
    let over = Over { conversation, phone };
    over.heard_first(ENGLISH);
    assert_eq!(over.agent()[2], "I see.", "{:#}", over.conversation);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_has_something_said_at_once_waits_for_it() {
    let scene = Scene::new().await;
    let agent = scene.world.agent(agent("en")).await;
    let id = scene.place(&agent, NUMBER, "listens", json!({})).await;
    let talks = |phones: &PhoneLog| phones.calls().iter().any(|call| !call.said().is_empty());
    scene.world.until(30, "words of the callee", talks).await;
    scene.world.pass(2).await;
    let body = json!({ "text": "One thing first.", "interrupt": true });
    scene
        .world
        .client
        .post(&format!("/public/v1/conversations/{id}/say"), body)
        .await
        .expect(200);
    let over = scene.over(&id, NUMBER).await;
    over.heard_first(ENGLISH);
    assert_eq!(over.agent(), [ENGLISH, "One thing first."], "{:#}", over.conversation);
}

#[tokio::test(start_paused = true)]
async fn the_events_of_the_call_tell_of_it() {
    let (scene, over) = called(agent("en"), "listens").await;
    let id = over.conversation["conversationId"].as_str().unwrap();
    let told = scene
        .world
        .events(id)
        .into_iter()
        .filter(|(name, _)| name == DISCLOSURE);
    let told: Vec<Value> = told.map(|(_, detail)| detail).collect();
    assert_eq!(
        told,
        [
            json!({ "text": ENGLISH, "heard": false }),
            json!({ "text": ENGLISH, "heard": true })
        ]
    );
    let shown = scene
        .world
        .client
        .get(&format!("/public/v1/conversations/{id}/events?pageSize=100"))
        .await
        .expect(200);
    let shown = shown
        .data()
        .as_array()
        .unwrap()
        .iter()
        .filter(|event| event["type"] == "disclosure")
        .count();
    assert_eq!(shown, 2);
}
