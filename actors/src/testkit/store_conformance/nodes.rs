//! How nodes know of each other.

use super::Fixture;
use crate::{
    id::AttemptId,
    ports::store::{ConversationStatus, LiveNode, Owner},
    testkit::store_conformance::outcome,
};

pub async fn a_node_tells_the_others_where_it_is(fixture: Fixture) {
    let scene = fixture.scene().await;
    let store = &scene.store;
    let alone = LiveNode {
        id: scene.node,
        address: None,
    };
    assert_eq!(store.live_nodes().await, Ok(vec![alone]));
    let heir = scene.heir().await;
    let address = "http://10.0.0.7:8080";
    store.register_node(heir.node, Some(address)).await.unwrap();
    let moved = LiveNode {
        id: heir.node,
        address: Some(address.to_owned()),
    };
    assert_eq!(store.live_nodes().await, Ok(vec![moved]));
}

pub async fn the_owner_of_an_open_attempt_is_known(fixture: Fixture) {
    let scene = fixture.scene().await;
    let store = &scene.store;
    let address = Some("http://10.0.0.7:8080".to_owned());
    store.register_node(scene.node, address.as_deref()).await.unwrap();
    let campaign = scene.running(0..3).await;
    assert_eq!(store.owner_of(AttemptId::new()).await, Ok(None));
    let owner = |epoch: i64, alive: bool| Owner {
        node: scene.node,
        epoch,
        alive,
        address: address.clone(),
    };
    let claimed = scene.claim_one(campaign).await;
    let of_claimed = store.owner_of(claimed.attempt).await;
    assert_eq!(of_claimed, Ok(Some(owner(claimed.epoch, true))));
    let sent = scene.dialing(campaign).await;
    assert_eq!(store.owner_of(sent.attempt).await, Ok(Some(owner(sent.epoch, true))));
    let over = scene.dialing(campaign).await;
    let failed = outcome(ConversationStatus::Failed);
    store.finish(over, failed, None).await.unwrap();
    assert_eq!(store.owner_of(over.attempt).await, Ok(None));
    store.not_sent(claimed, 0, None).await.unwrap();
    assert_eq!(store.owner_of(claimed.attempt).await, Ok(None));

    let heir = scene.heir().await;
    let taken = Owner {
        node: heir.node,
        epoch: sent.epoch + 1,
        alive: true,
        address: None,
    };
    assert_eq!(store.owner_of(sent.attempt).await, Ok(Some(taken)));
}

pub async fn all_nodes_share_one_secret(fixture: Fixture) {
    let store = &fixture.store;
    let (one, two) = tokio::join!(store.cluster_secret(), store.cluster_secret());
    let secret = one.unwrap();
    assert_eq!(two, Ok(secret.clone()));
    assert_eq!(store.cluster_secret().await, Ok(secret.clone()));
    assert_eq!(secret.len(), 64);
}
