//! Single calls by HTTP through the real media route: completed, busy, ended in the middle, and across a crash.

use std::{collections::BTreeMap, time::Duration};

use serde_json::{Value, json};
use tokio::time::Instant;

use support::{
    words::{GREETING, collected, interviewing_agent, lines, texts},
    world::World,
};

const COOPERATIVE: &str = "+15550100010";

/// Requests a call and returns its conversation's id.
async fn call(world: &World, agent: &str, number: &str, persona: &str) -> String {
    let body = json!({
        "agentId": agent, "phoneNumber": number, "name": "Maria", "dynamicVariables": { "persona": persona },
    });
    let answer = world.client.post("/public/v1/calls", body).await;
    answer.expect(201).text("/data/conversationId")
}

async fn read(world: &World, id: &str) -> Value {
    let path = format!("/public/v1/conversations/{id}");
    world.client.get(&path).await.expect(200).data().clone()
}

/// Waits until the conversation is over and analysed, and returns it.
async fn over(world: &World, id: &str, seconds: u64) -> Value {
    let limit = Instant::now() + Duration::from_secs(seconds);
    loop {
        let conversation = read(world, id).await;
        let status = conversation["status"].as_str().unwrap();
        if !["scheduled", "in_progress"].contains(&status) {
            world.pass(2).await;
            return read(world, id).await;
        }
        assert!(Instant::now() < limit, "not over within {seconds} s: {conversation}");
        world.pass(1).await;
    }
}

async fn end(world: &World, id: &str) -> Value {
    let path = format!("/public/v1/conversations/{id}/end");
    world.client.post(&path, json!({})).await.expect(200).data().clone()
}

#[tokio::test(start_paused = true)]
async fn a_call_to_somebody_who_cooperates_leaves_a_transcript() {
    let world = World::start().await;
    let agent = world.agent(interviewing_agent()).await;
    let id = call(&world, &agent, COOPERATIVE, "cooperative").await;
    let conversation = over(&world, &id, 120).await;
    assert_eq!(conversation["status"], "completed", "{conversation:#}");
    assert_eq!(conversation.get("campaignId"), None);
    let phone = world.phones().call(COOPERATIVE);
    assert_eq!(lines(&conversation, "User"), texts(&phone.said()));
    assert_eq!(lines(&conversation, "Agent"), texts(&phone.heard()));
    assert_eq!(lines(&conversation, "Agent")[0], GREETING);
    assert!(collected(&conversation, "preferredDay").is_some(), "{conversation:#}");
    assert!(!conversation["summary"].as_str().unwrap().is_empty());
    assert_eq!(world.phones().dialed(), [COOPERATIVE]);
}

#[tokio::test(start_paused = true)]
async fn calls_that_are_not_answered_say_why() {
    let world = World::start().await;
    let agent = world.agent(interviewing_agent()).await;
    let mut ids = Vec::new();
    for (n, persona) in ["busy", "no-answer", "rejects", "invalid"].into_iter().enumerate() {
        ids.push((persona, call(&world, &agent, &format!("+1555010001{n}"), persona).await));
    }
    for (persona, id) in ids {
        let conversation = over(&world, &id, 60).await;
        let error = match persona {
            "rejects" => "rejected",
            "invalid" => "invalid-number",
            other => other,
        };
        assert_eq!(conversation["status"], "failed", "{conversation}");
        assert_eq!(conversation["errorMessage"], error, "{conversation}");
        assert_eq!(conversation["conversationDuration"], 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_ended_in_the_middle_is_completed_with_what_was_said() {
    let world = World::start().await;
    let agent = world.agent(interviewing_agent()).await;
    let id = call(&world, &agent, COOPERATIVE, "cooperative").await;
    world
        .until(60, "word of the agent", |phones| {
            phones.calls().first().is_some_and(|call| !call.heard().is_empty())
        })
        .await;
    let asked = Instant::now();
    let ended = end(&world, &id).await;
    assert_eq!(ended["status"], "completed", "{ended:#}");
    assert!(asked.elapsed() < Duration::from_secs(5));
    assert_eq!(lines(&ended, "Agent")[0], GREETING);
    world.pass(2).await;
    assert_eq!(world.live_calls(), 0);
    let path = format!("/public/v1/conversations/{id}/end");
    let again = world.client.post(&path, json!({})).await.expect(409);
    assert_eq!(again.code(), "invalid_transition");
    world.pass(120).await;
    assert_eq!(world.phones().dialed(), [COOPERATIVE]);
}

#[tokio::test(start_paused = true)]
async fn a_ringing_call_is_cancelled_by_its_end() {
    let world = World::start().await;
    let agent = world.agent(interviewing_agent()).await;
    let id = call(&world, &agent, "+15550100017", "no-answer").await;
    world.until(10, "dial", |phones| !phones.calls().is_empty()).await;
    world.pass(2).await;
    let ended = end(&world, &id).await;
    assert_eq!(ended["status"], "cancelled", "{ended:#}");
    assert_eq!(ended.get("errorMessage"), None, "{ended:#}");
    world.pass(2).await;
    assert_eq!(world.live_calls(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_call_in_a_campaign_is_ended_alone() {
    let world = World::start().await;
    let agent = world.agent(interviewing_agent()).await;
    let contacts = [(COOPERATIVE, "cooperative"), ("+15550100011", "cooperative")];
    let campaign = world.launch(&agent, &contacts, json!({})).await;
    world.until(30, "both dials", |phones| phones.calls().len() == 2).await;
    world.pass(4).await;
    let ended = world.conversation(&campaign, COOPERATIVE).await;
    let id = ended["conversationId"].as_str().unwrap().to_owned();
    assert_eq!(end(&world, &id).await["status"], "completed");
    let state = world.until_status(&campaign, "completed", 120).await;
    assert_eq!(state["progress"]["completed"], 2, "{state}");
    assert_eq!(world.phones().calls().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_call_outlives_a_crash_before_its_dial_and_is_dialed_once() {
    let world = World::without_carrier().await;
    let agent = world.agent(interviewing_agent()).await;
    let id = call(&world, &agent, COOPERATIVE, "cooperative").await;
    world.pass(40).await;
    assert_eq!(read(&world, &id).await["status"], "scheduled");
    let mut world = world.restart().await;
    world.carrier_comes().await;
    let conversation = over(&world, &id, 120).await;
    assert_eq!(conversation["status"], "completed", "{conversation:#}");
    assert_eq!(world.phones().dialed(), [COOPERATIVE]);
}

/// Kills the service at any moment after the 201: nobody is called twice and every call ends.
#[tokio::test(start_paused = true)]
async fn a_call_is_never_dialed_twice_whenever_the_process_dies() {
    let mut endings: BTreeMap<String, usize> = BTreeMap::new();
    for wait_ms in [0, 1, 3, 10, 100, 1_000, 5_000] {
        let world = World::start().await;
        let agent = world.agent(interviewing_agent()).await;
        let id = call(&world, &agent, COOPERATIVE, "cooperative").await;
        tokio::time::sleep(Duration::from_millis(wait_ms)).await;
        let world = world.restart().await;
        let conversation = over(&world, &id, 300).await;
        *endings
            .entry(conversation["status"].as_str().unwrap().to_owned())
            .or_default() += 1;
        world.pass(120).await;
        assert!(world.phones().dialed().len() <= 1, "killed after {wait_ms} ms");
        assert_eq!(world.live_calls(), 0, "killed after {wait_ms} ms");
    }
    assert_eq!(endings.values().sum::<usize>(), 7);
    assert!(endings.contains_key("failed"), "{endings:?}");
}
