//! Two services on one PostgreSQL.

use std::{
    collections::HashSet,
    time::{Duration, Instant},
};

use clap::Parser;
use domain::accounts;
use domain::ports::store::NodeStore;
use ringback::{
    api_client::ApiClient,
    app::App,
    cli::{Cli, Command},
};
use serde_json::{Value, json};
use tempfile::TempDir;

use support::postgres::database;

/// Starts one of several services on a database, with a short heartbeat so that they notice each other soon.
async fn service(database: &str, folder: &TempDir) -> App {
    start(database, folder, &["--heartbeat-ms", "1000"]).await.unwrap()
}

async fn start(
    database: &str,
    folder: &TempDir,
    times: &[&str],
) -> Result<App, Box<dyn std::error::Error + Send + Sync>> {
    let folder = folder.path().to_str().unwrap();
    let arguments = [
        "ringback",
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--database-url",
        database,
        "--data-dir",
        folder,
        "--calls-per-second",
        "0",
        "--rate-limit",
        "0",
    ];
    match Cli::try_parse_from(arguments.iter().chain(times)).unwrap().command {
        Command::Serve(config) => App::start(*config).await,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_with_other_times_does_not_start_beside_others() {
    let Some(database) = database().await else { return };
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let first = service(&database.url, &folders[0]).await;
    let other = ["--heartbeat-ms", "1000", "--dead-after-ms", "20000"];
    let refused = start(&database.url, &folders[1], &other)
        .await
        .err()
        .unwrap()
        .to_string();
    assert_eq!(
        refused,
        "node did not start: RINGBACK_DEAD_AFTER_MS is 20000, but 15000 on the other nodes of this database: give all \
         nodes the same value; to change it, stop all nodes first"
    );
    assert_eq!(first.store.live_nodes().await.unwrap().len(), 1);
    first.stop(Duration::ZERO).await;
    let second = start(&database.url, &folders[1], &other).await.unwrap();
    second.stop(Duration::ZERO).await;
}

async fn until_completed(api: &ApiClient, campaign: &str) {
    let began = Instant::now();
    while api.campaign(campaign).await.unwrap()["status"] != "completed" {
        assert!(began.elapsed() < Duration::from_secs(240), "not completed");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_services_on_one_database_call_everybody_once() {
    let Some(database) = database().await else { return };
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let first = service(&database.url, &folders[0]).await;
    let second = service(&database.url, &folders[1]).await;
    assert_eq!(first.store.cluster_secret().await, second.store.cluster_secret().await);
    let addresses = [&first, &second].map(|app| Some(app.url.clone()));
    let known: Vec<_> = first.store.live_nodes().await.unwrap();
    assert_eq!(
        known.iter().map(|node| node.address.clone()).collect::<Vec<_>>(),
        addresses
    );

    let account = accounts::create(first.store.as_ref(), "ada@example.com").await.unwrap();
    let apis = [&first, &second].map(|app| ApiClient::new(app.url.clone(), account.api_key.clone()).unwrap());
    let agent = json!({ "name": "Ann", "conversationConfig": { "agent": { "prompt": { "prompt": "Ask." } } } });
    let agent = apis[0].create_agent(agent).await.unwrap();
    let rows: String = (0..150).map(|n| format!("+1555010{n:04},busy\n")).collect();
    let csv = format!("phone,persona\n{rows}").into_bytes();
    let launched = apis[0].launch_csv("One", &agent, csv).await.unwrap();
    let campaign = launched.campaign;
    // The other node sees it run, and sends commands to it.
    let path = format!("/public/v1/campaigns/{campaign}/pause");
    apis[1].post(&path, json!({})).await.unwrap();
    let path = format!("/public/v1/campaigns/{campaign}/launch");
    apis[1].post(&path, json!({})).await.unwrap();
    until_completed(&apis[1], &campaign).await;

    let calls = apis[0].conversations(&campaign).await.unwrap();
    let ids: HashSet<&str> = calls
        .iter()
        .filter_map(|call| call["conversationId"].as_str())
        .collect();
    assert_eq!(
        (calls.len(), ids.len()),
        (150, 150),
        "a number was called twice or not at all"
    );
    assert!(
        calls.iter().all(|call: &Value| call["errorMessage"] == "busy"),
        "{:?}",
        calls.first()
    );
    first.stop(Duration::ZERO).await;
    second.stop(Duration::ZERO).await;
}
