//! Calls through an Asterisk that are handed on, by `transferToNumber`: at once, in a conference, by SIP REFER; and that
//! come back.

use std::time::Duration;

use carriers::asterisk::account::Codec;
use serde_json::{Value, json};
use sim::{exchange::Step, stub_carriers::asterisk::AsteriskSettings};

use super::{NO_ANSWER, NUMBER, Over, check_tidy, say, told, websocket};
use support::words::{interviewing_agent, lines};

/// Picks up.
const DESK: &str = "+15550100030";
/// Has another call.
const BUSY_DESK: &str = "+15550100036";

/// The interviewing agent, which may hand calls on.
fn with_desk(kind: &str, destination: &Value) -> Value {
    let mut agent = interviewing_agent();
    agent["conversationConfig"]["conversation"]["maxDurationSeconds"] = json!(200);
    agent["conversationConfig"]["agent"]["prompt"]["builtInTools"]["transferToNumber"] = json!({
        "enabled": true,
        "disableInterruption": true,
        "transfers": [{
            "transferType": kind, "condition": "Somebody asks for a person.", "transferDestination": destination
        }]
    });
    agent
}

fn phone(number: &str) -> Value {
    json!({ "type": "phone", "phoneNumber": number })
}

fn sip(address: &str) -> Value {
    json!({ "type": "sip_uri", "sipUri": address })
}

/// Asks for a person after the greeting, and then does these steps.
fn asks(more: Vec<Step>) -> AsteriskSettings {
    let mut steps = vec![
        say("Hello?"),
        Step::UntilAgentSaid,
        say("Can I speak to a person, please?"),
        Step::UntilAgentSaid,
    ];
    steps.extend(more);
    told(steps)
}

async fn over(settings: AsteriskSettings, agent: Value) -> Over {
    Over::of(settings, websocket(Codec::Ulaw), agent, NUMBER).await
}

#[tokio::test(start_paused = true)]
async fn a_caller_who_asks_for_a_person_is_handed_on_and_joined() {
    let address = sip(&format!("sip:{DESK}@pbx.example.com"));
    for (kind, destination) in [("blind", phone(DESK)), ("conference", phone(DESK)), ("blind", address)] {
        let settings = asks(vec![
            Step::WaitMs(15_000),
            say("Thank you very much."),
            Step::WaitMs(3_000),
            Step::HangUp,
        ]);
        let over = over(settings, with_desk(kind, &destination)).await;
        over.check_completed();
        assert_eq!(
            over.conversation["callTransferred"], true,
            "{kind} {:#}",
            over.conversation
        );
        // We did not hang up: the two talk until one of them leaves.
        assert_eq!(over.stub.live_calls(), 2, "{kind}");
        over.world.pass(120).await;
        check_tidy(&over.stub);
        let desk = over.heard(DESK);
        assert!(desk.iter().any(|text| text.contains("Thank you")), "{kind} {desk:?}");
        let caller = over.heard(NUMBER);
        let behind = caller.iter().skip_while(|text| !text.contains("put you through"));
        assert!(behind.skip(1).count() > 0, "the desk is heard: {kind} {caller:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_caller_whom_nobody_takes_has_the_agent_again() {
    for kind in ["blind", "conference"] {
        let settings = asks(vec![Step::UntilAgentSaid, Step::Cooperate]);
        let over = over(settings, with_desk(kind, &phone(BUSY_DESK))).await;
        check_came_back(&over).await;
        assert_eq!(over.legs(), if kind == "blind" { 2 } else { 1 }, "{kind}");
    }
}

/// The agent told that nobody could be reached, and went on with the interview.
async fn check_came_back(over: &Over) {
    over.check_completed();
    assert_eq!(over.conversation["callTransferred"], false, "{:#}", over.conversation);
    let agent = lines(&over.conversation, "Agent");
    assert!(
        agent.iter().any(|text| text.contains("nobody could be reached")),
        "{agent:?}"
    );
    over.check_interviewed();
    over.world.pass(5).await;
    check_tidy(&over.stub);
}

#[tokio::test(start_paused = true)]
async fn nobody_is_rung_any_more_for_a_caller_who_left() {
    for kind in ["blind", "conference"] {
        let settings = asks(vec![Step::WaitMs(5_000), Step::HangUp]);
        let over = over(settings, with_desk(kind, &phone(NO_ANSWER))).await;
        over.world.pass(2).await;
        assert_eq!(over.stub.dials().len(), 2, "{kind}");
        check_tidy(&over.stub);
    }
}

#[tokio::test(start_paused = true)]
async fn a_refer_that_the_far_end_takes_hands_the_caller_on() {
    for destination in [phone(DESK), sip("sip:desk@pbx.example.com")] {
        let settings = AsteriskSettings {
            refers_taken: Some(Duration::from_secs(8)),
            ..asks(vec![Step::WaitMs(60_000)])
        };
        let over = over(settings, with_desk("sip_refer", &destination)).await;
        over.check_completed();
        assert_eq!(over.conversation["callTransferred"], true, "{:#}", over.conversation);
        assert_eq!(over.stub.redirected().len(), 1);
        over.world.pass(5).await;
        check_tidy(&over.stub);
        assert_eq!(over.stub.dials().len(), 1, "the far end calls, not we");
    }
}

#[tokio::test(start_paused = true)]
async fn a_refer_of_which_nothing_comes_leaves_the_caller_with_the_agent() {
    let settings = asks(vec![Step::UntilAgentSaid, Step::Cooperate]);
    let over = over(settings, with_desk("sip_refer", &phone(DESK))).await;
    assert_eq!(over.stub.redirected().len(), 1);
    check_came_back(&over).await;
    assert_eq!(over.legs(), 1, "the audio stayed");
}
