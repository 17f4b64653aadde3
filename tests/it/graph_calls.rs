//! Whole calls through a conversation graph: the agent over REST, a phone that talks, and what it hears.

use std::{collections::BTreeMap, fs, sync::Arc};

use domain::ports::language_model::LanguageModel;
use serde_json::{Value, json};
use sim::exchange::{LogEvent, Script, Step};

use support::{
    model_stubs::{model, stubs},
    phone_log::Words,
    words::{collected, texts},
    world::{World, WorldSettings},
};

const NUMBER: &str = "+15550300010";
const BILLING: &str = "+15550100002";

/// Returns a phone that is called, says these words one after the other, and stays on the line.
fn says(words: &[&str]) -> BTreeMap<String, Script> {
    let mut steps = vec![Step::WaitMs(400), Step::Say("Hello?".into()), Step::UntilAgentSaid];
    for words in words {
        steps.extend([Step::WaitMs(300), Step::Say((*words).into()), Step::UntilAgentSaid]);
    }
    steps.extend([Step::WaitMs(30_000), Step::HangUp]);
    BTreeMap::from([("says".to_owned(), Script::of(steps))])
}

/// Returns an edge that is always taken.
fn always(source: &str, target: &str) -> Value {
    json!({ "source": source, "target": target, "forwardCondition": { "type": "unconditional" } })
}

/// Returns a reception with three departments.
fn reception() -> Value {
    let judged = |target: &str, condition: &str| json!({ "source": "desk", "target": target, "forwardCondition": { "type": "llm", "condition": condition } });
    json!({
        "name": "Reception",
        "conversationConfig": { "agent": {
            "greetingMessage": "Greenfield, good morning.",
            "prompt": { "prompt": "You are the reception of Greenfield. What can we do for you?" },
        } },
        "workflow": {
            "nodes": {
                "start": { "type": "start" },
                "desk": { "type": "override_agent", "label": "Desk" },
                "billing": { "type": "phone_number", "transferType": "conference",
                    "transferDestination": { "type": "phone", "phoneNumber": BILLING } },
                "hours": { "type": "say", "message": { "type": "literal", "text": "We are open from nine to five." } },
                "garden": { "type": "say", "message": { "type": "literal", "text": "The garden is being planted." } },
                "bye": { "type": "end", "outcome": "success" },
            },
            "edges": {
                "a": always("start", "desk"),
                "b": judged("billing", "The caller wants to pay an invoice"),
                "c": judged("hours", "The caller asks about the opening hours"),
                "d": judged("garden", "The caller asks about the flower garden"),
                "e": always("hours", "bye"),
                "f": always("garden", "bye"),
            },
        },
    })
}

/// Returns an agent with the graph of an example in the documentation.
fn example(name: &str) -> Value {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/examples/workflows");
    let workflow: Value = serde_json::from_str(&fs::read_to_string(format!("{folder}/{name}.json")).unwrap()).unwrap();
    json!({
        "name": name,
        "conversationConfig": { "agent": {
            "greetingMessage": "Greenfield, good morning.",
            "prompt": { "prompt": "You are the telephone agent of Greenfield." },
        } },
        "workflow": workflow,
    })
}

/// Calls the phone; returns the world, the conversation and what the phone heard.
async fn called(settings: WorldSettings, agent: Value) -> (World, Value, Vec<String>) {
    let world = World::start_with(settings).await;
    let agent = world.agent(agent).await;
    let call = json!({
        "agentId": agent, "phoneNumber": NUMBER, "name": "Maria",
        "dynamicVariables": { "persona": "cooperative", "script": "says" },
    });
    let made = world.client.post("/public/v1/calls", call).await.expect(201);
    let conversation = world.until_over(&made.text("/data/conversationId"), 120).await;
    let heard: Vec<Words> = world.phones().call(NUMBER).heard();
    (world, conversation, texts(&heard))
}

fn path(conversation: &Value) -> Vec<&str> {
    let steps = conversation["workflowPath"].as_array().into_iter().flatten();
    steps.filter_map(|step| step["node"].as_str()).collect()
}

fn scripts(words: &[&str]) -> WorldSettings {
    WorldSettings {
        scripts: says(words),
        ..WorldSettings::default()
    }
}

#[tokio::test(start_paused = true)]
async fn a_caller_hears_the_department_that_was_asked_for_and_the_conversation_shows_the_path() {
    let settings = scripts(&["What are your opening hours?"]);
    let (world, conversation, heard) = called(settings, reception()).await;
    assert_eq!(heard[0], "Greenfield, good morning.");
    assert_eq!(heard.last().unwrap(), "We are open from nine to five.", "{heard:?}");
    assert_eq!(path(&conversation), ["start", "desk", "hours", "bye"]);
    assert_eq!(conversation["status"], "completed");
    let times: Vec<i64> = conversation["workflowPath"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| step["atMs"].as_i64().unwrap())
        .collect();
    assert!(times.is_sorted() && times[2] > times[1], "{times:?}");
    let id = conversation["conversationId"].as_str().unwrap();
    let events = world
        .client
        .get(&format!("/public/v1/conversations/{id}/events?pageSize=100"))
        .await;
    let hops: Vec<Value> = events
        .expect(200)
        .data()
        .as_array()
        .unwrap()
        .iter()
        .filter(|event| event["type"] == "workflow_hop")
        .map(|event| event["detail"].clone())
        .collect();
    let last = hops.last().unwrap();
    assert_eq!((&last["to"], &last["outcome"]), (&json!("bye"), &json!("success")));
    assert!(
        hops.iter().all(|hop| hop["walk"].is_null()),
        "a walk is for other nodes only: {hops:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_caller_is_transferred_where_the_graph_says() {
    let settings = scripts(&["I want to pay my invoice."]);
    let (world, conversation, heard) = called(settings, reception()).await;
    let asked = LogEvent::TransferAsked {
        to: BILLING.to_owned(),
        kind: "conference".to_owned(),
    };
    assert!(
        world.entries().iter().any(|entry| entry.event == asked),
        "{heard:?} {conversation:#}"
    );
    assert_eq!(conversation["callTransferred"], true);
    assert_eq!(path(&conversation), ["start", "desk", "billing"]);
}

#[tokio::test(start_paused = true)]
async fn a_models_stub_routes_as_the_words_do() {
    let stub = stubs().await;
    let models = Arc::new(model("openai/gpt-4.1-mini", &stub));
    let settings = WorldSettings {
        mind: Some(models.clone() as Arc<dyn LanguageModel>),
        analyst: models,
        ..scripts(&["Tell me about the flower garden, please."])
    };
    let (_world, conversation, heard) = called(settings, reception()).await;
    assert_eq!(heard.last().unwrap(), "The garden is being planted.", "{heard:?}");
    assert_eq!(path(&conversation), ["start", "desk", "garden", "bye"]);
}

#[tokio::test(start_paused = true)]
async fn a_hello_before_a_question_is_no_answer_to_it() {
    let edge =
        |target: &str, condition: Value| json!({ "source": "ask", "target": target, "forwardCondition": condition });
    let said = |text: &str| json!({ "type": "say", "message": { "type": "literal", "text": text } });
    let question = "Would you like to talk to sales or to support?";
    let agent = json!({
        "name": "Desk",
        "conversationConfig": { "agent": { "prompt": { "prompt": "You are the reception of Greenfield." } } },
        "workflow": {
            "nodes": {
                "start": { "type": "start" },
                "ask": { "type": "say", "message": { "type": "literal", "text": question }, "waitForUserResponse": true },
                "sales": said("Sales will call you."),
                "nobody": said("Then good bye."),
                "end": { "type": "end" },
            },
            "edges": {
                "a": always("start", "ask"),
                "b": edge("sales", json!({ "type": "llm", "condition": "The caller asks for the sales team" })),
                "c": edge("nobody", json!({ "type": "else" })),
                "d": always("sales", "end"),
                "e": always("nobody", "end"),
            },
        },
    });
    let (_world, conversation, heard) = called(scripts(&["I want the sales team, please."]), agent).await;
    assert_eq!(path(&conversation), ["start", "ask", "sales", "end"], "{heard:?}");
    assert_eq!(heard, [question, "Sales will call you."], "{conversation:#}");
}

#[tokio::test(start_paused = true)]
async fn a_conversation_without_a_graph_shows_no_path() {
    let mut plain = reception();
    plain["workflow"] = json!({});
    let (_world, conversation, heard) = called(scripts(&["Good bye."]), plain).await;
    assert_eq!(conversation.get("workflowPath"), None, "{heard:?}");
}

#[tokio::test(start_paused = true)]
async fn a_caller_is_qualified_as_the_example_says() {
    let settings = scripts(&["Yes, I am interested.", "We need eighty seats, I think."]);
    let (_world, conversation, heard) = called(settings, example("qualification")).await;
    let nodes = ["start", "interest", "size", "large", "qualified"];
    assert_eq!(path(&conversation), nodes, "{heard:?}");
    let last = "A colleague from our sales team will call you about an offer.";
    assert_eq!(heard.last().unwrap(), last, "{heard:?}");
    assert_eq!(conversation["status"], "completed");
}

#[tokio::test(start_paused = true)]
async fn a_caller_is_booked_in_as_the_example_says() {
    let settings = scripts(&[
        "How about Friday?",
        "In the afternoon, please.",
        "No, that is wrong.",
        "On Tuesday, please.",
        "In the afternoon, please.",
        "Yes, that is right.",
    ]);
    let (_world, conversation, heard) = called(settings, example("appointment")).await;
    let nodes = [
        "start", "day", "time", "confirm", "day", "time", "confirm", "booked", "end",
    ];
    assert_eq!(path(&conversation), nodes, "{heard:?}");
    let asked = |day: &str| format!("So that is {day} in the afternoon. Is that right?");
    assert!(
        heard.contains(&asked("Friday")) && heard.contains(&asked("Tuesday")),
        "{heard:?}"
    );
    assert_eq!(
        heard.last().unwrap(),
        "You are booked in. See you on Tuesday.",
        "{heard:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_caller_answers_a_survey_as_the_example_says() {
    let settings = scripts(&["I would say nine out of ten.", "Yes, of course I would."]);
    let (_world, conversation, heard) = called(settings, example("survey")).await;
    let nodes = ["start", "rating", "recommend", "count", "happy", "end"];
    assert_eq!(path(&conversation), nodes, "{heard:?}");
    assert_eq!(heard.last().unwrap(), "That is wonderful, thank you.", "{heard:?}");
    let collected = ["rating", "recommend"].map(|entity| collected(&conversation, entity));
    assert_eq!(collected[0], Some("9"), "{conversation:#}");
    assert!(collected[1].is_some(), "{conversation:#}");
}

#[tokio::test(start_paused = true)]
async fn a_caller_reaches_a_department_as_the_example_says() {
    let settings = scripts(&["What are your opening hours?", "I have a question about my invoice."]);
    let (world, conversation, heard) = called(settings, example("reception")).await;
    let nodes = ["start", "desk", "hours", "desk", "billing"];
    assert_eq!(path(&conversation), nodes, "{heard:?}");
    let hours = "We are open from nine to five, Monday to Friday. What else can I do for you?";
    assert!(heard.contains(&hours.to_owned()), "{heard:?}");
    let asked = LogEvent::TransferAsked {
        to: "+15550100003".to_owned(),
        kind: "conference".to_owned(),
    };
    assert!(world.entries().iter().any(|entry| entry.event == asked), "{heard:?}");
}
