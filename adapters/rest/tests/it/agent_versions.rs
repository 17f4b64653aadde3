//! Tests of agents' versions, copies and the search by name.

use domain::ports::store::AGENT_VERSIONS_KEPT;
use serde_json::{Value, json};

use support::{app::TestApp, client::send};

const AGENTS: &str = "/public/v1/agents";

async fn made(app: &TestApp, fields: Value) -> String {
    let mut body = json!({ "name": "Ann", "conversationConfig": { "agent": { "prompt": { "prompt": "Be brief." } } } });
    body.as_object_mut()
        .unwrap()
        .extend(fields.as_object().unwrap().clone());
    let made = app.client.post(&format!("{AGENTS}/create"), body).await.expect(201);
    format!("{AGENTS}/{}", made.text("/data/agentId"))
}

#[tokio::test(start_paused = true)]
async fn agents_are_searched_by_name() {
    let app = TestApp::start().await;
    for name in ["Ann Müller", "Bea", "Joann"] {
        made(&app, json!({ "name": name, "tags": [name] })).await;
    }
    let names = async |query: &str| {
        let page = app.client.get(&format!("{AGENTS}?{query}")).await.expect(200);
        let rows = page.data().as_array().unwrap().clone();
        let names: Vec<String> = rows
            .iter()
            .map(|row| row["name"].as_str().unwrap().to_owned())
            .collect();
        (names, page)
    };
    assert_eq!(names("search=%20ANN%20").await.0, ["Joann", "Ann Müller"]);
    assert_eq!(names("search=m%C3%9Cll").await.0, ["Ann Müller"]);
    assert_eq!(names("search=ann&tag=Joann").await.0, ["Joann"]);
    assert_eq!(names("search=%25").await.0, Vec::<String>::new());
    assert_eq!(names("search=%20").await.0.len(), 3);
    let (first, page) = names("search=ann&pageSize=1").await;
    let cursor = page.text("/pagination/nextCursor");
    let (second, page) = names(&format!("search=ann&pageSize=1&cursor={cursor}")).await;
    assert_eq!(
        (first, second),
        (vec!["Joann".to_owned()], vec!["Ann Müller".to_owned()])
    );
    assert_eq!(page.body["pagination"]["hasMore"], false);
    let other = format!("{AGENTS}?search=bea&pageSize=1&cursor={cursor}");
    assert_eq!(
        app.client.get(&other).await.expect(400).fields(),
        [("cursor", "invalid_cursor")]
    );
}

#[tokio::test(start_paused = true)]
async fn a_copy_has_all_but_the_name_and_the_answered_numbers() {
    let app = TestApp::start().await;
    let numbers = json!([{ "number": "+15550100001" }, { "number": "+15550100002" }]);
    let rotation = json!({ "telephony": { "rotationNumbers": ["+15550100003"] } });
    let inbound = json!({ "direction": "both", "phoneNumbers": numbers, "platformSettings": rotation, "tags": ["a"] });
    let path = made(&app, inbound).await;
    let copy = app
        .client
        .post(&format!("{path}/duplicate"), json!({}))
        .await
        .expect(201);
    assert_eq!(
        copy.text("/warning"),
        "`phoneNumbers` is not copied, because one agent answers a number: +15550100001, +15550100002; give the copy \
         numbers of its own"
    );
    assert_eq!(copy.headers["etag"], "\"1\"");
    let original = app.client.get(&path).await.expect(200);
    let mut expected = original.data().clone();
    let read = app
        .client
        .get(&format!("{AGENTS}/{}", copy.text("/data/agentId")))
        .await
        .expect(200);
    expected["name"] = json!("Ann (copy)");
    expected["phoneNumbers"] = json!([]);
    for field in ["agentId", "metadata"] {
        expected[field] = read.data()[field].clone();
    }
    assert_eq!(*read.data(), expected);
    assert_ne!(read.data()["agentId"], original.data()["agentId"]);

    // Numbers that it only shows may be shared.
    let outbound = made(&app, json!({ "phoneNumbers": [{ "number": "+15550100004" }] })).await;
    let named = app
        .client
        .post(&format!("{outbound}/duplicate"), json!({ "name": " Eva " }))
        .await
        .expect(201);
    assert_eq!(named.body.get("warning"), None);
    let read = app
        .client
        .get(&format!("{AGENTS}/{}", named.text("/data/agentId")))
        .await
        .expect(200);
    assert_eq!(read.data()["name"], "Eva");
    assert_eq!(read.data()["phoneNumbers"][0]["number"], "+15550100004");
    for (body, field) in [
        (json!({ "name": " " }), ("name", "required")),
        (json!({ "name": 1 }), ("name", "wrong_type")),
        (json!({ "nam": "x" }), ("nam", "unknown_field")),
    ] {
        let refused = app.client.post(&format!("{path}/duplicate"), body).await.expect(400);
        assert_eq!(refused.fields(), [field]);
    }
    let stranger = app.stranger().await;
    stranger.post(&format!("{path}/duplicate"), json!({})).await.expect(404);
}

#[tokio::test(start_paused = true)]
async fn a_copy_that_is_asked_for_twice_with_one_key_is_made_once() {
    let app = TestApp::start().await;
    let path = made(
        &app,
        json!({ "direction": "inbound", "phoneNumbers": [{ "number": "+15550100001" }] }),
    )
    .await;
    let ask = async |path: &str| {
        let request = app.client.request("POST", &format!("{path}/duplicate"));
        send(request.header("idempotency-key", "k").json(&json!({}))).await
    };
    let first = ask(&path).await.expect(201);
    let again = ask(&path).await.expect(201);
    assert_eq!(again.headers["idempotency-replayed"], "true");
    assert_eq!(again.body, first.body);
    let other = made(&app, json!({})).await;
    assert_eq!(ask(&other).await.expect(409).code(), "conflict");
    assert_eq!(
        app.client
            .get(AGENTS)
            .await
            .expect(200)
            .data()
            .as_array()
            .unwrap()
            .len(),
        3
    );
}

#[tokio::test(start_paused = true)]
async fn versions_are_listed_read_and_compared() {
    let app = TestApp::start().await;
    let path = made(&app, json!({ "tags": ["a"] })).await;
    let created = app.client.get(&path).await.expect(200);
    let patch = json!({ "name": "Bea", "conversationConfig": { "agent": { "dynamicVariables": { "city": "Bonn" } } } });
    app.client.patch(&path, patch).await.expect(200);
    app.client.patch(&path, json!({ "tags": null })).await.expect(200);
    let page = app.client.get(&format!("{path}/versions?pageSize=2")).await.expect(200);
    let numbers = |page: &Value| -> Vec<(i64, Value)> {
        let rows = page.as_array().unwrap().iter();
        rows.map(|row| (row["version"].as_i64().unwrap(), row["changedFields"].clone()))
            .collect()
    };
    let variable = "conversationConfig.agent.dynamicVariables.city";
    assert_eq!(
        numbers(page.data()),
        [(3, json!(["tags"])), (2, json!(["name", variable]))]
    );
    let cursor = page.text("/pagination/nextCursor");
    let rest = app
        .client
        .get(&format!("{path}/versions?pageSize=2&cursor={cursor}"))
        .await
        .expect(200);
    assert_eq!(numbers(rest.data()), [(1, json!([]))]);
    assert_eq!(rest.data()[0]["savedAt"], created.data()["metadata"]["updatedAt"]);
    assert_eq!(
        app.client.get(&format!("{path}/versions/1")).await.expect(200).data(),
        created.data()
    );

    let diff = app.client.get(&format!("{path}/versions/1/diff")).await.expect(200);
    let expected = json!({ "version": 1, "against": 3, "differences": [
        { "path": "name", "old": "Bea", "new": "Ann" },
        { "path": "tags", "old": [], "new": ["a"] },
        { "path": variable, "old": "Bonn" },
    ] });
    assert_eq!(*diff.data(), expected);
    let diff = app
        .client
        .get(&format!("{path}/versions/2/diff?against=1"))
        .await
        .expect(200);
    let expected = json!({ "version": 2, "against": 1, "differences": [
        { "path": "name", "old": "Ann", "new": "Bea" },
        { "path": variable, "new": "Bonn" },
    ] });
    assert_eq!(*diff.data(), expected);
    for missing in ["4", "0", "x", "1/diff?against=4"] {
        app.client.get(&format!("{path}/versions/{missing}")).await.expect(404);
    }
    app.client
        .get(&format!("{path}/versions/1/diff?against=x"))
        .await
        .expect(400);
    let many: serde_json::Map<String, Value> = (0..300).map(|n| (format!("v{n}"), json!(n))).collect();
    let patch = json!({ "conversationConfig": { "agent": { "dynamicVariables": many } } });
    app.client.patch(&path, patch).await.expect(200);
    let cut = app.client.get(&format!("{path}/versions/1/diff")).await.expect(200);
    assert_eq!(cut.data()["differences"].as_array().unwrap().len(), 200);
    assert_eq!(cut.text("/warning"), "more than the first 200 fields may differ");
    app.client.delete(&path).await.expect(200);
    app.client.get(&format!("{path}/versions")).await.expect(404);
    app.client.get(&format!("{path}/versions/1")).await.expect(404);
}

#[tokio::test(start_paused = true)]
async fn a_restored_version_is_a_new_save_that_obeys_the_rules_of_a_patch() {
    let app = TestApp::start().await;
    let tool = json!({ "name": "hours", "description": "d", "url": "https://example.com/" });
    let tool = app
        .client
        .post("/public/v1/tools", tool)
        .await
        .expect(201)
        .text("/data/toolId");
    let prompt = |ids: Value| json!({ "conversationConfig": { "agent": { "prompt": { "prompt": "Be brief.", "toolIds": ids } } } });
    let path = made(&app, prompt(json!([tool]))).await;
    let first = app.client.get(&path).await.expect(200);
    app.client.patch(&path, prompt(json!([]))).await.expect(200);
    let restore = format!("{path}/versions/1/restore");
    let expecting = async |version: &str| {
        let request = app.client.request("POST", &restore).header("if-match", version);
        send(request).await
    };
    let stale = expecting("\"1\"").await.expect(409);
    assert_eq!(stale.body["error"]["details"], json!({ "version": 2 }));
    expecting("1").await.expect(400);
    let restored = expecting("\"2\"").await.expect(200);
    assert_eq!(restored.headers["etag"], "\"3\"");
    assert_eq!(
        restored.data()["conversationConfig"],
        first.data()["conversationConfig"]
    );
    assert_eq!(app.client.get(&path).await.expect(200).data(), restored.data());
    let newest = app.client.get(&format!("{path}/versions?pageSize=1")).await.expect(200);
    let tools = json!(["conversationConfig.agent.prompt.toolIds"]);
    assert_eq!(
        (&newest.data()[0]["version"], &newest.data()[0]["changedFields"]),
        (&json!(3), &tools)
    );

    app.client.patch(&path, prompt(json!([]))).await.expect(200);
    app.client.delete(&format!("/public/v1/tools/{tool}")).await.expect(200);
    let refused = app.client.post(&restore, json!({})).await.expect(400);
    assert_eq!(
        refused.fields(),
        [("conversationConfig.agent.prompt.toolIds[0]", "not_found")]
    );
    app.client.post(&restore, json!({ "name": "x" })).await.expect(400);
    app.client
        .post(&format!("{path}/versions/9/restore"), json!({}))
        .await
        .expect(404);
    assert_eq!(app.client.get(&path).await.expect(200).headers["etag"], "\"4\"");
}

#[tokio::test(start_paused = true)]
async fn a_version_that_was_dropped_is_no_longer_there() {
    let app = TestApp::start().await;
    let path = made(&app, json!({})).await;
    for n in 0..AGENT_VERSIONS_KEPT {
        app.client
            .patch(&path, json!({ "tags": [n.to_string()] }))
            .await
            .expect(200);
    }
    app.client.get(&format!("{path}/versions/1")).await.expect(404);
    app.client.get(&format!("{path}/versions/2")).await.expect(200);
}
