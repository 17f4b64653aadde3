//! The real binary on PostgreSQL, from a new account to the end of a campaign.

use std::time::Duration;

use ringback::api_client::ApiClient;
use serde_json::json;

use support::{postgres::database, program::Program};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_on_postgresql_runs_a_campaign_to_its_end() {
    let Some(database) = database().await else { return };
    let program = Program::new();
    let settings = [("DATABASE_URL", database.url.as_str())];
    let (service, address) = program.serve_with(&settings);
    // While the service is running.
    let create = ["account", "create", "--email", "ada@example.com"];
    let account = program.run_with(&create, &settings).json();
    let again = program.run_with(&create, &settings);
    assert!(again.refusal().contains("exists already"), "{again:?}");

    let api = ApiClient::new(address, account["apiKey"].as_str().unwrap().to_owned()).unwrap();
    let prompt = json!({ "agent": { "prompt": { "prompt": "Ask." } } });
    let agent = api
        .create_agent(json!({ "name": "Ann", "conversationConfig": prompt }))
        .await;
    let csv = "phone,persona,city\n+15550100021,busy,Bonn\n+15550100022,rejects,\n+15550100023,hangs-up,Köln\n";
    let launched = api.launch_csv("One", &agent.unwrap(), csv.into()).await.unwrap();
    let campaign = launched.campaign.as_str();
    let completed = async {
        while api.campaign(campaign).await.unwrap()["status"] != "completed" {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), completed).await.unwrap();
    let progress = api.campaign(campaign).await.unwrap()["progress"].clone();
    assert_eq!(
        (&progress["pending"], &progress["inProgress"]),
        (&0.into(), &0.into()),
        "{progress}"
    );
    assert_eq!(api.conversations(campaign).await.unwrap().len(), 3);

    service.signal("TERM");
    let ended = service.end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(!format!("{ended:?}").contains("s3cret"), "{ended:?}");
    // The data is still there at the next start.
    let (_service, address) = program.serve_with(&settings);
    let api = ApiClient::new(address, account["apiKey"].as_str().unwrap().to_owned()).unwrap();
    assert_eq!(api.campaign(campaign).await.unwrap()["status"], "completed");
}
