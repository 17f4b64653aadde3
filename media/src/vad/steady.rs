//! Detects tones of the telephone network (ringback, busy) and whistles, which the voice detector takes for
//! voice. One or two pure tones can be predicted almost exactly from four samples; a voice, with its many
//! harmonics and noise, cannot.

/// Number of samples from which the next is predicted: two for each tone.
const ORDER: usize = 4;

/// Share of the power that prediction leaves for a tone: 20 dB less. Mu-law allows 35 dB, voices in the field 5 to 18.
const LEFT: f32 = 0.01;

/// Number of successive blocks that make a tone within voice: 80 ms. Without voice before it one is enough,
/// since voice opens with the next block.
const BLOCKS: u32 = 5;

/// Detects tones block by block.
#[derive(Debug, Default)]
pub(super) struct Steady {
    foretold: u32,
}

impl Steady {
    /// Returns whether this block belongs to a tone. `in_voice` tells whether there was voice before it.
    pub(super) fn is_tone(&mut self, block: &[i16], in_voice: bool) -> bool {
        self.foretold = match unforetold(block) < LEFT {
            true => self.foretold.saturating_add(1),
            false => 0,
        };
        self.foretold >= if in_voice { BLOCKS } else { 1 }
    }
}

/// Returns the share of the power that linear prediction leaves (covariance method: exact for tones in a short block).
fn unforetold(block: &[i16]) -> f32 {
    let mut sums = [[0.0f32; ORDER + 1]; ORDER + 1];
    for window in block.windows(ORDER + 1) {
        let x: [f32; ORDER + 1] = std::array::from_fn(|i| f32::from(window[i]) / 1_024.0);
        for (row, &a) in sums.iter_mut().zip(&x) {
            for (sum, &b) in row.iter_mut().zip(&x) {
                *sum += a * b;
            }
        }
    }
    // The part of the last sample's power that remains after elimination is not predicted by the others.
    let all = sums[ORDER][ORDER];
    for at in 0..ORDER {
        let pivot = sums[at][at];
        if pivot <= all * 1.0e-6 {
            continue;
        }
        let eliminated = sums[at];
        for row in &mut sums[at + 1..=ORDER] {
            let factor = row[at] / pivot;
            for (value, above) in row[at..].iter_mut().zip(&eliminated[at..]) {
                *value -= factor * above;
            }
        }
    }
    if all > 0.0 { sums[ORDER][ORDER] / all } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use std::f64::consts::TAU;

    use super::*;
    use crate::{
        babble::{Speaker, Voice},
        codec,
        format::Encoding,
    };

    fn through_mu_law(samples: &[i16]) -> Vec<i16> {
        let (mut bytes, mut out) = (Vec::new(), Vec::new());
        codec::encode(Encoding::MuLaw, samples, &mut bytes);
        codec::decode(Encoding::MuLaw, &bytes, &mut out);
        out
    }

    fn tone(hz: &[f64], amplitude: f64) -> Vec<i16> {
        let sum = |n: usize| hz.iter().map(|hz| (TAU * hz * n as f64 / 8_000.0).sin()).sum::<f64>();
        (0..8_000).map(|n| (sum(n) * amplitude) as i16).collect()
    }

    #[test]
    fn tones_of_the_network_are_foretold_and_a_voice_is_not() {
        for hz in [
            &[425.0][..],
            &[440.0, 480.0],
            &[480.0, 620.0],
            &[350.0, 440.0],
            &[1_000.0],
        ] {
            for amplitude in [300.0, 2_000.0, 8_000.0] {
                let tone = through_mu_law(&tone(hz, amplitude));
                let left = tone.chunks_exact(128).map(unforetold).fold(0.0, f32::max);
                assert!(left < LEFT, "{hz:?} {amplitude} {left}");
            }
        }
        for f0 in [105.0, 130.0, 165.0] {
            let mut speaker = Speaker::new("Good morning, is this a good time?", Voice::new(f0), 8_000).unwrap();
            let mut samples = Vec::new();
            while let Some(chunk) = speaker.next_chunk(1_600) {
                samples.extend(chunk);
            }
            let mut steady = Steady::default();
            let samples = through_mu_law(&samples);
            let tones = samples
                .chunks_exact(128)
                .filter(|block| steady.is_tone(block, true))
                .count();
            assert_eq!(tones, 0, "{f0}");
            let opening = samples.chunks_exact(128).take(10);
            assert_eq!(opening.filter(|block| unforetold(block) < LEFT).count(), 0, "{f0}");
        }
    }
}
