//! Attempts that are refused before they take a line.

use super::{Fixture, contact, number, outcome};
use domain::{
    phone_number::PhoneNumber,
    ports::store::{AttemptKind, CampaignContact, CampaignStatus, ConversationStatus, NextAttempt, Permit},
};

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

pub async fn numbers_of_an_earlier_rule_are_found_on_the_list_and_end_if_nobody_has_them(fixture: Fixture) {
    let scene = fixture.scene().await;
    let old = |text: &str| PhoneNumber::stored(text).unwrap();
    let numbers = ["+490301234567", "+99912345678", "+490309999999"].map(old);
    let import = scene
        .store
        .begin_import(scene.account, scene.new_campaign("Old"))
        .await
        .unwrap();
    let contacts: Vec<CampaignContact> = numbers
        .iter()
        .map(|number| CampaignContact {
            phone_number: number.clone(),
            ..contact(1)
        })
        .collect();
    scene.store.append_contacts(import, &contacts).await.unwrap();
    let campaign = scene.store.finish_import(import, None).await.unwrap().id;
    scene.turn(campaign, CampaignStatus::Running).await;
    let listed = PhoneNumber::parse("+49 30 1234567").unwrap();
    scene.store.add_do_not_call(scene.account, &listed).await.unwrap();

    let read = scene.store.campaign_contacts(campaign, 0, 9).await.unwrap();
    let stored: Vec<_> = read.iter().map(|contact| contact.phone_number.clone()).collect();
    assert_eq!(stored, numbers);
    let claimed = scene.claim(campaign, 9).await;
    let mut permits = Vec::new();
    for attempt in &claimed {
        permits.push(scene.permit(attempt.claim).await.unwrap());
    }
    let error = "invalid-number".to_owned();
    assert_eq!(permits[..2], [Permit::DoNotCall, Permit::NotAllowed { error }]);
    assert!(matches!(permits[2], Permit::Granted { .. }));
    let row = scene
        .store
        .conversation(scene.account, claimed[1].claim.attempt)
        .await
        .unwrap();
    assert_eq!(
        (row.status, row.error.as_deref()),
        (ConversationStatus::Failed, Some("invalid-number"))
    );

    scene.store.add_do_not_call(scene.account, &numbers[2]).await.unwrap();
    let today = PhoneNumber::parse("+49 30 9999999").unwrap();
    let asked = [today.clone(), number(1)];
    let listed = scene.store.among_do_not_call(scene.account, &asked).await.unwrap();
    assert_eq!(listed, [today.clone()].into());
    scene.store.remove_do_not_call(scene.account, &today).await.unwrap();
    let listed = scene.store.among_do_not_call(scene.account, &asked).await.unwrap();
    assert!(listed.is_empty());
}
