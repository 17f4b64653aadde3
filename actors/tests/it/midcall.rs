//! Events in the middle of a call, in the call actor: keys in and out, transfers, media lost and found.

use actors::{
    audio_stream::StreamEvent,
    call::{CallMessage, CallPhase, Event, LegRefusal},
};
use domain::{
    agent::Agent,
    ports::carrier::{
        CallProgress, CarrierAbilities, CarrierError, Destination, EndCause, MachineVerdict, TransferKind,
    },
};
use media::amd::{Reason, Verdict};
use serde_json::json;
use testkit::fake_language::ScriptedReply;

use super::call_support::{TestCall, agent, greeter, ms, open_media};

const DESK: &str = "+15550109999";

/// Returns an agent that greets, never speaks up, and may transfer calls to the desk.
fn with_transfer(kind: &str, protected: bool) -> Agent {
    agent(json!({ "conversationConfig": {
        "agent": {
            "greetingMessage": "Hello {{name}}, this is Ada.",
            "prompt": { "builtInTools": { "transferToNumber": {
                "enabled": true, "disableInterruption": protected,
                "transfers": [{ "transferType": kind, "condition": "asks for a person",
                                "transferDestination": { "type": "phone", "phoneNumber": DESK } }]
            } } }
        },
        "turn": { "turnTimeout": -1 }
    } }))
}

fn hands_on(message: &str) -> ScriptedReply {
    ScriptedReply::default().then_tool(
        "transferToNumber",
        json!({ "transfer_number": DESK, "message": message }),
    )
}

async fn asks_for_a_person(agent: Agent) -> TestCall {
    let test = TestCall::greeted(agent).await;
    test.ports.language_model.script(hands_on("One moment, please."));
    test.stream.user_says("A person, please.", 800).await;
    ms(3_000).await;
    test
}

#[tokio::test(start_paused = true)]
async fn a_transfer_is_asked_for_once_its_message_was_heard() {
    let test = asks_for_a_person(with_transfer("conference", true)).await;
    let protected = test.stream.protected();
    assert!(!protected.is_empty() && protected.iter().all(|text| text == "One moment, please."));
    let transfers = test.ports.carrier.transfers();
    assert_eq!(transfers.len(), 1);
    assert_eq!(transfers[0].kind, TransferKind::Conference);
    assert!(matches!(&transfers[0].to, Destination::Phone(number) if number.as_str() == DESK));
    let dial = &test.ports.carrier.dials()[0];
    let back = &transfers[0].back;
    assert_eq!(
        (back.attempt, &back.status_token, &back.media_token),
        (dial.attempt, &dial.status_token, &dial.media_token)
    );
    assert_eq!(test.snapshot().await.phase, CallPhase::Transferring);
    test.stream.user_says("Hello?", 500).await;
    ms(1_000).await;
    assert_eq!(test.stream.said().len(), 2, "the agent is silent");
    test.call_back(CallProgress::Transferred).await.unwrap();
    ms(100).await;
    let outcome = test.ended().flatten().unwrap();
    assert!(outcome.transferred && outcome.error.is_none(), "{outcome:?}");
    assert_eq!(test.hang_ups(), 0);
}

#[tokio::test(start_paused = true)]
async fn no_bad_news_for_45_s_is_good_news() {
    let test = asks_for_a_person(with_transfer("blind", false)).await;
    test.stream.report(StreamEvent::MediaClosed { clean: true });
    ms(40_000).await;
    assert_eq!(test.ended(), None);
    ms(6_000).await;
    assert!(test.ended().flatten().unwrap().transferred);
    assert_eq!(test.hang_ups(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_transfer_that_fails_brings_the_agent_back() {
    for failure in [None, Some(CarrierError::Refused("no such number".into()))] {
        let test = TestCall::greeted(with_transfer("blind", false)).await;
        test.ports.language_model.script(hands_on(""));
        if let Some(error) = failure.clone() {
            test.ports.carrier.script_transfer_failure(error);
        }
        test.stream.user_says("A person, please.", 800).await;
        ms(4_000).await;
        if failure.is_none() {
            test.call_back(CallProgress::TransferFailed("busy".into()))
                .await
                .unwrap();
        }
        ms(8_000).await;
        assert_eq!(test.snapshot().await.phase, CallPhase::Listening);
        let said = test.stream.said();
        assert!(said.last().unwrap().contains("nobody could be reached"), "{said:?}");
        test.stream.user_says("All right.", 800).await;
        ms(2_000).await;
        assert_eq!(test.stream.said().last().unwrap(), "Okay.");
        test.hang_up();
        ms(1_500).await;
        assert!(!test.ended().flatten().unwrap().transferred);
    }
}

#[tokio::test(start_paused = true)]
async fn a_caller_without_a_socket_is_brought_back_and_told() {
    let test = asks_for_a_person(with_transfer("blind", false)).await;
    test.stream.report(StreamEvent::MediaClosed { clean: true });
    ms(5_000).await;
    test.call_back(CallProgress::TransferFailed("no-answer".into()))
        .await
        .unwrap();
    ms(2_000).await;
    assert_eq!(test.ports.carrier.reopened().len(), 0, "the carrier does so by itself");
    test.open_media().await;
    ms(8_000).await;
    assert!(test.stream.said().last().unwrap().contains("nobody could be reached"));
    assert_eq!(test.snapshot().await.phase, CallPhase::Listening);
}

#[tokio::test(start_paused = true)]
async fn an_end_by_rest_during_a_transfer_hangs_the_leg_up() {
    let test = asks_for_a_person(with_transfer("blind", false)).await;
    test.call.cast(CallMessage::Happened(Event::End)).unwrap();
    ms(1_500).await;
    assert_eq!(test.hang_ups(), 1);
    assert!(!test.ended().flatten().unwrap().transferred);
}

#[tokio::test(start_paused = true)]
async fn lost_media_comes_back_by_the_same_endpoint() {
    let test = TestCall::greeted(greeter()).await;
    test.ports.carrier.offer(CarrierAbilities::default(), true);
    assert!(matches!(
        open_media(&test.ports.carrier, &test.call).await,
        Some(Err(LegRefusal::NotNow))
    ));
    test.stream.user_says("Tell me more.", 500).await;
    ms(300).await;
    test.stream.dies();
    ms(100).await;
    assert_eq!(test.ports.carrier.reopened().len(), 1);
    ms(7_000).await;
    assert_eq!(test.ended(), None, "8 s are waited");
    test.open_media().await;
    ms(5_000).await;
    assert!(
        test.stream.said().last().unwrap().contains("Are you still there?"),
        "{:?}",
        test.stream.said()
    );
    test.stream.user_says("Yes.", 500).await;
    ms(2_000).await;
    assert_eq!(test.stream.said().last().unwrap(), "Okay.");
    let history = test.ports.language_model.requests().pop().unwrap().history;
    assert!(history.len() >= 4, "the history goes on: {history:?}");
    assert_eq!(test.events().iter().filter(|name| *name == "media_back").count(), 1);
}

#[tokio::test(start_paused = true)]
async fn media_that_is_back_is_not_asked_for_again() {
    let test = TestCall::greeted(greeter()).await;
    test.ports.carrier.offer(CarrierAbilities::default(), true);
    for _ in 0..2 {
        let error = CarrierError::Unavailable("timed out".into());
        test.ports.carrier.script_reopen_failure(error);
    }
    test.stream.dies();
    ms(600).await;
    assert_eq!(
        test.ports.carrier.reopened().len(),
        2,
        "once more, as the answer was lost"
    );
    test.open_media().await;
    ms(3_000).await;
    assert_eq!(test.ports.carrier.reopened().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_transfer_whose_answer_is_lost_may_be_under_way() {
    let test = TestCall::greeted(with_transfer("blind", false)).await;
    test.ports.language_model.script(hands_on(""));
    let error = CarrierError::Unavailable("connection reset".into());
    test.ports.carrier.script_transfer_failure(error);
    test.stream.user_says("A person, please.", 800).await;
    ms(4_000).await;
    assert_eq!(test.snapshot().await.phase, CallPhase::Transferring);
    test.stream.report(StreamEvent::MediaClosed { clean: true });
    ms(5_000).await;
    test.call_back(CallProgress::Transferred).await.unwrap();
    assert!(test.ended().flatten().unwrap().transferred);
    assert_eq!(test.hang_ups(), 0);
}

#[tokio::test(start_paused = true)]
async fn keys_whose_answer_was_lost_are_not_pressed_twice() {
    for (error, by_stream) in [
        (CarrierError::Unavailable("timed out".into()), 0),
        (CarrierError::Protocol("?".into()), 0),
        (CarrierError::Refused("no keys here".into()), 1),
        (CarrierError::NotFound, 1),
        (CarrierError::NotOffered("pressing keys"), 1),
    ] {
        let test = TestCall::answered(greeter()).await;
        let abilities = CarrierAbilities {
            digits: true,
            ..CarrierAbilities::default()
        };
        test.ports.carrier.offer(abilities, false);
        test.ports.carrier.script_digits_failure(error.clone());
        test.stream.finds(Verdict::Ivr, Reason::Menu);
        ms(2_000).await;
        test.stream.user_says("To speak to somebody, press 0.", 1_500).await;
        ms(500).await;
        assert_eq!(test.ports.carrier.digits().len(), 1, "{error}");
        assert_eq!(test.stream.pressed().len(), by_stream, "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn media_that_does_not_come_back_is_lost_after_8_s() {
    let test = TestCall::greeted(greeter()).await;
    test.ports.carrier.offer(CarrierAbilities::default(), true);
    test.stream.dies();
    ms(7_900).await;
    assert_eq!(test.ended(), None);
    ms(200).await;
    assert_eq!(test.outcome(), Some(("failed", Some("media-lost".into()))));
    assert_eq!(test.hang_ups(), 1);

    let test = TestCall::greeted(greeter()).await;
    test.ports.carrier.offer(CarrierAbilities::default(), true);
    test.stream.dies();
    ms(1_000).await;
    test.call_back(CallProgress::Ended(EndCause::Completed)).await.unwrap();
    ms(100).await;
    assert_eq!(test.outcome(), Some(("completed", None)));
}

#[tokio::test(start_paused = true)]
async fn keys_are_the_users_words() {
    let test = TestCall::greeted(greeter()).await;
    for key in ['4', '2', '0'] {
        test.stream.report(StreamEvent::Digit(key));
        ms(600).await;
    }
    assert!(test.ports.language_model.requests().is_empty());
    ms(2_000).await;
    assert_eq!(test.transcript().last().unwrap(), "Agent: Okay.");
    assert_eq!(test.transcript()[1], "User: 420");
}

#[tokio::test(start_paused = true)]
async fn keys_are_pressed_by_the_carrier_where_it_can_and_else_by_the_stream() {
    for carrier_presses in [true, false] {
        let test = TestCall::answered(greeter()).await;
        let abilities = CarrierAbilities {
            digits: carrier_presses,
            ..CarrierAbilities::default()
        };
        test.ports.carrier.offer(abilities, false);
        test.stream.finds(Verdict::Ivr, Reason::Menu);
        ms(2_000).await;
        test.stream.user_says("To speak to somebody, press 0.", 1_500).await;
        ms(500).await;
        let (by_carrier, by_stream) = (test.ports.carrier.digits(), test.stream.pressed());
        let expected = vec!["0".to_owned()];
        match carrier_presses {
            true => assert_eq!((by_carrier, by_stream), (expected, Vec::new())),
            false => assert_eq!((by_carrier, by_stream), (Vec::new(), expected)),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_carrier_is_asked_who_answered_where_the_agent_wants_to_know() {
    for enabled in [true, false] {
        let wants = agent(
            json!({ "conversationConfig": { "agent": { "greetingMessage": "Hello.", "prompt": {
            "builtInTools": { "voicemailDetection": { "enabled": enabled, "voicemailMessage": "Call us." } }
        } } } }),
        );
        let test = TestCall::answered(wants).await;
        assert_eq!(test.ports.carrier.dials()[0].detect_machine, enabled);
        test.call_back(CallProgress::Machine(MachineVerdict::Beep))
            .await
            .unwrap();
        ms(3_000).await;
        // Without the tool no message is left, and the machine is hung up on.
        let left: &[&str] = if enabled { &["Call us."] } else { &[] };
        assert_eq!(test.stream.said(), left);
        assert!(test.ended().flatten().unwrap().voicemail);
    }
}
