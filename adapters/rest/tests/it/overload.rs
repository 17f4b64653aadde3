//! Tests of an overloaded node: the requests that it rejects, their order, and those that it never rejects.

use std::time::Duration;

use domain::admission::{Admission, Gate, Level, Limits, Sample};
use rest::server::ServerLimits;
use serde_json::json;

use support::{
    app::{TestApp, serve_router, state},
    client::Client,
};

/// Returns a gate that has reached this level.
fn gate(level: Level) -> Gate {
    let mut admission = Admission::new(Limits::default());
    let busy = Sample {
        cpu: Some(1.0),
        ..Sample::default()
    };
    while admission.level() < level {
        admission.observe(busy, Duration::from_millis(10));
    }
    let gate = Gate::default();
    gate.set(&admission);
    gate
}

/// Starts the API with the app's store and a gate.
async fn behind(app: &TestApp, level: Level) -> (Client, impl Sized) {
    let mut state = state(app.store.clone(), &app.node).await;
    state.gate = gate(level);
    let (address, shutdown, server) = serve_router(rest::router(state), ServerLimits::default()).await;
    let client = Client::new(&format!("http://{address}"), &app.client.key);
    (client, (shutdown, server))
}

#[tokio::test(start_paused = true)]
async fn lists_go_first_then_reads_then_writes_and_what_protects_people_never() {
    let app = TestApp::start().await;
    let agent = app.agent().await;
    for (level, list, read, write) in [
        (Level::NoAnalysis, 200, 200, 200),
        (Level::NoLists, 503, 200, 200),
        (Level::NoReads, 503, 503, 200),
        (Level::NoWrites, 503, 503, 503),
        (Level::NoInbound, 503, 503, 503),
    ] {
        let (client, _guards) = behind(&app, level).await;
        let answer = client.get("/public/v1/conversations").await.expect(list);
        if list == 503 {
            assert_eq!(answer.code(), "overloaded");
            assert!(answer.headers.contains_key("retry-after"));
        }
        client.get("/public/v1/me").await.expect(read);
        let path = format!("/public/v1/agents/{agent}");
        client.patch(&path, json!({ "name": "Bob" })).await.expect(write);
        let number = json!({ "phoneNumber": "+15550100010" });
        client.post("/public/v1/do-not-call", number).await.expect(201);
    }
}

#[tokio::test(start_paused = true)]
async fn a_refusal_costs_no_look_into_the_database() {
    let app = TestApp::start().await;
    let (client, _guards) = behind(&app, Level::NoInbound).await;
    // If the key were looked up, the response would be that the database is unavailable.
    let unavailable = domain::ports::store::StoreError::Unavailable("away".into());
    app.store.fail_with(Some(unavailable));
    let refused = client.get("/public/v1/me").await.expect(503);
    assert_eq!(refused.code(), "overloaded");
    let unknown = Client::new(&client.base, "rb_nobody").get("/public/v1/me").await;
    assert_eq!(unknown.code(), "overloaded");
}

#[tokio::test(start_paused = true)]
async fn a_full_disk_refuses_what_stores_and_says_why() {
    let app = TestApp::start().await;
    app.store
        .fail_with(Some(domain::ports::store::StoreError::disk_full("13")));
    let (client, _guards) = behind(&app, Level::Calm).await;
    let contact = json!({ "phoneNumber": "+15550100010" });
    let refused = client.post("/public/v1/contacts", contact).await.expect(503);
    assert_eq!(refused.code(), "storage_full");
    assert!(refused.headers.contains_key("retry-after"));
}
