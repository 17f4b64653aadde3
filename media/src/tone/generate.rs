//! Generates the tones of a telephone line at 8 kHz: a beep, ringing, busy, keys.

use std::f64::consts::TAU;

const SAMPLES_PER_MS: u32 = 8;
/// Amplitude of a single tone: -12 dBFS.
const AMPLITUDE: f64 = 8_230.0;
/// Amplitude of each of a key's two tones: -10 dBm0, where mu-law's loudest sine has 3.17 dBm0 (ITU-T G.711).
/// A receiver accepts 0 to -25 dBm (Q.24, as most networks).
const KEY_AMPLITUDE: f64 = 7_190.0;
/// Duration of a key and of the silence after it. Q.24 asks for at least 40 ms of each.
const KEY_MS: u32 = 100;
/// Duration of a `w` among keys.
const PAUSE_MS: u32 = 500;

/// The keys by row and column, and the frequencies of rows and columns.
pub(super) const KEYS: [&str; 4] = ["123A", "456B", "789C", "*0#D"];
pub(super) const ROWS_HZ: [f32; 4] = [697.0, 770.0, 852.0, 941.0];
pub(super) const COLUMNS_HZ: [f32; 4] = [1_209.0, 1_336.0, 1_477.0, 1_633.0];

/// Returns simultaneous sines of `ms`, together as loud as a single one.
pub fn tones(frequencies_hz: &[f32], ms: u32) -> Vec<i16> {
    let amplitude = AMPLITUDE / frequencies_hz.len().max(1) as f64;
    let sample = |n: u32| {
        let seconds = f64::from(n) / 8_000.0;
        let sum: f64 = frequencies_hz
            .iter()
            .map(|&hz| (TAU * f64::from(hz) * seconds).sin())
            .sum();
        (amplitude * sum).round() as i16
    };
    (0..ms * SAMPLES_PER_MS).map(sample).collect()
}

/// Returns an answering machine's beep.
pub fn beep(frequency_hz: f32, ms: u32) -> Vec<i16> {
    tones(&[frequency_hz], ms)
}

/// Returns the ringing tone of North America for the caller: 440 and 480 Hz, 2 s in every 6.
pub fn ringback(ms: u32) -> Vec<i16> {
    cadence(&[440.0, 480.0], ms, 2_000, 6_000)
}

/// Returns the busy tone of North America: 480 and 620 Hz, half a second in every second.
pub fn busy(ms: u32) -> Vec<i16> {
    cadence(&[480.0, 620.0], ms, 500, 1_000)
}

/// Returns a key's two tones, or silence for an invalid key.
pub fn dtmf(key: char, ms: u32) -> Vec<i16> {
    tones_of(key).map_or_else(
        || vec![0; (ms * SAMPLES_PER_MS) as usize],
        |(row_hz, column_hz)| tones(&[row_hz, column_hz], ms),
    )
}

/// Returns the tones of successive keys at 8000 Hz or a multiple of it. Each sounds for 100 ms, followed by
/// 100 ms of silence. A `w` is a pause of half a second; invalid keys are left out.
pub fn keys(keys: &str, sample_rate: u32) -> Vec<i16> {
    let samples = |ms: u32| (sample_rate / 1_000 * ms) as usize;
    let mut all = Vec::new();
    for key in keys.chars() {
        if matches!(key, 'w' | 'W') {
            all.resize(all.len() + samples(PAUSE_MS), 0);
        } else if let Some((row_hz, column_hz)) = tones_of(key) {
            let tone = |hz: f32, n: usize| (TAU * f64::from(hz) * n as f64 / f64::from(sample_rate)).sin();
            let both = |n: usize| (KEY_AMPLITUDE * (tone(row_hz, n) + tone(column_hz, n))).round() as i16;
            all.extend((0..samples(KEY_MS)).map(both));
            all.resize(all.len() + samples(KEY_MS), 0);
        }
    }
    all
}

/// Returns the two frequencies of a key (ITU-T Q.23), of its row and of its column.
fn tones_of(key: char) -> Option<(f32, f32)> {
    let place = |(row, keys): (usize, &&str)| Some((row, keys.find(key)?));
    let (row, column) = KEYS.iter().enumerate().find_map(place)?;
    Some((*ROWS_HZ.get(row)?, *COLUMNS_HZ.get(column)?))
}

fn cadence(frequencies_hz: &[f32], ms: u32, on_ms: u32, period_ms: u32) -> Vec<i16> {
    let mut samples = tones(frequencies_hz, ms);
    for (n, sample) in samples.iter_mut().enumerate() {
        if n % (period_ms * SAMPLES_PER_MS) as usize >= (on_ms * SAMPLES_PER_MS) as usize {
            *sample = 0;
        }
    }
    samples
}
