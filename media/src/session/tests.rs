//! Tests of the session against a scripted carrier that plays the audio sent to it and returns marks in time.

mod carrier;
mod echo;
mod held;
mod machines;
mod operator;
mod phone;
mod properties;
mod recogniser;
mod sounds;
mod taps;

use carrier::{Bench, CARRIER, MARKLESS, PACED, config};

use super::*;
use crate::{
    codec,
    format::{Encoding, LineFormat},
    tone::{generate, keys::KeyDetector},
};

#[test]
fn keys_are_played_whole_and_are_no_words() {
    for abilities in [CARRIER, MARKLESS, PACED] {
        let mut bench = Bench::new(abilities);
        bench.session.allow_barge_in(true, bench.now_ms);
        bench.session.press("10#", bench.now_ms);
        // Words spoken over them do not stop them.
        bench.voice(500);
        bench.session.settled("what was that please", false, bench.now_ms);
        bench.silence(1_500);
        let mut pressed = Vec::new();
        KeyDetector::default().push(&bench.carrier.all_played(), &mut pressed);
        assert_eq!(pressed, ['1', '0', '#'], "{abilities:?}");
        assert!(bench.all_heard().is_empty(), "{abilities:?}");
        assert!(bench.session.is_quiet());
        let spoke = |event: &SessionEvent| matches!(event, SessionEvent::SpeakingStarted { .. });
        assert!(!bench.events.iter().any(|(_, event)| spoke(event)));
        bench.say(1, "one two three", true);
        bench.silence(5_000);
        assert_eq!(bench.heard().as_deref(), Some("one two three"), "{abilities:?}");
    }
}

#[test]
fn only_telephone_and_wide_band_rates_are_taken() {
    let mut bad = config(CARRIER);
    bad.format = LineFormat {
        sample_rate: 44_100,
        ..LineFormat::MULAW_8000
    };
    let error = AudioSession::new(&bad).err().unwrap();
    assert_eq!(
        error.to_string(),
        "the line runs at 44100 Hz; 8000 and 16000 Hz are supported"
    );
}

#[test]
fn a_turn_ends_after_the_pause_with_its_words() {
    let mut bench = Bench::new(CARRIER);
    bench.voice(1_000);
    bench.session.settled("at noon", false, bench.now_ms);
    bench.silence(1_000);
    let utterance = bench.utterance().unwrap();
    assert_eq!(utterance.text, "at noon");
    let ended_at = bench.time_of(|event| matches!(event, SessionEvent::UtteranceEnded(_)));
    assert!(
        (260..=930).contains(&(ended_at - utterance.ended_ms)),
        "{ended_at} {utterance:?}"
    );
}

#[test]
fn a_line_that_falls_silent_still_ends_the_turn() {
    let mut bench = Bench::new(CARRIER);
    bench.voice(1_000);
    bench.session.settled("at noon", false, bench.now_ms);
    bench.stall(2_000);
    let utterance = bench.utterance().unwrap();
    assert_eq!(utterance.text, "at noon");
    let ended_at = bench.time_of(|event| matches!(event, SessionEvent::UtteranceEnded(_)));
    assert!(ended_at - utterance.ended_ms <= super::clock::STALL_MS + 50);
}

#[test]
fn frames_of_no_whole_milliseconds_keep_the_time() {
    let mut session = AudioSession::new(&config(CARRIER)).unwrap();
    for n in 1..=4_000 {
        session.receive(&[0xFF; 44], n * 44 / 8);
    }
    assert_eq!(session.hearing.heard_ms(), 22_000);
    let samples = session.hearing.position(22_000);
    assert!(samples.abs_diff(176_000) <= 8, "no silence was put between: {samples}");
}

#[test]
fn a_beep_after_a_stall_ends_when_it_ends() {
    let mut session = AudioSession::new(&config(CARRIER)).unwrap();
    let mut ended = None;
    let mut hear = |samples: &[i16], from_ms: u64| {
        for (frame, now_ms) in samples.chunks(160).zip((from_ms..).step_by(20)) {
            let mut audio = Vec::new();
            codec::encode(Encoding::MuLaw, frame, &mut audio);
            session.receive(&audio, now_ms + 20);
            while let Some(event) = session.poll_event() {
                if let SessionEvent::BeepEnded { at_ms } = event {
                    ended = Some(at_ms);
                }
            }
        }
    };
    hear(&[0; 8_000], 0);
    hear(&[0; 4_000], 3_000);
    hear(&generate::beep(1_000.0, 300), 3_500);
    hear(&[0; 4_000], 3_800);
    assert!(ended.is_some_and(|at_ms| at_ms.abs_diff(3_800) <= 20), "{ended:?}");
}

#[test]
fn a_speech_plays_to_its_end_without_a_gap_on_every_kind_of_line() {
    for abilities in [CARRIER, MARKLESS, PACED] {
        let mut bench = Bench::new(abilities);
        bench.say(1, "one two three four", true);
        bench.say_more(1, "five six seven eight");
        bench.silence(9_000);
        assert_eq!(
            bench.heard(),
            Some("one two three four five six seven eight".into()),
            "{abilities:?}"
        );
        assert_eq!(bench.carrier.gaps_ms(), Vec::<u64>::new(), "{abilities:?}");
        let [sent, played, cleared, outstanding] = bench.session.account();
        assert_eq!((sent, cleared, outstanding), (played, 0, 0));
    }
}

#[test]
fn audio_goes_ahead_in_a_bounded_window_with_a_mark_every_200_ms() {
    let mut bench = Bench::new(CARRIER);
    bench.say(1, "one two three four five six seven eight", true);
    bench.silence(1_000);
    assert!(bench.carrier.most_ahead_ms <= 1_600, "{}", bench.carrier.most_ahead_ms);
    assert!(bench.carrier.most_between_marks_ms <= 200);
    assert!(bench.carrier.messages <= 16, "{}", bench.carrier.messages);
}

#[test]
fn barge_in_clears_at_once_and_tells_what_was_heard() {
    for abilities in [CARRIER, MARKLESS] {
        let mut bench = Bench::new(abilities);
        bench.session.allow_barge_in(true, 0);
        bench.say(1, "one two three four five six seven eight", true);
        bench.silence(1_600);
        let onset = bench.now_ms;
        bench.voice(500);
        bench.session.interim("Stop", bench.now_ms);
        bench.voice(300);
        bench.session.interim("Stop it", bench.now_ms);
        bench.voice(200);
        let cleared_at = bench.carrier.cleared_at_ms.unwrap();
        assert!(
            (160..=300).contains(&(cleared_at - onset)),
            "{abilities:?} {cleared_at} {onset}"
        );
        let heard = bench.barged_in().unwrap();
        let really = bench.carrier.words_played();
        assert!(really.starts_with(&heard), "{heard:?} of {really:?}");
        assert!(
            really.split(' ').count() - heard.split(' ').count() <= 1,
            "{heard:?} of {really:?}"
        );
        assert!(bench.session.is_quiet());
    }
}

#[test]
fn a_backchannel_lets_playout_go_on_from_the_word_and_is_no_turn() {
    let mut bench = Bench::new(CARRIER);
    bench.session.allow_barge_in(true, 0);
    bench.say(1, "one two three four five six seven eight", true);
    bench.silence(1_600);
    bench.voice(320);
    let quiet_from = bench.now_ms;
    bench.session.settled("Mm-hm.", false, bench.now_ms);
    bench.silence(8_000);
    assert!(bench.carrier.cleared_at_ms.is_some());
    assert!(bench.carrier.resumed_at_ms.unwrap() - quiet_from <= 300);
    assert_eq!(bench.heard(), Some("one two three four five six seven eight".into()));
    assert_eq!((bench.barged_in(), bench.utterance()), (None, None));
}

#[test]
fn a_backchannel_at_the_end_of_a_question_is_the_answer() {
    let mut bench = Bench::new(CARRIER);
    bench.session.allow_barge_in(true, 0);
    bench.say(1, "one two", true);
    bench.silence(500);
    bench.voice(240);
    bench.session.settled("Yes.", false, bench.now_ms);
    bench.silence(3_000);
    assert_eq!(bench.utterance().unwrap().text, "Yes.");
}

#[test]
fn a_sound_of_attention_over_the_end_of_a_question_is_no_answer() {
    let into_the_end = |question: &str, said: &str| {
        let asking = || {
            let mut bench = Bench::new(CARRIER);
            bench.session.allow_barge_in(true, 0);
            bench.say(1, question, true);
            bench
        };
        let mut alone = asking();
        while alone.heard().is_none() {
            alone.silence(20);
        }
        let mut bench = asking();
        bench.silence(alone.now_ms - 120);
        bench.voice(300);
        assert_eq!(
            bench.heard().as_deref(),
            Some(question),
            "its voice goes on after the last word"
        );
        bench.session.settled(said, false, bench.now_ms);
        bench.silence(3_000);
        bench.utterance().map(|utterance| utterance.text)
    };
    for (question, said, answer) in [
        ("Is it?", "Uh-huh.", None),
        ("Is it?", "Yes.", Some("Yes.")),
        ("Which day?", "Mm-hm.", None),
        ("Which day?", "Friday.", Some("Friday.")),
    ] {
        assert_eq!(into_the_end(question, said).as_deref(), answer, "{question} {said}");
    }
}

#[test]
fn one_word_that_takes_the_floor_interrupts() {
    let mut bench = Bench::new(CARRIER);
    bench.session.allow_barge_in(true, 0);
    bench.say(1, "one two three four five six seven eight", true);
    bench.silence(1_600);
    bench.voice(320);
    bench.session.settled("Stop.", false, bench.now_ms);
    bench.silence(1_000);
    assert!(bench.barged_in().is_some());
    assert_eq!(bench.utterance().unwrap().text, "Stop.");
}

#[test]
fn undecided_words_keep_the_agent_silent_while_the_user_speaks_and_are_no_loss() {
    let mut bench = Bench::new(CARRIER);
    bench.session.allow_barge_in(true, 0);
    bench.say(1, "one two three four five six seven eight", true);
    bench.silence(1_600);
    bench.voice(300);
    bench.session.interim("zebra", bench.now_ms);
    for _ in 0..7 {
        bench.voice(140);
        bench.silence(60);
    }
    let paused = bench.carrier.cleared_at_ms.is_some() && bench.carrier.resumed_at_ms.is_none();
    assert!(paused && bench.barged_in().is_none());
    bench.session.settled("Zebra.", false, bench.now_ms);
    bench.silence(8_000);
    assert!(bench.carrier.resumed_at_ms.is_some());
    assert_eq!(bench.heard(), Some("one two three four five six seven eight".into()));
    assert_eq!(bench.utterance().unwrap().text, "Zebra.");
}

#[test]
fn words_begun_before_barge_in_was_allowed_do_not_interrupt() {
    let mut bench = Bench::new(CARRIER);
    bench.say(1, "one two three four five six seven eight", true);
    bench.voice(400);
    bench.session.allow_barge_in(true, bench.now_ms);
    bench.voice(100);
    bench.session.settled("Yes, hello?", false, bench.now_ms);
    bench.silence(8_000);
    assert_eq!(bench.utterance().unwrap().text, "Yes, hello?");
    assert_eq!(bench.heard(), Some("one two three four five six seven eight".into()));
    assert_eq!(bench.barged_in(), None);
}

#[test]
fn a_protected_speech_plays_on_and_the_user_is_heard() {
    for protected in [true, false] {
        let mut bench = Bench::new(CARRIER);
        bench.session.allow_barge_in(protected, 0);
        let text = "one two three four five six seven eight";
        bench.session.say(
            Say {
                speech: SpeechId(1),
                text: text.to_owned(),
                manner: Manner::default(),
                last: true,
                protected,
                held: false,
            },
            0,
        );
        bench.silence(1_000);
        bench.voice(1_000);
        bench.session.settled("Who is there?", false, bench.now_ms);
        bench.silence(8_000);
        assert_eq!(bench.carrier.cleared_at_ms, None, "protected {protected}");
        assert_eq!(bench.heard().as_deref(), Some(text));
        assert_eq!(bench.utterance().unwrap().text, "Who is there?");
    }
}

#[test]
fn a_new_speech_drops_an_unfinished_one_and_its_late_texts() {
    let mut bench = Bench::new(CARRIER);
    bench.say(1, "one two three four five six", false);
    bench.silence(1_000);
    bench.say(2, "seven eight", true);
    bench.say(1, "nine", true);
    bench.silence(3_000);
    let heard: Vec<_> = bench.all_heard();
    assert_eq!(heard.len(), 2);
    assert!("one two three four five six".starts_with(&heard[0].1) && !heard[0].1.is_empty());
    assert_eq!(heard[1], (2, "seven eight".into()));
}

#[test]
fn an_empty_speech_ends_at_once_and_a_failed_one_is_dropped() {
    let mut bench = Bench::new(CARRIER);
    bench.say(1, " ", true);
    assert_eq!(bench.all_heard(), [(1, String::new())]);
    bench.session.say(
        Say {
            speech: SpeechId(2),
            text: "hello".to_owned(),
            manner: Manner::default(),
            last: true,
            protected: false,
            held: false,
        },
        0,
    );
    let job = bench.session.next_text().unwrap();
    assert_eq!(bench.session.synthesis_failed(job.generation + 1, 0), None);
    assert_eq!(bench.session.synthesis_failed(job.generation, 0), Some(SpeechId(2)));
    assert!(bench.session.is_quiet());
}

#[test]
fn both_sides_are_recorded_where_they_were_heard() {
    let mut bench = Bench::recording();
    bench.session.allow_barge_in(true, 0);
    bench.say(1, "one two three four five six seven eight", true);
    bench.silence(1_600);
    bench.voice(500);
    bench.session.interim("Stop", bench.now_ms);
    bench.voice(500);
    bench.silence(500);
    let mut recorded = bench.recorded.clone();
    recorded.extend(bench.session.take_recording(true));
    let loud = |side: usize, from_ms: usize, to_ms: usize| {
        recorded
            .chunks(2)
            .skip(from_ms * 8)
            .take((to_ms - from_ms) * 8)
            .any(|pair| pair[side].abs() > 500)
    };
    assert!(
        loud(1, 100, 1_500) && !loud(1, 2_100, 3_000),
        "the agent stops where it was cleared"
    );
    assert!(!loud(0, 0, 1_500) && loud(0, 1_700, 2_500));
    assert!(
        (3_000 * 16..=3_100 * 16 + 320).contains(&recorded.len()),
        "{}",
        recorded.len()
    );
}

/// Checks that the agent's side of a recorded call contains the whole speech, with the line's frames arriving
/// in bursts of `burst`.
fn assert_recorded_whole(burst: u64) {
    let mut session = AudioSession::new(&SessionConfig {
        record: true,
        ..config(MARKLESS)
    })
    .unwrap();
    // No two pieces of a sweep are alike.
    let sweep = |n: u32| f64::from(n).powi(2) * 2e-5;
    let voice: Vec<i16> = (1..24_000)
        .map(|n| (sweep(n).sin() * 8_000.0 + 9_000.0) as i16)
        .collect();
    session.say(
        Say {
            speech: SpeechId(1),
            text: "a sweep".to_owned(),
            manner: Manner::default(),
            last: true,
            protected: false,
            held: false,
        },
        0,
    );
    let job = session.next_text().unwrap();
    session.synthesized(job.generation, &voice, &[], 0);
    session.synthesis_ended(job.generation, 0);
    let mut recorded = Vec::new();
    for frame in 1..=250u64 {
        // Frames are late, and something happens between two of them.
        let now_ms = frame * 20 + frame % 3 * 6;
        if frame % burst == 0 {
            session.receive(&[0xFF; 160].repeat(burst as usize), now_ms);
        }
        session.tick(now_ms + 7);
        while session.poll_output().is_some() {}
        recorded.extend(session.take_recording(false));
    }
    recorded.extend(session.take_recording(true));
    let agent: Vec<i16> = recorded.chunks(2).map(|pair| pair[1]).collect();
    let (mut line, mut spoken) = (Vec::new(), Vec::new());
    codec::encode(Encoding::MuLaw, &voice, &mut line);
    codec::decode(Encoding::MuLaw, &line, &mut spoken);
    let begin = agent.iter().position(|sample| *sample != 0).unwrap();
    let seam = spoken.iter().zip(&agent[begin..]).position(|(said, kept)| said != kept);
    assert_eq!(seam, None, "begun at {begin}, {burst} frames at once");
    assert!(agent.len() - begin >= spoken.len(), "{burst} frames at once");
}

#[test]
fn the_agents_side_is_recorded_without_a_seam() {
    for burst in [1, 8, 15, 40] {
        assert_recorded_whole(burst);
    }
}

#[test]
fn closing_reports_what_is_unfinished_once() {
    let mut bench = Bench::new(CARRIER);
    bench.say(1, "one two three four", true);
    bench.silence(1_000);
    bench.voice(300);
    bench.session.interim("I mu", bench.now_ms);
    bench.session.close(bench.now_ms);
    bench.session.close(bench.now_ms);
    bench.collect();
    assert_eq!(bench.all_heard().len(), 1);
    assert_eq!(bench.utterance().unwrap().text, "I mu");
}
