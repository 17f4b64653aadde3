//! Finds telephone keys in the audio of a line of 8 kHz.

use std::f32::consts::TAU;

use super::generate::{COLUMNS_HZ, KEYS, ROWS_HZ};

/// Samples per second.
const RATE_HZ: f32 = 8_000.0;
/// Samples judged together: 20 ms, which separates the tones of two rows.
const FRAME: usize = 160;
/// Successive frames of a key until it counts: about 40 ms (ITU-T Q.24).
const FRAMES: u32 = 2;
/// Least share of the energy at the key's two frequencies. Voices have energy elsewhere too.
const PURITY: f32 = 0.8;
/// Largest power ratio (9 dB) between the two tones.
const TWIST: f32 = 8.0;
/// Mean square below which there is silence: RMS 150, or -47 dBFS.
const FLOOR: f32 = 150.0 * 150.0;

/// Listens for keys.
#[derive(Debug, Clone, Default)]
pub struct KeyDetector {
    frame: Vec<f32>,
    /// The key of the last frames, and their number.
    running: Option<(char, u32)>,
}

impl KeyDetector {
    /// Takes any number of samples. Each key is reported once, while it still sounds.
    pub fn push(&mut self, samples: &[i16], pressed: &mut Vec<char>) {
        for &sample in samples {
            self.frame.push(f32::from(sample));
            if self.frame.len() == FRAME {
                let key = key_of(&self.frame);
                self.frame.clear();
                self.judged(key, pressed);
            }
        }
    }

    fn judged(&mut self, key: Option<char>, pressed: &mut Vec<char>) {
        self.running = match (key, self.running) {
            (Some(key), Some((running, frames))) if key == running => Some((key, frames + 1)),
            (Some(key), _) => Some((key, 1)),
            (None, _) => None,
        };
        if let Some((key, FRAMES)) = self.running {
            pressed.push(key);
        }
    }
}

/// Returns the key that sounds in a frame, if there is almost nothing else.
fn key_of(frame: &[f32]) -> Option<char> {
    let energy: f32 = frame.iter().map(|sample| sample * sample).sum();
    if energy < FLOOR * frame.len() as f32 {
        return None;
    }
    let (row, row_power) = loudest(frame, &ROWS_HZ)?;
    let (column, column_power) = loudest(frame, &COLUMNS_HZ)?;
    // A sine of amplitude A has |X|^2 = (A N / 2)^2 and the energy A^2 N / 2.
    let share = 2.0 * (row_power + column_power) / (frame.len() as f32 * energy);
    let twist = row_power / column_power;
    let sounds = share >= PURITY && (1.0 / TWIST..=TWIST).contains(&twist);
    KEYS.get(row)?.chars().nth(column).filter(|_| sounds)
}

fn loudest(frame: &[f32], frequencies_hz: &[f32]) -> Option<(usize, f32)> {
    let powers = frequencies_hz.iter().map(|&hz| power(frame, hz)).enumerate();
    powers.max_by(|(_, one), (_, other)| one.total_cmp(other))
}

/// Returns the power at one frequency (Goertzel).
fn power(frame: &[f32], hz: f32) -> f32 {
    let turn = 2.0 * (TAU * hz / RATE_HZ).cos();
    let (mut last, mut before) = (0.0_f32, 0.0_f32);
    for sample in frame {
        (last, before) = (sample + turn * last - before, last);
    }
    last * last + before * before - turn * last * before
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{
        babble::{Speaker, Voice},
        codec,
        format::Encoding,
        tone::generate,
    };

    fn heard(samples: &[i16]) -> String {
        let mut pressed = Vec::new();
        let mut detector = KeyDetector::default();
        // Over a telephone line, in odd pieces.
        let mut line = Vec::new();
        codec::encode(Encoding::MuLaw, samples, &mut line);
        for piece in line.chunks(123) {
            let mut decoded = Vec::new();
            codec::decode(Encoding::MuLaw, piece, &mut decoded);
            detector.push(&decoded, &mut pressed);
        }
        pressed.into_iter().collect()
    }

    #[test]
    fn voices_and_other_tones_are_no_keys() {
        let text = "Thank you for calling Northwind. For sales, press 1. For service, press 2, or hold the line.";
        for name in ["a", "Maria", "+15551234567"] {
            let mut speaker = Speaker::new(text, Voice::named(name), 8_000).unwrap();
            let mut samples = Vec::new();
            while let Some(chunk) = speaker.next_chunk(160) {
                samples.extend(chunk);
            }
            assert_eq!(heard(&samples), "", "{name}");
        }
        for tone in [
            generate::beep(941.0, 500),
            generate::ringback(2_000),
            generate::busy(2_000),
        ] {
            assert_eq!(heard(&tone), "");
        }
    }

    #[test]
    fn a_pause_among_keys_lasts_half_a_second() {
        let plain = generate::keys("12", 8_000).len();
        assert_eq!(plain, 2 * 200 * 8);
        assert_eq!(generate::keys("1w2", 8_000).len(), plain + 500 * 8);
        assert_eq!(generate::keys("1x", 16_000).len(), 200 * 16);
        assert_eq!(heard(&generate::keys("1w2", 8_000)), "12");
    }

    proptest! {
        #[test]
        fn keys_that_were_pressed_are_heard_once_each_wherever_they_begin(
            keys in "[0-9A-D*#]{0,8}", silence in 0..400_usize, softer in 1..8_i16,
        ) {
            let mut samples = vec![0; silence];
            samples.extend(generate::keys(&keys, 8_000).iter().map(|sample| sample / softer));
            samples.extend([0; 400]);
            prop_assert_eq!(heard(&samples), keys);
        }
    }
}
