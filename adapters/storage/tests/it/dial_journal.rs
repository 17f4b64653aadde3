//! Recovery from the dial journal: a backup is restored under a service that has dialed since.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{path::Path, sync::Arc, time::Duration};

use actors::{
    attempt::Ended,
    lines::{CallRegistry, Dialer, LostCall},
};
use domain::{
    id::NodeId,
    phone_number::PhoneNumber,
    ports::{
        carrier::CarrierCallId,
        store::{
            AttemptState, AttemptStore, CampaignStatus, CampaignStore, Claim, ClaimedAttempt, ConversationStatus,
            NodeStore, Patience, RecordStore, StoreError,
        },
        usage::Meter,
    },
    time::Clock,
};
use storage::{SqlStore, dial_journal::DialJournal};
use testkit::store_conformance::{Fixture, ManualClock, Scene, number, outcome};

use crate::postgres::{database, execute};

async fn open(folder: &Path, clock: &Arc<ManualClock>) -> Arc<SqlStore> {
    let url = format!("sqlite://{}", folder.join("ringback.db").display());
    let store = Arc::new(SqlStore::open(&url, clock.clone()).await.unwrap());
    let journal = DialJournal::open(folder.join("dials")).unwrap();
    store.keep_dial_journal(journal).unwrap();
    store
}

async fn scene(store: &Arc<SqlStore>, clock: &Arc<ManualClock>) -> Scene {
    let fixture = Fixture {
        store: store.clone(),
        clock: clock.clone(),
    };
    fixture.scene().await
}

/// Copies the database with its log from one folder to another.
fn copy(from: &Path, to: &Path) {
    for name in ["ringback.db", "ringback.db-wal"] {
        let _ = std::fs::remove_file(to.join(name));
        if from.join(name).exists() {
            std::fs::copy(from.join(name), to.join(name)).unwrap();
        }
    }
    let _ = std::fs::remove_file(to.join("ringback.db-shm"));
}

#[tokio::test]
async fn what_a_restored_backup_forgot_is_settled_and_not_dialed_again() {
    let (folder, backup) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let clock = Arc::new(ManualClock::new());
    let store = open(folder.path(), &clock).await;
    let scene = scene(&store, &clock).await;
    let (account, node) = (scene.account, scene.node);
    let campaign = scene.running(0..8).await;
    let known = scene.dialing(campaign).await;
    let claimed = scene.claim_one(campaign).await;
    copy(folder.path(), backup.path());

    // Since the backup: the claim was used, two more contacts were dialed, one call ended.
    scene.permit(claimed).await.unwrap();
    let ended = scene.dialing(campaign).await;
    let ending = store.finish(ended, outcome(ConversationStatus::Completed), None);
    ending.await.unwrap();
    let lasting = scene.dialing(campaign).await;
    store.close().await;
    copy(backup.path(), folder.path());

    let store = open(folder.path(), &clock).await;
    assert_eq!(store.reconcile_dials().await, Ok(3));
    assert_eq!(store.reconcile_dials().await, Ok(0), "once");
    let heir = NodeId::new();
    store.register_node(heir, None).await.unwrap();
    let orphaned = store.take_orphaned(heir, &Patience::default()).await.unwrap();
    let mut taken: Vec<_> = orphaned.iter().map(|orphaned| orphaned.claim.attempt).collect();
    let mut dialed = [known, claimed, ended, lasting].map(|claim| claim.attempt);
    taken.sort_unstable();
    dialed.sort_unstable();
    assert_eq!(taken, dialed);
    // They are in the state a process leaves if it dies between the permit and the carrier's answer.
    assert!(orphaned.iter().all(|orphaned| orphaned.state == AttemptState::Dialing));
    // The process that held these calls has lost all of them.
    for claim in [claimed, ended, lasting] {
        assert_eq!(
            store.dialed(claim, &CarrierCallId("call".into())).await,
            Err(StoreError::Fenced)
        );
    }
    assert_ne!(node, heir);

    let fresh = store.claim(heir, campaign, 100).await.unwrap();
    let places: Vec<i64> = fresh.iter().map(|attempt| attempt.contact_index).collect();
    assert_eq!(places, [4, 5, 6, 7]);
    let progress = store.progress(campaign).await.unwrap();
    assert_eq!((progress.in_progress, progress.pending), (8, 0));
    for orphaned in orphaned {
        store
            .finish(orphaned.claim, outcome(ConversationStatus::Failed), None)
            .await
            .unwrap();
    }
    let row = store.conversation(account, ended.attempt).await.unwrap();
    assert_eq!(row.status, ConversationStatus::Failed);
}

#[tokio::test]
async fn contacts_that_a_backup_forgot_are_written_again_with_their_dials() {
    let (folder, backup) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let clock = Arc::new(ManualClock::new());
    let store = open(folder.path(), &clock).await;
    let before = scene(&store, &clock).await;
    let campaign = before.running(0..2).await;
    assert_eq!(before.claim(campaign, 9).await.len(), 2);
    copy(folder.path(), backup.path());

    // Since the backup: three contacts were added, and the last two of them dialed, the last one first.
    let import = before.staged(&[10, 11, 12]).await;
    assert_eq!(store.add_contacts(campaign, import, None).await.unwrap().added, 3);
    let claimed = before.claim(campaign, 9).await;
    for at in [2, 1] {
        before.permit(claimed[at].claim).await.unwrap();
    }
    store.close().await;
    copy(backup.path(), folder.path());

    let store = open(folder.path(), &clock).await;
    assert_eq!(store.reconcile_dials().await, Ok(2));
    let row = store.campaign(before.account, campaign).await.unwrap();
    // The first two were claimed before the backup and are not dialed yet.
    assert_eq!((row.contact_count, row.start_index), (5, 0));
    let contacts = store.campaign_contacts(campaign, 2, 9).await.unwrap();
    let numbers: Vec<_> = contacts.iter().map(|contact| &contact.phone_number).collect();
    assert_eq!(numbers, [&PhoneNumber::erased(), &number(11), &number(12)]);

    let heir = NodeId::new();
    store.register_node(heir, None).await.unwrap();
    let orphaned = store.take_orphaned(heir, &Patience::default()).await.unwrap();
    let mut dialed = 0;
    for orphaned in orphaned {
        if orphaned.state == AttemptState::Dialing {
            let failed = outcome(ConversationStatus::Failed);
            store.finish(orphaned.claim, failed, None).await.unwrap();
            store
                .call_again(campaign, &[orphaned.claim.attempt], 0, None)
                .await
                .unwrap();
            dialed += 1;
        }
    }
    assert_eq!(dialed, 2);
    let mut again: Vec<_> = store.claim(heir, campaign, 9).await.unwrap();
    again.retain(|attempt| attempt.attempt_no == 2);
    again.sort_by_key(|attempt| attempt.contact_index);
    let numbers: Vec<_> = again.iter().map(|attempt| &attempt.contact.phone_number).collect();
    assert_eq!(numbers, [&number(11), &number(12)]);
    assert!(
        store.claim(heir, campaign, 9).await.unwrap().is_empty(),
        "nobody has the erased number"
    );
}

#[tokio::test]
async fn a_permit_that_was_not_used_is_not_taken_for_a_dial() {
    let folder = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::new());
    let store = open(folder.path(), &clock).await;
    let scene = scene(&store, &clock).await;
    let campaign = scene.running(0..2).await;
    let stopped = scene.dialing(campaign).await;
    scene.turn(campaign, CampaignStatus::Stopped).await;
    // The first attempt of the contact is deleted.
    store.not_sent(stopped, 0, None).await.unwrap();
    scene.turn(campaign, CampaignStatus::Running).await;
    let later = scene.dialing(campaign).await;
    store.not_sent(later, 0, None).await.unwrap();
    store.close().await;
    let store = open(folder.path(), &clock).await;
    assert_eq!(store.reconcile_dials().await, Ok(0));
    assert_eq!(store.progress(campaign).await.unwrap().pending, 2);
}

#[tokio::test]
async fn nothing_is_dialed_that_the_journal_cannot_take() {
    let folder = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::new());
    let store = open(folder.path(), &clock).await;
    let scene = scene(&store, &clock).await;
    let campaign = scene.running(0..2).await;
    let claim = scene.claim_one(campaign).await;
    std::fs::remove_dir_all(folder.path().join("dials")).unwrap();
    let refused = scene.permit(claim).await;
    assert!(
        matches!(&refused, Err(StoreError::Unavailable(why)) if why.contains("dial journal")),
        "{refused:?}"
    );
    // The caller of the permit gives it back.
    store.not_sent(claim, 0, None).await.unwrap();
    std::fs::create_dir(folder.path().join("dials")).unwrap();
    scene.dialing(campaign).await;
}

/// Builds a process's registry of live calls, all like the call of `attempt`.
fn live(attempt: &ClaimedAttempt, claims: &[Claim], clock: &Arc<ManualClock>) -> CallRegistry {
    let calls = CallRegistry::default();
    for claim in claims {
        let ended = Ended {
            claim: *claim,
            ..Ended::from(attempt)
        };
        let call = LostCall {
            ended,
            to: attempt.contact.phone_number.clone(),
            carrier: "exchange".into(),
            leg: None,
            since: clock.now(),
            times: Default::default(),
            error: String::new(),
            meter: Meter::default(),
        };
        let campaign = attempt.campaign.map_or(Dialer::SingleCalls, Dialer::Campaign);
        calls.insert(campaign, call);
        calls.leg_known(
            claim.attempt,
            &CarrierCallId(format!("leg {} of {}", claim.epoch, claim.attempt)),
        );
    }
    calls
}

/// Returns the state of an attempt if its owner holds it under this claim.
async fn held(store: &SqlStore, claim: Claim) -> Option<AttemptState> {
    let open = store.unsettled(claim.owner, 0).await.unwrap();
    open.iter().find(|row| row.claim == claim).map(|row| row.state)
}

#[tokio::test]
async fn a_call_goes_on_whose_later_permit_the_database_forgot() {
    let (folder, backup) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let clock = Arc::new(ManualClock::new());
    let store = open(folder.path(), &clock).await;
    let scene = scene(&store, &clock).await;
    let campaign = scene.running(0..1).await;
    let refused = scene.dialing(campaign).await;
    copy(folder.path(), backup.path());
    // The carrier was busy the first time, and not the next.
    store.not_sent(refused, 0, None).await.unwrap();
    let talking = scene.claim(campaign, 1).await.remove(0);
    scene.permit(talking.claim).await.unwrap();
    assert_eq!(talking.claim.attempt, refused.attempt);
    assert!(talking.claim.epoch > refused.epoch);
    store.close().await;
    copy(backup.path(), folder.path());

    let store = open(folder.path(), &clock).await;
    store.register_node(scene.node, None).await.unwrap();
    assert_eq!(held(&store, refused).await, Some(AttemptState::Dialing));
    let calls = live(&talking, &[talking.claim], &clock);
    calls.answered(talking.claim.attempt, clock.now());
    store.keep_live_calls(Arc::new(calls));
    assert_eq!(store.reconcile_dials().await, Ok(1));
    assert_eq!(store.reconcile_dials().await, Ok(0), "once");
    assert_eq!(held(&store, refused).await, None);
    assert_eq!(held(&store, talking.claim).await, Some(AttemptState::Answered));
    let completed = store.finish(talking.claim, outcome(ConversationStatus::Completed), None);
    completed.await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_neighbour_that_compares_first_leaves_a_live_call_to_its_node() {
    let Some(database) = database().await else { return };
    let folder = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::new());
    let node = || async {
        let store = SqlStore::open(&database.url, clock.clone()).await.unwrap();
        // All nodes share one folder.
        let journal = DialJournal::open(folder.path().to_owned()).unwrap();
        store.keep_dial_journal(journal).unwrap();
        Arc::new(store)
    };
    let (talks, neighbour) = (node().await, node().await);
    let scene = scene(&talks, &clock).await;
    let (other, gone) = (NodeId::new(), NodeId::new());
    neighbour.register_node(other, None).await.unwrap();
    talks.register_node(gone, None).await.unwrap();
    talks.register_node(scene.node, None).await.unwrap();
    let campaign = scene.running(0..5).await;
    let attempts = scene.claim(campaign, 3).await;
    let [half, whole, inherited] = [attempts[0].claim, attempts[1].claim, attempts[2].claim];
    let left = talks.claim(gone, campaign, 1).await.unwrap()[0].claim;
    for claim in [half, whole, inherited, left] {
        scene.permit(claim).await.unwrap();
    }
    talks.sign_off(gone).await.unwrap();
    // One of them has moved to the neighbour since; no permit tells of it.
    let brought = Claim {
        owner: other,
        epoch: inherited.epoch + 1,
        ..inherited
    };
    // The server that took over missed two permits, one claim, and that move.
    let unused = "UPDATE attempts SET state = 'claimed', status = 'scheduled', dialing_at = NULL, dial_token = NULL, \
                  carrier = NULL, caller_id = NULL WHERE id IN";
    execute(
        &database.url,
        &format!("{unused} ('{}', '{}')", half.attempt, left.attempt),
    )
    .await;
    execute(
        &database.url,
        &format!("DELETE FROM attempts WHERE id = '{}'", whole.attempt),
    )
    .await;

    neighbour.keep_live_calls(Arc::new(live(&attempts[2], &[brought], &clock)));
    assert_eq!(neighbour.reconcile_dials().await, Ok(3));
    let taken = neighbour.take_orphaned(other, &Patience::default()).await.unwrap();
    let taken: Vec<_> = taken.iter().map(|orphaned| orphaned.claim.attempt).collect();
    assert_eq!(taken, [left.attempt], "what a process left that has gone");
    let calls = live(&attempts[0], &[half, whole], &clock);
    calls.answered(whole.attempt, clock.now());
    talks.keep_live_calls(Arc::new(calls));
    assert_eq!(talks.reconcile_dials().await, Ok(0));
    assert_eq!(held(&talks, half).await, Some(AttemptState::Dialed));
    assert_eq!(held(&talks, whole).await, Some(AttemptState::Answered));
    assert_eq!(held(&talks, brought).await, Some(AttemptState::Dialed));
    for (store, claim) in [(&talks, half), (&talks, whole), (&neighbour, brought)] {
        let completed = store.finish(claim, outcome(ConversationStatus::Completed), None);
        completed.await.unwrap();
    }
    talks.close().await;
    neighbour.close().await;
}

#[tokio::test]
async fn a_call_that_lives_goes_on_where_the_database_forgot_it() {
    let (folder, backup) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let clock = Arc::new(ManualClock::new());
    let store = open(folder.path(), &clock).await;
    let scene = scene(&store, &clock).await;
    let campaign = scene.running(0..4).await;
    let half = scene.dialing(campaign).await;
    copy(folder.path(), backup.path());
    let attempts = scene.claim(campaign, 2).await;
    let (talking, gone) = (attempts[0].clone(), attempts[1].claim);
    for claim in [talking.claim, gone] {
        scene.permit(claim).await.unwrap();
    }
    let (leg, answered_at) = (CarrierCallId("talks".into()), clock.now());
    store.close().await;
    copy(backup.path(), folder.path());

    // One call is answered and one is dialed, both ahead of the database; nobody knows more about the third one.
    let store = open(folder.path(), &clock).await;
    store.register_node(scene.node, None).await.unwrap();
    let calls = live(&talking, &[talking.claim, half], &clock);
    calls.leg_known(talking.claim.attempt, &leg);
    calls.answered(talking.claim.attempt, answered_at);
    store.keep_live_calls(Arc::new(calls));
    assert_eq!(store.reconcile_dials().await, Ok(2));
    let orphaned = store.take_orphaned(scene.node, &Patience::default()).await.unwrap();
    let taken: Vec<_> = orphaned.iter().map(|orphaned| orphaned.claim.attempt).collect();
    assert_eq!(taken, [gone.attempt]);
    let known = store.unsettled(scene.node, 0).await.unwrap();
    let state = |claim: Claim| known.iter().find(|row| row.claim == claim).map(|row| row.state);
    assert_eq!(state(talking.claim), Some(AttemptState::Answered));
    assert_eq!(state(half), Some(AttemptState::Dialed));

    // The call itself writes how it ended.
    clock.advance(Duration::from_secs(65));
    let completed = store.finish(talking.claim, outcome(ConversationStatus::Completed), None);
    completed.await.unwrap();
    let row = store.conversation(scene.account, talking.claim.attempt).await.unwrap();
    assert_eq!(
        (row.status, row.answered_at),
        (ConversationStatus::Completed, Some(answered_at))
    );
    assert_eq!(store.due_analyses(9).await.unwrap().len(), 1, "somebody spoke");
}
