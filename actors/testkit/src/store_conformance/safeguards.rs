//! Rules of accounts, and their effect on permits.

use std::{collections::BTreeMap, time::Duration};

use chrono::{DateTime, Utc};
use futures_util::future::join_all;

use super::{Fixture, Scene, contact, number, outcome, request};
use domain::{
    id::{AccountId, AttemptId, CampaignId},
    phone_number::PhoneNumber,
    ports::{
        carrier::CarrierCallId,
        store::{
            CampaignContact, CampaignStatus, Claim, ConversationStatus, NewCall, NewInboundCall, Permit, QueuedCall,
            StoreError,
        },
    },
    safeguards::{AllowedPrefixes, CallingHours, CallsPerNumber, DailyCalls, Mode, Rule, Safeguards},
    time::{Clock, Timestamp},
};

const DAY: Duration = Duration::from_secs(86_400);

fn prefixes(mode: Mode, prefixes: &[&str]) -> Safeguards {
    Safeguards {
        allowed_prefixes: AllowedPrefixes {
            mode,
            prefixes: prefixes.iter().map(ToString::to_string).collect(),
        },
        ..Safeguards::default()
    }
}

fn per_number(mode: Mode, per_day: Option<u32>, per_week: Option<u32>) -> Safeguards {
    Safeguards {
        calls_per_number: CallsPerNumber {
            mode,
            per_day,
            per_week,
        },
        ..Safeguards::default()
    }
}

fn daily(mode: Mode, limit: u32) -> Safeguards {
    Safeguards {
        daily_calls: DailyCalls {
            mode,
            limit: Some(limit),
            ..DailyCalls::default()
        },
        ..Safeguards::default()
    }
}

fn hours(mode: Mode) -> Safeguards {
    Safeguards {
        calling_hours: CallingHours {
            mode,
            ..CallingHours::default()
        },
        ..Safeguards::default()
    }
}

async fn set(scene: &Scene, rules: Safeguards) {
    let version = scene.store.safeguards(scene.account).await.unwrap().version;
    let row = scene
        .store
        .set_safeguards(scene.account, version, rules.clone())
        .await
        .unwrap();
    assert_eq!((row.safeguards, row.version), (rules, version + 1));
}

/// Moves the clock to a time of tomorrow, UTC.
fn until(scene: &Scene, time: &str) {
    let now = scene.clock.now();
    let tomorrow = now.plus(DAY).to_utc().date_naive();
    let at: DateTime<Utc> = format!("{tomorrow}T{time}Z").parse().unwrap();
    scene.clock.advance(Timestamp::from(at).since(now));
}

/// Creates a running campaign that calls one number.
async fn calling(scene: &Scene, to: &str) -> CampaignId {
    calling_all(scene, &[to]).await
}

async fn calling_all(scene: &Scene, numbers: &[&str]) -> CampaignId {
    let import = scene
        .store
        .begin_import(scene.account, scene.new_campaign("Calls"))
        .await
        .unwrap();
    let contacts: Vec<CampaignContact> = numbers
        .iter()
        .map(|number| CampaignContact {
            phone_number: PhoneNumber::parse(number).unwrap(),
            ..contact(0)
        })
        .collect();
    scene.store.append_contacts(import, &contacts).await.unwrap();
    let row = scene.store.finish_import(import, None).await.unwrap();
    scene.turn(row.id, CampaignStatus::Running).await;
    row.id
}

async fn granted(scene: &Scene, claim: Claim) {
    let permit = scene.permit(claim).await.unwrap();
    assert!(matches!(permit, Permit::Granted { .. }), "{permit:?}");
}

/// Completes a call that nobody answered.
async fn called(scene: &Scene, claim: Claim) {
    granted(scene, claim).await;
    scene
        .store
        .finish(claim, outcome(ConversationStatus::Failed), None)
        .await
        .unwrap();
}

async fn fact(scene: &Scene, attempt: AttemptId) -> Option<String> {
    let kept = scene.store.last_event(attempt, "safeguard").await.unwrap();
    kept.map(|event| event.detail)
}

pub async fn safeguards_are_off_until_they_are_set_under_their_version(fixture: Fixture) {
    let scene = fixture.scene().await;
    let first = scene.store.safeguards(scene.account).await.unwrap();
    assert_eq!((first.safeguards, first.version), (Safeguards::default(), 0));
    set(&scene, per_number(Mode::Warn, Some(2), None)).await;
    for stale in [0, 2] {
        let refused = scene
            .store
            .set_safeguards(scene.account, stale, Safeguards::default())
            .await;
        assert_eq!(refused, Err(StoreError::Stale));
    }
    set(&scene, prefixes(Mode::Enforce, &["+1"])).await;
    let read = scene.store.safeguards(scene.account).await.unwrap();
    assert_eq!((read.safeguards, read.version), (prefixes(Mode::Enforce, &["+1"]), 2));
    let nobody = scene
        .store
        .set_safeguards(AccountId::new(), 0, Safeguards::default())
        .await;
    assert_eq!(nobody, Err(StoreError::NotFound));
    assert_eq!(scene.store.safeguards(AccountId::new()).await.unwrap().version, 0);
}

pub async fn a_destination_that_is_not_allowed_fails_for_good(fixture: Fixture) {
    let scene = fixture.scene().await;
    set(&scene, prefixes(Mode::Enforce, &["+44", "+1556"])).await;
    let campaign = scene.running(0..1).await;
    let claim = scene.claim_one(campaign).await;
    let Ok(Permit::NotAllowed { error }) = scene.permit(claim).await else {
        panic!("permitted")
    };
    assert!(
        error.starts_with("not-allowed: ") && error.contains("allowedPrefixes"),
        "{error}"
    );
    let row = scene.store.conversation(scene.account, claim.attempt).await.unwrap();
    assert_eq!((row.status, row.error), (ConversationStatus::Failed, Some(error)));
    let progress = scene.store.progress(campaign).await.unwrap();
    assert_eq!((progress.pending, progress.in_progress, progress.failed), (0, 0, 1));
    assert_eq!(scene.permit(claim).await, Err(StoreError::Fenced));
    assert!(fact(&scene, claim.attempt).await.unwrap().contains("refused"));

    // With a warning the call is dialed and the warning is recorded.
    set(&scene, prefixes(Mode::Warn, &["+44"])).await;
    let warned = scene.dialing(scene.running(1..2).await).await;
    assert!(fact(&scene, warned.attempt).await.unwrap().contains("warned"));
    // Nothing is recorded about a call that no rule objects to.
    set(&scene, prefixes(Mode::Enforce, &["+15"])).await;
    let plain = scene.dialing(scene.running(2..3).await).await;
    assert_eq!(fact(&scene, plain.attempt).await, None);
}

pub async fn the_opt_out_and_a_busy_number_come_before_safeguards(fixture: Fixture) {
    let scene = fixture.scene().await;
    set(&scene, prefixes(Mode::Enforce, &["+44"])).await;
    scene.store.add_do_not_call(scene.account, &number(0)).await.unwrap();
    let campaign = scene.running(0..1).await;
    let claim = scene.claim_one(campaign).await;
    assert_eq!(scene.permit(claim).await, Ok(Permit::DoNotCall));
    set(&scene, Safeguards::default()).await;
    let (one, two) = (scene.running(1..2).await, scene.running(1..2).await);
    scene.dialing(one).await;
    set(&scene, per_number(Mode::Enforce, Some(1), None)).await;
    let second = scene.claim_one(two).await;
    assert_eq!(scene.permit(second).await, Ok(Permit::NumberBusy));
}

pub async fn outside_the_callees_hours_an_attempt_waits_and_uses_up_none(fixture: Fixture) {
    let scene = fixture.scene().await;
    set(&scene, hours(Mode::Enforce)).await;
    until(&scene, "21:00:00");
    // India sleeps, and wakes at half past two UTC.
    let campaign = calling(&scene, "+919812345678").await;
    let claim = scene.claim_one(campaign).await;
    let now = scene.clock.now();
    let opens_at = now.plus(Duration::from_secs(5 * 3_600 + 1_800));
    assert_eq!(scene.permit(claim).await, Ok(Permit::PutOff { until: opens_at }));
    let remaining = scene.store.remaining(campaign).await.unwrap();
    assert_eq!(
        (remaining.due, remaining.later, remaining.next_due),
        (0, 1, Some(opens_at))
    );
    let row = scene.store.conversation(scene.account, claim.attempt).await.unwrap();
    assert_eq!((row.status, row.error), (ConversationStatus::Scheduled, None));
    assert!(fact(&scene, claim.attempt).await.unwrap().contains("put_off"));
    assert!(scene.claim(campaign, 1).await.is_empty());
    scene.clock.advance(opens_at.since(now));
    let again = &scene.claim(campaign, 1).await[0];
    assert_eq!((again.claim.attempt, again.attempt_no), (claim.attempt, 1));
    granted(&scene, again.claim).await;
    // A stop removes everything that waits for the morning.
    let campaign = calling(&scene, "+12125550100").await;
    let claim = scene.claim_one(campaign).await;
    assert!(matches!(scene.permit(claim).await, Ok(Permit::PutOff { .. })));
    scene.turn(campaign, CampaignStatus::Stopped).await;
    let gone = scene.store.conversation(scene.account, claim.attempt).await;
    assert_eq!(gone, Err(StoreError::NotFound));
}

pub async fn what_a_safeguard_put_off_is_due_when_the_rules_change(fixture: Fixture) {
    let scene = fixture.scene().await;
    let store = &scene.store;
    set(&scene, hours(Mode::Enforce)).await;
    until(&scene, "21:00:00");
    let numbers = ["+919812345678", "+919812345679"];
    let (waiting, running) = (calling_all(&scene, &numbers).await, calling(&scene, numbers[0]).await);
    for campaign in [waiting, waiting, running] {
        let claim = scene.claim_one(campaign).await;
        assert!(matches!(scene.permit(claim).await, Ok(Permit::PutOff { .. })));
    }
    assert_eq!(store.put_off(waiting).await, Ok(vec![(Rule::CallingHours, 2)]));
    scene.turn(waiting, CampaignStatus::Waiting).await;
    let read = async |campaign| store.campaign(scene.account, campaign).await.unwrap();
    let (before, ran) = (read(waiting).await, read(running).await);
    // Setting the same rules again changes nothing.
    set(&scene, hours(Mode::Enforce)).await;
    assert_eq!(store.remaining(waiting).await.unwrap().later, 2);
    assert_eq!(read(waiting).await, before);

    let now = scene.clock.now();
    set(&scene, per_number(Mode::Enforce, Some(5), None)).await;
    let remaining = store.remaining(waiting).await.unwrap();
    assert_eq!((remaining.due, remaining.later), (2, 0));
    assert_eq!(store.put_off(waiting).await, Ok(Vec::new()));
    let after = read(waiting).await;
    assert_eq!(
        (after.status, after.next_run_at, after.version),
        (CampaignStatus::Waiting, Some(now), before.version + 1)
    );
    // A running campaign may have counted just now: its next change finds that it has to count again.
    let after = read(running).await;
    assert_eq!((after.next_run_at, after.version), (None, ran.version + 1));
    assert_eq!(store.remaining(running).await.unwrap().due, 1);
    granted(&scene, scene.claim_one(running).await).await;
    assert_eq!(store.safeguards(scene.account).await.unwrap().version, 3);
}

pub async fn what_waits_for_something_else_is_not_hurried_by_safeguards(fixture: Fixture) {
    let scene = fixture.scene().await;
    set(&scene, hours(Mode::Enforce)).await;
    until(&scene, "12:00:00");
    // The attempt was put off before; now it waits for its carrier.
    let campaign = calling(&scene, "+12135550100").await;
    let claim = scene.claim_one(campaign).await;
    assert!(matches!(scene.permit(claim).await, Ok(Permit::PutOff { .. })));
    scene.clock.advance(Duration::from_secs(9 * 3_600));
    let claim = scene.claim_one(campaign).await;
    granted(&scene, claim).await;
    scene.store.not_sent(claim, 60_000, None).await.unwrap();
    let version = scene.store.campaign(scene.account, campaign).await.unwrap().version;
    set(&scene, Safeguards::default()).await;
    assert_eq!(scene.store.put_off(campaign).await, Ok(Vec::new()));
    assert_eq!(scene.store.remaining(campaign).await.unwrap().later, 1);
    let row = scene.store.campaign(scene.account, campaign).await.unwrap();
    assert_eq!(row.version, version);
}

pub async fn a_campaign_looks_again_when_one_of_its_waiting_attempts_is_cancelled(fixture: Fixture) {
    let scene = fixture.scene().await;
    set(&scene, hours(Mode::Enforce)).await;
    until(&scene, "21:00:00");
    let campaign = calling(&scene, "+919812345678").await;
    let claim = scene.claim_one(campaign).await;
    assert!(matches!(scene.permit(claim).await, Ok(Permit::PutOff { .. })));
    scene.turn(campaign, CampaignStatus::Waiting).await;
    let before = scene.store.campaign(scene.account, campaign).await.unwrap();
    let stranger = scene.store.cancel_queued(AccountId::new(), claim.attempt).await;
    assert_eq!(stranger, Err(StoreError::NotFound));
    assert_eq!(scene.store.campaign(scene.account, campaign).await.unwrap(), before);
    let now = scene.clock.now();
    scene.store.cancel_queued(scene.account, claim.attempt).await.unwrap();
    let row = scene.store.campaign(scene.account, campaign).await.unwrap();
    assert_eq!((row.next_run_at, row.version), (Some(now), before.version + 1));
    assert_eq!(scene.store.remaining(campaign).await.unwrap().later, 0);
}

pub async fn a_number_waits_until_its_counts_allow_it(fixture: Fixture) {
    let scene = fixture.scene().await;
    set(&scene, per_number(Mode::Enforce, Some(2), Some(3))).await;
    let started = scene.clock.now();
    let next = async |scene: &Scene| scene.claim_one(scene.running(0..1).await).await;
    called(&scene, next(&scene).await).await;
    scene.clock.advance(Duration::from_secs(3_600));
    called(&scene, next(&scene).await).await;
    let third = next(&scene).await;
    let until = started.plus(DAY);
    assert_eq!(scene.permit(third).await, Ok(Permit::PutOff { until }));
    // Another number and another account have counts of their own.
    called(&scene, scene.claim_one(scene.running(1..2).await).await).await;
    scene.clock.advance(until.since(scene.clock.now()));
    let campaign = scene.running(0..1).await;
    called(&scene, scene.claim_one(campaign).await).await;
    // Three in the week: no more until the first of them is a week old.
    scene.clock.advance(DAY * 2);
    let until = started.plus(DAY * 7);
    let fourth = next(&scene).await;
    assert_eq!(scene.permit(fourth).await, Ok(Permit::PutOff { until }));
    scene.clock.advance(until.since(scene.clock.now()));
    called(&scene, next(&scene).await).await;
}

pub async fn calls_from_outside_and_unsent_permits_count_for_nobody(fixture: Fixture) {
    let scene = fixture.scene().await;
    let mut rules = per_number(Mode::Enforce, Some(1), None);
    rules.daily_calls = daily(Mode::Enforce, 1).daily_calls;
    set(&scene, rules).await;
    let inbound = NewInboundCall {
        attempt: AttemptId::new(),
        account: scene.account,
        agent: scene.agent,
        agent_version: 1,
        from: number(0),
        to: PhoneNumber::withheld(),
        carrier: "exchange".to_owned(),
        call: CarrierCallId("leg".to_owned()),
        ticket: None,
        variables: serde_json::Map::new(),
        test: None,
    };
    let received = scene.store.receive_call(scene.node, inbound).await.unwrap().unwrap();
    let over = outcome(ConversationStatus::Failed);
    scene.store.finish(received.attempt.claim, over, None).await.unwrap();
    let claim = scene.claim_one(scene.running(0..1).await).await;
    granted(&scene, claim).await;
    // Nothing was sent, so the count is unchanged.
    scene.store.not_sent(claim, 0, None).await.unwrap();
    let claim = scene.claim_one(scene.running(0..1).await).await;
    granted(&scene, claim).await;
    scene
        .store
        .finish(claim, outcome(ConversationStatus::Failed), None)
        .await
        .unwrap();
    let number_waits = scene.claim_one(scene.running(0..1).await).await;
    assert!(matches!(scene.permit(number_waits).await, Ok(Permit::PutOff { .. })));
    let day_is_over = scene.claim_one(scene.running(1..2).await).await;
    assert!(matches!(scene.permit(day_is_over).await, Ok(Permit::DayUsedUp { .. })));
}

pub async fn the_days_calls_end_and_begin_again_at_midnight(fixture: Fixture) {
    let scene = fixture.scene().await;
    until(&scene, "12:00:00");
    // Calls made before the rule count.
    let campaign = scene.running(0..5).await;
    called(&scene, scene.claim_one(campaign).await).await;
    set(&scene, daily(Mode::Enforce, 3)).await;
    for _ in 0..2 {
        called(&scene, scene.claim_one(campaign).await).await;
    }
    let claim = scene.claim_one(campaign).await;
    let Ok(Permit::DayUsedUp { reason }) = scene.permit(claim).await else {
        panic!("permitted")
    };
    assert!(
        reason.contains("dailyCalls") && reason.contains("T00:00:00Z"),
        "{reason}"
    );
    // It is as if it had never been claimed.
    let remaining = scene.store.remaining(campaign).await.unwrap();
    assert_eq!((remaining.due, remaining.later, remaining.open), (2, 0, 0));
    // A higher limit takes effect at once, and so does another rule of the same day; with a warning the call is dialed.
    set(&scene, daily(Mode::Enforce, 4)).await;
    called(&scene, scene.claim_one(campaign).await).await;
    set(&scene, daily(Mode::Warn, 1)).await;
    let warned = scene.claim_one(campaign).await;
    called(&scene, warned).await;
    assert!(fact(&scene, warned.attempt).await.unwrap().contains("dailyCalls"));
    set(&scene, daily(Mode::Enforce, 1)).await;
    until(&scene, "00:00:00");
    let campaign = scene.running(10..12).await;
    called(&scene, scene.claim_one(campaign).await).await;
    let claim = scene.claim_one(campaign).await;
    assert!(matches!(scene.permit(claim).await, Ok(Permit::DayUsedUp { .. })));
}

pub async fn a_single_call_waits_for_safeguards_no_longer_than_it_may(fixture: Fixture) {
    let scene = fixture.scene().await;
    set(&scene, hours(Mode::Enforce)).await;
    let queue = async |scene: &Scene| {
        let new = NewCall {
            agent: scene.agent,
            phone_number: PhoneNumber::parse("+919812345678").unwrap(),
            name: None,
            variables: Default::default(),
        };
        let QueuedCall::Queued(row) = scene.store.create_call(scene.account, new, None).await.unwrap() else {
            panic!("not queued")
        };
        (row.id, scene.store.claim_calls(scene.node, 1).await.unwrap()[0].claim)
    };
    // Five hours before the morning, and five minutes.
    until(&scene, "21:30:00");
    let (id, claim) = queue(&scene).await;
    let Ok(Permit::NotAllowed { error }) = scene.permit(claim).await else {
        panic!("not refused")
    };
    assert!(
        error.contains("callingHours") && error.contains("Asia/Kolkata"),
        "{error}"
    );
    let row = scene.store.conversation(scene.account, id).await.unwrap();
    assert_eq!(row.status, ConversationStatus::Failed);
    scene.clock.advance(Duration::from_secs(5 * 3_600 - 60));
    let (_, claim) = queue(&scene).await;
    let until = scene.clock.now().plus(Duration::from_secs(60));
    assert_eq!(scene.permit(claim).await, Ok(Permit::PutOff { until }));
    scene.clock.advance(Duration::from_secs(60));
    let claim = scene.store.claim_calls(scene.node, 1).await.unwrap()[0].claim;
    granted(&scene, claim).await;
}

pub async fn concurrent_permits_keep_to_the_counts(fixture: Fixture) {
    let scene = fixture.scene().await;
    let mut rules = per_number(Mode::Enforce, Some(3), None);
    rules.daily_calls = daily(Mode::Enforce, 10).daily_calls;
    set(&scene, rules).await;
    let campaign = scene.running(0..40).await;
    let claims = scene.claim(campaign, 40).await;
    let permits = claims.into_iter().map(|claimed| {
        let store = scene.store.clone();
        tokio::spawn(async move { store.permit(claimed.claim, request()).await.unwrap() })
    });
    let mut found: BTreeMap<&str, usize> = BTreeMap::new();
    for permit in join_all(permits).await {
        let word = match permit.unwrap() {
            Permit::Granted { .. } => "granted",
            Permit::DayUsedUp { .. } => "used up",
            other => panic!("{other:?}"),
        };
        *found.entry(word).or_default() += 1;
    }
    assert_eq!(found, BTreeMap::from([("granted", 10), ("used up", 30)]));
}
