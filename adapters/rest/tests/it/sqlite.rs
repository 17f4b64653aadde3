//! Tests of the API with SQLite: the guarantees of the memory store also hold on disk.

use std::sync::Arc;

use domain::time::SystemClock;
use reqwest::multipart::{Form, Part};
use rest::server::ServerLimits;
use serde_json::json;
use storage::SqlStore;

use support::{
    app::{new_account, serve_router, state},
    client::{Client, send},
    switchboard::FakeNode,
};

#[tokio::test]
async fn contacts_and_a_large_campaign_live_in_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}/ringback.db", folder.path().display());
    let store = Arc::new(SqlStore::open(&url, Arc::new(SystemClock)).await.unwrap());
    let node = FakeNode::default();
    let router = rest::router(state(store.clone(), &node).await);
    let (address, _shutdown, _server) = serve_router(router, ServerLimits::default()).await;
    let (_, key) = new_account(&*store, "ada@example.com").await;
    let client = Client::new(&format!("http://{address}"), &key);
    let contact = json!({ "phoneNumber": "+15550000001", "city": "Bonn" });
    let saved = client.post("/public/v1/contacts", contact.clone()).await.expect(201);
    let again = client.post("/public/v1/contacts", contact).await.expect(409);
    assert_eq!(again.code(), "contact_exists");
    let prompt = json!({ "agent": { "prompt": { "prompt": "Be brief." } } });
    let body = json!({ "name": "Ann", "conversationConfig": prompt });
    let agent = client
        .post("/public/v1/agents/create", body)
        .await
        .expect(201)
        .text("/data/agentId");
    let rows: String = (0..5_001).map(|n| format!("+1555{n:07},c{n}\n")).collect();
    let form = Form::new()
        .text("name", "large")
        .text("agentId", agent)
        .text("launch", "true")
        .part("file", Part::text(format!("phone,city\n{rows}")).file_name("a.csv"));
    let made = send(client.request("POST", "/public/v1/campaigns/csv").multipart(form))
        .await
        .expect(201);
    assert_eq!(made.data()["status"], "running");
    let contacts = made.data()["contacts"].as_array().unwrap();
    assert_eq!(contacts.len(), 5_001);
    assert_eq!(contacts[5_000]["city"], "c5000");
    assert_eq!(contacts[1]["contactId"], saved.data()["contactId"]);
    let listed = client
        .get("/public/v1/campaigns?name=LARGE&active=true")
        .await
        .expect(200);
    assert_eq!(listed.data()[0]["contactCount"], 5_001);
    let path = format!("/public/v1/contacts/{}", saved.text("/data/contactId"));
    client.delete(&path).await.expect(200);
    client.get(&path).await.expect(404);
}

#[tokio::test]
async fn a_full_disk_refuses_writes_goes_on_reading_and_is_over_when_there_is_room() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}/ringback.db", folder.path().display());
    let store = Arc::new(SqlStore::open(&url, Arc::new(SystemClock)).await.unwrap());
    let router = rest::router(state(store.clone(), &FakeNode::default()).await);
    let (address, _shutdown, _server) = serve_router(router, ServerLimits::default()).await;
    let (_, key) = new_account(&*store, "ada@example.com").await;
    let client = Client::new(&format!("http://{address}"), &key);
    let notes = "x".repeat(4_000);
    let contact = |n: usize| json!({ "phoneNumber": format!("+1555{n:07}"), "notes": notes });
    for round in 0..2 {
        let numbers = round * 1_000..;
        store.limit_pages(8).await.unwrap();
        let mut saved = 0;
        let refused = loop {
            let answer = client.post("/public/v1/contacts", contact(numbers.start + saved)).await;
            if answer.status != 201 {
                break answer;
            }
            saved += 1;
        };
        assert_eq!((refused.status, refused.code()), (503, "storage_full"), "after {saved}");
        assert!(refused.headers.contains_key("retry-after"));
        assert!(store.is_full() && !*store.failed().borrow());
        // Everything that was confirmed is stored and can be read.
        let listed = client.get("/public/v1/contacts?pageSize=100").await.expect(200);
        let of_round = listed.data().as_array().unwrap().len();
        assert!(of_round >= saved, "{of_round} of {saved}");
        // The limit was bound to the connection that reached it, so there is room again.
        let again = client.post("/public/v1/contacts", contact(numbers.start + saved)).await;
        again.expect(201);
    }
}
