//! Tests of the list of calls in progress.

use domain::ports::store::{ConversationStatus, EventFact, Fact, RecordStore};
use serde_json::{Value, json};

use crate::conversations::Dialer;

const LIVE: &str = "/public/v1/calls/live";

/// Returns the ids of the listed calls.
fn ids(answer: &Value) -> Vec<&str> {
    let items = answer.as_array().unwrap().iter();
    items.map(|item| item["conversationId"].as_str().unwrap()).collect()
}

#[tokio::test(start_paused = true)]
async fn calls_in_progress_are_listed_newest_first_until_they_are_over() {
    let dialer = Dialer::start(3).await;
    let (one, two) = (dialer.dial().await, dialer.dial().await);
    let (first, second) = (one.claim.attempt.to_string(), two.claim.attempt.to_string());
    let event = EventFact {
        name: "operator_joined".to_owned(),
        at_ms: 1,
        detail: json!({ "by": "rb_1a2b3c4d" }).to_string(),
    };
    let facts = [(one.claim.attempt, Fact::Event(event))];
    dialer.app.store.append_facts(&facts).await.unwrap();
    let answer = dialer.app.client.get(LIVE).await.expect(200);
    assert_eq!(ids(answer.data()), [second.as_str(), first.as_str()]);
    let call = &answer.data()[1];
    let expected = json!({
        "conversationId": first, "agentId": dialer.agent, "agentName": "Ann", "campaignId": dialer.campaign.to_string(),
        "campaignName": "c", "contactName": null, "variables": {}, "phoneNumber": "+15550000000", "direction": "outbound", "status": "in_progress",
        "startedAt": call["startedAt"], "operator": { "by": "rb_1a2b3c4d", "since": call["operator"]["since"] },
    });
    assert_eq!(*call, expected);
    assert!(call["operator"]["since"].as_str().unwrap() > call["startedAt"].as_str().unwrap());

    let page = dialer.app.client.get(&format!("{LIVE}?pageSize=1")).await.expect(200);
    assert_eq!(ids(page.data()), [second.as_str()]);
    let cursor = page.text("/pagination/nextCursor");
    let next = format!("{LIVE}?pageSize=1&cursor={cursor}");
    let rest = dialer.app.client.get(&next).await.expect(200);
    assert_eq!(ids(rest.data()), [first.as_str()]);
    assert_eq!(rest.body["pagination"]["hasMore"], false);

    dialer.talk(&one).await;
    dialer.finish(&two, ConversationStatus::Failed, &[]).await;
    let answer = dialer.app.client.get(LIVE).await.expect(200);
    assert_eq!(*answer.data(), json!([]));
}

#[tokio::test(start_paused = true)]
async fn calls_in_progress_are_the_accounts_own_and_filtered() {
    let dialer = Dialer::start(1).await;
    dialer.dial().await;
    let other = dialer.app.stranger().await;
    assert_eq!(*other.get(LIVE).await.expect(200).data(), json!([]));
    let count = async |query: String| {
        let answer = dialer.app.client.get(&format!("{LIVE}?{query}")).await.expect(200);
        answer.data().as_array().unwrap().len()
    };
    let nobodys = "0198d1a0-0000-7000-8000-00000000000a";
    assert_eq!(count(format!("agentId={}", dialer.agent)).await, 1);
    assert_eq!(count(format!("campaignId={}", dialer.campaign)).await, 1);
    assert_eq!(count(format!("agentId={nobodys}")).await, 0);
    assert_eq!(count(format!("campaignId={nobodys}")).await, 0);
    let answer = dialer.app.client.get(&format!("{LIVE}?agentId=x&status=failed")).await;
    let answer = answer.expect(400);
    let mut fields = answer.fields();
    fields.sort_unstable();
    assert_eq!(fields, [("agentId", "invalid_value"), ("status", "unknown_parameter")]);
}
