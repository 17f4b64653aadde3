//! Tests of the rate limit, pages of other origins, and the health of the database.

use std::{sync::Arc, time::Duration};

use domain::api_key::generate_key;
use domain::ports::store::{ApiKeyStore, StoreError};
use rest::{RateLimit, server::ServerLimits};
use serde_json::json;

use support::{
    app::{TestApp, serve_router, state},
    client::{Client, send},
    switchboard::FakeNode,
};

const ME: &str = "/public/v1/me";

/// Starts the API with the app's store and its own limit.
async fn limited(app: &TestApp, requests: u32) -> (Client, impl Sized) {
    let mut state = state(app.store.clone(), &FakeNode::default()).await;
    state.rate_limit = Arc::new(RateLimit::per_second(requests));
    let (address, shutdown, server) = serve_router(rest::router(state), ServerLimits::default()).await;
    let client = Client::new(&format!("http://{address}"), &app.client.key);
    (client, (shutdown, server))
}

#[tokio::test(start_paused = true)]
async fn a_key_that_asks_too_often_is_told_when_to_come_back() {
    let app = TestApp::start().await;
    let (client, _guards) = limited(&app, 1).await;
    for _ in 0..2 {
        client.get(ME).await.expect(200);
    }
    let refused = client.get(ME).await;
    assert_eq!((refused.status, refused.code()), (429, "rate_limited"));
    assert_eq!(refused.headers["retry-after"], "1");
    // Another key at the same address is not limited.
    let (_, key) = support::app::new_account(&*app.store, "eve@example.com").await;
    Client::new(&client.base, &key).get(ME).await.expect(200);
    // The health check needs no key and has no limit.
    send(client.bare("GET", "/public/health")).await.expect(200);
    tokio::time::advance(Duration::from_secs(1)).await;
    client.get(ME).await.expect(200);
}

#[tokio::test(start_paused = true)]
async fn a_new_key_is_no_new_allowance() {
    let app = TestApp::start().await;
    let (client, _guards) = limited(&app, 1).await;
    client.get(ME).await.expect(200);
    let made = client
        .post(&format!("{ME}/api-key/regenerate"), json!({}))
        .await
        .expect(200);
    let renewed = Client::new(&client.base, &made.text("/data/apiKey"));
    let refused = renewed.get(ME).await;
    assert_eq!((refused.status, refused.code()), (429, "rate_limited"));
    tokio::time::advance(Duration::from_secs(1)).await;
    renewed.get(ME).await.expect(200);
    tokio::time::advance(Duration::from_secs(60)).await;
    renewed.get(ME).await.expect(200);
    let body = json!({ "name": "x", "scopes": ["read"] });
    let made = renewed.post(&format!("{ME}/api-keys"), body).await.expect(201);
    let added = Client::new(&client.base, &made.text("/data/apiKey"));
    assert_eq!(added.get(ME).await.status, 429);
}

#[tokio::test(start_paused = true)]
async fn guessing_keys_is_slowed_for_the_guesser() {
    let app = TestApp::start().await;
    let (client, _guards) = limited(&app, 2).await;
    client.get(ME).await.expect(200);
    let mut statuses = Vec::new();
    for _ in 0..6 {
        let (guess, _) = generate_key();
        statuses.push(Client::new(&client.base, &guess).get(ME).await.status);
    }
    assert_eq!(statuses, [401, 401, 401, 401, 429, 429]);
    // A client with a known key is not affected.
    client.get(ME).await.expect(200);
    // A replaced key is invalid, even if it was known.
    let (_, stored) = generate_key();
    app.store
        .replace_api_key("ada@example.com", stored, None)
        .await
        .unwrap();
    client.get(ME).await.expect(401);
}

#[tokio::test(start_paused = true)]
async fn only_configured_origins_may_use_the_api_from_a_page() {
    let app = TestApp::start().await;
    let origins = ["https://app.example.com".to_owned()];
    let router = rest::router(state(app.store.clone(), &FakeNode::default()).await);
    let (address, _shutdown, _server) = serve_router(rest::with_cors(router, &origins), ServerLimits::default()).await;
    let client = Client::new(&format!("http://{address}"), &app.client.key);
    let preflight = |origin: &str| {
        client
            .bare("OPTIONS", "/public/v1/contacts")
            .header("origin", origin)
            .header("access-control-request-method", "POST")
            .header(
                "access-control-request-headers",
                "x-api-key,content-type,idempotency-key,if-match",
            )
    };
    let allowed = preflight(&origins[0]).send().await.unwrap();
    assert_eq!(allowed.status(), 204);
    let headers = allowed.headers().clone();
    assert_eq!(headers["access-control-allow-origin"], "https://app.example.com");
    let methods = headers["access-control-allow-methods"].to_str().unwrap();
    assert!(methods.contains("PATCH") && methods.contains("DELETE"), "{methods}");
    let names = headers["access-control-allow-headers"].to_str().unwrap();
    assert!(
        ["x-api-key", "idempotency-key", "if-match"]
            .iter()
            .all(|name| names.contains(name)),
        "{names}"
    );
    assert_eq!(allowed.text().await.unwrap(), "");
    let other = preflight("https://evil.example.com").send().await.unwrap();
    assert!(!other.headers().contains_key("access-control-allow-origin"));
    let answer = send(client.request("GET", ME).header("origin", &origins[0]))
        .await
        .expect(200);
    assert_eq!(answer.headers["access-control-allow-origin"], "https://app.example.com");
    let exposed = answer.headers["access-control-expose-headers"].to_str().unwrap();
    for name in ["x-request-id", "idempotency-replayed", "etag", "retry-after"] {
        assert!(exposed.contains(name), "{exposed}");
    }
    // Pages can also read an error response.
    let refused = send(client.bare("GET", ME).header("origin", &origins[0]))
        .await
        .expect(401);
    assert_eq!(
        refused.headers["access-control-allow-origin"],
        "https://app.example.com"
    );
    // CORS is off by default.
    let plain = app.client.request("OPTIONS", ME).header("origin", &origins[0]);
    let plain = send(plain).await.expect(405);
    assert!(!plain.headers.contains_key("access-control-allow-origin"));
}

#[tokio::test(start_paused = true)]
async fn health_tells_of_a_database_that_is_unavailable() {
    let app = TestApp::start().await;
    let health = || send(app.client.bare("GET", "/public/health"));
    assert_eq!(health().await.expect(200).data()["status"], "ok");
    app.store.fail_with(Some(StoreError::Unavailable("gone".into())));
    let unavailable = health().await.expect(503);
    assert_eq!(unavailable.code(), "unavailable");
    assert!(unavailable.headers.contains_key("retry-after"));
    app.store.fail_with(None);
    health().await.expect(200);
}
