//! Media sockets of calls through Vonage: cleared, lost and found again, and standing still.

use std::time::Duration;

use serde_json::{Value, json};
use sim::{
    exchange::Step,
    stub_carriers::{Stall, vonage::VonageFaults},
};

use super::{
    INTERRUPTS,
    midcall::{NUMBER, Over, say, told},
    stub,
};
use support::{
    phone_log::PhoneLog,
    words::{interviewing_agent, lines, texts},
};

/// Says hello twice, and then answers.
fn goes_on() -> Vec<Step> {
    vec![
        say("Hello?"),
        Step::UntilAgentSaid,
        Step::WaitMs(1_000),
        Step::UntilAgentSaid,
        Step::Cooperate,
    ]
}

#[tokio::test(start_paused = true)]
async fn lost_media_is_found_again_and_the_call_goes_on() {
    for silent_losses in [false, true] {
        let faults = VonageFaults {
            cut_after: Some(300),
            silent_losses,
            ..VonageFaults::default()
        };
        let over = Over::of(told(goes_on(), faults).await, interviewing_agent(), NUMBER).await;
        assert_eq!(over.conversation["status"], "completed", "{:#}", over.conversation);
        assert_eq!(over.conversation["errorMessage"], Value::Null);
        assert_eq!(over.sockets(), 2, "silent: {silent_losses}");
        assert!(
            over.conversation["dataCollected"].is_object(),
            "{:#}",
            over.conversation
        );
        over.world.pass(5).await;
        assert_eq!((over.stub.dials().len(), over.stub.live_calls()), (1, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn media_that_stands_still_is_outlived_or_given_up_and_found_again() {
    // A socket is given up when it was silent for 30 s.
    for (lasts, sockets) in [(2, 1), (45, 2)] {
        let stall = Stall {
            after_frames: 300,
            lasts: Duration::from_secs(lasts),
        };
        let faults = VonageFaults {
            stall: Some(stall),
            ..VonageFaults::default()
        };
        let mut agent = interviewing_agent();
        agent["conversationConfig"]["turn"] = json!({ "turnTimeout": 20, "silenceEndCallTimeout": 60 });
        agent["conversationConfig"]["conversation"]["maxDurationSeconds"] = json!(140);
        let over = Over::of(told(goes_on(), faults).await, agent, NUMBER).await;
        assert_eq!(over.conversation["status"], "completed", "{:#}", over.conversation);
        assert_eq!(
            (over.sockets(), &over.conversation["errorMessage"]),
            (sockets, &Value::Null),
            "{lasts} s"
        );
        assert!(
            over.conversation["dataCollected"].is_object(),
            "{lasts} s: {:#}",
            over.conversation
        );
        over.world.pass(5).await;
        assert_eq!((over.stub.dials().len(), over.stub.live_calls()), (1, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_is_interrupted_stops_and_keeps_what_was_heard() {
    let over = Over::of(stub().await, interviewing_agent(), INTERRUPTS).await;
    assert_eq!(over.conversation["status"], "completed", "{:#}", over.conversation);
    let phone = PhoneLog::new(over.stub.entries()).call(INTERRUPTS);
    assert_eq!(lines(&over.conversation, "User"), texts(&phone.said()));
    assert_eq!(lines(&over.conversation, "Agent"), texts(&phone.heard()));
    let question = "So. Which day suits you for a visit?";
    let cut = |text: &String| question.starts_with(&**text) && text != question;
    let heard = texts(&phone.heard());
    assert!(heard.iter().any(cut), "the socket was cleared: {heard:?}");
}
