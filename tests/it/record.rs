//! The record of a call over REST: turns with their latencies, and everything that happened, in order.

use std::{collections::BTreeMap, sync::Arc};

use domain::{
    conversation::EventType,
    ports::{
        language_model::{HistoryItem, LanguageError, LanguageModel, ReplyEvent, ReplyRequest, Speaker},
        usage::Unit,
    },
};
use futures_util::stream::{self, BoxStream, StreamExt};
use net::address_policy::AddressPolicy;
use serde_json::{Value, json};
use sim::exchange::{Script, Step};

use support::{
    sink::Sink,
    words::{lines, texts},
    world::{World, WorldSettings},
};

const NUMBER: &str = "+15550100010";
/// Secret that the model puts into a tool's arguments.
const SECRET: &str = "sk-record-4711";
/// Most text in one packet of simulated speech.
const PACKET_BYTES: usize = 12;
const ANSWER: &str = "It is sixty euros for the first visit, and fifty for each visit after that.";

/// A model that looks a price up, tells it, and says goodbye to whoever thanks it.
struct Clerk;

impl LanguageModel for Clerk {
    fn reply(&self, request: ReplyRequest) -> BoxStream<'static, Result<ReplyEvent, LanguageError>> {
        request.meter.answers("stub/clerk");
        request.meter.add("stub", "clerk", Unit::InputTokens, 100);
        request.meter.add("stub", "clerk", Unit::OutputTokens, 7);
        let text = |words: &str| ReplyEvent::Text(words.to_owned());
        let tool = |name: &str, arguments: Value| ReplyEvent::Tool {
            name: name.to_owned(),
            arguments,
            echo: None,
        };
        let history = request.history.iter();
        let asked = history.clone().rev().find_map(|item| match item {
            HistoryItem::Said {
                speaker: Speaker::User,
                text,
                ..
            } => Some(text.as_str()),
            _ => None,
        });
        let is_answer =
            |item: &HistoryItem| matches!(item, HistoryItem::Tool { result, .. } if result["status"] == 200);
        let events = match asked.unwrap_or_default() {
            words if words.contains("thank") => {
                vec![text("Goodbye."), tool("endCall", json!({ "reason": "completed" }))]
            }
            words if words.contains("price") && history.clone().any(is_answer) => vec![text(ANSWER)],
            words if words.contains("price") => {
                let arguments = json!({ "day": "Monday", "apiKey": SECRET });
                vec![text("One second. "), tool("prices", arguments)]
            }
            _ => vec![text("How can I help you?")],
        };
        stream::iter(events.into_iter().map(Ok)).boxed()
    }
}

struct Called {
    world: World,
    id: String,
    path: String,
    tool: Sink,
}

/// Makes a call in which a tool is used and the agent is interrupted.
async fn called(then: Vec<Step>) -> Called {
    let tool = Sink::answering("application/json", r#"{ "euros": 60, "sessionToken": "t-4711" }"#).await;
    let steps = vec![
        Step::Say("Hello?".into()),
        Step::UntilAgentSaid,
        Step::Say("What is the price?".into()),
    ];
    let world = World::start_with(WorldSettings {
        scripts: BTreeMap::from([("told".to_owned(), Script::of([steps, then].concat()))]),
        addresses: AddressPolicy::everything(),
        mind: Some(Arc::new(Clerk)),
        ..WorldSettings::default()
    })
    .await;
    let prices = json!({ "name": "prices", "description": "Tells the price.", "url": tool.url("/prices") });
    let made = world.client.post("/public/v1/tools", prices).await.expect(201);
    let agent = json!({ "name": "Ann", "conversationConfig": {
        "agent": { "greetingMessage": "Hello, this is Ann.", "prompt": {
            "prompt": "Be brief.", "toolIds": [made.text("/data/toolId")],
            "builtInTools": { "endCall": { "enabled": true } } } },
        "tts": { "voiceId": "babble:default" },
    } });
    let agent = world.agent(agent).await;
    let call = json!({ "agentId": agent, "phoneNumber": NUMBER, "dynamicVariables": { "script": "told" } });
    let placed = world.client.post("/public/v1/calls", call).await.expect(201);
    let id = placed.text("/data/conversationId");
    world.until_over(&id, 90).await;
    world.pass(1).await;
    Called {
        path: format!("/public/v1/conversations/{id}"),
        world,
        id,
        tool,
    }
}

fn interrupts() -> Vec<Step> {
    vec![
        Step::UntilHeardWord("visit".into()),
        Step::Say("Wait, thank you, that is all.".into()),
        Step::WaitMs(20_000),
    ]
}

impl Called {
    /// Returns a whole list, read in pages of two.
    async fn listed(&self, list: &str) -> Vec<Value> {
        let (mut all, mut cursor) = (Vec::new(), String::new());
        loop {
            let path = format!("{}/{list}?pageSize=2{cursor}", self.path);
            let page = self.world.client.get(&path).await.expect(200);
            all.extend(page.data().as_array().unwrap().clone());
            match page.body["pagination"]["nextCursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => break,
            }
        }
        let path = format!("{}/{list}?pageSize=100", self.path);
        let whole = self.world.client.get(&path).await.expect(200);
        assert_eq!(*whole.data(), json!(all));
        all
    }
}

fn ms(value: &Value) -> i64 {
    value.as_i64().unwrap_or_else(|| panic!("{value}"))
}

#[tokio::test(start_paused = true)]
async fn turns_tell_what_was_heard_and_how_long_each_step_took() {
    let call = called(interrupts()).await;
    let turns = call.listed("turns").await;
    let spoken = |speaker: &str| -> Vec<String> {
        let own = turns.iter().filter(|turn| turn["speaker"] == speaker);
        own.map(|turn| turn["words"].as_str().unwrap().to_owned()).collect()
    };
    let phone = call.world.phones().call(NUMBER);
    // How much was heard of an interrupted turn is known to one packet.
    let heard = texts(&phone.heard()).join(" ");
    let agent = spoken("agent");
    assert!(agent.iter().all(|words| heard.contains(words)), "{heard} {agent:?}");
    assert!(heard.len() - agent.join(" ").len() <= PACKET_BYTES, "{heard} {agent:?}");
    assert_eq!(spoken("user"), texts(&phone.said()));
    let mut before = json!({ "endMs": 0 });
    let (mut latencies, mut tokens) = (0, 0);
    for turn in &turns {
        assert!(ms(&turn["startMs"]) <= ms(&turn["endMs"]), "{turn}");
        if turn["speaker"] == "agent" {
            assert_eq!(turn["voice"], "babble:default");
            tokens += turn["tokens"]["input"].as_i64().unwrap_or(0);
        } else {
            assert_eq!(
                (turn.get("voice"), turn.get("model"), turn.get("latency")),
                (None, None, None)
            );
        }
        if let Some(latency) = turn.get("latency") {
            latencies += 1;
            assert_eq!(latency["endOfSpeechMs"], before["endMs"], "{turn}");
            // The greeting waits for no model.
            assert_eq!(latency["firstTokenMs"].is_i64(), turn.get("model").is_some(), "{turn}");
            let at = |step: &str| latency[step].as_i64().unwrap_or(i64::MIN);
            assert!(at("lastWordMs") <= at("turnEndMs"), "{turn}");
            assert!(at("firstTokenMs") <= at("firstAudioMs"), "{turn}");
            assert!(at("firstAudioMs") <= at("playoutMs"), "{turn}");
            let played = ms(&latency["endOfSpeechMs"]) + ms(&latency["playoutMs"]);
            assert_eq!(played, ms(&turn["startMs"]), "{turn}");
        }
        before = turn.clone();
    }
    assert!(latencies >= 2, "{turns:#?}");
    assert_eq!(turns[1].get("model"), None, "the greeting is a fixed text: {turns:#?}");
    let by_model: Vec<&Value> = turns.iter().filter(|turn| turn.get("model").is_some()).collect();
    assert!(by_model.len() >= 2, "{turns:#?}");
    assert!(
        by_model
            .iter()
            .all(|turn| turn["model"] == "stub/clerk" && turn["tokens"]["output"].is_i64())
    );
    let whole = call.world.read(&call.id).await;
    assert_eq!(tokens, ms(&whole["usage"]["stub"]["inputTokens"]), "{whole}");

    let interrupted: Vec<&Value> = turns.iter().filter(|turn| turn["interrupted"] == true).collect();
    let [cut] = interrupted[..] else { panic!("{turns:#?}") };
    let (heard, intended) = (cut["words"].as_str().unwrap(), cut["intended"].as_str().unwrap());
    // A filler may come before the answer.
    assert!(intended.ends_with(ANSWER), "{cut}");
    assert!(
        heard.contains("It is sixty euros") && heard.len() < intended.len(),
        "{cut}"
    );

    let path = format!("{}?include=turns", call.path);
    let shown = call.world.client.get(&path).await.expect(200).data().clone();
    assert_eq!(shown["turns"], json!(turns));
    assert_eq!(lines(&shown, "Agent"), spoken("agent"));
    let plain = call.world.read(&call.id).await;
    assert_eq!(plain.get("turns"), None);
    let wrong = format!("{}?include=words", call.path);
    let refused = call.world.client.get(&wrong).await.expect(400);
    assert_eq!(refused.fields(), [("include", "invalid_value")]);
}

#[tokio::test(start_paused = true)]
async fn events_tell_what_happened_in_order_and_no_secret() {
    let call = called(interrupts()).await;
    let events = call.listed("events").await;
    let seen: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    let place = |kind: &str| {
        let place = seen.iter().position(|seen| *seen == kind);
        place.unwrap_or_else(|| panic!("no {kind}: {seen:?}"))
    };
    let order = [
        "dialed",
        "ringing",
        "answered",
        "tool_began",
        "tool_answered",
        "interrupted",
        "built_in_tool",
    ];
    assert!(order.map(place).is_sorted(), "{seen:?}");
    assert_eq!(place("ended"), seen.len() - 1, "{seen:?}");
    let detail = |kind: &str| &events[place(kind)]["detail"];
    let arguments = json!({ "day": "Monday", "apiKey": "***" });
    assert_eq!(
        (&detail("tool_began")["name"], &detail("tool_began")["arguments"]),
        (&json!("prices"), &arguments)
    );
    let answered = detail("tool_answered");
    let answer = json!({ "status": 200, "answer": { "euros": 60, "sessionToken": "***" } });
    assert_eq!((&answered["ok"], &answered["result"]), (&json!(true), &answer));
    assert_eq!(answered["run"], detail("tool_began")["run"]);
    assert!(answered["ms"].is_u64(), "{answered}");
    assert_eq!(detail("built_in_tool")["arguments"], json!({ "reason": "completed" }));
    assert_eq!(
        *detail("ended"),
        json!({ "status": "completed", "by": "agent", "why": "end_call" })
    );
    assert!(call.tool.requests()[0].body.contains(SECRET), "the tool itself gets it");
    for secret in [SECRET, "t-4711", "webhook-signature"] {
        assert!(!json!(events).to_string().contains(secret), "{secret}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_end_tells_who_hung_up_and_keys_are_told() {
    let keys = vec![
        Step::UntilAgentSaid,
        Step::Press('4'),
        Step::Press('2'),
        Step::Press('#'),
        Step::WaitMs(3_000),
        Step::HangUp,
    ];
    let call = called(keys).await;
    let events = call.listed("events").await;
    let of = |kind: &str| {
        let event = events.iter().find(|event| event["type"] == kind);
        event.unwrap_or_else(|| panic!("no {kind}: {events:#?}"))["detail"].clone()
    };
    assert_eq!(of("ended"), json!({ "status": "completed", "by": "user" }));
    assert_eq!(of("keys_pressed"), json!({ "keys": "42" }));
}

#[test]
fn every_type_of_event_is_documented() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/record.md")).unwrap();
    let table = page.split("| `type` |").nth(1).unwrap().split("\n\n").next().unwrap();
    let rows = table
        .lines()
        .filter_map(|row| row.strip_prefix("| `")?.split('`').next());
    let types = EventType::ALL.map(|kind| json!(kind).as_str().unwrap().to_owned());
    assert_eq!(rows.collect::<Vec<_>>(), types);
}
