//! Tests of versions: `ETag` names the present one, and `If-Match` the one that a change expects.

use actors::campaign::{CampaignCommand, CommandError};
use futures_util::future::join_all;
use serde_json::{Value, json};

use support::{
    app::TestApp,
    client::{Answer, send},
    switchboard::Mood,
};

/// Creates one resource of each kind that has versions. Returns their paths, and a patch that each accepts.
async fn resources(app: &TestApp) -> Vec<(String, Value)> {
    let agent = app.agent().await;
    let number = json!({ "phoneNumber": "+15550100010" });
    let tool = json!({ "name": "hours", "description": "d", "url": "https://example.com/" });
    let rule = json!({ "name": "Desk", "transferDestination": number });
    let campaign = json!({ "name": "Spring", "agentId": agent, "contacts": [number] });
    let mut paths = vec![(format!("/public/v1/agents/{agent}"), json!({ "name": "Bea" }))];
    for (list, body, id, patch) in [
        ("tools", tool, "toolId", json!({ "description": "e" })),
        ("transfer-rules", rule, "transferRuleId", json!({ "name": "Reception" })),
        ("campaigns", campaign, "campaignId", json!({ "name": "Summer" })),
    ] {
        let list = format!("/public/v1/{list}");
        let made = app.client.post(&list, body).await.expect(201);
        assert_eq!(made.headers["etag"], "\"1\"", "{list}");
        paths.push((format!("{list}/{}", made.text(&format!("/data/{id}"))), patch));
    }
    paths
}

async fn patch(app: &TestApp, path: &str, expected: &str, patch: &Value) -> Answer {
    let request = app.client.request("PATCH", path).header("if-match", expected);
    send(request.json(patch)).await
}

#[tokio::test(start_paused = true)]
async fn a_change_is_refused_with_the_present_version_if_another_was_expected() {
    let app = TestApp::start().await;
    for (path, change) in resources(&app).await {
        let read = app.client.get(&path).await.expect(200);
        assert_eq!(read.headers["etag"], "\"1\"", "{path}");
        let changed = patch(&app, &path, "\"1\"", &change).await.expect(200);
        assert_eq!(changed.headers["etag"], "\"2\"", "{path}");
        let before = app.client.get(&path).await.expect(200);
        assert_eq!(before.headers["etag"], "\"2\"", "{path}");
        let stale = patch(&app, &path, "\"1\"", &json!({ "name": "other" }))
            .await
            .expect(409);
        assert_eq!(stale.code(), "conflict");
        assert_eq!(stale.body["error"]["details"], json!({ "version": 2 }), "{path}");
        assert_eq!(app.client.get(&path).await.expect(200).data(), before.data());
        for malformed in ["2", "\"\"", "\"x\"", "\"1\", \"2\"", "\"2", "w/\"2\"", "\"-2\""] {
            let refused = patch(&app, &path, malformed, &change).await.expect(400);
            assert_eq!(refused.fields(), [("If-Match", "invalid_value")], "{malformed}");
        }
        let twice = app.client.request("PATCH", &path).header("if-match", "\"2\"");
        let twice = send(twice.header("if-match", "\"2\"").json(&change)).await.expect(400);
        assert_eq!(twice.fields(), [("If-Match", "repeated")]);
        patch(&app, &path, "*", &change).await.expect(200);
        patch(&app, &path, "W/\"3\"", &change).await.expect(200);
        let free = app.client.patch(&path, change).await.expect(200);
        assert_eq!(free.headers["etag"], "\"5\"", "{path}");
        let gone = path.replace(path.rsplit('/').next().unwrap(), "0198d1a0-0000-7000-8000-00000000000a");
        patch(&app, &gone, "*", &json!({})).await.expect(404);
    }
}

#[tokio::test(start_paused = true)]
async fn of_changes_to_one_version_at_once_one_is_made() {
    let app = TestApp::start().await;
    for (path, change) in resources(&app).await {
        let at_once = (0..8).map(|_| patch(&app, &path, "\"1\"", &change));
        let mut statuses: Vec<u16> = join_all(at_once).await.iter().map(|answer| answer.status).collect();
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 409, 409, 409, 409, 409, 409, 409], "{path}");
        let read = app.client.get(&path).await.expect(200);
        assert_eq!(read.headers["etag"], "\"2\"", "{path}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_campaigns_node_gets_the_expected_version_and_answers_with_the_present_one() {
    let app = TestApp::start().await;
    let (path, change) = resources(&app).await.pop().unwrap();
    app.node.set(Mood::Refusing(CommandError::Stale(7)));
    let refused = patch(&app, &path, "\"1\"", &change).await.expect(409);
    assert_eq!(refused.body["error"]["details"], json!({ "version": 7 }));
    let Some((_, CampaignCommand::Update(update))) = app.node.commands().pop() else {
        panic!("no update");
    };
    assert_eq!(update.version, Some(1));
}
