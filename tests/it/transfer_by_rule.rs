//! A whole call that is transferred by a rule: made over REST, named by the agent, asked for on the phone.

use std::collections::BTreeMap;

use futures_util::StreamExt;
use serde_json::json;
use sim::exchange::{LogEvent, Script, Step};

use support::{words::interviewing_agent, world::World};

const NUMBER: &str = "+15550300010";
const RECEPTION: &str = "+15550100001";
const BILLING: &str = "+15550100002";

fn asks() -> Script {
    Script::of([
        Step::WaitMs(400),
        Step::Say("Hello?".into()),
        Step::UntilAgentSaid,
        Step::Say("Please put me through to a person, it is about my invoice.".into()),
        Step::UntilAgentSaid,
        Step::WaitMs(30_000),
        Step::HangUp,
    ])
}

#[tokio::test(start_paused = true)]
async fn a_caller_who_asks_is_transferred_to_the_number_of_the_rule() {
    let world = World::with_scripts(BTreeMap::from([("asks".to_owned(), asks())])).await;
    let mut rules = Vec::new();
    for (name, condition, number) in [
        ("Reception", "Somebody wants the reception.", RECEPTION),
        ("Billing", "Somebody asks about an invoice.", BILLING),
    ] {
        let to = json!({ "type": "phone", "phoneNumber": number });
        let rule =
            json!({ "name": name, "condition": condition, "transferType": "conference", "transferDestination": to });
        let made = world.client.post("/public/v1/transfer-rules", rule).await;
        rules.push(made.expect(201).text("/data/transferRuleId"));
    }
    let mut agent = interviewing_agent();
    agent["conversationConfig"]["agent"]["prompt"]["builtInTools"]["transferToNumber"] =
        json!({ "enabled": true, "transferRuleIds": rules });
    let agent = world.agent(agent).await;
    let stream = world.client.request("GET", "/public/v1/events?type=call.*").send();
    let mut stream = stream.await.unwrap().bytes_stream();
    let call = json!({
        "agentId": agent, "phoneNumber": NUMBER, "name": "Maria",
        "dynamicVariables": { "persona": "cooperative", "script": "asks" },
    });
    let made = world.client.post("/public/v1/calls", call).await.expect(201);
    let conversation = world.until_over(&made.text("/data/conversationId"), 120).await;
    let mut told = String::new();
    while !told.contains("event: call.ended") {
        told.push_str(std::str::from_utf8(&stream.next().await.unwrap().unwrap()).unwrap());
    }
    assert_eq!(told.matches("event: call.person_wanted").count(), 1, "{told}");
    let events: Vec<LogEvent> = world.entries().into_iter().map(|entry| entry.event).collect();
    let asked: Vec<&LogEvent> = events
        .iter()
        .filter(|event| matches!(event, LogEvent::TransferAsked { .. }))
        .collect();
    let expected = LogEvent::TransferAsked {
        to: BILLING.to_owned(),
        kind: "conference".to_owned(),
    };
    assert_eq!(asked, [&expected], "{conversation:#}");
    let joined = LogEvent::Joined { to: BILLING.to_owned() };
    assert!(events.contains(&joined), "{conversation:#}");
    assert_eq!(
        (&conversation["status"], &conversation["callTransferred"]),
        (&json!("completed"), &json!(true)),
        "{conversation:#}"
    );
}
