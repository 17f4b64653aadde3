//! Checks of nodes on one store: their addresses, shared secret, lost claims and shared limits.

use super::Fixture;
use crate::store_conformance::{change, outcome};
use domain::{
    campaign_options::CampaignOptions,
    id::{AttemptId, NodeId},
    ports::store::{CampaignEdit, CampaignStatus, Claim, ConversationStatus, LiveNode, Owner},
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
    assert_eq!(
        store.last_holder(over.attempt).await,
        Ok(Some(over)),
        "also when it is over"
    );
    assert_eq!(store.last_holder(claimed.attempt).await, Ok(Some(claimed)));
    store.not_sent(claimed, 0, None).await.unwrap();
    assert_eq!(store.owner_of(claimed.attempt).await, Ok(None));
    assert_eq!(store.last_holder(claimed.attempt).await, Ok(None));
    assert_eq!(store.last_holder(AttemptId::new()).await, Ok(None));

    let heir = scene.heir().await;
    let taken = Owner {
        node: heir.node,
        epoch: sent.epoch + 1,
        alive: true,
        address: None,
    };
    assert_eq!(store.owner_of(sent.attempt).await, Ok(Some(taken)));
    let heirs = Claim {
        owner: heir.node,
        epoch: sent.epoch + 1,
        ..sent
    };
    assert_eq!(store.last_holder(sent.attempt).await, Ok(Some(heirs)));
}

pub async fn all_nodes_share_one_secret(fixture: Fixture) {
    let store = &fixture.store;
    let (one, two) = tokio::join!(store.cluster_secret(), store.cluster_secret());
    let secret = one.unwrap();
    assert_eq!(two, Ok(secret.clone()));
    assert_eq!(store.cluster_secret().await, Ok(secret.clone()));
    assert_eq!(secret.len(), 64);
}

pub async fn claims_that_were_lost_are_told(fixture: Fixture) {
    let scene = fixture.scene().await;
    let store = &scene.store;
    let campaign = scene.running(0..4).await;
    let (claimed, given_back) = (scene.claim_one(campaign).await, scene.claim_one(campaign).await);
    let (sent, over) = (scene.dialing(campaign).await, scene.dialing(campaign).await);
    let all = [claimed, given_back, sent, over];
    assert_eq!(store.lost_claims(&all).await, Ok(vec![]));
    store.not_sent(given_back, 0, None).await.unwrap();
    let failed = outcome(ConversationStatus::Failed);
    store.finish(over, failed, None).await.unwrap();
    assert_eq!(store.lost_claims(&all).await, Ok(vec![given_back, over]));
    let unknown = Claim {
        attempt: AttemptId::new(),
        ..claimed
    };
    assert_eq!(store.lost_claims(&[unknown]).await, Ok(vec![unknown]));
    let _heir = scene.heir().await;
    assert_eq!(store.lost_claims(&[claimed, sent]).await, Ok(vec![claimed, sent]));
    assert_eq!(store.lost_claims(&[]).await, Ok(vec![]));
}

pub async fn a_campaigns_calls_at_once_are_counted_over_all_nodes(fixture: Fixture) {
    let scene = fixture.scene().await;
    let store = &scene.store;
    let campaign = scene.running(0..20).await;
    let row = scene.turn(campaign, CampaignStatus::Paused).await;
    let edit = CampaignEdit {
        options: Some(CampaignOptions {
            max_concurrent_calls: Some(5),
            ..CampaignOptions::default()
        }),
        ..CampaignEdit::default()
    };
    let running = change(CampaignStatus::Running);
    store
        .update_campaign(campaign, row.version, edit, running)
        .await
        .unwrap();
    let claimers = (0..4).map(|_| {
        let store = store.clone();
        tokio::spawn(async move { store.claim(NodeId::new(), campaign, 3).await.unwrap() })
    });
    let mut claimed = Vec::new();
    for claimer in claimers.collect::<Vec<_>>() {
        claimed.extend(claimer.await.unwrap());
    }
    assert_eq!(claimed.len(), 5);
    assert!(scene.claim(campaign, 1).await.is_empty());
    store.release(&[claimed[0].claim, claimed[1].claim]).await.unwrap();
    assert_eq!(scene.claim(campaign, 9).await.len(), 2);
}
