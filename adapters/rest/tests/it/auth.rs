//! Tests of API keys: requests that need one, ways to send it, and responses to wrong ones.

use domain::api_key::generate_key;
use domain::ports::store::{ApiKeyStore, StoreError, StoredApiKey};

use support::{app::TestApp, client::send};

const ME: &str = "/public/v1/me";

#[tokio::test(start_paused = true)]
async fn a_key_may_be_sent_in_each_way() {
    let app = TestApp::start().await;
    let (client, key) = (&app.client, &app.client.key);
    for request in [
        client.bare("GET", ME).header("x-api-key", key),
        client.bare("GET", ME).header("authorization", format!("Bearer {key}")),
        client.bare("GET", ME).header("authorization", format!("bearer  {key}")),
        client.bare("GET", &format!("{ME}?apiKey={key}")),
        client
            .bare("GET", &format!("{ME}?apiKey={key}"))
            .header("x-api-key", key),
    ] {
        let answer = send(request).await.expect(200);
        assert_eq!(answer.data()["email"], "ada@example.com");
        assert_eq!(answer.data()["userId"], app.account.id.to_string());
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_without_one_sound_key_is_refused() {
    let app = TestApp::start().await;
    let (client, key) = (&app.client, &app.client.key);
    let (unknown, _) = generate_key();
    let typo = format!("{}x", &key[..key.len() - 1]);
    for (what, request) in [
        ("none", client.bare("GET", ME)),
        ("empty", client.bare("GET", ME).header("x-api-key", "")),
        ("unknown", client.bare("GET", ME).header("x-api-key", &unknown)),
        ("typo", client.bare("GET", ME).header("x-api-key", typo)),
        (
            "basic",
            client.bare("GET", ME).header("authorization", format!("Basic {key}")),
        ),
        (
            "two different",
            client
                .bare("GET", ME)
                .header("x-api-key", key)
                .header("authorization", format!("Bearer {unknown}")),
        ),
        (
            "header and query differ",
            client
                .bare("GET", &format!("{ME}?apiKey={unknown}"))
                .header("x-api-key", key),
        ),
        (
            "query on POST",
            client
                .bare("POST", &format!("/public/v1/contacts?apiKey={key}"))
                .json(&serde_json::json!({})),
        ),
    ] {
        let answer = send(request).await;
        assert_eq!((answer.status, answer.code()), (401, "unauthorized"), "{what}");
        assert_eq!(answer.headers["www-authenticate"], "Bearer", "{what}");
        assert_eq!(answer.headers["cache-control"], "no-store", "{what}");
    }
    for value in ["Token x", "Basic x", "Bearer"] {
        let answer = send(client.bare("GET", ME).header("authorization", value)).await;
        let message = answer.expect(401).text("/error/message");
        assert!(message.contains("write `Authorization: Bearer KEY`"), "{message}");
    }
}

#[tokio::test(start_paused = true)]
async fn health_and_unknown_paths_need_no_key_and_all_else_does() {
    let app = TestApp::start().await;
    let bare = |method: &'static str, path: &'static str| send(app.client.bare(method, path));
    bare("GET", "/public/health").await.expect(200);
    bare("GET", "/public/v1/nothing").await.expect(404);
    for (method, path) in [
        ("GET", "/public/v1/me"),
        ("POST", "/public/v1/agents/create"),
        ("GET", "/public/v1/agents/x"),
        ("PATCH", "/public/v1/agents/x"),
        ("POST", "/public/v1/contacts"),
        ("DELETE", "/public/v1/contacts/x"),
        ("GET", "/public/v1/campaigns"),
        ("POST", "/public/v1/campaigns"),
        ("POST", "/public/v1/campaigns/csv"),
        ("GET", "/public/v1/campaigns/x"),
        ("POST", "/public/v1/campaigns/x/launch"),
        ("POST", "/public/v1/campaigns/x/pause"),
        ("POST", "/public/v1/campaigns/x/stop"),
        ("GET", "/public/v1/conversations"),
        ("GET", "/public/v1/conversations/x"),
    ] {
        assert_eq!(bare(method, path).await.status, 401, "{method} {path}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_replaced_key_stops_working_at_once() {
    let app = TestApp::start().await;
    let (plain, stored) = generate_key();
    app.store
        .replace_api_key("ada@example.com", stored, None)
        .await
        .unwrap();
    app.client.get(ME).await.expect(401);
    send(app.client.bare("GET", ME).header("x-api-key", plain))
        .await
        .expect(200);
}

#[tokio::test(start_paused = true)]
async fn a_database_that_is_unavailable_is_a_503_with_retry_after() {
    let app = TestApp::start().await;
    app.store.fail_with(Some(StoreError::Unavailable("gone".into())));
    let answer = app.client.get(ME).await.expect(503);
    assert_eq!(answer.code(), "unavailable");
    assert!(answer.headers.contains_key("retry-after"));
    assert!(!answer.body.to_string().contains("gone"));
    app.store.fail_with(None);
    app.client.get(ME).await.expect(200);
}

#[tokio::test(start_paused = true)]
async fn a_key_that_shares_only_the_prefix_is_refused() {
    let app = TestApp::start().await;
    let (plain, stored) = generate_key();
    let other = StoredApiKey {
        prefix: stored.prefix,
        hash: generate_key().1.hash,
    };
    app.store.replace_api_key("ada@example.com", other, None).await.unwrap();
    send(app.client.bare("GET", ME).header("x-api-key", plain))
        .await
        .expect(401);
}
