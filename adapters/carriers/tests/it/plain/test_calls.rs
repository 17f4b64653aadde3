//! Tests of calls with which an agent is tried out: what is heard, what happens outside, and what is left.

use domain::ports::language_model::{HistoryItem, LanguageError, LanguageModel, ReplyEvent, ReplyRequest, Speaker};
use domain::ports::store::CallDirection;
use futures_util::stream::{self, BoxStream};
use net::address_policy::AddressPolicy;
use support::sink::Sink;

use super::*;

const TESTS: &str = "/public/v1/agents/test-call";
const AGENTS: &str = "/public/v1/agents";
const DESK: &str = "+15550100002";

/// Direction of a call and the result of its tool, as the model was told.
type Told = (CallDirection, Option<Value>);

/// A model that looks up a price if it is asked for one, says it, and then transfers the call. Keeps what it was told.
#[derive(Clone, Default)]
struct Clerk(Arc<Mutex<Vec<Told>>>);

impl LanguageModel for Clerk {
    fn reply(&self, request: ReplyRequest) -> BoxStream<'static, Result<ReplyEvent, LanguageError>> {
        let result = request.history.iter().rev().find_map(|item| match item {
            HistoryItem::Tool { name, result, .. } if name == "prices" => Some(result.clone()),
            _ => None,
        });
        self.0.lock().unwrap().push((request.direction, result.clone()));
        let is_running = result.as_ref().is_some_and(|result| result["status"] == "running");
        let asks = matches!(request.history.last(), Some(HistoryItem::Said { speaker: Speaker::User, text, .. })
            if text.contains("price"));
        let tool = |name: &str, arguments: Value| ReplyEvent::Tool {
            name: name.into(),
            arguments,
            echo: None,
        };
        let events = match result {
            Some(_) if !is_running => vec![
                ReplyEvent::Text("It is sixty euros. ".into()),
                tool(
                    "transferToNumber",
                    json!({ "transfer_number": DESK, "message": "I connect you." }),
                ),
            ],
            None if asks => vec![
                ReplyEvent::Text("One second. ".into()),
                tool("prices", json!({ "day": "Monday" })),
            ],
            _ => vec![ReplyEvent::Text("Hm.".into())],
        };
        stream::iter(events.into_iter().map(Ok)).boxed()
    }
}

/// A service with a tool, and an agent for it that only places calls.
async fn prepared(model: &Clerk) -> (World, Sink, Value) {
    let server = Sink::answering("application/json", r#"{ "euros": 60 }"#).await;
    let world = World::start_with(WorldSettings {
        trunk: Some(Arc::new(|_: &str| plain::trunk())),
        addresses: AddressPolicy::everything(),
        mind: Some(Arc::new(model.clone())),
        ..WorldSettings::default()
    })
    .await;
    let tool = json!({ "name": "prices", "description": "Tells the price.", "url": server.url("/prices") });
    let tool = world.client.post("/public/v1/tools", tool).await.expect(201);
    let transfers = json!([{ "transferDestination": { "phoneNumber": DESK }, "condition": "They want a person." }]);
    let agent = json!({
        "name": "Draft", "direction": "outbound",
        "conversationConfig": { "agent": {
            "greetingMessage": "Hello {{name}}.",
            "prompt": {
                "prompt": "Be brief.", "toolIds": [tool.text("/data/toolId")],
                "builtInTools": { "transferToNumber": { "enabled": true, "transfers": transfers } },
            },
        } },
        "platformSettings": { "callActions": { "postCallWebhook": server.url("/hook") } },
    });
    (world, server, agent)
}

/// Begins a test call and asks for the price. Returns the conversation's id, and the caller once it heard an answer.
async fn asked(world: &World, body: Value) -> (String, Caller) {
    let made = world.client.post(TESTS, body).await.expect(201);
    let mut caller = Caller::open(&made.text("/data/mediaUrl"), "pcm_8000", true).await;
    caller.until_heard("Hello Maria").await;
    caller.say("What is the price?");
    caller.until_heard("sixty euros").await;
    (made.text("/data/conversationId"), caller)
}

#[tokio::test(start_paused = true)]
async fn an_unsaved_agent_is_talked_with_and_nothing_outside_happens() {
    let model = Clerk::default();
    let (mut world, server, agent) = prepared(&model).await;
    world.delivers();
    let (id, mut caller) = asked(
        &world,
        json!({ "agent": agent, "dynamicVariables": { "name": "Maria" } }),
    )
    .await;
    let live = world.client.get("/public/v1/calls/live").await.expect(200);
    assert_eq!(
        (&live.data()[0]["conversationId"], &live.data()[0]["agentName"]),
        (&json!(id), &json!("Draft"))
    );
    caller.until_heard("I connect you").await;
    caller.until(10, "end", |caller| caller.closed).await;
    let over = world.until_over(&id, 10).await;
    assert_eq!(
        (&over["status"], &over["callTransferred"], &over["test"]),
        (&json!("completed"), &json!(true), &json!(true)),
        "{over:#}"
    );
    let told = model.0.lock().unwrap().clone();
    assert!(
        told.iter().all(|(direction, _)| *direction == CallDirection::Outbound),
        "{told:?}"
    );
    let simulated = json!({ "ok": true, "simulated": true });
    assert!(
        told.iter().any(|(_, result)| *result == Some(simulated.clone())),
        "{told:?}"
    );
    world.pass(60).await;
    assert!(server.requests().is_empty(), "{:?}", server.requests());
    let after = world.read(&id).await;
    assert_eq!((after.get("summary"), after.get("cost")), (None, None), "{after:#}");
    assert_eq!(*world.client.get(AGENTS).await.expect(200).data(), json!([]));
    let path = format!("{AGENTS}/{}", after["agentId"].as_str().unwrap());
    world.client.get(&path).await.expect(404);
}

#[tokio::test(start_paused = true)]
async fn a_saved_agent_acts_if_the_test_says_so_and_others_cannot_test_it() {
    let model = Clerk::default();
    let (mut world, server, agent) = prepared(&model).await;
    world.delivers();
    let agent = world.agent(agent).await;
    let body = json!({ "agentId": agent, "actions": true, "dynamicVariables": { "name": "Maria" } });
    let stranger = world.stranger().await;
    stranger.post(TESTS, body.clone()).await.expect(404);
    let (id, mut caller) = asked(&world, body).await;
    caller.control(json!({ "event": "stop" })).await;
    caller.socket.close(None).await.unwrap();
    let over = world.until_over(&id, 10).await;
    assert_eq!(
        (&over["agentId"], &over["test"]),
        (&json!(agent), &json!(true)),
        "{over:#}"
    );
    world.pass(60).await;
    let targets: Vec<String> = server.requests().into_iter().map(|request| request.target).collect();
    assert_eq!(targets, ["/prices"], "the tool, and no webhook after the call");
}

#[tokio::test(start_paused = true)]
async fn passages_are_in_the_record_of_a_test_call_and_of_no_other() {
    let (world, _, mut agent) = prepared(&Clerk::default()).await;
    let hours = json!({ "name": "Hours", "text": "We open at nine." });
    let hours = world
        .client
        .post("/public/v1/knowledge-base/documents/text", hours)
        .await;
    let hours = hours.expect(201).text("/data/documentId");
    agent["direction"] = json!("both");
    agent["conversationConfig"]["agent"]["prompt"]["knowledgeBase"] = json!([hours]);
    let agent = world.agent(agent).await;
    let body = json!({ "agentId": agent, "dynamicVariables": { "name": "Maria" } });
    for (path, is_test) in [(TESTS, true), (CALLS, false)] {
        let made = world.client.post(path, body.clone()).await.expect(201);
        let mut caller = Caller::open(&made.text("/data/mediaUrl"), "pcm_8000", true).await;
        caller.until_heard("Hello Maria").await;
        caller.say("Are you open?");
        caller.until_heard("Hm").await;
        caller.control(json!({ "event": "stop" })).await;
        caller.socket.close(None).await.unwrap();
        let id = made.text("/data/conversationId");
        world.until_over(&id, 10).await;
        world.pass(1).await;
        let turns = world.turns(&id).await;
        let passages: Vec<&str> = turns
            .iter()
            .flat_map(|turn| &turn.detail.passages)
            .map(|one| one.text.as_str())
            .collect();
        assert_eq!(passages.first(), is_test.then_some(&"We open at nine."), "{turns:#?}");
    }
}
