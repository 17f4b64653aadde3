//! Tests of agents' copies and the search by name.

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
