//! Tests of exports and deletions of conversations.

use domain::ports::store::{ConversationStatus, RecordStore};
use serde_json::{Value, json};

use crate::conversations::{CONVERSATIONS, Dialer, analysis};

async fn file(dialer: &Dialer, query: &str) -> (String, String) {
    let request = dialer
        .app
        .client
        .request("GET", &format!("{CONVERSATIONS}/export?{query}"));
    let answer = request.send().await.unwrap();
    assert_eq!(answer.status(), 200);
    let kind = answer.headers()["content-type"].to_str().unwrap().to_owned();
    (kind, answer.text().await.unwrap())
}

#[tokio::test(start_paused = true)]
async fn an_export_has_one_line_for_each_conversation_and_no_formula() {
    // More than one page of the export.
    const CALLS: usize = 60;
    let dialer = Dialer::start(CALLS as u64).await;
    let mut ids = Vec::new();
    for n in 0..CALLS {
        let attempt = dialer.dial().await;
        ids.insert(0, attempt.claim.attempt.to_string());
        match n {
            0 => {
                dialer.talk(&attempt).await;
                let mut found = analysis();
                found.summary = "=1+1".into();
                let job = dialer.app.store.due_analyses(1).await.unwrap().remove(0);
                dialer.app.store.save_analysis(&job, found).await.unwrap();
            }
            _ => dialer.finish(&attempt, ConversationStatus::Failed, &[]).await,
        }
    }
    let (kind, lines) = file(&dialer, "format=jsonl").await;
    assert_eq!(kind, "application/jsonl");
    let shown: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let found: Vec<&str> = shown
        .iter()
        .map(|one| one["conversationId"].as_str().unwrap())
        .collect();
    assert_eq!(found, ids);
    let last = dialer
        .app
        .client
        .get(&format!("{CONVERSATIONS}/{}", ids[CALLS - 1]))
        .await
        .expect(200);
    assert_eq!(shown[CALLS - 1], *last.data());

    let (kind, csv) = file(&dialer, "format=csv").await;
    assert_eq!(kind, "text/csv; charset=utf-8");
    let mut reader = csv::Reader::from_reader(csv.trim_start_matches('\u{feff}').as_bytes());
    let headers = reader.headers().unwrap().clone();
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), CALLS);
    let cell = |row: usize, name: &str| {
        let at = headers.iter().position(|header| header == name).unwrap();
        rows[row][at].to_owned()
    };
    assert_eq!(cell(0, "errorMessage"), "busy");
    for (name, expected) in [
        ("conversationId", &*ids[CALLS - 1]),
        ("contactNumber", "+15550000000"),
        ("summary", "'=1+1"),
        ("sentiment", "positive"),
        ("conversationDuration", "90"),
        ("dataCollected", r#"{"city":"Bonn","zip":"53111"}"#),
        ("transcript", "Agent: Hello, Ada.\nUser: Hi."),
    ] {
        assert_eq!(cell(CALLS - 1, name), expected, "{name}");
    }
    let (_, filtered) = file(&dialer, "outcome=completed&search=hello").await;
    assert_eq!(csv::Reader::from_reader(filtered.as_bytes()).records().count(), 1);
    let (_, none) = file(&dialer, "outcome=rejected&format=jsonl").await;
    assert_eq!(none, "");
    let bad = format!("{CONVERSATIONS}/export?format=xml&pageSize=3");
    let answer = dialer.app.client.get(&bad).await.expect(400);
    assert_eq!(answer.fields().len(), 2, "{:?}", answer.fields());
}

#[tokio::test(start_paused = true)]
async fn an_export_ends_when_the_service_stops() {
    let dialer = Dialer::start(1).await;
    dialer.app.node.stop();
    let request = dialer
        .app
        .client
        .request("GET", &format!("{CONVERSATIONS}/export?format=jsonl"));
    // The client notices that the file is incomplete.
    let body = match request.send().await {
        Ok(answer) => answer.text().await.map(drop),
        Err(error) => Err(error),
    };
    assert!(body.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_deleted_conversation_is_gone_and_still_counts() {
    let dialer = Dialer::start(2).await;
    let client = &dialer.app.client;
    let attempt = dialer.dial().await;
    let id = attempt.claim.attempt;
    let path = format!("{CONVERSATIONS}/{id}");
    let recording = std::env::temp_dir().join(format!("{id}.wav"));
    std::fs::write(&recording, "RIFF").unwrap();
    let refused = client.delete(&path).await.expect(409);
    assert_eq!(refused.code(), "in_use");
    dialer.talk(&attempt).await;
    // Its last turns may not be stored yet.
    client.delete(&path).await.expect(409);
    assert!(recording.exists());
    assert_eq!(dialer.ids("hasRecording=true").await, [id.to_string()]);
    tokio::time::advance(std::time::Duration::from_secs(10)).await;
    let other = dialer.dial().await.claim.attempt.to_string();
    let stranger = dialer.app.stranger().await;
    stranger.delete(&path).await.expect(404);
    let deleted = client.delete(&path).await.expect(200);
    assert_eq!(*deleted.data(), json!({ "conversationId": id, "deleted": true }));
    for part in ["", "/turns", "/events", "/recording"] {
        client.get(&format!("{path}{part}")).await.expect(404);
    }
    client.delete(&path).await.expect(404);
    assert!(!recording.exists());
    assert_eq!(dialer.ids("").await, [other]);
    assert!(dialer.ids("search=hello").await.is_empty());
    let campaign = client
        .get(&format!("/public/v1/campaigns/{}", dialer.campaign))
        .await
        .expect(200);
    assert_eq!(campaign.data()["progress"]["completed"], 1);
    let results = client
        .get(&format!("/public/v1/campaigns/{}/contacts", dialer.campaign))
        .await
        .expect(200);
    assert_eq!(results.data()[0]["status"], "completed");
    assert!(!results.body.to_string().contains("Bonn"), "{}", results.body);
    assert!(dialer.app.store.turns(id).await.unwrap().is_empty());
}
