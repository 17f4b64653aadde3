//! Tests of transfer rules: created, listed, changed, deleted, and named by agents.

use domain::{
    agent::{self, validate_create},
    ports::store::{DirectoryStore, agent_for_calls},
};
use serde_json::{Value, json};

use support::app::TestApp;

const RULES: &str = "/public/v1/transfer-rules";
const IDS: &str = "conversationConfig.agent.prompt.builtInTools.transferToNumber.transferRuleIds";

fn rule(name: &str) -> Value {
    json!({ "name": name, "condition": "asks for a person", "transferType": "conference",
            "transferDestination": { "type": "phone", "phoneNumber": "+1 555 010 0002" } })
}

async fn made(app: &TestApp, name: &str) -> String {
    let answer = app.client.post(RULES, rule(name)).await.expect(201);
    answer.text("/data/transferRuleId")
}

fn naming(ids: &[&str]) -> Value {
    let own = json!([{ "transferDestination": { "phoneNumber": "+15550100001" } }]);
    let tool = json!({ "enabled": true, "transferRuleIds": ids, "transfers": own });
    let prompt = json!({ "prompt": "Be brief.", "builtInTools": { "transferToNumber": tool } });
    json!({ "name": "Ann", "conversationConfig": { "agent": { "prompt": prompt } } })
}

#[tokio::test(start_paused = true)]
async fn a_rule_is_created_listed_read_changed_and_deleted() {
    let app = TestApp::start().await;
    let first = app.client.post(RULES, rule("Desk")).await.expect(201);
    let id = first.text("/data/transferRuleId");
    let path = format!("{RULES}/{id}");
    let expected = json!({
        "transferRuleId": id, "name": "Desk", "condition": "asks for a person", "transferType": "conference",
        "transferDestination": { "type": "phone", "phoneNumber": "+15550100002" },
        "metadata": first.data()["metadata"],
    });
    assert_eq!(*first.data(), expected);
    assert_eq!(*app.client.get(&path).await.expect(200).data(), expected);
    let second = made(&app, "Sales").await;
    let page = app.client.get(&format!("{RULES}?pageSize=1")).await.expect(200);
    assert_eq!(page.data()[0]["transferRuleId"], second);
    let cursor = page.text("/pagination/nextCursor");
    let page = app
        .client
        .get(&format!("{RULES}?pageSize=1&cursor={cursor}"))
        .await
        .expect(200);
    assert_eq!(page.data()[0], expected);
    let patch = json!({ "transferType": null, "transferDestination": { "type": "sip_uri", "phoneNumber": null, "sipUri": "sip:desk@example.com" } });
    let changed = app.client.patch(&path, patch).await.expect(200);
    assert_eq!(changed.data().get("transferType"), None);
    let to = json!({ "type": "sip_uri", "sipUri": "sip:desk@example.com" });
    assert_eq!(changed.data()["transferDestination"], to);
    let stranger = app.stranger().await;
    stranger.get(&path).await.expect(404);
    assert_eq!(*stranger.get(RULES).await.expect(200).data(), json!([]));
    app.client.delete(&path).await.expect(200);
    app.client.get(&path).await.expect(404);
}

#[tokio::test(start_paused = true)]
async fn every_wrong_field_of_a_rule_is_listed() {
    let app = TestApp::start().await;
    let id = made(&app, "Desk").await;
    let path = format!("{RULES}/{id}");
    let wrong = json!({ "name": " ", "transferType": "warm", "transferDestination": { "type": "fax" }, "colour": 1 });
    let answer = app.client.post(RULES, wrong).await.expect(400);
    let mut paths: Vec<&str> = answer.fields().into_iter().map(|(path, _)| path).collect();
    paths.sort_unstable();
    paths.dedup();
    assert_eq!(paths, ["colour", "name", "transferDestination.type", "transferType"]);
    for (body, wrong) in [
        (
            json!({}),
            vec![("name", "required"), ("transferDestination", "required")],
        ),
        (
            json!({ "name": "x", "transferDestination": { "type": "phone" } }),
            vec![("transferDestination.phoneNumber", "required")],
        ),
    ] {
        assert_eq!(app.client.post(RULES, body).await.expect(400).fields(), wrong);
    }
    let patch = json!({ "transferDestination": null });
    let answer = app.client.patch(&path, patch).await.expect(400);
    assert_eq!(answer.fields(), [("transferDestination", "required")]);
}

#[tokio::test(start_paused = true)]
async fn an_agent_names_rules_of_its_account_and_offers_them_in_calls() {
    let app = TestApp::start().await;
    let rule = made(&app, "Desk").await;
    let stranger = app.stranger().await;
    let foreign = stranger.post(
        RULES,
        json!({ "name": "Theirs", "transferDestination": { "phoneNumber": "+15550100009" } }),
    );
    let foreign = foreign.await.expect(201).text("/data/transferRuleId");
    for unknown in ["desk", &foreign] {
        let answer = app
            .client
            .post("/public/v1/agents/create", naming(&[&rule, unknown]))
            .await
            .expect(400);
        assert_eq!(answer.fields(), [(&*format!("{IDS}[1]"), "not_found")]);
    }
    let created = app
        .client
        .post("/public/v1/agents/create", naming(&[&rule]))
        .await
        .expect(201);
    let id = created.text("/data/agentId").parse().unwrap();
    let row = agent_for_calls(&*app.store, app.account.id, id).await.unwrap();
    let agent = agent::complete(&row.document).unwrap();
    let tool = agent.conversation_config.agent.prompt.built_in_tools.transfer_to_number;
    let offered: Vec<String> = tool.usable().iter().map(|offer| offer.to.as_str().to_owned()).collect();
    assert_eq!(offered, ["+15550100001", "+15550100002"]);
    let refused = app.client.delete(&format!("{RULES}/{rule}")).await.expect(409);
    assert_eq!(refused.code(), "in_use");
    assert!(
        refused
            .body
            .to_string()
            .contains("this transfer rule is in use by agent `Ann`"),
        "{}",
        refused.body
    );
}

#[tokio::test(start_paused = true)]
async fn ids_from_before_there_were_rules_are_kept_and_ignored_with_a_warning() {
    let app = TestApp::start().await;
    let document = validate_create(&naming(&["old"])).unwrap();
    let row = app.store.create_agent(app.account.id, document, None).await.unwrap();
    let path = format!("/public/v1/agents/{}", row.id);
    let answer = app.client.patch(&path, json!({ "name": "Bea" })).await.expect(200);
    let pointer = format!("/{}", IDS.replace('.', "/"));
    assert_eq!(answer.data().pointer(&pointer), Some(&json!(["old"])));
    assert!(
        answer.text("/warning").contains("have no effect: `old`"),
        "{}",
        answer.body
    );
    let answer = app.client.patch(&path, naming(&["old", "new"])).await.expect(400);
    assert_eq!(answer.fields(), [(&*format!("{IDS}[1]"), "not_found")]);
    let answer = app.client.patch(&path, naming(&[])).await.expect(200);
    assert_eq!(answer.body.get("warning"), None);
}
