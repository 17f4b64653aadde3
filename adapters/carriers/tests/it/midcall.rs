//! Tests of events in the middle of a call, through the public API: keys in and out, transfers, media lost
//! and reopened.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sim::exchange::{LogEvent, Script, Step};

use support::{
    words::{collected, interviewing_agent, lines, texts, tidy},
    world::World,
};

const NUMBER: &str = "+15550100040";
/// Picks up, according to the last digit.
const DESK: &str = "+15550100091";
/// Is busy.
const BUSY_DESK: &str = "+15550100096";
/// Rings, and nobody answers.
const SILENT_DESK: &str = "+15550100097";

fn say(text: &str) -> Step {
    Step::Say(text.to_owned())
}

/// Returns the interviewing agent with permission to transfer calls.
fn with_desk(kind: &str, number: &str) -> Value {
    let mut agent = interviewing_agent();
    agent["conversationConfig"]["agent"]["prompt"]["builtInTools"]["transferToNumber"] = json!({
        "enabled": true,
        "disableInterruption": true,
        "transfers": [{
            "transferType": kind, "condition": "Somebody asks for a person.",
            "transferDestination": { "type": "phone", "phoneNumber": number }
        }]
    });
    agent
}

/// A finished call: its world, its conversation, and the exchange's log.
struct Over {
    world: World,
    conversation: Value,
    events: Vec<LogEvent>,
}

impl Over {
    async fn of(agent: Value, steps: Vec<Step>) -> Self {
        let scripts = BTreeMap::from([("told".to_owned(), Script::of(steps))]);
        Self::with(World::with_scripts(scripts).await, agent, json!({ "script": "told" })).await
    }

    async fn with(world: World, agent: Value, hints: Value) -> Self {
        let agent = world.agent(agent).await;
        let body = json!({ "agentId": agent, "phoneNumber": NUMBER, "name": "Maria", "dynamicVariables": hints });
        let made = world.client.post("/public/v1/calls", body).await;
        let id = made.expect(201).text("/data/conversationId");
        let conversation = world.until_over(&id, 150).await;
        world.pass(2).await;
        let conversation = match conversation["status"].as_str() {
            Some(_) => world.read(&id).await,
            None => conversation,
        };
        let events = world.entries().into_iter().map(|entry| entry.event).collect();
        Self {
            world,
            conversation,
            events,
        }
    }

    fn heard(&self) -> Vec<String> {
        texts(&self.world.phones().call(NUMBER).heard())
    }

    fn said(&self, speaker: &str) -> Vec<String> {
        lines(&self.conversation, speaker)
    }

    fn has(&self, wanted: impl Fn(&LogEvent) -> bool) -> bool {
        self.events.iter().any(wanted)
    }
}

/// Asks for a person after the greeting, and then waits.
fn asks() -> Vec<Step> {
    vec![
        say("Hello?"),
        Step::UntilAgentSaid,
        say("Can I speak to a person, please?"),
        Step::UntilAgentSaid,
    ]
}

#[tokio::test(start_paused = true)]
async fn a_caller_who_asks_for_a_person_is_handed_on_and_joined() {
    for kind in ["blind", "conference"] {
        let mut steps = asks();
        steps.extend([Step::WaitMs(20_000), Step::HangUp]);
        let over = Over::of(with_desk(kind, DESK), steps).await;
        assert_eq!(over.conversation["status"], "completed", "{:#}", over.conversation);
        assert_eq!(over.conversation["callTransferred"], true, "{:#}", over.conversation);
        let heard = over.heard();
        assert!(
            heard.iter().any(|text| text.contains("I'll put you through")),
            "{heard:?}"
        );
        assert!(over.has(|event| matches!(event, LogEvent::Joined { to } if to == DESK)));
        assert!(
            over.has(|event| matches!(event, LogEvent::TransferAsked { kind: asked, .. } if asked == kind)),
            "{:?}",
            over.events
        );
        // We did not hang up: the two talk until one of them leaves.
        assert_eq!(over.world.live_calls(), 1, "{kind}");
        over.world.pass(120).await;
        assert_eq!(over.world.live_calls(), 0, "{kind}");
        let heard = over.heard();
        let desk_spoke = heard.iter().rev().take_while(|text| !text.contains("put you through"));
        assert!(desk_spoke.count() > 0, "the desk is heard: {heard:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_caller_whom_nobody_takes_has_the_agent_again() {
    for kind in ["blind", "conference"] {
        let mut steps = asks();
        steps.extend([Step::UntilAgentSaid, Step::Cooperate]);
        let over = Over::of(with_desk(kind, BUSY_DESK), steps).await;
        assert_eq!(over.conversation["status"], "completed", "{:#}", over.conversation);
        assert_eq!(over.conversation["callTransferred"], false, "{:#}", over.conversation);
        assert!(over.has(|event| matches!(event, LogEvent::TransferFailed { reason } if reason == "busy")));
        let agent = over.said("Agent");
        assert!(
            agent.iter().any(|text| text.contains("nobody could be reached")),
            "{kind}: {agent:?}"
        );
        let opened = over.events.iter().filter(|event| **event == LogEvent::MediaOpened);
        assert_eq!(opened.count(), if kind == "blind" { 2 } else { 1 });
    }
}

#[tokio::test(start_paused = true)]
async fn a_caller_who_leaves_while_it_rings_there_was_joined_with_nobody() {
    let mut steps = asks();
    steps.extend([Step::WaitMs(8_000), Step::HangUp]);
    let over = Over::of(with_desk("conference", SILENT_DESK), steps).await;
    assert!(
        over.has(|event| matches!(event, LogEvent::TransferAsked { .. })),
        "{:?}",
        over.events
    );
    assert_eq!(over.conversation["status"], "completed", "{:#}", over.conversation);
    assert_eq!(over.conversation["callTransferred"], false, "{:#}", over.conversation);
}

#[tokio::test(start_paused = true)]
async fn what_the_carrier_cannot_reach_is_not_promised() {
    let mut agent = with_desk("blind", DESK);
    agent["conversationConfig"]["agent"]["prompt"]["builtInTools"]["transferToNumber"]["transfers"] = json!([
        { "transferType": "sip_refer", "transferDestination": { "type": "sip_uri", "sipUri": "sip:desk@pbx.example" } }
    ]);
    let mut steps = asks();
    steps.extend([Step::WaitMs(6_000), Step::HangUp]);
    let over = Over::of(agent, steps).await;
    assert_eq!(over.conversation["callTransferred"], false);
    assert!(!over.has(|event| matches!(event, LogEvent::TransferAsked { .. })));
    let heard = over.heard();
    assert!(
        heard.iter().any(|text| text.contains("can't put you through")),
        "{heard:?}"
    );
    assert!(
        !heard
            .iter()
            .any(|text| text.contains("put you through.") && text.contains("moment"))
    );
}

#[tokio::test(start_paused = true)]
async fn a_number_that_is_typed_is_taken_and_stops_the_agent() {
    let mut agent = interviewing_agent();
    agent["platformSettings"]["dataCollection"]["entities"] =
        json!({ "guests": { "type": "integer", "description": "number of guests" } });
    let typed = |keys: &str| keys.chars().map(Step::Press).collect::<Vec<_>>();
    let mut steps = vec![say("Hello?"), Step::UntilHeardWord("guests".into())];
    steps.extend(typed("12"));
    steps.extend([Step::UntilAgentSaid, Step::WaitMs(20_000)]);
    let over = Over::of(agent, steps).await;
    assert_eq!(over.conversation["status"], "completed", "{:#}", over.conversation);
    assert_eq!(
        collected(&over.conversation, "guests"),
        Some("12"),
        "{:#}",
        over.conversation
    );
    assert!(over.said("User").contains(&"12".to_owned()), "{:?}", over.said("User"));
}

#[tokio::test(start_paused = true)]
async fn the_key_of_a_menu_is_pressed_as_tones_and_the_person_talked_to() {
    let over = Over::with(World::start().await, interviewing_agent(), json!({ "persona": "ivr" })).await;
    assert_eq!(over.conversation["status"], "completed", "{:#}", over.conversation);
    let pressed = over.events.iter().filter_map(|event| match event {
        LogEvent::HeardKey { key } => Some(*key),
        _ => None,
    });
    assert_eq!(pressed.collect::<String>(), "0");
    assert!(
        over.conversation["dataCollected"].is_object(),
        "{:#}",
        over.conversation
    );
    // Tones do not count as words.
    let agent = tidy(&over.said("Agent").join(" "));
    assert!(agent.starts_with("Hello Maria"), "{agent}");
}

#[tokio::test(start_paused = true)]
async fn lost_media_is_found_again_and_the_call_goes_on() {
    let steps = vec![
        say("Hello?"),
        Step::UntilAgentStarts,
        Step::WaitMs(1_500),
        Step::LoseMedia,
        Step::UntilAgentSaid,
        Step::Cooperate,
    ];
    let over = Over::of(interviewing_agent(), steps).await;
    assert_eq!(over.conversation["status"], "completed", "{:#}", over.conversation);
    assert_eq!(over.conversation["errorMessage"], Value::Null);
    let opened = over
        .events
        .iter()
        .filter(|event| **event == LogEvent::MediaOpened)
        .count();
    assert_eq!((opened, over.has(|event| *event == LogEvent::MediaLost)), (2, true));
    let heard = over.heard();
    assert!(
        heard.iter().any(|text| text.contains("Are you still there?")),
        "{heard:?}"
    );
    // Only the part of the greeting that was played counts as said.
    let first = &over.said("Agent")[0];
    assert!(
        heard[0].starts_with(first.split_whitespace().next().unwrap()) && first.len() < 60,
        "{first} {heard:?}"
    );
    assert!(
        over.conversation["dataCollected"].is_object(),
        "{:#}",
        over.conversation
    );
}
