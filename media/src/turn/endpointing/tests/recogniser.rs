//! Recognisers that are slow, and recognisers that listen for turns themselves.

use std::time::Duration;

use super::*;

const SLOW: Capabilities = Capabilities {
    final_within: Duration::from_millis(2_000),
    answers_each: true,
    tells_turns: false,
    tells_interims: true,
};

const OF_TURNS: Capabilities = Capabilities {
    final_within: Duration::from_millis(400),
    answers_each: true,
    tells_turns: true,
    tells_interims: true,
};

fn endpointing(recogniser: Capabilities) -> Endpointing {
    let mut endpointing = Endpointing::new(NORMAL);
    endpointing.recogniser(recogniser);
    endpointing
}

/// Returns the verdicts up to a moment, checked every 10 ms.
fn until(endpointing: &mut Endpointing, from: u64, to: u64) -> Vec<(u64, Verdict)> {
    let mut all = Vec::new();
    for at in (from..=to).step_by(10) {
        all.extend(ticked(endpointing, at).into_iter().map(|verdict| (at, verdict)));
    }
    all
}

fn ended(verdicts: &[(u64, Verdict)]) -> Option<(u64, &str)> {
    verdicts.iter().find_map(|(at, verdict)| match verdict {
        Verdict::Ended(utterance) => Some((*at, utterance.text.as_str())),
        _ => None,
    })
}

#[test]
fn the_turn_waits_for_a_slow_recogniser_and_no_longer_than_it_may_take() {
    for (answer_ms, over_ms, words) in [(2_010, 2_010, "On Friday."), (9_000, 3_100, "")] {
        let mut endpointing = endpointing(SLOW);
        speak(&mut endpointing, 0, 1_000);
        let mut all = until(&mut endpointing, 1_000, answer_ms.min(4_000) - 10);
        endpointing.settle("On Friday.", false, answer_ms);
        all.extend(until(&mut endpointing, answer_ms, answer_ms + 100));
        assert_eq!(ended(&all), Some((over_ms, words)));
    }
}

#[test]
fn a_long_voice_is_no_music_where_no_word_can_be_told_before_its_end() {
    let mut endpointing = endpointing(Capabilities {
        tells_interims: false,
        ..SLOW
    });
    speak(&mut endpointing, 0, 4_000);
    let mut all = until(&mut endpointing, 4_000, 4_200);
    assert!(all.iter().any(|(_, verdict)| *verdict == Verdict::Finalize));
    endpointing.settle("My name is Alex Miller.", false, 4_210);
    all.extend(until(&mut endpointing, 4_210, 7_000));
    assert_eq!(ended(&all).map(|(_, words)| words), Some("My name is Alex Miller."));
}

#[test]
fn a_turn_that_went_on_waits_for_the_answer_to_its_last_asking() {
    let mut endpointing = endpointing(SLOW);
    speak(&mut endpointing, 0, 1_000);
    assert!(ended(&until(&mut endpointing, 1_000, 1_200)).is_none());
    speak(&mut endpointing, 1_200, 2_000);
    assert!(ended(&until(&mut endpointing, 2_000, 2_300)).is_none());
    speak(&mut endpointing, 2_400, 3_000);
    // Two answers are stale; the third has the rest.
    endpointing.settle("My name", false, 3_010);
    assert!(ended(&until(&mut endpointing, 3_010, 3_500)).is_none());
    endpointing.settle("is Ann", false, 3_600);
    assert!(ended(&until(&mut endpointing, 3_600, 4_300)).is_none());
    endpointing.settle("Lee.", false, 4_310);
    let all = until(&mut endpointing, 4_310, 4_400);
    assert_eq!(ended(&all), Some((4_310, "My name is Ann Lee.")));
}

#[test]
fn an_answer_that_comes_while_the_voice_goes_on_does_not_settle_what_follows() {
    let mut endpointing = endpointing(SLOW);
    speak(&mut endpointing, 0, 1_000);
    assert!(ended(&until(&mut endpointing, 1_000, 1_200)).is_none());
    speak(&mut endpointing, 1_200, 2_000);
    // It came in the voice's last 100 ms.
    endpointing.settle("My name is", false, 2_000);
    let all = until(&mut endpointing, 2_000, 3_000);
    let asked = all.iter().any(|(_, verdict)| *verdict == Verdict::Finalize);
    assert!(asked && ended(&all).is_none(), "{all:?}");
    endpointing.settle("Ann.", false, 3_010);
    let all = until(&mut endpointing, 3_010, 3_100);
    assert_eq!(ended(&all), Some((3_010, "My name is Ann.")));
}

#[test]
fn a_late_answer_of_the_turn_before_settles_nothing_of_the_next() {
    let mut endpointing = endpointing(SLOW);
    speak(&mut endpointing, 0, 1_000);
    assert_eq!(ended(&until(&mut endpointing, 1_000, 3_200)), Some((3_100, "")));
    speak(&mut endpointing, 3_300, 4_000);
    let all = until(&mut endpointing, 4_000, 4_190);
    assert!(all.iter().any(|(_, verdict)| *verdict == Verdict::Finalize));
    endpointing.settle("Hello?", false, 4_200);
    assert_eq!(
        ended(&until(&mut endpointing, 4_200, 5_000)),
        None,
        "that was the first"
    );
    endpointing.settle("Are you there?", false, 5_010);
    let all = until(&mut endpointing, 5_010, 5_100);
    assert_eq!(ended(&all), Some((5_010, "Hello? Are you there?")));
}

#[test]
fn the_recognisers_word_ends_the_turn_at_once() {
    let mut endpointing = endpointing(OF_TURNS);
    speak(&mut endpointing, 0, 1_000);
    endpointing.interim("my number is", 1_000);
    assert_eq!(
        until(&mut endpointing, 1_000, 1_200),
        [],
        "its pauses are the recogniser's to tell"
    );
    endpointing.settle("my number is 5", false, 1_260);
    endpointing.told(Told::Ended, 1_260);
    let all = until(&mut endpointing, 1_260, 1_300);
    assert_eq!(ended(&all), Some((1_260, "my number is 5")));
    assert_eq!(endpointing.deadline(), None);
}

#[test]
fn the_recognisers_word_waits_for_voice_that_goes_on_and_holds_for_its_last_breath() {
    for (breath_ms, over) in [(200, true), (1_000, false)] {
        let mut endpointing = endpointing(OF_TURNS);
        speak(&mut endpointing, 0, 992);
        endpointing.settle("Yes.", false, 1_000);
        endpointing.told(Told::Ended, 1_000);
        for at in (1_000..1_000 + breath_ms).step_by(16) {
            endpointing.block(Some(0), 16, at);
            assert_eq!(ticked(&mut endpointing, at), [], "voice at {at}");
        }
        let silent_ms = 1_000 + breath_ms;
        endpointing.block(None, 0, silent_ms);
        let all = until(&mut endpointing, silent_ms, silent_ms + 100);
        assert_eq!(ended(&all).is_some(), over, "{breath_ms}");
    }
}

#[test]
fn more_voice_after_its_word_has_words_of_its_own() {
    let mut endpointing = endpointing(OF_TURNS);
    speak(&mut endpointing, 0, 992);
    endpointing.settle("Yes.", false, 1_000);
    endpointing.told(Told::Ended, 1_000);
    endpointing.block(Some(0), 16, 1_000);
    speak(&mut endpointing, 1_000, 2_000);
    endpointing.interim("And", 2_000);
    assert_eq!(ended(&until(&mut endpointing, 2_000, 2_400)), None);
    endpointing.settle("And no.", false, 2_410);
    endpointing.told(Told::Ended, 2_410);
    let all = until(&mut endpointing, 2_410, 2_420);
    assert_eq!(ended(&all), Some((2_410, "Yes. And no.")));
}

#[test]
fn its_doubts_are_told_and_taken_back() {
    let mut endpointing = endpointing(OF_TURNS);
    speak(&mut endpointing, 0, 1_000);
    endpointing.interim("My number is", 1_000);
    endpointing.told(Told::Paused, 1_150);
    let paused = |words: &str| Verdict::Paused(words.to_owned());
    assert_eq!(ticked(&mut endpointing, 1_150), [paused("My number is")]);
    endpointing.told(Told::Resumed, 1_300);
    assert_eq!(ticked(&mut endpointing, 1_300), [Verdict::Resumed]);
    endpointing.interim("My number is 555", 1_400);
    assert_eq!(ticked(&mut endpointing, 1_400), []);
    endpointing.told(Told::Paused, 1_450);
    assert_eq!(ticked(&mut endpointing, 1_450), [paused("My number is 555")]);
    endpointing.block(Some(1_440), 16, 1_500);
    let resumed = ticked(&mut endpointing, 1_500);
    assert_eq!(resumed, [Verdict::Resumed], "our own detector hears it first");
}

#[test]
fn without_its_word_the_pause_ends_the_turn_late_but_surely() {
    for (words, asked_ms) in [("On Friday", 2_500), ("five", 3_800)] {
        let mut endpointing = endpointing(OF_TURNS);
        endpointing.agent_said("What is your phone number?");
        speak(&mut endpointing, 0, 1_000);
        endpointing.interim(words, 1_000);
        let last_voiced_ms = 1_000 - 1_000 % 16;
        let all = until(&mut endpointing, 1_000, 5_000);
        let (asked, verdict) = &all[0];
        assert_eq!(*verdict, Verdict::Finalize);
        assert!(
            asked.abs_diff(asked_ms - 1_000 + last_voiced_ms) <= 10,
            "{words} {asked}"
        );
        assert_eq!(ended(&all), Some((asked + OF_TURNS.final_wait_ms(), words)));
    }
    // A noise that the recogniser does not know of.
    let mut endpointing = endpointing(OF_TURNS);
    speak(&mut endpointing, 0, 192);
    assert_eq!(ended(&until(&mut endpointing, 200, 3_000)), Some((1_050, "")));
}

#[test]
fn its_word_without_a_turn_means_nothing() {
    let mut endpointing = endpointing(OF_TURNS);
    for told in [Told::Paused, Told::Resumed, Told::Ended] {
        endpointing.told(told, 100);
    }
    assert_eq!((endpointing.deadline(), ticked(&mut endpointing, 200)), (None, vec![]));
}
