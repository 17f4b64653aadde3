//! Tests of endpointing: the pauses, the recogniser's last words, voice without words.

mod recogniser;

use std::time::Duration;

use proptest::prelude::*;

use super::{recogniser::ASK_MS, *};

const NORMAL: PausePolicy = PausePolicy {
    base_ms: 450,
    fixed_ms: None,
    spelling_patience: true,
};

/// Returns the policy of a pause that no words change.
fn fixed(ms: u64) -> Endpointing {
    Endpointing::new(PausePolicy {
        fixed_ms: Some(ms),
        ..NORMAL
    })
}

/// Feeds voice from `from` to `to` in blocks of 16 ms.
fn speak(endpointing: &mut Endpointing, from: u64, to: u64) {
    for at in (from + 16..=to).step_by(16) {
        endpointing.block(Some(from), 16, at);
        assert!(!matches!(endpointing.tick(at), Some(Verdict::Ended(_))));
    }
    endpointing.block(None, 0, to + 16);
}

/// Ticks every 10 ms until the turn ends. Returns the time of its end, the time of the request for a final,
/// and the turn.
fn wait(endpointing: &mut Endpointing, from: u64) -> (u64, Option<u64>, Utterance) {
    let mut asked = None;
    for at in (from..from + 5_000).step_by(10) {
        match endpointing.tick(at) {
            Some(Verdict::Ended(utterance)) => return (at, asked, utterance),
            Some(Verdict::Finalize) => asked = Some(at),
            Some(Verdict::Paused(_) | Verdict::Resumed) | None => {}
        }
    }
    panic!("the turn did not end");
}

/// Returns the pause after words that a recogniser told 100 ms after the voice.
fn pause(policy: PausePolicy, words: &str, asked: &str) -> u64 {
    let circumstances = Circumstances {
        punctuates: words.contains(words::is_mark),
        tells_interims: true,
        silent_ms: ASK_MS,
        ..Circumstances::default()
    };
    policy.pause_ms(&Evidence::of(words, &Expectation::of(asked), &circumstances, &MODEL))
}

#[test]
fn pauses_follow_eagerness_words_and_the_fixed_setting() {
    for base_ms in [250, 450, 800] {
        let policy = PausePolicy { base_ms, ..NORMAL };
        let short = (base_ms * 3 / 5).max(base_ms - 200);
        for finished in ["Tomorrow.", "I don't want that.", "It is noon."] {
            let pause = pause(policy, finished, "");
            assert!((short..=base_ms).contains(&pause), "{finished} {pause}");
        }
        let plain = pause(policy, "tomorrow", "");
        assert!((base_ms..=2 * base_ms).contains(&plain), "{plain}");
        for (unfinished, least) in [
            ("my number is", 900),
            ("and", 900),
            ("um", 900),
            ("what it is", 700),
            ("five five", 1_700),
        ] {
            let pause = pause(policy, unfinished, "");
            assert!(
                pause >= least.max(base_ms) && pause <= MAX_PAUSE_MS,
                "{unfinished} {pause}"
            );
        }
        let fixed = PausePolicy {
            fixed_ms: Some(200),
            ..policy
        };
        assert_eq!(pause(fixed, "and", ""), 200);
        let hasty = PausePolicy {
            spelling_patience: false,
            ..policy
        };
        assert!(pause(hasty, "five five", "") <= base_ms);
        assert!(pause(hasty, "five", "What is your phone number?") <= base_ms);
    }
}

#[test]
fn pauses_follow_the_answer_that_was_asked_for() {
    for (asked, words, least, most) in [
        ("Is it noon?", "yeah", 270, 450),
        ("Is it noon?", "Yeah.", 270, 270),
        ("Is it noon?", "Yes.", 270, 270),
        ("Is it noon?", "yes but", 1_200, 3_000),
        ("Tea or coffee?", "coffee", 270, 450),
        ("Which day suits you?", "On Friday", 270, 900),
        ("Which day suits you?", "On Friday.", 270, 450),
        ("Which day suits you?", "On Friday at", 900, 3_000),
        ("What is your phone number?", "yeah", 270, 900),
        ("What is your phone number?", "five", 2_800, 2_800),
        ("What is your phone number?", "Five five five.", 2_800, 2_800),
        ("What is your phone number?", "823,", 2_800, 3_000),
        ("What is your phone number?", "555 1234", 1_700, 1_700),
        ("What is your phone number?", "555 123 4567", 270, 450),
        ("What is your phone number?", "555 123 4567.", 270, 450),
        ("What is your email?", "john at mail dot com", 270, 450),
        ("What is your email?", "john at", 1_700, 3_000),
        ("What can I do for you?", "yeah", 450, 900),
        (
            "What can I do for you?",
            "I would like a table for two on Friday.",
            270,
            450,
        ),
    ] {
        let pause = pause(NORMAL, words, asked);
        assert!((least..=most).contains(&pause), "{asked} {words} {pause}");
    }
}

#[test]
fn a_caller_who_was_answered_into_may_pause_longer() {
    let mut habits = Habits::default();
    let pauses = [0, 1, 2].map(|cut_offs| {
        habits.cut_offs = cut_offs;
        habits.pause(1_000);
        let circumstances = Circumstances {
            habits,
            silent_ms: ASK_MS,
            ..Circumstances::default()
        };
        let evidence = Evidence::of("I moved to a house", &Expectation::Any, &circumstances, &MODEL);
        NORMAL.pause_ms(&evidence)
    });
    assert_eq!(pauses[0], 450);
    assert!((600..=1_250).contains(&pauses[1]), "{pauses:?}");
    assert!((pauses[1]..=2_050).contains(&pauses[2]), "{pauses:?}");
}

#[test]
fn the_agent_answered_into_a_turn_if_words_follow_that_are_no_reaction() {
    let cut_offs = |agent_began_ms: Option<u64>, from: u64, words: &str| {
        let mut endpointing = fixed(450);
        speak(&mut endpointing, 0, 800);
        endpointing.settle("On Friday", false, 800);
        wait(&mut endpointing, 800);
        if let Some(at_ms) = agent_began_ms {
            endpointing.agent_began(at_ms);
        }
        speak(&mut endpointing, from, from + 400);
        endpointing.settle(words, false, from + 400);
        wait(&mut endpointing, from + 400);
        endpointing.habits.cut_offs
    };
    assert_eq!(cut_offs(None, 1_500, "at noon"), 1);
    assert_eq!(cut_offs(Some(1_400), 1_500, "at noon"), 1, "too soon for a reaction");
    assert_eq!(cut_offs(Some(1_300), 1_900, "no wait"), 0, "an interruption");
    assert_eq!(cut_offs(None, 1_500, ""), 0, "a cough");
    assert_eq!(cut_offs(None, 4_000, "hello?"), 0, "longer than people pause");
}

#[test]
fn silence_raises_the_chance_that_the_turn_is_over() {
    let circumstances = Circumstances::default();
    let evidence = Evidence::of("on friday", &Expectation::Any, &circumstances, &MODEL);
    let chances: Vec<f32> = (0..30).map(|step| evidence.chance(step * 100, &MODEL)).collect();
    assert!(chances.is_sorted() && chances[0] < 0.9, "{chances:?}");
    assert!(chances[29] > 0.99, "{chances:?}");
    for chance in [0.5, 0.8, 0.95] {
        let silence_ms = evidence.silence_ms(chance, &MODEL);
        assert!(evidence.chance(silence_ms, &MODEL) >= chance);
        assert!(silence_ms == 0 || evidence.chance(silence_ms - 10, &MODEL) < chance);
    }
}

#[test]
fn a_sound_that_has_just_begun_is_awaited_once() {
    let ended_at = |sounds: &[(u64, u64)]| {
        let mut endpointing = fixed(450);
        speak(&mut endpointing, 0, 800);
        endpointing.settle("On Friday", false, 800);
        let ended = (800..2_000).step_by(10).find(|at| {
            let sound = sounds.iter().find(|(from, to)| (*from..*to).contains(at));
            endpointing.sound(sound.map(|(from, _)| *from));
            matches!(endpointing.tick(*at), Some(Verdict::Ended(_)))
        });
        ended.unwrap()
    };
    assert_eq!(ended_at(&[]), 1_250);
    assert_eq!(ended_at(&[(1_230, 1_500)]), 1_490, "perhaps the voice again");
    assert_eq!(ended_at(&[(1_230, 1_260)]), 1_260, "a click");
    assert_eq!(ended_at(&[(980, 1_500)]), 1_250, "a voice would be known by now");
    assert_eq!(ended_at(&[(600, 1_500)]), 1_250, "the line's own");
    assert_eq!(ended_at(&[(1_230, 1_300), (1_310, 1_500)]), 1_300, "the next sound");
}

#[test]
fn a_voice_without_words_that_stops_while_its_sound_goes_on_was_no_speech() {
    for (sound_ms, unclear) in [(None, true), (Some(1_000), true), (Some(100), false)] {
        let mut endpointing = Endpointing::new(NORMAL);
        speak(&mut endpointing, 100, 820);
        endpointing.sound(sound_ms);
        let (_, _, utterance) = wait(&mut endpointing, 820);
        assert_eq!(
            (utterance.text.as_str(), utterance.damaged),
            ("", unclear),
            "{sound_ms:?}"
        );
    }
}

#[test]
fn too_few_digits_for_a_phone_number_are_waited_for_in_every_eagerness() {
    for base_ms in [250, 450, 800] {
        for hums in [false, true] {
            let mut endpointing = Endpointing::new(PausePolicy { base_ms, ..NORMAL });
            endpointing.agent_said("Could you give me a phone number to reach you?");
            speak(&mut endpointing, 0, 800);
            endpointing.settle("My number is 823", false, 820);
            let ended = (820..6_000).step_by(10).find(|at| {
                if hums {
                    endpointing.block(Some(0), 10, *at);
                }
                matches!(endpointing.tick(*at), Some(Verdict::Ended(_)))
            });
            let ended = ended.unwrap();
            assert!((3_600..=3_650).contains(&ended), "{ended} ms, {base_ms} {hums}");
        }
    }
}

#[test]
fn an_expected_answer_ends_the_turn_sooner() {
    for answer in ["yeah", "Yeah.", "yes", "Yes."] {
        let mut endpointing = Endpointing::new(NORMAL);
        endpointing.agent_said("Is it noon?");
        speak(&mut endpointing, 0, 800);
        endpointing.settle(answer, false, 800);
        let (at, ..) = wait_each_ms(&mut endpointing, 800);
        assert!((1_070..=1_250).contains(&at), "{answer} {at}");
    }
}

#[test]
fn a_turn_with_its_final_ends_after_the_pause_without_asking() {
    let mut endpointing = fixed(450);
    speak(&mut endpointing, 1_000, 2_008);
    endpointing.settle("tomorrow at noon", false, 2_030);
    let (at, asked, utterance) = wait(&mut endpointing, 2_030);
    assert_eq!((at, asked), (2_460, None));
    assert_eq!(
        utterance,
        Utterance {
            text: "tomorrow at noon".into(),
            damaged: false,
            started_ms: 1_000,
            ended_ms: 2_008,
            final_ms: None,
        }
    );
    assert!(!endpointing.in_turn() && endpointing.deadline().is_none());
}

/// Returns the verdicts of a tick.
fn ticked(endpointing: &mut Endpointing, at: u64) -> Vec<Verdict> {
    std::iter::from_fn(|| endpointing.tick(at)).collect()
}

#[test]
fn the_recogniser_is_asked_early_in_the_pause_which_hides_its_latency() {
    for (final_at, ended_at) in [(950, 1_250), (1_249, 1_250), (1_270, 1_270), (1_298, 1_298)] {
        let mut endpointing = fixed(450);
        speak(&mut endpointing, 0, 800);
        endpointing.interim("to mor", 700);
        assert_eq!(ticked(&mut endpointing, 899), []);
        assert_eq!(
            ticked(&mut endpointing, 900),
            [Verdict::Finalize, Verdict::Paused("to mor".into())]
        );
        assert_eq!(endpointing.deadline(), Some(1_300), "an answer is awaited so long");
        assert_eq!(ticked(&mut endpointing, final_at - 1), []);
        endpointing.settle("tomorrow", false, final_at);
        let (at, _, utterance) = wait_each_ms(&mut endpointing, final_at);
        assert_eq!((at, utterance.text.as_str()), (ended_at, "tomorrow"));
    }
}

fn wait_each_ms(endpointing: &mut Endpointing, from: u64) -> (u64, Vec<Verdict>, Utterance) {
    let mut others = Vec::new();
    for at in from..from + 5_000 {
        for verdict in ticked(endpointing, at) {
            match verdict {
                Verdict::Ended(utterance) => return (at, others, utterance),
                other => others.push(other),
            }
        }
    }
    panic!("the turn did not end");
}

#[test]
fn a_turn_never_ends_on_a_final_that_answers_the_pause_before() {
    let mut endpointing = fixed(270);
    speak(&mut endpointing, 0, 800);
    assert_eq!(ticked(&mut endpointing, 900), [Verdict::Finalize]);
    speak(&mut endpointing, 960, 1_200);
    endpointing.settle("Yes.", false, 1_190);
    assert_eq!(
        ticked(&mut endpointing, 1_300),
        [Verdict::Finalize, Verdict::Paused("Yes.".into())]
    );
    endpointing.settle("Of course.", false, 1_498);
    let (at, others, utterance) = wait_each_ms(&mut endpointing, 1_498);
    assert_eq!((at, utterance.text.as_str()), (1_498, "Yes. Of course."));
    assert_eq!(others, []);
}

#[test]
fn a_stale_final_that_comes_after_the_second_request_does_not_answer_it() {
    let mut endpointing = Endpointing::new(NORMAL);
    speak(&mut endpointing, 0, 800);
    assert_eq!(ticked(&mut endpointing, 900), [Verdict::Finalize]);
    speak(&mut endpointing, 910, 990);
    assert_eq!(ticked(&mut endpointing, 1_090), [Verdict::Finalize]);
    endpointing.settle("Yes.", false, 1_100);
    assert!(
        !ticked(&mut endpointing, 1_400)
            .iter()
            .any(|v| matches!(v, Verdict::Ended(_)))
    );
    endpointing.settle("Do.", false, 1_410);
    assert_eq!(wait_each_ms(&mut endpointing, 1_410).2.text, "Yes. Do.");
}

#[test]
fn a_pause_is_told_again_when_its_words_or_the_voice_change() {
    let mut endpointing = Endpointing::new(NORMAL);
    speak(&mut endpointing, 0, 800);
    let paused = |words: &str| Verdict::Paused(words.into());
    assert_eq!(
        ticked(&mut endpointing, 900),
        [Verdict::Finalize],
        "without words nothing is told"
    );
    endpointing.interim("at", 950);
    assert_eq!(ticked(&mut endpointing, 950), [paused("at")]);
    endpointing.interim("at", 960);
    assert_eq!(ticked(&mut endpointing, 960), []);
    endpointing.settle("At", false, 970);
    assert_eq!(ticked(&mut endpointing, 970), [paused("At")]);
    speak(&mut endpointing, 1_000, 1_400);
    assert_eq!(ticked(&mut endpointing, 1_500), [Verdict::Finalize, paused("At")]);
}

#[test]
fn voice_after_a_pause_that_was_told_is_told_too() {
    let mut endpointing = Endpointing::new(NORMAL);
    speak(&mut endpointing, 0, 800);
    endpointing.settle("at", false, 850);
    assert_eq!(ticked(&mut endpointing, 900), [Verdict::Paused("at".into())]);
    endpointing.block(Some(1_000), 16, 1_016);
    assert_eq!(ticked(&mut endpointing, 1_016), [Verdict::Resumed]);
    endpointing.block(Some(1_000), 16, 1_032);
    assert_eq!(ticked(&mut endpointing, 1_032), []);
}

#[test]
fn a_silent_recogniser_costs_a_bounded_wait_and_its_late_final_is_not_said_twice() {
    let mut endpointing = fixed(450);
    speak(&mut endpointing, 0, 800);
    endpointing.interim("my name", 700);
    let (at, asked, utterance) = wait(&mut endpointing, 800);
    assert_eq!((asked, at), (Some(900), 1_300));
    assert_eq!(utterance.text, "my name");
    endpointing.settle("My name.", false, 1_700);
    assert!(!endpointing.in_turn());
    endpointing.settle("My name.", false, 1_800);
    assert!(endpointing.in_turn(), "only the first final is owed");
}

#[test]
fn words_beyond_those_a_turn_ended_on_begin_the_next() {
    let mut endpointing = Endpointing::new(NORMAL);
    speak(&mut endpointing, 0, 800);
    endpointing.interim("yes", 700);
    wait(&mut endpointing, 800);
    endpointing.settle("Yes please.", false, 1_700);
    assert_eq!(endpointing.words(), "please.");
}

#[test]
fn voice_that_goes_on_takes_the_request_back() {
    let mut endpointing = Endpointing::new(NORMAL);
    speak(&mut endpointing, 0, 800);
    assert_eq!(endpointing.tick(1_200), Some(Verdict::Finalize));
    speak(&mut endpointing, 1_260, 1_900);
    assert_eq!(endpointing.tick(1_990), None);
    let (at, asked, _) = wait(&mut endpointing, 1_900);
    assert_eq!((asked, at), (Some(2_000), 2_400));
}

#[test]
fn an_open_phrase_holds_the_turn_longer_and_a_closed_one_shorter() {
    for (words, pauses) in [("my number is", 900..=3_000), ("It is noon.", 270..=450)] {
        let mut endpointing = Endpointing::new(NORMAL);
        speak(&mut endpointing, 0, 800);
        endpointing.settle(words, false, 800);
        let (at, _, _) = wait(&mut endpointing, 800);
        assert!(pauses.contains(&(at - 800)), "{words} {at}");
    }
}

#[test]
fn voice_without_words_does_not_hold_the_turn() {
    let mut endpointing = Endpointing::new(NORMAL);
    let mut ended = Vec::new();
    for at in (16..20_000).step_by(16) {
        endpointing.block(Some(0), 16, at);
        if at == 512 {
            endpointing.settle("Please hold.", false, at);
        }
        if let Some(Verdict::Ended(utterance)) = endpointing.tick(at) {
            ended.push((at, utterance));
        }
    }
    assert_eq!(ended.len(), 1, "the hum goes on and is ignored");
    assert!((2_512..2_900).contains(&ended[0].0), "{ended:?}");
    assert_eq!(ended[0].1.text, "Please hold.");
    endpointing.block(None, 0, 20_000);
    assert_eq!(
        endpointing.block(Some(21_000), 16, 21_016),
        Some(21_000),
        "new voice counts again"
    );
}

#[test]
fn noise_is_told_from_voice_that_was_not_understood() {
    for (length, damaged) in [(160, false), (640, true)] {
        let mut endpointing = Endpointing::new(NORMAL);
        speak(&mut endpointing, 0, length);
        let (_, _, utterance) = wait(&mut endpointing, length);
        assert_eq!((utterance.text.as_str(), utterance.damaged), ("", damaged));
    }
}

#[test]
fn words_without_voice_are_a_turn_too() {
    let mut endpointing = fixed(270);
    assert_eq!(endpointing.interim("hello", 500), Some(500));
    endpointing.settle("Hello.", false, 600);
    let (at, _, utterance) = wait(&mut endpointing, 600);
    assert_eq!((at, utterance.started_ms), (770, 500));
}

#[derive(Debug, Clone)]
enum Input {
    Block(bool, bool),
    Interim(String),
    Settle(String, bool),
    Tick,
    Told(Told),
}

fn any_recogniser() -> impl Strategy<Value = Capabilities> {
    (0u64..3_000, any::<bool>(), any::<bool>()).prop_map(|(final_wait_ms, answers_each, tells_turns)| Capabilities {
        tells_interims: final_wait_ms % 2 == 0,
        final_within: Duration::from_millis(final_wait_ms),
        answers_each,
        tells_turns,
    })
}

fn input() -> impl Strategy<Value = Input> {
    let words = prop::sample::select(vec!["", "yes", "my number is", "I am Bob.", "um", "5 5 5", "mm-hm"]);
    prop_oneof![
        4 => (any::<bool>(), any::<bool>()).prop_map(|(active, voiced)| Input::Block(active, voiced)),
        1 => words.clone().prop_map(|w| Input::Interim(w.to_owned())),
        1 => (words, any::<bool>()).prop_map(|(w, damaged)| Input::Settle(w.to_owned(), damaged)),
        2 => Just(Input::Tick),
        1 => prop::sample::select(vec![Told::Ended, Told::Paused, Told::Resumed]).prop_map(Input::Told),
    ]
}

proptest! {
    #[test]
    fn any_sequence_ends_and_every_turn_that_began_is_ended_once(
        inputs in prop::collection::vec((input(), 0u64..700), 0..200),
        recogniser in prop::option::of(any_recogniser()),
    ) {
        let mut endpointing = Endpointing::new(NORMAL);
        if let Some(recogniser) = recogniser {
            endpointing.recogniser(recogniser);
        }
        let (mut at, mut began, mut ended) = (0, 0, 0);
        let (mut onset, mut told) = (None, false);
        for (input, step) in inputs {
            at += step;
            let begun = match input {
                Input::Block(active, voiced) => {
                    onset = if active { onset.or(Some(at)) } else { None };
                    endpointing.block(onset, u64::from(active && voiced) * 16, at)
                }
                Input::Interim(text) => endpointing.interim(&text, at),
                Input::Settle(text, damaged) => endpointing.settle(&text, damaged, at),
                Input::Tick => None,
                Input::Told(told) => {
                    endpointing.told(told, at);
                    None
                }
            };
            began += u32::from(begun.is_some());
            for verdict in ticked(&mut endpointing, at) {
                match verdict {
                    Verdict::Ended(utterance) => {
                        ended += 1;
                        prop_assert!(utterance.started_ms <= utterance.ended_ms && utterance.ended_ms <= at);
                        told = false;
                    }
                    Verdict::Paused(words) => {
                        prop_assert!(!words.is_empty());
                        told = true;
                    }
                    Verdict::Resumed => prop_assert!(std::mem::take(&mut told), "only what was told is taken back"),
                    Verdict::Finalize => {}
                }
            }
            prop_assert_eq!(began - ended, u32::from(endpointing.in_turn()));
        }
        for _ in 0..4 {
            let Some(deadline) = endpointing.deadline() else { break };
            at = at.max(deadline);
            let verdicts = ticked(&mut endpointing, at);
            ended += verdicts.iter().filter(|verdict| matches!(verdict, Verdict::Ended(_))).count() as u32;
        }
        prop_assert!(!endpointing.in_turn(), "silence ends the turn within a few deadlines");
        prop_assert_eq!(began, ended);
    }
}

#[test]
fn a_recogniser_without_end_fills_no_more_than_a_turn() {
    let mut endpointing = Endpointing::new(NORMAL);
    speak(&mut endpointing, 0, 800);
    for n in 0..100 {
        endpointing.interim(&"é".repeat(9_000), 700 + n);
        endpointing.settle(&"é".repeat(1_000), false, 700 + n);
        assert!(endpointing.words().len() <= turn::MOST_WORDS);
    }
    endpointing.interim(&"x".repeat(100_000), 800);
    assert!(endpointing.words().len() <= turn::MOST_WORDS);
    endpointing.settle("and more", false, 810);
    let (_, _, utterance) = wait(&mut endpointing, 820);
    assert!(
        utterance.damaged && utterance.text.len() > 30_000,
        "{}",
        utterance.text.len()
    );
    assert!(utterance.text.len() <= turn::MOST_WORDS && utterance.text.starts_with('é'));
}
