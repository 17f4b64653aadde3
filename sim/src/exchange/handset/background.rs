//! The steady noise of all lines of an exchange, made once and shared by all phones. Pure.

use media::{codec, format::Encoding};

use crate::exchange::{audio::line::FRAME, protocol};

/// Samples per second.
const RATE: u32 = 8_000;

/// Sound of a line on which nobody speaks: silence, or a second of noise. All phones share it.
pub(crate) struct Background {
    payloads: Vec<String>,
    noise: Vec<i16>,
}

impl Background {
    /// Creates silence, or white noise of this level (root mean square, relative to full scale).
    pub(crate) fn new(noise_dbfs: Option<f64>) -> Self {
        let noise = noise_dbfs.map(white_noise).unwrap_or_default();
        let encoded = |samples: &[i16]| {
            let mut bytes = Vec::with_capacity(samples.len());
            codec::encode(Encoding::MuLaw, samples, &mut bytes);
            protocol::payload(&bytes)
        };
        let payloads = if noise.is_empty() {
            vec![encoded(&[0; FRAME])]
        } else {
            noise.chunks(FRAME).map(encoded).collect()
        };
        Self { payloads, noise }
    }

    /// Returns the payload of a frame without a voice.
    pub(crate) fn payload(&self, frame: usize) -> &str {
        &self.payloads[frame % self.payloads.len()]
    }

    /// Returns the payload of a frame with a voice (mu-law).
    pub(crate) fn beneath(&self, voice: &[u8], frame: usize) -> String {
        if self.noise.is_empty() {
            return protocol::payload(voice);
        }
        let mut samples = Vec::with_capacity(voice.len());
        codec::decode(Encoding::MuLaw, voice, &mut samples);
        let noise = self.noise.iter().cycle().skip(frame * FRAME % self.noise.len());
        for (sample, noise) in samples.iter_mut().zip(noise) {
            *sample = sample.saturating_add(*noise);
        }
        let mut mixed = Vec::with_capacity(samples.len());
        codec::encode(Encoding::MuLaw, &samples, &mut mixed);
        protocol::payload(&mixed)
    }
}

/// Returns a second of white noise, always the same.
fn white_noise(dbfs: f64) -> Vec<i16> {
    // Uniform noise between -a and a has the root mean square a / sqrt(3).
    let amplitude = 32_767.0 * 10_f64.powf(dbfs.min(0.0) / 20.0) * 3_f64.sqrt();
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    (0..RATE)
        .map(|_| {
            // xorshift64
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let share = (state >> 11) as f64 / (1_u64 << 53) as f64;
            ((share * 2.0 - 1.0) * amplitude) as i16
        })
        .collect()
}
