//! Refusals for an unknown reason, counted for all nodes.

use std::time::Duration;

use super::{Fixture, Scene, outcome};
use domain::{
    id::{CampaignId, NodeId},
    ports::store::{CampaignStatus, Claim, ConversationStatus, Outcome},
    time::Clock,
};

fn refused(kind: Option<&str>) -> Outcome {
    Outcome {
        error: Some("carrier-error: +15550123456 displeases us".to_owned()),
        refusal: kind.map(str::to_owned),
        ..outcome(ConversationStatus::Failed)
    }
}

impl Scene {
    async fn refuse(&self, claim: Claim, kind: Option<&str>) {
        self.store.finish(claim, refused(kind), None).await.unwrap();
    }

    async fn left(&self, campaign: CampaignId) -> (CampaignStatus, i64, i64) {
        let progress = self.store.progress(campaign).await.unwrap();
        let row = self.store.campaign(self.account, campaign).await.unwrap();
        (row.status, progress.failed, progress.pending)
    }
}

pub async fn the_third_unknown_refusal_in_a_row_delays_a_campaign_whoever_dialed(fixture: Fixture) {
    let scene = fixture.scene().await;
    let other = Scene {
        node: NodeId::new(),
        ..scene.clone()
    };
    other.store.register_node(other.node, None).await.unwrap();
    let campaign = scene.running(0..10).await;
    let mut open = Vec::new();
    for node in [&scene, &other, &scene, &other, &scene] {
        open.push(node.dialing(campaign).await);
    }
    scene.refuse(open[0], Some("a")).await;
    other.refuse(open[1], Some("a")).await;
    assert_eq!(scene.left(campaign).await.0, CampaignStatus::Running);
    scene.refuse(open[2], Some("a")).await;
    let row = scene.store.campaign(scene.account, campaign).await.unwrap();
    assert_eq!(row.status, CampaignStatus::Delayed);
    assert_eq!(row.next_run_at, Some(scene.clock.now().plus(Duration::from_secs(600))));
    let reason = row.reason.unwrap();
    assert!(reason.contains("+*********56 displeases us"), "{reason}");
    // A refusal of an earlier dial does not use up the one of the ten minutes.
    other.refuse(open[3], Some("a")).await;
    assert_eq!(scene.left(campaign).await, (CampaignStatus::Delayed, 3, 6));
    // A known reason is the contact's own.
    scene.refuse(open[4], None).await;
    assert_eq!(scene.left(campaign).await, (CampaignStatus::Delayed, 4, 6));
    assert!(scene.claim(campaign, 5).await.is_empty());

    scene.clock.advance(Duration::from_secs(600));
    for (kind, lost) in [(Some("a"), 5), (Some("b"), 6), (None, 7)] {
        scene.turn(campaign, CampaignStatus::Running).await;
        let tried = scene.dialing(campaign).await;
        assert!(other.claim(campaign, 5).await.is_empty());
        scene.refuse(tried, kind).await;
        assert_eq!(scene.left(campaign).await.0, CampaignStatus::Delayed, "{kind:?}");
        assert_eq!(scene.left(campaign).await.1, lost, "{kind:?}");
    }
    scene.turn(campaign, CampaignStatus::Running).await;
    let tried = scene.dialing(campaign).await;
    scene.store.answered(tried, scene.clock.now()).await.unwrap();
    assert_eq!(other.claim(campaign, 5).await.len(), 2);
}

pub async fn unknown_refusals_are_in_a_row_only_if_they_are_alike_and_no_call_gets_through(fixture: Fixture) {
    let scene = fixture.scene().await;
    let campaign = scene.running(0..20).await;
    let busy = outcome(ConversationStatus::Failed);
    for kind in [
        "a", "a", "b", "b", "through", "b", "known", "b", "c", "c", "through", "c", "c",
    ] {
        let claim = scene.dialing(campaign).await;
        match kind {
            "through" => scene.store.finish(claim, busy.clone(), None).await.unwrap(),
            "known" => scene.refuse(claim, None).await,
            kind => scene.refuse(claim, Some(kind)).await,
        }
        assert_eq!(scene.left(campaign).await.0, CampaignStatus::Running, "{kind}");
    }
    let claim = scene.dialing(campaign).await;
    scene.refuse(claim, Some("c")).await;
    assert_eq!(scene.left(campaign).await, (CampaignStatus::Delayed, 14, 6));
}
