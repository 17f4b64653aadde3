//! Tests of `disclosure`: an agent's field, and the warnings about an agent that does not say what it is.

use serde_json::{Value, json};

use support::app::TestApp;

const CAMPAIGNS: &str = "/public/v1/campaigns";
const WARNING: &str = "set its `platformSettings.disclosure.enabled` to true";

fn disclosure(disclosure: &Value) -> Value {
    json!({ "platformSettings": { "disclosure": disclosure } })
}

#[tokio::test(start_paused = true)]
async fn it_is_off_by_default_and_merged_by_patches() {
    let app = TestApp::start().await;
    let path = format!("/public/v1/agents/{}", app.agent().await);
    let read = app.client.get(&path).await.expect(200);
    assert_eq!(
        read.data()["platformSettings"]["disclosure"],
        json!({ "enabled": false })
    );
    for (patch, expected) in [
        (json!({ "enabled": true }), json!({ "enabled": true })),
        (
            json!({ "text": "An AI speaks." }),
            json!({ "enabled": true, "text": "An AI speaks." }),
        ),
        (
            json!({ "enabled": false }),
            json!({ "enabled": false, "text": "An AI speaks." }),
        ),
        (json!({ "text": null }), json!({ "enabled": false })),
    ] {
        let patched = app.client.patch(&path, disclosure(&patch)).await.expect(200);
        assert_eq!(patched.data()["platformSettings"]["disclosure"], expected);
    }
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_said_is_refused_with_its_path() {
    let app = TestApp::start().await;
    let path = format!("/public/v1/agents/{}", app.agent().await);
    for (given, field, code) in [
        (json!({ "enabled": true, "text": "" }), "text", "invalid"),
        (json!({ "enabled": true, "text": " \n" }), "text", "invalid"),
        (json!({ "enabled": true, "text": "a".repeat(501) }), "text", "too_long"),
        (json!({ "enabled": "yes" }), "enabled", "wrong_type"),
        (json!({ "text": 1 }), "text", "wrong_type"),
        (json!({ "words": "An AI speaks." }), "words", "unknown_field"),
    ] {
        let answer = app.client.patch(&path, disclosure(&given)).await.expect(400);
        let field = format!("platformSettings.disclosure.{field}");
        assert_eq!(answer.fields(), [(&*field, code)]);
    }
    let longest = disclosure(&json!({ "enabled": true, "text": "é".repeat(500) }));
    app.client.patch(&path, longest).await.expect(200);
}

#[tokio::test(start_paused = true)]
async fn each_launch_of_an_agent_without_it_is_answered_with_a_warning() {
    let app = TestApp::start().await;
    let agent = app.agent().await;
    for enabled in [false, true] {
        let patch = disclosure(&json!({ "enabled": enabled }));
        app.client
            .patch(&format!("/public/v1/agents/{agent}"), patch)
            .await
            .expect(200);
        let campaign = |more: Value| {
            let mut body = json!({ "name": "C", "agentId": agent, "contacts": [{ "phoneNumber": "+15550100010" }] });
            body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            body
        };
        let draft = async || {
            let made = app.client.post(CAMPAIGNS, campaign(json!({}))).await.expect(201);
            assert_eq!(made.body.get("warning"), None, "nobody is called yet");
            format!("{CAMPAIGNS}/{}", made.text("/data/campaignId"))
        };
        let [first, second, third] = [draft().await, draft().await, draft().await];
        let later =
            json!({ "startTime": "2030-01-01T10:00:00Z", "endTime": "2030-01-01T11:00:00Z", "timezone": "UTC" });
        let mut scheduled = later.clone();
        scheduled["scheduled"] = json!(true);
        for answer in [
            app.client.post(&format!("{first}/launch"), json!({})).await.expect(200),
            app.client.post(&format!("{second}/schedule"), later).await.expect(200),
            app.client.patch(&third, json!({ "active": true })).await.expect(200),
            app.client
                .post(CAMPAIGNS, campaign(json!({ "launch": true })))
                .await
                .expect(201),
            app.client.post(CAMPAIGNS, campaign(scheduled)).await.expect(201),
            app.client
                .post(
                    "/public/v1/calls",
                    json!({ "agentId": agent, "phoneNumber": "+15550100010" }),
                )
                .await
                .expect(201),
        ] {
            let warning = answer.body["warning"].as_str().unwrap_or_default();
            assert_eq!(warning.contains(WARNING), !enabled, "{warning}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn placeholders_without_a_value_are_reported_and_the_name_of_the_business_always_has_one() {
    let app = TestApp::start().await;
    let path = format!("/public/v1/agents/{}", app.agent().await);
    let text = "{{name}} of {{city}} speaks by AI.";
    for (enabled, reported) in [(true, true), (false, false)] {
        let patch = disclosure(&json!({ "enabled": enabled, "text": text }));
        app.client.patch(&path, patch).await.expect(200);
        let agent = path.rsplit_once('/').unwrap().1;
        let body = json!({ "name": "C", "agentId": agent, "contacts": [{ "phoneNumber": "+15550100010" }] });
        let made = app.client.post(CAMPAIGNS, body).await.expect(201);
        let warning = made.body["warning"].as_str().unwrap_or_default();
        assert_eq!(warning.contains("`{{city}}` has no value"), reported, "{warning}");
        assert!(!warning.contains("{{name}}"), "{warning}");
    }
}
