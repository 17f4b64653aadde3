//! Tests of the installation's carriers and providers: their list, and checks of them.

use std::{sync::Arc, time::Duration};

use rest::{CheckedServices, RestState, server::ServerLimits};
use serde_json::{Value, json};
use testkit::fake_services::FakeServices;
use tokio::time::{Instant, advance, sleep, timeout};

use support::{
    app::{TestApp, serve_router, state},
    client::Client,
    switchboard::FakeNode,
};

const SERVICES: &str = "/public/v1/services";
const CHECK: &str = "/public/v1/services/carrier-telnyx/check";

/// Starts the API with these services.
async fn with(app: &TestApp, services: &FakeServices, node: &FakeNode) -> (Client, impl Sized) {
    let state = RestState {
        services: CheckedServices::new(Arc::new(services.clone())),
        ..state(app.store.clone(), node).await
    };
    let (address, shutdown, server) = serve_router(rest::router(state), ServerLimits::default()).await;
    let client = Client::new(&format!("http://{address}"), &app.client.key);
    (client, (shutdown, server))
}

async fn check(client: &Client) -> Value {
    client.post(CHECK, json!({})).await.expect(200).data().clone()
}

#[tokio::test(start_paused = true)]
async fn services_are_listed_with_state_and_settings_and_what_is_wrong_with_the_way_out() {
    let app = TestApp::start().await;
    let outage = json!({ "since": "2026-01-01T00:00:00.000000Z", "reason": "connection refused" });
    let expected = json!({
        "services": [
            {
                "name": "carrier-telnyx", "kind": "carrier", "provider": "telnyx", "rank": 1, "configured": true,
                "outage": outage, "settings": ["TELNYX_API_KEY"],
            },
            {
                "name": "llm-groq", "kind": "llm", "provider": "groq", "configured": false,
                "settings": ["GROQ_API_KEY"],
            },
            {
                "name": "tts-kokoro", "kind": "tts", "provider": "kokoro", "rank": 1, "configured": true,
                "settings": ["KOKORO_API_KEY", "KOKORO_BASE_URL"],
            },
        ],
        "problems": ["dial_journal"],
    });
    assert_eq!(app.client.get(SERVICES).await.expect(200).data(), &expected);
    // They belong to no account.
    let stranger = app.stranger().await;
    assert_eq!(stranger.get(SERVICES).await.expect(200).data(), &expected);
    app.client.get("/public/v1/services?kind=llm").await.expect(400);
}

#[tokio::test(start_paused = true)]
async fn a_check_says_what_works_and_what_to_enter() {
    let app = TestApp::start().await;
    let found = check(&app.client).await;
    let enter = json!([{ "at": "the webhook", "value": "https://calls.example.com/in" }]);
    let expected = json!({ "works": true, "message": "answer 1", "numbers": ["+15550000001"], "enter": enter });
    assert_eq!(found, expected);
    let voice = format!("{SERVICES}/tts-kokoro/check");
    let failed = app.client.post(&voice, json!({})).await.expect(200);
    assert_eq!(failed.data()["works"], false);
    assert_eq!(failed.data()["message"], "401: wrong key");
    app.client.post(CHECK, json!({ "force": true })).await.expect(400);
}

#[tokio::test(start_paused = true)]
async fn a_service_that_is_unknown_or_not_configured_is_not_checked() {
    let app = TestApp::start().await;
    let unknown = app
        .client
        .post(&format!("{SERVICES}/carrier-telnix/check"), json!({}))
        .await;
    let message = unknown.expect(404).body["error"]["message"].clone();
    let said = "there is no service `carrier-telnix`; `GET /public/v1/services` lists all";
    assert_eq!(message, said);
    let unset = app.client.post(&format!("{SERVICES}/llm-groq/check"), json!({})).await;
    assert_eq!((unset.status, unset.code()), (409, "not_configured"));
    assert_eq!(
        unset.body["error"]["message"],
        "`llm-groq` is not configured: set GROQ_API_KEY"
    );
}

#[tokio::test(start_paused = true)]
async fn a_service_is_checked_once_at_a_time_and_not_again_within_ten_seconds() {
    let app = TestApp::start().await;
    let (services, node) = (FakeServices::slow(Duration::from_secs(3)), FakeNode::default());
    let (client, _guards) = with(&app, &services, &node).await;
    let (one, other) = tokio::join!(check(&client), check(&client));
    assert_eq!((&one, services.checks()), (&other, 1));
    sleep(Duration::from_secs(5)).await;
    assert_eq!((check(&client).await, services.checks()), (one, 1));
    sleep(Duration::from_secs(6)).await;
    assert_eq!(check(&client).await["message"], "answer 2");
    // Another service does not wait.
    client
        .post(&format!("{SERVICES}/tts-kokoro/check"), json!({}))
        .await
        .expect(200);
    assert_eq!(services.checks(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_leaves_does_not_allow_another_check() {
    let app = TestApp::start().await;
    let (services, node) = (FakeServices::slow(Duration::from_secs(3)), FakeNode::default());
    let (client, _guards) = with(&app, &services, &node).await;
    for _ in 0..3 {
        assert!(timeout(Duration::from_millis(500), check(&client)).await.is_err());
    }
    assert_eq!(check(&client).await["message"], "answer 1");
    assert_eq!(services.checks(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_check_that_takes_too_long_is_given_up_as_is_one_while_the_service_stops() {
    let app = TestApp::start().await;
    let (services, node) = (FakeServices::slow(Duration::from_secs(600)), FakeNode::default());
    let (client, _guards) = with(&app, &services, &node).await;
    let given_up = "it took more than 60 s, or the service is stopping";
    let begun = Instant::now();
    assert_eq!(check(&client).await["message"], given_up);
    assert!(begun.elapsed() < Duration::from_secs(100));
    advance(Duration::from_secs(10)).await;
    let begun = Instant::now();
    let (found, ()) = tokio::join!(check(&client), async {
        sleep(Duration::from_secs(1)).await;
        node.stop();
    });
    assert!(begun.elapsed() < Duration::from_secs(30));
    assert_eq!(found["message"], given_up);
}
