//! Tests of tools over REST and in calls: HTTP tools, hand-over to another agent, and another language.

use std::{collections::BTreeMap, sync::Arc};

use base64::{Engine, engine::general_purpose::STANDARD};
use domain::ports::language_model::{HistoryItem, LanguageError, LanguageModel, ReplyEvent, ReplyRequest, Speaker};
use futures_util::stream::{self, BoxStream, StreamExt};
use hmac::{Hmac, Mac};
use net::address_policy::AddressPolicy;
use serde_json::{Value, json};
use sha2::Sha256;
use sim::exchange::{Script, Step};

use support::{
    app::TestApp,
    sink::Sink,
    words::{lines, texts},
    world::{World, WorldSettings},
};

const TOOLS: &str = "/public/v1/tools";
const NUMBER: &str = "+15550100040";

fn tool(name: &str) -> Value {
    json!({ "name": name, "description": "Tells the price of a visit.", "url": "https://example.com/prices",
            "parameters": { "type": "object", "properties": { "day": { "type": "string" } }, "required": ["day"] } })
}

async fn made(app: &TestApp, name: &str) -> String {
    app.client
        .post(TOOLS, tool(name))
        .await
        .expect(201)
        .text("/data/toolId")
}

#[tokio::test(start_paused = true)]
async fn a_tool_is_made_read_changed_and_listed() {
    let app = TestApp::start().await;
    let id = made(&app, "prices").await;
    let path = format!("{TOOLS}/{id}");
    let read = app.client.get(&path).await.expect(200).data().clone();
    assert_eq!((&read["method"], &read["timeoutMs"]), (&json!("POST"), &json!(10_000)));
    assert_eq!(read["parameters"], tool("prices")["parameters"]);
    let patch = json!({ "method": "GET", "timeoutMs": 100, "parameters": { "required": null } });
    let changed = app.client.patch(&path, patch).await.expect(200).data().clone();
    assert_eq!(
        (&changed["method"], &changed["timeoutMs"]),
        (&json!("GET"), &json!(100))
    );
    assert_eq!(changed["parameters"].get("required"), None);
    let back = app.client.patch(&path, json!({ "timeoutMs": null })).await.expect(200);
    assert_eq!(back.data()["timeoutMs"], 10_000);
    let taken = app.client.post(TOOLS, tool("prices")).await.expect(409);
    assert_eq!(taken.text("/error/code"), "conflict");
    let hours = made(&app, "hours").await;
    app.client
        .patch(&format!("{TOOLS}/{hours}"), json!({ "name": "prices" }))
        .await
        .expect(409);
    let first = app.client.get(&format!("{TOOLS}?pageSize=1")).await.expect(200);
    assert_eq!(first.data()[0]["toolId"], json!(hours));
    let cursor = first.text("/pagination/nextCursor");
    let second = app
        .client
        .get(&format!("{TOOLS}?pageSize=1&cursor={cursor}"))
        .await
        .expect(200);
    assert_eq!(second.data()[0]["toolId"], json!(id));
    let stranger = app.stranger().await;
    stranger.get(&path).await.expect(404);
    stranger.patch(&path, json!({})).await.expect(404);
    stranger.delete(&path).await.expect(404);
    app.client.delete(&path).await.expect(200);
    app.client.get(&path).await.expect(404);
}

#[tokio::test(start_paused = true)]
async fn what_is_wrong_with_a_tool_is_listed() {
    let app = TestApp::start().await;
    let wrong = app.client.post(TOOLS, json!({ "nme": 1 })).await.expect(400);
    let found: Vec<(String, String)> = wrong.body["error"]["fields"]
        .as_array()
        .unwrap()
        .iter()
        .map(|field| {
            (
                field["path"].as_str().unwrap().into(),
                field["code"].as_str().unwrap().into(),
            )
        })
        .collect();
    for path in ["nme", "name", "description", "url"] {
        assert!(found.iter().any(|(at, _)| at == path), "{found:?}");
    }
    for (field, value, code) in [
        ("name", json!("two words"), "not_allowed"),
        ("name", json!("prïces"), "not_allowed"),
        ("name", json!("x".repeat(65)), "not_allowed"),
        ("name", json!("endCall"), "not_allowed"),
        ("name", json!("TRANSFERTONUMBER"), "not_allowed"),
        ("description", json!(" "), "required"),
        ("method", json!("TRACE"), "not_allowed"),
        ("timeoutMs", json!(99), "out_of_range"),
        ("timeoutMs", json!(30_001), "out_of_range"),
        ("parameters", json!([]), "wrong_type"),
        ("parameters", json!({ "type": "string" }), "invalid_schema"),
        (
            "parameters",
            json!({ "type": "object", "$ref": "http://example.com/s.json" }),
            "invalid_schema",
        ),
    ] {
        let mut body = tool("prices");
        body[field] = value.clone();
        let refused = app.client.post(TOOLS, body).await.expect(400);
        let at = (
            refused.text("/error/fields/0/path"),
            refused.text("/error/fields/0/code"),
        );
        assert_eq!(at, (field.to_owned(), code.to_owned()), "{value}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_an_agent_names_must_be_there_and_stays() {
    let app = TestApp::start().await;
    let id = made(&app, "prices").await;
    let foreign = app
        .stranger()
        .await
        .post(TOOLS, tool("prices"))
        .await
        .expect(201)
        .text("/data/toolId");
    let agent = |ids: Value| json!({ "name": "Ann", "conversationConfig": { "agent": { "prompt": { "prompt": "Be brief.", "toolIds": ids } } } });
    let refused = app
        .client
        .post("/public/v1/agents/create", agent(json!([id, foreign, "x"])))
        .await
        .expect(400);
    let paths: Vec<&Value> = refused.body["error"]["fields"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| &f["path"])
        .collect();
    assert_eq!(
        paths,
        [
            "conversationConfig.agent.prompt.toolIds[1]",
            "conversationConfig.agent.prompt.toolIds[2]",
        ]
    );
    let made = app
        .client
        .post("/public/v1/agents/create", agent(json!([id])))
        .await
        .expect(201);
    let path = format!("{TOOLS}/{id}");
    assert_eq!(app.client.delete(&path).await.expect(409).text("/error/code"), "in_use");
    let agent = format!("/public/v1/agents/{}", made.text("/data/agentId"));
    let none = json!({ "conversationConfig": { "agent": { "prompt": { "toolIds": [] } } } });
    app.client.patch(&agent, none).await.expect(200);
    app.client.delete(&path).await.expect(200);
}

/// Model that follows a person's words or a tool's result: it looks up prices and reports what came back.
struct Helpful;

impl LanguageModel for Helpful {
    fn reply(&self, request: ReplyRequest) -> BoxStream<'static, Result<ReplyEvent, LanguageError>> {
        let events = match request.history.last() {
            Some(HistoryItem::Said {
                speaker: Speaker::User,
                text,
                ..
            }) if text.contains("price") => {
                vec![
                    ReplyEvent::Text("One second. ".into()),
                    ReplyEvent::Tool {
                        name: "prices".into(),
                        arguments: json!({ "day": "Monday" }),
                        echo: None,
                    },
                ]
            }
            _ => {
                let price = request.history.iter().rev().find_map(|item| match item {
                    HistoryItem::Tool { result, .. } => result["answer"]["euros"].as_i64(),
                    _ => None,
                });
                let text = price.map_or("Hm.".to_owned(), |price| format!("It is {price} euros."));
                vec![ReplyEvent::Text(text)]
            }
        };
        stream::iter(events.into_iter().map(Ok)).boxed()
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_uses_a_tool_by_a_signed_request_and_says_what_it_answered() {
    let server = Sink::answering("application/json", r#"{ "euros": 60 }"#).await;
    let steps = vec![
        Step::Say("Hello?".into()),
        Step::UntilAgentSaid,
        Step::Say("What is the price?".into()),
        Step::WaitMs(12_000),
        Step::HangUp,
    ];
    let world = World::start_with(WorldSettings {
        scripts: BTreeMap::from([("told".to_owned(), Script::of(steps))]),
        addresses: AddressPolicy::everything(),
        mind: Some(Arc::new(Helpful)),
        ..WorldSettings::default()
    })
    .await;
    let mut prices = tool("prices");
    prices["url"] = json!(server.url("/prices?key=1"));
    let id = world.client.post(TOOLS, prices).await.expect(201).text("/data/toolId");
    let agent = json!({ "name": "Ann", "conversationConfig": { "agent": {
        "greetingMessage": "Hello, this is Ann.", "prompt": { "prompt": "Be brief.", "toolIds": [id] } } } });
    let agent = world.agent(agent).await;
    let body = json!({ "agentId": agent, "phoneNumber": NUMBER, "dynamicVariables": { "script": "told" } });
    let call = world
        .client
        .post("/public/v1/calls", body)
        .await
        .expect(201)
        .text("/data/conversationId");
    let conversation = world.until_over(&call, 60).await;
    let said = lines(&conversation, "Agent").join(" ");
    assert!(
        said.contains("One second") && said.contains("It is 60 euros"),
        "{conversation:#}"
    );
    assert!(
        texts(&world.phones().call(NUMBER).heard())
            .join(" ")
            .contains("60 euros")
    );

    let requests = server.requests();
    assert_eq!(requests.len(), 1);
    let request = &requests[0];
    assert_eq!(
        (request.method.as_str(), request.target.as_str()),
        ("POST", "/prices?key=1")
    );
    assert_eq!(request.body, json!({ "day": "Monday" }).to_string());
    let secret = world
        .client
        .get("/public/v1/me/webhook-secret")
        .await
        .expect(200)
        .text("/data/webhookSecret");
    let key = STANDARD.decode(secret.trim_start_matches("whsec_")).unwrap();
    let (id, at) = (&request.headers["webhook-id"], &request.headers["webhook-timestamp"]);
    assert!(id.starts_with(&format!("tool_{call}_")), "{id}");
    let mut mac = Hmac::<Sha256>::new_from_slice(&key).unwrap();
    mac.update(format!("{id}.{at}.{}", request.body).as_bytes());
    let expected = format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()));
    assert_eq!(request.headers["webhook-signature"], expected);
}

/// Runs a call of the interviewer with a scripted phone.
async fn interviewed(agent: Value, others: &[Value], says: &str) -> (World, Value) {
    let steps = vec![
        Step::Say("Hello?".into()),
        Step::UntilAgentSaid,
        Step::Say(says.into()),
        Step::WaitMs(14_000),
        Step::HangUp,
    ];
    let scripts = BTreeMap::from([("told".to_owned(), Script::of(steps))]);
    let world = World::with_scripts(scripts).await;
    let mut agent = agent;
    for other in others {
        let id = world.agent(other.clone()).await;
        let tool = &mut agent["conversationConfig"]["agent"]["prompt"]["builtInTools"]["transferToAgent"];
        tool["transfers"][0]["agentId"] = json!(id);
    }
    let agent = world.agent(agent).await;
    let body =
        json!({ "agentId": agent, "phoneNumber": NUMBER, "name": "Maria", "dynamicVariables": { "script": "told" } });
    let call = world
        .client
        .post("/public/v1/calls", body)
        .await
        .expect(201)
        .text("/data/conversationId");
    let conversation = world.until_over(&call, 60).await;
    (world, conversation)
}

#[tokio::test(start_paused = true)]
async fn another_agent_takes_the_call_over_where_its_condition_is_met() {
    let front = json!({ "name": "Front", "conversationConfig": { "agent": {
        "greetingMessage": "Hello, this is Front.",
        "prompt": { "prompt": "How can I help you today?", "builtInTools": { "endCall": { "enabled": true }, "transferToAgent": {
            "enabled": true,
            "transfers": [{ "condition": "They have a question about an invoice or a bill.",
                "transferMessage": "I'll get {{name}} our billing desk.", "enableTransferredAgentFirstMessage": true }],
        } } },
    } } });
    let billing = json!({ "name": "Billing", "conversationConfig": { "agent": {
        "greetingMessage": "Billing desk, hello {{name}}.", 
        "prompt": { "prompt": "What is the number of your invoice?", "builtInTools": { "endCall": { "enabled": true } } },
    } } });
    let (_, conversation) = interviewed(front, &[billing], "I have a question about an invoice.").await;
    let said = lines(&conversation, "Agent").join(" ");
    assert!(said.contains("I'll get Maria our billing desk"), "{conversation:#}");
    assert!(said.contains("Billing desk, hello Maria"), "{conversation:#}");
    assert_eq!(conversation["status"], "completed");
}

#[tokio::test(start_paused = true)]
async fn another_language_that_is_asked_for_brings_its_preset() {
    let agent = json!({ "name": "Ann", "conversationConfig": {
        "agent": { "greetingMessage": "Hello, this is Ann.", "prompt": {
            "prompt": "How can I help you today?", "builtInTools": {
                "endCall": { "enabled": true }, "languageDetection": { "enabled": true } } } },
        "languagePresets": { "es": { "overrides": { "agent": { "prompt": { "prompt": "¿Cuándo quiere venir?" } } } } },
    } });
    let (_, conversation) = interviewed(agent, &[], "Spanish, please.").await;
    let said = lines(&conversation, "Agent").join(" ");
    assert!(said.contains("Cuándo quiere venir"), "{conversation:#}");
}

/// Asks the interviewer for the opening hours and says goodbye. Returns the agent's words, the number of requests to
/// the tool and the length of the call.
async fn hours_asked(ends_calls: bool) -> (String, usize, u64) {
    let server = Sink::answering("application/json", r#"{ "message": "We open at nine." }"#).await;
    let steps = vec![
        Step::Say("Hello?".into()),
        Step::UntilAgentSaid,
        Step::Say("What are your opening hours?".into()),
        Step::WaitMs(10_000),
        Step::Say("Goodbye.".into()),
        Step::WaitMs(60_000),
        Step::HangUp,
    ];
    let world = World::start_with(WorldSettings {
        scripts: BTreeMap::from([("told".to_owned(), Script::of(steps))]),
        addresses: AddressPolicy::everything(),
        ..WorldSettings::default()
    })
    .await;
    let hours =
        json!({ "name": "openingHours", "description": "Tells when the practice is open.", "url": server.url("/") });
    let id = world.client.post(TOOLS, hours).await.expect(201).text("/data/toolId");
    let tools = json!({ "endCall": { "enabled": ends_calls } });
    let agent = json!({ "name": "Ann", "conversationConfig": { "agent": { "greetingMessage": "Hello, this is Ann.",
        "prompt": { "prompt": "How can I help you today?", "toolIds": [id], "builtInTools": tools } } } });
    let agent = world.agent(agent).await;
    let body = json!({ "agentId": agent, "phoneNumber": NUMBER, "dynamicVariables": { "script": "told" } });
    let call = world.client.post("/public/v1/calls", body).await.expect(201);
    let conversation = world.until_over(&call.text("/data/conversationId"), 120).await;
    assert_eq!(conversation["status"], "completed", "{conversation:#}");
    let phone = world.phones().call(NUMBER);
    (
        texts(&phone.heard()).join(" "),
        server.requests().len(),
        phone.talked_ms(),
    )
}

#[tokio::test(start_paused = true)]
async fn the_interviewer_asks_a_tool_that_fits_and_hangs_up_only_if_it_may() {
    for ends_calls in [false, true] {
        let (said, requests, talked_ms) = hours_asked(ends_calls).await;
        assert!(said.contains("We open at nine") && said.contains("oodbye"), "{said}");
        assert_eq!(requests, 1);
        assert_eq!(talked_ms < 60_000, ends_calls, "{talked_ms} ms");
    }
}
