//! Phones call in through Vonage: announced with a signature, answered with instructions, reported at the application's
//! own address.

use std::sync::Arc;

use actors::node::NodeSettings;
use domain::ports::store::StoreError;
use serde_json::{Value, json};

use super::{BUSY, COOPERATIVE, account, stub, world_at};
use carriers::vonage::account::Rate;
use sim::stub_carriers::vonage::VonageStub;
use support::{
    phone_log::PhoneLog,
    words::{interviewing_agent, lines, texts},
    world::World,
};

pub(super) const OURS: &str = "+15559990001";

fn answering_agent() -> Value {
    let mut agent = interviewing_agent();
    agent["direction"] = json!("inbound");
    agent["phoneNumbers"] = json!([{ "number": OURS, "provider": "vonage" }]);
    agent
}

/// The conversation that instructions lead to.
pub(super) fn conversation(ncco: &Value) -> String {
    ncco[0]["endpoint"][0]["headers"]["attempt"]
        .as_str()
        .unwrap()
        .to_owned()
}

pub(super) async fn called() -> (Arc<VonageStub>, World) {
    called_at(NodeSettings::default()).await
}

async fn called_at(node: NodeSettings) -> (Arc<VonageStub>, World) {
    let stub = stub().await;
    let world = world_at(account(&stub, Rate::Narrow), node).await;
    world.agent(answering_agent()).await;
    (stub, world)
}

#[tokio::test(start_paused = true)]
async fn a_phone_that_calls_is_talked_with_and_its_hang_up_is_told() {
    let (stub, world) = called().await;
    let answer = stub
        .call_in(&world.client.base, "in-1", (COOPERATIVE, OURS))
        .await
        .unwrap();
    assert_eq!(answer.status, 200, "{answer:?}");
    let id = conversation(&answer.ncco);
    let talked = world.until_over(&id, 120).await;
    check_words_of_caller(&talked, &stub);
    assert_eq!(
        (&talked["direction"], &talked["contactNumber"], &talked["callerNumber"]),
        (&json!("inbound"), &json!(COOPERATIVE), &json!(OURS))
    );
    world.pass(5).await;
    assert_eq!(
        (stub.complaints(), stub.live_calls(), stub.dials().len()),
        (vec![], 0, 0)
    );
    let refused: Vec<_> = stub
        .delivered()
        .into_iter()
        .filter(|event| event.answer >= 300)
        .collect();
    assert_eq!(refused, []);
}

/// The transcript is word for word what the telephone said and heard.
fn check_words_of_caller(conversation: &Value, stub: &VonageStub) {
    assert_eq!(conversation["status"], "completed", "{conversation:#}");
    let phone = PhoneLog::new(stub.entries()).call(COOPERATIVE);
    assert_eq!(lines(conversation, "User"), texts(&phone.said()));
    assert_eq!(lines(conversation, "Agent"), texts(&phone.heard()));
    assert!(
        lines(conversation, "Agent")[0].contains("this is Ava"),
        "{conversation:#}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_caller_who_leaves_ends_the_call_by_the_application_s_events() {
    let (stub, world) = called().await;
    let leaver = "+15550100021";
    let answer = stub.call_in(&world.client.base, "in-1", (leaver, OURS)).await.unwrap();
    let id = conversation(&answer.ncco);
    world.pass(8).await;
    assert_eq!(world.read(&id).await["status"], "in_progress");
    stub.hang_up("in-1").await;
    world.pass(3).await;
    let conversation = world.read(&id).await;
    assert_eq!(conversation["status"], "completed", "{conversation:#}");
    assert_eq!(conversation["errorMessage"], Value::Null);
}

#[tokio::test(start_paused = true)]
async fn a_call_announced_twice_is_one_call_and_one_for_nobody_is_refused() {
    let (stub, world) = called().await;
    let base = &world.client.base;
    let first = stub.announce(base, "in-1", (COOPERATIVE, OURS)).await.unwrap();
    assert_eq!(stub.announce(base, "in-1", (COOPERATIVE, OURS)).await.unwrap(), first);
    let other = stub.announce(base, "in-2", ("anonymous", OURS)).await.unwrap();
    assert_ne!(conversation(&other.ncco), conversation(&first.ncco));
    assert_eq!(world.read(&conversation(&other.ncco)).await.get("contactNumber"), None);
    for to in ["+15559990002", "desk"] {
        let refused = stub.announce(base, "in-3", (COOPERATIVE, to)).await.unwrap();
        assert_eq!((refused.status, refused.ncco), (200, json!([])), "{to}");
    }
}

#[tokio::test(start_paused = true)]
async fn without_a_line_or_a_database_vonage_is_told_to_try_elsewhere() {
    let node = NodeSettings {
        lines: 1,
        ..NodeSettings::default()
    };
    let (stub, world) = called_at(node).await;
    let base = &world.client.base;
    let first = stub.announce(base, "in-1", (COOPERATIVE, OURS)).await.unwrap();
    assert_eq!(first.status, 200);
    let second = stub.announce(base, "in-2", (BUSY, OURS)).await.unwrap();
    assert_eq!(second.status, 429);
    let (stub, world) = called().await;
    world.store_fails(Some(StoreError::Unavailable("gone".into())));
    let base = &world.client.base;
    let away = stub.announce(base, "in-1", (COOPERATIVE, OURS)).await.unwrap();
    assert_eq!(away.status, 503);
    world.store_fails(None);
    let back = stub.announce(base, "in-1", (COOPERATIVE, OURS)).await.unwrap();
    assert_eq!(back.status, 200, "{back:?}");
    conversation(&back.ncco);
}
