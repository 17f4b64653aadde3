//! Tests of barge-in: sounds that pause, sounds that interrupt, and sounds that let playout resume.

use proptest::prelude::*;

use super::*;

/// Feeds blocks of 16 ms, with voice in the given spans and words from their times on. Returns the verdicts
/// with their times.
fn play(spans: &[(u64, u64)], words: &[(u64, &str)], until: u64) -> Vec<(u64, Verdict)> {
    let mut barge_in = BargeIn::new(0);
    let mut last_voiced_ms = 0;
    let mut verdicts = Vec::new();
    for at_ms in (16..=until).step_by(16) {
        let span = spans.iter().find(|(from, to)| (*from + 1..=*to).contains(&at_ms));
        if span.is_some() {
            last_voiced_ms = at_ms;
        }
        let said = words
            .iter()
            .filter(|(from, _)| *from <= at_ms)
            .map(|(_, w)| *w)
            .next_back();
        let seen = Observation {
            at_ms,
            onset_ms: span.map(|(from, _)| *from),
            last_voiced_ms,
            words: said.unwrap_or(""),
            floor: Floor::so_far(said.unwrap_or("")),
            is_speech: said.is_some(),
            is_asked: false,
        };
        if let Some(verdict) = barge_in.observe(&seen) {
            verdicts.push((at_ms, verdict));
            if verdict == Verdict::BargeIn {
                break;
            }
        }
    }
    verdicts
}

#[test]
fn speech_pauses_after_160_ms_and_interrupts_after_600_though_not_understood() {
    let said = [(2_000, "…")];
    assert_eq!(
        play(&[(1_600, 4_000)], &said, 5_000),
        [(1_760, Verdict::Pause), (2_208, Verdict::BargeIn)]
    );
}

#[test]
fn a_wrong_word_that_is_put_right_interrupts_nothing() {
    let said = [(2_000, "Yeah"), (2_500, "Yeah write it"), (2_900, "Yeah right")];
    assert_eq!(
        play(&[(1_600, 2_640)], &said, 5_000),
        [(1_760, Verdict::Pause), (2_912, Verdict::Resume)]
    );
}

#[test]
fn voice_without_a_word_pauses_and_never_interrupts() {
    assert_eq!(
        play(&[(1_600, 4_000)], &[], 5_000),
        [(1_760, Verdict::Pause), (4_192, Verdict::Resume)]
    );
}

#[test]
fn words_that_take_the_floor_interrupt_at_once() {
    let said = [(2_000, "yes"), (2_032, "yes but when")];
    assert_eq!(
        play(&[(1_600, 4_000)], &said, 5_000),
        [(1_760, Verdict::Pause), (2_032, Verdict::BargeIn)]
    );
}

#[test]
fn words_that_come_after_playout_went_on_interrupt_too() {
    let verdicts = play(&[(1_600, 2_000)], &[(2_400, "stop it please")], 5_000);
    assert_eq!(
        verdicts,
        [
            (1_760, Verdict::Pause),
            (2_192, Verdict::Resume),
            (2_400, Verdict::BargeIn)
        ]
    );
}

#[test]
fn a_nod_resumes_within_300_ms_of_its_end() {
    let verdicts = play(&[(1_600, 2_320)], &[(1_904, "mm-hm")], 5_000);
    assert_eq!(verdicts, [(1_760, Verdict::Pause), (2_512, Verdict::Resume)]);
}

#[test]
fn two_nods_in_one_breath_are_one() {
    let verdicts = play(&[(1_600, 2_720)], &[(1_904, "yeah"), (2_400, "Yeah, right.")], 5_000);
    assert_eq!(verdicts, [(1_760, Verdict::Pause), (2_912, Verdict::Resume)]);
}

#[test]
fn a_nod_that_goes_on_for_1800_ms_interrupts() {
    let verdicts = play(&[(1_600, 5_000)], &[(1_904, "yeah")], 6_000);
    assert_eq!(verdicts, [(1_760, Verdict::Pause), (3_408, Verdict::BargeIn)]);
}

#[test]
fn a_cough_of_less_than_160_ms_does_nothing() {
    assert_eq!(play(&[(1_600, 1_744)], &[], 5_000), []);
}

#[test]
fn after_one_false_pause_the_first_step_is_300_ms() {
    let verdicts = play(&[(1_600, 1_840), (3_200, 3_440), (4_800, 5_200)], &[], 7_000);
    assert_eq!(
        verdicts,
        [
            (1_760, Verdict::Pause),
            (2_032, Verdict::Resume),
            (5_104, Verdict::Pause),
            (5_392, Verdict::Resume)
        ]
    );
}

#[test]
fn after_a_nod_the_first_step_is_short_as_before() {
    let verdicts = play(&[(1_600, 1_840), (3_200, 3_440)], &[(1_800, "mm-hm")], 3_400);
    assert_eq!(verdicts.last(), Some(&(3_360, Verdict::Pause)));
}

#[test]
fn undecided_words_keep_playout_paused_until_the_turn_decides() {
    let verdicts = play(&[(1_600, 2_000)], &[(1_904, "zebra")], 5_000);
    assert_eq!(verdicts, [(1_760, Verdict::Pause), (3_504, Verdict::Resume)]);
}

/// Returns the effect of voice from `onset_ms` on with these words on a speech that may be interrupted from 1.5 s on.
fn at_the_pick_up(onset_ms: u64, words: &str) -> Option<(u64, Verdict)> {
    let mut barge_in = BargeIn::new(1_200);
    barge_in.count_from(1_500);
    (onset_ms..3_000).step_by(16).find_map(|at_ms| {
        let seen = Observation {
            at_ms,
            onset_ms: Some(onset_ms),
            last_voiced_ms: at_ms,
            words,
            floor: Floor::so_far(words),
            is_speech: !words.is_empty(),
            is_asked: false,
        };
        barge_in.observe(&seen).map(|verdict| (at_ms, verdict))
    })
}

#[test]
fn a_callee_who_picks_up_as_the_greeting_begins_does_not_stop_it() {
    for words in ["", "Hello?", "Hello? Hello?", "Yes, hello, good morning."] {
        assert_eq!(at_the_pick_up(1_300, words), None, "{words:?}");
    }
}

#[test]
fn a_greeting_that_is_recognised_after_the_voice_has_stopped_does_not_stop_the_agent_either() {
    let mut barge_in = BargeIn::new(1_200);
    barge_in.count_from(1_500);
    for (at_ms, words) in [(1_400, ""), (1_700, ""), (1_900, "Hola"), (2_400, "Hola")] {
        let is_voiced = at_ms <= 1_700;
        let seen = Observation {
            at_ms,
            onset_ms: is_voiced.then_some(1_300),
            last_voiced_ms: at_ms.min(1_700),
            words,
            floor: Floor::so_far(words),
            is_speech: !words.is_empty(),
            is_asked: false,
        };
        assert_eq!(barge_in.observe(&seen), None, "{at_ms}");
    }
}

#[test]
fn telling_words_begun_at_the_pick_up_interrupt_and_later_voice_does_as_ever() {
    assert_eq!(
        at_the_pick_up(1_300, "Hello? Who is this?"),
        Some((1_508, Verdict::BargeIn))
    );
    assert_eq!(at_the_pick_up(1_504, ""), Some((1_664, Verdict::Pause)));
}

proptest! {
    #[test]
    fn a_pause_is_always_decided(
        blocks in prop::collection::vec((any::<bool>(), 0usize..4), 0..300),
        is_asked in any::<bool>(),
    ) {
        let said = ["", "mm-hm", "wait", "no wait"];
        let mut barge_in = BargeIn::new(0);
        let (mut onset_ms, mut last_voiced_ms, mut at_ms, mut words) = (None, 0, 0, "");
        for (voiced, pick) in blocks {
            at_ms += 16;
            onset_ms = if voiced { onset_ms.or(Some(at_ms - 16)) } else { None };
            if voiced { last_voiced_ms = at_ms; }
            words = said[pick];
            let (floor, is_speech) = (Floor::so_far(words), !words.is_empty());
            barge_in.observe(&Observation { at_ms, onset_ms, last_voiced_ms, words, floor, is_speech, is_asked });
        }
        let (floor, is_speech) = (Floor::so_far(words), !words.is_empty());
        if let Some(deadline) = barge_in.deadline(last_voiced_ms, floor, is_asked) {
            let at_ms = deadline.max(at_ms);
            let seen = Observation { at_ms, onset_ms: None, last_voiced_ms, words, floor, is_speech, is_asked };
            prop_assert!(barge_in.observe(&seen).is_some());
        }
        prop_assert!(!barge_in.is_paused());
    }
}
