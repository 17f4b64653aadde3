//! Tests of webhooks: their content, their signature, and the effect of the receiver's answers.

use std::{sync::Arc, time::Duration};

use domain::accounts::generate_webhook_secret;
use domain::{
    admission::{Admission, Level, Limits, Sample},
    ports::store::{ConversationStatus, DeliveryState, Sought},
    prices::PriceList,
};
use net::address_policy::AddressPolicy;
use serde_json::json;
use support::contract::problems;

use super::{
    receiver::{Receiver, Reply},
    world::{World, until},
};

async fn world(receiver: &Receiver) -> World {
    let mut world = World::new().await;
    world.asks(&json!({ "postCallWebhook": receiver.url("/hook") })).await;
    let prices = r#"{ "currency": "EUR", "prices": [{ "carrier": "exchange", "unit": "seconds", "price": "0.1" }] }"#;
    world.prices = Some(Arc::new(PriceList::parse(prices).unwrap()));
    world.start();
    world
}

async fn hits(receiver: &Receiver, count: usize) {
    until("hits", async || receiver.told().hits.len() >= count).await;
}

#[tokio::test]
async fn an_answered_call_is_told_after_its_analysis_in_the_words_of_rest() {
    let receiver = Receiver::start().await;
    let mut world = world(&receiver).await;
    let claim = world.answered("They said yes.").await;
    hits(&receiver, 1).await;
    let hit = receiver.hits().remove(0);
    let told = hit.json();
    let described = problems("PostCall", &json!({ "$ref": "#/components/schemas/PostCall" }), &told);
    assert!(described.is_empty(), "{described:#?}");
    let row = world
        .scene
        .store
        .conversation(world.account.id, claim.attempt)
        .await
        .unwrap();
    let store = &*world.scene.store;
    let expected = domain::conversation::in_full(store, &world.account, &row).await;
    let mut expected = json!(expected.unwrap().priced(&row, world.prices.as_deref()));
    assert_eq!(expected["cost"]["total"], "6.5");
    assert_eq!(row.status, ConversationStatus::Completed);
    assert_eq!(expected["campaignId"], json!(row.campaign));
    assert_eq!(expected["summary"], "They said yes.");
    expected["contact"] = json!({
        "phoneNumber": row.contact_number, "name": "Näme 0", "contactId": null, "persona": "p0", "zebra": 1, "apple": null,
    });
    assert_eq!(told["data"], expected);
    assert_eq!(
        (&told["type"], told.as_object().unwrap().len()),
        (&json!("post_call"), 3)
    );
    assert_eq!(told["timestamp"], row.ended_at.unwrap().to_iso8601());
    let delivery = world.delivery(claim.attempt).await;
    assert_eq!(hit.id, delivery.id.to_string());
    assert!(hit.is_signed_with(&world.secrets().await.current));
    until("done", async || {
        world.delivery(claim.attempt).await.state == DeliveryState::Done
    })
    .await;
}

#[tokio::test]
async fn a_call_that_nobody_answered_is_told_at_once() {
    let receiver = Receiver::start().await;
    let mut world = world(&receiver).await;
    let attempt = world.unanswered(1).await.remove(0);
    hits(&receiver, 1).await;
    let data = receiver.hits()[0].json()["data"].clone();
    assert_eq!(
        (&data["status"], &data["errorMessage"]),
        (&json!("failed"), &json!("busy"))
    );
    assert_eq!(data["conversationId"], json!(attempt));
}

#[tokio::test]
async fn both_secrets_sign_for_a_day_after_a_rotation() {
    let receiver = Receiver::start().await;
    let mut world = world(&receiver).await;
    let old = world.secrets().await.current;
    let new = generate_webhook_secret();
    world
        .scene
        .store
        .rotate_webhook_secret(world.account.id, new.clone())
        .await
        .unwrap();
    world.unanswered(1).await;
    hits(&receiver, 1).await;
    world.advance(24 * 3_600);
    world.unanswered(1).await;
    hits(&receiver, 2).await;
    let signed: Vec<_> = receiver
        .hits()
        .iter()
        .map(|hit| (hit.is_signed_with(&old), hit.is_signed_with(&new)))
        .collect();
    assert_eq!(signed, [(true, true), (false, true)]);
}

#[tokio::test]
async fn a_failure_is_tried_again_on_schedule_under_the_same_id() {
    let receiver = Receiver::start().await;
    receiver.told().reply = Reply::Status(500);
    let mut world = world(&receiver).await;
    let attempt = world.unanswered(1).await.remove(0);
    for (tries, pause) in [5, 300, 1_800, 7_200, 18_000, 36_000, 36_000].into_iter().enumerate() {
        until("put off", async || {
            world.delivery(attempt).await.failed == tries as i64 + 1
        })
        .await;
        world.advance(pause - 1);
        // Anything leased now would be too early, so two looks into the outbox must find nothing.
        assert_eq!(world.scene.store.due_lanes(Sought::ALL, 10).await, Ok(vec![]));
        world.advance(1);
        hits(&receiver, tries + 2).await;
    }
    until("given up", async || {
        world.delivery(attempt).await.state == DeliveryState::GivenUp
    })
    .await;
    let row = world.delivery(attempt).await;
    assert_eq!(
        (row.failed, row.last_error.as_deref()),
        (8, Some("the receiver answered 500"))
    );
    let ids: Vec<String> = receiver.hits().into_iter().map(|hit| hit.id).collect();
    assert_eq!(ids, vec![row.id.to_string(); 8]);
    // Each try has its own time and signature.
    let secret = world.secrets().await.current;
    assert!(receiver.hits().iter().all(|hit| hit.is_signed_with(&secret)));
}

#[tokio::test]
async fn with_too_much_to_do_only_first_tries_wait() {
    let receiver = Receiver::start().await;
    receiver.told().reply = Reply::Status(500);
    let mut world = world(&receiver).await;
    let tried = world.unanswered(1).await.remove(0);
    until("put off", async || world.delivery(tried).await.failed == 1).await;
    let busy = Sample {
        cpu: Some(1.0),
        ..Sample::default()
    };
    let mut admission = Admission::new(Limits::default());
    while admission.level() < Level::NoDeliveries {
        admission.observe(busy, Duration::from_millis(10));
    }
    world.gate.set(&admission);
    let new = world.unanswered(1).await.remove(0);
    receiver.told().reply = Reply::Status(200);
    world.advance(5);
    until("done", async || {
        world.delivery(tried).await.state == DeliveryState::Done
    })
    .await;
    let row = world.delivery(new).await;
    assert_eq!(
        (row.state, row.failed, receiver.hits().len()),
        (DeliveryState::Pending, 0, 2)
    );
    world.gate.set(&Admission::new(Limits::default()));
    until("the first try", async || {
        world.delivery(new).await.state == DeliveryState::Done
    })
    .await;
}

#[tokio::test]
async fn gone_ends_it_for_the_address_until_an_agent_that_names_it_is_saved() {
    let receiver = Receiver::start().await;
    receiver.told().reply = Reply::Status(410);
    let mut world = world(&receiver).await;
    let attempt = world.unanswered(1).await.remove(0);
    until("given up", async || {
        world.delivery(attempt).await.state == DeliveryState::GivenUp
    })
    .await;
    let later = world.unanswered(1).await.remove(0);
    assert_eq!(world.scene.store.deliveries_of(later).await, Ok(vec![]));
    receiver.told().reply = Reply::Status(200);
    world.advance(1);
    world.asks_for_webhook(&receiver.url("/hook")).await;
    world.unanswered(1).await;
    hits(&receiver, 2).await;
}

#[tokio::test]
async fn retry_after_holds_the_endpoint_up() {
    let receiver = Receiver::start().await;
    receiver.told().reply = Reply::With(429, "retry-after", "60".into());
    let mut world = world(&receiver).await;
    let first = world.unanswered(1).await.remove(0);
    until("put off", async || world.delivery(first).await.failed == 1).await;
    receiver.told().reply = Reply::Status(200);
    let second = world.unanswered(1).await.remove(0);
    world.advance(59);
    assert_eq!(world.scene.store.due_lanes(Sought::ALL, 10).await, Ok(vec![]));
    world.advance(1);
    for attempt in [first, second] {
        until("done", async || {
            world.delivery(attempt).await.state == DeliveryState::Done
        })
        .await;
    }
    assert_eq!(world.delivery(second).await.failed, 0);
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let receiver = Receiver::start().await;
    receiver.told().reply = Reply::With(307, "location", receiver.url("/elsewhere"));
    let mut world = world(&receiver).await;
    let attempt = world.unanswered(1).await.remove(0);
    until("put off", async || world.delivery(attempt).await.failed == 1).await;
    let error = world.delivery(attempt).await.last_error.unwrap();
    assert!(error.contains("redirects are not followed"), "{error}");
    assert!(receiver.hits().iter().all(|hit| hit.path == "/hook"));
}

#[tokio::test]
async fn private_addresses_are_refused_at_each_delivery_by_number_and_by_name() {
    let receiver = Receiver::start().await;
    let mut world = World::new().await;
    world.policy = AddressPolicy::public_only();
    world.start();
    // The last one has no address at all: a client does not learn which names a private name server knows.
    for host in ["127.0.0.1", "0x7f.1", "[::1]", "localhost", "nobody.invalid"] {
        world
            .asks_for_webhook(&format!("http://{host}:{}/hook", receiver.address.port()))
            .await;
        let attempt = world.unanswered(1).await.remove(0);
        until("put off", async || world.delivery(attempt).await.failed == 1).await;
        let error = world.delivery(attempt).await.last_error.unwrap();
        assert!(error.contains("only public addresses are taken"), "{error}");
        assert!(error.contains("RINGBACK_ALLOW_PRIVATE_URLS"), "{error}");
        if host.ends_with(char::is_alphabetic) {
            assert!(error.starts_with(&format!("{host} has no public address")), "{error}");
        }
    }
    assert!(receiver.hits().is_empty());
}

#[tokio::test]
async fn a_receiver_that_never_answers_is_put_off() {
    let receiver = Receiver::start().await;
    receiver.told().reply = Reply::Never;
    let mut world = World::new().await;
    world.limits.answer = Duration::from_millis(30);
    world.asks_for_webhook(&receiver.url("/hook")).await;
    world.start();
    let attempt = world.unanswered(1).await.remove(0);
    until("put off", async || world.delivery(attempt).await.failed == 1).await;
    let error = world.delivery(attempt).await.last_error.unwrap();
    assert!(error.contains("no answer within"), "{error}");
    // Nothing listens there at all.
    receiver.vanish();
    world.advance(5);
    until("put off again", async || world.delivery(attempt).await.failed == 2).await;
}

#[tokio::test]
async fn what_is_under_way_at_a_stop_is_finished() {
    let receiver = Receiver::start().await;
    let mut world = world(&receiver).await;
    let attempts = world.unanswered(20).await;
    hits(&receiver, 1).await;
    world.stop().await;
    let mut done = 0;
    for attempt in attempts {
        done += usize::from(world.delivery(attempt).await.state == DeliveryState::Done);
    }
    assert_eq!(done, receiver.hits().len());
}

#[tokio::test]
async fn what_is_due_when_the_service_stops_is_tried_before_it_ends() {
    let receiver = Receiver::start().await;
    let mut world = World::new().await;
    world.asks_for_webhook(&receiver.url("/hook")).await;
    for stops in 1..=5 {
        world.unanswered(20).await;
        world.start();
        world.stop().await;
        assert_eq!(receiver.told().hits.len(), 20 * stops);
    }
}
