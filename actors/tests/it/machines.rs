//! Calls that a machine answers: the message and its beep, and a person who picks up after all.

use actors::{
    audio_stream::{SessionEvent, StreamEvent},
    call::CallPhase,
};
use domain::{
    agent::Agent,
    ports::carrier::{CallProgress, MachineVerdict},
    prompt::Prompt,
};
use media::amd::{Reason, Verdict};
use serde_json::json;
use testkit::fake_language::ScriptedReply;

use crate::call_support::{TestCall, agent, greeter, ms};

fn leaves_messages() -> Agent {
    leaves_messages_protected(false)
}

fn leaves_messages_protected(protected: bool) -> Agent {
    agent(json!({ "conversationConfig": { "agent": {
        "greetingMessage": "Hello.",
        "prompt": { "builtInTools": { "voicemailDetection": {
            "enabled": true, "voicemailMessage": "Call us, {{name}}.", "disableInterruption": protected,
            "description": "Also when {{name}}'s office is closed.",
        } } }
    } } }))
}

const MACHINE: &str = "You have reached Bo. Please leave a message after the tone.";

/// Lets the mailbox finish its words, which are recognised as such.
async fn mailbox_greets(test: &TestCall, spoken_ms: u64) {
    test.stream.user_begins();
    ms(spoken_ms).await;
    test.stream.finds(Verdict::Voicemail, Reason::MachineWords);
    test.stream.user_ends(MACHINE, spoken_ms);
}

#[tokio::test(start_paused = true)]
async fn a_message_is_left_after_the_beep() {
    let test = TestCall::answered(leaves_messages()).await;
    ms(300).await;
    mailbox_greets(&test, 6_000).await;
    ms(500).await;
    assert_eq!(test.snapshot().await.phase, CallPhase::Voicemail);
    assert!(test.stream.said().is_empty());
    test.stream
        .report(StreamEvent::Session(SessionEvent::BeepEnded { at_ms: 7_000 }));
    ms(10).await;
    assert_eq!(test.stream.said(), ["Call us, Bo."]);
    ms(3_000).await;
    let outcome = test.ended().unwrap().unwrap();
    assert!(outcome.voicemail);
    assert_eq!(test.outcome(), Some(("completed", None)));
    assert_eq!(test.transcript().last().unwrap(), "Agent: Call us, Bo.");
    assert!(test.ports.language_model.requests().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_beep_before_the_words_are_known_counts() {
    let test = TestCall::answered(leaves_messages()).await;
    ms(300).await;
    test.stream.user_begins();
    ms(6_000).await;
    test.stream
        .report(StreamEvent::Session(SessionEvent::BeepEnded { at_ms: 6_100 }));
    ms(100).await;
    test.stream.finds(Verdict::Voicemail, Reason::MachineWords);
    test.stream.user_ends(MACHINE, 5_800);
    ms(10).await;
    assert_eq!(test.stream.said(), ["Call us, Bo."]);
}

#[tokio::test(start_paused = true)]
async fn a_mailbox_without_a_beep_gets_the_message_after_two_and_a_half_seconds_of_silence() {
    let test = TestCall::answered(leaves_messages()).await;
    mailbox_greets(&test, 4_000).await;
    ms(1_000).await;
    test.stream.user_says("Thank you.", 1_000).await;
    ms(2_400).await;
    assert!(test.stream.said().is_empty());
    ms(200).await;
    assert_eq!(test.stream.said(), ["Call us, Bo."]);
}

#[tokio::test(start_paused = true)]
async fn a_mailbox_that_does_not_fall_silent_is_waited_for_half_a_minute() {
    let test = TestCall::answered(leaves_messages()).await;
    test.stream.user_begins();
    ms(1_000).await;
    test.stream.finds(Verdict::Voicemail, Reason::MachineWords);
    ms(29_900).await;
    assert!(test.stream.said().is_empty());
    ms(200).await;
    assert_eq!(test.stream.said(), ["Call us, Bo."]);
}

#[tokio::test(start_paused = true)]
async fn a_message_that_began_before_the_beep_is_said_again() {
    let test = TestCall::answered(leaves_messages()).await;
    mailbox_greets(&test, 4_000).await;
    ms(2_800).await;
    let at_ms = test.stream.now_ms();
    test.stream
        .report(StreamEvent::Session(SessionEvent::BeepEnded { at_ms }));
    ms(10).await;
    assert_eq!(test.stream.said(), ["Call us, Bo.", "Call us, Bo."]);
    ms(3_000).await;
    assert_eq!(test.outcome(), Some(("completed", None)));
    assert_eq!(test.transcript().last().unwrap(), "Agent: Call us, Bo.");
}

#[tokio::test(start_paused = true)]
async fn a_machine_that_was_greeted_over_is_still_recognised() {
    let test = TestCall::answered(leaves_messages()).await;
    ms(300).await;
    test.stream.user_begins();
    ms(9_300).await;
    assert_eq!(test.stream.said(), ["Hello."]);
    test.stream.finds(Verdict::Voicemail, Reason::MachineWords);
    ms(100).await;
    assert_eq!(test.snapshot().await.phase, CallPhase::Voicemail);
}

#[tokio::test(start_paused = true)]
async fn a_machine_is_hung_up_on_when_there_is_no_message() {
    let test = TestCall::answered(greeter()).await;
    mailbox_greets(&test, 4_000).await;
    ms(2_000).await;
    assert!(test.ended().unwrap().unwrap().voicemail);
    assert!(test.stream.said().is_empty());
    assert_eq!(test.transcript(), [format!("User: {MACHINE}")]);
}

#[tokio::test(start_paused = true)]
async fn somebody_who_picks_up_in_the_middle_of_a_greeting_is_talked_to() {
    let test = TestCall::answered(leaves_messages()).await;
    mailbox_greets(&test, 4_000).await;
    test.stream.user_says("Hello? I am here.", 900).await;
    test.stream.finds(Verdict::Human, Reason::PickedUp);
    ms(3_000).await;
    assert_eq!(test.stream.said(), ["Hello."]);
    assert_eq!(test.snapshot().await.phase, CallPhase::Listening);
    test.stream.user_says("Who is it?", 900).await;
    ms(3_000).await;
    assert_eq!(test.stream.said(), ["Hello.", "Okay."]);
    test.hang_up();
    ms(2_000).await;
    assert!(!test.ended().unwrap().unwrap().voicemail);
}

#[tokio::test(start_paused = true)]
async fn voice_stops_the_message_once_unless_its_agent_forbids_that() {
    for protected in [true, false] {
        let test = TestCall::answered(leaves_messages_protected(protected)).await;
        ms(300).await;
        mailbox_greets(&test, 6_000).await;
        let at_ms = test.stream.now_ms();
        test.stream
            .report(StreamEvent::Session(SessionEvent::BeepEnded { at_ms }));
        ms(10).await;
        assert_eq!(test.stream.said(), ["Call us, Bo."]);
        if protected {
            // The stream does not stop protected words.
            assert_eq!(test.stream.protected(), ["Call us, Bo."]);
            continue;
        }
        assert!(test.stream.protected().is_empty());
        test.stream.interrupt();
        ms(800).await;
        test.stream.user_ends("Press one to go on.", 800);
        ms(2_400).await;
        assert_eq!(test.stream.said().len(), 1, "it waits for silence");
        ms(200).await;
        assert_eq!(test.stream.said(), ["Call us, Bo.", "Call us, Bo."]);
        assert_eq!(test.stream.protected(), ["Call us, Bo."], "nothing stops it again");
        ms(3_000).await;
        assert!(test.ended().unwrap().unwrap().voicemail);
    }
}

#[tokio::test(start_paused = true)]
async fn a_person_whose_voice_stops_the_message_is_greeted() {
    let test = TestCall::answered(leaves_messages()).await;
    ms(300).await;
    mailbox_greets(&test, 6_000).await;
    ms(2_600).await;
    assert_eq!(test.stream.said(), ["Call us, Bo."]);
    test.stream.interrupt();
    ms(500).await;
    test.stream.finds(Verdict::Human, Reason::PickedUp);
    ms(2_000).await;
    assert_eq!(test.stream.said(), ["Call us, Bo.", "Hello."]);
}

/// Returns the words of a mailbox that was taken for a person and greeted, as the model answers them.
async fn model_hears_a_mailbox(agent: Agent) -> TestCall {
    let test = TestCall::greeted(agent).await;
    let report = ScriptedReply::default().then_tool("voicemailDetection", json!({}));
    test.ports.language_model.script(report);
    test.stream.user_says("We are closed today.", 1_000).await;
    ms(500).await;
    test
}

#[tokio::test(start_paused = true)]
async fn the_model_is_told_when_to_report_a_mailbox_and_the_message_is_left() {
    let test = model_hears_a_mailbox(leaves_messages()).await;
    let prompt = Prompt::of(&test.ports.language_model.requests()[0]);
    let tool = prompt.tools.iter().find(|tool| tool.name == "voicemailDetection");
    let description = &tool.unwrap().description;
    assert!(
        description.ends_with("\nAlso when Bo's office is closed."),
        "{description}"
    );
    assert_eq!(test.snapshot().await.phase, CallPhase::Voicemail);
    ms(2_500).await;
    assert_eq!(test.stream.said(), ["Hello.", "Call us, Bo."]);
    ms(3_000).await;
    assert!(test.ended().unwrap().unwrap().voicemail);
    assert!(test.events().contains(&"amd".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn a_mailbox_that_the_model_reports_is_hung_up_on_when_there_is_no_message() {
    let test = model_hears_a_mailbox(agent(json!({ "conversationConfig": { "agent": {
        "greetingMessage": "Hello.", "prompt": { "builtInTools": { "voicemailDetection": { "enabled": true } } }
    } } })))
    .await;
    ms(1_500).await;
    assert!(test.ended().unwrap().unwrap().voicemail);
    assert_eq!(test.stream.said(), ["Hello."]);
}

#[tokio::test(start_paused = true)]
async fn a_model_reports_no_mailbox_where_its_agent_or_the_carrier_says_otherwise() {
    let test = model_hears_a_mailbox(greeter()).await;
    let prompt = Prompt::of(&test.ports.language_model.requests()[0]);
    assert!(prompt.tools.iter().all(|tool| tool.name != "voicemailDetection"));
    ms(3_000).await;
    assert_ne!(test.snapshot().await.phase, CallPhase::Voicemail);

    let test = TestCall::answered(leaves_messages()).await;
    let person = CallProgress::Machine(MachineVerdict::Human);
    test.call_back(person).await.unwrap();
    ms(5_000).await;
    let report = ScriptedReply::default().then_tool("voicemailDetection", json!({}));
    test.ports.language_model.script(report);
    test.stream.user_says("We are closed today.", 1_000).await;
    ms(3_000).await;
    assert_ne!(test.snapshot().await.phase, CallPhase::Voicemail);
    assert_eq!(test.stream.said(), ["Hello.", "Okay."]);
}
