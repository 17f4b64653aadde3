//! Tones on a line: finds the beep of an answering machine, at 8 kHz.

pub mod generate;

use std::f32::consts::TAU;

/// Samples a second.
const RATE_HZ: f32 = 8_000.0;
/// Samples judged together: 10 ms.
const FRAME: usize = 80;
/// A beep lasts at least so many whole frames: those that fit into 150 ms wherever it starts.
const FEWEST_FRAMES: u64 = 14;
/// Where a beep's pitch may lie, in Hz.
const PITCH_HZ: std::ops::RangeInclusive<f32> = 300.0..=2_000.0;
/// The single tone of ringing and busy in most of the world, in Hz: never a beep.
const CALL_PROGRESS_HZ: std::ops::RangeInclusive<f32> = 415.0..=435.0;
/// Share of the energy that must lie at one frequency.
const PURITY: f32 = 0.9;
/// A beep's pitch moves by no more than this share of itself.
const PITCH_DRIFT: f32 = 0.03;
/// A beep's level moves by no more than this factor (3 dB in power) from one frame to the next.
const LEVEL_DRIFT: f32 = 2.0;
/// Mean square below which there is nothing to hear: RMS 150, or -47 dBFS.
const FLOOR: f32 = 150.0 * 150.0;

/// A beep that has ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Beep {
    /// Its pitch.
    pub frequency_hz: f32,
    /// Its first sample, counted from the start of the stream, to within 10 ms.
    pub start_sample: u64,
    /// One past its last sample, to within 10 ms.
    pub end_sample: u64,
}

/// A frame that holds one tone and next to nothing else.
#[derive(Debug, Clone, Copy)]
struct Pure {
    hz: f32,
    level: f32,
}

/// A tone that lasts.
#[derive(Debug, Clone, Copy)]
struct Running {
    hz: f32,
    level: f32,
    start: u64,
    frames: u64,
}

/// Finds single steady tones of at least 150 ms. The three tones before a carrier's announcement are each such a tone:
/// several in a row with less than a second in between are no answering machine's.
#[derive(Debug, Clone, Default)]
pub struct BeepDetector {
    frame: Vec<f32>,
    /// Samples judged so far.
    position: u64,
    running: Option<Running>,
}

impl BeepDetector {
    /// A detector that has heard nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Listens to samples at 8 kHz, in pieces of any length, and appends every beep that has ended.
    pub fn push(&mut self, samples: &[i16], beeps: &mut Vec<Beep>) {
        for &sample in samples {
            self.frame.push(f32::from(sample));
            if self.frame.len() == FRAME {
                let pure = pure_tone(&self.frame);
                beeps.extend(self.next(pure));
                self.frame.clear();
                self.position += FRAME as u64;
            }
        }
    }

    /// Whether a tone that is long enough for a beep sounds just now.
    pub fn is_sounding(&self) -> bool {
        self.running.is_some_and(|running| running.frames >= FEWEST_FRAMES)
    }

    fn next(&mut self, pure: Option<Pure>) -> Option<Beep> {
        if let (Some(running), Some(pure)) = (&mut self.running, pure) {
            let steady = (pure.hz - running.hz).abs() <= PITCH_DRIFT * running.hz;
            let level = pure.level / running.level;
            if steady && (1.0 / LEVEL_DRIFT..=LEVEL_DRIFT).contains(&level) {
                running.frames += 1;
                running.level = pure.level;
                running.hz += (pure.hz - running.hz) / running.frames as f32;
                return None;
            }
        }
        let ended = self.running.take();
        self.running = pure.map(|pure| Running {
            hz: pure.hz,
            level: pure.level,
            start: self.position,
            frames: 1,
        });
        ended
            .filter(|tone| tone.frames >= FEWEST_FRAMES && !CALL_PROGRESS_HZ.contains(&tone.hz))
            .map(|tone| Beep {
                frequency_hz: tone.hz,
                start_sample: tone.start,
                end_sample: self.position,
            })
    }
}

fn pure_tone(frame: &[f32]) -> Option<Pure> {
    let energy: f32 = frame.iter().map(|sample| sample * sample).sum();
    if energy < FLOOR * frame.len() as f32 {
        return None;
    }
    let guess = rough_pitch(frame)?;
    // The tone's phase moves between the two halves of the frame by what the guess is off.
    let (early, late) = frame.split_at(frame.len() / 2);
    let moved = (goertzel(late, guess).angle() - goertzel(early, guess).angle()) / TAU;
    let expected = guess * early.len() as f32 / RATE_HZ;
    let off = moved - expected;
    let hz = guess + (off - off.round()) * RATE_HZ / early.len() as f32;
    if !PITCH_HZ.contains(&hz) {
        return None;
    }
    let purity = 2.0 * goertzel(frame, hz).power() / (frame.len() as f32 * energy);
    (purity >= PURITY).then_some(Pure {
        hz,
        level: energy / frame.len() as f32,
    })
}

/// The pitch of the sine that fits best: for a sine, x[n] + x[n-2] = 2 cos(w) x[n-1].
fn rough_pitch(frame: &[f32]) -> Option<f32> {
    let (mut cross, mut square) = (0.0, 0.0);
    for three in frame.windows(3) {
        cross += three[1] * (three[0] + three[2]);
        square += three[1] * three[1];
    }
    let cosine = cross / (2.0 * square);
    (-1.0..=1.0).contains(&cosine).then(|| cosine.acos() / TAU * RATE_HZ)
}

/// One frequency of a frame, referred to the frame's first sample.
struct Phasor {
    re: f32,
    im: f32,
}

impl Phasor {
    fn angle(&self) -> f32 {
        self.im.atan2(self.re)
    }

    fn power(&self) -> f32 {
        self.re * self.re + self.im * self.im
    }
}

/// Goertzel's algorithm for any frequency, run from the back so that the phase refers to the first sample.
fn goertzel(samples: &[f32], hz: f32) -> Phasor {
    let (sine, cosine) = (TAU * hz / RATE_HZ).sin_cos();
    let (mut newer, mut older) = (0.0, 0.0);
    for &sample in samples.iter().rev() {
        (newer, older) = (sample + 2.0 * cosine * newer - older, newer);
    }
    // The recurrence over reversed samples sums x[n] e^(jwn).
    Phasor {
        re: newer - older * cosine,
        im: -older * sine,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{
        babble::{Speaker, Voice},
        codec,
        format::Encoding,
    };

    fn beeps(samples: &[i16], chunk: usize) -> Vec<Beep> {
        let (mut bytes, mut line, mut beeps) = (Vec::new(), Vec::new(), Vec::new());
        codec::encode(Encoding::MuLaw, samples, &mut bytes);
        codec::decode(Encoding::MuLaw, &bytes, &mut line);
        let mut detector = BeepDetector::new();
        for piece in line.chunks(chunk) {
            detector.push(piece, &mut beeps);
        }
        detector.push(&[0; 2 * FRAME], &mut beeps);
        beeps
    }

    fn noise(samples: usize, amplitude: i32) -> Vec<i16> {
        let mut state = 1u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            ((state >> 16) as i32 * 2 * amplitude / 65_536 - amplitude) as i16
        };
        (0..samples).map(|_| next()).collect()
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
        let sounds = [
            ("a tone with a softer companion", duet),
            ("ringback", generate::ringback(12_000)),
            ("busy", generate::busy(6_000)),
            ("425 Hz ringing", generate::tones(&[425.0], 1_000)),
            ("DTMF", digits),
            ("white noise", noise(80_000, 8_000)),
            ("dial tone", generate::tones(&[350.0, 440.0], 3_000)),
            ("50 Hz hum", generate::tones(&[50.0], 3_000)),
            ("digital silence", vec![0; 8_000]),
            ("a tick of 100 ms", generate::beep(1_000.0, 100)),
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
    fn speech_is_no_beep() {
        for name in ["a", "b", "c", "d"] {
            let text = "Please leave a message after the tone, and we will call you back. ".repeat(4);
            let mut speaker = Speaker::new(&text, Voice::named(name), 8_000).unwrap();
            let mut line = Vec::new();
            while let Some(chunk) = speaker.next_chunk(1_600) {
                line.extend(chunk);
            }
            assert_eq!(beeps(&line, 160), []);
        }
    }

    #[test]
    fn a_beep_in_a_noisy_line_after_speech_is_found_where_it_is() {
        let mut speaker = Speaker::new("Leave a message.", Voice::named("x"), 8_000).unwrap();
        let mut line = Vec::new();
        while let Some(chunk) = speaker.next_chunk(1_600) {
            line.extend(chunk);
        }
        line.extend([0; 4_000]);
        let start = line.len() as u64;
        line.extend(generate::beep(1_400.0, 300));
        line.extend([0; 4_000]);
        for (sample, noise) in line.iter_mut().zip(noise(40_000, 300)) {
            *sample += noise;
        }
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
        detector.push(&[0; 160], &mut found);
        assert!(found.len() == 1 && !detector.is_sounding());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn every_beep_from_150_ms_is_found_once(
            hz in prop_oneof![310.0f32..405.0, 445.0f32..1_990.0],
            ms in 150u32..900,
            offset in 0usize..400,
            chunk in 1usize..500,
        ) {
            let mut line = vec![0; offset];
            line.extend(generate::beep(hz, ms));
            line.extend([0; 400]);
            let found = beeps(&line, chunk);
            prop_assert_eq!(found.len(), 1);
            prop_assert!((found[0].frequency_hz - hz).abs() < 6.0, "{} heard as {:?}", hz, found);
        }
    }
}
