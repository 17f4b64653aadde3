//! Tests with babble over mu-law: latency of turns and barge-in, and sounds that are not speech.

use std::f64::consts::TAU;

use super::phone::{Phone, Pink};
use crate::session::SessionEvent;

const LONG: &str =
    "I can offer you a new time on Monday at noon, on Tuesday at three, or else on Friday in the morning.";

fn tones(ms: usize, hz: &[f64], amplitude: f64) -> Vec<i16> {
    let sum = |n: usize| hz.iter().map(|hz| (TAU * hz * n as f64 / 8_000.0).sin()).sum::<f64>();
    (0..ms * 8).map(|n| (sum(n) * amplitude) as i16).collect()
}

/// Returns three saw-tooth voices with a new chord every 400 ms.
fn music(ms: usize) -> Vec<i16> {
    let chords = [[220.0, 277.2, 329.6], [196.0, 246.9, 293.7], [174.6, 220.0, 261.6]];
    let saw = |hz: f64, n: usize| (hz * n as f64 / 8_000.0).fract() * 2.0 - 1.0;
    (0..ms * 8)
        .map(|n| {
            let chord = chords[n / 3_200 % 3];
            (chord.iter().map(|&hz| saw(hz, n)).sum::<f64>() * 900.0) as i16
        })
        .collect()
}

fn burst(ms: usize, dbfs: f64) -> Vec<i16> {
    let mut pink = Pink::default();
    let rms = 10f64.powf(dbfs / 20.0) * 32_768.0;
    (0..ms * 8)
        .map(|_| (pink.next() * rms).clamp(-32_000.0, 32_000.0) as i16)
        .collect()
}

fn started(event: &SessionEvent) -> bool {
    matches!(event, SessionEvent::SpeechStarted { .. })
}

#[test]
fn turns_end_at_the_pause_whatever_the_recogniser_takes() {
    for (delay_ms, text, least_ms, most_ms) in [
        (0, "I will come on Monday.", 270, 450),
        (247, "I will come on Monday.", 270, 450),
        (247, "I will come on Monday", 270, 900),
        (298, "I will come on Monday", 300, 900),
        (298, "I will come on Monday.", 300, 450),
    ] {
        for offset in [0, 7, 13] {
            let mut phone = Phone::new();
            phone.delay_ms = delay_ms;
            phone.run(500);
            phone.sounds(vec![0; offset * 8]);
            let ends = phone.now_ms + offset as u64 + phone.user(text);
            phone.run(ends + 1_500 - phone.now_ms);
            let turns = phone.turns();
            assert_eq!(turns.len(), 1, "{turns:?}");
            assert_eq!(turns[0].1, text);
            let after = turns[0].0 - ends;
            assert!(
                (least_ms - 20..=most_ms + 45).contains(&after),
                "{delay_ms} {text}: {after}"
            );
        }
    }
}

#[test]
fn the_recogniser_is_never_asked_in_mid_word_in_noise_10_db_below_the_voice() {
    for seed in 0..4 {
        let mut phone = Phone::new();
        phone.noise_dbfs = Some(-30.0);
        phone.run(1_000 + seed * 140);
        let ends = phone.now_ms + phone.user(LONG);
        phone.run(ends + 1_500 - phone.now_ms);
        let asked = phone
            .events
            .iter()
            .find(|(_, event)| *event == SessionEvent::FinalWanted);
        assert!(asked.is_none_or(|(at, _)| *at >= ends), "{asked:?} before {ends}");
        assert_eq!(phone.texts(), [LONG]);
    }
}

/// Returns the delay from the user's first voiced frame until playout was cleared, for many moments of interruption.
fn barge_ins(noise_dbfs: Option<f64>) -> Vec<u64> {
    let mut delays = Vec::new();
    for n in 0..24 {
        let mut phone = Phone::new();
        phone.delay_ms = 250;
        phone.noise_dbfs = noise_dbfs;
        phone.run(600);
        phone.agent(1, LONG);
        phone.run(700 + 140 * n);
        phone.sounds(vec![0; (n as usize * 37 % 160).max(1)]);
        let onset = phone.now_ms + n * 37 % 160 / 8;
        let length = phone.user("Wait, that is too early for me.");
        phone.run(length + 1_500);
        assert_eq!(
            phone.texts(),
            ["Wait, that is too early for me."],
            "{n}: {:?}",
            phone.events
        );
        let heard = phone.barged_in().unwrap();
        assert!(LONG.starts_with(heard), "{heard:?}");
        delays.push(phone.cleared[0] - onset);
    }
    delays.sort_unstable();
    delays
}

#[test]
fn barge_in_clears_200_ms_after_the_first_voiced_frame() {
    let delays = barge_ins(None);
    let (p50, last) = (delays[delays.len() / 2], delays[delays.len() - 1]);
    assert!(p50 <= 200 && last <= 280, "{delays:?}");
    let delays = barge_ins(Some(-30.0));
    let last = delays[delays.len() - 1];
    assert!(last <= 350, "noisy: {delays:?}");
}

#[test]
fn after_a_false_interruption_playout_goes_on_within_300_ms() {
    for (noise_dbfs, lengths) in [(None, [240, 300, 400]), (Some(-30.0), [360, 400, 460])] {
        for length in lengths {
            let mut phone = Phone::new();
            phone.noise_dbfs = noise_dbfs;
            phone.run(600);
            phone.agent(1, LONG);
            phone.run(2_000);
            let ends = phone.now_ms
                + phone.sounds(
                    super::phone::spoken("Mm-hm okay yes", "caller")
                        .0
                        .into_iter()
                        .take(length * 8),
                );
            phone.run(14_000);
            assert_eq!(
                (phone.cleared.len(), phone.resumed.len()),
                (1, 1),
                "{length}: {:?}",
                phone.events
            );
            let after = phone.resumed[0] - ends;
            assert!(after <= 300, "{noise_dbfs:?} {length}: {after}");
            assert_eq!(phone.barged_in(), None);
            let heard = phone.events.iter().find_map(|(_, event)| match event {
                SessionEvent::SpeakingEnded { heard, .. } => Some(heard.as_str()),
                _ => None,
            });
            assert_eq!(heard, Some(LONG));
        }
    }
}

#[test]
fn tones_hum_and_noise_neither_stop_the_agent_nor_begin_a_turn() {
    for (name, sound) in [
        ("ringback", tones(6_000, &[440.0, 480.0], 2_000.0)),
        ("ringback of Europe", tones(6_000, &[425.0], 3_000.0)),
        ("busy", tones(6_000, &[480.0, 620.0], 2_000.0)),
        ("hum", tones(6_000, &[50.0], 2_000.0)),
        ("noise", burst(6_000, -35.0)),
        ("click", burst(20, -10.0)),
    ] {
        let mut phone = Phone::new();
        phone.run(600);
        phone.agent(1, LONG);
        phone.run(1_000);
        phone.sounds(sound);
        phone.run(12_000);
        assert_eq!(phone.cleared, [0u64; 0], "{name}: {:?}", phone.events);
        assert_eq!(phone.texts(), [""; 0], "{name}");
        assert_eq!(phone.count(started), 0, "{name}: {:?}", phone.events);
    }
}

#[test]
fn music_behind_the_call_stops_the_agent_for_a_moment_and_turns_end() {
    let mut phone = Phone::new();
    phone.run(600);
    phone.agent(1, LONG);
    phone.run(1_000);
    phone.sounds(music(20_000));
    phone.run(16_000);
    assert_eq!(phone.barged_in(), None);
    assert!(phone.cleared.len() <= 1, "{:?}", phone.cleared);
    assert!(phone.texts().iter().all(|text| text.is_empty()), "{:?}", phone.events);
    let ended = phone.count(|event| matches!(event, SessionEvent::SpeakingEnded { .. }));
    assert_eq!(ended, 1, "{:?}", phone.events);
    phone.agent(2, "Hello?");
    phone.run(2_000);
    assert!(phone.cleared.len() <= 1, "{:?}", phone.cleared);
}

#[test]
fn a_cough_in_a_pause_does_not_end_the_turn_and_one_alone_says_nothing() {
    let mut phone = Phone::new();
    phone.run(600);
    let length = phone.user("I would like to");
    phone.run(length + 300);
    phone.sounds(burst(240, -18.0));
    phone.run(800);
    let length = phone.user("come on Monday.");
    phone.run(length + 1_000);
    assert_eq!(phone.texts(), ["I would like to come on Monday."], "{:?}", phone.events);
    phone.run(1_000);
    phone.sounds(burst(240, -18.0));
    phone.run(2_000);
    let damaged = phone.count(|event| matches!(event, SessionEvent::UtteranceEnded(u) if u.damaged));
    assert_eq!(damaged, 0, "{:?}", phone.events);
}

#[test]
fn a_number_dictated_in_groups_is_one_turn() {
    let mut phone = Phone::new();
    phone.delay_ms = 250;
    phone.agent(1, "What is your phone number?");
    phone.run(3_500);
    for group in ["Five five five.", "one two three,", "four five six seven"] {
        let length = phone.user(group);
        phone.run(length);
        phone.run(1_200);
    }
    phone.run(1_000);
    assert_eq!(phone.texts(), ["Five five five. one two three, four five six seven"]);
}

/// Returns music on hold: chords of two seconds, each of four notes with three harmonics, at -20 dBFS.
fn held_music(ms: usize) -> Vec<i16> {
    const CHORDS: [[f64; 4]; 4] = [
        [523.3, 659.3, 784.0, 1_046.5],
        [440.0, 523.3, 659.3, 880.0],
        [523.3, 698.5, 880.0, 1_046.5],
        [493.9, 587.3, 784.0, 987.8],
    ];
    let sample = |n: usize| -> f64 {
        let (chord, seconds) = (CHORDS[n / 16_000 % 4], (n % 16_000) as f64 / 8_000.0);
        let swell = (seconds / 0.05).min(1.0) * (1.0 - 0.25 * seconds);
        let string = |hz: &f64| -> f64 {
            let harmonics = (1..=3).map(f64::from);
            harmonics.map(|k| (TAU * hz * k * seconds).sin() / k).sum()
        };
        swell * chord.iter().map(string).sum::<f64>()
    };
    (0..ms * 8).map(|n| (sample(n) * 1_780.0) as i16).collect()
}

#[test]
fn music_that_is_taken_for_a_voice_at_first_is_no_speech_that_was_not_understood() {
    for (begins_ms, plays_ms) in [(7_000, 3_000), (7_000, 9_000), (8_000, 3_000)] {
        let mut phone = Phone::new();
        phone.run(400);
        phone.user("Hello?");
        phone.run(begins_ms);
        phone.sounds(held_music(plays_ms as usize));
        phone.run(plays_ms + 1_000);
        assert!(phone.count(started) > 1, "the detector takes its beginning for a voice");
        let unclear = phone.count(|event| matches!(event, SessionEvent::UtteranceEnded(turn) if turn.damaged));
        assert_eq!(unclear, 0, "{:?}", phone.events);
        phone.run(600);
        let length = phone.user("Friday.");
        phone.run(length + 1_000);
        assert_eq!(phone.texts().last(), Some(&"Friday."), "{:?}", phone.events);
    }
}
