//! The tones of a telephone line at 8 kHz: a beep, ringing, busy, keys.

use std::f64::consts::TAU;

const SAMPLES_PER_MS: u32 = 8;
/// Amplitude of a single tone: -12 dBFS.
const AMPLITUDE: f64 = 8_230.0;

/// Sines at the same time, `ms` long, together as loud as one alone would be.
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

/// An answering machine's beep.
pub fn beep(frequency_hz: f32, ms: u32) -> Vec<i16> {
    tones(&[frequency_hz], ms)
}

/// What a caller hears while it rings in North America: 440 and 480 Hz, 2 s in every 6.
pub fn ringback(ms: u32) -> Vec<i16> {
    cadence(&[440.0, 480.0], ms, 2_000, 6_000)
}

/// Busy in North America: 480 and 620 Hz, half a second in every one.
pub fn busy(ms: u32) -> Vec<i16> {
    cadence(&[480.0, 620.0], ms, 500, 1_000)
}

/// A key's two tones; silence for what is no key.
pub fn dtmf(key: char, ms: u32) -> Vec<i16> {
    const KEYS: [&str; 4] = ["123A", "456B", "789C", "*0#D"];
    const ROWS_HZ: [f32; 4] = [697.0, 770.0, 852.0, 941.0];
    const COLUMNS_HZ: [f32; 4] = [1_209.0, 1_336.0, 1_477.0, 1_633.0];
    let place = KEYS
        .iter()
        .enumerate()
        .find_map(|(row, keys)| Some((row, keys.find(key)?)));
    place.map_or_else(
        || vec![0; (ms * SAMPLES_PER_MS) as usize],
        |(row, column)| tones(&[ROWS_HZ[row], COLUMNS_HZ[column]], ms),
    )
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
