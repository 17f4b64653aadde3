//! Nodes, and the attempts that dead ones leave behind.

use std::time::Duration;

use super::{Fixture, ManualClock, Scene, number, outcome};
use domain::{
    id::NodeId,
    ports::{
        carrier::CarrierCallId,
        store::{
            AttemptState, CallDirection, ConversationStatus, EventFact, Fact, OrphanedAttempt, Patience, Store,
            StoreError,
        },
    },
    time::Clock,
};

pub async fn a_new_node_declares_earlier_ones_dead(fixture: Fixture) {
    let store = &fixture.store;
    let (old, new) = (NodeId::new(), NodeId::new());
    assert_eq!(store.heartbeat(old).await, Err(StoreError::Fenced));
    store.register_node(old, None).await.unwrap();
    store.heartbeat(old).await.unwrap();
    store.register_node(new, None).await.unwrap();
    live_on(&**store, &fixture.clock, new).await;
    assert_eq!(store.take_orphaned(new, &Patience::default()).await, Ok(vec![]));
    assert_eq!(store.heartbeat(old).await, Err(StoreError::Fenced));
    store.heartbeat(new).await.unwrap();
}

/// Sends a node's heartbeats until a process that is silent meanwhile counts as dead, in stores where silence matters.
pub(super) async fn live_on(store: &dyn Store, clock: &ManualClock, node: NodeId) {
    for _ in 0..6 {
        clock.advance(Duration::from_secs(3));
        store.heartbeat(node).await.unwrap();
    }
}

pub async fn orphaned_attempts_go_to_the_new_node(fixture: Fixture) {
    let scene = fixture.scene().await;
    let store = &scene.store;
    let campaign = scene.running(0..6).await;
    let claimed = scene.claim_one(campaign).await;
    let dialing = scene.dialing(campaign).await;
    let dialed = scene.dialing(campaign).await;
    let call = CarrierCallId("c1".to_owned());
    store.dialed(dialed, &call).await.unwrap();
    let answered = scene.dialing(campaign).await;
    store.answered(answered, scene.now()).await.unwrap();
    // Reports after the answer do not take the state back.
    let late_call = CarrierCallId("c2".to_owned());
    store.dialed(answered, &late_call).await.unwrap();
    store.unknown(answered).await.unwrap();
    let unknown = scene.dialing(campaign).await;
    store.unknown(unknown).await.unwrap();
    let done = scene.dialing(campaign).await;
    store
        .finish(done, outcome(ConversationStatus::Failed), None)
        .await
        .unwrap();
    assert_eq!(store.take_orphaned(scene.node, &Patience::default()).await, Ok(vec![]));
    let dialing_at = scene.clock.now();

    let heir = Scene {
        node: NodeId::new(),
        ..scene.clone()
    };
    store.register_node(heir.node, None).await.unwrap();
    live_on(&**store, &scene.clock, heir.node).await;
    let orphaned = store.take_orphaned(heir.node, &Patience::default()).await.unwrap();
    let expected: Vec<_> = [
        (dialing, AttemptState::Dialing, None),
        (dialed, AttemptState::Dialed, Some(call)),
        (answered, AttemptState::Answered, Some(late_call)),
        (unknown, AttemptState::Unknown, None),
    ]
    .into_iter()
    .zip(1..)
    .map(|((mut claim, state, carrier_call), index)| {
        claim.owner = heir.node;
        claim.epoch += 1;
        OrphanedAttempt {
            claim,
            account: scene.account,
            agent: scene.agent,
            tries: Default::default(),
            direction: CallDirection::Outbound,
            campaign: Some(campaign),
            state,
            phone_number: number(index),
            carrier: "exchange".to_owned(),
            carrier_call,
            dialing_at,
        }
    })
    .collect();
    assert_eq!(orphaned, expected);
    assert_eq!(store.take_orphaned(heir.node, &Patience::default()).await, Ok(vec![]));

    // The dead node is fenced, even for attempts that went back to the queue.
    for claim in [claimed, dialing, dialed, answered, unknown] {
        let late = store.finish(claim, outcome(ConversationStatus::Completed), None).await;
        assert_eq!(late, Err(StoreError::Fenced));
        assert_eq!(scene.permit(claim).await, Err(StoreError::Fenced));
    }
    assert_eq!(heir.claim(campaign, 9).await[0].contact_index, 0);
    for orphaned in orphaned {
        let settled = outcome(ConversationStatus::Failed);
        store.finish(orphaned.claim, settled, None).await.unwrap();
    }
    assert_eq!(store.progress(campaign).await.unwrap().failed, 5);
}

pub async fn what_a_node_left_that_signed_off_is_taken_at_once(fixture: Fixture) {
    let scene = fixture.scene().await;
    let store = &scene.store;
    let campaign = scene.running(0..3).await;
    let (claimed, dialing) = (scene.claim_one(campaign).await, scene.dialing(campaign).await);
    store.sign_off(scene.node).await.unwrap();
    store.sign_off(scene.node).await.unwrap();
    assert_eq!(store.heartbeat(scene.node).await, Err(StoreError::Fenced));
    let heir = NodeId::new();
    store.register_node(heir, None).await.unwrap();
    assert_eq!(store.heartbeat(heir).await.unwrap().nodes, 1);
    let orphaned = store.take_orphaned(heir, &Patience::default()).await.unwrap();
    let taken: Vec<_> = orphaned.iter().map(|orphaned| orphaned.claim.attempt).collect();
    assert_eq!(taken, [dialing.attempt]);
    // An unsent attempt waits for its turn, and its old claim can no longer send.
    assert_eq!(scene.permit(claimed).await, Err(StoreError::Fenced));
    assert_eq!(store.remaining(campaign).await.unwrap().due, 2);
}

pub async fn calls_of_the_dead_are_left_to_their_carrier_for_a_while(fixture: Fixture) {
    let scene = fixture.scene().await;
    let store = &scene.store;
    let campaign = scene.running(0..4).await;
    let dialing = scene.dialing(campaign).await;
    let [talking, handed_on, came_back] = [
        scene.dialing(campaign).await,
        scene.dialing(campaign).await,
        scene.dialing(campaign).await,
    ];
    for (claim, names) in [
        (talking, &[][..]),
        (handed_on, &["transfer_taken"]),
        (came_back, &["transfer_taken", "transfer_failed"]),
    ] {
        store.answered(claim, scene.now()).await.unwrap();
        let event = |name: &&str| EventFact {
            name: (*name).to_owned(),
            at_ms: 1_000,
            detail: "{}".to_owned(),
        };
        let events: Vec<_> = names
            .iter()
            .map(event)
            .map(|event| (claim.attempt, Fact::Event(event)))
            .collect();
        store.append_facts(&events).await.unwrap();
    }
    let patience = Patience {
        carriers: vec!["others".to_owned(), "exchange".to_owned()],
        talking: Duration::from_secs(20),
        handed_on: Duration::from_secs(60),
    };
    store.sign_off(scene.node).await.unwrap();
    let heir = NodeId::new();
    store.register_node(heir, None).await.unwrap();
    let taken = async || {
        store.heartbeat(heir).await.unwrap();
        let orphaned = store.take_orphaned(heir, &patience).await.unwrap();
        orphaned
            .iter()
            .map(|orphaned| orphaned.claim.attempt)
            .collect::<Vec<_>>()
    };
    assert_eq!(taken().await, [dialing.attempt]);
    scene.clock.advance(Duration::from_secs(19));
    assert!(taken().await.is_empty());
    scene.clock.advance(Duration::from_secs(1));
    assert_eq!(taken().await, [talking.attempt, came_back.attempt]);
    scene.clock.advance(Duration::from_secs(39));
    assert!(taken().await.is_empty());
    scene.clock.advance(Duration::from_secs(1));
    assert_eq!(taken().await, [handed_on.attempt]);
}
