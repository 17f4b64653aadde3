//! Tests of agents with a conversation graph: saved with warnings, and refused where a call would begin.

use domain::ports::store::DirectoryStore;
use serde_json::{Value, json};

use support::app::TestApp;

const CREATE: &str = "/public/v1/agents/create";

/// An agent whose graph names a tool.
fn agent(tool: &str) -> Value {
    json!({
        "name": "Ann",
        "direction": "both",
        "conversationConfig": { "agent": { "prompt": { "prompt": "Be brief." } } },
        "workflow": {
            "nodes": { "s": { "type": "start" }, "t": { "type": "tool", "tools": [{ "toolId": tool }] } },
            "edges": { "e": { "source": "s", "target": "t", "reroutes": [{ "x": 1, "y": 2 }],
                "forwardCondition": { "type": "unconditional" } } },
        },
    })
}

#[tokio::test(start_paused = true)]
async fn an_agent_with_a_mistake_in_its_graph_is_saved_with_a_warning_and_places_no_call() {
    let app = TestApp::start().await;
    let mistake = "`workflow.nodes.t.tools` names `t1`, and there is no such tool in this account";
    let warned = format!("`workflow.edges.e.reroutes` has no effect here; {mistake}");
    let made = app.client.post(CREATE, agent("t1")).await.expect(201);
    assert_eq!(made.text("/warning"), warned);
    let id = made.text("/data/agentId");
    let path = format!("/public/v1/agents/{id}");
    let patched = app.client.patch(&path, json!({ "name": "Bea" })).await.expect(200);
    assert_eq!(patched.text("/warning"), warned);
    assert_eq!(
        patched.data()["workflow"]["nodes"]["t"],
        agent("t1")["workflow"]["nodes"]["t"]
    );
    let read = app.client.get(&path).await.expect(200);
    assert_eq!(read.text("/warning"), warned);
    let copied = app
        .client
        .post(&format!("{path}/duplicate"), json!({}))
        .await
        .expect(201);
    assert_eq!(copied.text("/warning"), warned);

    let campaign = json!({ "name": "C", "agentId": id, "contacts": [{ "phoneNumber": "+15551230000" }] });
    let mut launched = campaign.clone();
    launched["launch"] = json!(true);
    let call = json!({ "agentId": id, "phoneNumber": "+15551230001" });
    for (place, body) in [
        ("/public/v1/campaigns", launched),
        ("/public/v1/calls", call.clone()),
        ("/public/v1/calls/inbound", json!({ "agentId": id })),
        ("/public/v1/agents/test-call", json!({ "agentId": id })),
        ("/public/v1/agents/test-call", json!({ "agent": agent("t1") })),
    ] {
        let refused = app.client.post(place, body).await.expect(409);
        assert_eq!(refused.code(), "not_configured", "{place}");
        assert!(refused.text("/error/message").ends_with(mistake), "{:?}", refused.body);
    }
    app.client.post("/public/v1/campaigns", campaign).await.expect(201);

    let mended = json!({ "workflow": { "nodes": { "t": { "type": "override_agent", "tools": null } } } });
    let mended = app.client.patch(&path, mended).await.expect(200);
    assert_eq!(
        mended.text("/warning"),
        "`workflow.edges.e.reroutes` has no effect here"
    );
    app.client.post("/public/v1/calls", call).await.expect(201);
}

#[tokio::test(start_paused = true)]
async fn a_graph_saved_before_graphs_had_an_effect_is_treated_the_same() {
    let app = TestApp::start().await;
    let nodes: serde_json::Map<String, Value> = (0..300).map(|at| (format!("n{at}"), json!({}))).collect();
    let mut document = agent("t1");
    document["workflow"] = json!({ "nodes": nodes });
    let document = document.as_object().cloned().unwrap();
    let row = app.store.create_agent(app.account.id, document, None).await.unwrap();
    let path = format!("/public/v1/agents/{}", row.id);
    let limit = "`workflow.nodes` has 300 entries; at most 200 are allowed";
    let patched = app.client.patch(&path, json!({ "name": "Bea" })).await.expect(200);
    assert_eq!(patched.text("/warning"), limit);
    let refused = app
        .client
        .patch(&path, json!({ "workflow": { "nodes": { "x": {} } } }))
        .await
        .expect(400);
    assert_eq!(refused.fields(), [("workflow.nodes", "too_long")]);
    let call = json!({ "agentId": row.id, "phoneNumber": "+15551230001" });
    let refused = app.client.post("/public/v1/calls", call).await.expect(409);
    assert!(refused.text("/error/message").ends_with(limit), "{:?}", refused.body);
    let emptied = app.client.patch(&path, json!({ "workflow": null })).await.expect(200);
    assert_eq!(emptied.body.get("warning"), None);
}
