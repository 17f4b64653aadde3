//! Tests of agents, contacts, the do-not-call list and the account: lists, deletes and the rules between them.

use domain::{
    id::{AgentId, AttemptId, CampaignId, ContactId},
    ports::store::{CampaignStatus, CampaignStore, ConversationStatus, DirectoryStore},
};
use serde_json::{Value, json};

use crate::conversations::Dialer;
use support::{
    app::TestApp,
    client::{Client, send},
};

const AGENTS: &str = "/public/v1/agents";
const CREATE: &str = "/public/v1/agents/create";
const CONTACTS: &str = "/public/v1/contacts";
const DO_NOT_CALL: &str = "/public/v1/do-not-call";

/// Returns all items of a list, page by page.
async fn all(client: &Client, path: &str, page_size: usize) -> Vec<Value> {
    let mut items = Vec::new();
    let mut cursor = String::new();
    loop {
        let sign = if path.contains('?') { '&' } else { '?' };
        let page = client
            .get(&format!("{path}{sign}pageSize={page_size}{cursor}"))
            .await
            .expect(200);
        items.extend(page.data().as_array().unwrap().clone());
        let pagination = &page.body["pagination"];
        assert_eq!(pagination["pageSize"], page_size);
        assert_eq!(pagination["hasMore"], pagination["nextCursor"].is_string());
        match pagination["nextCursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return items,
        }
    }
}

fn agent(name: &str, extra: &Value) -> Value {
    let mut body = json!({ "name": name, "conversationConfig": { "agent": { "prompt": { "prompt": "Hi." } } } });
    for (field, value) in extra.as_object().unwrap() {
        body[field] = value.clone();
    }
    body
}

#[tokio::test(start_paused = true)]
async fn agents_are_listed_whole_and_newest_first() {
    let app = TestApp::start().await;
    let mut ids = Vec::new();
    for n in 0..5 {
        let made = app
            .client
            .post(CREATE, agent(&format!("a{n}"), &json!({})))
            .await
            .expect(201);
        ids.insert(0, made.text("/data/agentId"));
    }
    let listed = all(&app.client, AGENTS, 2).await;
    let seen: Vec<&str> = listed.iter().map(|item| item["agentId"].as_str().unwrap()).collect();
    assert_eq!(seen, ids);
    let read = app.client.get(&format!("{AGENTS}/{}", ids[0])).await.expect(200);
    assert_eq!(listed[0], *read.data());
    assert!(all(&app.stranger().await, AGENTS, 30).await.is_empty());
    let first = app.client.get(&format!("{AGENTS}?pageSize=1")).await.expect(200);
    let cursor = first.text("/pagination/nextCursor");
    for path in [
        format!("{AGENTS}?cursor=x{cursor}"),
        format!("{CONTACTS}?cursor={cursor}"),
        format!("{DO_NOT_CALL}?cursor={cursor}"),
    ] {
        let answer = app.client.get(&path).await.expect(400);
        assert_eq!(answer.fields(), [("cursor", "invalid_cursor")], "{path}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_agent_in_use_is_named_and_stays() {
    let app = TestApp::start().await;
    let id = app.agent().await;
    let body =
        json!({ "name": "Spring", "agentId": id, "launch": true, "contacts": [{ "phoneNumber": "+15550000001" }] });
    let campaign = app.client.post("/public/v1/campaigns", body).await.expect(201);
    let path = format!("{AGENTS}/{id}");
    let held = app.client.delete(&path).await.expect(409);
    assert_eq!(held.code(), "in_use");
    assert!(held.text("/error/message").contains("Spring"), "{}", held.body);
    let stop = format!("/public/v1/campaigns/{}/stop", campaign.text("/data/campaignId"));
    app.client.post(&stop, json!({})).await.expect(200);
    let tools = json!({ "transferToAgent": { "transfers": [{ "agentId": id }] } });
    let other = agent("Hands on", &json!({}));
    let other = app.client.post(CREATE, other).await.expect(201).text("/data/agentId");
    let patch = json!({ "conversationConfig": { "agent": { "prompt": { "builtInTools": tools } } } });
    app.client.patch(&format!("{AGENTS}/{other}"), patch).await.expect(200);
    let held = app.client.delete(&path).await.expect(409);
    assert_eq!(held.code(), "in_use");
    assert!(held.text("/error/message").contains(&other), "{}", held.body);
    let back = json!({ "conversationConfig": { "agent": { "prompt": { "builtInTools": null } } } });
    app.client.patch(&format!("{AGENTS}/{other}"), back).await.expect(200);
    let gone = app.client.delete(&path).await.expect(200);
    assert_eq!(*gone.data(), json!({ "agentId": id, "deleted": true }));
    app.client.get(&path).await.expect(404);
    app.client.delete(&path).await.expect(404);
    let seen = all(&app.client, AGENTS, 30).await;
    assert_eq!(seen.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_agent_of_a_draft_or_of_the_last_call_of_a_stopped_campaign_stays() {
    let dialer = Dialer::start(1).await;
    let (client, path) = (&dialer.app.client, format!("{AGENTS}/{}", dialer.agent));
    let held = async |by: &str| {
        let held = client.delete(&path).await.expect(409);
        assert_eq!(held.code(), "in_use");
        assert!(held.text("/error/message").contains(by), "{}", held.body);
    };
    let call = dialer.dial().await;
    let stop = format!("/public/v1/campaigns/{}/stop", dialer.campaign);
    client.post(&stop, json!({})).await.expect(200);
    held(&call.claim.attempt.to_string()).await;
    dialer.finish(&call, ConversationStatus::Failed, &[]).await;
    let draft = json!({ "name": "c", "agentId": dialer.agent, "contacts": [{ "phoneNumber": "+15550000001" }] });
    let draft = client.post("/public/v1/campaigns", draft).await.expect(201);
    held(&draft.text("/data/campaignId")).await;
}

#[tokio::test(start_paused = true)]
async fn a_number_is_owned_once_and_answered_once() {
    let app = TestApp::start().await;
    let stranger = app.stranger().await;
    let own = json!({ "direction": "inbound", "phoneNumbers": [{ "number": "+1 555 000 0001" }] });
    let first = app
        .client
        .post(CREATE, agent("In", &own))
        .await
        .expect(201)
        .text("/data/agentId");
    for client in [&app.client, &stranger] {
        let answer = client.post(CREATE, agent("Two", &own)).await.expect(409);
        assert_eq!(answer.code(), "number_in_use");
        assert!(
            answer.text("/error/message").contains("+15550000001"),
            "{}",
            answer.body
        );
    }
    let rotated = json!({ "platformSettings": { "telephony": { "rotationNumbers": ["+15550000001"] } } });
    stranger.post(CREATE, agent("Rotates", &rotated)).await.expect(409);
    let second = app
        .client
        .post(CREATE, agent("Rotates", &rotated))
        .await
        .expect(201)
        .text("/data/agentId");
    let answer = app.client.patch(&format!("{AGENTS}/{second}"), own).await.expect(409);
    assert_eq!(answer.code(), "number_in_use");
    // An agent's own numbers cause no conflict.
    app.client
        .patch(&format!("{AGENTS}/{first}"), json!({ "direction": "both" }))
        .await
        .expect(200);
    app.client.delete(&format!("{AGENTS}/{first}")).await.expect(200);
    app.client.delete(&format!("{AGENTS}/{second}")).await.expect(200);
    stranger
        .post(
            CREATE,
            agent("Mine now", &json!({ "phoneNumbers": [{ "number": "+15550000001" }] })),
        )
        .await
        .expect(201);
}

#[tokio::test(start_paused = true)]
async fn contacts_are_searched_by_name_and_number() {
    let app = TestApp::start().await;
    for (number, name) in [
        ("+15550000011", "Ada"),
        ("+4915550000022", "Grace ADA"),
        ("+15550000033", "100%"),
    ] {
        let body = json!({ "phoneNumber": number, "name": name });
        app.client.post(CONTACTS, body).await.expect(201);
    }
    for (search, expected) in [
        ("", vec!["100%", "Grace ADA", "Ada"]),
        ("?search=ada", vec!["Grace ADA", "Ada"]),
        ("?search=%20", vec!["100%", "Grace ADA", "Ada"]),
        ("?search=%2B1%20555%20000-0011", vec!["Ada"]),
        ("?search=0049%20155%205000-0022", vec!["Grace ADA"]),
        ("?search=0000", vec!["100%", "Grace ADA", "Ada"]),
        ("?search=0%25", vec!["100%"]),
        ("?search=nobody", vec![]),
    ] {
        let listed = all(&app.client, &format!("{CONTACTS}{search}"), 2).await;
        let names: Vec<&str> = listed.iter().map(|item| item["name"].as_str().unwrap()).collect();
        assert_eq!(names, expected, "{search}");
    }
    assert!(all(&app.stranger().await, CONTACTS, 30).await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_contact_is_patched_by_merging() {
    let app = TestApp::start().await;
    let body =
        json!({ "phoneNumber": "+15550000001", "name": "Ada", "address": { "city": "Bonn", "zip": 1 }, "old": 1 });
    let id = app
        .client
        .post(CONTACTS, body)
        .await
        .expect(201)
        .text("/data/contactId");
    app.client
        .post(CONTACTS, json!({ "phoneNumber": "+15550000002" }))
        .await
        .expect(201);
    let path = format!("{CONTACTS}/{id}");
    let patch = json!({
        "phoneNumber": "00 1 555 000 0003", "name": null, "email": "ada@example.com", "old": null,
        "address": { "zip": 2 }, "new": [1],
    });
    let patched = app.client.patch(&path, patch).await.expect(200);
    assert_eq!(
        *patched.data(),
        json!({
            "contactId": id, "phoneNumber": "+15550000003", "email": "ada@example.com",
            "address": { "city": "Bonn", "zip": 2 }, "new": [1], "metadata": patched.data()["metadata"],
        })
    );
    assert_eq!(app.client.get(&path).await.data(), patched.data());
    let same = app.client.patch(&path, json!({})).await.expect(200);
    assert_eq!(same.data(), patched.data());
    for (patch, expected) in [
        (json!({ "phoneNumber": null }), vec![("phoneNumber", "required")]),
        (json!({ "phoneNumber": "12" }), vec![("phoneNumber", "invalid_phone")]),
        (
            json!({ "email": "x", "name": 1 }),
            vec![("email", "invalid_email"), ("name", "wrong_type")],
        ),
        (json!({ "contactId": "x" }), vec![("contactId", "not_allowed")]),
        (json!({ "metadata": null }), vec![("metadata", "not_allowed")]),
    ] {
        let answer = app.client.patch(&path, patch.clone()).await.expect(400);
        assert_eq!(answer.fields(), expected, "{patch}");
    }
    let taken = app
        .client
        .patch(&path, json!({ "phoneNumber": "+15550000002" }))
        .await
        .expect(409);
    assert_eq!(taken.code(), "contact_exists");
}

#[tokio::test(start_paused = true)]
async fn the_do_not_call_list_is_kept_over_rest() {
    let app = TestApp::start().await;
    for number in ["+1 555 000-0001", "+15550000002", "0015550000001"] {
        let made = app
            .client
            .post(DO_NOT_CALL, json!({ "phoneNumber": number }))
            .await
            .expect(201);
        assert!(made.data()["metadata"]["createdAt"].is_string());
    }
    let listed = all(&app.client, DO_NOT_CALL, 1).await;
    let numbers: Vec<&str> = listed
        .iter()
        .map(|item| item["phoneNumber"].as_str().unwrap())
        .collect();
    assert_eq!(numbers, ["+15550000002", "+15550000001"]);
    for (search, found) in [
        ("%2B1%20(555)%20000-0002", 1),
        ("000", 2),
        ("0003", 0),
        ("Maria", 0),
        ("_", 0),
    ] {
        let answer = app.client.get(&format!("{DO_NOT_CALL}?search={search}")).await;
        assert_eq!(answer.data().as_array().unwrap().len(), found, "{search}");
    }
    let stranger = app.stranger().await;
    assert!(all(&stranger, DO_NOT_CALL, 30).await.is_empty());
    for (body, expected) in [
        (json!({}), vec![("phoneNumber", "required")]),
        (json!({ "phoneNumber": "x" }), vec![("phoneNumber", "invalid_phone")]),
        (
            json!({ "phoneNumbr": "+15550000001" }),
            vec![("phoneNumbr", "unknown_field"), ("phoneNumber", "required")],
        ),
    ] {
        let answer = app.client.post(DO_NOT_CALL, body).await.expect(400);
        assert_eq!(answer.fields(), expected);
    }
    stranger
        .delete(&format!("{DO_NOT_CALL}/+15550000001"))
        .await
        .expect(404);
    let gone = app
        .client
        .delete(&format!("{DO_NOT_CALL}/%2B1%20555%20000%200001"))
        .await
        .expect(200);
    assert_eq!(*gone.data(), json!({ "phoneNumber": "+15550000001", "deleted": true }));
    app.client
        .delete(&format!("{DO_NOT_CALL}/+15550000002"))
        .await
        .expect(200);
    for missing in ["+15550000002", "nonsense"] {
        app.client.delete(&format!("{DO_NOT_CALL}/{missing}")).await.expect(404);
    }
}

#[tokio::test(start_paused = true)]
async fn a_regenerated_key_replaces_the_one_that_asked() {
    let app = TestApp::start().await;
    let path = "/public/v1/me/api-key/regenerate";
    let refused = app.client.post(path, json!({ "x": 1 })).await.expect(400);
    assert_eq!(refused.fields(), [("x", "unknown_field")]);
    let answer = send(app.client.request("POST", path)).await.expect(200);
    let key = answer.text("/data/apiKey");
    app.client.get("/public/v1/me").await.expect(401);
    let renewed = Client::new(&app.client.base, &key);
    let me = renewed.get("/public/v1/me").await.expect(200);
    assert_eq!(me.data()["userId"], app.account.id.to_string());
}

#[tokio::test(start_paused = true)]
async fn a_webhook_secret_is_read_and_rotated() {
    let app = TestApp::start().await;
    let path = "/public/v1/me/webhook-secret";
    let before = app.client.get(path).await.expect(200);
    assert_eq!(*before.data(), json!({ "webhookSecret": "whsec_test" }));
    let rotated = send(app.client.request("POST", &format!("{path}/rotate")))
        .await
        .expect(200);
    let secret = rotated.text("/data/webhookSecret");
    assert!(secret.starts_with("whsec_") && secret.len() > 40, "{secret}");
    assert_eq!(app.client.get(path).await.data(), rotated.data());
    let kept = app.store.webhook_secrets(app.account.id).await.unwrap();
    assert_eq!(kept.previous.as_deref(), Some("whsec_test"));
}

#[tokio::test(start_paused = true)]
async fn whatever_is_another_accounts_is_not_found() {
    let app = TestApp::start().await;
    let agent = app.agent().await;
    let contact = app
        .client
        .post(CONTACTS, json!({ "phoneNumber": "+15550000001" }))
        .await
        .expect(201);
    let contact = contact.text("/data/contactId");
    let body = json!({ "name": "C", "agentId": agent, "contacts": [{ "phoneNumber": "+15550000001" }] });
    let campaign = app
        .client
        .post("/public/v1/campaigns", body)
        .await
        .expect(201)
        .text("/data/campaignId");
    app.client
        .post(DO_NOT_CALL, json!({ "phoneNumber": "+15550000009" }))
        .await
        .expect(201);
    let stranger = app.stranger().await;
    for (method, path) in [
        ("GET", format!("{AGENTS}/{agent}")),
        ("PATCH", format!("{AGENTS}/{agent}")),
        ("DELETE", format!("{AGENTS}/{agent}")),
        ("GET", format!("{CONTACTS}/{contact}")),
        ("PATCH", format!("{CONTACTS}/{contact}")),
        ("DELETE", format!("{CONTACTS}/{contact}")),
        ("DELETE", format!("{DO_NOT_CALL}/+15550000009")),
        ("GET", format!("/public/v1/campaigns/{campaign}")),
        ("POST", format!("/public/v1/campaigns/{campaign}/launch")),
        ("POST", format!("/public/v1/campaigns/{campaign}/pause")),
        ("POST", format!("/public/v1/campaigns/{campaign}/stop")),
        ("GET", format!("{AGENTS}/{}", AgentId::new())),
        ("GET", format!("{CONTACTS}/{}", ContactId::new())),
        ("GET", format!("/public/v1/campaigns/{}", CampaignId::new())),
        ("GET", format!("/public/v1/conversations/{}", AttemptId::new())),
    ] {
        let answer = send(stranger.request(method, &path).json(&json!({}))).await;
        assert_eq!((answer.status, answer.code()), (404, "not_found"), "{method} {path}");
    }
    // Nothing has changed.
    app.client.get(&format!("{AGENTS}/{agent}")).await.expect(200);
    app.client.get(&format!("{CONTACTS}/{contact}")).await.expect(200);
    let row = app
        .store
        .campaign(app.account.id, campaign.parse().unwrap())
        .await
        .unwrap();
    assert_eq!(row.status, CampaignStatus::Draft);
    assert_eq!(all(&app.client, DO_NOT_CALL, 30).await.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn unknown_query_parameters_are_refused_everywhere() {
    let app = TestApp::start().await;
    let id = ContactId::new();
    for (method, path) in [
        ("GET", "/public/health".to_owned()),
        ("GET", "/public/v1/me".to_owned()),
        ("POST", "/public/v1/me/api-key/regenerate".to_owned()),
        ("GET", "/public/v1/me/webhook-secret".to_owned()),
        ("POST", "/public/v1/me/webhook-secret/rotate".to_owned()),
        ("GET", AGENTS.to_owned()),
        ("POST", CREATE.to_owned()),
        ("GET", format!("{AGENTS}/{id}")),
        ("PATCH", format!("{AGENTS}/{id}")),
        ("DELETE", format!("{AGENTS}/{id}")),
        ("GET", CONTACTS.to_owned()),
        ("POST", CONTACTS.to_owned()),
        ("GET", format!("{CONTACTS}/{id}")),
        ("PATCH", format!("{CONTACTS}/{id}")),
        ("DELETE", format!("{CONTACTS}/{id}")),
        ("GET", DO_NOT_CALL.to_owned()),
        ("POST", DO_NOT_CALL.to_owned()),
        ("DELETE", format!("{DO_NOT_CALL}/+15550000001")),
        ("GET", "/public/v1/campaigns".to_owned()),
        ("POST", "/public/v1/campaigns".to_owned()),
        ("POST", "/public/v1/campaigns/csv".to_owned()),
        ("GET", format!("/public/v1/campaigns/{id}")),
        ("POST", format!("/public/v1/campaigns/{id}/launch")),
        ("GET", "/public/v1/conversations".to_owned()),
        ("GET", format!("/public/v1/conversations/{id}")),
    ] {
        let answer = send(app.client.request(method, &format!("{path}?page_size=3")))
            .await
            .expect(400);
        assert_eq!(answer.fields(), [("page_size", "unknown_parameter")], "{method} {path}");
    }
    let close = app.client.get(&format!("{AGENTS}?page_size=3")).await.expect(400);
    assert!(close.text("/error/message").contains("did you mean `pageSize`?"));
    let key = send(app.client.request("POST", &format!("{DO_NOT_CALL}?apiKey=x")))
        .await
        .expect(400);
    assert_eq!(key.fields(), [("apiKey", "unknown_parameter")]);
}
