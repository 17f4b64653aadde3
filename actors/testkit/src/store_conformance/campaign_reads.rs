//! Reads of a campaign's contacts and calls.

use std::time::Duration;

use super::{Fixture, Scene, number, outcome};
use domain::{
    id::{AccountId, AttemptId, CampaignId, ContactId},
    ports::store::{
        ChangedConversation, ContactStatus, ConversationStatus, Outcome, ResultFilter, StateChange, StoreError,
    },
    time::Timestamp,
};

/// Creates six contacts: completed by voicemail, failed, dialing, tried and waiting, claimed, and never tried.
async fn mixed(scene: &Scene) -> CampaignId {
    let campaign = scene.running(0..6).await;
    let claim = scene.dialing(campaign).await;
    let reached = Outcome {
        voicemail: true,
        collected: [("day".to_owned(), "Monday".to_owned())].into(),
        ..outcome(ConversationStatus::Completed)
    };
    scene.store.finish(claim, reached, None).await.unwrap();
    let claim = scene.dialing(campaign).await;
    let failed = outcome(ConversationStatus::Failed);
    scene.store.finish(claim, failed, None).await.unwrap();
    scene.dialing(campaign).await;
    let claim = scene.dialing(campaign).await;
    scene.store.not_sent(claim, 60_000, None).await.unwrap();
    scene.claim_one(campaign).await;
    campaign
}

pub async fn a_page_of_results_is_in_order_with_each_last_attempt(fixture: Fixture) {
    let scene = fixture.scene().await;
    let store = &scene.store;
    let known = scene.saved(1).await;
    let campaign = mixed(&scene).await;
    let read = async |status: Option<ContactStatus>, from, limit| {
        let page = store
            .contact_results(campaign, status.into(), from, limit)
            .await
            .unwrap();
        page.results
    };
    let all = read(None, 0, 10).await;
    let short: Vec<_> = all.iter().map(|r| (r.index, r.status, r.last.is_some())).collect();
    assert_eq!(
        short,
        [
            (0, ContactStatus::Completed, true),
            (1, ContactStatus::Failed, true),
            (2, ContactStatus::InProgress, true),
            (3, ContactStatus::Pending, true),
            (4, ContactStatus::InProgress, true),
            (5, ContactStatus::Pending, false),
        ]
    );
    let last = |n: usize| all[n].last.as_ref().unwrap();
    assert!(last(0).voicemail && !last(1).voicemail);
    assert_eq!((last(0).number, last(0).collected["day"].as_str()), (1, "Monday"));
    assert_eq!(
        (last(0).error.as_deref(), last(1).error.as_deref()),
        (None, Some("busy"))
    );
    assert_eq!(all[1].who.contact, Some(known.id));
    assert_eq!(all[1].who.phone_number, number(1));
    assert_eq!((all[2].who.name.as_deref(), all[2].who.contact), (Some("Näme 2"), None));

    assert_eq!(read(None, 2, 3).await, all[2..5]);
    for status in ContactStatus::ALL {
        let expected: Vec<_> = all.iter().filter(|r| r.status == status).cloned().collect();
        let found = read(Some(status), 0, 10).await;
        assert_eq!(found, expected, "{status:?}");
    }
    let pending = Some(ContactStatus::Pending);
    assert_eq!(read(pending, 0, 1).await, all[3..4]);
    assert_eq!(read(pending, 4, 9).await, all[5..6]);
    for (search, status, indexes) in [
        ("nÄme 2", None, vec![2]),
        ("555 00", None, (0..6).collect()),
        ("NÄME", pending, vec![3, 5]),
        (&number(4).as_str()[3..], None, vec![4]),
        ("n_me", None, vec![]),
    ] {
        let search = Some(search.to_owned());
        let filter = ResultFilter { status, search };
        let page = store.contact_results(campaign, filter.clone(), 0, 10).await.unwrap();
        let found: Vec<_> = page.results.iter().map(|result| result.index).collect();
        assert_eq!(found, indexes, "{filter:?}");
    }
    let unknown = store
        .contact_results(CampaignId::new(), ResultFilter::default(), 0, 1)
        .await;
    assert_eq!(unknown, Err(StoreError::NotFound));
}

pub async fn changes_of_conversations_are_read_in_their_order(fixture: Fixture) {
    let scene = fixture.scene().await;
    let store = &scene.store;
    let campaign = scene.running(0..4).await;
    let from_start = (Timestamp(i64::MIN), AttemptId::FIRST);
    let read = async |(after, id)| store.changed_conversations(campaign, after, id, 10).await.unwrap();
    let place = |change: &ChangedConversation| (change.changed_at, change.id);

    // A claim that was not dialed may go without a trace.
    let first = scene.claim_one(campaign).await;
    assert_eq!(read(from_start).await, []);
    scene.permit(first).await.unwrap();
    scene.clock.advance(Duration::from_secs(1));
    let second = scene.dialing(campaign).await;
    let dialing = read(from_start).await;
    let short: Vec<_> = dialing.iter().map(|c| (c.id, c.status)).collect();
    let in_progress = ConversationStatus::InProgress;
    assert_eq!(short, [(first.attempt, in_progress), (second.attempt, in_progress)]);
    assert_eq!(dialing[1].who.phone_number, number(1));
    assert_eq!(dialing[1].who.name.as_deref(), Some("Näme 1"));
    assert_eq!(read(place(&dialing[0])).await, dialing[1..]);
    assert_eq!(read(place(&dialing[1])).await, []);

    scene.clock.advance(Duration::from_secs(1));
    let failed = outcome(ConversationStatus::Failed);
    store.finish(first, failed, None).await.unwrap();
    let ended = read(place(&dialing[1])).await;
    let short: Vec<_> = ended.iter().map(|c| (c.id, c.status)).collect();
    assert_eq!(short, [(first.attempt, ConversationStatus::Failed)]);
    let limited = store
        .changed_conversations(campaign, from_start.0, from_start.1, 1)
        .await
        .unwrap();
    assert_eq!(limited, dialing[1..]);

    // The newest conversations, and those in progress however old.
    let latest = async |newest| store.latest_conversations(campaign, newest).await.unwrap();
    assert_eq!(latest(10).await, [dialing[1].clone(), ended[0].clone()]);
    assert_eq!(latest(1).await, [dialing[1].clone(), ended[0].clone()]);
    store
        .finish(second, outcome(ConversationStatus::Failed), None)
        .await
        .unwrap();
    assert_eq!(latest(1).await.len(), 1);
    assert_eq!(latest(0).await, []);
    let unknown = store
        .changed_conversations(CampaignId::new(), from_start.0, from_start.1, 1)
        .await;
    assert_eq!(unknown, Err(StoreError::NotFound));
    let stop = StateChange {
        cancel_waiting: true,
        ..super::change(domain::ports::store::CampaignStatus::Stopped)
    };
    let version = store.campaign(scene.account, campaign).await.unwrap().version;
    store.change_state(campaign, version, stop).await.unwrap();
    assert_eq!(latest(10).await.len(), 2);
}

pub async fn saved_contacts_are_found_by_number_and_by_id(fixture: Fixture) {
    let scene = fixture.scene().await;
    let store = &scene.store;
    let mut rows = Vec::new();
    for n in 0..3 {
        rows.push(scene.saved(n).await);
    }
    let many: Vec<_> = (1..1_200).map(number).collect();
    let mut found = store.saved_by_number(scene.account, &many).await.unwrap();
    found.sort_by_key(|row| row.phone_number.to_string());
    assert_eq!(found, rows[1..]);
    let ids = [rows[2].id, ContactId::new()];
    assert_eq!(store.saved_by_id(scene.account, &ids).await.unwrap(), rows[2..]);
    assert_eq!(store.saved_by_id(AccountId::new(), &ids).await.unwrap(), []);
    assert_eq!(store.saved_by_number(AccountId::new(), &many).await.unwrap(), []);
    assert_eq!(store.saved_by_number(scene.account, &[]).await.unwrap(), []);
}
