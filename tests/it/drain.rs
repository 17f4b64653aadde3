//! A service that is told to stop: it reports this at once, lets calls continue up to the limit, and ends as requested.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use support::{
    client::Client,
    program::{Program, Running},
    words::interviewing_agent,
};

/// Longest time for a call to talk.
const WITHIN: Duration = Duration::from_secs(30);

async fn ready(address: &str) -> (u16, Value) {
    let answer = reqwest::get(format!("{address}/ready")).await.unwrap();
    (answer.status().as_u16(), answer.json().await.unwrap())
}

/// Returns a metric of the service; 0 before it was first counted.
async fn metric(address: &str, name: &str) -> usize {
    let shown = reqwest::get(format!("{address}/metrics")).await.unwrap();
    let shown = shown.text().await.unwrap();
    let line = shown.lines().find_map(|line| line.strip_prefix(&format!("{name} ")));
    line.map_or(0, |figure| figure.parse().unwrap())
}

/// Starts a service with one call that talks; returns it with its client and the conversation.
async fn with_a_call(program: &Program, settings: &[(&str, &str)]) -> (Running, Client, String) {
    let account = program.run(&["account", "create", "--email", "ada@example.com"]).json();
    let (service, address) = program.serve_with(settings);
    let client = Client::new(&address, account["apiKey"].as_str().unwrap());
    assert_eq!(
        ready(&address).await,
        (200, json!({ "ready": true, "reasons": [], "load": "calm" }))
    );
    let agent = client
        .post("/public/v1/agents/create", interviewing_agent())
        .await
        .expect(201);
    let call = json!({
        "agentId": agent.text("/data/agentId"),
        "phoneNumber": "+15550100010",
        "name": "Maria",
        "dynamicVariables": { "persona": "cooperative" },
    });
    let made = client.post("/public/v1/calls", call).await.expect(201);
    let conversation = made.text("/data/conversationId");
    let began = Instant::now();
    while metric(&address, r#"ringback_turns_total{speaker="agent"}"#).await == 0 {
        assert!(began.elapsed() < WITHIN, "nobody talks");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    (service, client, conversation)
}

#[tokio::test]
async fn a_stopping_service_is_not_ready_takes_no_call_and_lets_the_live_one_go_on_up_to_the_limit() {
    let program = Program::new();
    let (service, client, conversation) = with_a_call(&program, &[("RINGBACK_DRAIN_SECONDS", "4")]).await;
    service.signal("TERM");
    let told = Instant::now();
    let (status, why) = loop {
        let (status, why) = ready(&client.base).await;
        if status == 503 || told.elapsed() > Duration::from_secs(2) {
            break (status, why);
        }
    };
    assert_eq!((status, &why["reasons"]), (503, &json!(["draining"])), "{why}");
    let agents = client.get("/public/v1/agents").await.expect(200);
    let call = json!({ "agentId": agents.text("/data/0/agentId"), "phoneNumber": "+15550100011" });
    let refused = client.post("/public/v1/calls", call).await.expect(503);
    assert_eq!(refused.code(), "unavailable");
    assert_eq!(metric(&client.base, "ringback_live_calls").await, 1, "it goes on");
    let ended = service.end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(told.elapsed() >= Duration::from_secs(3), "it had its time");
    let (_service, address) = program.serve();
    let client = Client::new(&address, &client.key);
    let found = client
        .get(&format!("/public/v1/conversations/{conversation}"))
        .await
        .expect(200);
    assert_eq!(found.data()["status"], "completed", "{}", found.body);
}

#[tokio::test]
async fn a_second_signal_ends_it_at_once_with_an_exit_code_of_its_own() {
    let program = Program::new();
    let (service, client, _) = with_a_call(&program, &[]).await;
    service.signal("TERM");
    while ready(&client.base).await.0 == 200 {}
    service.signal("INT");
    let told = Instant::now();
    let ended = service.end();
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(told.elapsed() < Duration::from_secs(5), "{:?}", told.elapsed());
}
