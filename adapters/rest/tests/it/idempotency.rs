//! Tests of idempotency keys on every store: a repeated creating request creates nothing twice.

use std::{sync::Arc, time::Duration};

use actors::campaign::{CampaignCommand, CommandError};
use domain::{ports::store::Store, time::SystemClock};
use futures_util::future::join_all;
use reqwest::multipart::{Form, Part};
use rest::server::ServerLimits;
use serde_json::{Value, json};
use storage::SqlStore;

use support::{
    app::{TestApp, new_account, serve_router, state},
    client::{Answer, Client, send},
    switchboard::{FakeNode, Mood},
};

const CONTACTS: &str = "/public/v1/contacts";
const AGENTS: &str = "/public/v1/agents/create";
const CAMPAIGNS: &str = "/public/v1/campaigns";
const CSV: &str = "/public/v1/campaigns/csv";

async fn keyed(client: &Client, path: &str, key: &str, body: &Value) -> Answer {
    send(client.request("POST", path).header("idempotency-key", key).json(body)).await
}

async fn upload(client: &Client, key: &str, agent: &str, rows: &str) -> Answer {
    // Every form has its own boundary.
    let form = Form::new()
        .text("name", "Uploaded")
        .text("agentId", agent.to_owned())
        .text("launch", "true")
        .part("file", Part::text(format!("phone\n{rows}")).file_name("a.csv"));
    let request = client.request("POST", CSV).header("idempotency-key", key);
    send(request.multipart(form)).await
}

fn is_replay(answer: &Answer) -> bool {
    answer
        .headers
        .get("idempotency-replayed")
        .is_some_and(|value| value == "true")
}

fn agent_body() -> Value {
    json!({ "name": "Ann", "conversationConfig": { "agent": { "prompt": { "prompt": "Ask for the city." } } } })
}

fn campaign_body(agent: &str, launch: bool) -> Value {
    json!({ "name": "C", "agentId": agent, "launch": launch, "contacts": [{ "phoneNumber": "+15550000001" }] })
}

#[tokio::test(start_paused = true)]
async fn the_same_request_again_answers_what_the_first_one_made() {
    let app = TestApp::start().await;
    let agent = app.agent().await;
    for (path, id, body) in [
        (
            CONTACTS,
            "contactId",
            json!({ "phoneNumber": "+15550000001", "city": "Bonn" }),
        ),
        (AGENTS, "agentId", agent_body()),
        (CAMPAIGNS, "campaignId", campaign_body(&agent, false)),
    ] {
        let key = format!("key of {id}").replace(' ', "-");
        let first = keyed(&app.client, path, &key, &body).await.expect(201);
        assert!(!is_replay(&first), "{path}");
        let again = keyed(&app.client, path, &key, &body).await.expect(201);
        assert!(is_replay(&again), "{path}");
        assert_eq!(again.data(), first.data(), "{path}");
        let other = keyed(&app.client, path, "another", &body).await;
        assert!(other.status == 409 || other.data()[id] != first.data()[id], "{path}");
    }
    let first = upload(&app.client, "csv", &agent, "+15550000001").await.expect(201);
    let again = upload(&app.client, "csv", &agent, "+15550000001").await.expect(201);
    assert!(is_replay(&again));
    assert_eq!(again.data(), first.data());
    let other = upload(&app.client, "csv", &agent, "+15550000002").await.expect(409);
    assert_eq!(other.code(), "conflict");
}

#[tokio::test(start_paused = true)]
async fn a_key_belongs_to_one_body_of_one_operation_and_account() {
    let app = TestApp::start().await;
    let body = json!({ "phoneNumber": "+15550000001", "name": "Ada" });
    keyed(&app.client, CONTACTS, "k", &body).await.expect(201);
    // A different order of the fields is the same request.
    let same = json!({ "name": "Ada", "phoneNumber": "+15550000001" });
    keyed(&app.client, CONTACTS, "k", &same).await.expect(201);
    let other = keyed(&app.client, CONTACTS, "k", &json!({ "phoneNumber": "+15550000002" })).await;
    assert_eq!((other.status, other.code()), (409, "conflict"));
    assert!(!other.headers.contains_key("retry-after"));
    let operation = keyed(&app.client, AGENTS, "k", &body).await;
    assert_eq!((operation.status, operation.code()), (409, "conflict"));
    let stranger = app.stranger().await;
    let his = keyed(&stranger, CONTACTS, "k", &body).await.expect(201);
    assert!(!is_replay(&his));
}

#[tokio::test(start_paused = true)]
async fn a_failure_does_not_use_the_key_up() {
    let app = TestApp::start().await;
    let bad = json!({ "phoneNumber": "12" });
    let good = json!({ "phoneNumber": "+15550000001" });
    keyed(&app.client, CONTACTS, "k", &bad).await.expect(400);
    let made = keyed(&app.client, CONTACTS, "k", &good).await.expect(201);
    assert!(!is_replay(&made));
    keyed(&app.client, CONTACTS, "other", &good).await.expect(409);
    keyed(
        &app.client,
        CONTACTS,
        "other",
        &json!({ "phoneNumber": "+15550000002" }),
    )
    .await
    .expect(201);
    let agent = app.agent().await;
    upload(&app.client, "csv", &agent, "nonsense").await.expect(400);
    upload(&app.client, "csv", &agent, "+15550000001").await.expect(201);
}

#[tokio::test(start_paused = true)]
async fn a_replay_after_the_deletion_is_a_404() {
    let app = TestApp::start().await;
    let body = json!({ "phoneNumber": "+15550000001" });
    let id = keyed(&app.client, CONTACTS, "k", &body)
        .await
        .expect(201)
        .text("/data/contactId");
    app.client.delete(&format!("{CONTACTS}/{id}")).await.expect(200);
    let gone = keyed(&app.client, CONTACTS, "k", &body).await.expect(404);
    assert_eq!(gone.code(), "not_found");
}

#[tokio::test(start_paused = true)]
async fn a_key_is_kept_for_a_day() {
    let app = TestApp::start().await;
    let first = keyed(&app.client, AGENTS, "k", &agent_body()).await.expect(201);
    tokio::time::advance(Duration::from_secs(24 * 3_600 - 60)).await;
    let again = keyed(&app.client, AGENTS, "k", &agent_body()).await.expect(201);
    assert_eq!(again.data(), first.data());
    tokio::time::advance(Duration::from_secs(61)).await;
    let anew = keyed(&app.client, AGENTS, "k", &agent_body()).await.expect(201);
    assert_ne!(anew.data(), first.data());
    assert!(!is_replay(&anew));
}

#[tokio::test(start_paused = true)]
async fn a_header_that_is_no_key_is_refused() {
    let app = TestApp::start().await;
    let body = json!({ "phoneNumber": "+15550000001" });
    let request = || app.client.request("POST", CONTACTS).json(&body);
    for bad in ["", "a b", "ä", &"x".repeat(256)] {
        let answer = send(request().header("idempotency-key", bad)).await.expect(400);
        assert_eq!(answer.fields(), [("Idempotency-Key", "invalid_value")], "{bad:?}");
    }
    let twice = request().header("idempotency-key", "a").header("idempotency-key", "b");
    let answer = send(twice).await.expect(400);
    assert_eq!(answer.fields(), [("Idempotency-Key", "repeated")]);
    send(request().header("idempotency-key", "~".repeat(255)))
        .await
        .expect(201);
}

#[tokio::test(start_paused = true)]
async fn a_launch_that_goes_along_with_a_create_happens_once() {
    let app = TestApp::start().await;
    let agent = app.agent().await;
    let body = campaign_body(&agent, true);
    // The process that created the campaign could not launch it any more.
    app.node
        .set(Mood::Refusing(CommandError::Unavailable("stopping".into())));
    for _ in 0..2 {
        let first = keyed(&app.client, CAMPAIGNS, "k", &body).await.expect(503);
        let message = first.text("/error/message");
        assert!(
            message.contains("not launched") && message.contains("again"),
            "{message}"
        );
    }
    app.node.set(Mood::Obedient);
    let again = keyed(&app.client, CAMPAIGNS, "k", &body).await.expect(201);
    assert_eq!(again.data()["status"], "running");
    let all = app.client.get(CAMPAIGNS).await.expect(200);
    assert_eq!(all.data().as_array().unwrap().len(), 1);
    let path = format!("{CAMPAIGNS}/{}/stop", again.text("/data/campaignId"));
    app.client.post(&path, json!({})).await.expect(200);
    let third = keyed(&app.client, CAMPAIGNS, "k", &body).await.expect(201);
    assert_eq!(third.data()["status"], "stopped");
    let launches = app
        .node
        .commands()
        .into_iter()
        .filter(|(_, command)| *command == CampaignCommand::Launch);
    assert_eq!(launches.count(), 3);
}

/// Starts the API with a store on disk.
async fn on_disk() -> (Client, impl Sized) {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}/ringback.db", folder.path().display());
    let store: Arc<dyn Store> = Arc::new(SqlStore::open(&url, Arc::new(SystemClock)).await.unwrap());
    let router = rest::router(state(store.clone(), &FakeNode::default()).await);
    let (address, shutdown, server) = serve_router(router, ServerLimits::default()).await;
    let (_, key) = new_account(&*store, "ada@example.com").await;
    (
        Client::new(&format!("http://{address}"), &key),
        (folder, shutdown, server),
    )
}

async fn equal_contacts_at_once(client: &Client) {
    let body = json!({ "phoneNumber": "+15550000001" });
    let answers = join_all((0..50).map(|_| client.post(CONTACTS, body.clone()))).await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 201).count(), 1);
    let refused = answers.iter().filter(|answer| answer.code() == "contact_exists");
    assert_eq!(refused.count(), 49);
}

async fn equal_creates_with_a_key_at_once(client: &Client) {
    let agent = client
        .post(AGENTS, agent_body())
        .await
        .expect(201)
        .text("/data/agentId");
    for (path, id, body) in [
        (CONTACTS, "contactId", json!({ "phoneNumber": "+15550000002" })),
        (AGENTS, "agentId", agent_body()),
        (CAMPAIGNS, "campaignId", campaign_body(&agent, true)),
    ] {
        let answers = join_all((0..50).map(|_| keyed(client, path, id, &body))).await;
        let made: Vec<&Answer> = answers.iter().filter(|answer| answer.status == 201).collect();
        assert_eq!(made.iter().filter(|answer| !is_replay(answer)).count(), 1, "{path}");
        assert!(
            made.iter().all(|answer| answer.data()[id] == made[0].data()[id]),
            "{path}"
        );
        for answer in answers.iter().filter(|answer| answer.status != 201) {
            assert_eq!((answer.status, answer.code()), (409, "conflict"), "{path}");
            assert_eq!(answer.headers["retry-after"], "1", "{path}");
        }
        let again = keyed(client, path, id, &body).await.expect(201);
        assert_eq!(again.data()[id], made[0].data()[id], "{path}");
    }
    let listed = client.get(CAMPAIGNS).await.expect(200);
    assert_eq!(listed.data().as_array().unwrap().len(), 1);
    assert_eq!(listed.data()[0]["status"], "running");
}

#[tokio::test(start_paused = true)]
async fn fifty_equal_requests_at_once_make_one_thing_in_memory() {
    let app = TestApp::start().await;
    equal_contacts_at_once(&app.client).await;
    equal_creates_with_a_key_at_once(&app.client).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_equal_requests_at_once_make_one_thing_on_disk() {
    let (client, _guards) = on_disk().await;
    equal_contacts_at_once(&client).await;
    equal_creates_with_a_key_at_once(&client).await;
}
