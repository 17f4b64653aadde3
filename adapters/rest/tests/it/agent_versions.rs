//! Tests of the search of agents by name.

use serde_json::{Value, json};

use support::app::TestApp;

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
