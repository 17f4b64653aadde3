//! Media streams of calls through Twilio and SignalWire: cleared, lost and found again, and standing still.

use std::time::Duration;

use carriers::twilio::account::Flavour;
use serde_json::json;
use sim::{
    exchange::Step,
    stub_carriers::{Stall, twilio::TwilioFaults},
};

use super::{
    Joined,
    midcall::{NUMBER, Over, say, told},
    settings,
};
use support::{
    phone_log::PhoneLog,
    words::{interviewing_agent, lines, texts},
};

const INTERRUPTS: &str = "+15550100019";

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
    for flavour in [Flavour::Twilio, Flavour::SignalWire] {
        let faults = TwilioFaults {
            cut_after: Some(300),
            ..TwilioFaults::default()
        };
        let joined = Joined::flawed(flavour, told(goes_on()), faults).await;
        let over = Over::of(joined, interviewing_agent(), NUMBER).await;
        over.check_completed();
        assert_eq!(over.sockets(), 2);
        assert!(
            over.conversation["dataCollected"].is_object(),
            "{:#}",
            over.conversation
        );
        over.joined.world.pass(5).await;
        let stub = &over.joined.stub;
        assert_eq!((stub.dials().len(), stub.live_calls()), (1, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn media_that_stands_still_is_outlived_or_given_up_and_found_again() {
    // A stream is given up when it was silent for 30 s.
    for (flavour, lasts, sockets) in [
        (Flavour::Twilio, 2, 1),
        (Flavour::Twilio, 45, 2),
        (Flavour::SignalWire, 45, 2),
    ] {
        let stall = Stall {
            after_frames: 300,
            lasts: Duration::from_secs(lasts),
        };
        let faults = TwilioFaults {
            stall: Some(stall),
            ..TwilioFaults::default()
        };
        let mut agent = interviewing_agent();
        agent["conversationConfig"]["turn"] = json!({ "turnTimeout": 20, "silenceEndCallTimeout": 60 });
        agent["conversationConfig"]["conversation"]["maxDurationSeconds"] = json!(140);
        let joined = Joined::flawed(flavour, told(goes_on()), faults).await;
        let over = Over::of(joined, agent, NUMBER).await;
        over.check_completed();
        assert_eq!(over.sockets(), sockets, "{flavour:?} {lasts} s");
        assert!(
            over.conversation["dataCollected"].is_object(),
            "{lasts} s: {:#}",
            over.conversation
        );
        over.joined.world.pass(5).await;
        let stub = &over.joined.stub;
        assert_eq!((stub.dials().len(), stub.live_calls()), (1, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_is_interrupted_stops_and_keeps_what_was_heard() {
    for flavour in [Flavour::Twilio, Flavour::SignalWire] {
        let joined = Joined::over(flavour, settings(&[(INTERRUPTS, "interrupts")])).await;
        let over = Over::of(joined, interviewing_agent(), INTERRUPTS).await;
        over.check_completed();
        let phone = PhoneLog::new(over.joined.stub.entries()).call(INTERRUPTS);
        assert_eq!(lines(&over.conversation, "User"), texts(&phone.said()));
        assert_eq!(lines(&over.conversation, "Agent"), texts(&phone.heard()));
        let question = "So. Which day suits you for a visit?";
        let cut = |text: &String| question.starts_with(&**text) && text != question;
        let heard = texts(&phone.heard());
        assert!(heard.iter().any(cut), "the stream was cleared: {heard:?}");
    }
}
