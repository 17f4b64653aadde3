//! Sounds that are no words: a steady vowel, a cough, laughter.

use std::f64::consts::TAU;

use crate::{caller::Caller, chance::Chance};

/// Samples a second.
const RATE: f64 = 8_000.0;

/// Root mean square of a vowel: that of babble.
const VOWEL_RMS: f64 = 3_270.0;

/// Formants of a neutral vowel: middle in Hz, width in Hz, level.
const FORMANTS: [(f64, f64, f64); 3] = [(520.0, 110.0, 1.0), (1_480.0, 140.0, 0.5), (2_500.0, 180.0, 0.25)];

/// Highest harmonic in Hz.
const HIGHEST_HZ: f64 = 3_300.0;

/// Samples over which a sound swells and fades.
const FADE: usize = 120;

/// Returns a neutral vowel whose pitch goes from one frequency to another.
pub(super) fn vowel(from_hz: f64, to_hz: f64, samples: usize) -> Vec<i16> {
    let count = (HIGHEST_HZ / from_hz.max(to_hz)) as usize;
    let level = |k: usize| -> f64 {
        let hz = k as f64 * from_hz;
        FORMANTS
            .iter()
            .map(|(middle, width, level)| level / (1.0 + ((hz - middle) / (width / 2.0)).powi(2)))
            .sum()
    };
    let levels: Vec<f64> = (1..=count).map(level).collect();
    let power: f64 = levels.iter().map(|level| level * level / 2.0).sum();
    let scale = VOWEL_RMS / power.sqrt().max(f64::MIN_POSITIVE);
    let mut phase = 0.0;
    (0..samples)
        .map(|at| {
            let share = at as f64 / samples.max(1) as f64;
            phase += TAU * (from_hz + share * (to_hz - from_hz)) / RATE;
            let sum: f64 = levels
                .iter()
                .enumerate()
                .map(|(k, level)| level * ((k + 1) as f64 * phase + (k * k) as f64).sin())
                .sum();
            (sum * scale * envelope(at, samples)).clamp(-16_000.0, 16_000.0) as i16
        })
        .collect()
}

/// Swells and fades over the ends.
fn envelope(at: usize, samples: usize) -> f64 {
    let near = at.min(samples.saturating_sub(at + 1)) as f64;
    (near / FADE as f64).min(1.0)
}

/// Returns a burst of breath: noise that is loud at once and dies out.
fn burst(samples: usize, level: f64, chance: &mut Chance) -> Vec<i16> {
    let mut low = 0.0;
    (0..samples)
        .map(|at| {
            low = 0.6 * low + 0.4 * chance.within(-1.0, 1.0);
            let share = at as f64 / samples as f64;
            let swell = (at as f64 / 80.0).min(1.0) * (-4.0 * share).exp();
            (low * level * swell).clamp(-24_000.0, 24_000.0) as i16
        })
        .collect()
}

/// Returns a cough: one to three bursts.
pub(super) fn cough(_: &Caller, chance: &mut Chance) -> Vec<i16> {
    let mut samples = Vec::new();
    for _ in 0..chance.between(1, 3) {
        let length = chance.between(1_200, 2_600) as usize;
        let level = chance.within(10_000.0, 30_000.0);
        samples.extend(burst(length, level, chance));
        let pause = chance.between(400, 1_600) as usize;
        samples.resize(samples.len() + pause, 0);
    }
    samples
}

/// Returns laughter: a row of breathy vowels, each lower than the one before.
pub(super) fn laughter(caller: &Caller, chance: &mut Chance) -> Vec<i16> {
    let mut pitch = caller.pitch_hz * chance.within(1.3, 1.8);
    let mut samples = Vec::new();
    for _ in 0..chance.between(3, 7) {
        samples.extend(burst(chance.between(350, 550) as usize, 9_000.0, chance));
        samples.extend(vowel(pitch, pitch * 0.9, chance.between(600, 1_000) as usize));
        samples.resize(samples.len() + chance.between(300, 600) as usize, 0);
        pitch *= chance.within(0.9, 1.0);
    }
    samples
}
