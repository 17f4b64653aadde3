//! The permit and its refusals.

use std::time::Duration;

use super::{Fixture, Scene, caller_number, contact, document, number, outcome, request};
use domain::{
    dial_token::Purpose,
    id::AttemptId,
    phone_number::PhoneNumber,
    ports::store::{
        CallerId, CampaignContact, CampaignStatus, Claim, ConversationStatus, Outcome, Permit, PermitRequest, Rotation,
        SentWith, StoreError,
    },
    time::Clock,
};

pub async fn a_permit_is_given_once_with_its_token(fixture: Fixture) {
    let scene = fixture.scene().await;
    let campaign = scene.running(0..2).await;
    let claim = scene.claim_one(campaign).await;
    let claimed_at = scene.clock.now();
    let row = scene.store.conversation(scene.account, claim.attempt).await.unwrap();
    assert_eq!(
        (row.status, row.started_at),
        (ConversationStatus::Scheduled, claimed_at)
    );

    scene.clock.advance(Duration::from_secs(2));
    let Ok(Permit::Granted { token, caller_id }) = scene.permit(claim).await else {
        panic!("no permit")
    };
    assert_eq!(scene.permit(claim).await, Err(StoreError::Fenced));
    let stored = scene.store.dial_token(claim.attempt).await.unwrap();
    assert!(stored.verify(Purpose::Media, &token.proof(Purpose::Media)));
    let row = scene.store.conversation(scene.account, claim.attempt).await.unwrap();
    assert_eq!(
        (row.status, row.started_at),
        (ConversationStatus::InProgress, scene.clock.now())
    );
    assert_eq!(
        (row.carrier.as_deref(), row.caller_number),
        (Some("exchange"), Some(caller_number()))
    );
    assert_eq!(caller_id, Some(caller_number()));

    let other = scene.claim_one(campaign).await;
    let Ok(Permit::Granted { token: other, .. }) = scene.permit(other).await else {
        panic!("no permit")
    };
    assert!(other != token);
}

pub async fn a_permit_is_refused_when_the_campaign_stopped(fixture: Fixture) {
    let scene = fixture.scene().await;
    let campaign = scene.running(0..1).await;
    let claim = scene.claim_one(campaign).await;
    scene.turn(campaign, CampaignStatus::Paused).await;
    assert_eq!(scene.permit(claim).await, Ok(Permit::CampaignNotRunning));
    let gone = scene.store.conversation(scene.account, claim.attempt).await;
    assert_eq!(gone, Err(StoreError::NotFound));
    assert_eq!(scene.store.progress(campaign).await.unwrap().pending, 1);
    assert_eq!(scene.permit(claim).await, Err(StoreError::Fenced));
    scene.turn(campaign, CampaignStatus::Running).await;
    scene.dialing(campaign).await;
}

pub async fn a_permit_is_refused_for_do_not_call(fixture: Fixture) {
    let scene = fixture.scene().await;
    let campaign = scene.running(0..2).await;
    scene.store.add_do_not_call(scene.account, &number(0)).await.unwrap();
    scene.store.add_do_not_call(scene.account, &number(0)).await.unwrap();
    let claim = scene.claim_one(campaign).await;
    assert_eq!(scene.permit(claim).await, Ok(Permit::DoNotCall));
    let row = scene.store.conversation(scene.account, claim.attempt).await.unwrap();
    assert_eq!(
        (row.status, row.error.as_deref()),
        (ConversationStatus::Cancelled, Some("do-not-call"))
    );
    assert_eq!((row.ended_at, row.carrier), (Some(scene.clock.now()), None));
    let progress = scene.store.progress(campaign).await.unwrap();
    assert_eq!((progress.pending, progress.cancelled), (1, 1));
    assert_eq!(scene.permit(claim).await, Err(StoreError::Fenced));
    scene.dialing(campaign).await;
}

pub async fn a_permit_is_refused_for_a_restricted_prefix(fixture: Fixture) {
    let scene = fixture.scene().await;
    let campaign = scene.running(0..2).await;
    let restricted = |prefix: &str| PermitRequest {
        restricted_prefixes: vec!["+4".to_owned(), prefix.to_owned()],
        ..request()
    };
    let claim = scene.claim_one(campaign).await;
    let permit = scene.store.permit(claim, restricted("+1555")).await;
    assert_eq!(permit, Ok(Permit::Restricted));
    let row = scene.store.conversation(scene.account, claim.attempt).await.unwrap();
    assert_eq!(
        (row.status, row.error.as_deref()),
        (ConversationStatus::Cancelled, Some("restricted"))
    );
    let claim = scene.claim_one(campaign).await;
    let permit = scene.store.permit(claim, restricted("1555")).await;
    assert!(matches!(permit, Ok(Permit::Granted { .. })), "{permit:?}");
}

pub async fn a_number_is_called_by_one_attempt_at_a_time(fixture: Fixture) {
    let scene = fixture.scene().await;
    // The same contact in two campaigns.
    let (one, two) = (scene.running(0..1).await, scene.running(0..1).await);
    let first = scene.claim_one(one).await;
    let second = scene.claim_one(two).await;
    // A claim alone does not take the number.
    assert!(matches!(scene.permit(first).await, Ok(Permit::Granted { .. })));
    assert_eq!(scene.permit(second).await, Ok(Permit::NumberBusy));
    let remaining = scene.store.remaining(two).await.unwrap();
    let due_at = scene.clock.now().plus(Duration::from_secs(30));
    assert_eq!((remaining.later, remaining.next_due), (1, Some(due_at)));
    assert_eq!(scene.store.progress(two).await.unwrap().pending, 1);

    // An unknown outcome does not free it either.
    scene.store.unknown(first).await.unwrap();
    scene.clock.advance(Duration::from_secs(30));
    let second = scene.claim_one(two).await;
    assert_eq!(scene.permit(second).await, Ok(Permit::NumberBusy));
    scene
        .store
        .finish(first, outcome(ConversationStatus::Failed), None)
        .await
        .unwrap();
    scene.clock.advance(Duration::from_secs(30));
    scene.dialing(two).await;
}

pub async fn both_spellings_of_a_number_are_one_number(fixture: Fixture) {
    let scene = fixture.scene().await;
    let new = scene.new_campaign("Twins");
    let import = scene.store.begin_import(scene.account, new).await.unwrap();
    // The first was stored under an earlier rule.
    let twins = ["+490301234567", "+49301234567"].map(|number| CampaignContact {
        phone_number: PhoneNumber::stored(number).unwrap(),
        ..contact(1)
    });
    scene.store.append_contacts(import, &twins).await.unwrap();
    scene.store.finish_import(import, None).await.unwrap();
    scene.turn(import, CampaignStatus::Running).await;
    let claims: Vec<Claim> = scene.claim(import, 2).await.iter().map(|one| one.claim).collect();
    assert!(matches!(scene.permit(claims[0]).await, Ok(Permit::Granted { .. })));
    assert_eq!(scene.permit(claims[1]).await, Ok(Permit::NumberBusy));
}

pub async fn concurrent_permits_call_a_number_once(fixture: Fixture) {
    let scene = fixture.scene().await;
    let new = scene.new_campaign("Twins");
    let import = scene.store.begin_import(scene.account, new).await.unwrap();
    let twins = vec![contact(1); 16];
    scene.store.append_contacts(import, &twins).await.unwrap();
    scene.store.finish_import(import, None).await.unwrap();
    scene.turn(import, CampaignStatus::Running).await;
    let mut callers = tokio::task::JoinSet::new();
    for attempt in scene.claim(import, 16).await {
        let scene = scene.clone();
        callers.spawn(async move { scene.permit(attempt.claim).await.unwrap() });
    }
    let permits = callers.join_all().await;
    let granted = permits.iter().filter(|permit| matches!(permit, Permit::Granted { .. }));
    assert_eq!(granted.count(), 1);
    let busy = permits.iter().filter(|permit| **permit == Permit::NumberBusy);
    assert_eq!(busy.count(), 15);
}

pub async fn the_dial_token_lasts_as_long_as_the_call(fixture: Fixture) {
    let scene = fixture.scene().await;
    let campaign = scene.running(0..1).await;
    let claim = scene.claim_one(campaign).await;
    assert_eq!(scene.store.dial_token(claim.attempt).await, Err(StoreError::NotFound));
    scene.permit(claim).await.unwrap();
    let token = scene.store.dial_token(claim.attempt).await.unwrap();
    scene.store.unknown(claim).await.unwrap();
    assert_eq!(scene.store.dial_token(claim.attempt).await, Ok(token.clone()));
    assert_eq!(scene.store.sent_with(claim.attempt).await, Ok(None), "it is open");
    scene
        .store
        .finish(claim, outcome(ConversationStatus::Failed), None)
        .await
        .unwrap();
    assert_eq!(scene.store.dial_token(claim.attempt).await, Err(StoreError::NotFound));
    // Later reports for it can still be verified.
    let carrier = "exchange".to_owned();
    let sent = SentWith { carrier, token };
    assert_eq!(scene.store.sent_with(claim.attempt).await, Ok(Some(sent)));
    assert_eq!(scene.store.sent_with(AttemptId::new()).await, Ok(None));
    // Somebody else talks on the leg of a transferred call.
    let campaign = scene.running(1..2).await;
    let claim = scene.claim_one(campaign).await;
    scene.permit(claim).await.unwrap();
    let handed_on = Outcome {
        transferred: true,
        ..outcome(ConversationStatus::Completed)
    };
    scene.store.finish(claim, handed_on, None).await.unwrap();
    assert_eq!(scene.store.sent_with(claim.attempt).await, Ok(None));
    assert_eq!(
        scene.store.dial_token(AttemptId::new()).await,
        Err(StoreError::NotFound)
    );
}

fn in_turn(numbers: &[usize], calls_each: i64) -> PermitRequest {
    PermitRequest {
        caller_id: Some(CallerId::InTurn(Rotation {
            numbers: numbers.iter().map(|n| number(*n)).collect(),
            calls_each,
        })),
        ..request()
    }
}

/// Asks for a permit. Returns the number that it shows, or its refusal.
async fn shown(scene: &Scene, claim: Claim, request: PermitRequest) -> Result<Option<PhoneNumber>, Permit> {
    let row = async || scene.store.conversation(scene.account, claim.attempt).await.unwrap();
    match scene.store.permit(claim, request).await.unwrap() {
        Permit::Granted { caller_id, .. } => {
            assert_eq!(row().await.caller_number, caller_id);
            Ok(caller_id)
        }
        refusal => {
            assert_eq!(row().await.caller_number, None);
            Err(refusal)
        }
    }
}

pub async fn caller_ids_take_turns_by_the_agents_permits(fixture: Fixture) {
    let scene = fixture.scene().await;
    let campaign = scene.running(0..20).await;
    scene.store.add_do_not_call(scene.account, &number(2)).await.unwrap();
    let mut seen = Vec::new();
    for attempt in scene.claim(campaign, 8).await {
        match shown(&scene, attempt.claim, in_turn(&[91, 92, 93], 2)).await {
            Ok(number) => seen.push(number.unwrap()),
            Err(refusal) => assert_eq!(refusal, Permit::DoNotCall),
        }
    }
    let turns = |order: &[usize]| order.iter().map(|n| number(*n)).collect::<Vec<_>>();
    assert_eq!(seen, turns(&[91, 91, 92, 92, 93, 93, 91]), "a refusal takes no turn");

    // A call with a fixed number takes no turn either, and another campaign of the agent continues the rotation.
    let fixed = scene.claim_one(campaign).await;
    let shown_fixed = shown(&scene, fixed, request()).await;
    assert_eq!(shown_fixed, Ok(Some(caller_number())));
    let other = scene.running(100..110).await;
    let claim = scene.claim_one(other).await;
    assert_eq!(
        shown(&scene, claim, in_turn(&[91, 92, 93], 2)).await,
        Ok(Some(number(91)))
    );

    // Another agent has its own rotation, and a call without a number shows none.
    let stranger = scene
        .store
        .create_agent(scene.account, document("Bo"), None)
        .await
        .unwrap();
    let stranger = Scene {
        agent: stranger.id,
        ..scene.clone()
    };
    let third = stranger.running(200..210).await;
    for (numbers, expected) in [
        (vec![91, 92], Some(number(91))),
        (vec![], None),
        (vec![91, 92], Some(number(91))),
    ] {
        let claim = stranger.claim_one(third).await;
        assert_eq!(shown(&stranger, claim, in_turn(&numbers, 1)).await, Ok(expected));
    }
}

pub async fn concurrent_permits_share_the_turns_evenly(fixture: Fixture) {
    let scene = fixture.scene().await;
    let campaign = scene.running(0..24).await;
    let mut callers = tokio::task::JoinSet::new();
    for attempt in scene.claim(campaign, 24).await {
        let scene = scene.clone();
        callers.spawn(async move { shown(&scene, attempt.claim, in_turn(&[91, 92], 3)).await.unwrap() });
    }
    let seen = callers.join_all().await;
    for n in [91, 92] {
        let calls = seen.iter().filter(|caller| **caller == Some(number(n)));
        assert_eq!(calls.count(), 12, "{seen:?}");
    }
}
