//! Tests of preparations in a pause: reported pauses, and speeches that are held until they are released.

use super::{
    carrier::{Bench, CARRIER},
    *,
};

fn hold(bench: &mut Bench, speech: u64, text: &str) {
    let say = Say {
        speech: SpeechId(speech),
        text: text.to_owned(),
        manner: Manner::default(),
        last: true,
        protected: false,
        held: true,
    };
    bench.session.say(say, bench.now_ms);
    bench.collect();
}

fn release(bench: &mut Bench, speech: u64) {
    bench.session.release(SpeechId(speech), bench.now_ms);
    bench.collect();
}

#[test]
fn a_held_speech_is_synthesised_and_plays_at_once_when_released() {
    let mut bench = Bench::new(CARRIER);
    hold(&mut bench, 1, "one two three");
    bench.silence(400);
    assert_eq!((bench.carrier.messages, bench.session.is_quiet()), (0, true));
    assert!(bench.session.next_text().is_none(), "its audio is ready");
    release(&mut bench, 1);
    assert!(bench.carrier.messages > 0);
    bench.silence(3_000);
    assert_eq!(bench.all_heard(), [(1, "one two three".into())]);
}

#[test]
fn a_held_speech_that_is_replaced_or_stopped_was_never_heard() {
    let mut bench = Bench::new(CARRIER);
    hold(&mut bench, 1, "one two");
    hold(&mut bench, 2, "three four");
    release(&mut bench, 1);
    bench.session.stop_speaking(bench.now_ms);
    release(&mut bench, 2);
    hold(&mut bench, 3, "five six");
    bench.say(4, "seven", true);
    release(&mut bench, 3);
    bench.say(3, "eight", true);
    bench.silence(3_000);
    assert_eq!(bench.all_heard(), [(4, "seven".into())]);
}

#[test]
fn a_speech_plays_on_while_another_is_held_and_is_cut_when_that_is_released() {
    let mut bench = Bench::new(CARRIER);
    bench.say(1, "one two three four five", true);
    bench.silence(500);
    hold(&mut bench, 2, "six seven");
    bench.silence(500);
    assert_eq!(bench.all_heard(), []);
    release(&mut bench, 2);
    bench.silence(3_000);
    let heard = bench.all_heard();
    assert_eq!(heard.len(), 2, "{heard:?}");
    assert_eq!(heard[0], (1, "one two".into()));
    assert_eq!(heard[1], (2, "six seven".into()));
}

#[test]
fn a_held_speech_that_cannot_be_synthesised_is_told_and_leaves_the_present_one_alone() {
    let mut bench = Bench::new(CARRIER);
    bench.say(1, "one two three", true);
    let say = Say {
        speech: SpeechId(2),
        text: "four".to_owned(),
        manner: Manner::default(),
        last: true,
        protected: false,
        held: true,
    };
    bench.session.say(say, bench.now_ms);
    let job = bench.session.next_text().unwrap();
    assert_eq!(
        bench.session.synthesis_failed(job.generation, bench.now_ms),
        Some(SpeechId(2))
    );
    bench.silence(3_000);
    assert_eq!(bench.all_heard(), [(1, "one two three".into())]);
}

#[test]
fn a_pause_is_told_100_ms_after_the_voice_and_taken_back_when_it_goes_on() {
    let mut bench = Bench::new(CARRIER);
    bench.voice(1_000);
    bench.session.interim("at", bench.now_ms);
    let ended = bench.now_ms;
    bench.silence(300);
    bench.voice(1_000);
    bench.session.settled("at noon", false, bench.now_ms);
    bench.silence(1_000);
    let told: Vec<_> = bench
        .events
        .iter()
        .filter_map(|(at, event)| match event {
            SessionEvent::TurnPaused { text, .. } => Some((*at, text.as_str())),
            SessionEvent::TurnResumed { .. } => Some((*at, "…")),
            _ => None,
        })
        .collect();
    assert_eq!(
        told.iter().map(|(_, what)| *what).collect::<Vec<_>>(),
        ["at", "…", "at noon"]
    );
    assert!(told[0].0 - ended <= 160, "{told:?}");
    assert!((ended + 300..ended + 420).contains(&told[1].0), "{told:?}");
}

#[test]
fn a_false_interruption_is_told_from_both_ends() {
    let mut bench = Bench::new(CARRIER);
    bench.session.allow_barge_in(true, 0);
    bench.say(1, "one two three four five six", true);
    bench.silence(1_600);
    bench.voice(320);
    bench.silence(1_000);
    let paused = bench.time_of(|event| {
        matches!(
            event,
            SessionEvent::PlayoutPaused {
                speech: SpeechId(1),
                ..
            }
        )
    });
    let resumed = bench.time_of(|event| {
        matches!(
            event,
            SessionEvent::PlayoutResumed {
                speech: SpeechId(1),
                ..
            }
        )
    });
    assert!((1_740..1_920).contains(&paused), "{paused}");
    assert!((2_000..2_240).contains(&resumed), "{resumed}");
}
