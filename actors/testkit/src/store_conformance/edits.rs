//! Edits of a campaign's fields, its removal, its window.

use std::time::Duration;

use super::{Fixture, Scene, change, contact, number, outcome};
use domain::{
    campaign_options::CampaignOptions,
    id::{AgentId, CampaignId},
    ports::store::{
        AttemptKind, CampaignEdit, CampaignFilter, CampaignStatus, ConversationStatus, FollowUp, NextAttempt, Permit,
        Progress, Remaining, ScheduleText, StateChange, StoreError, Tries,
    },
    time::{Clock, Timestamp},
};

/// Returns the present state, for an edit that does not change it.
async fn unchanged(scene: &Scene, id: CampaignId) -> (i64, StateChange) {
    let row = scene.store.campaign(scene.account, id).await.unwrap();
    let state = StateChange {
        active: row.active,
        ..change(row.status)
    };
    (row.version, state)
}

pub async fn an_edit_changes_what_it_names_and_needs_the_present_version(fixture: Fixture) {
    let scene = fixture.scene().await;
    let draft = scene.draft("Spring", 0..2).await;
    scene.clock.advance(Duration::from_secs(1));
    let (version, state) = unchanged(&scene, draft.id).await;
    let nothing = CampaignEdit::default();
    let row = scene
        .store
        .update_campaign(draft.id, version, nothing, state.clone())
        .await
        .unwrap();
    assert_eq!((&row.name, &row.schedule), (&draft.name, &draft.schedule));
    assert_eq!((row.agent, &row.follow_up), (draft.agent, &draft.follow_up));
    assert_eq!((row.options.max_concurrent_calls, row.contact_count), (Some(7_000), 2));
    assert_eq!(row.options.ring_timeout_seconds, Some(25));
    assert_eq!((row.version, row.updated_at), (version + 1, scene.clock.now()));

    let agent = scene.store.create_agent(scene.account, super::document("Bob"), None);
    let edit = CampaignEdit {
        name: Some("ÄRGER".into()),
        agent: Some(agent.await.unwrap().id),
        schedule: Some(ScheduleText {
            start_time: None,
            end_time: Some("18:00".into()),
            timezone: Some("Asia/Tokyo".into()),
        }),
        follow_up: Some(FollowUp::default()),
        options: Some(CampaignOptions {
            ring_timeout_seconds: Some(40),
            ..CampaignOptions::default()
        }),
        contacts: None,
    };
    let waiting = StateChange {
        opens_from: Some(Timestamp(5)),
        closes_at: Some(Timestamp(9)),
        scheduled: true,
        ..change(CampaignStatus::Waiting)
    };
    let stale = scene
        .store
        .update_campaign(draft.id, version, edit.clone(), waiting.clone())
        .await;
    assert_eq!(stale, Err(StoreError::Stale));
    let unknown = scene
        .store
        .update_campaign(CampaignId::new(), 1, edit.clone(), waiting.clone())
        .await;
    assert_eq!(unknown, Err(StoreError::NotFound));
    assert_eq!(
        scene.store.campaign(scene.account, draft.id).await.unwrap().name,
        "Spring"
    );
    let row = scene
        .store
        .update_campaign(draft.id, version + 1, edit.clone(), waiting)
        .await
        .unwrap();
    assert_eq!((row.name.as_str(), Some(row.agent)), ("ÄRGER", edit.agent));
    assert_eq!(
        (Some(&row.schedule), &row.follow_up),
        (edit.schedule.as_ref(), &FollowUp::default())
    );
    assert_eq!((row.options.max_concurrent_calls, row.scheduled), (None, true));
    assert_eq!(row.options.ring_timeout_seconds, Some(40));
    assert_eq!(
        (row.opens_from, row.closes_at),
        (Some(Timestamp(5)), Some(Timestamp(9)))
    );
    assert_eq!(scene.store.campaign(scene.account, draft.id).await, Ok(row));
    // It is found by its new name.
    let by_name = CampaignFilter {
        name: Some("ärg".into()),
        ..CampaignFilter::default()
    };
    assert_eq!(scene.store.campaigns(scene.account, by_name, 9).await.unwrap().len(), 1);
}

pub async fn replaced_contacts_are_dialed_from_the_first(fixture: Fixture) {
    let scene = fixture.scene().await;
    let campaign = scene.running(0..3).await;
    let busy = scene.dialing(campaign).await;
    let retry = NextAttempt {
        kind: AttemptKind::Retry,
        due_at: scene.clock.now().plus(Duration::from_secs(60)),
    };
    let failed = outcome(ConversationStatus::Failed);
    scene.store.finish(busy, failed, Some(retry)).await.unwrap();
    scene.turn(campaign, CampaignStatus::Paused).await;
    let other = scene.new_campaign("Import");
    let import = scene.store.begin_import(scene.account, other).await.unwrap();
    scene
        .store
        .append_contacts(import, &[contact(7), contact(0), contact(8), contact(9)])
        .await
        .unwrap();
    let edit = CampaignEdit {
        contacts: Some(import),
        ..CampaignEdit::default()
    };
    let (version, state) = unchanged(&scene, campaign).await;
    let stale = scene
        .store
        .update_campaign(campaign, version - 1, edit.clone(), state.clone())
        .await;
    assert_eq!(stale, Err(StoreError::Stale));
    let row = scene
        .store
        .update_campaign(campaign, version, edit.clone(), state.clone())
        .await
        .unwrap();
    assert_eq!((row.contact_count, row.start_index), (4, 0));
    let progress = Progress {
        pending: 4,
        ..Progress::default()
    };
    assert_eq!(scene.store.progress(campaign).await, Ok(progress));
    let left = Remaining {
        due: 4,
        ..Remaining::default()
    };
    assert_eq!(
        scene.store.remaining(campaign).await,
        Ok(left),
        "the retry was cancelled"
    );
    // The import no longer exists; naming it again, or nothing, changes nothing.
    let gone = scene
        .store
        .update_campaign(campaign, row.version, edit, state.clone())
        .await;
    assert_eq!(gone, Err(StoreError::NotFound));
    assert_eq!(scene.store.campaign(scene.account, campaign).await, Ok(row));
    assert_eq!(scene.store.sweep_imports().await, Ok(0));
    // Earlier calls stay readable.
    let before = scene.store.conversation(scene.account, busy.attempt).await.unwrap();
    assert_eq!(before.status, ConversationStatus::Failed);
    scene.turn(campaign, CampaignStatus::Running).await;
    let claimed = scene.claim(campaign, 9).await;
    let numbers: Vec<_> = claimed.iter().map(|a| a.contact.phone_number.clone()).collect();
    assert_eq!(numbers, [7, 0, 8, 9].map(number));
    assert!(claimed.iter().all(|attempt| attempt.attempt_no == 1));
}

pub async fn another_accounts_import_is_not_taken(fixture: Fixture) {
    let scene = fixture.scene().await;
    let draft = scene.draft("Spring", 0..2).await;
    let stranger = super::new_account("eve@example.com");
    let account = stranger.account.id;
    scene.store.create_account(stranger).await.unwrap();
    let import = scene.store.begin_import(account, scene.new_campaign("Theirs")).await;
    let edit = CampaignEdit {
        contacts: Some(import.unwrap()),
        name: Some("Mine".into()),
        ..CampaignEdit::default()
    };
    let (version, state) = unchanged(&scene, draft.id).await;
    let refused = scene.store.update_campaign(draft.id, version, edit, state).await;
    assert_eq!(refused, Err(StoreError::NotFound));
    assert_eq!(scene.store.campaign(scene.account, draft.id).await, Ok(draft));
}

pub async fn a_removed_campaign_is_in_no_read_and_its_calls_are(fixture: Fixture) {
    let scene = fixture.scene().await;
    let campaign = scene.running(0..4).await;
    let (busy, calling) = (scene.dialing(campaign).await, scene.dialing(campaign).await);
    let retry = NextAttempt {
        kind: AttemptKind::Retry,
        due_at: scene.clock.now().plus(Duration::from_secs(60)),
    };
    let failed = outcome(ConversationStatus::Failed);
    scene.store.finish(busy, failed.clone(), Some(retry)).await.unwrap();
    let row = scene.turn(campaign, CampaignStatus::Paused).await;
    let stale = scene.store.delete_campaign(campaign, row.version - 1).await;
    assert_eq!(stale, Err(StoreError::Stale));
    scene.store.delete_campaign(campaign, row.version).await.unwrap();
    let gone = Err(StoreError::NotFound);
    assert_eq!(scene.store.delete_campaign(campaign, row.version + 1).await, gone);
    assert_eq!(
        scene.store.campaign(scene.account, campaign).await,
        Err(StoreError::NotFound)
    );
    assert_eq!(scene.store.progress(campaign).await, Err(StoreError::NotFound));
    let all = scene.store.campaigns(scene.account, CampaignFilter::default(), 9).await;
    assert_eq!(all, Ok(vec![]));
    assert_eq!(scene.store.active_campaigns().await, Ok(vec![]));
    let state = change(CampaignStatus::Running);
    let running = scene.store.change_state(campaign, row.version + 1, state).await;
    assert_eq!(running, Err(StoreError::NotFound));
    // The call in progress ends by itself, and is not repeated.
    scene.store.finish(calling, failed, Some(retry)).await.unwrap();
    let filter = domain::ports::store::ConversationFilter::default();
    let calls = scene.store.conversations(scene.account, filter, 9).await.unwrap();
    let mut statuses: Vec<_> = calls.iter().map(|call| call.status.as_str()).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, ["cancelled", "failed", "failed"]);
}

pub async fn no_permit_is_given_after_the_window_closed(fixture: Fixture) {
    let scene = fixture.scene().await;
    let draft = scene.draft("Spring", 0..3).await;
    let closes_at = scene.clock.now().plus(Duration::from_secs(60));
    let running = StateChange {
        closes_at: Some(closes_at),
        ..change(CampaignStatus::Running)
    };
    scene.store.change_state(draft.id, 1, running).await.unwrap();
    let claims = scene.claim(draft.id, 2).await;
    scene.clock.advance(Duration::from_micros(59_999_999));
    let permit = scene.permit(claims[0].claim).await;
    assert!(matches!(permit, Ok(Permit::Granted { .. })), "{permit:?}");
    scene.clock.advance(Duration::from_micros(1));
    assert_eq!(scene.permit(claims[1].claim).await, Ok(Permit::CampaignNotRunning));
    assert!(scene.claim(draft.id, 2).await.is_empty());
    assert_eq!(scene.store.progress(draft.id).await.unwrap().pending, 2);
}

pub async fn a_next_attempt_is_planned_with_the_outcome(fixture: Fixture) {
    let scene = fixture.scene().await;
    let campaign = scene.running(0..1).await;
    let busy = scene.dialing(campaign).await;
    let due_at = scene.clock.now().plus(Duration::from_secs(60));
    let failed = outcome(ConversationStatus::Failed);
    let next = |kind, due_at| Some(NextAttempt { kind, due_at });
    scene
        .store
        .finish(busy, failed.clone(), next(AttemptKind::Retry, due_at))
        .await
        .unwrap();
    let fenced = scene
        .store
        .finish(busy, failed.clone(), next(AttemptKind::Retry, due_at))
        .await;
    assert_eq!(fenced, Err(StoreError::Fenced));
    let left = Remaining {
        later: 1,
        next_due: Some(due_at),
        ..Remaining::default()
    };
    assert_eq!(scene.store.remaining(campaign).await, Ok(left));
    let pending = Progress {
        pending: 1,
        ..Progress::default()
    };
    assert_eq!(scene.store.progress(campaign).await, Ok(pending));
    let calls = scene
        .store
        .conversations(scene.account, Default::default(), 9)
        .await
        .unwrap();
    let waiting = calls.iter().find(|call| call.id != busy.attempt).unwrap();
    assert_eq!(
        (waiting.status, waiting.started_at),
        (ConversationStatus::Scheduled, due_at)
    );
    assert!(scene.claim(campaign, 9).await.is_empty());

    // Numbers continue from the previous attempt; retries restart in each follow-up and in each call-back.
    let steps = [
        (AttemptKind::Retry, (2, 0, 1, 0)),
        (AttemptKind::FollowUp, (3, 0, 2, 0)),
        (AttemptKind::Retry, (4, 1, 0, 0)),
        (AttemptKind::CallBack, (5, 1, 1, 0)),
        (AttemptKind::Retry, (6, 1, 0, 1)),
        (AttemptKind::CallBack, (7, 1, 1, 1)),
        (AttemptKind::FollowUp, (8, 1, 0, 2)),
        (AttemptKind::FollowUp, (9, 2, 0, 2)),
    ];
    for (kind, (attempt_no, follow_up, retry, call_backs)) in steps {
        scene.clock.advance(Duration::from_secs(60));
        let claimed = scene.claim(campaign, 9).await.remove(0);
        assert_eq!(claimed.attempt_no, attempt_no);
        let expected = Tries {
            follow_up,
            retry,
            call_backs,
        };
        assert_eq!(claimed.tries, expected);
        scene.permit(claimed.claim).await.unwrap();
        let due_at = scene.clock.now().plus(Duration::from_secs(60));
        scene
            .store
            .finish(claimed.claim, failed.clone(), next(kind, due_at))
            .await
            .unwrap();
    }
}

pub async fn nothing_is_planned_in_a_campaign_that_was_stopped(fixture: Fixture) {
    let scene = fixture.scene().await;
    let campaign = scene.running(0..2).await;
    let (one, two) = (scene.dialing(campaign).await, scene.dialing(campaign).await);
    let next = Some(NextAttempt {
        kind: AttemptKind::FollowUp,
        due_at: scene.clock.now(),
    });
    let failed = outcome(ConversationStatus::Failed);
    // A pause changes nothing, since the campaign will continue.
    scene.turn(campaign, CampaignStatus::Paused).await;
    scene.store.finish(one, failed.clone(), next).await.unwrap();
    let progress = scene.store.progress(campaign).await.unwrap();
    assert_eq!((progress.pending, progress.in_progress), (1, 1));
    scene.turn(campaign, CampaignStatus::Stopped).await;
    scene.store.finish(two, failed, next).await.unwrap();
    let expected = Progress {
        failed: 1,
        cancelled: 1,
        ..Progress::default()
    };
    assert_eq!(scene.store.progress(campaign).await, Ok(expected));
    assert_eq!(scene.store.remaining(campaign).await, Ok(Remaining::default()));
}

pub async fn waiting_attempts_go_to_the_campaigns_new_agent(fixture: Fixture) {
    let scene = fixture.scene().await;
    let campaign = scene.running(0..1).await;
    let busy = scene.dialing(campaign).await;
    let next = Some(NextAttempt {
        kind: AttemptKind::Retry,
        due_at: scene.clock.now(),
    });
    let failed = outcome(ConversationStatus::Failed);
    scene.store.finish(busy, failed, next).await.unwrap();
    scene.turn(campaign, CampaignStatus::Paused).await;
    let document = super::document("Bob");
    let agent: AgentId = scene
        .store
        .create_agent(scene.account, document, None)
        .await
        .unwrap()
        .id;
    let edit = CampaignEdit {
        agent: Some(agent),
        ..CampaignEdit::default()
    };
    let (version, state) = unchanged(&scene, campaign).await;
    scene
        .store
        .update_campaign(campaign, version, edit, state)
        .await
        .unwrap();
    scene.turn(campaign, CampaignStatus::Running).await;
    let claimed = scene.claim(campaign, 1).await.remove(0);
    assert_eq!(claimed.agent, agent);
    let before = scene.store.conversation(scene.account, busy.attempt).await.unwrap();
    assert_eq!(before.agent, scene.agent);
}
