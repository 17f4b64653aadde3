//! Tests of order, bounds and accounting of the waiting facts.

use proptest::prelude::*;

use super::*;
use domain::ports::{
    language_model::Speaker,
    store::{EventFact, TurnFact},
};

fn event(at_ms: i64, detail: &str) -> Fact {
    Fact::Event(EventFact {
        name: "e".into(),
        at_ms,
        detail: detail.into(),
    })
}

fn turn(seq: i64, text: &str) -> Fact {
    Fact::Turn(TurnFact {
        seq,
        speaker: Speaker::User,
        text: text.into(),
        started_ms: 0,
        ended_ms: 0,
        interrupted: false,
        damaged: false,
        detail: Default::default(),
    })
}

#[test]
fn over_the_bound_events_give_way_and_turns_stay() {
    let call = AttemptId::new();
    let mut buffer = Buffer::default();
    let large = "x".repeat(1024 * 1024);
    for n in 0..10 {
        buffer.push((call, turn(n, &large)));
        buffer.push((call, event(n, &large)));
    }
    assert_eq!(buffer.dropped(), 5);
    let kept: Vec<bool> = buffer.waiting.iter().map(|(_, f)| matches!(f, Fact::Turn(_))).collect();
    assert_eq!(kept.iter().filter(|turn| **turn).count(), 10);
    for n in 0..10 {
        buffer.push((call, turn(n, &large)));
    }
    assert!(buffer.waiting.iter().all(|(_, f)| matches!(f, Fact::Turn(_))));
    assert!(buffer.bytes <= KEPT_BYTES);
}

#[test]
fn a_fact_the_store_refuses_costs_only_itself() {
    let call = AttemptId::new();
    let mut buffer = Buffer::default();
    for n in 0..3 {
        buffer.push((call, event(n, "")));
    }
    assert_eq!(buffer.begin().unwrap().len(), 3);
    buffer.refused();
    assert_eq!(buffer.begin().unwrap().as_slice(), [(call, event(0, ""))]);
    buffer.refused();
    assert_eq!(buffer.settled(), 1);
    assert_eq!(buffer.begin().unwrap().as_slice(), [(call, event(1, ""))]);
    buffer.written();
    assert_eq!(buffer.begin().unwrap().as_slice(), [(call, event(2, ""))]);
    buffer.written();
    assert!(buffer.is_empty());
    assert_eq!(buffer.dropped(), 1);
}

proptest! {
    /// Whatever fails in between, everything is written once and in order.
    #[test]
    fn facts_are_written_once_and_in_order(steps in prop::collection::vec(0..4u8, 0..300)) {
        let call = AttemptId::new();
        let mut buffer = Buffer::default();
        let (mut pushed, mut written) = (0, Vec::new());
        let mut batch: Option<Arc<Vec<Entry>>> = None;
        for step in steps.into_iter().chain([1, 2, 1, 2]) {
            match step {
                0 => {
                    buffer.push((call, event(pushed, "")));
                    pushed += 1;
                }
                1 => batch = buffer.begin().or(batch),
                2 => {
                    if let Some(batch) = batch.take() {
                        written.extend(batch.iter().cloned());
                        buffer.written();
                    }
                }
                _ => {
                    if batch.take().is_some() {
                        buffer.failed();
                    }
                }
            }
            prop_assert_eq!(buffer.settled(), written.len() as u64);
        }
        let expected: Vec<Entry> = (0..pushed).map(|n| (call, event(n, ""))).collect();
        prop_assert_eq!(written, expected);
        prop_assert_eq!(buffer.bytes, 0);
        prop_assert!(buffer.is_empty());
    }
}

#[test]
fn a_call_that_lost_facts_says_so_when_the_store_is_back() {
    let (long, short) = (AttemptId::new(), AttemptId::new());
    let mut buffer = Buffer::default();
    let large = "x".repeat(KEPT_BYTES / 4);
    buffer.push((short, event(0, "")));
    for n in 0..6 {
        buffer.push((long, event(n, &large)));
    }
    let dropped = buffer.dropped();
    assert_eq!(dropped, 4, "the oldest one, and three of the large ones");
    assert!(buffer.held().1 <= KEPT_BYTES);
    let mut written = Vec::new();
    while let Some(batch) = buffer.begin() {
        written.extend(batch.iter().cloned());
        buffer.written();
    }
    let note = |facts: u64| EventFact {
        name: FACTS_LOST.into(),
        at_ms: 0,
        detail: format!(r#"{{"facts":{facts}}}"#),
    };
    assert!(written.contains(&(long, Fact::Event(note(3)))), "{:?}", written.len());
    assert!(written.contains(&(short, Fact::Event(note(1)))));
    assert_eq!(written.len(), 3 + 2);
    assert_eq!(buffer.held(), (0, 0));
}
