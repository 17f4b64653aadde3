//! Calls through Twilio and SignalWire are ended from both ends, those that came in too.

use std::time::Duration;

use carriers::twilio::account::Flavour;
use serde_json::{Value, json};
use sim::{exchange::Step, stub_carriers::twilio::TwilioFaults};

use super::{
    CONTACTS, COOPERATIVE, Joined, NO_ANSWER,
    inbound::{OURS, called, conversation},
    midcall::{NUMBER, Over, say, told},
    settings,
};
use support::words::interviewing_agent;

#[tokio::test(start_paused = true)]
async fn ending_a_call_cancels_what_rings_and_completes_what_was_answered() {
    for flavour in [Flavour::Twilio, Flavour::SignalWire] {
        check_ending(Joined::over(flavour, settings(&CONTACTS)).await).await;
    }
}

async fn check_ending(joined: Joined) {
    let ringing = joined.call(NO_ANSWER).await;
    joined.until_it_is("ringing").await;
    assert_eq!(joined.end(&ringing).await["status"], "cancelled");
    joined.until_it_is("canceled").await;
    let talking = joined.call(COOPERATIVE).await;
    joined.until_it_is("in-progress").await;
    joined.world.pass(3).await;
    assert_eq!(joined.end(&talking).await["status"], "completed");
    joined.until_it_is("completed").await;
    assert_eq!(joined.stub.live_calls(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_callee_who_hangs_up_ends_the_call() {
    for flavour in [Flavour::Twilio, Flavour::SignalWire] {
        let steps = vec![say("Hello?"), Step::UntilAgentSaid, say("Not now."), Step::HangUp];
        let joined = Joined::over(flavour, told(steps)).await;
        let over = Over::of(joined, interviewing_agent(), NUMBER).await;
        over.check_completed();
        assert_eq!((over.sockets(), over.joined.stub.live_calls()), (1, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_came_in_is_ended_by_us() {
    for flavour in [Flavour::Twilio, Flavour::SignalWire] {
        let joined = called(flavour).await;
        let Joined { world, stub } = &joined;
        let answer = stub.call_in(&world.client.base, "CA-in-1", (COOPERATIVE, OURS)).await;
        let id = conversation(&answer);
        world.pass(8).await;
        assert_eq!(
            (stub.live_calls(), &world.read(&id).await["status"]),
            (1, &json!("in_progress"))
        );
        let over = joined.end(&id).await;
        assert_eq!(
            (&over["status"], &over["errorMessage"]),
            (&json!("completed"), &Value::Null),
            "{over:#}"
        );
        world.pass(3).await;
        assert_eq!((stub.live_calls(), stub.complaints()), (0, vec![]));
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_stays_in_the_carrier_s_queue_is_cancelled_and_told_so() {
    for (waits, status) in [(5, "completed"), (3_600, "failed")] {
        let faults = TwilioFaults {
            queued: Some(Duration::from_secs(waits)),
            ..TwilioFaults::default()
        };
        let joined = Joined::flawed(Flavour::Twilio, settings(&CONTACTS), faults).await;
        let id = joined.call(COOPERATIVE).await;
        if status == "failed" {
            joined.world.pass(9).await;
            assert_eq!(joined.stub.statuses(), ["queued"]);
            let over = joined.world.until_over(&id, 4).await;
            let why = over["errorMessage"].as_str().unwrap();
            assert!(
                why.contains("queue") && why.contains("RINGBACK_CALLS_PER_SECOND"),
                "{why}"
            );
            assert_eq!(joined.stub.statuses(), ["canceled"]);
        }
        let over = joined.world.until_over(&id, 150).await;
        assert_eq!(over["status"], status, "{over:#}");
        assert_eq!((joined.stub.dials().len(), joined.stub.live_calls()), (1, 0));
    }
}
