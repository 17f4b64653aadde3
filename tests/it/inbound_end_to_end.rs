//! Phones call in: through the exchange's announcement, the service's inbound webhook, its media
//! socket, and the REST API.

use actors::node::NodeSettings;
use serde_json::{Value, json};

use support::{
    words::{collected, interviewing_agent, lines, texts},
    world::World,
};

const OURS: &str = "+15559990001";
const PHONE: &str = "+15550100010";

fn answering_agent() -> Value {
    let mut agent = interviewing_agent();
    agent["direction"] = json!("inbound");
    agent["phoneNumbers"] = json!([{ "number": OURS, "provider": "simulated" }]);
    agent["conversationConfig"]["agent"]["greetingMessage"] = json!("Thank you for calling Greenfield Dental.");
    agent
}

async fn called() -> World {
    let world = World::start().await;
    world.agent(answering_agent()).await;
    world
}

/// Makes the phone call our number; returns the conversation's id.
async fn connected(world: &World, call: Value) -> String {
    let answer = world.call_in(call).await;
    assert_eq!(answer["answer"], "connected", "{answer}");
    answer["attempt"].as_str().unwrap().to_owned()
}

fn from(persona: &str) -> Value {
    json!({ "from": PHONE, "to": OURS, "persona": persona })
}

#[tokio::test(start_paused = true)]
async fn a_phone_that_calls_is_greeted_talked_with_and_written_down() {
    let world = called().await;
    let id = connected(&world, from("cooperative")).await;
    let conversation = world.until_over(&id, 120).await;
    assert_eq!(conversation["status"], "completed", "{conversation:#}");
    assert_eq!(conversation["direction"], "inbound");
    assert_eq!(
        (&conversation["contactNumber"], &conversation["callerNumber"]),
        (&json!(PHONE), &json!(OURS))
    );
    assert_eq!(
        (&conversation["carrier"], conversation.get("campaignId")),
        (&json!("simulated"), None)
    );
    let phone = world.phones().caller(PHONE);
    assert_eq!(lines(&conversation, "User"), texts(&phone.said()));
    assert_eq!(lines(&conversation, "Agent"), texts(&phone.heard()));
    let heard = phone.heard();
    assert!(
        heard[0].text.starts_with("Thank you for calling Greenfield Dental."),
        "{heard:?}"
    );
    assert!(heard[0].from_ms < 700, "greeted at once: {heard:?}");
    assert!(collected(&conversation, "preferredDay").is_some(), "{conversation:#}");
    world.pass(2).await;
    assert!(!world.read(&id).await["summary"].as_str().unwrap().is_empty());

    let list = world.client.get("/public/v1/conversations").await.expect(200);
    let item = &list.data()[0];
    assert_eq!(
        (&item["conversationId"], &item["direction"]),
        (&json!(id), &json!("inbound"))
    );
    assert_eq!(
        (&item["contactNumber"], &item["callerNumber"]),
        (&json!(PHONE), &json!(OURS))
    );
    assert!(world.phones().dialed().is_empty());
    assert_eq!(world.live_calls(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_caller_interrupts_and_hangs_up_and_is_hung_up_on() {
    let world = called().await;
    let id = connected(&world, from("interrupts")).await;
    let conversation = world.until_over(&id, 120).await;
    assert_eq!(conversation["status"], "completed", "{conversation:#}");
    let phone = world.phones().caller(PHONE);
    assert_eq!(lines(&conversation, "Agent"), texts(&phone.heard()));
    assert!(world.events(&id).iter().any(|(name, _)| name == "barged_in"));

    let leaves = json!({ "from": "+15550100021", "to": OURS, "persona": "hangs-up" });
    let id = connected(&world, leaves).await;
    let conversation = world.until_over(&id, 60).await;
    assert_eq!(
        (&conversation["status"], conversation.get("errorMessage")),
        (&json!("completed"), None)
    );

    let waits = json!({ "from": "+15550100032", "to": OURS, "persona": "silent" });
    let id = connected(&world, waits).await;
    world.pass(1).await;
    let path = format!("/public/v1/conversations/{id}/end");
    let ended = world.client.post(&path, json!({})).await;
    assert_eq!(ended.expect(200).data()["status"], "completed");
    world.pass(2).await;
    assert_eq!(world.live_calls(), 0, "the phone was hung up");
}

#[tokio::test(start_paused = true)]
async fn a_withheld_number_is_not_shown_and_a_saved_caller_is_known() {
    let world = called().await;
    let mut call = from("silent");
    call["withheld"] = json!(true);
    let id = connected(&world, call).await;
    world.pass(1).await;
    let conversation = world.read(&id).await;
    assert_eq!(
        (conversation.get("contactNumber"), &conversation["callerNumber"]),
        (None, &json!(OURS))
    );
    assert_eq!(conversation["direction"], "inbound");
    let saved = json!({ "phoneNumber": "+15550100021", "name": "Maria" });
    world.client.post("/public/v1/contacts", saved).await.expect(201);
    let mut greets = answering_agent();
    greets["phoneNumbers"] = json!([{ "number": "+15559990002" }]);
    greets["conversationConfig"]["agent"]["greetingMessage"] = json!("Good to hear you, {{name}}.");
    world.agent(greets).await;
    let call = json!({ "from": "+15550100021", "to": "+15559990002", "persona": "silent" });
    let id = connected(&world, call).await;
    world.pass(5).await;
    let phone = world.phones().caller("+15550100021");
    assert!(
        phone.heard()[0].text.starts_with("Good to hear you, Maria."),
        "{phone:?}"
    );
    assert_eq!(world.read(&id).await["status"], "in_progress");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_nobody_takes_is_refused_politely() {
    let settings = NodeSettings {
        lines: 1,
        ..NodeSettings::default()
    };
    let world = World::start_with(settings).await;
    assert_eq!(world.call_in(from("silent")).await["answer"], "rejected");
    world.agent(answering_agent()).await;
    connected(&world, from("silent")).await;
    let second = json!({ "from": "+15550100021", "to": OURS });
    assert_eq!(world.call_in(second).await["answer"], "busy");
    let list = world.client.get("/public/v1/conversations").await;
    assert_eq!(list.expect(200).data().as_array().unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_the_exchange_does_not_make_is_not_taken() {
    let world = called().await;
    let announce = async |body: &'static str| {
        let request = world.client.bare("POST", "/carriers/simulated/inbound").body(body);
        request.send().await.unwrap().status().as_u16()
    };
    for body in [
        r#"{"callId":"CA0","from":"+15550100010","to":"+15559990001"}"#,
        r#"{"callId":"../calls","from":null,"to":"+15559990001"}"#,
        r#"{"callId":"..","to":"+15559990001"}"#,
    ] {
        assert_eq!(announce(body).await, 403, "{body}");
    }
    assert_eq!(announce("{}").await, 400);
    let list = world.client.get("/public/v1/conversations").await;
    assert!(list.expect(200).data().as_array().unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_restart_hangs_up_on_the_caller_and_says_so() {
    let world = called().await;
    let id = connected(&world, from("silent")).await;
    world.pass(1).await;
    let world = world.restart().await;
    let conversation = world.until_over(&id, 60).await;
    let over = (&conversation["status"], &conversation["errorMessage"]);
    assert_eq!(over, (&json!("failed"), &json!("media-lost")));
    world.pass(60).await;
    assert_eq!(world.live_calls(), 0);
    assert!(world.phones().dialed().is_empty());
}
