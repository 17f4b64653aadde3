//! Test calls: their agents, and that nothing follows from them.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::{Fixture, Scene, analytics::count_calls, document, outcome};
use domain::{
    id::{AgentId, AttemptId},
    phone_number::PhoneNumber,
    ports::{
        carrier::CarrierCallId,
        language_model::Speaker,
        store::{
            AgentFilter, ClaimedAttempt, ConversationStatus, CountedBy, CountsFilter, EndedTest, Fact,
            InProgressFilter, NewInboundCall, StoreError, TestActions, TestCall, TestMode, TurnFact,
        },
    },
};

const HOUR: Duration = Duration::from_secs(3_600);

fn asking() -> Map<String, Value> {
    let mut asking = document("Eve");
    let actions = json!({ "callActions": { "postCallWebhook": "https://example.com/hook", "issueTracking": true } });
    asking.insert("platformSettings".to_owned(), actions);
    asking
}

fn new(scene: &Scene, agent: AgentId, test: Option<TestCall>) -> NewInboundCall {
    let attempt = AttemptId::new();
    NewInboundCall {
        attempt,
        account: scene.account,
        agent,
        agent_version: 1,
        carrier: "plain".to_owned(),
        call: CarrierCallId(attempt.to_string()),
        from: PhoneNumber::withheld(),
        to: PhoneNumber::withheld(),
        ticket: None,
        variables: Map::new(),
        test,
    }
}

fn test_of(unsaved: Option<Map<String, Value>>) -> Option<TestCall> {
    Some(TestCall {
        unsaved,
        actions: TestActions::Real,
        mode: TestMode::Voice,
    })
}

async fn receive(scene: &Scene, new: NewInboundCall) -> ClaimedAttempt {
    let expected = new.test.as_ref().map(|test| test.actions);
    let received = scene.store.receive_call(scene.node, new).await.unwrap().unwrap();
    assert_eq!(received.test, expected);
    received.attempt
}

/// Answers a call, talks for a minute and ends it. A turn comes late.
async fn talk(scene: &Scene, attempt: &ClaimedAttempt) {
    scene.store.answered(attempt.claim, scene.now()).await.unwrap();
    scene.clock.advance(Duration::from_secs(60));
    let over = outcome(ConversationStatus::Completed);
    scene.store.finish(attempt.claim, over, None).await.unwrap();
    let late = TurnFact {
        seq: 0,
        speaker: Speaker::User,
        text: "Bye.".to_owned(),
        started_ms: 0,
        ended_ms: 900,
        interrupted: false,
        damaged: false,
        detail: Default::default(),
    };
    let facts = [(attempt.claim.attempt, Fact::Turn(late))];
    scene.store.append_facts(&facts).await.unwrap();
}

pub async fn nothing_follows_from_a_test_call(fixture: Fixture) {
    let scene = fixture.scene().await;
    let store = &scene.store;
    let agent = store.create_agent(scene.account, asking(), None).await.unwrap().id;
    let test = receive(&scene, new(&scene, agent, test_of(None))).await;
    let other = receive(&scene, new(&scene, agent, None)).await;
    let (test_id, other_id) = (test.claim.attempt, other.claim.attempt);
    for (wanted, expected) in [
        (None, vec![other_id, test_id]),
        (Some(true), vec![test_id]),
        (Some(false), vec![other_id]),
    ] {
        let filter = InProgressFilter {
            is_test: wanted,
            ..InProgressFilter::default()
        };
        let calls = store.calls_in_progress(scene.account, filter, 9).await.unwrap();
        assert!(
            calls.iter().all(|call| call.is_test == (call.id == test_id)),
            "{calls:?}"
        );
        assert_eq!(
            calls.iter().map(|call| call.id).collect::<Vec<_>>(),
            expected,
            "{wanted:?}"
        );
    }
    for call in [&test, &other] {
        talk(&scene, call).await;
    }
    let (test, other) = (test.claim.attempt, other.claim.attempt);
    for (call, is_test) in [(test, true), (other, false)] {
        let row = store.conversation(scene.account, call).await.unwrap();
        assert_eq!((row.is_test, row.status), (is_test, ConversationStatus::Completed));
    }
    scene.clock.advance(2 * HOUR);
    let jobs = store.due_analyses(9).await.unwrap();
    assert_eq!(jobs.iter().map(|job| job.attempt).collect::<Vec<_>>(), [other]);
    store.publish_events(100).await.unwrap();
    let told = store.events_after(scene.account, 0, 100).await.unwrap();
    assert!(
        !told.is_empty() && told.iter().all(|event| event.attempt == Some(other)),
        "{told:?}"
    );
    count_calls(&scene).await;
    let all = CountsFilter {
        by: CountedBy::Agent,
        span: None,
        campaign: None,
        agent: Some(agent),
    };
    let counted = store.call_counts(scene.account, all).await.unwrap();
    assert_eq!(counted.groups.values().map(|counts| counts.calls).sum::<u64>(), 1);
    // Its end, unanswered, asks for no delivery either.
    let unanswered = receive(&scene, new(&scene, agent, test_of(None))).await;
    let failed = outcome(ConversationStatus::Failed);
    store.finish(unanswered.claim, failed, None).await.unwrap();
    assert_eq!(store.deliveries_of(unanswered.claim.attempt).await, Ok(vec![]));
}

pub async fn a_test_of_an_agent_that_is_not_saved_leaves_no_agent(fixture: Fixture) {
    let scene = fixture.scene().await;
    let store = &scene.store;
    let agent = AgentId::new();
    let test = receive(&scene, new(&scene, agent, test_of(Some(asking())))).await;
    let call = test.claim.attempt;
    let row = store.conversation(scene.account, call).await.unwrap();
    assert_eq!((row.agent, row.agent_name.as_str()), (agent, "Eve"));
    assert_eq!(store.agent(scene.account, agent).await, Err(StoreError::NotFound));
    let kept = store.kept_agent(scene.account, agent).await.unwrap();
    assert_eq!((&kept.document, kept.version), (&asking(), 1));
    // The record of the call shows what was tried.
    assert_eq!(store.agent_version(scene.account, agent, 1).await, Ok(kept));
    let other = store.agent_version(scene.account, agent, 2).await;
    assert_eq!(other, Err(StoreError::NotFound));
    let listed = store.agents(scene.account, AgentFilter::default(), 9).await.unwrap();
    assert_eq!(listed.rows.iter().map(|row| row.id).collect::<Vec<_>>(), [scene.agent]);
    // Only the test itself uses such an agent.
    let again = store.receive_call(scene.node, new(&scene, agent, None)).await;
    assert_eq!(again, Ok(None));

    assert_eq!(store.ended_tests(scene.now(), 9).await, Ok(vec![]), "it is in progress");
    talk(&scene, &test).await;
    let ended_at = scene.now();
    assert_eq!(store.ended_tests(ended_at, 9).await, Ok(vec![]), "not before its end");
    scene.clock.advance(HOUR);
    let ended = EndedTest {
        account: scene.account,
        attempt: call,
        ended_at,
    };
    assert_eq!(store.ended_tests(scene.now(), 9).await, Ok(vec![ended]));
    assert_eq!(store.ended_tests(scene.now(), 0).await, Ok(vec![]));
    store.delete_conversation(scene.account, call).await.unwrap();
    assert_eq!(store.ended_tests(scene.now(), 9).await, Ok(vec![]));
    let gone = store.conversation(scene.account, call).await;
    assert_eq!(gone, Err(StoreError::NotFound));
    let version = store.agent_version(scene.account, agent, 1).await;
    assert_eq!(version, Err(StoreError::NotFound));
    let left = store.kept_agent(scene.account, agent).await;
    assert!(left.is_err() || left.is_ok_and(|row| row.document.is_empty()));
}
