//! Tests of a campaign's server-sent events: the current state first, then every change, and no final state lost.

use std::{pin::Pin, time::Duration};

use domain::api_key::generate_key;
use domain::{
    id::{CampaignId, NodeId},
    ports::store::{
        ApiKeyStore, AttemptStore, CampaignStatus, CampaignStore, Claim, ConversationStatus, NodeStore, Outcome,
        PermitRequest, StateChange, StoreError,
    },
};
use futures_util::{Stream, StreamExt};
use rest::server::ServerLimits;
use serde_json::{Value, json};

use support::{
    app::{TestApp, serve_router, state},
    client::Client,
    switchboard::FakeNode,
};

/// An event; a comment has no name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Event {
    pub name: String,
    pub id: String,
    pub data: Value,
}

/// Reader of a stream, event by event.
pub struct Reader {
    bytes: Pin<Box<dyn Stream<Item = reqwest::Result<bytes::Bytes>> + Send>>,
    text: String,
}

impl Reader {
    async fn open(client: &Client, campaign: CampaignId, last: Option<&str>) -> Self {
        Self::at(client, &format!("/public/v1/campaigns/{campaign}/events"), last).await
    }

    pub async fn at(client: &Client, path: &str, last: Option<&str>) -> Self {
        let mut request = client.request("GET", path);
        if let Some(last) = last {
            request = request.header("last-event-id", last);
        }
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self {
            bytes: Box::pin(response.bytes_stream()),
            text: String::new(),
        }
    }

    /// Returns the next block, including comments, or `None` at a clean end.
    pub async fn block(&mut self) -> Option<String> {
        loop {
            if let Some((block, rest)) = self.text.split_once("\n\n") {
                let (block, rest) = (block.to_owned(), rest.to_owned());
                self.text = rest;
                return Some(block);
            }
            let piece = self.bytes.next().await?.unwrap();
            self.text.push_str(std::str::from_utf8(&piece).unwrap());
        }
    }

    pub async fn event(&mut self) -> Option<Event> {
        loop {
            let block = self.block().await?;
            let mut event = Event::default();
            for line in block.lines() {
                match line.split_once(": ") {
                    Some(("event", name)) => event.name = name.to_owned(),
                    Some(("id", id)) => event.id = id.to_owned(),
                    Some(("data", data)) => event.data = serde_json::from_str(data).unwrap(),
                    _ => {}
                }
            }
            if !event.name.is_empty() {
                return Some(event);
            }
        }
    }

    /// Reads until the campaign event with this status.
    async fn until(&mut self, status: &str) -> Vec<Event> {
        let mut events = Vec::new();
        loop {
            let event = self.event().await.unwrap();
            let there = event.name == "campaign" && event.data["status"] == status;
            events.push(event);
            if there {
                return events;
            }
        }
    }
}

async fn launched(app: &TestApp, contacts: u64) -> (CampaignId, NodeId) {
    let agent = app.agent().await;
    let contacts: Value = (0..contacts)
        .map(|n| json!({ "phoneNumber": format!("+1555{n:07}"), "name": format!("N{n}") }))
        .collect();
    let body = json!({ "name": "Spring", "agentId": agent, "contacts": contacts, "launch": true });
    let made = app.client.post("/public/v1/campaigns", body).await.expect(201);
    let node = NodeId::new();
    app.store.register_node(node, None).await.unwrap();
    (made.text("/data/campaignId").parse().unwrap(), node)
}

async fn dial(app: &TestApp, node: NodeId, campaign: CampaignId) -> Claim {
    let claim = app.store.claim(node, campaign, 1).await.unwrap()[0].claim;
    let request = PermitRequest {
        carrier: "simulated".into(),
        caller_id: None,
        agent_version: None,
        restricted_prefixes: Vec::new(),
    };
    app.store.permit(claim, request).await.unwrap();
    claim
}

async fn end(app: &TestApp, claim: Claim, status: ConversationStatus) {
    let outcome = Outcome {
        status,
        error: None,
        voicemail: false,
        transferred: false,
        collected: Default::default(),
        times: Default::default(),
        facts_follow: false,
        refusal: None,
    };
    app.store.finish(claim, outcome, None).await.unwrap();
}

/// Returns the conversations of these events with their status.
fn conversations(events: &[Event]) -> Vec<(String, String)> {
    let conversations = events.iter().filter(|event| event.name == "conversation");
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    conversations
        .map(|event| (text(&event.data["conversationId"]), text(&event.data["status"])))
        .collect()
}

fn seen(claim: Claim, status: &str) -> (String, String) {
    (claim.attempt.to_string(), status.to_owned())
}

#[tokio::test(start_paused = true)]
async fn a_new_reader_gets_the_present_state_and_then_every_change() {
    let app = TestApp::start().await;
    let (campaign, node) = launched(&app, 3).await;
    let first = dial(&app, node, campaign).await;
    let mut reader = Reader::open(&app.client, campaign, None).await;
    let shown = reader.event().await.unwrap();
    assert_eq!(shown.name, "campaign");
    assert_eq!(
        shown.data,
        json!({
            "campaignId": campaign, "status": "running", "active": true, "scheduled": false, "nextRunAt": null,
            "startIndex": 1, "contactCount": 3,
            "progress": { "pending": 2, "inProgress": 1, "completed": 0, "failed": 0, "cancelled": 0, "voicemail": 0 },
        })
    );
    let shown = reader.event().await.unwrap();
    assert_eq!(shown.name, "conversation");
    assert_eq!(
        shown.data,
        json!({
            "conversationId": first.attempt, "status": "in_progress",
            "contact": { "phoneNumber": "+15550000000", "name": "N0", "contactId": null },
            "contactName": "N0", "variables": {},
        })
    );
    end(&app, first, ConversationStatus::Completed).await;
    let second = dial(&app, node, campaign).await;
    let mut events = Vec::new();
    while events.len() < 3 {
        events.push(reader.event().await.unwrap());
    }
    let mut changes = conversations(&events);
    changes.sort();
    let mut expected = [seen(first, "completed"), seen(second, "in_progress")];
    expected.sort();
    assert_eq!(changes, expected);
    assert_eq!(events[2].name, "campaign");
    assert_eq!(events[2].data["progress"]["completed"], 1);
    assert_eq!(events[2].data["progress"]["inProgress"], 1);
}

#[tokio::test(start_paused = true)]
async fn a_campaigns_last_word_comes_after_every_outcome() {
    let app = TestApp::start().await;
    let (campaign, node) = launched(&app, 4).await;
    let mut reader = Reader::open(&app.client, campaign, None).await;
    reader.event().await.unwrap();
    let mut claims = Vec::new();
    for _ in 0..4 {
        claims.push(dial(&app, node, campaign).await);
    }
    tokio::time::sleep(Duration::from_secs(3)).await;
    for claim in &claims {
        end(&app, *claim, ConversationStatus::Failed).await;
    }
    let path = format!("/public/v1/campaigns/{campaign}/stop");
    app.client.post(&path, json!({})).await.expect(200);
    let events = reader.until("stopped").await;
    let last: std::collections::BTreeMap<_, _> = conversations(&events).into_iter().collect();
    let expected = claims.iter().map(|claim| seen(*claim, "failed")).collect();
    assert_eq!(last, expected);
    let progress = &events.last().unwrap().data["progress"];
    assert_eq!((&progress["failed"], &progress["inProgress"]), (&json!(4), &json!(0)));
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_comes_back_to_a_restarted_service_misses_nothing() {
    let app = TestApp::start().await;
    let (campaign, node) = launched(&app, 3).await;
    let first = dial(&app, node, campaign).await;
    let mut reader = Reader::open(&app.client, campaign, None).await;
    let last = (reader.event().await.unwrap(), reader.event().await.unwrap()).1;
    // A shutdown ends the stream without an error, after the pending events.
    end(&app, first, ConversationStatus::Completed).await;
    app.node.stop();
    let mut rest = Vec::new();
    while let Some(event) = reader.event().await {
        rest.push(event);
    }
    assert_eq!(conversations(&rest), [seen(first, "completed")]);

    let second = dial(&app, node, campaign).await;
    end(&app, second, ConversationStatus::Failed).await;
    let router = rest::router(state(app.store.clone(), &FakeNode::default()).await);
    let (address, _shutdown, _server) = serve_router(router, ServerLimits::default()).await;
    let again = Client::new(&format!("http://{address}"), &app.client.key);
    let mut reader = Reader::open(&again, campaign, Some(&last.id)).await;
    let events = reader.until("running").await;
    let changes = conversations(&events);
    assert!(changes.contains(&seen(first, "completed")), "{changes:?}");
    assert!(changes.contains(&seen(second, "failed")), "{changes:?}");
    // An invalid event id counts as none.
    let mut reader = Reader::open(&again, campaign, Some("x")).await;
    assert_eq!(reader.event().await.unwrap().name, "campaign");
}

#[tokio::test(start_paused = true)]
async fn a_quiet_stream_shows_that_it_lives() {
    let app = TestApp::start().await;
    let (campaign, _) = launched(&app, 1).await;
    let mut reader = Reader::open(&app.client, campaign, None).await;
    assert!(reader.block().await.unwrap().starts_with("retry: "));
    assert!(reader.block().await.unwrap().starts_with("event: campaign"));
    let before = tokio::time::Instant::now();
    assert_eq!(reader.block().await.unwrap(), ":");
    assert!(before.elapsed() >= Duration::from_secs(14));
}

#[tokio::test(start_paused = true)]
async fn a_replaced_key_ends_the_stream() {
    let app = TestApp::start().await;
    let (campaign, _) = launched(&app, 1).await;
    let mut reader = Reader::open(&app.client, campaign, None).await;
    reader.event().await.unwrap();
    app.store
        .replace_api_key(&app.account.email, generate_key().1, None)
        .await
        .unwrap();
    assert_eq!(reader.event().await, None);
}

#[tokio::test(start_paused = true)]
async fn readers_are_bounded_for_each_account() {
    let app = TestApp::start().await;
    let (campaign, _) = launched(&app, 1).await;
    let mut readers = Vec::new();
    for _ in 0..50 {
        readers.push(Reader::open(&app.client, campaign, None).await);
    }
    let path = format!("/public/v1/campaigns/{campaign}/events");
    let refused = app.client.get(&path).await.expect(503);
    assert!(refused.headers.contains_key("retry-after"));
    drop(readers);
    // The server notices when it next writes to them.
    tokio::time::sleep(Duration::from_secs(40)).await;
    Reader::open(&app.client, campaign, None).await;
    app.stranger().await.get(&path).await.expect(404);
    let refused = app.client.get(&format!("{path}?since=1")).await.expect(400);
    assert_eq!(refused.fields(), [("since", "unknown_parameter")]);
}

#[tokio::test(start_paused = true)]
async fn a_deleted_campaign_ends_its_streams() {
    let app = TestApp::start().await;
    let (campaign, _) = launched(&app, 1).await;
    let mut reader = Reader::open(&app.client, campaign, None).await;
    reader.event().await.unwrap();
    let path = format!("/public/v1/campaigns/{campaign}");
    app.client.post(&format!("{path}/stop"), json!({})).await.expect(200);
    app.client.delete(&path).await.expect(200);
    while reader.event().await.is_some() {}
    app.client.get(&format!("{path}/events")).await.expect(404);
}

#[tokio::test(start_paused = true)]
async fn a_stream_outlives_an_outage_of_the_database() {
    let app = TestApp::start().await;
    let (campaign, node) = launched(&app, 2).await;
    let claim = dial(&app, node, campaign).await;
    let mut reader = Reader::open(&app.client, campaign, None).await;
    assert_eq!(reader.event().await.unwrap().name, "campaign");
    assert_eq!(reader.event().await.unwrap().name, "conversation");
    app.store.fail_with(Some(StoreError::Unavailable("x".into())));
    tokio::time::sleep(Duration::from_secs(60)).await;
    app.store.fail_with(None);
    end(&app, claim, ConversationStatus::Completed).await;
    let event = reader.event().await.unwrap();
    assert_eq!(conversations(&[event]), [seen(claim, "completed")]);
}

#[tokio::test(start_paused = true)]
async fn a_delayed_campaign_says_why() {
    let app = TestApp::start().await;
    let (campaign, _) = launched(&app, 1).await;
    let mut reader = Reader::open(&app.client, campaign, None).await;
    let running = reader.until("running").await;
    assert_eq!(running[0].data["reason"], Value::Null);
    let row = app.store.campaign(app.account.id, campaign).await.unwrap();
    let why = "the text-to-speech provider is down: elevenlabs (401), since 2026-06-01T08:00:00Z";
    let change = StateChange {
        status: CampaignStatus::Delayed,
        active: true,
        scheduled: false,
        next_run_at: None,
        opens_from: None,
        closes_at: None,
        reason: Some(why.into()),
        cancel_waiting: false,
    };
    app.store.change_state(campaign, row.version, change).await.unwrap();
    let delayed = reader.until("delayed").await;
    assert_eq!(delayed.last().unwrap().data["reason"], why);
}
