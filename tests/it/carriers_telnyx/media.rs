//! Media sockets of calls through Telnyx: cleared, lost and found again, and standing still.

use std::{collections::BTreeMap, time::Duration};

use serde_json::{Value, json};
use sim::{
    exchange::Step,
    stub_carriers::{
        Stall,
        telnyx::{TelnyxFaults, TelnyxSettings},
    },
};

use super::{
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
    let cut = TelnyxFaults {
        cut_after: Some(300),
        ..TelnyxFaults::default()
    };
    let unnoticed = TelnyxFaults {
        unnoticed_losses: true,
        ..cut.clone()
    };
    // The first stream does not come about: that is told by a webhook alone.
    let refused = TelnyxFaults {
        streams_refused: 1,
        ..TelnyxFaults::default()
    };
    for (faults, sockets, starts) in [(cut, 2, 1), (unnoticed, 2, 2), (refused, 1, 1)] {
        let over = Over::of(told(goes_on(), faults).await, interviewing_agent()).await;
        assert_eq!(over.conversation["errorMessage"], Value::Null);
        assert_eq!((over.sockets(), over.commanded("streaming_start")), (sockets, starts));
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
        let faults = TelnyxFaults {
            stall: Some(stall),
            ..TelnyxFaults::default()
        };
        let mut agent = interviewing_agent();
        agent["conversationConfig"]["turn"] = json!({ "turnTimeout": 20, "silenceEndCallTimeout": 60 });
        agent["conversationConfig"]["conversation"]["maxDurationSeconds"] = json!(140);
        let over = Over::of(told(goes_on(), faults).await, agent).await;
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
    let stub = stub(TelnyxSettings {
        personas: BTreeMap::from([(NUMBER.to_owned(), "interrupts".to_owned())]),
        ..TelnyxSettings::default()
    });
    let over = Over::of(stub.await, interviewing_agent()).await;
    let phone = PhoneLog::new(over.stub.entries()).call(NUMBER);
    assert_eq!(lines(&over.conversation, "User"), texts(&phone.said()));
    assert_eq!(lines(&over.conversation, "Agent"), texts(&phone.heard()));
    let question = "So. Which day suits you for a visit?";
    let cut = |text: &String| question.starts_with(&**text) && text != question;
    let heard = texts(&phone.heard());
    assert!(heard.iter().any(cut), "the stream was cleared: {heard:?}");
}
