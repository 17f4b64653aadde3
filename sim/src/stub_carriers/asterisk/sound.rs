//! Audio between channels: linear samples at 8 kHz inside, each channel's own codec outside.

use media::{
    codec,
    format::{Encoding, LineFormat},
    resample::Resampler,
};

/// What passes from one channel of a bridge to the others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Sound {
    /// Linear samples at 8 kHz.
    Audio(Vec<i16>),
    /// A key was pressed.
    Key(char),
}

/// One way of a channel.
pub(super) struct Converter {
    encoding: Encoding,
    resampler: Option<Resampler>,
}

impl Converter {
    /// Into the channel's codec.
    pub(super) fn to(format: LineFormat) -> Self {
        Self::between(format.encoding, 8_000, format.sample_rate)
    }

    /// Out of it.
    pub(super) fn from(format: LineFormat) -> Self {
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

    pub(super) fn encode(&mut self, samples: Vec<i16>) -> Vec<u8> {
        let mut bytes = Vec::new();
        codec::encode(self.encoding, &self.convert(samples), &mut bytes);
        bytes
    }

    pub(super) fn decode(&mut self, bytes: &[u8]) -> Vec<i16> {
        let mut samples = Vec::new();
        codec::decode(self.encoding, bytes, &mut samples);
        self.convert(samples)
    }
}

/// The format of this name.
pub(super) fn format(name: &str) -> Option<LineFormat> {
    let (encoding, sample_rate) = match name {
        "slin16" => (Encoding::Linear16, 16_000),
        "slin" => (Encoding::Linear16, 8_000),
        "ulaw" => (Encoding::MuLaw, 8_000),
        "alaw" => (Encoding::ALaw, 8_000),
        _ => return None,
    };
    Some(LineFormat { encoding, sample_rate })
}
