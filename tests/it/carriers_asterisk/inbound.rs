//! Phones call in through an Asterisk: answered, talked with, refused, and never left alone.

use std::{collections::BTreeMap, sync::Arc};

use carriers::asterisk::account::{AsteriskAccount, Codec, Media};
use serde_json::{Value, json};
use sim::stub_carriers::asterisk::{AsteriskSettings, AsteriskStub, PASSWORD, USER};

use super::{COOPERATIVE, account, check_tidy, stub, until, ways, websocket, world_with};
use support::{
    phone_log::PhoneLog,
    words::{interviewing_agent, lines, texts},
    world::World,
};

const OURS: &str = "+15559990001";

/// A second telephone.
const OTHER: &str = "+15550100020";
/// Talks little.
const SILENT: &str = "+15550100022";

fn answering_agent() -> Value {
    let mut agent = interviewing_agent();
    agent["direction"] = json!("inbound");
    agent["phoneNumbers"] = json!([{ "number": OURS, "provider": "asterisk" }]);
    agent
}

/// A service whose agent answers [`OURS`].
async fn answering(media: Media) -> (World, Arc<AsteriskStub>) {
    let personas = BTreeMap::from([(SILENT.to_owned(), "silent".to_owned())]);
    let stub = stub(AsteriskSettings {
        personas,
        ..AsteriskSettings::default()
    })
    .await;
    let account = AsteriskAccount {
        media,
        ..account(&stub)
    };
    let world = world_with(&stub, account).await;
    world.agent(answering_agent()).await;
    world.pass(1).await;
    (world, stub)
}

/// Waits until the one call talks; its conversation's id.
async fn talked_with(world: &World, stub: &AsteriskStub) -> String {
    until(30, "audio", || stub.bridges().values().any(|inside| inside.len() == 2)).await;
    let list = world.client.get("/public/v1/conversations").await.expect(200);
    list.data()[0]["conversationId"].as_str().unwrap().to_owned()
}

#[tokio::test(start_paused = true)]
async fn a_phone_that_calls_in_is_answered_talked_with_and_written_down() {
    for media in ways() {
        let (world, stub) = answering(media).await;
        stub.call_in(COOPERATIVE, OURS).await;
        let id = talked_with(&world, &stub).await;
        let conversation = world.until_over(&id, 180).await;
        world.pass(5).await;
        assert_eq!(conversation["status"], "completed", "{conversation:#}");
        let told = ["direction", "contactNumber", "callerNumber", "carrier"].map(|field| &conversation[field]);
        assert_eq!(told, ["inbound", COOPERATIVE, OURS, "asterisk"]);
        let phone = PhoneLog::new(stub.entries()).call(COOPERATIVE);
        assert_eq!(lines(&conversation, "User"), texts(&phone.said()));
        assert_eq!(lines(&conversation, "Agent"), texts(&phone.heard()));
        check_tidy(&stub);
    }
}

#[tokio::test(start_paused = true)]
async fn a_caller_who_leaves_ends_the_call() {
    for media in ways() {
        let (world, stub) = answering(media).await;
        let channel = stub.call_in(SILENT, OURS).await;
        let id = talked_with(&world, &stub).await;
        world.pass(3).await;
        assert_eq!(world.read(&id).await["status"], "in_progress");
        stub.leave(&channel).await;
        world.pass(3).await;
        let conversation = world.read(&id).await;
        assert_eq!(conversation["status"], "completed", "{conversation:#}");
        assert_eq!(conversation["errorMessage"], Value::Null);
        check_tidy(&stub);
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_came_in_is_hung_up_from_here() {
    for media in ways() {
        let (world, stub) = answering(media).await;
        let channel = stub.call_in(SILENT, OURS).await;
        let id = talked_with(&world, &stub).await;
        let path = format!("/public/v1/conversations/{id}/end");
        world.client.post(&path, json!({})).await.expect(200);
        world.until_over(&id, 30).await;
        world.pass(3).await;
        assert!(
            stub.hung_up().contains(&(channel, "normal".to_owned())),
            "{:?}",
            stub.hung_up()
        );
        check_tidy(&stub);
    }
}

#[tokio::test(start_paused = true)]
async fn a_restart_leaves_no_caller_alone() {
    let (world, stub) = answering(websocket(Codec::Ulaw)).await;
    stub.call_in(SILENT, OURS).await;
    talked_with(&world, &stub).await;
    let world = world.restart().await;
    world.pass(30).await;
    check_tidy(&stub);
}

#[tokio::test(start_paused = true)]
async fn a_caller_who_was_answered_and_no_more_is_hung_up() {
    let (world, stub) = answering(websocket(Codec::Ulaw)).await;
    stub.lose_events();
    let channel = stub.call_in(SILENT, OURS).await;
    world.pass(12).await;
    // The start before this one died here.
    let answer = reqwest::Client::new().post(format!("{}/channels/{channel}/answer", stub.url()));
    let answered = answer.basic_auth(USER, Some(PASSWORD)).send().await.unwrap();
    assert_eq!(answered.status().as_u16(), 204);
    stub.let_events_in();
    world.pass(15).await;
    check_tidy(&stub);
}

#[tokio::test(start_paused = true)]
async fn a_call_for_nobody_is_refused_with_its_reason() {
    let stub = stub(AsteriskSettings::default()).await;
    let world = world_with(&stub, account(&stub)).await;
    world.agent(answering_agent()).await;
    let nobody = stub.call_in(COOPERATIVE, "+15559990002").await;
    let nowhere = stub.call_in(OTHER, "s").await;
    until(30, "refusals", || stub.hung_up().len() == 2).await;
    let reasons: BTreeMap<String, String> = stub.hung_up().into_iter().collect();
    assert_eq!((&*reasons[&nobody], &*reasons[&nowhere]), ("rejected", "unallocated"));
    world.pass(5).await;
    check_tidy(&stub);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_rang_while_events_were_lost_is_answered() {
    let stub = stub(AsteriskSettings::default()).await;
    let world = world_with(&stub, account(&stub)).await;
    world.agent(answering_agent()).await;
    world.pass(1).await;
    stub.lose_events();
    stub.call_in(COOPERATIVE, OURS).await;
    world.pass(12).await;
    assert_eq!(stub.bridges(), BTreeMap::new());
    stub.let_events_in();
    until(30, "audio", || stub.bridges().values().any(|inside| inside.len() == 2)).await;
    until(180, "goodbye", || stub.live_calls() == 0).await;
    world.pass(5).await;
    check_tidy(&stub);
}
