//! Beeps are found on both kinds of line and in noise, and no other sound of a line counts as one.

use std::f64::consts::TAU;

use proptest::prelude::*;

use super::*;
use crate::{
    babble::{Speaker, Voice},
    codec,
    format::Encoding,
};

/// Samples of 100 ms at 8 kHz: the longest delay of a report.
const LATEST: usize = 800;

fn over_the_line(samples: &[i16]) -> Vec<i16> {
    let (mut bytes, mut line) = (Vec::new(), Vec::new());
    codec::encode(Encoding::MuLaw, samples, &mut bytes);
    codec::decode(Encoding::MuLaw, &bytes, &mut line);
    line
}

fn tones(samples: &[i16], chunk: usize) -> Vec<Beep> {
    let (line, mut beeps) = (over_the_line(samples), Vec::new());
    let mut detector = BeepDetector::new();
    for piece in line.chunks(chunk) {
        detector.push(piece, &mut beeps);
    }
    detector.push(&[0; LATEST], &mut beeps);
    beeps
}

/// Returns the tones that stand alone, which an answering machine may have sent.
fn beeps(samples: &[i16], chunk: usize) -> Vec<Beep> {
    let mut beeps = tones(samples, chunk);
    beeps.retain(|beep| beep.alone);
    beeps
}

fn noise(samples: usize, amplitude: i32, seed: u32) -> Vec<i16> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        ((state >> 16) as i32 * 2 * amplitude / 65_536 - amplitude) as i16
    };
    (0..samples).map(|_| next()).collect()
}

fn add(line: &mut [i16], noise: &[i16]) {
    for (sample, noise) in line.iter_mut().zip(noise) {
        *sample = sample.saturating_add(*noise);
    }
}

fn speech(text: &str, name: &str) -> Vec<i16> {
    let mut speaker = Speaker::new(text, Voice::named(name), 8_000).unwrap();
    let mut line = Vec::new();
    while let Some(chunk) = speaker.next_chunk(1_600) {
        line.extend(chunk);
    }
    line
}

/// Returns a note with its overtones, as loud as an instrument on hold.
fn note(hz: f64, ms: u32, overtones: &[f64]) -> Vec<i16> {
    let sample = |n: u32| {
        let at = TAU * hz * f64::from(n) / 8_000.0;
        let over: f64 = (2..)
            .zip(overtones)
            .map(|(k, gain)| gain * (at * f64::from(k)).sin())
            .sum();
        (5_000.0 * (at.sin() + over)) as i16
    };
    (0..ms * 8).map(sample).collect()
}

#[test]
fn no_other_sound_of_a_line_is_a_beep() {
    let digits: Vec<i16> = "0123456789*#ABCD"
        .chars()
        .flat_map(|key| generate::dtmf(key, 400))
        .collect();
    let duet: Vec<i16> = generate::tones(&[1_000.0], 600)
        .iter()
        .zip(generate::tones(&[1_600.0], 600))
        .map(|(&loud, soft)| loud + soft / 2)
        .collect();
    let melody: Vec<i16> = [440.0, 523.0, 659.0, 784.0, 659.0, 523.0]
        .iter()
        .flat_map(|&hz| note(hz, 350, &[]))
        .collect();
    let sounds = [
        ("a tone with a softer companion", duet),
        ("a melody of pure tones", melody),
        ("ringback", generate::ringback(12_000)),
        ("busy", generate::busy(6_000)),
        ("425 Hz ringing", generate::tones(&[425.0], 1_000)),
        ("a fax that answers", generate::tones(&[2_100.0], 2_600)),
        ("DTMF", digits),
        ("white noise", noise(80_000, 8_000, 1)),
        ("dial tone", generate::tones(&[350.0, 440.0], 3_000)),
        ("50 Hz hum", generate::tones(&[50.0], 3_000)),
        ("digital silence", vec![0; 8_000]),
        ("a tick of 60 ms", generate::beep(1_000.0, 60)),
    ];
    for (name, samples) in sounds {
        for offset in [0, 13, 41] {
            let mut line = vec![0; offset];
            line.extend(&samples);
            assert_eq!(beeps(&line, 160), [], "{name}");
        }
    }
}

#[test]
fn the_three_tones_of_an_announcement_are_found_and_none_is_alone() {
    let mut line = Vec::new();
    for (hz, ms) in [(913.8, 276), (1_370.6, 276), (1_776.7, 380)] {
        line.extend(generate::tones(&[hz], ms));
    }
    let found = tones(&line, 160);
    let pitches: Vec<_> = found
        .iter()
        .map(|beep| (beep.frequency_hz / 10.0).round() as u32)
        .collect();
    assert_eq!(pitches, [91, 137, 178], "{found:?}");
    assert!(found.iter().all(|beep| !beep.alone), "{found:?}");
}

#[test]
fn speech_is_no_beep() {
    for name in ["a", "b", "c", "d"] {
        let text = "Please leave a message after the tone, and we will call you back. ".repeat(4);
        assert_eq!(beeps(&speech(&text, name), 160), []);
    }
}

#[test]
fn a_beep_in_a_noisy_line_after_speech_is_found_where_it_is() {
    let mut line = speech("Leave a message.", "x");
    line.extend([0; 4_000]);
    let start = line.len() as u64;
    line.extend(generate::beep(1_400.0, 300));
    line.extend([0; 4_000]);
    let hiss = noise(line.len(), 300, 1);
    add(&mut line, &hiss);
    let found = beeps(&line, 160);
    assert_eq!(found.len(), 1);
    assert!((found[0].frequency_hz - 1_400.0).abs() < 10.0, "{found:?}");
    assert!(found[0].start_sample.abs_diff(start) <= 80 && found[0].end_sample.abs_diff(start + 2_400) <= 160);
}

#[test]
fn a_beep_is_announced_only_when_it_has_ended() {
    let mut detector = BeepDetector::new();
    let mut found = Vec::new();
    detector.push(&generate::beep(900.0, 500), &mut found);
    assert!(found.is_empty() && detector.is_sounding());
    detector.push(&[0; LATEST], &mut found);
    assert!(found.len() == 1 && !detector.is_sounding());
}

#[test]
fn a_wide_line_is_heard_as_well() {
    let mut detector = BeepDetector::for_rate(16_000);
    let mut found = Vec::new();
    let tone = |n: usize| (8_000.0 * (TAU * 2_000.0 * n as f64 / 16_000.0).sin()) as i16;
    let mut line = vec![0; 3_200];
    line.extend((0..4_800).map(tone));
    line.extend([0; 2 * LATEST]);
    let hiss = noise(line.len(), 600, 3);
    add(&mut line, &hiss);
    for piece in line.chunks(320) {
        detector.push(piece, &mut found);
    }
    assert_eq!(found.len(), 1, "{found:?}");
    let beep = found[0];
    assert!((beep.frequency_hz - 2_000.0).abs() < 6.0, "{beep:?}");
    assert!(
        beep.start_sample.abs_diff(3_200) <= 320 && beep.end_sample.abs_diff(8_000) <= 320,
        "{beep:?}"
    );
}

/// Returns a beep 15 dB above white noise.
fn in_noise(hz: f32, ms: u32, seed: u32) -> Vec<i16> {
    let mut line = vec![0; 1_600];
    line.extend(generate::beep(hz, ms));
    line.extend([0; 1_600]);
    let hiss = noise(line.len(), 1_780, seed);
    add(&mut line, &hiss);
    line
}

/// A frame holds four periods of such a tone, and noise blurs its pitch.
#[test]
fn of_the_lowest_beeps_in_noise_one_in_fifty_at_most_is_missed() {
    let found = |seed: u32| {
        let hz = 350.0 + (seed % 50) as f32;
        beeps(&in_noise(hz, 150 + seed % 1_250, seed * 7_919), 160).len() == 1
    };
    let missed = (0..1_000).filter(|&seed| !found(seed)).count();
    assert!(missed <= 20, "{missed} of 1000");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_beep_is_found_once_and_in_time(
        hz in prop_oneof![350.0f32..405.0, 445.0f32..2_100.0],
        ms in 100u32..1_500,
        offset in 0usize..400,
        chunk in 1usize..500,
    ) {
        let mut line = vec![0; offset];
        line.extend(generate::beep(hz, ms));
        let found = beeps(&line, chunk);
        prop_assert_eq!(found.len(), 1);
        prop_assert!((found[0].frequency_hz - hz).abs() < 6.0, "{} heard as {:?}", hz, found);
    }

    /// 15 dB above white noise, which is a bad line.
    #[test]
    fn beeps_in_noise_are_found(
        hz in 450.0f32..2_080.0,
        ms in 150u32..1_400,
        seed in any::<u32>(),
    ) {
        let found = beeps(&in_noise(hz, ms, seed), 160);
        prop_assert_eq!(found.len(), 1, "{:?}", found);
    }

    #[test]
    fn speech_of_any_voice_and_music_with_overtones_are_no_beep(
        text in "[a-z]{1,9}( [a-z]{1,9}){2,12}",
        voice in "[a-z]{3}",
        notes in proptest::collection::vec((120.0f64..900.0, 80u32..1_200), 1..8),
        second in 0.4f64..1.0,
        third in 0.1f64..0.8,
    ) {
        prop_assert_eq!(beeps(&speech(&text, &voice), 160), []);
        let music: Vec<i16> = notes.iter().flat_map(|&(hz, ms)| note(hz, ms, &[second, third])).collect();
        prop_assert_eq!(beeps(&music, 160), []);
    }
}
