//! Tests of whole calls over REST: the agent makes an appointment, and the conversation shows it.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sim::exchange::{Script, Step};

use super::stub::{self, Fault};
use support::{
    words::{lines, texts},
    world::{World, WorldSettings},
};

const NUMBER: &str = "+15550100040";

fn scheduling(provider: &str, ids: &[&str]) -> Value {
    json!({
        "name": "Ava",
        "conversationConfig": {
            "agent": { "prompt": { "prompt": "You make appointments.", "timezone": "Europe/Berlin",
                                   "builtInTools": { "endCall": { "enabled": true } } },
                       "greetingMessage": "Hello {{name}}, this is Ava." },
            "turn": { "turnTimeout": 6, "silenceEndCallTimeout": 20 },
            "conversation": { "maxDurationSeconds": 120 }
        },
        "platformSettings": {
            "callActions": { "scheduleOnCalendar": { "enabled": true, "provider": provider, "eventsIds": ids } },
            "dataCollection": { "entities": {
                "email": { "type": "string", "description": "the user's e-mail address" }
            } }
        }
    })
}

/// Says each text once the agent has spoken.
fn answers(texts: &[&str]) -> Vec<Step> {
    let said = |text: &&str| [Step::UntilAgentSaid, Step::Say((*text).to_owned())];
    texts.iter().flat_map(said).collect()
}

/// Listens until the agent hangs up.
fn until_the_end(mut steps: Vec<Step>) -> Vec<Step> {
    steps.extend([Step::WaitMs(30_000), Step::HangUp]);
    steps
}

/// Runs a call with a calendar and returns its results.
async fn call(calendars: &stub::Calendars, agent: Value, steps: Vec<Step>) -> (Value, Vec<String>) {
    let settings = WorldSettings {
        scripts: BTreeMap::from([("told".to_owned(), Script::of(steps))]),
        calendars: Some(calendars.config()),
        ..WorldSettings::default()
    };
    let world = World::start_with(settings).await;
    let agent = world.agent(agent).await;
    let body = json!({ "agentId": agent, "phoneNumber": NUMBER, "name": "Maria",
                       "dynamicVariables": { "script": "told" } });
    let made = world.client.post("/public/v1/calls", body).await;
    let id = made.expect(201).text("/data/conversationId");
    world.until_over(&id, 200).await;
    world.pass(2).await;
    (world.read(&id).await, texts(&world.phones().call(NUMBER).heard()))
}

#[tokio::test(start_paused = true)]
async fn an_agent_makes_an_appointment_and_the_conversation_tells_it() {
    let calendars = stub::Calendars::start().await;
    let steps = answers(&[
        "Hello?",
        "maria at example dot com",
        "Tomorrow at three, please.",
        "Yes, please.",
    ]);
    let steps = until_the_end(steps);
    let (conversation, heard) = call(&calendars, scheduling("google", &[]), steps).await;
    let appointment = &conversation["appointmentScheduled"];
    assert_eq!(
        appointment["dateTime"], "2026-01-02T15:00:00+01:00",
        "{conversation:#} {heard:?}"
    );
    assert_eq!(appointment["provider"], "google");
    assert_eq!(appointment["eventId"], calendars.desk().events[0]["id"]);
    assert_eq!(appointment["attendee"]["name"], "Maria");
    assert_eq!(calendars.desk().events.len(), 1);
    assert!(
        lines(&conversation, "Agent")
            .last()
            .unwrap()
            .contains("booked for Friday, January 2 at 3:00 PM"),
        "{heard:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_call_goes_on_when_a_calendar_fails() {
    let calendars = stub::Calendars::start().await;
    calendars.fails(Fault::Status(429, Value::Null));
    let mut steps = answers(&[
        "Hello?",
        "maria at example dot com",
        "Tomorrow at three, please.",
        "Yes, please.",
    ]);
    steps.push(Step::UntilHeardWord("booked".into()));
    steps.extend(answers(&["Tomorrow at four.", "Yes."]));
    let steps = until_the_end(steps);
    let (conversation, heard) = call(&calendars, scheduling("cal.com", &["77"]), steps).await;
    assert!(heard.iter().any(|words| words.contains("can't be booked")), "{heard:?}");
    assert_eq!(conversation["status"], "completed");
    let appointment = &conversation["appointmentScheduled"];
    assert_eq!(appointment["dateTime"], "2026-01-02T16:00:00+01:00", "{heard:?}");
    assert_eq!(appointment["attendee"]["email"], "maria@example.com");
    assert_eq!(calendars.desk().bookings.len(), 1);
}
