//! Tests of `POST /calls` and `POST /conversations/{id}/end`: accepted and rejected requests.

use std::time::Duration;

use actors::campaign::CommandError;
use domain::{
    agent::LANGUAGE_OVERRIDE,
    id::{AgentId, AttemptId, NodeId},
    phone_number::PhoneNumber,
    ports::store::{AttemptStore, CallStore, ConversationStatus, DirectoryStore, Outcome, PermitRequest, RecordStore},
};
use serde_json::{Value, json};

use support::{
    app::{START, TestApp},
    client::{Answer, send},
    switchboard::Mood,
};

const CALLS: &str = "/public/v1/calls";
const NUMBER: &str = "+15550100010";

fn body(agent: &str) -> Value {
    json!({ "agentId": agent, "phoneNumber": NUMBER })
}

async fn placed(app: &TestApp, agent: &str) -> AttemptId {
    let answer = app.client.post(CALLS, body(agent)).await.expect(201);
    answer.text("/data/conversationId").parse().unwrap()
}

async fn end(app: &TestApp, id: AttemptId) -> Answer {
    app.client
        .post(&format!("/public/v1/conversations/{id}/end"), json!({}))
        .await
}

fn request() -> PermitRequest {
    PermitRequest {
        carrier: "simulated".into(),
        caller_id: None,
        agent_version: None,
        restricted_prefixes: Vec::new(),
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_is_answered_as_the_list_shows_it() {
    let app = TestApp::start().await;
    let agent = app.agent().await;
    let call = json!({
        "agentId": agent, "phoneNumber": " 00 1 (555) 010-0010", "name": " Bo ",
        "dynamicVariables": { "city": "Bonn", "age": 7, "vip": true },
    });
    let answer = app.client.post(CALLS, call).await.expect(201);
    let id = answer.text("/data/conversationId");
    let expected = json!({
        "conversationId": id, "agentId": agent, "agentName": "Ann", "status": "scheduled", "direction": "outbound", "contactNumber": NUMBER,
        "contactName": "Bo", "variables": { "city": "Bonn", "age": 7, "vip": true },
        "startTimeUnix": START.unix_seconds(), "conversationDuration": 0, "voiceMailDetected": false,
        "callTransferred": false, "metadata": answer.data()["metadata"],
    });
    assert_eq!(*answer.data(), expected);
    assert!(answer.text("/warning").contains("simulated"));
    let list = app.client.get("/public/v1/conversations").await.expect(200);
    assert_eq!(*list.data(), json!([expected]));
    let detail = app
        .client
        .get(&format!("/public/v1/conversations/{id}"))
        .await
        .expect(200);
    assert_eq!(detail.data()["contactNumber"], NUMBER);
    assert_eq!(detail.data().get("campaignId"), None);
    let claimed = app.store.claim_calls(NodeId::new(), 9).await.unwrap().remove(0);
    assert_eq!(claimed.contact.name.as_deref(), Some("Bo"));
    assert_eq!(
        Value::Object(claimed.variables),
        json!({ "city": "Bonn", "age": 7, "vip": true })
    );
}

#[tokio::test(start_paused = true)]
async fn every_wrong_field_of_a_call_is_listed() {
    let app = TestApp::start().await;
    let wrong = json!({
        "agentId": "x", "phonenumber": NUMBER, "phoneNumber": "12", "name": "n".repeat(201),
        "dynamicVariables": { "a": null, "b": [], "c": {}, "d": "x".repeat(4097), "": 1, "fine": 1.5 },
    });
    let answer = app.client.post(CALLS, wrong).await.expect(400);
    let mut fields = answer.fields();
    fields.sort_unstable();
    assert_eq!(
        fields,
        [
            ("agentId", "invalid_value"),
            ("dynamicVariables.", "not_allowed"),
            ("dynamicVariables.a", "wrong_type"),
            ("dynamicVariables.b", "wrong_type"),
            ("dynamicVariables.c", "wrong_type"),
            ("dynamicVariables.d", "too_long"),
            ("name", "too_long"),
            ("phoneNumber", "invalid_phone"),
            ("phonenumber", "unknown_field"),
        ]
    );
    assert!(answer.body.to_string().contains("did you mean `phoneNumber`?"));
    let answer = app.client.post(CALLS, json!({ "persona": "busy" })).await.expect(400);
    let body = answer.body.to_string();
    assert!(
        body.contains("is not a known field; put it into `dynamicVariables`"),
        "{body}"
    );
    let empty = app
        .client
        .request("POST", CALLS)
        .header("content-type", "application/json");
    let message = send(empty).await.expect(400).text("/error/message");
    assert_eq!(message, "the body is empty; send a JSON object");
    let answer = app
        .client
        .post(CALLS, json!({ "dynamicVariables": 3 }))
        .await
        .expect(400);
    assert_eq!(
        answer.fields(),
        [
            ("dynamicVariables", "wrong_type"),
            ("agentId", "required"),
            ("phoneNumber", "required")
        ]
    );
    app.client.post(&format!("{CALLS}?x=1"), json!({})).await.expect(400);
    assert_eq!(app.store.waiting_calls().await.unwrap().due, 0);
}

#[tokio::test(start_paused = true)]
async fn a_call_needs_an_agent_that_can_dial_and_a_number_that_may_be_called() {
    let app = TestApp::start().await;
    let agent = app.agent().await;
    let unknown = AgentId::new().to_string();
    assert_eq!(
        app.client.post(CALLS, body(&unknown)).await.expect(404).code(),
        "not_found"
    );
    app.stranger().await.post(CALLS, body(&agent)).await.expect(404);

    let number = PhoneNumber::parse(NUMBER).unwrap();
    app.store.add_do_not_call(app.account.id, &number).await.unwrap();
    let refused = app.client.post(CALLS, body(&agent)).await.expect(409);
    assert_eq!(refused.code(), "do_not_call");
    assert!(refused.body.to_string().contains(NUMBER), "{}", refused.body);

    let path = format!("/public/v1/agents/{agent}");
    let patch = json!({ "conversationConfig": { "agent": { "prompt": { "llm": "gpt-5" } } } });
    app.client.patch(&path, patch).await.expect(200);
    let refused = app.client.post(CALLS, body(&agent)).await.expect(409);
    assert_eq!(refused.code(), "not_configured");
    assert!(refused.body.to_string().contains("OPENAI_API_KEY"), "{}", refused.body);
    app.client
        .patch(&path, json!({ "direction": "inbound" }))
        .await
        .expect(200);
    let refused = app.client.post(CALLS, body(&agent)).await.expect(400);
    assert_eq!(refused.fields(), [("agentId", "not_allowed")]);
    assert_eq!(app.store.waiting_calls().await.unwrap().due, 0);
}

#[tokio::test(start_paused = true)]
async fn an_agent_whose_number_is_at_a_carrier_that_is_not_here_calls_nobody() {
    let app = TestApp::start().await;
    let agent = app.agent().await;
    let path = format!("/public/v1/agents/{agent}");
    let patch = json!({ "direction": "both", "phoneNumbers": [{ "number": "+15559990001", "provider": "telnyx" }] });
    app.client.patch(&path, patch).await.expect(200);
    let campaign = json!({ "name": "One", "agentId": agent, "contacts": [{ "phoneNumber": NUMBER }], "launch": true });
    for refused in [
        app.client.post(CALLS, body(&agent)).await,
        app.client.post("/public/v1/campaigns", campaign).await,
    ] {
        let refused = refused.expect(409);
        assert_eq!(refused.code(), "not_configured");
        assert!(refused.body.to_string().contains("TELNYX_API_KEY"), "{}", refused.body);
    }
    // The endpoint for calls over a WebSocket is independent of that: the node is asked.
    let inbound = app
        .client
        .post("/public/v1/calls/inbound", json!({ "agentId": agent }))
        .await;
    assert_eq!(inbound.expect(404).code(), "not_found");
}

#[tokio::test(start_paused = true)]
async fn a_variable_that_nobody_gives_a_value_to_is_told() {
    let app = TestApp::start().await;
    let prompt = json!({ "agent": { "prompt": { "prompt": "Ask {{name}} of {{city}} about {{plan}}." } } });
    let agent = json!({ "name": "Ann", "conversationConfig": prompt });
    let agent = app.client.post("/public/v1/agents/create", agent).await.expect(201);
    let agent = agent.text("/data/agentId");
    let saved = json!({ "phoneNumber": NUMBER, "city": "Bonn" });
    app.client.post("/public/v1/contacts", saved).await.expect(201);
    let told = app.client.post(CALLS, body(&agent)).await.expect(201).text("/warning");
    assert!(told.contains("`{{plan}}`") && told.contains("`{{name}}`"), "{told}");
    assert!(!told.contains("city"), "{told}");
    let mut call = body(&agent);
    call["name"] = json!("Ada");
    call["dynamicVariables"] = json!({ "plan": "gold" });
    let told = app.client.post(CALLS, call).await.expect(201).text("/warning");
    assert!(!told.contains("{{"), "{told}");
}

#[tokio::test(start_paused = true)]
async fn a_call_asked_for_again_with_its_key_is_placed_once() {
    let app = TestApp::start().await;
    let agent = app.agent().await;
    let keyed = async |body: &Value| {
        send(
            app.client
                .request("POST", CALLS)
                .header("idempotency-key", "k")
                .json(body),
        )
        .await
    };
    let first = keyed(&body(&agent)).await.expect(201);
    let again = keyed(&body(&agent)).await.expect(201);
    assert_eq!(again.headers["idempotency-replayed"], "true");
    assert_eq!(again.body, first.body);
    let mut other = body(&agent);
    other["name"] = json!("Bo");
    assert_eq!(keyed(&other).await.expect(409).code(), "conflict");
    assert_eq!(app.store.waiting_calls().await.unwrap().due, 1);
}

#[tokio::test(start_paused = true)]
async fn a_refused_call_leaves_its_key_free() {
    let app = TestApp::start().await;
    let agent = app.agent().await;
    let keyed = async || {
        let request = app.client.request("POST", CALLS).header("idempotency-key", "k");
        send(request.json(&body(&agent))).await
    };
    app.node.set(Mood::Refusing(CommandError::NothingToDial));
    let refused = keyed().await.expect(503);
    assert!(refused.headers.contains_key("retry-after"));
    app.node.set(Mood::Silent);
    keyed().await.expect(503);
    app.node.set(Mood::Obedient);
    keyed().await.expect(201);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_waits_is_cancelled_by_its_end() {
    let app = TestApp::start().await;
    let agent = app.agent().await;
    let id = placed(&app, &agent).await;
    tokio::time::advance(Duration::from_secs(3)).await;
    let ended = end(&app, id).await.expect(200);
    assert_eq!(ended.data()["status"], "cancelled");
    assert_eq!(ended.data()["endTimeUnix"], START.unix_seconds() + 3);
    assert_eq!(ended.data()["conversationDuration"], 0);
    assert_eq!(ended.data().get("errorMessage"), None);
    let again = end(&app, id).await.expect(409);
    assert_eq!(again.code(), "invalid_transition");
    assert!(again.body.to_string().contains("cancelled"), "{}", again.body);
}

#[tokio::test(start_paused = true)]
async fn what_is_not_there_or_not_here_cannot_be_ended() {
    let app = TestApp::start().await;
    let agent = app.agent().await;
    let id = placed(&app, &agent).await;
    let path = format!("/public/v1/conversations/{id}/end");
    app.stranger().await.post(&path, json!({})).await.expect(404);
    end(&app, AttemptId::new()).await.expect(404);
    app.client
        .post("/public/v1/conversations/x/end", json!({}))
        .await
        .expect(404);
    let answer = app.client.post(&path, json!({ "hangUp": true })).await.expect(400);
    assert_eq!(answer.fields(), [("hangUp", "unknown_field")]);
    app.client.get(&path).await.expect(405);

    // It was dialed by a process that has ended.
    let claimed = app.store.claim_calls(NodeId::new(), 1).await.unwrap().remove(0);
    app.store.permit(claimed.claim, request()).await.unwrap();
    let asked = tokio::time::Instant::now();
    end(&app, id).await.expect(503);
    assert!(asked.elapsed() >= Duration::from_secs(10) && asked.elapsed() < Duration::from_secs(12));
    let outcome = Outcome {
        status: ConversationStatus::Failed,
        error: Some("media-lost".into()),
        voicemail: false,
        transferred: false,
        collected: Default::default(),
        times: Default::default(),
        facts_follow: false,
        refusal: None,
    };
    app.store.finish(claimed.claim, outcome, None).await.unwrap();
    assert_eq!(end(&app, id).await.expect(409).code(), "invalid_transition");
    let row = app.store.conversation(app.account.id, id).await.unwrap();
    assert_eq!(row.status, ConversationStatus::Failed);
}

#[tokio::test(start_paused = true)]
async fn a_call_begins_in_a_language_that_its_agent_has() {
    let app = TestApp::start().await;
    let agent = app.agent().await;
    let presets = json!({ "conversationConfig": { "languagePresets": { "de": {} } } });
    let path = format!("/public/v1/agents/{agent}");
    app.client.patch(&path, presets).await.expect(200);
    let call = |language: Value| json!({ "agentId": agent, "phoneNumber": NUMBER, "language": language });
    for (language, code) in [
        (json!("fr"), "invalid_value"),
        (json!(""), "invalid_value"),
        (json!(5), "wrong_type"),
    ] {
        let answer = app.client.post(CALLS, call(language)).await.expect(400);
        assert_eq!(answer.fields(), [("language", code)]);
    }
    let told = app
        .client
        .post(CALLS, call(json!("fr")))
        .await
        .text("/error/fields/0/message");
    assert!(
        told.contains("`fr` is not a language of this agent (`en`, `de`)"),
        "{told}"
    );
    let inside = json!({ "agentId": agent, "phoneNumber": NUMBER, "dynamicVariables": { "override.language": "de" } });
    let answer = app.client.post(CALLS, inside).await.expect(400);
    assert_eq!(answer.fields(), [("dynamicVariables.override.language", "not_allowed")]);
    for language in ["en", "de"] {
        app.client.post(CALLS, call(json!(language))).await.expect(201);
    }
    let claimed = app.store.claim_calls(NodeId::new(), 9).await.unwrap();
    let chosen: Vec<&Value> = claimed.iter().map(|call| &call.variables[LANGUAGE_OVERRIDE]).collect();
    assert_eq!(chosen, ["en", "de"]);
    let inbound = json!({ "agentId": agent, "language": "fr" });
    app.client
        .patch(&path, json!({ "direction": "both" }))
        .await
        .expect(200);
    let answer = app.client.post("/public/v1/calls/inbound", inbound).await.expect(400);
    assert_eq!(answer.fields(), [("language", "invalid_value")]);
}

#[tokio::test(start_paused = true)]
async fn a_call_overrides_only_what_its_agent_allows() {
    let app = TestApp::start().await;
    let agent = app.agent().await;
    let path = format!("/public/v1/agents/{agent}");
    let call = |overrides: Value| json!({ "agentId": agent, "phoneNumber": NUMBER, "overrides": overrides });
    let both = json!({ "greetingMessage": "Hey!", "maxDurationSeconds": 60 });
    let refused = app.client.post(CALLS, call(both.clone())).await.expect(400);
    let fields = ["overrides.greetingMessage", "overrides.maxDurationSeconds"].map(|field| (field, "not_allowed"));
    assert_eq!(refused.fields(), fields);
    let allowed = json!({ "greetingMessage": true, "maxDurationSeconds": true });
    let allowed = json!({ "platformSettings": { "overrides": allowed } });
    app.client.patch(&path, allowed).await.expect(200);
    let read = app.client.get(&path).await.expect(200);
    assert_eq!(
        read.data()["platformSettings"]["overrides"],
        json!({ "prompt": false, "greetingMessage": true, "voiceId": false, "llm": false, "firstSpeaker": false,
            "maxDurationSeconds": true })
    );
    for (overrides, field, code) in [
        (json!([]), "overrides", "wrong_type"),
        (json!({ "greeting": "Hey!" }), "overrides.greeting", "unknown_field"),
        (
            json!({ "maxDurationSeconds": "60" }),
            "overrides.maxDurationSeconds",
            "wrong_type",
        ),
        (
            json!({ "greetingMessage": "x".repeat(10_001) }),
            "overrides.greetingMessage",
            "too_long",
        ),
    ] {
        let answer = app.client.post(CALLS, call(overrides)).await.expect(400);
        assert_eq!(answer.fields(), [(field, code)]);
    }
    let inside = json!({ "agentId": agent, "phoneNumber": NUMBER, "dynamicVariables": { "override.llm": "x" } });
    let answer = app.client.post(CALLS, inside).await.expect(400);
    assert_eq!(answer.fields(), [("dynamicVariables.override.llm", "not_allowed")]);
    app.client.post(CALLS, call(both)).await.expect(201);
    let claimed = app.store.claim_calls(NodeId::new(), 9).await.unwrap();
    let kept = json!({ "override.greetingMessage": "Hey!", "override.maxDurationSeconds": 60 });
    assert_eq!(Value::Object(claimed[0].variables.clone()), kept);
}
