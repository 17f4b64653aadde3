//! Claims, fencing, the call's progress and the outcome.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
    time::Duration,
};

use serde_json::{Map, json};

use super::{Fixture, Scene, contact, number, outcome};
use domain::{
    id::{AttemptId, CampaignId, NodeId},
    ports::{
        carrier::CarrierCallId,
        store::{
            CallTimes, CampaignStatus, Claim, ContactCalls, ConversationFilter, ConversationStatus, NewContact,
            Outcome, Progress, Remaining, StoreError,
        },
    },
    time::{Clock, Timestamp},
};

pub async fn claims_go_through_the_contacts_in_order(fixture: Fixture) {
    let scene = fixture.scene().await;
    let campaign = scene.running(0..5).await;
    let first = scene.claim(campaign, 2).await;
    let second = scene.claim(campaign, 9).await;
    let indexes: Vec<_> = first
        .iter()
        .chain(&second)
        .map(|attempt| attempt.contact_index)
        .collect();
    assert_eq!(indexes, [0, 1, 2, 3, 4]);
    for attempt in first.iter().chain(&second) {
        assert_eq!((attempt.claim.owner, attempt.claim.epoch), (scene.node, 1));
        assert_eq!((attempt.account, attempt.agent), (scene.account, scene.agent));
        assert_eq!((attempt.campaign, attempt.attempt_no), (Some(campaign), 1));
        assert_eq!(attempt.contact, contact(attempt.contact_index as usize));
    }
    assert!(scene.claim(campaign, 9).await.is_empty());
    assert!(scene.claim(campaign, 0).await.is_empty());
    let row = scene.store.campaign(scene.account, campaign).await.unwrap();
    // They are claimed and not dialed yet.
    assert_eq!(row.start_index, 0);
    let progress = scene.store.progress(campaign).await.unwrap();
    assert_eq!((progress.pending, progress.in_progress), (0, 5));
}

pub async fn a_claim_brings_the_saved_contacts_fields(fixture: Fixture) {
    let scene = fixture.scene().await;
    let campaign = scene.running(0..2).await;
    let saved = NewContact {
        phone_number: number(1),
        name: Some("Eve".to_owned()),
        email: None,
        extra: json!({ "city": "Bonn", "pets": 2 }).as_object().cloned().unwrap(),
    };
    let row = scene
        .store
        .create_contact(scene.account, saved.clone(), None)
        .await
        .unwrap();
    let claimed = scene.claim(campaign, 2).await;
    assert_eq!(claimed[0].saved_extra, Map::new());
    assert_eq!(claimed[1].saved_extra, saved.extra);
    // The campaign's own fields stay as imported.
    assert_eq!(claimed[1].contact.extra, contact(1).extra);
    assert_eq!(claimed[1].contact.name, contact(1).name);
    // The saved fields are read with each claim, even if the attempt was queued.
    scene.permit(claimed[1].claim).await.unwrap();
    scene.store.not_sent(claimed[1].claim, 0, None).await.unwrap();
    assert_eq!(scene.claim(campaign, 1).await[0].saved_extra, saved.extra);
    scene.store.release(&[claimed[0].claim]).await.unwrap();
    scene.store.delete_contact(scene.account, row.id).await.unwrap();
    let other = scene.running(1..2).await;
    assert_eq!(scene.claim(other, 1).await[0].saved_extra, Map::new());
}

pub async fn only_a_running_campaign_is_claimed_from(fixture: Fixture) {
    let scene = fixture.scene().await;
    let draft = scene.draft("Spring", 0..3).await;
    for status in CampaignStatus::ALL {
        scene.turn(draft.id, status).await;
        let claimed = scene.claim(draft.id, 1).await.len();
        assert_eq!(claimed, usize::from(status == CampaignStatus::Running), "{status:?}");
    }
    assert!(scene.claim(CampaignId::new(), 1).await.is_empty());
}

pub async fn many_claimers_get_every_contact_once(fixture: Fixture) {
    let scene = fixture.scene().await;
    let campaign = scene.running(0..200).await;
    let mut claimers = tokio::task::JoinSet::new();
    let given_back = Arc::new(Mutex::new(BTreeSet::new()));
    for _ in 0..8 {
        let (scene, given_back) = (scene.clone(), given_back.clone());
        claimers.spawn(async move {
            let mut mine = Vec::new();
            loop {
                let claimed = scene.claim(campaign, 7).await;
                if claimed.is_empty() {
                    return mine;
                }
                mine.extend(
                    claimed
                        .iter()
                        .map(|attempt| (attempt.contact_index, attempt.claim.attempt)),
                );
                // Some contacts are released for other claimers; nothing appears twice.
                let once = |index| index % 10 == 0 && given_back.lock().unwrap().insert(index);
                if let Some(last) = claimed.last().filter(|attempt| once(attempt.contact_index)) {
                    mine.retain(|(_, id)| *id != last.claim.attempt);
                    scene.store.release(&[last.claim]).await.unwrap();
                }
            }
        });
    }
    let mut claimed = claimers.join_all().await.concat();
    // A contact may be released after the others found nothing.
    let late = scene.claim(campaign, 200).await;
    claimed.extend(
        late.iter()
            .map(|attempt| (attempt.contact_index, attempt.claim.attempt)),
    );
    let contacts: BTreeSet<_> = claimed.iter().map(|(index, _)| *index).collect();
    assert_eq!((claimed.len(), contacts.len()), (200, 200));
    let listed = scene
        .store
        .conversations(scene.account, ConversationFilter::default(), 999);
    let listed: BTreeSet<_> = listed.await.unwrap().into_iter().map(|row| row.id).collect();
    assert_eq!(listed, claimed.iter().map(|(_, id)| *id).collect());
}

pub async fn released_contacts_are_as_if_never_claimed(fixture: Fixture) {
    let scene = fixture.scene().await;
    let campaign = scene.running(0..3).await;
    let claims: Vec<_> = scene
        .claim(campaign, 3)
        .await
        .iter()
        .map(|attempt| attempt.claim)
        .collect();
    scene.permit(claims[0]).await.unwrap();
    // The dialed attempt stays.
    scene.store.release(&claims).await.unwrap();
    scene.store.release(&claims).await.unwrap();
    let progress = scene.store.progress(campaign).await.unwrap();
    assert_eq!((progress.pending, progress.in_progress), (2, 1));
    let row = scene.store.campaign(scene.account, campaign).await.unwrap();
    assert_eq!(row.start_index, 1);
    let gone = scene.store.conversation(scene.account, claims[1].attempt).await;
    assert_eq!(gone, Err(StoreError::NotFound));
    assert_eq!(scene.permit(claims[1]).await, Err(StoreError::Fenced));
    let again: Vec<_> = scene.claim(campaign, 9).await.iter().map(|a| a.contact_index).collect();
    assert_eq!(again, [1, 2]);
}

pub async fn a_claim_is_fenced_by_owner_and_epoch(fixture: Fixture) {
    let scene = fixture.scene().await;
    let campaign = scene.running(0..1).await;
    let claim = scene.dialing(campaign).await;
    let call = CarrierCallId("c1".to_owned());
    let forged = [
        Claim {
            owner: NodeId::new(),
            ..claim
        },
        Claim {
            epoch: claim.epoch + 1,
            ..claim
        },
        Claim {
            epoch: claim.epoch - 1,
            ..claim
        },
        Claim {
            attempt: AttemptId::new(),
            ..claim
        },
    ];
    let before = scene.store.conversation(scene.account, claim.attempt).await;
    for forged in forged {
        let fenced = Err(StoreError::Fenced);
        assert_eq!(scene.permit(forged).await, Err(StoreError::Fenced));
        assert_eq!(scene.store.not_sent(forged, 0, None).await, fenced);
        assert_eq!(scene.store.dialed(forged, &call).await, fenced);
        assert_eq!(scene.store.answered(forged, scene.now()).await, fenced);
        assert_eq!(scene.store.unknown(forged).await, fenced);
        let outcome = outcome(ConversationStatus::Failed);
        assert_eq!(scene.store.finish(forged, outcome, None).await, fenced);
        assert_eq!(scene.store.release(&[forged]).await, Ok(()));
    }
    assert_eq!(scene.store.conversation(scene.account, claim.attempt).await, before);
    scene.store.dialed(claim, &call).await.unwrap();
}

pub async fn a_finished_attempt_takes_no_further_write(fixture: Fixture) {
    let scene = fixture.scene().await;
    let campaign = scene.running(0..1).await;
    let claim = scene.completed(campaign, 3).await;
    let before = scene.store.conversation(scene.account, claim.attempt).await;
    let fenced = Err(StoreError::Fenced);
    assert_eq!(scene.permit(claim).await, Err(StoreError::Fenced));
    assert_eq!(scene.store.not_sent(claim, 0, None).await, fenced);
    assert_eq!(scene.store.answered(claim, scene.now()).await, fenced);
    assert_eq!(scene.store.unknown(claim).await, fenced);
    let again = outcome(ConversationStatus::Failed);
    assert_eq!(scene.store.finish(claim, again, None).await, fenced);
    scene.store.release(&[claim]).await.unwrap();
    assert_eq!(scene.store.conversation(scene.account, claim.attempt).await, before);
}

pub async fn the_state_only_moves_forward(fixture: Fixture) {
    let scene = fixture.scene().await;
    let store = &scene.store;
    let campaign = scene.running(0..3).await;
    // A claim is followed only by a permit, a release or an outcome.
    let claim = scene.claim_one(campaign).await;
    let call = CarrierCallId("c1".to_owned());
    assert_eq!(store.dialed(claim, &call).await, Err(StoreError::Fenced));
    assert_eq!(store.answered(claim, scene.now()).await, Err(StoreError::Fenced));
    assert_eq!(store.unknown(claim).await, Err(StoreError::Fenced));
    // The media socket may be faster than the carrier's answer.
    scene.permit(claim).await.unwrap();
    store.answered(claim, scene.now()).await.unwrap();
    let answered_at = scene.clock.now();
    scene.clock.advance(Duration::from_secs(1));
    store.dialed(claim, &call).await.unwrap();
    store.unknown(claim).await.unwrap();
    store.answered(claim, scene.now()).await.unwrap();
    let row = store.conversation(scene.account, claim.attempt).await.unwrap();
    assert_eq!(row.answered_at, Some(answered_at));
    // An answered call was sent.
    assert_eq!(store.not_sent(claim, 0, None).await, Err(StoreError::Fenced));
    // An unknown dial can be adopted, but not sent again.
    let claim = scene.dialing(campaign).await;
    store.unknown(claim).await.unwrap();
    assert_eq!(store.not_sent(claim, 0, None).await, Err(StoreError::Fenced));
    assert_eq!(store.progress(campaign).await.unwrap().in_progress, 2);
    store.dialed(claim, &CarrierCallId("c2".to_owned())).await.unwrap();
    store.answered(claim, scene.now()).await.unwrap();
    for status in [ConversationStatus::InProgress, ConversationStatus::Scheduled] {
        let wrong = store.finish(claim, outcome(status), None).await;
        assert!(matches!(wrong, Err(StoreError::Damaged(_))), "{wrong:?}");
    }
}

/// Reports late to the store: a call was answered 10 s after its permit and talked for 35 s, and the store
/// hears of it 90 s later.
async fn told_late(scene: &Scene, claim: Claim, answer_was_written: bool) -> (Timestamp, Timestamp) {
    scene.clock.advance(Duration::from_secs(10));
    let answered_at = scene.now();
    scene.clock.advance(Duration::from_secs(35));
    let ended_at = scene.now();
    scene.clock.advance(Duration::from_secs(90));
    if answer_was_written {
        scene.store.answered(claim, answered_at).await.unwrap();
    }
    let over = Outcome {
        times: CallTimes {
            answered_at: (!answer_was_written).then_some(answered_at),
            ended_at: Some(ended_at),
        },
        ..outcome(ConversationStatus::Completed)
    };
    scene.store.finish(claim, over, None).await.unwrap();
    (answered_at, ended_at)
}

pub async fn a_call_has_its_own_times_however_late_they_are_written(fixture: Fixture) {
    let scene = fixture.scene().await;
    let (store, account) = (&scene.store, scene.account);
    let campaign = scene.running(0..2).await;
    for answer_was_written in [true, false] {
        let claim = scene.dialing(campaign).await;
        let times = told_late(&scene, claim, answer_was_written).await;
        let row = store.conversation(account, claim.attempt).await.unwrap();
        assert_eq!(row.answered_at.zip(row.ended_at), Some(times));
        let jobs = store.due_analyses(9).await.unwrap();
        assert!(jobs.iter().any(|job| job.attempt == claim.attempt), "{jobs:?}");
    }
    for (seconds, long_enough) in [(35, 2), (36, 0)] {
        let filter = ConversationFilter {
            min_duration: Some(seconds),
            ..ConversationFilter::default()
        };
        assert_eq!(
            store.conversations(account, filter, 9).await.unwrap().len(),
            long_enough
        );
    }
}

pub async fn an_end_that_is_written_late_is_a_change_of_that_time(fixture: Fixture) {
    let scene = fixture.scene().await;
    let store = &scene.store;
    let saved = scene.saved(0).await;
    let campaign = scene.running(0..2).await;
    let late = scene.dialing(campaign).await;
    scene.clock.advance(Duration::from_secs(100));
    let read_until = scene.dialing(campaign).await;
    let now = scene.now();
    told_late(&scene, late, true).await;
    let changes = store
        .changed_conversations(campaign, now, read_until.attempt, 9)
        .await
        .unwrap();
    let found: Vec<_> = changes.iter().map(|change| (change.id, change.changed_at)).collect();
    assert_eq!(found, [(late.attempt, now.plus(Duration::from_secs(135)))]);
    let latest = store.latest_conversations(campaign, 1).await.unwrap();
    assert_eq!(latest.last().map(|change| change.id), Some(late.attempt));
    // The last words may still be on their way to the disk.
    let calls = store.calls_of_contact(scene.account, saved.id).await;
    assert_eq!(calls, Ok(ContactCalls::Going));
}

pub async fn times_that_cannot_be_are_bounded(fixture: Fixture) {
    let scene = fixture.scene().await;
    let store = &scene.store;
    let campaign = scene.running(0..4).await;
    let early = Timestamp(1);
    let late = scene.now().plus(Duration::from_secs(86_400));
    for (answered_at, ended_at, written) in [
        (Some(early), Some(early), (Some(0), 0)),
        (Some(late), Some(early), (Some(60), 60)),
        (Some(late), Some(late), (Some(60), 60)),
        (None, Some(early), (None, 0)),
    ] {
        let claim = scene.dialing(campaign).await;
        let dialed_at = scene.now();
        scene.clock.advance(Duration::from_secs(60));
        let over = Outcome {
            times: CallTimes { answered_at, ended_at },
            ..outcome(ConversationStatus::Failed)
        };
        store.finish(claim, over, None).await.unwrap();
        let row = store.conversation(scene.account, claim.attempt).await.unwrap();
        let after = |seconds| dialed_at.plus(Duration::from_secs(seconds));
        assert_eq!(
            (row.answered_at, row.ended_at),
            (written.0.map(after), Some(after(written.1)))
        );
    }
    let campaign = scene.running(4..6).await;
    for (at, seconds) in [(early, 0), (late, 60)] {
        let claim = scene.dialing(campaign).await;
        let dialed_at = scene.now();
        scene.clock.advance(Duration::from_secs(60));
        store.answered(claim, at).await.unwrap();
        let row = store.conversation(scene.account, claim.attempt).await.unwrap();
        assert_eq!(row.answered_at, Some(dialed_at.plus(Duration::from_secs(seconds))));
    }
}

pub async fn a_carrier_call_belongs_to_one_attempt(fixture: Fixture) {
    let scene = fixture.scene().await;
    let campaign = scene.running(0..2).await;
    let (one, two) = (scene.dialing(campaign).await, scene.dialing(campaign).await);
    let call = CarrierCallId("c1".to_owned());
    scene.store.dialed(one, &call).await.unwrap();
    scene.store.dialed(one, &call).await.unwrap();
    assert_eq!(scene.store.dialed(two, &call).await, Err(StoreError::Exists("call")));
    // The first binding wins.
    let other = CarrierCallId("c2".to_owned());
    assert_eq!(scene.store.dialed(one, &other).await, Err(StoreError::Exists("call")));
    scene.store.dialed(two, &other).await.unwrap();
    // The attempt of a call can be looked up, even after its end.
    scene
        .store
        .finish(one, outcome(ConversationStatus::Failed), None)
        .await
        .unwrap();
    for (carrier, call, owner) in [
        ("exchange", &call, Some(one.attempt)),
        ("exchange", &other, Some(two.attempt)),
        ("exchange", &CarrierCallId("c3".to_owned()), None),
        ("another", &call, None),
    ] {
        assert_eq!(scene.store.attempt_of_call(carrier, call).await, Ok(owner));
    }
}

pub async fn an_unsent_attempt_waits_and_is_claimed_again(fixture: Fixture) {
    let scene = fixture.scene().await;
    let campaign = scene.running(0..3).await;
    let claim = scene.dialing(campaign).await;
    let asked_at = scene.clock.now();
    scene.store.not_sent(claim, 5_000, None).await.unwrap();
    assert_eq!(scene.permit(claim).await, Err(StoreError::Fenced));
    assert_eq!(scene.store.dial_token(claim.attempt).await, Err(StoreError::NotFound));
    let due_at = asked_at.plus(Duration::from_secs(5));
    let row = scene.store.conversation(scene.account, claim.attempt).await.unwrap();
    assert_eq!((row.status, row.started_at), (ConversationStatus::Scheduled, due_at));
    assert_eq!((row.carrier, row.caller_number), (None, None));
    let expected = Remaining {
        due: 2,
        later: 1,
        next_due: Some(due_at),
        open: 0,
    };
    assert_eq!(scene.store.remaining(campaign).await, Ok(expected));
    let row = scene.store.campaign(scene.account, campaign).await.unwrap();
    assert_eq!(row.start_index, 0);

    // Before its time comes, the next contact is claimed; then it goes first.
    assert_eq!(scene.claim(campaign, 1).await[0].contact_index, 1);
    scene.clock.advance(Duration::from_secs(5));
    let again = scene.claim(campaign, 2).await;
    let indexes: Vec<_> = again.iter().map(|attempt| attempt.contact_index).collect();
    assert_eq!(indexes, [0, 2]);
    assert_eq!((again[0].claim.attempt, again[0].attempt_no), (claim.attempt, 1));
    assert!(again[0].claim.epoch > claim.epoch);
    assert_eq!(scene.store.not_sent(claim, 0, None).await, Err(StoreError::Fenced));
    scene.permit(again[0].claim).await.unwrap();
}

pub async fn progress_and_remaining_add_up(fixture: Fixture) {
    let scene = fixture.scene().await;
    let campaign = scene.running(0..10).await;
    scene.completed(campaign, 1).await;
    let machine = scene.dialing(campaign).await;
    scene.store.answered(machine, scene.now()).await.unwrap();
    let voicemail = Outcome {
        voicemail: true,
        ..outcome(ConversationStatus::Completed)
    };
    scene.store.finish(machine, voicemail, None).await.unwrap();
    let busy = scene.dialing(campaign).await;
    scene
        .store
        .finish(busy, outcome(ConversationStatus::Failed), None)
        .await
        .unwrap();
    let given_up = scene.claim_one(campaign).await;
    let cancelled = outcome(ConversationStatus::Cancelled);
    scene.store.finish(given_up, cancelled, None).await.unwrap();
    let lost = scene.dialing(campaign).await;
    scene.store.unknown(lost).await.unwrap();
    scene.claim_one(campaign).await;
    let unsent = scene.dialing(campaign).await;
    scene.store.not_sent(unsent, 60_000, None).await.unwrap();

    let expected = Progress {
        pending: 4,
        in_progress: 2,
        completed: 2,
        failed: 1,
        cancelled: 1,
        voicemail: 1,
    };
    assert_eq!(scene.store.progress(campaign).await, Ok(expected));
    let expected = Remaining {
        due: 3,
        later: 1,
        next_due: Some(scene.clock.now().plus(Duration::from_secs(60))),
        open: 2,
    };
    assert_eq!(scene.store.remaining(campaign).await, Ok(expected));
    scene.clock.advance(Duration::from_secs(60));
    let remaining = scene.store.remaining(campaign).await.unwrap();
    assert_eq!((remaining.due, remaining.later, remaining.next_due), (4, 0, None));
    let row = scene.store.campaign(scene.account, campaign).await.unwrap();
    // The sixth is claimed and waits for its permit.
    assert_eq!(row.start_index, 5);
}

pub async fn a_stop_cancels_what_waits(fixture: Fixture) {
    let scene = fixture.scene().await;
    let campaign = scene.running(0..3).await;
    let waiting = scene.dialing(campaign).await;
    scene.store.not_sent(waiting, 60_000, None).await.unwrap();
    let calling = scene.dialing(campaign).await;
    scene.turn(campaign, CampaignStatus::Paused).await;
    scene.store.conversation(scene.account, waiting.attempt).await.unwrap();
    scene.turn(campaign, CampaignStatus::Stopped).await;
    // It was never dialed, so it leaves no conversation.
    let gone = scene.store.conversation(scene.account, waiting.attempt).await;
    assert_eq!(gone, Err(StoreError::NotFound));
    let progress = scene.store.progress(campaign).await.unwrap();
    assert_eq!((progress.pending, progress.in_progress, progress.cancelled), (2, 1, 0));
    // Calls in progress end by themselves.
    let done = outcome(ConversationStatus::Completed);
    scene.store.finish(calling, done, None).await.unwrap();
    scene.turn(campaign, CampaignStatus::Running).await;
    let indexes: Vec<_> = scene.claim(campaign, 9).await.iter().map(|a| a.contact_index).collect();
    assert_eq!(indexes, [0, 2]);
}
