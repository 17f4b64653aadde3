//! Tests of the filters of conversations, and of the search in transcripts.

use domain::{
    id::ContactId,
    ports::store::{Analysis, CallOutcome, ConversationStatus, RecordStore, SentimentLabel},
};
use serde_json::{Value, json};

use crate::conversations::{CONVERSATIONS, Dialer, analysis};

async fn analysed(dialer: &Dialer, found: Analysis) {
    let job = dialer.app.store.due_analyses(1).await.unwrap().remove(0);
    dialer.app.store.save_analysis(&job, found).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn conversations_are_found_by_person_outcome_sentiment_and_issues() {
    let dialer = Dialer::start(4).await;
    let client = &dialer.app.client;
    let track = json!({ "platformSettings": { "callActions": { "issueTracking": true } }, "tags": ["spring"] });
    let agent = format!("/public/v1/agents/{}", dialer.agent);
    client.patch(&agent, track).await.expect(200);
    let mut ids = Vec::new();
    for n in 0..4 {
        let attempt = dialer.dial().await;
        ids.push(attempt.claim.attempt.to_string());
        match n {
            0 => {
                dialer.talk(&attempt).await;
                analysed(&dialer, analysis()).await;
            }
            1 => dialer.finish(&attempt, ConversationStatus::Failed, &[]).await,
            2 => {
                dialer.talk(&attempt).await;
                let mut bad = analysis();
                bad.sentiment.sentiment_overall = SentimentLabel::Negative;
                bad.issues = vec!["The caller was cut off.".into()];
                analysed(&dialer, bad).await;
            }
            _ => {}
        }
    }
    let saved = json!({ "phoneNumber": "+15550000002" });
    let contact = client
        .post("/public/v1/contacts", saved)
        .await
        .expect(201)
        .text("/data/contactId");
    for (query, expected) in [
        ("phoneNumber=%2B15550000001", &[1][..]),
        ("phoneNumber=+1 555 000-0001", &[1]),
        (&format!("contactId={contact}"), &[2]),
        (&format!("contactId={contact}&phoneNumber=%2B15550000001"), &[]),
        (&format!("contactId={}", ContactId::new()), &[]),
        ("tag=spring", &[3, 2, 1, 0]),
        ("tag=autumn", &[]),
        ("direction=outbound", &[3, 2, 1, 0]),
        ("direction=inbound", &[]),
        ("outcome=completed", &[2, 0]),
        ("outcome=busy", &[1]),
        ("outcome=failed&status=failed", &[1]),
        ("outcome=failed&status=completed", &[]),
        ("outcome=voicemail", &[]),
        ("sentiment=positive", &[0]),
        ("sentiment=negative&hasIssue=true", &[2]),
        ("hasIssue=true", &[2, 1]),
        ("hasIssue=false", &[0]),
        ("hasIssue=false&minDuration=91", &[]),
        ("hasRecording=true", &[]),
        ("hasRecording=false&outcome=completed", &[2, 0]),
    ] {
        let expected: Vec<String> = expected.iter().map(|n| ids[*n].clone()).collect();
        assert_eq!(dialer.ids(query).await, expected, "{query}");
    }
    let bad = "phoneNumber=1&contactId=1&direction=both&outcome=great&sentiment=good&hasIssue=1&hasRecording=no";
    let answer = client.get(&format!("{CONVERSATIONS}?{bad}")).await.expect(400);
    assert_eq!(answer.fields().len(), 7, "{:?}", answer.fields());
    let outcome = answer.fields().into_iter().find(|field| field.0 == "outcome");
    assert!(outcome.is_some(), "{:?}", answer.fields());
    assert_eq!(CallOutcome::parse("carrier-error"), Some(CallOutcome::CarrierError));
    let stranger = dialer.app.stranger().await;
    let theirs = stranger
        .get(&format!("{CONVERSATIONS}?contactId={contact}"))
        .await
        .expect(200);
    assert_eq!(*theirs.data(), json!([]));
}

#[tokio::test(start_paused = true)]
async fn a_search_finds_what_was_said_and_shows_where() {
    let dialer = Dialer::start(3).await;
    let client = &dialer.app.client;
    let mut ids = Vec::new();
    for _ in 0..2 {
        let attempt = dialer.dial().await;
        ids.insert(0, attempt.claim.attempt.to_string());
        dialer.talk(&attempt).await;
    }
    // A call in progress is not found.
    dialer.dial().await;
    let found = client
        .get(&format!("{CONVERSATIONS}?search=HELLO ada"))
        .await
        .expect(200);
    let items = found.data().as_array().unwrap();
    assert_eq!(items.len(), 2);
    for (item, id) in items.iter().zip(&ids) {
        assert_eq!(item["conversationId"], **id);
        assert_eq!(item["matches"], json!([{ "turn": 0, "text": "Hello, Ada." }]));
    }
    assert!(
        client.get(CONVERSATIONS).await.expect(200).data()[0]
            .get("matches")
            .is_none()
    );
    for (query, expected) in [
        ("search=%22hello%20ada%22", 2),
        ("search=%22ada%20hello%22", 0),
        ("search=%22ada%20hi%22", 0),
        ("search=hel*", 2),
        ("search=hel", 0),
        ("search=%20%20", 3),
        ("search=hello&phoneNumber=%2B15550000000", 1),
        ("search=hello&outcome=failed", 0),
    ] {
        assert_eq!(dialer.ids(query).await.len(), expected, "{query}");
    }
    let first = client
        .get(&format!("{CONVERSATIONS}?search=hello&pageSize=1"))
        .await
        .expect(200);
    let cursor = first.text("/pagination/nextCursor");
    let rest = dialer.ids(&format!("search=hello&pageSize=1&cursor={cursor}")).await;
    assert_eq!(rest, ids[1..]);
    let other = format!("{CONVERSATIONS}?search=ada&pageSize=1&cursor={cursor}");
    client.get(&other).await.expect(400);
    let stranger = dialer.app.stranger().await;
    let theirs = stranger.get(&format!("{CONVERSATIONS}?search=hello")).await.expect(200);
    assert_eq!(*theirs.data(), Value::Array(Vec::new()));
}

#[tokio::test(start_paused = true)]
async fn a_search_is_text_or_a_400_and_never_a_500() {
    let dialer = Dialer::start(1).await;
    let long = "x".repeat(10_000);
    let many = "a%20".repeat(33);
    for (query, status) in [
        ("%22", 400),
        ("***", 400),
        ("ab*", 400),
        (&*long, 400),
        (&*many, 400),
        ("%00", 400),
        ("NEAR(hello%20ada)", 200),
        ("words%3Ahello%20AND%20(%22", 200),
        ("%22hello%22%20*%20NOT%20-ada%20%5E%7B%7D", 200),
        ("'%3B%20DROP%20TABLE%20turns%20--", 200),
    ] {
        let answer = dialer
            .app
            .client
            .get(&format!("{CONVERSATIONS}?search={query}"))
            .await
            .expect(status);
        if status == 400 {
            assert_eq!(answer.fields()[0].0, "search", "{query}: {}", answer.body);
        }
    }
}
