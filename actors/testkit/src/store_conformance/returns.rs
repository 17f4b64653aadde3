//! Claims that return unsent: after a stop, and those that nobody holds any more.

use std::time::Duration;

use super::{Fixture, Scene, outcome};
use domain::{
    id::NodeId,
    ports::{
        carrier::CarrierCallId,
        store::{
            AttemptState, CampaignStatus, Claim, ConversationFilter, ConversationStatus, Permit, Progress, StoreError,
        },
    },
};

pub async fn a_stop_leaves_nothing_of_what_it_found_claimed(fixture: Fixture) {
    let scene = fixture.scene().await;
    let campaign = scene.running(0..4).await;
    let released = scene.claim_one(campaign).await;
    let refused = scene.claim_one(campaign).await;
    let not_sent = scene.dialing(campaign).await;
    let put_off = scene.dialing(campaign).await;
    scene.store.not_sent(put_off, 0, None).await.unwrap();
    let put_off = scene.claim_one(campaign).await;
    scene.turn(campaign, CampaignStatus::Stopped).await;
    scene.store.release(&[released, put_off]).await.unwrap();
    assert_eq!(scene.permit(refused).await, Ok(Permit::CampaignNotRunning));
    scene.store.not_sent(not_sent, 60_000, None).await.unwrap();
    let left = scene
        .store
        .conversations(scene.account, ConversationFilter::default(), 9);
    assert_eq!(left.await, Ok(vec![]));
    let progress = Progress {
        pending: 4,
        ..Progress::default()
    };
    assert_eq!(scene.store.progress(campaign).await, Ok(progress));
    let remaining = scene.store.remaining(campaign).await.unwrap();
    assert_eq!((remaining.due, remaining.later, remaining.open), (4, 0, 0));
    assert_eq!(scene.store.not_sent(not_sent, 0, None).await, Err(StoreError::Fenced));
    scene.turn(campaign, CampaignStatus::Running).await;
    let indexes: Vec<_> = scene.claim(campaign, 9).await.iter().map(|a| a.contact_index).collect();
    assert_eq!(indexes, [0, 1, 2, 3]);
}

pub async fn stale_claims_are_the_nodes_own_old_and_unsent_ones(fixture: Fixture) {
    let scene = fixture.scene().await;
    let store = &scene.store;
    let campaign = scene.running(0..5).await;
    let old = [scene.claim_one(campaign).await, scene.claim_one(campaign).await];
    scene.dialing(campaign).await;
    let others = store.claim(NodeId::new(), campaign, 1).await.unwrap();
    scene.clock.advance(Duration::from_secs(40));
    let young = scene.claim_one(campaign).await;
    scene.clock.advance(Duration::from_secs(20));
    assert_eq!(store.stale_claims(scene.node, 60_001).await, Ok(vec![]));
    let sorted = |mut claims: Vec<Claim>| {
        claims.sort_by_key(|claim| claim.attempt);
        claims
    };
    let found = store.stale_claims(scene.node, 60_000).await.unwrap();
    assert_eq!(sorted(found), sorted(old.to_vec()));
    // The oldest come first.
    let found = store.stale_claims(scene.node, 0).await.unwrap();
    assert_eq!((found.len(), found.last()), (3, Some(&young)));
    let found = store.stale_claims(others[0].claim.owner, 60_000).await;
    assert_eq!(found, Ok(vec![others[0].claim]));

    store.release(&old).await.unwrap();
    assert_eq!(store.stale_claims(scene.node, 60_000).await, Ok(vec![]));
    assert_eq!(scene.permit(old[0]).await, Err(StoreError::Fenced));
    // A claim's age counts from its last claim.
    store.not_sent(young, 0, None).await.unwrap();
    let again = scene.claim(campaign, 9).await;
    assert!(again.iter().any(|attempt| attempt.claim.attempt == young.attempt));
    assert_eq!(store.stale_claims(scene.node, 1).await, Ok(vec![]));
}

pub async fn unsettled_attempts_are_the_nodes_own_old_and_sent_ones(fixture: Fixture) {
    let scene = fixture.scene().await;
    let store = &scene.store;
    let campaign = scene.running(0..7).await;
    let (dialing, answered) = (scene.dialing(campaign).await, scene.dialing(campaign).await);
    let call = CarrierCallId("c1".to_owned());
    store.dialed(answered, &call).await.unwrap();
    store.answered(answered, scene.now()).await.unwrap();
    scene.claim_one(campaign).await;
    let over = scene.dialing(campaign).await;
    store
        .finish(over, outcome(ConversationStatus::Failed), None)
        .await
        .unwrap();
    let another = Scene {
        node: NodeId::new(),
        ..scene.clone()
    };
    let anothers = another.dialing(campaign).await;
    scene.clock.advance(Duration::from_secs(40));
    let young = scene.dialing(campaign).await;
    scene.clock.advance(Duration::from_secs(20));
    assert_eq!(store.unsettled(scene.node, 60_001).await, Ok(vec![]));
    let mut old = store.unsettled(scene.node, 60_000).await.unwrap();
    old.sort_by_key(|left| left.claim != dialing);
    let known: Vec<_> = old
        .iter()
        .map(|left| (left.claim, left.state, left.carrier_call.clone(), left.campaign))
        .collect();
    let expected = [
        (dialing, AttemptState::Dialing, None, Some(campaign)),
        (answered, AttemptState::Answered, Some(call), Some(campaign)),
    ];
    assert_eq!(known, expected);
    // The oldest come first.
    let all = store.unsettled(scene.node, 0).await.unwrap();
    assert_eq!((all.len(), all.last().map(|left| left.claim)), (3, Some(young)));
    let found = store.unsettled(another.node, 60_000).await.unwrap();
    assert_eq!(found.iter().map(|left| left.claim).collect::<Vec<_>>(), [anothers]);
    // They stay unchanged: an attempt is settled under its own claim.
    store
        .finish(dialing, outcome(ConversationStatus::Failed), None)
        .await
        .unwrap();
    assert_eq!(store.unsettled(scene.node, 60_000).await.unwrap().len(), 1);
}
