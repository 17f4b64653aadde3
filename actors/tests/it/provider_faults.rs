//! Calls with providers that are slow, break off, fail or panic, and the usage that the calls report.

use std::time::Duration;

use actors::{audio_stream::StreamEvent, campaign::CampaignCommand};
use domain::{
    agent::Agent,
    ports::{
        carrier::{CallProgress, EndCause},
        language_model::{HistoryItem, LanguageError, ReplyEvent},
        synthesizer::SpeechError,
        usage::{USAGE, Unit},
    },
};
use serde_json::{Value, json};
use testkit::fake_language::ScriptedReply;

use crate::{
    call_support::{TestCall, agent, greeter, ms},
    support::{Callees, World, figures, until},
};

const MOMENT: &str = "One moment, please. ";

fn speaking(language: &str) -> Agent {
    agent(json!({ "conversationConfig": {
        "agent": { "greetingMessage": "Hello.", "primaryLanguage": language },
        "turn": { "turnTimeout": -1 },
    } }))
}

fn unavailable() -> LanguageError {
    LanguageError::Unavailable("503".into())
}

/// Returns a reply with a pause before each event.
fn slow(seconds: u64, events: Vec<Result<ReplyEvent, LanguageError>>) -> ScriptedReply {
    ScriptedReply {
        gap: Duration::from_secs(seconds),
        events,
    }
}

fn words(text: &str) -> Result<ReplyEvent, LanguageError> {
    Ok(ReplyEvent::Text(text.into()))
}

fn last(test: &TestCall) -> String {
    test.stream.said().last().cloned().unwrap_or_default()
}

/// Returns the words of agent and user in the model's last request.
fn told(test: &TestCall) -> Vec<String> {
    let request = test.ports.language_model.requests().pop().unwrap();
    let said = request.history.into_iter().map(|item| match item {
        HistoryItem::Said { text, .. } => text,
        HistoryItem::Tool { name, .. } => name,
        HistoryItem::Silence => "(silence)".into(),
    });
    said.collect()
}

#[tokio::test(start_paused = true)]
async fn a_slow_answer_follows_a_filler_in_one_speech() {
    let test = TestCall::greeted(greeter()).await;
    test.ports
        .language_model
        .script(slow(3, vec![words("Tuesday at nine.")]));
    test.stream.user_says("When?", 300).await;
    ms(1_450).await;
    assert_eq!(test.stream.said().len(), 1, "nothing is said too soon");
    ms(100).await;
    assert_eq!(last(&test), MOMENT);
    ms(8_000).await;
    assert_eq!(last(&test), format!("{MOMENT}Tuesday at nine."));
    assert_eq!(
        test.transcript().last().unwrap(),
        "Agent: One moment, please. Tuesday at nine."
    );
    let events = test.events();
    assert!(events.iter().any(|event| event == "filler") && events.iter().any(|event| event == "late_token"));
}

#[tokio::test(start_paused = true)]
async fn a_quick_answer_needs_no_filler_and_neither_does_an_unknown_language() {
    let test = TestCall::greeted(greeter()).await;
    test.ports
        .language_model
        .script(slow(1, vec![words("Tuesday. "), words("At nine.")]));
    test.stream.user_says("When?", 300).await;
    ms(6_000).await;
    assert_eq!(last(&test), "Tuesday. At nine.");
    let test = TestCall::greeted(speaking("xx")).await;
    test.ports.language_model.script(slow(9, vec![words("Tuesday.")]));
    test.stream.user_says("When?", 300).await;
    ms(10_000).await;
    assert_eq!(last(&test), "Tuesday.");
    let test = TestCall::greeted(speaking("de-AT")).await;
    test.ports.language_model.script(slow(2, vec![words("Dienstag.")]));
    test.stream.user_says("Wann?", 300).await;
    ms(3_000).await;
    assert_eq!(last(&test), "Einen Moment, bitte. Dienstag.");
}

#[tokio::test(start_paused = true)]
async fn words_over_a_filler_are_answered_at_once() {
    let test = TestCall::greeted(greeter()).await;
    test.ports.language_model.script(slow(11, vec![words("Never said.")]));
    test.stream.user_says("When?", 300).await;
    ms(1_600).await;
    assert_eq!(last(&test), MOMENT);
    test.ports.language_model.script(ScriptedReply::text("On Monday."));
    test.stream.user_ends("I mean the first one.", 300);
    ms(100).await;
    assert_eq!(last(&test), "On Monday.");
    assert!(
        told(&test)
            .iter()
            .any(|text| text.ends_with("When? I mean the first one."))
    );
    ms(15_000).await;
    assert_eq!(last(&test), "On Monday.");
}

#[tokio::test(start_paused = true)]
async fn a_filler_is_interrupted_like_any_speech() {
    let test = TestCall::greeted(greeter()).await;
    test.ports.language_model.script(slow(8, vec![words("Never said.")]));
    test.stream.user_says("When?", 300).await;
    ms(2_200).await;
    test.stream.interrupt();
    ms(300).await;
    test.ports.language_model.script(ScriptedReply::text("On Monday."));
    test.stream.user_ends("Hello?", 300);
    ms(10_000).await;
    assert_eq!(last(&test), "On Monday.");
    assert!(test.transcript().iter().any(|line| line.starts_with("Agent: One")));
}

#[tokio::test(start_paused = true)]
async fn tools_and_the_end_of_the_call_work_after_a_filler() {
    let test = TestCall::greeted(greeter()).await;
    let collect = |seconds| {
        let mut reply = ScriptedReply::default().then_tool("collect", json!({ "entity": "day", "value": "Monday" }));
        reply.gap = Duration::from_secs(seconds);
        reply
    };
    test.ports.language_model.script(collect(2));
    test.ports.language_model.script(slow(2, vec![words("Noted.")]));
    test.stream.user_says("Monday.", 300).await;
    ms(2_500).await;
    assert_eq!(last(&test), MOMENT);
    ms(6_000).await;
    assert_eq!(
        last(&test),
        format!("{MOMENT}Noted."),
        "one filler, then the answer after the tool"
    );
    let mut bye = ScriptedReply::default().then_tool("endCall", json!({}));
    bye.gap = Duration::from_secs(2);
    test.ports.language_model.script(bye);
    test.stream.user_says("Bye.", 300).await;
    ms(6_000).await;
    assert_eq!(test.outcome(), Some(("completed", None)));
}

#[tokio::test(start_paused = true)]
async fn a_reply_that_breaks_off_after_a_sentence_stands_and_is_soon_taken_up() {
    let test = TestCall::greeted(greeter()).await;
    let broken = vec![words("It is open on Monday. And on "), Err(unavailable())];
    test.ports.language_model.script(slow(0, broken));
    test.ports.language_model.script(ScriptedReply::text("And on Tuesday."));
    test.stream.user_says("When?", 300).await;
    ms(500).await;
    assert_eq!(
        last(&test),
        "It is open on Monday. ",
        "half a sentence is not said, and nobody apologises"
    );
    ms(3_500).await;
    assert_eq!(last(&test), "And on Tuesday.");
    let told = told(&test);
    assert_eq!(told[told.len() - 2..], ["It is open on Monday.", "(silence)"]);
    assert_eq!(test.outcome(), None);
}

#[tokio::test(start_paused = true)]
async fn a_reply_that_breaks_off_before_a_sentence_is_over_is_apologised_for() {
    let test = TestCall::greeted(greeter()).await;
    let broken = vec![words("Well, that is a very good question, and "), Err(unavailable())];
    test.ports.language_model.script(slow(0, broken));
    test.stream.user_says("When?", 300).await;
    ms(500).await;
    assert_eq!(
        last(&test),
        "Well, that is a very good question, Sorry, could you say that again?"
    );
}

#[tokio::test(start_paused = true)]
async fn a_reply_that_stalls_half_way_is_filled_and_then_taken_up() {
    let test = TestCall::greeted(greeter()).await;
    let stalled = ScriptedReply {
        gap: Duration::ZERO,
        events: vec![words("Monday. And also ")],
    };
    test.ports
        .language_model
        .script(stalled.then_tool("collect", json!({ "entity": "a", "value": "b" })));
    test.stream.user_says("When?", 300).await;
    ms(10_000).await;
    assert_eq!(last(&test), "Monday. And also ", "one that ends is no stall");
    let mut events = vec![words("Monday. And also ")];
    events.push(words("on Tuesday."));
    test.ports.language_model.script(slow(5, events));
    test.stream.user_says("When?", 300).await;
    ms(5_400).await;
    assert_eq!(last(&test), format!("{MOMENT}Monday. "));
    ms(4_000).await;
    assert!(last(&test).ends_with("Monday. Just a second. "), "{}", last(&test));
    ms(2_000).await;
    assert!(
        last(&test).ends_with("Monday. Just a second. And also on Tuesday."),
        "{}",
        last(&test)
    );
}

#[tokio::test(start_paused = true)]
async fn a_model_that_breaks_off_again_and_again_ends_the_call() {
    let test = TestCall::greeted(greeter()).await;
    for _ in 0..4 {
        test.ports
            .language_model
            .script(slow(0, vec![words("Well, yes. And "), Err(unavailable())]));
    }
    test.stream.user_says("When?", 300).await;
    ms(20_000).await;
    assert!(last(&test).ends_with("Goodbye."), "{}", last(&test));
    assert_eq!(test.outcome().unwrap().0, "failed");
    let told: Vec<usize> = test
        .ports
        .language_model
        .requests()
        .iter()
        .map(|r| r.failures)
        .collect();
    assert_eq!(told, [0, 1, 2, 3], "each time somebody else may be asked first");
}

#[tokio::test(start_paused = true)]
async fn markup_is_neither_said_nor_kept() {
    let test = TestCall::greeted(greeter()).await;
    let reply = vec![
        words("<thi"),
        words("nk>He asks *when*.</think>It is **op"),
        words("en** 😀 on:\n- Monday\n- [Tues"),
        words("day](https://x.org)\n"),
    ];
    test.ports.language_model.script(slow(0, reply));
    test.stream.user_says("When?", 300).await;
    ms(6_000).await;
    assert_eq!(last(&test), "It is open on: Monday. Tuesday. ");
    assert_eq!(
        test.transcript().last().unwrap(),
        "Agent: It is open on: Monday. Tuesday."
    );
}

#[tokio::test(start_paused = true)]
async fn a_greeting_is_plain_words_too() {
    let document = json!({ "conversationConfig": { "agent": { "greetingMessage": "**Hello** {{name}}! 😀" } } });
    let test = TestCall::greeted(agent(document)).await;
    assert_eq!(test.stream.said(), ["Hello Bo!"]);
}

#[tokio::test(start_paused = true)]
async fn recognisers_that_fail_for_good_end_the_call_with_a_goodbye() {
    let test = TestCall::greeted(greeter()).await;
    test.stream
        .report(StreamEvent::DeafnessBegan(SpeechError::Unavailable("gone".into())));
    ms(8_000).await;
    assert!(last(&test).ends_with("Goodbye."));
    let error = "agent-error: speech recogniser: speech provider unavailable: gone".to_owned();
    assert_eq!(test.outcome(), Some(("failed", Some(error))));
}

fn usage(test: &TestCall) -> Option<Value> {
    let last = test.facts().into_iter().rev().find_map(|fact| match fact {
        domain::ports::store::Fact::Event(event) if event.name == USAGE => Some(event.detail),
        _ => None,
    });
    last.map(|detail| serde_json::from_str(&detail).unwrap())
}

#[tokio::test(start_paused = true)]
async fn what_a_call_used_is_told_at_its_end_however_it_ends() {
    for end in [EndCause::Completed, EndCause::Failed("x".into())] {
        let test = TestCall::greeted(greeter()).await;
        test.meter.add("openai", "gpt-4.1-mini", Unit::InputTokens, 120);
        test.meter.add("deepgram", "nova-3", Unit::AudioMs, 2_500);
        assert_eq!(usage(&test), None);
        test.call_back(CallProgress::Ended(end)).await.unwrap();
        ms(1_500).await;
        let expected = json!({
            "deepgram": { "seconds": 2.5, "models": { "nova-3": { "seconds": 2.5 } } },
            "openai": { "inputTokens": 120, "models": { "gpt-4.1-mini": { "inputTokens": 120 } } },
        });
        assert_eq!(usage(&test), Some(expected));
    }
    let test = TestCall::greeted(greeter()).await;
    test.hang_up();
    ms(1_500).await;
    assert_eq!(
        (usage(&test), test.outcome()),
        (None, Some(("completed", None))),
        "nothing was used"
    );
}

/// Answers two calls, and one more after the provider's code is mended. Returns their errors.
async fn ends(world: &World, mend: impl FnOnce()) -> Vec<Option<String>> {
    let node = world.node(2).await;
    let (broken, sound) = (world.campaign(2).await, world.campaign_of(2..3, None).await);
    world.command(&node, broken, CampaignCommand::Launch).await.unwrap();
    until("the end", async || {
        let calls = world.conversations(broken).await;
        calls.len() == 2 && calls.iter().all(|call| call.ended_at.is_some())
    })
    .await;
    mend();
    let legs = world.carrier.hang_ups().len();
    assert_eq!(legs, 2, "their legs are hung up");
    world.command(&node, sound, CampaignCommand::Launch).await.unwrap();
    ms(8_000).await;
    assert_eq!(figures(&node).await.live_calls, 1, "the next one is held");
    let calls = world.conversations(broken).await;
    calls.into_iter().map(|call| call.error).collect()
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_the_voices_code_costs_the_call() {
    let world = World::new().await;
    world.carrier.callees(Callees::Answer);
    world.synthesizer.panic(true);
    let errors = ends(&world, || world.synthesizer.panic(false)).await;
    for error in errors {
        assert_eq!(error.as_deref(), Some("agent-error: audio stream crashed"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_the_recognisers_code_costs_the_call() {
    let world = World::new().await;
    world.carrier.callees(Callees::Answer);
    world.transcriber.panic(true);
    let errors = ends(&world, || world.transcriber.panic(false)).await;
    for error in errors {
        assert_eq!(error.as_deref(), Some("agent-error: audio stream crashed"));
    }
}

#[tokio::test(start_paused = true)]
async fn the_voice_is_told_ahead_what_is_likely_to_be_said() {
    let world = World::new().await;
    world.carrier.callees(Callees::Answer);
    let node = world.node(1).await;
    let campaign = world.campaign(1).await;
    world.command(&node, campaign, CampaignCommand::Launch).await.unwrap();
    until("a call", async || world.carrier.sockets() == 1).await;
    ms(3_000).await;
    let prepared = world.synthesizer.prepared();
    let texts: Vec<&str> = prepared.iter().map(|likely| likely.text.as_str()).collect();
    assert_eq!(texts[..2], ["Hello, this is Ringo.", MOMENT]);
    assert_eq!(*texts.last().unwrap(), "Sorry, could you say that again?");
    assert!(prepared.iter().all(|likely| likely.fixed));
    assert_eq!(world.synthesizer.texts(), ["Hello, this is Ringo."]);
}
