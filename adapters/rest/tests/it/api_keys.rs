//! Tests of API keys with scopes.

use std::time::Duration;

use domain::{ports::store::ApiKeyStore, scope::Scope, time::Timestamp};
use reqwest::multipart::{Form, Part};
use serde_json::{Value, json};

use support::{
    app::TestApp,
    client::{Answer, Client, send},
    contract::CLOSED,
};

const KEYS: &str = "/public/v1/me/api-keys";
const ME: &str = "/public/v1/me";
const NOBODYS: &str = "0198d1a0-0000-7000-8000-00000000000a";

/// Adds a key with these scopes and returns a client with it, and the key's id.
async fn add(app: &TestApp, scopes: &[&str]) -> (Client, String) {
    let body = json!({ "name": scopes.join(" "), "scopes": scopes });
    let made = app.client.post(KEYS, body).await.expect(201);
    let client = Client::new(&app.client.base, &made.text("/data/apiKey"));
    (client, made.text("/data/keyId"))
}

fn forbidden(answer: Answer, scope: &str) {
    let answer = answer.expect(403);
    assert_eq!(answer.code(), "forbidden");
    let message = answer.text("/error/message");
    assert!(message.contains(&format!("lacks the scope `{scope}`")), "{message}");
    assert!(!message.contains("`admin` and `admin`"), "{message}");
}

/// Returns the scopes that an operation must need, independent of the rule in the code.
fn expected(method: &str, path: &str) -> Vec<&'static str> {
    let path = path.strip_prefix("/public/v1").unwrap();
    let last = path.rsplit('/').next().unwrap();
    let (campaign, conversation) = (
        path.starts_with("/campaigns/{campaignId}/"),
        path.starts_with("/conversations/{conversationId}/"),
    );
    match (method, last) {
        ("post", "regenerate") => vec!["read", "calls", "live", "write", "admin"],
        _ if path.starts_with("/me/api-keys") || path.starts_with("/me/webhook-secret") => vec!["admin"],
        ("patch", "settings") => vec!["admin"],
        _ if path.starts_with("/webhooks") => vec!["admin"],
        ("post", "check") if path.starts_with("/services") => vec!["admin"],
        ("get" | "delete", "session") => vec![],
        ("delete", "{conversationId}" | "{sessionId}") => vec!["admin"],
        ("post", "say" | "transfer" | "digits" | "instructions" | "end" | "live-tickets" | "text") if conversation => {
            vec!["live"]
        }
        ("get", "live") if conversation => vec!["live"],
        ("post", "launch" | "pause" | "stop" | "schedule" | "call-again") if campaign => vec!["calls"],
        ("post", "calls" | "inbound" | "test-call") => vec!["calls"],
        ("post", "search" | "check") => vec!["read"],
        ("get", _) => vec!["read"],
        _ => vec!["write"],
    }
}

#[tokio::test(start_paused = true)]
async fn every_operation_is_refused_without_its_scopes_and_only_then() {
    let app = TestApp::start().await;
    let mut clients = Vec::new();
    for scope in Scope::ALL {
        clients.push((scope.as_str(), add(&app, &[scope.as_str()]).await.0));
    }
    let mut seen = 0;
    for (path, item) in CLOSED["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            if operation["security"] == json!([]) {
                continue;
            }
            let needed = expected(method, path);
            assert_eq!(operation["x-required-scopes"], json!(needed), "{method} {path}");
            let text = operation["description"].as_str().unwrap();
            for scope in &needed {
                assert!(text.contains(&format!("`{scope}`")), "{method} {path}: {text}");
            }
            let path = path
                .replace("{phoneNumber}", "%2B15550107731")
                .replace("{version}", "7731");
            let parts = path
                .split('/')
                .map(|part| if part.starts_with('{') { NOBODYS } else { part });
            let path = parts.collect::<Vec<_>>().join("/");
            for (scope, client) in &clients {
                // The body is never read, because some answers are streams without an end.
                let request = client.request(&method.to_uppercase(), &path);
                let request = if method == "get" {
                    request
                } else {
                    request.json(&json!({}))
                };
                let status = request.send().await.unwrap().status().as_u16();
                let lacks = needed.iter().any(|needed| needed != scope);
                assert_eq!(status == 403, lacks, "{method} {path} with {scope}: {status}");
                assert_ne!(status, 401, "{method} {path} with {scope}");
                seen += 1;
            }
        }
    }
    assert!(seen > 200, "{seen}");
    // HEAD needs the scopes of GET.
    for (scope, client) in &clients {
        let status = client.request("HEAD", ME).send().await.unwrap().status();
        assert_eq!(status == 200, *scope == "read", "{scope}");
        let secret = format!("{ME}/webhook-secret");
        let status = client.request("HEAD", &secret).send().await.unwrap().status();
        assert_eq!(status == 200, *scope == "admin", "{scope}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_key_is_added_listed_changed_and_deleted() {
    let app = TestApp::start().await;
    let body = json!({ "name": " wall ", "scopes": ["live", "read"], "expiresAt": "2026-01-01T02:00:00+01:00" });
    let made = app.client.post(KEYS, body).await.expect(201);
    let (id, key) = (made.text("/data/keyId"), made.text("/data/apiKey"));
    let mut shown = made.data().clone();
    shown.as_object_mut().unwrap().remove("apiKey");
    assert_eq!(
        shown,
        json!({
            "keyId": id, "name": "wall", "prefix": key[..11], "scopes": ["read", "live"], "isAccountKey": false,
            "createdAt": made.text("/data/createdAt"), "expiresAt": "2026-01-01T01:00:00.000000Z",
        })
    );
    let listed = app.client.get(KEYS).await.expect(200);
    assert!(!listed.body.to_string().contains(&key[12..40]), "the secret is shown");
    let listed = listed.data().as_array().unwrap().clone();
    assert_eq!(listed.len(), 2);
    assert!(listed.contains(&shown));
    let own = listed.iter().find(|key| key["isAccountKey"] == true).unwrap();
    assert_eq!(own["keyId"], app.account.id.to_string());
    assert_eq!(own["scopes"], json!(["read", "calls", "live", "write", "admin"]));

    let wall = Client::new(&app.client.base, &key);
    wall.get(ME).await.expect(200);
    let patch = json!({ "name": "hall", "scopes": ["write"], "expiresAt": null });
    let path = format!("{KEYS}/{id}");
    let changed = app.client.patch(&path, patch).await.expect(200);
    assert_eq!(changed.data()["name"], "hall");
    assert_eq!(changed.data()["scopes"], json!(["write"]));
    assert!(changed.data().get("expiresAt").is_none());
    forbidden(wall.get(ME).await, "read");
    app.client.patch(&path, json!({})).await.expect(200);
    let deleted = app.client.delete(&path).await.expect(200);
    assert_eq!(deleted.data(), &json!({ "keyId": id, "deleted": true }));
    wall.get(ME).await.expect(401);
    app.client.delete(&path).await.expect(404);
    app.client.patch(&path, json!({})).await.expect(404);
}

#[tokio::test(start_paused = true)]
async fn keys_are_paged_and_belong_to_their_account() {
    let app = TestApp::start().await;
    let mut ids = vec![app.account.id.to_string()];
    for _ in 0..4 {
        tokio::time::advance(Duration::from_secs(1)).await;
        ids.insert(0, add(&app, &["read"]).await.1);
    }
    let (mut found, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = app.client.get(&format!("{KEYS}?pageSize=2{cursor}")).await.expect(200);
        found.extend(page.data().as_array().unwrap().iter().map(|key| key["keyId"].clone()));
        match page.body["pagination"]["nextCursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(json!(found), json!(ids));
    let stranger = app.stranger().await;
    assert_eq!(stranger.get(KEYS).await.data().as_array().unwrap().len(), 1);
    for id in [&ids[0], &app.account.id.to_string(), "x"] {
        let path = format!("{KEYS}/{id}");
        stranger.delete(&path).await.expect(404);
        stranger.patch(&path, json!({ "name": "Mine" })).await.expect(404);
    }
    assert_eq!(app.client.get(KEYS).await.data().as_array().unwrap().len(), 5);
}

#[tokio::test(start_paused = true)]
async fn a_key_gives_no_scope_that_it_lacks() {
    let app = TestApp::start().await;
    let (admin, admin_id) = add(&app, &["admin", "read"]).await;
    let (_, strong) = add(&app, &["calls", "read"]).await;
    let new = |scopes: Value| json!({ "name": "x", "scopes": scopes });
    forbidden(admin.post(KEYS, new(json!(["write"]))).await, "write");
    forbidden(admin.post(KEYS, new(json!(["admin", "live"]))).await, "live");
    admin.post(KEYS, new(json!(["admin"]))).await.expect(201);
    let own = format!("{KEYS}/{admin_id}");
    forbidden(
        admin.patch(&own, json!({ "scopes": ["admin", "calls"] })).await,
        "calls",
    );
    // The key may remove scopes, but may not extend a key whose scopes it could not give.
    let strong = format!("{KEYS}/{strong}");
    let end = |at: &str| json!({ "expiresAt": at });
    admin.patch(&strong, end("2026-01-02T00:00:00Z")).await.expect(200);
    admin.patch(&strong, json!({ "name": "renamed" })).await.expect(200);
    forbidden(admin.patch(&strong, end("2026-01-03T00:00:00Z")).await, "calls");
    forbidden(admin.patch(&strong, json!({ "expiresAt": null })).await, "calls");
    admin.patch(&strong, end("2026-01-01T12:00:00Z")).await.expect(200);
    admin
        .patch(&strong, json!({ "scopes": ["read"], "expiresAt": null }))
        .await
        .expect(200);
    forbidden(admin.post("/public/v1/me/api-key/regenerate", json!({})).await, "calls");
}

#[tokio::test(start_paused = true)]
async fn a_key_with_an_end_gives_no_later_one() {
    let app = TestApp::start().await;
    let all = ["read", "calls", "live", "write", "admin"];
    let ending = |at: &str| json!({ "name": "x", "scopes": all, "expiresAt": at });
    let made = app.client.post(KEYS, ending("2026-01-10T00:00:00Z")).await.expect(201);
    let client = Client::new(&app.client.base, &made.text("/data/apiKey"));
    let refused = |answer: Answer| {
        let answer = answer.expect(403);
        assert_eq!(answer.code(), "forbidden");
        let message = answer.text("/error/message");
        assert!(message.contains("2026-01-10T00:00:00.000000Z"), "{message}");
    };
    refused(client.post(KEYS, ending("2026-01-10T00:00:01Z")).await);
    refused(client.post(KEYS, json!({ "name": "x", "scopes": ["read"] })).await);
    client.post(KEYS, ending("2026-01-10T00:00:00Z")).await.expect(201);
    let own = format!("{KEYS}/{}", made.text("/data/keyId"));
    refused(client.patch(&own, json!({ "expiresAt": null })).await);
    refused(client.patch(&own, json!({ "expiresAt": "2026-02-01T00:00:00Z" })).await);
    let (_, endless) = add(&app, &["read"]).await;
    let endless = format!("{KEYS}/{endless}");
    refused(client.patch(&endless, json!({ "scopes": ["read", "calls"] })).await);
    client.patch(&endless, json!({ "name": "renamed" })).await.expect(200);
    client
        .patch(&own, json!({ "expiresAt": "2026-01-09T00:00:00Z" }))
        .await
        .expect(200);
    let made = app.client.post(KEYS, ending("2026-01-10T00:00:00Z")).await.expect(201);
    let client = Client::new(&app.client.base, &made.text("/data/apiKey"));
    refused(client.post("/public/v1/me/api-key/regenerate", json!({})).await);
    app.client.get(ME).await.expect(200);
}

#[tokio::test(start_paused = true)]
async fn the_accounts_own_key_is_replaced_and_never_deleted() {
    let app = TestApp::start().await;
    let (added, _) = add(&app, &["read", "calls", "live", "write", "admin"]).await;
    let own = format!("{KEYS}/{}", app.account.id);
    for answer in [
        added.delete(&own).await,
        added.patch(&own, json!({ "scopes": ["read"] })).await,
    ] {
        let answer = answer.expect(409);
        assert_eq!(answer.code(), "in_use");
        assert!(answer.text("/error/message").contains("regenerate"));
    }
    let made = added
        .post("/public/v1/me/api-key/regenerate", json!({}))
        .await
        .expect(200);
    app.client.get(ME).await.expect(401);
    added.get(ME).await.expect(200);
    let new = Client::new(&app.client.base, &made.text("/data/apiKey"));
    new.get(ME).await.expect(200);
    let listed = new.get(KEYS).await.expect(200);
    assert_eq!(listed.data().as_array().unwrap().len(), 2);
    assert!(listed.body.to_string().contains(&app.account.id.to_string()));
}

#[tokio::test(start_paused = true)]
async fn an_expired_key_is_refused_and_says_so() {
    let app = TestApp::start().await;
    let body = json!({ "name": "short", "scopes": ["read"], "expiresAt": "2026-01-01T01:00:00Z" });
    let made = app.client.post(KEYS, body).await.expect(201);
    let short = Client::new(&app.client.base, &made.text("/data/apiKey"));
    tokio::time::advance(Duration::from_secs(50 * 60)).await;
    short.get(ME).await.expect(200);
    tokio::time::advance(Duration::from_secs(10 * 60)).await;
    let refused = short.get(ME).await.expect(401);
    assert_eq!(refused.code(), "unauthorized");
    assert!(refused.text("/error/message").contains("expired"), "{}", refused.body);
    assert_eq!(refused.headers["www-authenticate"], "Bearer");
}

#[tokio::test(start_paused = true)]
async fn wrong_values_are_named() {
    let app = TestApp::start().await;
    let long = "x".repeat(201);
    for (name, scopes, end, fields) in [
        (json!(""), json!(["read"]), Value::Null, vec![("name", "required")]),
        (json!(long), json!(["read"]), Value::Null, vec![("name", "too_long")]),
        (json!(4), json!(["read"]), Value::Null, vec![("name", "wrong_type")]),
        (
            json!("a\u{0}b"),
            json!(["read"]),
            Value::Null,
            vec![("name", "not_allowed")],
        ),
        (json!("x"), Value::Null, Value::Null, vec![("scopes", "required")]),
        (json!("x"), json!("read"), Value::Null, vec![("scopes", "wrong_type")]),
        (json!("x"), json!([]), Value::Null, vec![("scopes", "out_of_range")]),
        (
            json!("x"),
            json!(["read", "read"]),
            Value::Null,
            vec![("scopes[1]", "duplicate")],
        ),
        (
            json!("x"),
            json!(["READ", " read", "read admin", "*", null]),
            Value::Null,
            ["scopes[0]", "scopes[1]", "scopes[2]", "scopes[3]", "scopes[4]"]
                .map(|at| (at, "not_allowed"))
                .to_vec(),
        ),
        (
            json!("x"),
            json!(vec!["read"; 1_000]),
            Value::Null,
            vec![("scopes", "out_of_range")],
        ),
        (
            json!("x"),
            json!(["read"]),
            json!("2025-12-31T23:59:59Z"),
            vec![("expiresAt", "out_of_range")],
        ),
        (
            json!("x"),
            json!(["read"]),
            json!("2026-01-01T00:00:00Z"),
            vec![("expiresAt", "out_of_range")],
        ),
        (
            json!("x"),
            json!(["read"]),
            json!("tomorrow"),
            vec![("expiresAt", "invalid_value")],
        ),
        (
            json!("x"),
            json!(["read"]),
            json!("+292278994-08-17T07:12:55Z"),
            vec![("expiresAt", "invalid_value")],
        ),
        (json!("x"), json!(["read"]), json!(1), vec![("expiresAt", "wrong_type")]),
    ] {
        let answer = app
            .client
            .post(KEYS, json!({ "name": name, "scopes": scopes, "expiresAt": end }))
            .await;
        let answer = answer.expect(400);
        assert_eq!(answer.fields(), fields, "{}", answer.body);
    }
    let (_, id) = add(&app, &["read"]).await;
    let path = format!("{KEYS}/{id}");
    for (body, field) in [
        (json!({ "name": null }), ("name", "wrong_type")),
        (json!({ "scopes": null }), ("scopes", "wrong_type")),
        (json!({ "scope": ["admin"] }), ("scope", "unknown_field")),
        (
            json!({ "expiresAt": "1970-01-01T00:00:00Z" }),
            ("expiresAt", "out_of_range"),
        ),
    ] {
        assert_eq!(app.client.patch(&path, body).await.expect(400).fields(), [field]);
    }
    assert_eq!(app.client.get(KEYS).await.data().as_array().unwrap().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn calls_that_a_body_asks_for_need_their_scope() {
    let app = TestApp::start().await;
    let agent = app.agent().await;
    let (writer, _) = add(&app, &["write", "read"]).await;
    let (caller, _) = add(&app, &["write", "read", "calls"]).await;
    let campaign = json!({ "name": "Spring", "agentId": agent, "contacts": [{ "phoneNumber": "+15550000001" }] });
    let mut launched = campaign.clone();
    launched["launch"] = json!(true);
    let mut scheduled = campaign.clone();
    scheduled["scheduled"] = json!(true);
    for body in [&launched, &scheduled] {
        forbidden(writer.post("/public/v1/campaigns", body.clone()).await, "calls");
    }
    let form = |launch: &str| {
        let file = Part::bytes(b"phone\n+15550000001\n".to_vec()).file_name("contacts.csv");
        let form = Form::new().part("file", file).text("agentId", agent.clone());
        form.text("name", "Spring").text("launch", launch.to_owned())
    };
    let upload = async |client: &Client, launch: &str| {
        send(
            client
                .request("POST", "/public/v1/campaigns/csv")
                .multipart(form(launch)),
        )
        .await
    };
    forbidden(upload(&writer, "true").await, "calls");
    assert_eq!(app.client.get("/public/v1/campaigns").await.data(), &json!([]));
    upload(&writer, "false").await.expect(201);
    caller.post("/public/v1/campaigns", launched).await.expect(201);
    let made = writer.post("/public/v1/campaigns", campaign).await.expect(201);
    let path = format!("/public/v1/campaigns/{}", made.text("/data/campaignId"));
    for body in [
        json!({ "active": true }),
        json!({ "active": false }),
        json!({ "scheduled": true }),
    ] {
        forbidden(writer.patch(&path, body).await, "calls");
    }
    writer.patch(&path, json!({ "name": "Summer" })).await.expect(200);
    // A draft calls nobody.
    let more = |n: u64| json!({ "contacts": [{ "phoneNumber": format!("+1555000010{n}") }] });
    let add_to = format!("{path}/contacts");
    let add_file = async |client: &Client, n: u64| {
        let file = Part::bytes(format!("phone\n+1555000010{n}\n").into_bytes()).file_name("contacts.csv");
        let form = Form::new().part("file", file);
        send(client.request("POST", &format!("{add_to}/csv")).multipart(form)).await
    };
    writer.post(&add_to, more(0)).await.expect(200);
    add_file(&writer, 1).await.expect(200);
    let feeding = [
        json!({ "startTime": "09:00", "timezone": "UTC" }),
        json!({ "agentId": agent }),
        more(2),
    ];
    writer.patch(&path, feeding[0].clone()).await.expect(200);
    caller.patch(&path, json!({ "active": true })).await.expect(200);
    forbidden(writer.post(&add_to, more(3)).await, "calls");
    forbidden(add_file(&writer, 4).await, "calls");
    for body in feeding {
        forbidden(writer.patch(&path, body).await, "calls");
    }
    caller.post(&add_to, more(3)).await.expect(200);
    add_file(&caller, 4).await.expect(200);

    let contact = json!({ "phoneNumber": "+15550000009" });
    let made = writer.post("/public/v1/contacts", contact).await.expect(201);
    let path = format!("/public/v1/contacts/{}", made.text("/data/contactId"));
    forbidden(writer.delete(&format!("{path}?erase=true")).await, "admin");
    writer.delete(&format!("{path}?erase=false")).await.expect(200);
}

#[tokio::test(start_paused = true)]
async fn the_last_use_is_recorded_once_a_minute() {
    let app = TestApp::start().await;
    let (reader, id) = add(&app, &["read"]).await;
    let used = async || {
        // Lets the recording task end.
        tokio::time::sleep(Duration::from_millis(1)).await;
        let rows = app.store.keys_of_account(app.account.id).await.unwrap();
        rows.into_iter()
            .find(|row| row.id.to_string() == id)
            .unwrap()
            .last_used_at
    };
    assert_eq!(used().await, None);
    reader.get(ME).await.expect(200);
    let first = used().await.unwrap();
    tokio::time::advance(Duration::from_secs(1)).await;
    reader.get(ME).await.expect(200);
    assert_eq!(used().await, Some(first));
    tokio::time::advance(Duration::from_secs(60)).await;
    // A refused request also counts as a use.
    forbidden(reader.delete("/public/v1/contacts/x").await, "write");
    let second = used().await.unwrap();
    assert!(second >= Timestamp(first.0 + 60_000_000), "{second:?}");
    let shown = app.client.get(KEYS).await.expect(200);
    assert!(shown.body.to_string().contains(&second.to_iso8601()));
}

#[tokio::test(start_paused = true)]
async fn an_account_has_at_most_a_hundred_added_keys() {
    let app = TestApp::start().await;
    let mut last = String::new();
    for _ in 0..100 {
        last = add(&app, &["read"]).await.1;
    }
    let body = json!({ "name": "x", "scopes": ["read"] });
    let refused = app.client.post(KEYS, body.clone()).await.expect(409);
    assert!(refused.text("/error/message").contains("100"), "{}", refused.body);
    app.client.delete(&format!("{KEYS}/{last}")).await.expect(200);
    app.client.post(KEYS, body).await.expect(201);
}
