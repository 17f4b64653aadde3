//! Operators who take a live call: who has it, what the agent does meanwhile, and how it is back.

use std::time::Duration;

use actors::{
    audio_stream::{OperatorLeg, OperatorQueue, StreamEvent, StreamMessage},
    call::{CallMessage, CallPhase, OperateRefusal, OperatorLine},
};
use domain::{
    phrases::Phrases,
    ports::language_model::{HistoryItem, Speaker},
};
use futures_util::future::join_all;
use media::babble::{Speaker as Babble, Voice};
use tokio::{sync::mpsc, time::Instant};

use crate::{
    audio_stream_support::{Phone, wait},
    call_support::{TestCall, greeter, ms},
};

async fn operate(test: &TestCall, by: &str) -> Result<OperatorLine, OperateRefusal> {
    let by = by.to_owned();
    ractor::call!(test.call, |reply| CallMessage::Operate { by, reply }).unwrap()
}

fn back_with_you() -> &'static str {
    Phrases::built_in("en").unwrap().back_with_you
}

#[tokio::test(start_paused = true)]
async fn the_agent_is_silent_however_long_an_operator_has_the_call() {
    let test = TestCall::greeted(greeter()).await;
    test.stream.user_says("Is anybody there?", 500).await;
    ms(20).await;
    let asked = test.ports.language_model.requests().len();
    let said = test.stream.said();
    let line = operate(&test, "Ada").await.ok().unwrap();
    assert!(test.stream.has_operator());
    for _ in 0..5 {
        test.stream.operator_says("One moment, I look.");
        test.stream.user_says("Yes, fine.", 500).await;
        ms(50_000).await;
    }
    assert_eq!(test.stream.said(), said);
    assert_eq!(test.ports.language_model.requests().len(), asked);
    assert_eq!(test.snapshot().await.phase, CallPhase::Operator);
    let transcript = test.transcript();
    let expected = ["Operator: One moment, I look.", "User: Yes, fine."].repeat(5);
    assert_eq!(transcript[transcript.len() - 10..], expected);
    line.give_back(Some("Offer ten percent.".into()));
    ms(100).await;
    let requests = test.ports.language_model.requests();
    let request = requests.last().unwrap();
    let notes: Vec<&str> = request.notes.iter().map(|note| &*note.text).collect();
    assert_eq!((requests.len(), &notes[..]), (asked + 1, &["Offer ten percent."][..]));
    let told = |item: &&HistoryItem| matches!(item, HistoryItem::Said { speaker: Speaker::Operator, text, .. } if text == "One moment, I look.");
    assert_eq!(request.history.iter().filter(told).count(), 5);
    assert_eq!(test.stream.said().last().map(String::as_str), Some("Okay."));
}

#[tokio::test(start_paused = true)]
async fn the_agent_is_back_at_once_when_its_operator_is_lost() {
    let test = TestCall::greeted(greeter()).await;
    let line = operate(&test, "Ada").await.ok().unwrap();
    ms(5_000).await;
    let lost = Instant::now();
    drop(line);
    while test.stream.said().last().map(String::as_str) != Some(back_with_you()) {
        ms(10).await;
        assert!(lost.elapsed() < Duration::from_secs(1));
    }
    assert!(!test.stream.has_operator());
    ms(10_000).await;
    assert_eq!(
        test.stream.said().last().map(String::as_str),
        Some("Okay."),
        "the model goes on"
    );
    assert_eq!(
        test.events().iter().filter(|event| *event == "operator_left").count(),
        1
    );
}

#[tokio::test(start_paused = true)]
async fn of_ten_operators_at_once_one_gets_the_call_and_the_others_hear_who() {
    let test = TestCall::greeted(greeter()).await;
    let names: Vec<String> = (0..10).map(|n| format!("operator {n}")).collect();
    let answers = join_all(names.iter().map(|by| operate(&test, by))).await;
    let has_it = test.snapshot().await.operator.unwrap();
    let (lines, refusals): (Vec<_>, Vec<_>) = answers.into_iter().partition(Result::is_ok);
    assert_eq!((lines.len(), refusals.len()), (1, 9));
    let taken = OperateRefusal::Taken(has_it);
    assert!(refusals.into_iter().all(|refusal| refusal.err() == Some(taken.clone())));
    // The connection of one who was there before means nothing to the next.
    drop(lines);
    ms(50).await;
    let next = operate(&test, "next").await.ok().unwrap();
    assert_eq!(test.snapshot().await.operator.as_deref(), Some("next"));
    next.give_back(None);
    ms(50).await;
    assert_eq!(test.snapshot().await.operator, None);
}

#[tokio::test(start_paused = true)]
async fn an_operators_connection_ends_with_the_call() {
    let test = TestCall::greeted(greeter()).await;
    let mut line = operate(&test, "Ada").await.ok().unwrap();
    test.hang_up();
    let ended = tokio::time::timeout(Duration::from_secs(2), line.heard()).await;
    assert_eq!(ended, Ok(None));
    ms(2_000).await;
    assert_eq!(test.outcome(), Some(("completed", None)));
    drop(line);
    ms(50).await;
    assert_eq!(
        test.events().iter().filter(|event| *event == "operator_left").count(),
        1
    );
}

/// Speaks into a queue in frames of 20 ms. Returns after the last one.
async fn speaks(audio: &OperatorQueue, text: &str) {
    let mut voice = Babble::new(text, Voice::new(180.0), 8_000).unwrap();
    while let Some(samples) = voice.next_chunk(160) {
        audio.push(&samples);
        wait(20).await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_operators_words_reach_the_phone_and_the_record_and_the_users_reach_the_operator() {
    let phone = Phone::answer().await;
    phone.say(
        1,
        "Good morning, this is a rather long announcement about nothing at all.",
        true,
        false,
    );
    wait(1_500).await;
    let audio = OperatorQueue::new(8_000);
    let (hears, mut heard) = mpsc::channel(500);
    let leg = OperatorLeg {
        audio: audio.clone(),
        hears,
    };
    phone.stream.cast(StreamMessage::OperatorJoins(leg)).unwrap();
    // A microphone is open before somebody speaks.
    for _ in 0..10 {
        audio.push(&[0; 160]);
        wait(20).await;
    }
    speaks(&audio, "Hello, this is Ada of the team.").await;
    phone.user_says("Good to hear you.");
    let mut samples = 0;
    for _ in 0..150 {
        audio.push(&[0; 160]);
        wait(20).await;
        while let Ok(frame) = heard.try_recv() {
            samples += frame.iter().filter(|sample| sample.abs() > 500).count();
        }
    }
    assert!(samples > 2_000, "the operator hears the user: {samples}");
    let said = |event: &StreamEvent| match event {
        StreamEvent::OperatorSaid(said) => Some(said.text.clone()),
        _ => None,
    };
    assert_eq!(phone.first(said).unwrap().1, "Hello, this is Ada of the team.");
    assert!(
        phone.understood().ends_with("Hello, this is Ada of the team."),
        "{}",
        phone.understood()
    );
    assert!(
        phone.seen().gaps_ms.iter().all(|gap| *gap <= 200),
        "{:?}",
        phone.seen().gaps_ms
    );
    // The last words count although the operator leaves with them.
    speaks(&audio, "Goodbye.").await;
    phone.stream.cast(StreamMessage::OperatorLeaves).unwrap();
    wait(1_000).await;
    let events = phone.events();
    let last = events.iter().rev().find_map(|(_, event)| said(event));
    assert_eq!(last.as_deref(), Some("Goodbye."));
    let silent = events
        .iter()
        .position(|(_, event)| *event == StreamEvent::OperatorSilent);
    let spoken = events.iter().rposition(|(_, event)| said(event).is_some());
    assert!(silent > spoken, "{events:?}");
    assert_eq!(audio.take_lost(), 0);
    wait(500).await;
    assert!(heard.is_closed());
}
