//! Calls in progress: whose they are, who is on the line, and the operator that has one.

use std::time::Duration;

use serde_json::{Map, json};

use super::{Fixture, Scene, callee, new_account, number, outcome};
use domain::{
    id::{AgentId, AttemptId, CampaignId},
    ports::{
        carrier::CarrierCallId,
        store::{
            CallDirection, CallInProgress, CallOperator, ConversationStatus, EventFact, Fact, InProgressFilter,
            NewCall, NewContact, OPERATOR_JOINED, OPERATOR_LEFT, Permit, QueuedCall,
        },
    },
};

async fn listed(scene: &Scene, filter: InProgressFilter) -> Vec<CallInProgress> {
    let calls = scene.store.calls_in_progress(scene.account, filter, 100);
    calls.await.unwrap()
}

async fn ids(scene: &Scene, filter: InProgressFilter) -> Vec<AttemptId> {
    listed(scene, filter).await.iter().map(|call| call.id).collect()
}

/// Dials a single call.
async fn single(scene: &Scene, n: usize, name: Option<&str>) -> AttemptId {
    let new = NewCall {
        agent: scene.agent,
        phone_number: number(n),
        name: name.map(str::to_owned),
        variables: Map::new(),
    };
    let queued = scene.store.create_call(scene.account, new, None).await.unwrap();
    let QueuedCall::Queued(row) = queued else {
        panic!("{queued:?}")
    };
    let claim = scene.store.claim_calls(scene.node, 1).await.unwrap()[0].claim;
    let permit = scene.permit(claim).await.unwrap();
    assert!(matches!(permit, Permit::Granted { .. }), "{permit:?}");
    row.id
}

async fn tell(scene: &Scene, attempt: AttemptId, name: &str, by: &str) {
    let event = EventFact {
        name: name.to_owned(),
        at_ms: 5,
        detail: json!({ "by": by }).to_string(),
    };
    scene
        .store
        .append_facts(&[(attempt, Fact::Event(event))])
        .await
        .unwrap();
}

pub async fn calls_in_progress_are_listed_with_names_and_operator(fixture: Fixture) {
    let scene = fixture.scene().await;
    let campaign = scene.running(0..3).await;
    let saved = NewContact {
        phone_number: number(8),
        name: Some("Saved".to_owned()),
        email: None,
        extra: Map::new(),
    };
    scene.store.create_contact(scene.account, saved, None).await.unwrap();
    scene.completed(campaign, 60).await;
    scene.clock.advance(Duration::from_secs(1));
    let began = scene.now();
    let listed_one = scene.dialing(campaign).await;
    scene.claim_one(campaign).await;
    scene.clock.advance(Duration::from_secs(1));
    let named = single(&scene, 7, Some("Given")).await;
    scene.clock.advance(Duration::from_secs(1));
    let unnamed = single(&scene, 8, None).await;
    let call = CarrierCallId("leg".to_owned());
    scene.store.dialed(listed_one, &call).await.unwrap();
    scene.clock.advance(Duration::from_secs(1));
    let answered = scene.now();
    scene.store.answered(listed_one, answered).await.unwrap();

    let calls = listed(&scene, InProgressFilter::default()).await;
    let shown: Vec<_> = calls
        .iter()
        .map(|call| (call.id, call.callee.contact_name.as_deref()))
        .collect();
    assert_eq!(
        shown,
        [
            (unnamed, Some("Saved")),
            (named, Some("Given")),
            (listed_one.attempt, Some("Näme 1"))
        ],
        "neither the call that is over nor the one that is only claimed"
    );
    let expected = CallInProgress {
        id: listed_one.attempt,
        agent: scene.agent,
        agent_name: "Ada".to_owned(),
        campaign: Some((campaign, "Campaign".to_owned())),
        callee: callee(1),
        phone_number: number(1),
        direction: CallDirection::Outbound,
        started_at: began,
        answered_at: Some(answered),
        operator: None,
        is_test: false,
    };
    assert_eq!(calls[2], expected);
    assert_eq!((&calls[0].campaign, calls[0].answered_at), (&None, None));

    let of_campaign = InProgressFilter {
        campaign: Some(campaign),
        ..InProgressFilter::default()
    };
    assert_eq!(ids(&scene, of_campaign).await, [listed_one.attempt]);
    for (agent, count) in [(scene.agent, 3), (AgentId::new(), 0)] {
        let of_agent = InProgressFilter {
            agent: Some(agent),
            ..InProgressFilter::default()
        };
        assert_eq!(ids(&scene, of_agent).await.len(), count);
    }
    let nobodys = InProgressFilter {
        campaign: Some(CampaignId::new()),
        ..InProgressFilter::default()
    };
    assert_eq!(ids(&scene, nobodys).await, []);
    let other = new_account("eve@example.com");
    let others = other.account.id;
    scene.store.create_account(other).await.unwrap();
    let calls = scene.store.calls_in_progress(others, InProgressFilter::default(), 100);
    assert_eq!(calls.await, Ok(vec![]));

    the_operator_is_the_last_that_joined(&scene, (listed_one.attempt, named)).await;
    let over = outcome(ConversationStatus::Completed);
    scene.store.finish(listed_one, over, None).await.unwrap();
    assert_eq!(ids(&scene, InProgressFilter::default()).await, [unnamed, named]);
}

async fn the_operator_is_the_last_that_joined(scene: &Scene, (call, other): (AttemptId, AttemptId)) {
    let operator = async || {
        let calls = listed(scene, InProgressFilter::default()).await;
        let has = calls.iter().filter(|call| call.operator.is_some()).map(|call| call.id);
        assert!(has.clone().all(|id| id == call), "{calls:?}");
        calls.into_iter().find(|row| row.id == call).unwrap().operator
    };
    tell(scene, call, OPERATOR_JOINED, "first").await;
    tell(scene, call, OPERATOR_LEFT, "first").await;
    tell(scene, other, "listener_joined", "another").await;
    assert_eq!(operator().await, None);
    scene.clock.advance(Duration::from_secs(1));
    tell(scene, call, OPERATOR_JOINED, "second").await;
    let expected = CallOperator {
        by: "second".to_owned(),
        since: scene.now(),
    };
    assert_eq!(operator().await, Some(expected));
}

pub async fn calls_in_progress_page_without_gap_or_repeat(fixture: Fixture) {
    let scene = fixture.scene().await;
    let campaign = scene.running(0..7).await;
    let mut expected = Vec::new();
    for n in 0..7 {
        // Some begin at the same time.
        scene.clock.advance(Duration::from_secs(n % 2));
        expected.push((scene.now(), scene.dialing(campaign).await.attempt));
    }
    expected.sort_unstable();
    expected.reverse();
    let mut found = Vec::new();
    let mut filter = InProgressFilter::default();
    loop {
        let page = scene.store.calls_in_progress(scene.account, filter.clone(), 2);
        let page = page.await.unwrap();
        filter.after = page.last().map(|call| (call.started_at, call.id));
        found.extend(page.iter().map(|call| (call.started_at, call.id)));
        if page.len() < 2 {
            break;
        }
    }
    assert_eq!(found, expected);
}
