//! Tests of `POST /agents/test-call`: rejected requests, and the deletion of test calls. Tests of the plain media link hold
//! whole test calls.

use std::{sync::Arc, time::Duration};

use domain::{
    id::{AttemptId, NodeId},
    phone_number::PhoneNumber,
    ports::{
        carrier::CarrierCallId,
        store::{
            AttemptStore, ConversationStatus, InboundStore, NewInboundCall, NodeStore, Outcome, TestActions, TestCall,
            TestMode,
        },
    },
    time::TokioClock,
};
use serde_json::{Value, json};
use storage::retention::{self, Kept};

use crate::conversations::CONVERSATIONS;
use support::app::{START, TestApp};

const TESTS: &str = "/public/v1/agents/test-call";

fn unsaved(prompt: &Value) -> Value {
    json!({ "name": "Draft", "conversationConfig": { "agent": { "prompt": prompt } } })
}

#[tokio::test(start_paused = true)]
async fn every_wrong_field_of_a_test_call_is_listed() {
    let app = TestApp::start().await;
    let agent = app.agent().await;
    let nobodys = "0198d1a0-0000-7000-8000-00000000000a";
    let brief = unsaved(&json!({ "prompt": "Be brief." }));
    for (body, expected) in [
        (json!({}), vec![("agentId", "required")]),
        (json!({ "agentId": "x" }), vec![("agentId", "invalid_value")]),
        (
            json!({ "agentId": agent, "agent": brief }),
            vec![("agent", "not_allowed")],
        ),
        (json!({ "agent": "Ann" }), vec![("agent", "wrong_type")]),
        (
            json!({ "agent": { "nme": "Ann" }, "mode": "video", "actions": 1 }),
            vec![
                ("actions", "wrong_type"),
                ("agent.conversationConfig.agent.prompt.prompt", "required"),
                ("agent.name", "required"),
                ("agent.nme", "unknown_field"),
                ("mode", "not_allowed"),
            ],
        ),
        (
            json!({ "agent": unsaved(&json!({ "prompt": "Be brief.", "toolIds": [nobodys] })) }),
            vec![("agent.conversationConfig.agent.prompt.toolIds[0]", "not_found")],
        ),
        (
            json!({ "agentId": agent, "phoneNumber": "+15550100010", "dynamicVariables": { "a": [] } }),
            vec![("dynamicVariables.a", "wrong_type"), ("phoneNumber", "unknown_field")],
        ),
    ] {
        let answer = app.client.post(TESTS, body.clone()).await.expect(400);
        let mut fields = answer.fields();
        fields.sort_unstable();
        assert_eq!(fields, expected, "{body}");
    }
    app.client.post(TESTS, json!({ "agentId": nobodys })).await.expect(404);
    let missing = unsaved(&json!({ "prompt": "Be brief.", "llm": "openai/gpt" }));
    let refused = app.client.post(TESTS, json!({ "agent": missing })).await.expect(409);
    assert_eq!(refused.code(), "not_configured");
    let key = json!({ "name": "reads", "scopes": ["read", "live", "write"] });
    let key = app.client.post("/public/v1/me/api-keys", key).await.expect(201);
    let reader = support::client::Client::new(&app.client.base, &key.text("/data/apiKey"));
    reader.post(TESTS, json!({ "agent": brief })).await.expect(403);
}

#[tokio::test(start_paused = true)]
async fn a_test_call_is_deleted_with_its_recording_after_a_day() {
    let app = TestApp::start().await;
    let folder = tempfile::tempdir().unwrap();
    let clock = Arc::new(TokioClock::starting_at(START));
    let kept = Kept::default();
    let keeper = tokio::spawn(retention::run(app.store.clone(), clock, folder.path().to_owned(), kept));
    let node = NodeId::new();
    app.store.register_node(node, None).await.unwrap();
    let agent = app.agent().await.parse().unwrap();
    let mut files = Vec::new();
    let mut paths = Vec::new();
    for is_test in [true, false] {
        let attempt = AttemptId::new();
        let new = NewInboundCall {
            attempt,
            account: app.account.id,
            agent,
            agent_version: 1,
            carrier: "plain".into(),
            call: CarrierCallId(attempt.to_string()),
            from: PhoneNumber::withheld(),
            to: PhoneNumber::withheld(),
            ticket: None,
            variables: serde_json::Map::new(),
            test: is_test.then_some(TestCall {
                unsaved: None,
                actions: TestActions::Simulated,
                mode: TestMode::Voice,
            }),
        };
        let received = app.store.receive_call(node, new).await;
        let error = Some("media-lost".to_owned());
        let outcome = Outcome {
            status: ConversationStatus::Failed,
            error,
            voicemail: false,
            transferred: false,
            collected: Default::default(),
            times: Default::default(),
            facts_follow: false,
            refusal: None,
        };
        let claim = received.unwrap().unwrap().attempt.claim;
        app.store.finish(claim, outcome, None).await.unwrap();
        let file = folder.path().join(format!("{attempt}.wav"));
        std::fs::write(&file, b"RIFF").unwrap();
        files.push(file);
        paths.push(format!("{CONVERSATIONS}/{attempt}"));
    }
    let hours = async |hours: u64| {
        tokio::time::sleep(Duration::from_secs(hours * 3_600)).await;
        // The file is deleted on another thread.
        for _ in 0..100 {
            tokio::task::yield_now().await;
            std::thread::yield_now();
        }
    };
    hours(20).await;
    let test = app.client.get(&paths[0]).await.expect(200);
    assert_eq!(test.data()["test"], true);
    assert!(files[0].exists());
    hours(6).await;
    app.client.get(&paths[0]).await.expect(404);
    assert!(!files[0].exists());
    let other = app.client.get(&paths[1]).await.expect(200);
    assert_eq!(other.data().get("test"), None);
    assert!(files[1].exists());
    keeper.abort();
}
