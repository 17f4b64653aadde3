//! Tests of analytics: counts of ended calls by group, filtered and in pages.

use std::{sync::Arc, time::Duration};

use domain::{
    analytics,
    id::{AgentId, CampaignId},
    ports::store::{ConversationStatus, EventFact, Fact, OPTED_OUT, RecordStore},
    prices::PriceList,
};
use rest::server::ServerLimits;
use serde_json::{Value, json};
use support::{
    app::{START, TestApp, serve_router, state},
    client::Client,
    switchboard::FakeNode,
};

use crate::conversations::{CONVERSATIONS, Dialer, analysis};

const ANALYTICS: &str = "/public/v1/analytics";
const DAY_S: i64 = 86_400;

fn prices() -> PriceList {
    let prices = r#"{ "currency": "USD", "prices": [
        { "carrier": "simulated", "unit": "seconds", "price": "0.014", "per": 60, "incrementSeconds": 60 } ] }"#;
    PriceList::parse(prices).unwrap()
}

async fn count(dialer: &Dialer) {
    tokio::time::advance(Duration::from_secs(60)).await;
    while analytics::count(&*dialer.app.store, Some(&prices()), 2).await.unwrap() {}
}

/// Creates an analysed call with two answers and a busy one, and a busy one on the next day.
async fn three_calls() -> Dialer {
    let dialer = Dialer::start(4).await;
    let attempt = dialer.dial().await;
    let event = |name: &str, detail: Value| {
        let event = EventFact {
            name: name.into(),
            at_ms: 9_000,
            detail: detail.to_string(),
        };
        (attempt.claim.attempt, Fact::Event(event))
    };
    let reply = |playout_ms: i64| event("reply", json!({ "turnEndMs": 200, "playoutMs": playout_ms }));
    dialer
        .app
        .store
        .append_facts(&[reply(601), reply(2_345), event(OPTED_OUT, json!({}))])
        .await
        .unwrap();
    dialer.talk(&attempt).await;
    tokio::time::advance(Duration::from_secs(5)).await;
    let job = dialer.app.store.due_analyses(1).await.unwrap().remove(0);
    dialer.app.store.save_analysis(&job, analysis()).await.unwrap();
    let busy = dialer.dial().await;
    dialer.finish(&busy, ConversationStatus::Failed, &[]).await;
    tokio::time::advance(Duration::from_secs(DAY_S as u64)).await;
    let busy = dialer.dial().await;
    dialer.finish(&busy, ConversationStatus::Failed, &[]).await;
    dialer
}

async fn data(client: &Client, query: &str) -> Value {
    client
        .get(&format!("{ANALYTICS}?{query}"))
        .await
        .expect(200)
        .data()
        .clone()
}

fn numbers(data: &Value, field: &str) -> Vec<i64> {
    let rows = data["rows"].as_array().unwrap();
    rows.iter().map(|row| row[field].as_i64().unwrap()).collect()
}

#[tokio::test(start_paused = true)]
async fn ended_calls_are_counted_by_every_group() {
    let dialer = three_calls().await;
    let (client, agent, campaign) = (&dialer.app.client, &dialer.agent, dialer.campaign);
    assert_eq!(data(client, "").await["rows"], json!([]), "nothing is counted yet");
    count(&dialer).await;
    let day = START.unix_seconds();
    let first = json!({
        "startTimeUnix": day, "calls": 2, "answered": 1, "conversationDuration": 90,
        "outcomes": { "busy": 1, "completed": 1 }, "optOuts": 1, "sentiment": { "positive": 1 },
        "latencies": { "answers": 2, "p50Ms": 620, "p95Ms": 2_400 },
    });
    let second = json!({
        "startTimeUnix": day + DAY_S, "calls": 1, "answered": 0, "conversationDuration": 0,
        "outcomes": { "busy": 1 }, "optOuts": 0, "sentiment": {},
    });
    let expected = json!({
        "groupBy": "day", "startTimeUnix": day - 29 * DAY_S, "endTimeUnix": day + 2 * DAY_S, "complete": true,
        "rows": [second, first],
    });
    assert_eq!(data(client, "").await, expected);
    let list = client.get(CONVERSATIONS).await.expect(200);
    let medians: Vec<&Value> = list
        .data()
        .as_array()
        .unwrap()
        .iter()
        .map(|row| &row["latencyP50Ms"])
        .collect();
    assert_eq!(medians, [&Value::Null, &Value::Null, &json!(620)]);
    let hours = data(client, "groupBy=hour").await;
    assert_eq!(numbers(&hours, "startTimeUnix"), [day + DAY_S, day]);
    for (by, field, id) in [
        ("agent", "agentId", agent.clone()),
        ("version", "agentId", agent.clone()),
        ("campaign", "campaignId", campaign.to_string()),
    ] {
        let all = data(client, &format!("groupBy={by}")).await;
        assert_eq!(numbers(&all, "calls"), [3], "{by}");
        assert_eq!(all["rows"][0][field], id);
        let few = data(client, &format!("groupBy={by}&startedBefore={}", day + 1)).await;
        assert_eq!(numbers(&few, "calls"), [2], "{by}");
        let none = data(client, &format!("groupBy={by}&startedBefore={day}")).await;
        assert_eq!(none["rows"], json!([]), "{by}");
    }
    for (filter, found) in [
        (format!("agentId={agent}"), 2),
        (format!("campaignId={campaign}&agentId={agent}"), 2),
        (format!("agentId={}", AgentId::new()), 0),
        (format!("campaignId={}", CampaignId::new()), 0),
        (format!("startedAfter={}", day + DAY_S), 1),
    ] {
        assert_eq!(numbers(&data(client, &filter).await, "calls").len(), found, "{filter}");
    }
}

#[tokio::test(start_paused = true)]
async fn analytics_show_costs_by_the_list_with_which_calls_were_counted() {
    let dialer = three_calls().await;
    count(&dialer).await;
    let key = &dialer.app.client.key;
    for (list, cost) in [
        (prices(), json!({ "currency": "USD", "total": "0.028" })),
        (
            PriceList::parse(r#"{ "currency": "EUR", "prices": [] }"#).unwrap(),
            json!({ "currency": "EUR", "total": "0" }),
        ),
    ] {
        let rest_state = rest::RestState {
            prices: Some(Arc::new(list)),
            ..state(dialer.app.store.clone(), &FakeNode::default()).await
        };
        let routes = rest::with_envelope(rest::routes(rest_state));
        let (address, _shutdown, _server) = serve_router(routes, ServerLimits::default()).await;
        let client = Client::new(&format!("http://{address}"), key);
        assert_eq!(data(&client, "groupBy=agent").await["rows"][0]["cost"], cost);
    }
}

#[tokio::test(start_paused = true)]
async fn analytics_are_read_in_pages() {
    let dialer = three_calls().await;
    count(&dialer).await;
    let client = &dialer.app.client;
    let first = client.get(&format!("{ANALYTICS}?pageSize=1")).await.expect(200);
    assert_eq!(numbers(first.data(), "calls"), [1]);
    let cursor = first.text("/pagination/nextCursor");
    let second = client
        .get(&format!("{ANALYTICS}?pageSize=1&cursor={cursor}"))
        .await
        .expect(200);
    assert_eq!(numbers(second.data(), "calls"), [2]);
    assert_eq!(second.body["pagination"]["hasMore"], json!(false));
    let other = format!("{ANALYTICS}?groupBy=hour&cursor={cursor}");
    assert_eq!(client.get(&other).await.expect(400).fields()[0].1, "invalid_cursor");
}

#[tokio::test(start_paused = true)]
async fn problems_of_analytics_parameters_name_the_way_out() {
    let app = TestApp::start().await;
    let bad = "groupBy=week&startedAfter=x&startedBefore=-1&campaignId=1&agentId=1&timeZone=UTC";
    let answer = app.client.get(&format!("{ANALYTICS}?{bad}")).await.expect(400);
    assert_eq!(answer.fields().len(), 6, "{:?}", answer.fields());
    let start = START.unix_seconds();
    for (by, days) in [("hour", 31), ("day", 366), ("agent", 366)] {
        let ask = async |seconds: i64| {
            let until = start + days * DAY_S + seconds;
            let path = format!("{ANALYTICS}?groupBy={by}&startedAfter={start}&startedBefore={until}");
            app.client.get(&path).await
        };
        ask(0).await.expect(200);
        let answer = ask(1).await.expect(400);
        let (field, problem) = answer.fields().into_iter().next().unwrap();
        assert_eq!((field, problem), ("startedAfter", "out_of_range"));
        assert!(
            answer.body.to_string().contains(&format!("more than {days} days")),
            "{}",
            answer.body
        );
    }
    for extreme in [
        "startedAfter=9000000000000000",
        "startedBefore=0",
        "startedAfter=0&startedBefore=0",
    ] {
        app.client.get(&format!("{ANALYTICS}?{extreme}")).await.expect(200);
    }
}
