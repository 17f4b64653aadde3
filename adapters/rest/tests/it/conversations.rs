//! Tests of conversations: the results of attempts, filtered and in stable pages.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use domain::ports::usage::USAGE;
use domain::{
    id::{AttemptId, CampaignId, NodeId},
    ports::{
        carrier::CarrierCallId,
        language_model::Speaker,
        store::{
            Analysis, AttemptStore, CallerId, ClaimedAttempt, ConversationStatus, EventFact, Fact, KeyMoment,
            NodeStore, Outcome, Permit, PermitRequest, RecordStore, Sentiment, SentimentLabel, TurnFact, TurnSentiment,
            WORKFLOW_HOP,
        },
    },
    prices::PriceList,
    time::{Clock as _, TokioClock},
};
use rest::server::ServerLimits;
use serde_json::{Value, json};
use storage::retention::{self, Kept};

use support::{
    app::{START, TestApp, serve_router, state},
    client::Client,
    switchboard::FakeNode,
};

pub const CONVERSATIONS: &str = "/public/v1/conversations";

/// An account with a running campaign.
pub struct Dialer {
    pub app: TestApp,
    node: NodeId,
    pub agent: String,
    pub campaign: CampaignId,
    clock: TokioClock,
}

impl Dialer {
    pub async fn start(contacts: u64) -> Self {
        let clock = TokioClock::starting_at(START);
        let app = TestApp::start().await;
        let agent = app.agent().await;
        let entities = json!({ "zip": { "type": "integer" }, "city": { "type": "string" } });
        let patch = json!({ "platformSettings": { "dataCollection": { "entities": entities } } });
        app.client
            .patch(&format!("/public/v1/agents/{agent}"), patch)
            .await
            .expect(200);
        let contacts: Vec<Value> = (0..contacts)
            .map(|n| json!({ "phoneNumber": format!("+1555{n:07}") }))
            .collect();
        let body = json!({ "name": "c", "agentId": agent, "contacts": contacts, "launch": true });
        let made = app.client.post("/public/v1/campaigns", body).await.expect(201);
        let node = NodeId::new();
        app.store.register_node(node, None).await.unwrap();
        Self {
            campaign: made.text("/data/campaignId").parse().unwrap(),
            app,
            node,
            agent,
            clock,
        }
    }

    /// Dials the next contact after one second.
    pub async fn dial(&self) -> ClaimedAttempt {
        tokio::time::advance(Duration::from_secs(1)).await;
        let attempt = self
            .app
            .store
            .claim(self.node, self.campaign, 1)
            .await
            .unwrap()
            .remove(0);
        let request = PermitRequest {
            carrier: "simulated".into(),
            caller_id: Some(CallerId::Fixed("+15559999999".to_owned().try_into().unwrap())),
            agent_version: None,
            restricted_prefixes: Vec::new(),
        };
        let permit = self.app.store.permit(attempt.claim, request).await.unwrap();
        assert!(matches!(permit, Permit::Granted { .. }));
        let call = CarrierCallId(attempt.claim.attempt.to_string());
        self.app.store.dialed(attempt.claim, &call).await.unwrap();
        attempt
    }

    async fn answer(&self, attempt: &ClaimedAttempt) {
        let now = self.clock.now();
        self.app.store.answered(attempt.claim, now).await.unwrap();
    }

    pub async fn finish(&self, attempt: &ClaimedAttempt, status: ConversationStatus, collected: &[(&str, &str)]) {
        let error = (status == ConversationStatus::Failed).then(|| "busy".to_owned());
        let collected = collected.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
        let outcome = Outcome {
            status,
            error,
            voicemail: false,
            transferred: false,
            collected: collected.collect::<BTreeMap<_, _>>(),
            times: Default::default(),
            facts_follow: false,
            refusal: None,
        };
        self.app.store.finish(attempt.claim, outcome, None).await.unwrap();
    }

    /// Answers and talks for 90 s.
    pub async fn talk(&self, attempt: &ClaimedAttempt) {
        self.answer(attempt).await;
        let turn = |seq, speaker, text: &str| {
            let fact = TurnFact {
                seq,
                speaker,
                text: text.into(),
                started_ms: seq * 1000,
                ended_ms: seq * 1000 + 900,
                interrupted: false,
                damaged: false,
                detail: Default::default(),
            };
            (attempt.claim.attempt, Fact::Turn(fact))
        };
        let event = EventFact {
            name: "built_in_tool".into(),
            at_ms: 1,
            detail: r#"{"arguments":{"name":"Ada"}}"#.into(),
        };
        let facts = [
            turn(0, Speaker::Agent, "Hello,\n Ada."),
            turn(1, Speaker::User, "Hi."),
            (attempt.claim.attempt, Fact::Event(event)),
        ];
        self.app.store.append_facts(&facts).await.unwrap();
        tokio::time::advance(Duration::from_secs(90)).await;
        self.finish(
            attempt,
            ConversationStatus::Completed,
            &[("city", "Bonn"), ("zip", "53111")],
        )
        .await;
    }

    pub async fn ids(&self, query: &str) -> Vec<String> {
        let answer = self
            .app
            .client
            .get(&format!("{CONVERSATIONS}?{query}"))
            .await
            .expect(200);
        let items = answer.data().as_array().unwrap();
        items
            .iter()
            .map(|item| item["conversationId"].as_str().unwrap().to_owned())
            .collect()
    }
}

pub fn analysis() -> Analysis {
    Analysis {
        summary: "Ada gave her city.".into(),
        sentiment: Sentiment {
            sentiment_score: 0.5,
            sentiment_by_turn: vec![TurnSentiment {
                text: "Hi.".into(),
                sentiment_label: SentimentLabel::Positive,
                speaker: Speaker::User,
                sentiment_score: 0.5,
            }],
            sentiment_overall: SentimentLabel::Positive,
        },
        key_moments: vec![KeyMoment {
            text: "Hi.".into(),
            label: "greeting".into(),
            speaker: Speaker::User,
            timestamp: "00:01".into(),
        }],
        ..Analysis::of_summary(String::new())
    }
}

#[tokio::test(start_paused = true)]
async fn a_conversation_is_read_whole_once_it_is_analysed() {
    let dialer = Dialer::start(1).await;
    let attempt = dialer.dial().await;
    let id = attempt.claim.attempt;
    let path = format!("{CONVERSATIONS}/{id}");
    let live = dialer.app.client.get(&path).await.expect(200);
    assert_eq!(live.data()["status"], "in_progress");
    for field in [
        "summary",
        "sentiment",
        "keyMoments",
        "endTimeUnix",
        "errorMessage",
        "transcript",
    ] {
        assert_eq!(live.data().get(field), None, "{field}");
    }
    dialer.talk(&attempt).await;
    let job = dialer.app.store.due_analyses(1).await.unwrap().remove(0);
    dialer.app.store.save_analysis(&job, analysis()).await.unwrap();
    let read = dialer.app.client.get(&path).await.expect(200);
    let started = START.unix_seconds() + 1;
    let owner = json!({ "userId": dialer.app.account.id.to_string(), "userEmail": "ada@example.com" });
    assert_eq!(read.data()["metadata"]["createdBy"], owner);
    assert_eq!(
        *read.data(),
        json!({
            "conversationId": id, "agentId": dialer.agent, "agentName": "Ann", "campaignId": dialer.campaign,
            "status": "completed", "direction": "outbound", "startTimeUnix": started, "endTimeUnix": started + 90,
            "conversationDuration": 90, "summary": "Ada gave her city.", "transcript": "Agent: Hello, Ada.\nUser: Hi.",
            "contactNumber": "+15550000000", "contactName": null, "variables": {}, "callerNumber": "+15559999999",
            "sentiment": {
                "sentiment_score": 0.5, "sentiment_overall": "positive",
                "sentiment_by_turn": [
                    { "text": "Hi.", "sentiment_label": "positive", "speaker": "user", "sentiment_score": 0.5 },
                ],
            },
            "keyMoments": [{ "text": "Hi.", "label": "greeting", "speaker": "user", "timestamp": "00:01" }],
            "analysedBy": "rules",
            "appointmentScheduled": {},
            "dataCollected": {
                "entity": "zip", "value": "53111",
                "items": [
                    { "entity": "zip", "value": "53111", "type": "integer", "confirmed": false, "evidence": null },
                    { "entity": "city", "value": "Bonn", "type": "string", "confirmed": false, "evidence": null },
                ],
            },
            "voiceMailDetected": false, "callTransferred": false, "carrier": "simulated",
            "metadata": read.data()["metadata"],
        })
    );
    let list = dialer.app.client.get(CONVERSATIONS).await.expect(200);
    let item = &list.data()[0];
    assert_eq!(item["summary"], "Ada gave her city.");
    assert_eq!(item["sentiment"], json!({ "sentiment_overall": "positive" }));
    assert_eq!(item.get("transcript"), None);
}

#[tokio::test(start_paused = true)]
async fn filters_choose_and_times_may_be_in_milliseconds() {
    let dialer = Dialer::start(3).await;
    let mut ids = Vec::new();
    for n in 0..3 {
        let attempt = dialer.dial().await;
        ids.push(attempt.claim.attempt.to_string());
        match n {
            0 => dialer.talk(&attempt).await,
            1 => dialer.finish(&attempt, ConversationStatus::Failed, &[]).await,
            _ => {}
        }
    }
    let newest_first: Vec<String> = ids.iter().rev().cloned().collect();
    assert_eq!(dialer.ids("").await, newest_first);
    assert_eq!(dialer.ids("status=failed").await, ids[1..2]);
    assert_eq!(dialer.ids("status=in_progress").await, ids[2..]);
    assert_eq!(dialer.ids("minDuration=90").await, ids[..1]);
    assert!(dialer.ids("minDuration=91").await.is_empty());
    assert_eq!(
        dialer
            .ids(&format!("agentId={}&campaignId={}", dialer.agent, dialer.campaign))
            .await
            .len(),
        3
    );
    assert!(
        dialer
            .ids(&format!("agentId={}", domain::id::AgentId::new()))
            .await
            .is_empty()
    );
    let second = START.unix_seconds() + 1 + 90 + 1;
    assert_eq!(dialer.ids(&format!("startedBefore={second}")).await, ids[..1]);
    assert_eq!(dialer.ids(&format!("startedAfter={second}")).await, ids[2..]);
    assert_eq!(
        dialer.ids(&format!("startedAfter={}", second * 1000 - 1)).await.len(),
        2
    );
    let bad = "status=x&startedBefore=-1&minDuration=1.5&agentId=1&campaignId=&startedAfter=now";
    let answer = dialer
        .app
        .client
        .get(&format!("{CONVERSATIONS}?{bad}"))
        .await
        .expect(400);
    assert_eq!(answer.fields().len(), 6, "{:?}", answer.fields());
}

#[tokio::test(start_paused = true)]
async fn pages_are_stable_and_a_cursor_is_bound_to_its_list() {
    let dialer = Dialer::start(12).await;
    let mut ids = Vec::new();
    for _ in 0..7 {
        ids.push(dialer.dial().await.claim.attempt.to_string());
    }
    let mut found = Vec::new();
    let mut query = "pageSize=3".to_owned();
    let mut cursor = String::new();
    loop {
        let page = dialer
            .app
            .client
            .get(&format!("{CONVERSATIONS}?{query}"))
            .await
            .expect(200);
        let items = page.data().as_array().unwrap();
        assert!(page.data().as_array().unwrap().len() <= 3);
        found.extend(
            items
                .iter()
                .map(|item| item["conversationId"].as_str().unwrap().to_owned()),
        );
        dialer.dial().await;
        let Some(next) = page.body["pagination"]["nextCursor"].as_str() else {
            break;
        };
        cursor = next.to_owned();
        query = format!("pageSize=3&cursor={cursor}");
    }
    ids.reverse();
    assert_eq!(found, ids);
    let damaged = format!("{}A", &cursor[..cursor.len() - 1]);
    for query in [
        format!("cursor={cursor}&status=failed"),
        "cursor=x".to_owned(),
        "cursor=".to_owned(),
        format!("cursor={damaged}A"),
        format!("cursor=x{cursor}"),
    ] {
        let answer = dialer
            .app
            .client
            .get(&format!("{CONVERSATIONS}?{query}"))
            .await
            .expect(400);
        assert_eq!(answer.fields(), [("cursor", "invalid_cursor")], "{query}");
    }
    let stranger = dialer.app.stranger().await;
    stranger
        .get(&format!("{CONVERSATIONS}?cursor={cursor}"))
        .await
        .expect(400);
}

#[tokio::test(start_paused = true)]
async fn the_list_is_sorted_and_counted_on_request() {
    let dialer = Dialer::start(3).await;
    let (mut ids, client) = (Vec::new(), &dialer.app.client);
    for seconds in [30, 0, 10] {
        let attempt = dialer.dial().await;
        ids.push(attempt.claim.attempt.to_string());
        if seconds > 0 {
            dialer.answer(&attempt).await;
            tokio::time::advance(Duration::from_secs(seconds)).await;
        }
        dialer.finish(&attempt, ConversationStatus::Completed, &[]).await;
    }
    let [long, none, short] = [0, 1, 2].map(|at: usize| ids[at].clone());
    for (query, expected) in [
        ("sortBy=start_time&sortDirection=asc", vec![&long, &none, &short]),
        ("sortDirection=desc", vec![&short, &none, &long]),
        ("sortBy=duration", vec![&long, &short]),
        ("sortBy=duration&sortDirection=asc", vec![&short, &long]),
        ("sortBy=cost", vec![]),
    ] {
        let found = dialer.ids(query).await;
        assert_eq!(found.iter().collect::<Vec<_>>(), expected, "{query}");
        let mut paged = Vec::new();
        let mut cursor = String::new();
        loop {
            let path = format!("{CONVERSATIONS}?pageSize=1&include=total&{query}{cursor}");
            let page = client.get(&path).await.expect(200);
            assert_eq!(page.body["pagination"]["total"], expected.len(), "{query}");
            assert_eq!(page.body["pagination"].get("totalIsAtLeast"), None);
            paged.extend(
                page.data()
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|item| item["conversationId"].clone()),
            );
            match page.body["pagination"]["nextCursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => break,
            }
        }
        assert_eq!(json!(paged), json!(found), "{query}");
    }
    for (query, total) in [("tag=nobody", Some(json!(0))), ("hasRecording=true", None)] {
        let page = client
            .get(&format!("{CONVERSATIONS}?include=total&{query}"))
            .await
            .expect(200);
        assert_eq!(page.body["pagination"].get("total"), total.as_ref());
    }
    for (query, field) in [
        ("sortBy=name", "sortBy"),
        ("search=visit&sortBy=duration", "sortBy"),
        ("search=visit&sortDirection=asc", "sortDirection"),
        ("include=turns", "include"),
    ] {
        let refused = client.get(&format!("{CONVERSATIONS}?{query}")).await.expect(400);
        assert_eq!(refused.text("/error/fields/0/path"), field, "{query}");
    }
}

#[tokio::test(start_paused = true)]
async fn filters_combine_and_their_bounds_are_exclusive() {
    let dialer = Dialer::start(4).await;
    let mut ids = Vec::new();
    for _ in 0..4 {
        let attempt = dialer.dial().await;
        ids.push(attempt.claim.attempt.to_string());
        dialer.finish(&attempt, ConversationStatus::Failed, &[]).await;
    }
    let second = |n: i64| START.unix_seconds() + 1 + n;
    let between = |after: i64, before: i64| format!("startedAfter={after}&startedBefore={before}");
    assert_eq!(
        dialer.ids(&between(second(0), second(3))).await,
        [ids[2].clone(), ids[1].clone()]
    );
    let millis = between(second(0) * 1_000, second(3) * 1_000);
    assert_eq!(dialer.ids(&millis).await, [ids[2].clone(), ids[1].clone()]);
    assert!(dialer.ids(&between(second(1), second(1))).await.is_empty());
    assert!(
        dialer
            .ids(&format!("{}&status=completed", between(0, second(9))))
            .await
            .is_empty()
    );
    assert_eq!(dialer.ids("status=failed&minDuration=0&pageSize=100").await.len(), 4);
    assert!(dialer.ids("status=failed&minDuration=1").await.is_empty());
    // Nothing overflows, and unknown parameters are named.
    assert_eq!(dialer.ids("startedBefore=9223372036854775").await.len(), 4);
    assert!(dialer.ids("minDuration=9223372036854775807").await.is_empty());
    for (query, field) in [
        ("pageSize=0", ("pageSize", "out_of_range")),
        ("pageSize=101", ("pageSize", "out_of_range")),
        ("pageSize=x", ("pageSize", "out_of_range")),
        ("pagesize=1", ("pagesize", "unknown_parameter")),
        ("status=failed&status=completed", ("status", "repeated")),
        ("startedBefore=9223372036854775807", ("startedBefore", "invalid_value")),
    ] {
        let answer = dialer
            .app
            .client
            .get(&format!("{CONVERSATIONS}?{query}"))
            .await
            .expect(400);
        assert_eq!(answer.fields(), [field], "{query}");
    }
    let page = dialer.app.client.get(CONVERSATIONS).await.expect(200);
    assert_eq!(page.body["pagination"], json!({ "pageSize": 30, "hasMore": false }));
}

#[tokio::test(start_paused = true)]
async fn a_list_item_has_the_contracts_fields_campaign_and_numbers() {
    let dialer = Dialer::start(1).await;
    let attempt = dialer.dial().await;
    let list = dialer.app.client.get(CONVERSATIONS).await.expect(200);
    let item = &list.data()[0];
    assert_eq!(
        *item,
        json!({
            "conversationId": attempt.claim.attempt, "agentId": dialer.agent, "agentName": "Ann",
            "campaignId": dialer.campaign, "status": "in_progress", "direction": "outbound",
            "contactNumber": "+15550000000", "contactName": null, "variables": {}, "callerNumber": "+15559999999",
            "startTimeUnix": START.unix_seconds() + 1, "conversationDuration": 0, "voiceMailDetected": false,
            "callTransferred": false, "metadata": item["metadata"],
        })
    );
    let made = item["metadata"]["createdAt"].as_str().unwrap();
    assert_eq!(made, "2026-01-01T00:00:01.000000Z");
    // An unknown outcome may be anything, so it is shown as in progress.
    dialer.app.store.unknown(attempt.claim).await.unwrap();
    assert_eq!(dialer.ids("status=in_progress").await.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn every_status_of_a_conversation_is_read_and_filtered() {
    let dialer = Dialer::start(5).await;
    let mut ids = Vec::new();
    for status in [
        Some(ConversationStatus::Completed),
        Some(ConversationStatus::Cancelled),
        Some(ConversationStatus::Failed),
        None,
    ] {
        let attempt = dialer.dial().await;
        ids.push(attempt.claim.attempt.to_string());
        if let Some(status) = status {
            dialer.finish(&attempt, status, &[]).await;
        }
    }
    let waits = dialer.app.store.claim(dialer.node, dialer.campaign, 1).await.unwrap();
    ids.push(waits[0].claim.attempt.to_string());
    for (id, status) in ids
        .iter()
        .zip(["completed", "cancelled", "failed", "in_progress", "scheduled"])
    {
        assert_eq!(
            dialer.ids(&format!("status={status}")).await,
            std::slice::from_ref(id),
            "{status}"
        );
        let read = dialer
            .app
            .client
            .get(&format!("{CONVERSATIONS}/{id}"))
            .await
            .expect(200);
        assert_eq!(read.data()["status"], status);
    }
}

#[tokio::test(start_paused = true)]
async fn a_conversation_tells_of_its_error_a_mailbox_and_a_transfer() {
    let dialer = Dialer::start(2).await;
    for (status, error, flag) in [
        (ConversationStatus::Failed, Some("busy"), false),
        (ConversationStatus::Completed, None, true),
    ] {
        let attempt = dialer.dial().await;
        dialer.answer(&attempt).await;
        let outcome = Outcome {
            status,
            error: error.map(str::to_owned),
            voicemail: flag,
            transferred: flag,
            collected: BTreeMap::new(),
            times: Default::default(),
            facts_follow: false,
            refusal: None,
        };
        dialer.app.store.finish(attempt.claim, outcome, None).await.unwrap();
        let path = format!("{CONVERSATIONS}/{}", attempt.claim.attempt);
        let read = dialer.app.client.get(&path).await.expect(200);
        assert_eq!(read.data().get("errorMessage"), error.map(|text| json!(text)).as_ref());
        assert_eq!(
            (&read.data()["voiceMailDetected"], &read.data()["callTransferred"]),
            (&json!(flag), &json!(flag))
        );
        let list = dialer.app.client.get(CONVERSATIONS).await.expect(200);
        for field in ["errorMessage", "voiceMailDetected", "callTransferred"] {
            assert_eq!(list.data()[0].get(field), read.data().get(field), "{field}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn issues_are_told_of_a_call_whose_agent_tracked_them() {
    let dialer = Dialer::start(2).await;
    let attempt = dialer.dial().await;
    dialer.answer(&attempt).await;
    let turn = TurnFact {
        seq: 0,
        speaker: Speaker::User,
        text: "I … Bonn.".into(),
        started_ms: 65_900,
        ended_ms: 67_000,
        interrupted: false,
        damaged: true,
        detail: Default::default(),
    };
    let fact = (attempt.claim.attempt, Fact::Turn(turn));
    dialer.app.store.append_facts(&[fact]).await.unwrap();
    let path = format!("{CONVERSATIONS}/{}", attempt.claim.attempt);
    let agent = format!("/public/v1/agents/{}", dialer.agent);
    let track = json!({ "platformSettings": { "callActions": { "issueTracking": true } } });
    dialer.app.client.patch(&agent, track).await.expect(200);
    let live = dialer.app.client.get(&path).await.expect(200);
    assert_eq!(live.data().get("issues"), None);
    dialer.finish(&attempt, ConversationStatus::Failed, &[]).await;
    let read = dialer.app.client.get(&path).await.expect(200);
    assert_eq!(
        read.data()["issues"],
        json!([
            "part of what the user said at 01:05 was not understood",
            "the call ended with: busy"
        ])
    );
    // A later change of the agent is about later calls.
    let off = json!({ "platformSettings": { "callActions": { "issueTracking": false } } });
    dialer.app.client.patch(&agent, off).await.expect(200);
    let again = dialer.app.client.get(&path).await.expect(200);
    assert_eq!(again.data()["issues"], read.data()["issues"]);
    let untracked = dialer.dial().await;
    dialer.finish(&untracked, ConversationStatus::Failed, &[]).await;
    let on = json!({ "platformSettings": { "callActions": { "issueTracking": true } } });
    dialer.app.client.patch(&agent, on).await.expect(200);
    let path = format!("{CONVERSATIONS}/{}", untracked.claim.attempt);
    assert_eq!(
        dialer.app.client.get(&path).await.expect(200).data().get("issues"),
        None
    );
}

#[tokio::test(start_paused = true)]
async fn a_strangers_conversation_is_a_404() {
    let dialer = Dialer::start(1).await;
    let id = dialer.dial().await.claim.attempt;
    let stranger = dialer.app.stranger().await;
    for id in [id, AttemptId::new()] {
        stranger.get(&format!("{CONVERSATIONS}/{id}")).await.expect(404);
    }
    assert_eq!(*stranger.get(CONVERSATIONS).await.data(), json!([]));
}

#[tokio::test(start_paused = true)]
async fn an_erased_contact_leaves_an_anonymous_conversation() {
    let dialer = Dialer::start(1).await;
    let client = &dialer.app.client;
    let body = json!({ "phoneNumber": "+15550000000", "name": "Ada" });
    let contact = client.post("/public/v1/contacts", body).await.expect(201);
    let path = format!("/public/v1/contacts/{}", contact.text("/data/contactId"));
    let attempt = dialer.dial().await;
    let going = client.delete(&format!("{path}?erase=true")).await.expect(409);
    assert_eq!(going.code(), "in_use");
    dialer.talk(&attempt).await;
    tokio::time::advance(Duration::from_secs(10)).await;
    let id = attempt.claim.attempt;
    let recording = std::env::temp_dir().join(format!("{id}.wav"));
    std::fs::write(&recording, b"RIFF").unwrap();
    let before = client.get(&format!("{CONVERSATIONS}/{id}")).await.expect(200);
    assert_eq!(before.data()["contactNumber"], "+15550000000");
    let wrong = client.delete(&format!("{path}?erase=yes")).await.expect(400);
    assert_eq!(wrong.fields(), [("erase", "invalid_value")]);
    dialer
        .app
        .stranger()
        .await
        .delete(&format!("{path}?erase=true"))
        .await
        .expect(404);
    let gone = client.delete(&format!("{path}?erase=true")).await.expect(200);
    assert_eq!(gone.data()["deleted"], true);
    client.delete(&format!("{path}?erase=true")).await.expect(404);
    assert!(!recording.exists());
    let after = client.get(&format!("{CONVERSATIONS}/{id}")).await.expect(200);
    assert_eq!(after.data()["status"], "completed");
    for field in ["contactNumber", "transcript", "summary", "sentiment"] {
        assert!(after.data().get(field).is_none(), "{field}: {}", after.body);
    }
    assert_eq!(after.data()["dataCollected"], json!({ "items": [] }));
    for part in ["turns", "events"] {
        let path = format!("{CONVERSATIONS}/{id}/{part}");
        assert_eq!(*client.get(&path).await.expect(200).data(), json!([]), "{part}");
    }
    let campaign = client
        .get(&format!("/public/v1/campaigns/{}", dialer.campaign))
        .await
        .expect(200);
    assert_eq!(
        campaign.data()["contacts"],
        json!([{ "phoneNumber": "+0000000", "contactId": null }])
    );
    // Without `erase` only the contact is deleted.
    let body = json!({ "phoneNumber": "+15550000000" });
    client.post("/public/v1/contacts", body).await.expect(201);
}

#[tokio::test(start_paused = true)]
async fn transcripts_go_after_their_days_and_conversations_stay() {
    let dialer = Dialer::start(2).await;
    let clock = Arc::new(TokioClock::starting_at(START));
    let kept = Kept {
        recordings_days: None,
        transcripts_days: Some(2),
    };
    let folder = std::env::temp_dir();
    let keeper = tokio::spawn(retention::run(dialer.app.store.clone(), clock, folder, kept));
    let mut paths = Vec::new();
    for _ in 0..2 {
        let attempt = dialer.dial().await;
        dialer.talk(&attempt).await;
        paths.push(format!("{CONVERSATIONS}/{}", attempt.claim.attempt));
        tokio::time::sleep(Duration::from_secs(20 * 3_600)).await;
    }
    let client = &dialer.app.client;
    let before = client.get(&paths[0]).await.expect(200);
    assert!(before.data().get("transcript").is_some(), "{}", before.body);
    // The retention task runs once an hour.
    tokio::time::sleep(Duration::from_secs(10 * 3_600)).await;
    let after = client.get(&paths[0]).await.expect(200);
    for field in ["transcript", "summary", "sentiment"] {
        assert!(after.data().get(field).is_none(), "{field}: {}", after.body);
    }
    assert_eq!(after.data()["dataCollected"], json!({ "items": [] }));
    for field in ["status", "contactNumber", "conversationDuration", "startTimeUnix"] {
        assert_eq!(after.data()[field], before.data()[field], "{field}");
    }
    let younger = client.get(&paths[1]).await.expect(200);
    assert!(younger.data().get("transcript").is_some(), "{}", younger.body);
    keeper.abort();
}

#[tokio::test(start_paused = true)]
async fn a_conversation_tells_what_it_used_once_it_is_over() {
    let dialer = Dialer::start(2).await;
    let attempt = dialer.dial().await;
    let used = |detail: &str| {
        let event = EventFact {
            name: USAGE.into(),
            at_ms: 9,
            detail: detail.into(),
        };
        (attempt.claim.attempt, Fact::Event(event))
    };
    let shown = json!({
        "deepgram": { "seconds": 12.5, "models": { "nova-3": { "seconds": 12.5 } } },
        "elevenlabs": { "characters": 240, "models": { "eleven_flash_v2_5": { "characters": 240 } } },
        "openai": { "inputTokens": 900, "cachedTokens": 512, "outputTokens": 60 },
    });
    let facts = [used(r#"{"openai":{"inputTokens":1}}"#), used(&shown.to_string())];
    dialer.app.store.append_facts(&facts).await.unwrap();
    let path = format!("{CONVERSATIONS}/{}", attempt.claim.attempt);
    let running = dialer.app.client.get(&path).await.expect(200);
    assert_eq!(running.data().get("usage"), None);
    dialer.talk(&attempt).await;
    let over = dialer.app.client.get(&path).await.expect(200);
    assert_eq!(over.data()["usage"], shown);
    let silent = dialer.dial().await;
    dialer.finish(&silent, ConversationStatus::Failed, &[]).await;
    let path = format!("{CONVERSATIONS}/{}", silent.claim.attempt);
    let over = dialer.app.client.get(&path).await.expect(200);
    assert_eq!(over.data().get("usage"), None, "it used none");
}

#[tokio::test(start_paused = true)]
async fn the_usage_of_a_call_is_shown_after_more_moves_than_are_shown() {
    let dialer = Dialer::start(2).await;
    let used = json!({ "openai": { "inputTokens": 1 } });
    for (hops, steps) in [(2, 3), (600, 500)] {
        let attempt = dialer.dial().await;
        let event = |name: &str, detail: &Value| {
            let event = EventFact {
                name: name.into(),
                at_ms: 9,
                detail: detail.to_string(),
            };
            (attempt.claim.attempt, Fact::Event(event))
        };
        let hop = event(WORKFLOW_HOP, &json!({ "from": "start", "to": "desk" }));
        let mut facts = vec![hop; hops];
        facts.push(event(USAGE, &used));
        dialer.app.store.append_facts(&facts).await.unwrap();
        dialer.talk(&attempt).await;
        let path = format!("{CONVERSATIONS}/{}", attempt.claim.attempt);
        let over = dialer.app.client.get(&path).await.expect(200);
        let path = over.data()["workflowPath"].as_array().unwrap().len();
        assert_eq!((path, &over.data()["usage"]), (steps, &used));
    }
}

#[tokio::test(start_paused = true)]
async fn a_conversation_that_is_over_shows_its_cost_in_exact_decimals() {
    let dialer = Dialer::start(2).await;
    let prices = PriceList::parse(
        r#"{ "currency": "USD", "prices": [
            { "model": "openai/gpt-4.1-mini", "unit": "inputTokens", "price": "0.1" },
            { "model": "openai/gpt-4.1-mini", "unit": "cachedTokens", "price": "0.2" },
            { "model": "openai/*", "unit": "inputTokens", "price": "7", "per": 1000 },
            { "model": "deepgram/*", "unit": "seconds", "price": "0.0077", "per": 60 },
            { "model": "deepgram/*", "unit": "cachedTokens", "price": "1" },
            { "carrier": "simulated", "unit": "seconds", "price": "5", "per": 60 },
            { "carrier": "simulated", "direction": "inbound", "unit": "seconds", "price": "999" },
            { "carrier": "simulated", "direction": "outbound", "unit": "seconds", "price": "0.014", "per": 60,
              "incrementSeconds": 60 }
        ] }"#,
    );
    let rest_state = rest::RestState {
        prices: Some(Arc::new(prices.unwrap())),
        ..state(dialer.app.store.clone(), &FakeNode::default()).await
    };
    let routes = rest::with_envelope(rest::routes(rest_state));
    let (address, _shutdown, _server) = serve_router(routes, ServerLimits::default()).await;
    let client = Client::new(&format!("http://{address}"), &dialer.app.client.key);
    let attempt = dialer.dial().await;
    let models = json!({
        "gpt-4.1-mini": { "inputTokens": 3, "cachedTokens": 2, "outputTokens": 60 },
        "gpt-5": { "inputTokens": 500 },
    });
    let used = json!({
        "deepgram": { "seconds": 12.5, "models": { "nova-3": { "seconds": 12.5 } } },
        "openai": { "inputTokens": 603, "cachedTokens": 2, "outputTokens": 60, "models": models },
    });
    let event = EventFact {
        name: USAGE.into(),
        at_ms: 9,
        detail: used.to_string(),
    };
    let facts = [(attempt.claim.attempt, Fact::Event(event))];
    dialer.app.store.append_facts(&facts).await.unwrap();
    let path = format!("{CONVERSATIONS}/{}", attempt.claim.attempt);
    assert_eq!(
        client.get(&path).await.expect(200).data().get("cost"),
        None,
        "it is not over"
    );
    dialer.talk(&attempt).await;
    let part = |what: &str, unit: &str, quantity: &str, amount: &str| json!({ "what": what, "unit": unit, "quantity": quantity, "amount": amount });
    let expected = json!({
        "currency": "USD",
        // 0.1 and 0.4 have no exact binary fractions.
        "total": "4.729604167",
        "parts": [
            part("carrier/simulated", "seconds", "120", "0.028"),
            part("deepgram/nova-3", "seconds", "12.5", "0.001604167"),
            part("openai/gpt-4.1-mini", "inputTokens", "1", "0.1"),
            part("openai/gpt-4.1-mini", "cachedTokens", "2", "0.4"),
            part("openai/gpt-5", "inputTokens", "500", "3.5"),
            part("openai", "inputTokens", "100", "0.7"),
        ],
        "unpriced": [{ "what": "openai/gpt-4.1-mini", "unit": "outputTokens", "quantity": "60" }],
    });
    assert_eq!(client.get(&path).await.expect(200).data()["cost"], expected);
    let without = dialer.app.client.get(&path).await.expect(200);
    assert_eq!(without.data().get("cost"), None, "there are no prices");
    let silent = dialer.dial().await;
    dialer.finish(&silent, ConversationStatus::Failed, &[]).await;
    let path = format!("{CONVERSATIONS}/{}", silent.claim.attempt);
    let none = json!({ "currency": "USD", "total": "0", "parts": [], "unpriced": [] });
    assert_eq!(
        client.get(&path).await.expect(200).data()["cost"],
        none,
        "nobody answered"
    );
    let list = client.get(CONVERSATIONS).await.expect(200);
    assert_eq!(list.data()[0]["cost"], none);
    assert_eq!(list.data()[1]["cost"], expected);
    let export = client.request("GET", &format!("{CONVERSATIONS}/export?format=csv"));
    let csv = export.send().await.unwrap().text().await.unwrap();
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let column = |headers: &csv::StringRecord, name: &str| headers.iter().position(|header| header == name).unwrap();
    let headers = reader.headers().unwrap().clone();
    let [cost, currency] = ["cost", "currency"].map(|name| column(&headers, name));
    let cells = reader.records().map(|row| {
        let row = row.unwrap();
        (row[cost].to_owned(), row[currency].to_owned())
    });
    let expected =
        [("0", "USD"), ("4.729604167", "USD")].map(|(cost, currency)| (cost.to_owned(), currency.to_owned()));
    assert_eq!(cells.collect::<Vec<_>>(), expected, "newest first");
}
