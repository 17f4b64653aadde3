//! Attempts that are refused before they take a line.

use super::{Fixture, number, outcome};
use domain::ports::store::{AttemptKind, CampaignStatus, ConversationStatus, NextAttempt};

pub async fn numbers_that_nobody_dials_are_refused_before_a_claim(fixture: Fixture) {
    let scene = fixture.scene().await;
    let campaign = scene.running(0..40).await;
    for listed in [0, 2, 12, 30] {
        let listed = number(listed);
        scene.store.add_do_not_call(scene.account, &listed).await.unwrap();
    }
    let restricted = [number(5).as_str().to_owned()];
    let pass_over = || scene.store.pass_over(scene.node, campaign, 20, &restricted);
    assert_eq!(pass_over().await, Ok(4));
    assert_eq!(pass_over().await, Ok(0), "the fifth lies beyond the window");
    let progress = scene.store.progress(campaign).await.unwrap();
    assert_eq!((progress.cancelled, progress.pending), (4, 36));
    assert_eq!(scene.store.remaining(campaign).await.unwrap().due, 36);
    let row = scene.store.campaign(scene.account, campaign).await.unwrap();
    assert_eq!(row.start_index, 1);

    let claimed = scene.claim(campaign, 20).await;
    let indexes: Vec<_> = claimed.iter().map(|attempt| attempt.contact_index).collect();
    let expected: Vec<_> = (0..24).filter(|index| ![0, 2, 5, 12].contains(index)).collect();
    assert_eq!(indexes, expected);
    assert!(claimed.iter().all(|attempt| attempt.attempt_no == 1));
    assert_eq!(pass_over().await, Ok(1));
    assert_eq!(scene.claim(campaign, 40).await.len(), 15);
    assert_eq!(pass_over().await, Ok(0));
}

pub async fn a_refused_contact_has_a_cancelled_conversation(fixture: Fixture) {
    let scene = fixture.scene().await;
    let campaign = scene.running(0..3).await;
    scene.store.add_do_not_call(scene.account, &number(1)).await.unwrap();
    let restricted = [number(2).as_str().to_owned()];
    assert_eq!(scene.store.pass_over(scene.node, campaign, 9, &restricted).await, Ok(2));
    let rows = scene.store.campaign_contacts(campaign, 0, 9).await.unwrap();
    assert_eq!(rows.len(), 3);
    let claimed = scene.claim(campaign, 9).await;
    assert_eq!(claimed.len(), 1);
    let progress = scene.store.progress(campaign).await.unwrap();
    assert_eq!((progress.cancelled, progress.in_progress), (2, 1));
}

pub async fn a_retry_of_a_number_that_was_listed_since_is_refused(fixture: Fixture) {
    let scene = fixture.scene().await;
    let campaign = scene.running(0..1).await;
    let first = scene.dialing(campaign).await;
    let next = NextAttempt {
        kind: AttemptKind::Retry,
        due_at: scene.now(),
    };
    let busy = outcome(ConversationStatus::Failed);
    scene.store.finish(first, busy, Some(next)).await.unwrap();
    scene.store.add_do_not_call(scene.account, &number(0)).await.unwrap();
    assert_eq!(scene.store.pass_over(scene.node, campaign, 9, &[]).await, Ok(1));
    assert_eq!(scene.store.remaining(campaign).await.unwrap().due, 0);
    assert_eq!(scene.store.progress(campaign).await.unwrap().cancelled, 1);
}

pub async fn nothing_is_refused_while_a_campaign_is_paused(fixture: Fixture) {
    let scene = fixture.scene().await;
    let campaign = scene.running(0..2).await;
    scene.store.add_do_not_call(scene.account, &number(0)).await.unwrap();
    scene.turn(campaign, CampaignStatus::Paused).await;
    assert_eq!(scene.store.pass_over(scene.node, campaign, 9, &[]).await, Ok(0));
    assert_eq!(scene.store.progress(campaign).await.unwrap().pending, 2);
}
