//! Tests of the account's server-sent events: new events, resumption without gaps or duplicates, filters.

use std::{collections::BTreeSet, time::Duration};

use domain::{
    api_key::generate_key,
    ports::store::{ApiKeyStore, StoreError},
};
use rest::{AccountEvents, server::ServerLimits};
use serde_json::{Value, json};

use super::campaign_events::{Event, Reader};
use support::{
    app::{TestApp, serve_router, state},
    client::Client,
    contract::problems,
    switchboard::FakeNode,
};

const PATH: &str = "/public/v1/events";
const NOBODYS: &str = "0198d1a0-0000-7000-8000-00000000000a";

/// Adds numbers to the do-not-call list, one event each.
async fn opt_out(client: &Client, numbers: std::ops::Range<u32>) {
    for n in numbers {
        let body = json!({ "phoneNumber": format!("+1555{n:07}") });
        client.post("/public/v1/do-not-call", body).await.expect(201);
    }
}

async fn events(reader: &mut Reader, count: usize) -> Vec<Event> {
    let mut events = Vec::new();
    let schema = json!({ "$ref": "#/components/schemas/AccountEvent" });
    while events.len() < count {
        let event = reader.event().await.unwrap();
        let problems = problems("AccountEvent", &schema, &event.data);
        assert!(problems.is_empty(), "{problems:#?}\n{}", event.data);
        events.push(event);
    }
    events
}

fn ids(events: &[Event]) -> Vec<&str> {
    events.iter().map(|event| event.id.as_str()).collect()
}

#[tokio::test(start_paused = true)]
async fn a_reader_gets_what_happens_from_now_on_in_its_account() {
    let app = TestApp::start().await;
    opt_out(&app.client, 0..1).await;
    let mut reader = Reader::at(&app.client, PATH, None).await;
    opt_out(&app.stranger().await, 1..2).await;
    let agent = app.agent().await;
    let body = json!({ "name": "Spring", "agentId": agent, "contacts": [{ "phoneNumber": "+15550000009" }],
                       "launch": true });
    let made = app.client.post("/public/v1/campaigns", body).await.expect(201);
    let campaign = made.text("/data/campaignId");
    let seen = events(&mut reader, 2).await;
    let names: Vec<_> = seen.iter().map(|event| event.name.as_str()).collect();
    assert_eq!(names, ["campaign.draft", "campaign.running"]);
    let data = &seen[1].data;
    assert_eq!(data["type"], "campaign.running");
    assert!(data["timestamp"].as_str().unwrap().ends_with('Z'));
    assert_eq!(
        data["data"],
        json!({ "campaignId": campaign, "agentId": agent, "previousStatus": "draft", "status": "running" })
    );
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_comes_back_gets_each_event_once() {
    let app = TestApp::start().await;
    let mut reader = Reader::at(&app.client, PATH, None).await;
    opt_out(&app.client, 0..3).await;
    let first = events(&mut reader, 3).await;
    // More than a page, and more than the channel's capacity.
    opt_out(&app.client, 3..1_203).await;
    let mut again = Reader::at(&app.client, PATH, Some(&first[1].id)).await;
    let caught_up = events(&mut again, 1_201).await;
    assert_eq!(caught_up[0].id, first[2].id);
    let slow = events(&mut reader, 1_200).await;
    assert_eq!(ids(&slow), ids(&caught_up[1..]));
    opt_out(&app.client, 1_203..1_204).await;
    let last = (events(&mut reader, 1).await, events(&mut again, 1).await);
    assert_eq!(ids(&last.0), ids(&last.1));
    let all: BTreeSet<_> = ids(&first).into_iter().chain(ids(&slow)).collect();
    assert_eq!(all.len(), 1_203);
    let (place, id) = first[1].id.split_once('.').unwrap();
    // The place decides, so an erased event is as good as any.
    let erased = format!("{place}.{NOBODYS}");
    let mut after_erased = Reader::at(&app.client, PATH, Some(&erased)).await;
    assert_eq!(events(&mut after_erased, 1).await[0].id, first[2].id);
    // Far ahead is as now.
    let mut ahead = Reader::at(&app.client, PATH, Some(&format!("{}.{NOBODYS}", i64::MAX))).await;
    // Nothing of two pages is wanted.
    let path = format!("{PATH}?type=campaign.*");
    let mut filtered = Reader::at(&app.client, &path, Some(&first[0].id)).await;
    let agent = app.agent().await;
    let body = json!({ "name": "Spring", "agentId": agent, "contacts": [{ "phoneNumber": "+15550000009" }] });
    app.client.post("/public/v1/campaigns", body).await.expect(201);
    let last = (events(&mut filtered, 1).await, events(&mut reader, 1).await);
    assert_eq!(ids(&last.0), ids(&last.1));
    assert_eq!(ids(&events(&mut ahead, 1).await), ids(&last.1));
    for odd in [
        "' OR 1=1 --",
        id,
        place,
        &format!("-{erased}"),
        &format!("0.{id}"),
        "1.x",
    ] {
        let request = app.client.request("GET", PATH).header("last-event-id", odd);
        let refused = support::client::send(request).await.expect(400);
        assert_eq!(refused.fields(), [("Last-Event-ID", "invalid_value")], "{odd}");
    }
    // Taken for absent, these would silently lose what happened since.
    let asked = || app.client.request("GET", PATH);
    for request in [
        asked().header("last-event-id", &b"1.\xff"[..]),
        asked().header("last-event-id", id).header("last-event-id", id),
    ] {
        let refused = support::client::send(request).await.expect(400);
        assert_eq!(refused.fields(), [("Last-Event-ID", "invalid_value")]);
    }
}

#[tokio::test(start_paused = true)]
async fn the_stop_of_the_service_ends_streams_after_their_events_and_another_goes_on() {
    let app = TestApp::start().await;
    let mut reader = Reader::at(&app.client, PATH, None).await;
    opt_out(&app.client, 0..2).await;
    app.node.stop();
    let seen = events(&mut reader, 2).await;
    assert_eq!(reader.event().await, None);
    opt_out(&app.client, 2..3).await;
    let router = rest::router(state(app.store.clone(), &FakeNode::default()).await);
    let (address, _shutdown, _server) = serve_router(router, ServerLimits::default()).await;
    let client = Client::new(&format!("http://{address}"), &app.client.key);
    let mut reader = Reader::at(&client, PATH, Some(&seen[0].id)).await;
    let rest = events(&mut reader, 2).await;
    assert_eq!(rest[0], seen[1]);
}

#[tokio::test(start_paused = true)]
async fn a_reader_gets_only_what_it_asks_for() {
    let app = TestApp::start().await;
    let agent = app.agent().await;
    let made = async |name: &str| {
        let body = json!({ "name": name, "agentId": agent, "contacts": [{ "phoneNumber": "+15550000009" }] });
        let made = app.client.post("/public/v1/campaigns", body).await.expect(201);
        made.text("/data/campaignId")
    };
    let (one, two) = (made("One").await, made("Two").await);
    let paths = [
        format!("{PATH}?campaignId={one}"),
        format!("{PATH}?agentId={agent}&type=campaign.running"),
        format!("{PATH}?type=campaign.stopped,contact.*"),
    ];
    let mut readers = Vec::new();
    for path in &paths {
        readers.push(Reader::at(&app.client, path, None).await);
    }
    for campaign in [&one, &two] {
        for command in ["launch", "stop"] {
            let path = format!("/public/v1/campaigns/{campaign}/{command}");
            app.client.post(&path, json!({})).await.expect(200);
        }
    }
    opt_out(&app.client, 0..1).await;
    app.node.stop();
    let mut seen = Vec::new();
    for mut reader in readers {
        let mut names = Vec::new();
        while let Some(event) = reader.event().await {
            let of = if event.data["data"]["campaignId"] == json!(one) {
                1
            } else {
                2
            };
            names.push((event.name, of));
        }
        seen.push(names);
    }
    let named = |events: &[(&str, i32)]| -> Vec<(String, i32)> {
        events.iter().map(|(name, of)| ((*name).to_owned(), *of)).collect()
    };
    assert_eq!(seen[0], named(&[("campaign.running", 1), ("campaign.stopped", 1)]));
    assert_eq!(seen[1], named(&[("campaign.running", 1), ("campaign.running", 2)]));
    assert_eq!(
        seen[2],
        named(&[
            ("campaign.stopped", 1),
            ("campaign.stopped", 2),
            ("contact.opted_out", 2)
        ])
    );
}

#[tokio::test(start_paused = true)]
async fn bad_filters_are_refused() {
    let app = TestApp::start().await;
    let foreign = {
        let eve = app.stranger().await;
        let body = json!({ "name": "Eve", "conversationConfig": { "agent": { "prompt": { "prompt": "x" } } } });
        eve.post("/public/v1/agents/create", body)
            .await
            .expect(201)
            .text("/data/agentId")
    };
    for (query, field, code) in [
        ("type=call.ende", "type", "invalid_value"),
        ("type=call.ended,,", "type", "invalid_value"),
        ("type=", "type", "invalid_value"),
        ("type=webhook.test", "type", "invalid_value"),
        ("type=call.ended&type=call.started", "type", "repeated"),
        ("type=%00", "type", "invalid_value"),
        ("campaignId=1", "campaignId", "invalid_value"),
        ("agentId=%27%20OR%201=1", "agentId", "invalid_value"),
        ("types=call.ended", "types", "unknown_parameter"),
    ] {
        let refused = app.client.get(&format!("{PATH}?{query}")).await.expect(400);
        assert_eq!(refused.fields(), [(field, code)], "{query}");
    }
    for filter in ["agentId", "campaignId"] {
        let refused = app.client.get(&format!("{PATH}?{filter}={foreign}")).await.expect(400);
        assert_eq!(refused.fields(), [(filter, "not_found")]);
    }
}

#[tokio::test(start_paused = true)]
async fn streams_leave_half_of_the_connections_to_others() {
    let app = TestApp::start().await;
    let mut state = state(app.store.clone(), &FakeNode::default()).await;
    state.account_events = AccountEvents::new(4);
    let limits = ServerLimits {
        connections: 4,
        ..ServerLimits::default()
    };
    let (address, _shutdown, _server) = serve_router(rest::router(state), limits).await;
    let client = Client::new(&format!("http://{address}"), &app.client.key);
    let mut open = Vec::new();
    for _ in 0..2 {
        open.push(Reader::at(&client, PATH, None).await);
    }
    let refused = client.get(PATH).await.expect(503);
    assert_eq!(refused.code(), "unavailable");
    client.get("/public/v1/me").await.expect(200);
    drop(open);
}

#[tokio::test(start_paused = true)]
async fn a_replaced_key_ends_its_streams_and_an_outage_does_not() {
    let app = TestApp::start().await;
    let mut reader = Reader::at(&app.client, PATH, None).await;
    app.store.fail_with(Some(StoreError::Unavailable("x".into())));
    tokio::time::sleep(Duration::from_secs(60)).await;
    app.store.fail_with(None);
    opt_out(&app.client, 0..1).await;
    assert_eq!(events(&mut reader, 1).await[0].name, "contact.opted_out");
    let new = generate_key().1;
    app.store.replace_api_key(&app.account.email, new, None).await.unwrap();
    assert_eq!(reader.event().await, None);
}

#[tokio::test(start_paused = true)]
async fn a_quiet_stream_shows_that_it_lives_and_says_nothing_of_others() {
    let app = TestApp::start().await;
    let mut reader = Reader::at(&app.client, PATH, None).await;
    assert!(reader.block().await.unwrap().starts_with("retry: "));
    opt_out(&app.stranger().await, 0..1).await;
    let before = tokio::time::Instant::now();
    assert_eq!(reader.block().await.unwrap(), ":");
    assert!(before.elapsed() >= Duration::from_secs(14));
    assert_eq!(
        app.client.get("/public/v1/me").await.expect(200).data()["email"],
        Value::from("ada@example.com")
    );
}
