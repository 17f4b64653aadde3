//! Tests of webhook endpoints: each type of event arrives signed, and the receiver's answers take effect.

use std::{collections::BTreeSet, time::Duration};

use domain::{
    accounts::generate_webhook_secret,
    ports::store::{CampaignStatus, DeliveryState, TypePattern, WebhookDelivery, WebhookEndpoint, WebhookRow},
};
use integrations::deliveries::Pace;
use net::address_policy::AddressPolicy;
use serde_json::json;
use testkit::store_conformance::number;

use super::{
    receiver::{Receiver, Reply},
    world::{PACE, World, until},
};

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

async fn endpoint(world: &World, url: &str, types: &[&str]) -> WebhookRow {
    let new = WebhookEndpoint {
        url: url.to_owned(),
        description: String::new(),
        types: types.iter().map(|text| TypePattern::parse(text).unwrap()).collect(),
        enabled: true,
    };
    let store = &world.scene.store;
    let made = store.create_webhook(world.account.id, new, SECRET.to_owned(), None);
    made.await.unwrap().unwrap()
}

async fn deliveries(world: &World, webhook: &WebhookRow) -> Vec<WebhookDelivery> {
    let store = &world.scene.store;
    store.webhook_deliveries(webhook.id, None, 100).await.unwrap()
}

async fn hits(receiver: &Receiver, count: usize) {
    until("hits", async || receiver.told().hits.len() >= count).await;
}

/// Waits until the newest delivery satisfies a condition, and returns it.
async fn newest(world: &World, webhook: &WebhookRow, is: impl Fn(&WebhookDelivery) -> bool) -> WebhookDelivery {
    until("delivery", async || {
        deliveries(world, webhook).await.first().is_some_and(&is)
    })
    .await;
    deliveries(world, webhook).await.remove(0)
}

#[tokio::test]
async fn an_event_of_this_node_is_published_without_waiting_for_the_next_look() {
    let mut world = World::new().await;
    world.pace = Pace {
        look: Duration::from_secs(3_600),
        ..PACE
    };
    let store = world.scene.store.clone();
    let account = world.account.id;
    let is_at =
        async |place: i64| until("published", async || store.last_event_place(account).await == Ok(place)).await;
    store.add_do_not_call(account, &number(0)).await.unwrap();
    world.start();
    // The first look publishes it.
    is_at(1).await;
    for place in 2..4 {
        store.add_do_not_call(account, &number(place as usize)).await.unwrap();
        is_at(place).await;
    }
    world.stop().await;
}

#[tokio::test]
async fn each_event_arrives_once_signed_with_the_endpoints_secret() {
    let receiver = Receiver::start().await;
    let mut world = World::new().await;
    let webhook = endpoint(&world, &receiver.url("/all"), &["*"]).await;
    endpoint(&world, &receiver.url("/ends"), &["call.ended"]).await;
    world.asks_for_webhook(&receiver.url("/post-call")).await;
    world.start();
    let claim = world.answered("They said yes.").await;
    let store = world.scene.store.clone();
    store
        .opt_out(world.account.id, &number(0), claim.attempt)
        .await
        .unwrap();
    let row = store.conversation(world.account.id, claim.attempt).await.unwrap();
    world.scene.turn(row.campaign.unwrap(), CampaignStatus::Completed).await;
    // Eight events, one of them to two endpoints, and the webhook of the agent.
    hits(&receiver, 10).await;
    until("done", async || {
        let all = deliveries(&world, &webhook).await;
        all.len() == 8 && all.iter().all(|delivery| delivery.state == DeliveryState::Done)
    })
    .await;
    let all = receiver.hits();
    assert_eq!(all.len(), 10);
    let to = |path: &str| all.iter().filter(|hit| hit.path == path).cloned().collect::<Vec<_>>();
    let types: BTreeSet<_> = to("/all")
        .iter()
        .map(|hit| hit.json()["type"].as_str().unwrap().to_owned())
        .collect();
    let expected = [
        "call.analysed",
        "call.answered",
        "call.ended",
        "call.started",
        "campaign.completed",
        "campaign.draft",
        "campaign.running",
        "contact.opted_out",
    ];
    assert_eq!(types, expected.map(str::to_owned).into());
    for hit in to("/all").iter().chain(&to("/ends")) {
        assert!(hit.is_signed_with(SECRET) && !hit.is_signed_with(&world.secrets().await.current));
    }
    let [end] = &to("/ends")[..] else { panic!("not one end") };
    assert_eq!(end.json()["type"], "call.ended");
    assert_eq!(end.json()["data"]["conversationId"], json!(claim.attempt));
    assert_eq!(end.json()["data"]["conversationDuration"], 65);
    // The webhook of the agent is unchanged.
    let [post_call] = &to("/post-call")[..] else {
        panic!("not one webhook of the agent")
    };
    assert!(post_call.is_signed_with(&world.secrets().await.current));
    assert_eq!(post_call.json()["type"], "post_call");
    let ids: BTreeSet<_> = all.iter().map(|hit| hit.id.clone()).collect();
    assert_eq!(ids.len(), 10);
}

#[tokio::test]
async fn a_failed_event_is_tried_again_under_its_id_and_resent_at_wish() {
    let receiver = Receiver::start().await;
    receiver.told().reply = Reply::Status(500);
    let mut world = World::new().await;
    let webhook = endpoint(&world, &receiver.url("/all"), &["contact.*"]).await;
    world.start();
    let store = world.scene.store.clone();
    store.add_do_not_call(world.account.id, &number(0)).await.unwrap();
    let failed = newest(&world, &webhook, |delivery| delivery.failed == 1).await;
    assert_eq!(failed.last_error.as_deref(), Some("the receiver answered 500"));
    receiver.told().reply = Reply::Status(204);
    world.advance(5);
    newest(&world, &webhook, |delivery| delivery.state == DeliveryState::Done).await;
    store.resend_delivery(webhook.id, failed.id).await.unwrap();
    hits(&receiver, 3).await;
    newest(&world, &webhook, |delivery| delivery.state == DeliveryState::Done).await;
    let new = generate_webhook_secret();
    store
        .rotate_secret(world.account.id, webhook.id, new.clone())
        .await
        .unwrap();
    let test = store.test_webhook(world.account.id, webhook.id).await.unwrap();
    hits(&receiver, 4).await;
    let all = receiver.hits();
    let ids: Vec<_> = all.iter().map(|hit| hit.id.clone()).collect();
    let again = failed.id.to_string();
    assert_eq!(ids, [again.clone(), again.clone(), again, test.id.to_string()]);
    assert_eq!(all[1].body, all[0].body);
    assert!(all[3].is_signed_with(SECRET) && all[3].is_signed_with(&new));
    let told = all[3].json();
    assert_eq!(
        (&told["type"], &told["data"]),
        (&json!("webhook.test"), &json!({ "webhookId": webhook.id }))
    );
}

#[tokio::test]
async fn a_disabled_endpoint_gets_nothing_and_one_that_is_gone_is_disabled() {
    let receiver = Receiver::start().await;
    receiver.told().replies.insert("/gone", Reply::Status(410));
    let mut world = World::new().await;
    let off = endpoint(&world, &receiver.url("/off"), &["*"]).await;
    let gone = endpoint(&world, &receiver.url("/gone"), &["*"]).await;
    let store = world.scene.store.clone();
    // Its delivery is pending when it is disabled.
    store.add_do_not_call(world.account.id, &number(0)).await.unwrap();
    store.publish_events(10).await.unwrap();
    let disabled = WebhookEndpoint {
        enabled: false,
        ..off.endpoint.clone()
    };
    store
        .update_webhook(world.account.id, off.id, 1, disabled)
        .await
        .unwrap();
    world.start();
    newest(&world, &gone, |delivery| delivery.state == DeliveryState::GivenUp).await;
    assert!(!store.webhook(world.account.id, gone.id).await.unwrap().endpoint.enabled);
    store.add_do_not_call(world.account.id, &number(1)).await.unwrap();
    until("published", async || {
        store.last_event_place(world.account.id).await == Ok(2)
    })
    .await;
    world.stop().await;
    let paths: Vec<_> = receiver.hits().iter().map(|hit| hit.path.clone()).collect();
    assert_eq!(paths, ["/gone"]);
}

#[tokio::test]
async fn an_endpoint_leads_to_no_private_address() {
    let receiver = Receiver::start().await;
    let inside = Receiver::start().await;
    let inward = Reply::With(302, "location", inside.url("/inside"));
    receiver.told().replies.insert("/redirect", inward);
    let mut world = World::new().await;
    let redirects = endpoint(&world, &receiver.url("/redirect"), &["*"]).await;
    world.start();
    let store = world.scene.store.clone();
    store.add_do_not_call(world.account.id, &number(0)).await.unwrap();
    let failed = newest(&world, &redirects, |delivery| delivery.failed == 1).await;
    let error = "the receiver answered 302; redirects are not followed";
    assert_eq!(failed.last_error.as_deref(), Some(error));
    assert_eq!((receiver.hits().len(), inside.hits().len()), (1, 0));

    let mut strict = World::new().await;
    strict.policy = AddressPolicy::public_only();
    let port = inside.address.port();
    let named = endpoint(&strict, &format!("http://localhost:{port}/inside"), &["*"]).await;
    let literal = endpoint(&strict, &inside.url("/inside"), &["*"]).await;
    strict.start();
    let store = strict.scene.store.clone();
    store.add_do_not_call(strict.account.id, &number(0)).await.unwrap();
    for webhook in [&named, &literal] {
        newest(&strict, webhook, |delivery| delivery.failed == 1).await;
    }
    assert_eq!(inside.hits().len(), 0);
}
