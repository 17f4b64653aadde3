//! Contacts that are added to a saved campaign, and contacts that are called again.

use std::time::Duration;

use super::{Fixture, Scene, change, contact, number, outcome};
use domain::{
    id::{AttemptId, CampaignId},
    ports::store::{CampaignStatus, ConversationStatus, Outcome, RecentDials, Reservation, StateChange, StoreError},
    time::{Clock, Timestamp},
};

impl Scene {
    /// Creates an import with these contacts.
    pub async fn staged(&self, contacts: &[usize]) -> CampaignId {
        let import = self.store.begin_import(self.account, self.new_campaign("More")).await;
        let import = import.unwrap();
        let contacts: Vec<_> = contacts.iter().copied().map(contact).collect();
        self.store.append_contacts(import, &contacts).await.unwrap();
        import
    }

    async fn indexes(&self, campaign: CampaignId, limit: i64) -> Vec<i64> {
        let claimed = self.claim(campaign, limit).await;
        claimed.iter().map(|attempt| attempt.contact_index).collect()
    }
}

pub async fn added_contacts_are_claimed_once_each_and_no_number_comes_twice(fixture: Fixture) {
    let scene = fixture.scene().await;
    let store = &scene.store;
    let campaign = scene.running(0..3).await;
    // The claim asks for more contacts than there are.
    assert_eq!(scene.indexes(campaign, 9).await, [0, 1, 2]);
    let before = store.campaign(scene.account, campaign).await.unwrap();

    let import = scene.staged(&[7, 2, 5, 0, 9]).await;
    let added = store.add_contacts(campaign, import, None).await.unwrap();
    assert_eq!((added.campaign_id, added.status), (campaign, CampaignStatus::Running));
    assert_eq!((added.added, added.contact_count, added.already_present), (3, 6, 2));
    assert_eq!(added.already_present_rows, [2, 4]);
    let row = store.campaign(scene.account, campaign).await.unwrap();
    assert!(row.version > before.version);
    // The first three are claimed and not dialed yet.
    assert_eq!((row.contact_count, row.start_index), (6, 0));
    assert_eq!(store.progress(campaign).await.unwrap().pending, 3);
    assert_eq!(store.remaining(campaign).await.unwrap().due, 3);
    let all = store.campaign_contacts(campaign, 0, 9).await.unwrap();
    assert_eq!(all, [0, 1, 2, 7, 5, 9].map(contact));
    // The import is gone.
    let again = store.add_contacts(campaign, import, None).await;
    assert_eq!(again, Err(StoreError::NotFound));

    assert_eq!(scene.indexes(campaign, 2).await, [3, 4]);
    let import = scene.staged(&[9, 11]).await;
    assert_eq!(store.add_contacts(campaign, import, None).await.unwrap().added, 1);
    assert_eq!(scene.indexes(campaign, 9).await, [5, 6]);
    assert_eq!(scene.indexes(campaign, 9).await, [0; 0]);
}

pub async fn added_contacts_wake_a_campaign_that_has_an_end(fixture: Fixture) {
    let scene = fixture.scene().await;
    let store = &scene.store;
    let draft = scene.draft("Spring", 0..1).await;
    let later = scene.now().plus(Duration::from_secs(3_600));
    let waits = StateChange {
        next_run_at: Some(later),
        ..change(CampaignStatus::Waiting)
    };
    let row = store.change_state(draft.id, draft.version, waits).await.unwrap();
    // A number that the campaign has already changes nothing.
    let import = scene.staged(&[0]).await;
    let added = store.add_contacts(draft.id, import, None).await.unwrap();
    assert_eq!((added.added, added.already_present, added.contact_count), (0, 1, 1));
    assert_eq!(store.campaign(scene.account, draft.id).await, Ok(row));
    let import = scene.staged(&[1]).await;
    let added = store.add_contacts(draft.id, import, None).await.unwrap();
    assert_eq!(added.status, CampaignStatus::Waiting);
    let row = store.campaign(scene.account, draft.id).await.unwrap();
    assert_eq!(row.next_run_at, Some(scene.now()));

    let states = [
        (CampaignStatus::Draft, CampaignStatus::Draft),
        (CampaignStatus::Running, CampaignStatus::Running),
        (CampaignStatus::Delayed, CampaignStatus::Delayed),
        (CampaignStatus::Paused, CampaignStatus::Paused),
        (CampaignStatus::Stopped, CampaignStatus::Stopped),
        (CampaignStatus::Failed, CampaignStatus::Failed),
        (CampaignStatus::Completed, CampaignStatus::Paused),
    ];
    for (number, (status, after)) in (2..).zip(states) {
        let before = scene.turn(draft.id, status).await;
        let import = scene.staged(&[number]).await;
        let added = store.add_contacts(draft.id, import, None).await.unwrap();
        assert_eq!(added.status, after, "{status:?}");
        let row = store.campaign(scene.account, draft.id).await.unwrap();
        assert_eq!(
            (row.status, row.active, row.version),
            (after, before.active, before.version + 1)
        );
    }

    let ticket = store.reserve_key(scene.account, "k", "add", "h").await;
    let Ok(Reservation::Fresh(ticket)) = ticket else {
        panic!("{ticket:?}")
    };
    let import = scene.staged(&[1, 20]).await;
    let added = store.add_contacts(draft.id, import, Some(&ticket)).await.unwrap();
    match store.reserve_key(scene.account, "k", "add", "h").await {
        Ok(Reservation::Replay { status: 200, resource }) => {
            assert_eq!(resource, serde_json::to_string(&added).unwrap());
        }
        other => panic!("{other:?}"),
    }
    // With a lost idempotency key, nothing is added.
    let import = scene.staged(&[21]).await;
    let fenced = store.add_contacts(draft.id, import, Some(&ticket)).await;
    assert_eq!(fenced, Err(StoreError::Fenced));
    let row = store.campaign(scene.account, draft.id).await.unwrap();
    assert_eq!(row.contact_count, added.contact_count);
    let unknown = store.add_contacts(CampaignId::new(), import, None).await;
    assert_eq!(unknown, Err(StoreError::NotFound));
    assert_eq!(store.add_contacts(draft.id, import, None).await.unwrap().added, 1);
}

pub async fn contacts_are_called_again_once_after_their_final_outcome(fixture: Fixture) {
    let scene = fixture.scene().await;
    let store = &scene.store;
    let campaign = scene.running(0..4).await;
    let mut last = Vec::new();
    for status in [ConversationStatus::Failed, ConversationStatus::Completed] {
        let claim = scene.dialing(campaign).await;
        let outcome = Outcome {
            voicemail: status == ConversationStatus::Completed,
            ..outcome(status)
        };
        store.finish(claim, outcome, None).await.unwrap();
        last.push(claim.attempt);
    }
    let open = scene.dialing(campaign).await;
    last.extend([open.attempt, AttemptId::new()]);
    let other = scene.running(10..11).await;
    let elsewhere = store.call_again(other, &last, 0, None).await.unwrap();
    assert_eq!((elsewhere.contacts, elsewhere.status), (0, CampaignStatus::Running));

    let version = store.campaign(scene.account, campaign).await.unwrap().version;
    let called = store.call_again(campaign, &last, 5, None).await.unwrap();
    assert_eq!((called.campaign_id, called.contacts), (campaign, 7));
    let row = store.campaign(scene.account, campaign).await.unwrap();
    assert_eq!(row.version, version + 1);
    let progress = store.progress(campaign).await.unwrap();
    assert_eq!((progress.pending, progress.in_progress, progress.voicemail), (3, 1, 0));
    // The planned attempt is now their last one.
    assert_eq!(store.call_again(campaign, &last, 0, None).await.unwrap().contacts, 0);
    let claimed = scene.claim(campaign, 2).await;
    let mut places: Vec<_> = claimed.iter().map(|a| (a.contact_index, a.attempt_no)).collect();
    places.sort_unstable();
    assert_eq!(places, [(0, 2), (1, 2)]);
    assert!(claimed.iter().all(|attempt| attempt.tries == Default::default()));
    for attempt in &claimed {
        scene.permit(attempt.claim).await.unwrap();
        let failed = outcome(ConversationStatus::Failed);
        store.finish(attempt.claim, failed, None).await.unwrap();
    }
    scene.turn(campaign, CampaignStatus::Completed).await;
    let again = store
        .call_again(campaign, &[claimed[0].claim.attempt], 0, None)
        .await
        .unwrap();
    assert_eq!((again.contacts, again.status), (1, CampaignStatus::Paused));
    // The number is added to the do-not-call list before the call.
    store
        .add_do_not_call(scene.account, &number(claimed[0].contact_index as usize))
        .await
        .unwrap();
    scene.turn(campaign, CampaignStatus::Running).await;
    assert_eq!(scene.claim(campaign, 1).await.len(), 1);
    assert_eq!(store.progress(campaign).await.unwrap().failed, 1);
    let unknown = store.call_again(CampaignId::new(), &last, 0, None).await;
    assert_eq!(unknown, Err(StoreError::NotFound));
}

pub async fn recent_dials_are_counted(fixture: Fixture) {
    let scene = fixture.scene().await;
    let campaign = scene.running(0..4).await;
    let recent = async || scene.store.recent_dials(campaign, 5).await.unwrap();
    let none = RecentDials {
        dials: 0,
        first: None,
        now: scene.clock.now(),
    };
    assert_eq!(recent().await, none);
    scene.completed(campaign, 100).await;
    let first = scene.now();
    scene.dialing(campaign).await;
    scene.claim_one(campaign).await;
    scene.clock.advance(Duration::from_secs(220));
    let found = recent().await;
    assert_eq!((found.dials, found.first, found.now), (1, Some(first), scene.now()));
    scene.clock.advance(Duration::from_secs(81));
    assert_eq!(recent().await.first, None::<Timestamp>);
}
