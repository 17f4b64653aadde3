//! Tests of smaller parts of the contract: filters, sort orders, page sizes, envelopes, keys in the query.

use std::collections::BTreeSet;

use domain::ports::store::{CampaignStatus, CampaignStore, StateChange};
use reqwest::multipart::{Form, Part};
use serde_json::{Value, json};

use support::{
    app::TestApp,
    client::{Answer, send},
};

const CONTACTS: &str = "/public/v1/contacts";
const CAMPAIGNS: &str = "/public/v1/campaigns";
const DOCUMENTS: &str = "/public/v1/knowledge-base/documents";
const GROUPS: &str = "/public/v1/knowledge-base/groups";

/// Operations of the contract except the health check: method, path, and whether it accepts a JSON body.
const OPERATIONS: &[(&str, &str, bool)] = &[
    ("GET", "/public/v1/me", false),
    ("POST", "/public/v1/agents/create", true),
    ("GET", "/public/v1/agents/ID", false),
    ("PATCH", "/public/v1/agents/ID", true),
    ("GET", "/public/v1/conversations", false),
    ("GET", "/public/v1/conversations/ID", false),
    ("POST", "/public/v1/knowledge-base/documents/url", true),
    ("GET", DOCUMENTS, false),
    ("GET", GROUPS, false),
    ("POST", CONTACTS, true),
    ("DELETE", "/public/v1/contacts/ID", false),
    ("GET", CAMPAIGNS, false),
    ("POST", "/public/v1/campaigns/csv", false),
    ("PATCH", "/public/v1/campaigns/ID", true),
    ("POST", "/public/v1/campaigns/ID/schedule", true),
];

fn with_id(path: &str) -> String {
    path.replace("ID", &domain::id::AgentId::new().to_string())
}

async fn campaign(app: &TestApp, agent: &str, name: &str, contacts: Value) -> Answer {
    let body = json!({ "name": name, "agentId": agent, "contacts": contacts });
    app.client.post(CAMPAIGNS, body).await.expect(201)
}

fn names(list: &Answer) -> Vec<&str> {
    let items = list.data().as_array().unwrap();
    items.iter().map(|item| item["name"].as_str().unwrap()).collect()
}

fn keys(value: &Value) -> BTreeSet<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

#[tokio::test(start_paused = true)]
async fn health_and_identity_say_what_they_are_asked_and_no_more() {
    let app = TestApp::start().await;
    let health = send(app.client.bare("GET", "/public/health")).await.expect(200);
    assert_eq!(health.body["success"], true);
    let me = app.client.get("/public/v1/me").await.expect(200);
    assert_eq!(
        *me.data(),
        json!({ "userId": app.account.id, "email": "ada@example.com" })
    );
}

#[tokio::test(start_paused = true)]
async fn a_key_in_the_query_is_taken_by_every_get_and_by_nothing_else() {
    let app = TestApp::start().await;
    for (method, path, _) in OPERATIONS {
        let path = format!("{}?apiKey={}", with_id(path), app.client.key);
        let answer = send(app.client.bare(method, &path)).await;
        let expected = match *method {
            "GET" if path.contains("agents/") || path.contains("conversations/") => 404,
            "GET" => 200,
            _ => 401,
        };
        assert_eq!(answer.status, expected, "{method} {path}: {}", answer.body);
    }
}

#[tokio::test(start_paused = true)]
async fn every_operation_needs_a_key_and_refuses_other_methods_and_content_types() {
    let app = TestApp::start().await;
    for (method, path, json_body) in OPERATIONS {
        let path = with_id(path);
        let refused = send(app.client.bare(method, &path)).await;
        assert_eq!(
            (refused.status, refused.code()),
            (401, "unauthorized"),
            "{method} {path}"
        );
        let other = send(app.client.request("PUT", &path)).await;
        assert_eq!((other.status, other.code()), (405, "method_not_allowed"), "{path}");
        assert!(other.headers["allow"].to_str().unwrap().contains(method), "{path}");
        if *json_body {
            let text = app
                .client
                .request(method, &path)
                .header("content-type", "text/plain")
                .body("{}");
            let answer = send(text).await;
            assert_eq!(
                (answer.status, answer.code()),
                (415, "unsupported_media_type"),
                "{method} {path}"
            );
            let large = json!({ "name": "x".repeat(1024 * 1024) });
            let answer = send(app.client.request(method, &path).json(&large)).await;
            assert_eq!(
                (answer.status, answer.code()),
                (413, "payload_too_large"),
                "{method} {path}"
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_has_code_message_and_status_and_its_fields_path_code_and_message() {
    let app = TestApp::start().await;
    let agent = app.agent().await;
    let file = Part::bytes(b"phone\nx\n".to_vec()).file_name("a.csv");
    let form = Form::new().part("file", file).text("name", "n").text("agentId", agent);
    let rows = send(app.client.request("POST", "/public/v1/campaigns/csv").multipart(form)).await;
    for (answer, further) in [
        (app.client.get("/public/v1/agents/x").await, &[][..]),
        (app.client.post_text(CONTACTS, "{").await, &[]),
        (app.client.post(CONTACTS, json!({})).await, &["fields"]),
        (
            app.client.post("/public/v1/agents/create", json!({ "nam": 1 })).await,
            &["fields"],
        ),
        (
            app.client.get(&format!("{CAMPAIGNS}?status=x&pageSize=0")).await,
            &["fields"],
        ),
        (rows, &["fields", "details"]),
    ] {
        assert_eq!(
            keys(&answer.body["error"]),
            ["code", "message", "status"].iter().chain(further).copied().collect()
        );
        assert!(!answer.code().is_empty());
        for field in answer.body["error"]["fields"].as_array().into_iter().flatten() {
            assert_eq!(keys(field), BTreeSet::from(["path", "code", "message"]), "{field}");
            assert!(field.as_object().unwrap().values().all(Value::is_string), "{field}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn every_status_of_a_campaign_is_read_and_filtered() {
    let app = TestApp::start().await;
    let agent = app.agent().await;
    let statuses = [
        "draft",
        "waiting",
        "running",
        "paused",
        "stopped",
        "completed",
        "failed",
        "delayed",
    ];
    for name in statuses {
        let made = campaign(&app, &agent, name, json!([{ "phoneNumber": "+15550000001" }])).await;
        let id = made.text("/data/campaignId").parse().unwrap();
        let row = app.store.campaign(app.account.id, id).await.unwrap();
        let change = StateChange {
            status: CampaignStatus::parse(name).unwrap(),
            active: ["waiting", "running", "delayed"].contains(&name),
            scheduled: name == "waiting",
            next_run_at: None,
            opens_from: None,
            closes_at: None,
            reason: None,
            cancel_waiting: false,
        };
        app.store.change_state(id, row.version, change).await.unwrap();
    }
    for status in statuses {
        let found = app
            .client
            .get(&format!("{CAMPAIGNS}?status={status}"))
            .await
            .expect(200);
        assert_eq!(names(&found), [status]);
        assert_eq!(found.data()[0]["status"], status);
    }
    let active = app.client.get(&format!("{CAMPAIGNS}?active=true")).await.expect(200);
    assert_eq!(names(&active), ["delayed", "running", "waiting"]);
    let resting = app.client.get(&format!("{CAMPAIGNS}?active=false")).await.expect(200);
    assert_eq!(names(&resting), ["failed", "completed", "stopped", "paused", "draft"]);
    for (name, found) in [
        ("AUS", vec!["paused"]),
        ("ed", vec!["delayed", "failed", "completed", "stopped", "paused"]),
    ] {
        let listed = app.client.get(&format!("{CAMPAIGNS}?name={name}")).await.expect(200);
        assert_eq!(names(&listed), found, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_campaigns_contacts_keep_their_fields_whatever_they_are() {
    let app = TestApp::start().await;
    let agent = app.agent().await;
    let saved = app
        .client
        .post(CONTACTS, json!({ "phoneNumber": "+15550000001" }))
        .await
        .expect(201);
    let contact = json!({
        "phoneNumber": "+15550000001", "contactId": saved.data()["contactId"], "name": "Ada", "email": "ada@example.com",
        "orders": [1, { "deep": null }], "vip": true, "age": 36,
    });
    let made = campaign(&app, &agent, "c", json!([contact, { "phoneNumber": "+15550000002" }])).await;
    let bare = json!({ "phoneNumber": "+15550000002", "contactId": null });
    assert_eq!(made.data()["contacts"], json!([contact, bare]));
    let metadata = &made.data()["metadata"];
    assert_eq!(keys(metadata), BTreeSet::from(["createdAt", "updatedAt", "deletedAt"]));
    assert_eq!(metadata["deletedAt"], Value::Null);
}

#[tokio::test(start_paused = true)]
async fn documents_and_groups_are_sorted_in_each_order() {
    let app = TestApp::start().await;
    for name in ["b", "C", "a"] {
        let text = json!({ "name": name, "text": "x" });
        app.client.post(&format!("{DOCUMENTS}/text"), text).await.expect(201);
        app.client.post(GROUPS, json!({ "name": name })).await.expect(201);
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    }
    for list in [DOCUMENTS, GROUPS] {
        for (query, by, direction, expected) in [
            ("", "created_at", "desc", ["a", "C", "b"]),
            (
                "sortBy=created_at&sortDirection=asc",
                "created_at",
                "asc",
                ["b", "C", "a"],
            ),
            ("sortDirection=asc", "created_at", "asc", ["b", "C", "a"]),
            ("sortBy=name", "name", "desc", ["C", "b", "a"]),
            ("sortBy=name&sortDirection=desc", "name", "desc", ["C", "b", "a"]),
            ("sortBy=name&sortDirection=asc", "name", "asc", ["a", "b", "C"]),
        ] {
            let mut seen = Vec::new();
            let mut cursor = String::new();
            loop {
                let page = app
                    .client
                    .get(&format!("{list}?{query}&pageSize=1{cursor}"))
                    .await
                    .expect(200);
                seen.extend(names(&page).into_iter().map(str::to_owned));
                let pagination = &page.body["pagination"];
                let more = pagination["nextCursor"].as_str();
                assert_eq!(
                    (
                        &pagination["sortBy"],
                        &pagination["sortDirection"],
                        &pagination["pageSize"]
                    ),
                    (&json!(by), &json!(direction), &json!(1))
                );
                assert_eq!(pagination["hasMore"], more.is_some());
                match more {
                    Some(next) => cursor = format!("&cursor={next}"),
                    None => break,
                }
            }
            assert_eq!(seen, expected, "{list}?{query}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn every_list_takes_pages_of_1_to_100_and_30_by_default() {
    let app = TestApp::start().await;
    for n in 0..31 {
        let body = json!({ "phoneNumber": format!("+1555{n:07}"), "name": format!("c{n}") });
        app.client.post(CONTACTS, body).await.expect(201);
        app.client
            .post(GROUPS, json!({ "name": format!("g{n}") }))
            .await
            .expect(201);
    }
    for list in [
        CONTACTS,
        GROUPS,
        DOCUMENTS,
        CAMPAIGNS,
        "/public/v1/conversations",
        "/public/v1/agents",
    ] {
        for (query, size) in [("?pageSize=1", 1), ("?pageSize=100", 100), ("", 30)] {
            let page = app.client.get(&format!("{list}{query}")).await.expect(200);
            assert_eq!(page.body["pagination"]["pageSize"], size, "{list}{query}");
        }
        for size in ["0", "101", "-1", "1.5", "x", ""] {
            let answer = app.client.get(&format!("{list}?pageSize={size}")).await.expect(400);
            assert_eq!(answer.fields(), [("pageSize", "out_of_range")], "{list} {size}");
        }
    }
    for list in [CONTACTS, GROUPS] {
        let page = app.client.get(list).await.expect(200);
        assert_eq!(page.data().as_array().unwrap().len(), 30);
        assert_eq!(page.body["pagination"]["hasMore"], true);
    }
}

#[tokio::test(start_paused = true)]
async fn numbers_are_normalised_alike_wherever_they_come_in() {
    let app = TestApp::start().await;
    let agent = app.agent().await;
    for (n, (given, stored)) in [
        ("+49 155 5000-0022", "+4915550000022"),
        ("0049 (155) 5000.0023", "+4915550000023"),
        ("+49/155\u{a0}5000\u{2011}0024", "+4915550000024"),
    ]
    .into_iter()
    .enumerate()
    {
        let saved = app
            .client
            .post(CONTACTS, json!({ "phoneNumber": given }))
            .await
            .expect(201);
        assert_eq!(saved.data()["phoneNumber"], stored);
        let again = app
            .client
            .post(CONTACTS, json!({ "phoneNumber": stored }))
            .await
            .expect(409);
        assert_eq!(again.code(), "contact_exists");
        let made = campaign(&app, &agent, &format!("c{n}"), json!([{ "phoneNumber": given }])).await;
        assert_eq!(made.data()["contacts"][0]["phoneNumber"], stored);
        let uploaded = upload(&app, &agent, &format!("phone\n{given}\n"), &[])
            .await
            .expect(201);
        let contact = &uploaded.data()["contacts"][0];
        assert_eq!(
            (&contact["phoneNumber"], &contact["contactId"]),
            (&json!(stored), &saved.data()["contactId"])
        );
    }
    for wrong in [
        "4915550000022",
        "+0155500000",
        "+123456",
        "+1234567890123456",
        "+1555000000a",
        "+1+5550000001",
        "",
    ] {
        app.client
            .post(CONTACTS, json!({ "phoneNumber": wrong }))
            .await
            .expect(400);
        let refused = upload(&app, &agent, &format!("phone,x\n{wrong},1\n"), &[])
            .await
            .expect(400);
        assert_eq!(refused.fields(), [("file", "invalid_rows")], "{wrong}");
    }
}

async fn upload(app: &TestApp, agent: &str, text: &str, fields: &[(&'static str, &'static str)]) -> Answer {
    let file = Part::bytes(text.as_bytes().to_vec()).file_name("contacts.csv");
    let mut form = Form::new()
        .part("file", file)
        .text("agentId", agent.to_owned())
        .text("name", "Spring");
    for (name, value) in fields {
        form = form.text(*name, *value);
    }
    send(app.client.request("POST", "/public/v1/campaigns/csv").multipart(form)).await
}

#[tokio::test(start_paused = true)]
async fn follow_ups_of_a_form_belong_together() {
    let app = TestApp::start().await;
    let agent = app.agent().await;
    let text = "phone\n+15550000001\n";
    let off = upload(&app, &agent, text, &[("followUpCall", "false")])
        .await
        .expect(201);
    assert_eq!(
        off.data()["followUp"],
        json!({ "enabled": false, "attempts": 0, "intervalsMinutes": [] })
    );
    let follow_up = |attempts: &'static str, intervals: &'static str| {
        [
            ("followUpCall", "true"),
            ("followUpAttempts", attempts),
            ("followUpIntervals", intervals),
        ]
    };
    for (fields, field) in [
        (&follow_up("2", "5")[..], "followUpIntervals"),
        (&follow_up("1", "0"), "followUpIntervals"),
        (&follow_up("1", "10081"), "followUpIntervals"),
        (&follow_up("1", "soon"), "followUpIntervals"),
        (&follow_up("one", "5"), "followUpAttempts"),
        (&follow_up("1", "5")[..2], "followUpIntervals"),
        (&[("followUpCall", "often")], "followUpCall"),
    ] {
        let answer = upload(&app, &agent, text, fields).await.expect(400);
        assert!(
            answer.fields().iter().any(|(path, _)| *path == field),
            "{fields:?}: {}",
            answer.body
        );
    }
    let on = upload(&app, &agent, text, &follow_up("2", "5,10080")).await.expect(201);
    assert_eq!(
        on.data()["followUp"],
        json!({ "enabled": true, "attempts": 2, "intervalsMinutes": [5, 10_080] })
    );
}
