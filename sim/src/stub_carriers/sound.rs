//! Audio conversion between linear samples at 8 kHz and the format of a line.

use media::{
    codec,
    format::{Encoding, LineFormat},
    resample::Resampler,
};

/// Converter of one direction of a line.
pub struct Converter {
    encoding: Encoding,
    resampler: Option<Resampler>,
}

impl Converter {
    /// Creates a converter to this format.
    pub fn to(format: LineFormat) -> Self {
        Self::between(format.encoding, 8_000, format.sample_rate)
    }

    /// Creates a converter from this format.
    pub fn from(format: LineFormat) -> Self {
        Self::between(format.encoding, format.sample_rate, 8_000)
    }

    fn between(encoding: Encoding, from: u32, to: u32) -> Self {
        Self {
            encoding,
            resampler: (from != to).then(|| Resampler::new(from, to).ok()).flatten(),
        }
    }

    fn convert(&mut self, samples: Vec<i16>) -> Vec<i16> {
        let Some(resampler) = &mut self.resampler else {
            return samples;
        };
        let mut converted = Vec::with_capacity(2 * samples.len());
        resampler.process(&samples, &mut converted);
        converted
    }

    pub fn encode(&mut self, samples: Vec<i16>) -> Vec<u8> {
        let mut bytes = Vec::new();
        codec::encode(self.encoding, &self.convert(samples), &mut bytes);
        bytes
    }

    pub fn decode(&mut self, bytes: &[u8]) -> Vec<i16> {
        let mut samples = Vec::new();
        codec::decode(self.encoding, bytes, &mut samples);
        self.convert(samples)
    }
}

/// Decodes the mu-law of phones; [`to_phone`] encodes it.
pub fn from_phone(mulaw: &[u8]) -> Vec<i16> {
    Converter::from(LineFormat::MULAW_8000).decode(mulaw)
}

pub fn to_phone(samples: Vec<i16>) -> Vec<u8> {
    Converter::to(LineFormat::MULAW_8000).encode(samples)
}
