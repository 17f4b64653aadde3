//! Single calls: queued, claimed, returned, expired and cancelled; and cancelling any attempt that waits.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::{Fixture, Scene, number, orphaned::live_on, outcome, request};
use domain::{
    id::{AccountId, AgentId, AttemptId, NodeId},
    ports::{
        carrier::CarrierCallId,
        store::{
            AttemptKind, ClaimedAttempt, ConversationFilter, ConversationRow, ConversationStatus, NOT_DIALED_IN_TIME,
            NOT_DIALED_SINCE, NewCall, NewContact, NextAttempt, Patience, Permit, QueuedCall, Reservation, StoreError,
            WaitingCalls,
        },
    },
    time::Clock,
};

fn object(value: &Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap()
}

fn new_call(scene: &Scene, n: usize) -> NewCall {
    NewCall {
        agent: scene.agent,
        phone_number: number(n),
        name: Some("Bo".to_owned()),
        variables: object(&json!({ "city": "Bonn", "age": 7, "vip": true })),
    }
}

async fn queue(scene: &Scene, n: usize) -> ConversationRow {
    match scene.store.create_call(scene.account, new_call(scene, n), None).await {
        Ok(QueuedCall::Queued(row)) => *row,
        other => panic!("{other:?}"),
    }
}

async fn claim_one(scene: &Scene) -> ClaimedAttempt {
    scene.store.claim_calls(scene.node, 1).await.unwrap().remove(0)
}

async fn status(scene: &Scene, id: AttemptId) -> (ConversationStatus, Option<String>) {
    let row = scene.store.conversation(scene.account, id).await.unwrap();
    (row.status, row.error)
}

pub async fn a_single_call_is_queued_and_goes_its_way(fixture: Fixture) {
    let scene = fixture.scene().await;
    let queued_at = scene.clock.now();
    let row = queue(&scene, 1).await;
    assert_eq!((row.status, row.campaign), (ConversationStatus::Scheduled, None));
    assert_eq!((row.started_at, row.created_at), (queued_at, queued_at));
    assert_eq!((row.agent_name.as_str(), &row.contact_number), ("Ada", &number(1)));
    assert_eq!(scene.store.conversation(scene.account, row.id).await.as_ref(), Ok(&row));
    let all = scene
        .store
        .conversations(scene.account, ConversationFilter::default(), 9);
    assert_eq!(all.await.unwrap(), std::slice::from_ref(&row));

    scene.clock.advance(Duration::from_secs(2));
    let claimed = claim_one(&scene).await;
    assert_eq!((claimed.claim.attempt, claimed.campaign), (row.id, None));
    assert_eq!((claimed.account, claimed.agent), (scene.account, scene.agent));
    assert_eq!(claimed.variables, new_call(&scene, 1).variables);
    assert_eq!(claimed.contact.name.as_deref(), Some("Bo"));
    assert_eq!(scene.store.claim_calls(scene.node, 9).await, Ok(Vec::new()));
    let permit = scene.permit(claimed.claim).await.unwrap();
    assert!(matches!(permit, Permit::Granted { .. }), "{permit:?}");
    let call = CarrierCallId("leg".to_owned());
    scene.store.dialed(claimed.claim, &call).await.unwrap();
    scene.store.answered(claimed.claim, scene.now()).await.unwrap();
    scene.clock.advance(Duration::from_secs(60));
    let over = outcome(ConversationStatus::Completed);
    scene.store.finish(claimed.claim, over, None).await.unwrap();
    let row = scene.store.conversation(scene.account, row.id).await.unwrap();
    assert_eq!(row.status, ConversationStatus::Completed);
    assert_eq!(row.started_at, queued_at.plus(Duration::from_secs(2)));
    assert_eq!(scene.store.due_analyses(9).await.unwrap().len(), 1);
}

pub async fn a_single_call_brings_the_saved_contacts_fields(fixture: Fixture) {
    let scene = fixture.scene().await;
    let saved = NewContact {
        phone_number: number(1),
        name: Some("Maria".to_owned()),
        email: Some("maria@example.com".to_owned()),
        extra: object(&json!({ "city": "Paris" })),
    };
    let saved = scene.store.create_contact(scene.account, saved, None).await.unwrap();
    queue(&scene, 1).await;
    let claimed = claim_one(&scene).await;
    let attempt = claimed.claim.attempt;
    assert_eq!(scene.store.call_variables(attempt).await.unwrap(), claimed.variables);
    assert_eq!(claimed.variables, new_call(&scene, 1).variables);
    let unknown = scene.store.call_variables(AttemptId::new()).await.unwrap();
    assert_eq!(unknown, object(&json!({})));
    assert_eq!(claimed.contact.contact, Some(saved.id));
    assert_eq!(claimed.contact.name.as_deref(), Some("Bo"), "the call's own name");
    assert_eq!(claimed.contact.email.as_deref(), Some("maria@example.com"));
    assert_eq!(claimed.saved_extra, object(&json!({ "city": "Paris" })));
    let nameless = NewCall {
        name: None,
        ..new_call(&scene, 1)
    };
    scene.store.create_call(scene.account, nameless, None).await.unwrap();
    assert_eq!(claim_one(&scene).await.contact.name.as_deref(), Some("Maria"));
}

pub async fn a_single_call_is_not_queued_for_do_not_call_or_an_unknown_agent(fixture: Fixture) {
    let scene = fixture.scene().await;
    scene.store.add_do_not_call(scene.account, &number(1)).await.unwrap();
    let queued = scene.store.create_call(scene.account, new_call(&scene, 1), None).await;
    assert_eq!(queued, Ok(QueuedCall::DoNotCall));
    let unknown = NewCall {
        agent: AgentId::new(),
        ..new_call(&scene, 2)
    };
    let queued = scene.store.create_call(scene.account, unknown, None).await;
    assert_eq!(queued, Err(StoreError::NotFound));
    let queued = scene
        .store
        .create_call(AccountId::new(), new_call(&scene, 2), None)
        .await;
    assert_eq!(queued, Err(StoreError::NotFound));
    assert_eq!(scene.store.waiting_calls().await, Ok(WaitingCalls::default()));
}

pub async fn a_single_call_settles_its_idempotency_key(fixture: Fixture) {
    let scene = fixture.scene().await;
    let reserve = async || {
        let reserved = scene.store.reserve_key(scene.account, "k", "create call", "h").await;
        reserved.unwrap()
    };
    let Reservation::Fresh(ticket) = reserve().await else {
        panic!("not fresh")
    };
    let queue = async || {
        scene
            .store
            .create_call(scene.account, new_call(&scene, 1), Some(&ticket))
            .await
    };
    let Ok(QueuedCall::Queued(row)) = queue().await else {
        panic!("not queued")
    };
    let replay = Reservation::Replay {
        status: 201,
        resource: row.id.to_string(),
    };
    assert_eq!(reserve().await, replay);
    assert_eq!(queue().await, Err(StoreError::Fenced));
    assert_eq!(
        scene.store.waiting_calls().await.unwrap().due,
        1,
        "nothing was made twice"
    );
}

pub async fn a_single_call_given_back_waits_again(fixture: Fixture) {
    let scene = fixture.scene().await;
    let row = queue(&scene, 1).await;
    let first = claim_one(&scene).await.claim;
    scene.store.release(&[first]).await.unwrap();
    assert_eq!(scene.permit(first).await, Err(StoreError::Fenced));
    let second = claim_one(&scene).await.claim;
    assert_eq!(second.attempt, row.id);
    assert!(second.epoch > first.epoch);
    scene.permit(second).await.unwrap();
    // A permitted call may be on its way: it stays.
    scene.store.release(&[second]).await.unwrap();
    scene.store.not_sent(second, 5_000, None).await.unwrap();
    let waiting = WaitingCalls {
        next_due: Some(scene.clock.now().plus(Duration::from_secs(5))),
        ..WaitingCalls::default()
    };
    assert_eq!(scene.store.waiting_calls().await, Ok(waiting));
    assert_eq!(scene.store.claim_calls(scene.node, 9).await, Ok(Vec::new()));
    scene.clock.advance(Duration::from_secs(5));
    claim_one(&scene).await;
}

pub async fn the_permit_checks_a_single_call(fixture: Fixture) {
    let scene = fixture.scene().await;
    let rows = [queue(&scene, 1).await, queue(&scene, 2).await, queue(&scene, 3).await];
    let twin = queue(&scene, 3).await;
    let claims: Vec<_> = scene.store.claim_calls(scene.node, 9).await.unwrap();
    let of = |id: AttemptId| claims.iter().find(|c| c.claim.attempt == id).unwrap().claim;
    scene.store.add_do_not_call(scene.account, &number(1)).await.unwrap();
    assert_eq!(scene.permit(of(rows[0].id)).await, Ok(Permit::DoNotCall));
    let why = Some("do-not-call".to_owned());
    assert_eq!(status(&scene, rows[0].id).await, (ConversationStatus::Cancelled, why));
    let mut restricted = request();
    restricted.restricted_prefixes = vec!["+1555".to_owned()];
    let refused = scene.store.permit(of(rows[1].id), restricted).await;
    assert_eq!(refused, Ok(Permit::Restricted));
    let granted = scene.permit(of(rows[2].id)).await.unwrap();
    assert!(matches!(granted, Permit::Granted { .. }), "{granted:?}");
    assert_eq!(scene.permit(of(twin.id)).await, Ok(Permit::NumberBusy));
    assert_eq!(status(&scene, twin.id).await.0, ConversationStatus::Scheduled);
}

pub async fn the_longest_waiting_single_calls_are_claimed_first(fixture: Fixture) {
    let scene = fixture.scene().await;
    let mut queued = Vec::new();
    for n in 0..5 {
        queued.push(queue(&scene, n).await.id);
        scene.clock.advance(Duration::from_secs(1));
    }
    let ids = |claimed: Vec<ClaimedAttempt>| claimed.iter().map(|c| c.claim.attempt).collect::<Vec<_>>();
    assert_eq!(ids(scene.store.claim_calls(scene.node, 3).await.unwrap()), queued[..3]);
    assert_eq!(scene.store.waiting_calls().await.unwrap().due, 2);
    assert_eq!(ids(scene.store.claim_calls(scene.node, 9).await.unwrap()), queued[3..]);
}

pub async fn a_single_call_that_waited_too_long_fails(fixture: Fixture) {
    let scene = fixture.scene().await;
    let late = queue(&scene, 1).await.id;
    let held = claim_one(&scene).await.claim;
    let put_off = queue(&scene, 3).await.id;
    let claim = claim_one(&scene).await.claim;
    let why = "carrier unreachable: connection refused";
    scene.store.not_sent(claim, 1_000, Some(why.to_owned())).await.unwrap();
    let waits = (ConversationStatus::Scheduled, None);
    assert_eq!(status(&scene, put_off).await, waits, "nothing has failed yet");
    scene.clock.advance(Duration::from_secs(299));
    let fresh = queue(&scene, 2).await.id;
    scene.store.release(&[held]).await.unwrap();
    assert_eq!(scene.store.expire_calls().await, Ok(0));
    scene.clock.advance(Duration::from_secs(1));
    let waiting = WaitingCalls {
        due: 1,
        next_due: None,
        expired: 2,
    };
    assert_eq!(scene.store.waiting_calls().await, Ok(waiting));
    let claimed = scene.store.claim_calls(scene.node, 9).await.unwrap();
    assert_eq!(claimed.len(), 1, "what waited too long is not claimed");
    assert_eq!(claimed[0].claim.attempt, fresh);
    assert_eq!(scene.store.expire_calls().await, Ok(2));
    let unknown = Some(NOT_DIALED_IN_TIME.to_owned());
    assert_eq!(status(&scene, late).await, (ConversationStatus::Failed, unknown));
    let known = Some(format!("{NOT_DIALED_SINCE}{why}"));
    assert_eq!(status(&scene, put_off).await, (ConversationStatus::Failed, known));
    assert_eq!(scene.store.expire_calls().await, Ok(0));
    assert_eq!(scene.store.due_analyses(9).await, Ok(Vec::new()), "nobody spoke");
}

pub async fn a_single_calls_retry_has_what_the_call_had(fixture: Fixture) {
    let scene = fixture.scene().await;
    let first = queue(&scene, 1).await.id;
    let claimed = claim_one(&scene).await;
    scene.permit(claimed.claim).await.unwrap();
    let due_at = scene.clock.now().plus(Duration::from_secs(600));
    let next = NextAttempt {
        kind: AttemptKind::Retry,
        due_at,
    };
    let failed = outcome(ConversationStatus::Failed);
    scene.store.finish(claimed.claim, failed, Some(next)).await.unwrap();
    let waiting = WaitingCalls {
        next_due: Some(due_at),
        ..WaitingCalls::default()
    };
    assert_eq!(scene.store.waiting_calls().await, Ok(waiting));
    scene.clock.advance(Duration::from_secs(600 + 299));
    let retry = claim_one(&scene).await;
    assert_ne!(retry.claim.attempt, first);
    assert_eq!((retry.attempt_no, retry.tries.retry, retry.campaign), (2, 1, None));
    assert_eq!((retry.contact, retry.variables), (claimed.contact, claimed.variables));
    let row = scene
        .store
        .conversation(scene.account, retry.claim.attempt)
        .await
        .unwrap();
    assert_eq!((row.status, row.started_at), (ConversationStatus::Scheduled, due_at));
}

pub async fn what_waits_can_be_cancelled(fixture: Fixture) {
    let scene = fixture.scene().await;
    let single = queue(&scene, 1).await.id;
    let stranger = scene.store.cancel_queued(AccountId::new(), single).await;
    assert_eq!(stranger, Err(StoreError::NotFound));
    scene.store.cancel_queued(scene.account, single).await.unwrap();
    assert_eq!(status(&scene, single).await, (ConversationStatus::Cancelled, None));
    let again = scene.store.cancel_queued(scene.account, single).await;
    assert_eq!(again, Err(StoreError::Stale));
    assert_eq!(scene.store.claim_calls(scene.node, 9).await, Ok(Vec::new()));

    // An attempt of a campaign that a busy carrier sent back to the queue.
    let campaign = scene.running(5..7).await;
    let claim = scene.dialing(campaign).await;
    let early = scene.store.cancel_queued(scene.account, claim.attempt).await;
    assert_eq!(early, Err(StoreError::Stale));
    scene.store.not_sent(claim, 1_000, None).await.unwrap();
    scene.store.cancel_queued(scene.account, claim.attempt).await.unwrap();
    let progress = scene.store.progress(campaign).await.unwrap();
    assert_eq!((progress.pending, progress.cancelled), (1, 1));
    assert_eq!(scene.store.remaining(campaign).await.unwrap().later, 0);
}

pub async fn a_dead_nodes_single_calls_are_taken_up(fixture: Fixture) {
    let scene = fixture.scene().await;
    let (waits, sent) = (queue(&scene, 1).await.id, queue(&scene, 2).await.id);
    let claims = scene.store.claim_calls(scene.node, 9).await.unwrap();
    for claimed in claims.iter().filter(|c| c.claim.attempt == sent) {
        scene.permit(claimed.claim).await.unwrap();
    }
    let heir = NodeId::new();
    scene.store.register_node(heir, None).await.unwrap();
    live_on(&*scene.store, &scene.clock, heir).await;
    let orphaned = scene.store.take_orphaned(heir, &Patience::default()).await.unwrap();
    let left: Vec<_> = orphaned.iter().map(|o| (o.claim.attempt, o.campaign)).collect();
    assert_eq!(left, [(sent, None)]);
    let again = scene.store.claim_calls(heir, 9).await.unwrap();
    let ids: Vec<_> = again.iter().map(|c| c.claim.attempt).collect();
    assert_eq!(ids, [waits], "what may have been dialed never is again");
}
