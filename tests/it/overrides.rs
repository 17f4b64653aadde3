//! Tests of overrides for one call: over REST and in a CSV file, as heard on the phone, and kept for retries.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use domain::{
    agent::Agent,
    ports::{
        NotReady,
        language_model::{LanguageError, LanguageModel, ReplyEvent, ReplyRequest},
    },
};
use futures_util::stream::{self, BoxStream, StreamExt};
use reqwest::multipart::{Form, Part};
use serde_json::{Value, json};
use sim::exchange::{Script, Step};

use support::{
    client::{Answer, send},
    words::lines,
    world::{World, WorldSettings},
};

const NUMBER: &str = "+15550100010";

/// A model that records the model name and the prompt of each request.
#[derive(Clone, Default)]
struct Mirror(Arc<Mutex<Vec<(String, String)>>>);

impl LanguageModel for Mirror {
    fn reply(&self, request: ReplyRequest) -> BoxStream<'static, Result<ReplyEvent, LanguageError>> {
        let prompt = request.agent.conversation_config.agent.prompt.clone();
        self.0.lock().unwrap().push((prompt.llm, prompt.prompt));
        stream::iter([Ok(ReplyEvent::Text("I see.".into()))]).boxed()
    }
}

fn answers() -> Script {
    Script::of([
        Step::Say("Hello?".into()),
        Step::UntilAgentSaid,
        Step::Say("What is it about?".into()),
        Step::UntilAgentSaid,
        Step::WaitMs(1_000),
        Step::HangUp,
    ])
}

fn agent(allowed: &Value) -> Value {
    json!({
        "name": "Ann",
        "direction": "both",
        "conversationConfig": {
            "agent": { "greetingMessage": "Hello, this is Ann.", "prompt": { "prompt": "Be brief.", "llm": "stub/own" } },
            "tts": { "voiceId": "babble:default" },
            "turn": { "silenceEndCallTimeout": 20 },
        },
        "platformSettings": { "overrides": allowed },
    })
}

fn all() -> Value {
    json!({ "prompt": true, "greetingMessage": true, "voiceId": true, "llm": true, "firstSpeaker": true,
        "maxDurationSeconds": true })
}

async fn world(model: &Mirror) -> World {
    World::start_with(WorldSettings {
        scripts: BTreeMap::from([("answers".to_owned(), answers())]),
        mind: Some(Arc::new(model.clone())),
        readiness: Arc::new(
            |agent: &Agent| match agent.conversation_config.agent.prompt.llm.as_str() {
                "stub/missing" => Err(NotReady("language model `stub/missing` is not configured".into())),
                _ => Ok(()),
            },
        ),
        ..WorldSettings::default()
    })
    .await
}

fn call(agent: &str, script: &Value, overrides: &Value) -> Value {
    json!({ "agentId": agent, "phoneNumber": NUMBER, "name": "Maria", "dynamicVariables": script, "overrides": overrides })
}

#[tokio::test(start_paused = true)]
async fn a_call_speaks_with_its_overrides_and_the_next_one_with_the_agents_own() {
    let model = Mirror::default();
    let world = world(&model).await;
    let agent = world.agent(agent(&all())).await;
    let overrides =
        json!({ "greetingMessage": "Good day, {{name}}.", "prompt": "Sell {{name}} a car.", "llm": "stub/other" });
    for (overrides, greeting, asked) in [
        (overrides, "Good day, Maria.", ("stub/other", "Sell {{name}} a car.")),
        (json!({}), "Hello, this is Ann.", ("stub/own", "Be brief.")),
    ] {
        let fields: Vec<String> = overrides.as_object().unwrap().keys().cloned().collect();
        let body = call(&agent, &json!({ "script": "answers" }), &overrides);
        let made = world.client.post("/public/v1/calls", body).await.expect(201);
        let id = made.text("/data/conversationId");
        let over = world.until_over(&id, 60).await;
        assert_eq!(lines(&over, "Agent")[..2], [greeting, "I see."], "{over:#}");
        let (llm, prompt) = model.0.lock().unwrap().pop().unwrap();
        assert_eq!((llm.as_str(), prompt.as_str()), asked);
        world.pass(1).await;
        let path = format!("/public/v1/conversations/{id}/events?pageSize=100");
        let events = world.client.get(&path).await.expect(200).data().clone();
        let told: Vec<&Value> = events
            .as_array()
            .unwrap()
            .iter()
            .filter(|event| event["type"] == "overridden")
            .collect();
        match fields.is_empty() {
            true => assert!(told.is_empty(), "{told:?}"),
            false => assert_eq!(told[0]["detail"], json!({ "fields": fields })),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_user_speaks_first_and_a_call_ends_at_its_own_maximum() {
    let world = world(&Mirror::default()).await;
    let agent = world.agent(agent(&all())).await;
    let overrides = json!({ "firstSpeaker": "user", "maxDurationSeconds": 15 });
    let body = call(&agent, &json!({ "persona": "silent" }), &overrides);
    let made = world.client.post("/public/v1/calls", body).await.expect(201);
    let over = world.until_over(&made.text("/data/conversationId"), 60).await;
    assert_eq!(
        lines(&over, "Agent")[0],
        "I see.",
        "it speaks up after a silence: {over:#}"
    );
    let seconds = over["conversationDuration"].as_i64().unwrap();
    assert!((10..=16).contains(&seconds), "{over:#}");
}

/// Uploads a file for a campaign.
async fn upload(world: &World, agent: &str, rows: String, launch: bool) -> Answer {
    let form = Form::new()
        .text("name", "Spring")
        .text("agentId", agent.to_owned())
        .text("launch", launch.to_string())
        .part("file", Part::text(rows).file_name("c.csv"));
    send(world.client.request("POST", "/public/v1/campaigns/csv").multipart(form)).await
}

#[tokio::test(start_paused = true)]
async fn a_column_of_a_file_overrides_for_its_row() {
    let world = world(&Mirror::default()).await;
    let agent = world.agent(agent(&all())).await;
    let rows = "phone,persona,override.greetingMessage\n+15550100011,silent,Good day.\n+15550100012,silent,\n";
    let made = upload(&world, &agent, rows.to_owned(), true).await.expect(201);
    let campaign = made.text("/data/campaignId");
    world.until_status(&campaign, "completed", 600).await;
    for (number, greeting) in [("+15550100011", "Good day."), ("+15550100012", "Hello, this is Ann.")] {
        let over = world.conversation(&campaign, number).await;
        assert_eq!(lines(&over, "Agent")[0], greeting);
    }
}

#[tokio::test(start_paused = true)]
async fn a_follow_up_after_a_restart_keeps_the_override() {
    let world = world(&Mirror::default()).await;
    let agent = world.agent(agent(&all())).await;
    let number = "+15550100013";
    let contacts = json!([{ "phoneNumber": number, "persona": "drops", "override.greetingMessage": "Good day, this is about your car." }]);
    let body = json!({ "name": "Summer", "agentId": agent, "contacts": contacts, "launch": true,
        "followUpCall": true, "followUpAttempts": 1, "followUpIntervals": [5] });
    let made = world.client.post("/public/v1/campaigns", body).await.expect(201);
    let campaign = made.text("/data/campaignId");
    world.until_status(&campaign, "waiting", 200).await;
    let world = world.restart().await;
    world.until_status(&campaign, "completed", 900).await;
    let over = world.conversations(&campaign).await;
    assert_eq!(over.len(), 2, "{over:#?}");
    for call in over {
        let said = lines(&call, "Agent");
        assert!(said[0].starts_with("Good day"), "{call:#}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_missing_setting_and_a_wrong_value_refuse_the_call() {
    let world = world(&Mirror::default()).await;
    let agent = world.agent(agent(&all())).await;
    let body = call(&agent, &json!({}), &json!({ "llm": "stub/missing" }));
    let refused = world.client.post("/public/v1/calls", body).await.expect(409);
    assert_eq!(refused.code(), "not_configured");
    let refused = json!({ "agentId": agent, "overrides": { "llm": " ", "voice": "x" } });
    let answer = world.client.post("/public/v1/calls/inbound", refused).await.expect(400);
    assert_eq!(
        answer.fields(),
        [("overrides.voice", "unknown_field"), ("overrides.llm", "invalid")]
    );
}

#[tokio::test(start_paused = true)]
async fn a_contact_with_overrides_as_a_single_call_spells_them_is_refused() {
    let world = world(&Mirror::default()).await;
    let agent = world.agent(agent(&all())).await;
    let contacts = json!([{ "phoneNumber": "+15550100011", "overrides": { "greetingMessage": "Good day." } }]);
    let body = json!({ "name": "c", "agentId": agent, "contacts": contacts });
    let refused = world.client.post("/public/v1/campaigns", body).await.expect(400);
    assert_eq!(refused.fields(), [("contacts[0].overrides", "not_allowed")]);
    for header in [
        "overrides",
        "overrides.greetingMessage",
        "Overrides.llm",
        "override.nonsense",
    ] {
        let rows = format!("phone,{header}\n+15550100011,x\n");
        let refused = upload(&world, &agent, rows, false).await.expect(400);
        assert!(
            refused.body.to_string().contains("override.greetingMessage"),
            "{header}: {refused:?}"
        );
    }
}
