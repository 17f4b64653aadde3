//! Sound behind a caller, endless and the same for a seed.

use media::babble::{Speaker, UnsupportedRate, Voice};

use super::{PER_MS, rms};
use crate::{caller::Noise, chance::Chance};

/// Root mean square of a caller's voice, to which levels refer.
const VOICE_RMS: f64 = 3_000.0;

/// Milliseconds after which the sound begins anew.
const LOOP_MS: usize = 11_000;

/// Words of the people in the room: babble carries any.
const ROOM: &str = "lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt ut labore \
                    et dolore magna aliqua ut enim ad minim veniam quis nostrud exercitation ullamco laboris";

/// Sound behind a caller.
#[derive(Debug, Clone)]
pub struct Background {
    samples: Vec<i16>,
    at: usize,
}

impl Background {
    /// Makes the sound of a caller with this loudness.
    ///
    /// # Errors
    /// Returns an error if babble refuses the rate of 8 kHz.
    pub fn new(noise: Noise, gain: f64, chance: &mut Chance) -> Result<Self, UnsupportedRate> {
        let samples = match noise {
            Noise::Clean => Vec::new(),
            Noise::Street(db) => level(&street(chance), gain, db),
            Noise::Room(db) => level(&room(chance)?, gain, db),
        };
        Ok(Self { samples, at: 0 })
    }

    /// Adds the sound to the next samples of the line.
    pub fn add_to(&mut self, frame: &mut [i16]) {
        if self.samples.is_empty() {
            return;
        }
        for sample in frame {
            *sample = sample.saturating_add(self.samples[self.at]);
            self.at = (self.at + 1) % self.samples.len();
        }
    }
}

/// Brings samples to a level below the voice.
fn level(samples: &[f64], gain: f64, below_db: f64) -> Vec<i16> {
    let power = samples.iter().map(|sample| sample * sample).sum::<f64>() / samples.len().max(1) as f64;
    let wanted = VOICE_RMS * gain * 10.0_f64.powf(-below_db / 20.0);
    let scale = wanted / power.sqrt().max(f64::MIN_POSITIVE);
    samples
        .iter()
        .map(|sample| (sample * scale).clamp(-30_000.0, 30_000.0) as i16)
        .collect()
}

/// Returns traffic: low noise that swells when a car passes, and hiss.
fn street(chance: &mut Chance) -> Vec<f64> {
    let (mut low, mut swell, mut goal) = (0.0, 0.5, 0.5);
    (0..LOOP_MS * PER_MS)
        .map(|at| {
            if at % (700 * PER_MS) == 0 {
                goal = chance.within(0.25, 1.0);
            }
            swell += (goal - swell) / 4_000.0;
            let white = chance.within(-1.0, 1.0);
            low = 0.93 * low + 0.07 * white;
            swell * (4.0 * low + 0.12 * white)
        })
        .collect()
}

/// Returns three people who talk at once.
fn room(chance: &mut Chance) -> Result<Vec<f64>, UnsupportedRate> {
    let mut sum = vec![0.0; LOOP_MS * PER_MS];
    for _ in 0..3 {
        let mut speaker = Speaker::new(ROOM, Voice::new(chance.within(105.0, 165.0) as f32), 8_000)?;
        let mut at = chance.index(sum.len());
        let mut left = sum.len();
        while let Some(chunk) = speaker.next_chunk(1_600).filter(|_| left > 0) {
            let scale = 1.0 / rms(&chunk).max(500.0);
            for sample in chunk.iter().take(left) {
                sum[at] += f64::from(*sample) * scale;
                at = (at + 1) % sum.len();
            }
            left = left.saturating_sub(chunk.len());
        }
    }
    Ok(sum)
}
