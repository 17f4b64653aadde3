//! Sessions with recognisers that listen for turns or are slow.

use std::time::Duration;

use super::*;
use crate::turn::endpointing::{Capabilities, Told};

fn bench(final_wait_ms: u64, tells_turns: bool) -> Bench {
    let mut bench = Bench::new(CARRIER);
    bench.session.recogniser(Capabilities {
        final_within: Duration::from_millis(final_wait_ms),
        answers_each: true,
        tells_turns,
        tells_interims: true,
    });
    bench
}

#[test]
fn a_recogniser_of_turns_begins_the_answer_early_and_ends_the_turn() {
    let mut bench = bench(400, true);
    bench.voice(1_000);
    bench.session.interim("at noon", bench.now_ms);
    bench.silence(160);
    bench.session.told(Told::Paused, bench.now_ms);
    bench.silence(100);
    let (paused_ms, ended_ms) = (bench.now_ms - 100, bench.now_ms);
    bench.session.settled("at noon", false, bench.now_ms);
    bench.session.told(Told::Ended, bench.now_ms);
    bench.silence(20);
    assert_eq!(bench.utterance().unwrap().text, "at noon");
    let told = bench.time_of(|event| matches!(event, SessionEvent::TurnPaused { .. }));
    assert!(told - paused_ms <= 20, "{told} {paused_ms}");
    let over = bench.time_of(|event| matches!(event, SessionEvent::UtteranceEnded(_)));
    assert!(over - ended_ms <= 20, "{over} {ended_ms}");
}

#[test]
fn no_turn_is_answered_before_a_slow_recogniser_has_had_its_time() {
    let mut bench = bench(2_000, false);
    bench.voice(1_000);
    bench.silence(1_700);
    assert!(bench.utterance().is_none());
    bench.session.settled("at noon", false, bench.now_ms);
    bench.silence(20);
    assert_eq!(bench.utterance().unwrap().text, "at noon");
}

#[test]
fn every_voice_that_begins_is_news_once() {
    let mut bench = bench(2_000, false);
    bench.silence(500);
    assert!(!bench.session.voice_began());
    for _ in 0..3 {
        bench.voice(300);
        assert!(bench.session.voice_began());
        bench.voice(300);
        assert!(!bench.session.voice_began());
        bench.silence(300);
        assert!(!bench.session.voice_began());
    }
}
