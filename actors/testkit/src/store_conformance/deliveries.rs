//! The outbox of deliveries.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::{Fixture, Scene, contact, number, outcome, request};
use domain::{
    deliveries::DeliveryKind,
    id::AttemptId,
    ports::store::{
        Analysis, CampaignStatus, ConversationStatus, DELIVERY_LEASE, Delivery, DeliveryState, DueLane,
        FAILURES_FORGIVEN, NewCall, NewContact, PermitRequest, QueuedCall, Settled, Sought, Standing, StoreError,
    },
    time::{Clock, Timestamp},
};

fn asking(url: &str, mail: bool) -> Map<String, Value> {
    let configuration = json!({ "to": ["ada@example.com"], "includeTranscript": true });
    let document = json!({
        "name": "Ada",
        "platformSettings": { "callActions": {
            "postCallWebhook": url,
            "postCallEmail": { "enabled": mail, "emailConfiguration": configuration },
        } },
    });
    document.as_object().cloned().unwrap()
}

/// Lets the scene's agent ask for a webhook at `url`, and optionally for mail.
async fn asks(scene: &Scene, url: &str, mail: bool) {
    let row = scene.store.agent(scene.account, scene.agent).await.unwrap();
    let saved = scene
        .store
        .update_agent(scene.account, scene.agent, row.version, asking(url, mail));
    saved.await.unwrap();
}

async fn kinds(scene: &Scene, attempt: AttemptId) -> Vec<DeliveryKind> {
    let rows = scene.store.deliveries_of(attempt).await.unwrap();
    rows.iter().map(|row| row.kind).collect()
}

async fn lanes(scene: &Scene, failing_too: bool) -> Vec<DueLane> {
    let sought = Sought {
        failing_lanes: failing_too,
        ..Sought::ALL
    };
    scene.store.due_lanes(sought, 100).await.unwrap()
}

/// Leases everything that is due.
pub(super) async fn leased(scene: &Scene) -> Vec<Delivery> {
    let lanes = lanes(scene, true).await;
    let wanted: Vec<_> = lanes.into_iter().map(|due| (due.lane, 100)).collect();
    scene.store.lease_deliveries(Sought::ALL, &wanted).await.unwrap()
}

fn put_off(seconds: u64, lane_too: bool) -> Settled {
    Settled::PutOff {
        pause: Duration::from_secs(seconds),
        lane_too,
        error: "answered 500".to_owned(),
    }
}

/// Creates a contact that was busy.
pub(super) async fn busy(scene: &Scene, contact: usize) -> AttemptId {
    let campaign = scene.running(contact..contact + 1).await;
    let claim = scene.dialing(campaign).await;
    let failed = outcome(ConversationStatus::Failed);
    scene.store.finish(claim, failed, None).await.unwrap();
    claim.attempt
}

pub async fn a_call_that_ends_makes_what_its_agent_asks_for(fixture: Fixture) {
    let scene = fixture.scene().await;
    let silent = busy(&scene, 0).await;
    assert_eq!(kinds(&scene, silent).await, []);
    asks(&scene, "https://example.com/hook", true).await;
    let unanswered = busy(&scene, 1).await;
    let both = [DeliveryKind::Webhook, DeliveryKind::Email];
    assert_eq!(kinds(&scene, unanswered).await, both);
    // An answered call also reports its analysis.
    let campaign = scene.running(2..3).await;
    let answered = scene.completed(campaign, 1).await.attempt;
    assert_eq!(kinds(&scene, answered).await, []);
    let job = scene.store.due_analyses(1).await.unwrap().remove(0);
    let analysis = Analysis::of_summary("They said no.".to_owned());
    scene.store.save_analysis(&job, analysis).await.unwrap();
    assert_eq!(kinds(&scene, answered).await, both);

    let leased = leased(&scene).await;
    assert_eq!(leased.len(), 4);
    let webhook = leased
        .iter()
        .find(|delivery| delivery.attempt == Some(answered))
        .unwrap();
    let expected = (scene.account, DeliveryKind::Webhook, "https://example.com/hook", 0);
    let found = (webhook.account, webhook.kind, webhook.target.as_str(), webhook.failed);
    assert_eq!((found, webhook.created_at), (expected, scene.clock.now()));
}

pub async fn every_end_of_an_attempt_is_delivered(fixture: Fixture) {
    let scene = fixture.scene().await;
    asks(&scene, "https://example.com/hook", false).await;
    let told = async |attempt| kinds(&scene, attempt).await == [DeliveryKind::Webhook];
    // Refused by its permit.
    let campaign = scene.running(0..1).await;
    scene.store.add_do_not_call(scene.account, &number(0)).await.unwrap();
    let claim = scene.claim_one(campaign).await;
    scene.store.permit(claim, request()).await.unwrap();
    assert!(told(claim.attempt).await, "do-not-call");
    let campaign = scene.running(1..2).await;
    let claim = scene.claim_one(campaign).await;
    let restricted = PermitRequest {
        restricted_prefixes: vec!["+1".to_owned()],
        ..request()
    };
    scene.store.permit(claim, restricted).await.unwrap();
    assert!(told(claim.attempt).await, "restricted");
    // Planned, and cancelled by a stop.
    let campaign = scene.running(2..3).await;
    let claim = scene.dialing(campaign).await;
    scene.store.not_sent(claim, 60_000, None).await.unwrap();
    scene.turn(campaign, CampaignStatus::Stopped).await;
    assert_eq!(
        kinds(&scene, claim.attempt).await,
        [],
        "a first attempt goes without a trace"
    );
    // Single calls: cancelled, or never dialed.
    let call = async |n| {
        let new = NewCall {
            agent: scene.agent,
            phone_number: number(n),
            name: None,
            variables: Map::new(),
        };
        match scene.store.create_call(scene.account, new, None).await.unwrap() {
            QueuedCall::Queued(row) => row.id,
            QueuedCall::DoNotCall => unreachable!("the number is on no list"),
        }
    };
    let (cancelled, late) = (call(3).await, call(4).await);
    scene.store.cancel_queued(scene.account, cancelled).await.unwrap();
    assert!(told(cancelled).await, "cancelled");
    scene.clock.advance(Duration::from_secs(7 * 24 * 3_600));
    assert_eq!(scene.store.expire_calls().await, Ok(1));
    assert!(told(late).await, "expired");
}

pub async fn a_delivery_whose_holder_died_comes_back_unchanged(fixture: Fixture) {
    let scene = fixture.scene().await;
    asks(&scene, "https://example.com/hook", false).await;
    busy(&scene, 0).await;
    let first = leased(&scene).await.remove(0);
    assert_eq!(leased(&scene).await, []);
    // The holder keeps it as long as it renews its lease.
    for _ in 0..3 {
        scene.clock.advance(DELIVERY_LEASE - Duration::from_secs(1));
        assert_eq!(leased(&scene).await, []);
        scene.store.renew_deliveries(&[(first.id, first.lease)]).await.unwrap();
    }
    scene.clock.advance(DELIVERY_LEASE);
    let second = leased(&scene).await.remove(0);
    assert_eq!((second.id, second.failed, second.lease), (first.id, 0, first.lease + 1));
    // The previous holder is fenced.
    let late = scene.store.settle_delivery(&first, Settled::Delivered).await;
    assert_eq!(late, Err(StoreError::Fenced));
    scene.store.renew_deliveries(&[(first.id, first.lease)]).await.unwrap();
    scene.store.settle_delivery(&second, Settled::Delivered).await.unwrap();
    let twice = scene.store.settle_delivery(&second, put_off(1, false)).await;
    assert_eq!(twice, Err(StoreError::Fenced));
    scene.clock.advance(DELIVERY_LEASE * 2);
    assert_eq!(lanes(&scene, true).await, []);
    let row = scene
        .store
        .deliveries_of(first.call().unwrap())
        .await
        .unwrap()
        .remove(0);
    assert_eq!((row.state, row.failed, row.last_error), (DeliveryState::Done, 0, None));
}

pub async fn a_failed_delivery_waits_and_is_given_up_in_the_end(fixture: Fixture) {
    let scene = fixture.scene().await;
    asks(&scene, "https://example.com/hook", false).await;
    let attempt = busy(&scene, 0).await;
    let delivery = leased(&scene).await.remove(0);
    scene
        .store
        .settle_delivery(&delivery, put_off(300, false))
        .await
        .unwrap();
    // A late renewal and a repeated result change nothing.
    scene
        .store
        .renew_deliveries(&[(delivery.id, delivery.lease)])
        .await
        .unwrap();
    let twice = scene.store.settle_delivery(&delivery, put_off(1, false)).await;
    assert_eq!(twice, Err(StoreError::Fenced));
    let row = scene.store.deliveries_of(attempt).await.unwrap().remove(0);
    let due_at = scene.clock.now().plus(Duration::from_secs(300));
    assert_eq!((row.state, row.failed, row.due_at), (DeliveryState::Pending, 1, due_at));
    assert_eq!(row.last_error.as_deref(), Some("answered 500"));
    scene.clock.advance(Duration::from_secs(299));
    assert_eq!(leased(&scene).await, []);
    scene.clock.advance(Duration::from_secs(1));
    let again = leased(&scene).await.remove(0);
    assert_eq!((again.id, again.failed), (delivery.id, 1));
    let error = "answered 404".to_owned();
    let given_up = Settled::GivenUp { error: error.clone() };
    scene.store.settle_delivery(&again, given_up).await.unwrap();
    let row = scene.store.deliveries_of(attempt).await.unwrap().remove(0);
    assert_eq!(
        (row.state, row.failed, row.last_error),
        (DeliveryState::GivenUp, 2, Some(error))
    );
    scene.clock.advance(Duration::from_secs(100_000));
    assert_eq!(leased(&scene).await, []);
}

pub async fn deliveries_that_are_over_are_forgotten_piece_by_piece(fixture: Fixture) {
    let scene = fixture.scene().await;
    asks(&scene, "https://example.com/hook", false).await;
    let mut calls = Vec::new();
    for n in 0..4 {
        scene.clock.advance(Duration::from_secs(1));
        calls.push(busy(&scene, n).await);
    }
    let last = scene.clock.now();
    let ends = [
        Settled::Delivered,
        put_off(10_000_000, false),
        Settled::GivenUp { error: "no".into() },
        Settled::Delivered,
    ];
    let all = leased(&scene).await;
    for (call, settled) in calls.iter().zip(ends) {
        let its = all.iter().find(|delivery| delivery.attempt == Some(*call)).unwrap();
        scene.store.settle_delivery(its, settled).await.unwrap();
    }
    scene.clock.advance(DELIVERY_LEASE * 2);
    let left = async || {
        let mut left = Vec::new();
        for call in &calls {
            left.push(scene.store.deliveries_of(*call).await.unwrap().len());
        }
        left
    };
    let forget = async |before, limit| scene.store.forget_deliveries(before, limit).await;
    assert_eq!(forget(Timestamp(0), 100).await, Ok(0));
    assert_eq!(forget(last, 1).await, Ok(1));
    assert_eq!(left().await, [0, 1, 1, 1]);
    assert_eq!(forget(last, 1).await, Ok(0), "what is pending stays");
    assert_eq!(forget(last, 100).await, Ok(1));
    assert_eq!(left().await, [0, 1, 0, 1], "and what is young");
    assert_eq!(forget(scene.clock.now(), 100).await, Ok(1));
    assert_eq!(left().await, [0, 1, 0, 0]);
    // Each event of a call is reported only once.
    assert_eq!(leased(&scene).await, []);
}

pub async fn lanes_are_picked_apart_and_tell_how_they_stand(fixture: Fixture) {
    let scene = fixture.scene().await;
    asks(&scene, "https://one.example.com/hook", false).await;
    for n in 0..3 {
        busy(&scene, n).await;
    }
    scene.clock.advance(Duration::from_secs(1));
    asks(&scene, "https://two.example.com/hook", false).await;
    busy(&scene, 3).await;
    let due = lanes(&scene, false).await;
    let [one, two] = &due[..] else { panic!("{due:?}") };
    assert!(one.lane.ends_with(" https://one.example.com") && two.lane.ends_with(" https://two.example.com"));
    assert_eq!((one.standing, two.standing), (Standing::New, Standing::New));
    assert_eq!(scene.store.due_lanes(Sought::ALL, 1).await.unwrap(), due[..1]);
    let (one, two) = (one.lane.clone(), two.lane.clone());
    let taken = scene
        .store
        .lease_deliveries(Sought::ALL, &[(one.clone(), 2), (two.clone(), 5)])
        .await
        .unwrap();
    assert_eq!(
        taken.iter().map(|taken| &taken.lane).collect::<Vec<_>>(),
        [&one, &one, &two]
    );
    // One lane works. The other fails and is seen only by readers who ask for failing lanes.
    scene
        .store
        .settle_delivery(&taken[0], Settled::Delivered)
        .await
        .unwrap();
    scene.store.settle_delivery(&taken[2], put_off(0, false)).await.unwrap();
    let standing = |lane: &str, standing| DueLane {
        lane: lane.to_owned(),
        standing,
    };
    assert_eq!(lanes(&scene, false).await, [standing(&one, Standing::Proven)]);
    let both = [standing(&one, Standing::Proven), standing(&two, Standing::Failing)];
    assert_eq!(lanes(&scene, true).await, both);
    // A lane that worked is allowed a few failures.
    let mut delivery = taken[1].clone();
    for failures in 1..=FAILURES_FORGIVEN {
        scene.store.settle_delivery(&delivery, put_off(0, false)).await.unwrap();
        let expected = if failures < FAILURES_FORGIVEN {
            vec![standing(&one, Standing::Shaky)]
        } else {
            vec![]
        };
        assert_eq!(lanes(&scene, false).await, expected, "{failures}");
        let wanted = [(one.clone(), 9)];
        let again = scene.store.lease_deliveries(Sought::ALL, &wanted).await.unwrap();
        delivery = again.into_iter().find(|again| again.id == delivery.id).unwrap();
    }
}

pub async fn first_tries_may_wait_while_others_do_not(fixture: Fixture) {
    let scene = fixture.scene().await;
    asks(&scene, "https://one.example.com/hook", false).await;
    busy(&scene, 0).await;
    let tried = leased(&scene).await.remove(0);
    scene.store.settle_delivery(&tried, put_off(0, false)).await.unwrap();
    busy(&scene, 1).await;
    asks(&scene, "https://two.example.com/hook", false).await;
    busy(&scene, 2).await;
    let again = Sought {
        first_tries: false,
        ..Sought::ALL
    };
    let due = scene.store.due_lanes(again, 100).await.unwrap();
    let [lane] = &due[..] else { panic!("{due:?}") };
    assert_eq!(lane.lane, tried.lane);
    let wanted = [(tried.lane.clone(), 9)];
    let taken = scene.store.lease_deliveries(again, &wanted).await.unwrap();
    assert_eq!(taken.iter().map(|taken| taken.id).collect::<Vec<_>>(), [tried.id]);
    assert_eq!(scene.store.lease_deliveries(again, &wanted).await, Ok(vec![]));
    assert_eq!(leased(&scene).await.len(), 2);
}

pub async fn a_lane_waits_as_long_as_its_receiver_wished(fixture: Fixture) {
    let scene = fixture.scene().await;
    asks(&scene, "https://example.com/hook", false).await;
    busy(&scene, 0).await;
    let delivery = leased(&scene).await.remove(0);
    scene.store.settle_delivery(&delivery, put_off(60, true)).await.unwrap();
    busy(&scene, 1).await;
    scene.clock.advance(Duration::from_secs(59));
    assert_eq!(lanes(&scene, true).await, []);
    scene.clock.advance(Duration::from_secs(1));
    assert_eq!(leased(&scene).await.len(), 2);
}

pub async fn an_address_that_is_gone_gets_nothing_until_its_agent_is_saved_again(fixture: Fixture) {
    let scene = fixture.scene().await;
    asks(&scene, "https://example.com/gone", true).await;
    let (first, second) = (busy(&scene, 0).await, busy(&scene, 1).await);
    asks(&scene, "https://example.com/other", false).await;
    let other = busy(&scene, 2).await;
    let all = leased(&scene).await;
    let told = all
        .iter()
        .find(|found| found.attempt == Some(first) && found.kind == DeliveryKind::Webhook);
    let error = "answered 410 Gone".to_owned();
    scene.clock.advance(Duration::from_secs(1));
    let url = told.unwrap().target.clone();
    let gone = Settled::Gone {
        error: error.clone(),
        url: url.clone(),
    };
    scene.store.settle_delivery(told.unwrap(), gone).await.unwrap();
    let states = async |attempt| {
        let rows = scene.store.deliveries_of(attempt).await.unwrap();
        rows.iter().map(|row| (row.kind, row.state)).collect::<Vec<_>>()
    };
    let expected = [
        (DeliveryKind::Webhook, DeliveryState::GivenUp),
        (DeliveryKind::Email, DeliveryState::Pending),
    ];
    assert_eq!(
        (states(first).await, states(second).await),
        (expected.into(), expected.into())
    );
    assert_eq!(states(other).await, [(DeliveryKind::Webhook, DeliveryState::Pending)]);
    let row = scene.store.deliveries_of(second).await.unwrap().remove(0);
    assert_eq!((row.failed, row.last_error), (0, Some(error.clone())));

    // Saved again, it gets requests again; gone again, it gets none.
    scene.clock.advance(Duration::from_secs(1));
    asks(&scene, "https://example.com/gone", false).await;
    let third = busy(&scene, 3).await;
    assert_eq!(states(third).await, [(DeliveryKind::Webhook, DeliveryState::Pending)]);
    scene.clock.advance(Duration::from_secs(1));
    let all = leased(&scene).await;
    let told = all.iter().find(|found| found.attempt == Some(third)).unwrap();
    scene
        .store
        .settle_delivery(told, Settled::Gone { error, url })
        .await
        .unwrap();
    let fourth = busy(&scene, 4).await;
    assert_eq!(states(fourth).await, []);
}

pub async fn a_delivery_tells_of_the_person_as_the_call_knew_them(fixture: Fixture) {
    let scene = fixture.scene().await;
    let attempt = busy(&scene, 0).await;
    assert_eq!(scene.store.contact_of(attempt).await, Ok(contact(0)));
    let extra = json!({ "zebra": 2, "plan": "gold" }).as_object().cloned().unwrap();
    let new = NewContact {
        phone_number: number(0),
        name: Some("Saved".to_owned()),
        email: Some("saved@example.com".to_owned()),
        extra,
    };
    let saved = scene.store.create_contact(scene.account, new, None).await.unwrap();
    let mut expected = contact(0);
    expected.contact = Some(saved.id);
    expected.email = Some("saved@example.com".to_owned());
    expected.extra.insert("plan".to_owned(), json!("gold"));
    assert_eq!(scene.store.contact_of(attempt).await, Ok(expected));
    assert_eq!(
        scene.store.contact_of(AttemptId::new()).await,
        Err(StoreError::NotFound)
    );
}
