//! Audio between a telephone's mu-law and the codec of a stream.

use media::{
    codec,
    format::{Encoding, LineFormat},
    resample::Resampler,
};

/// A codec of Telnyx's streams.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Codec {
    /// Mu-law at 8 kHz.
    #[default]
    Pcmu,
    /// A-law at 8 kHz.
    Pcma,
    /// Linear 16-bit at 16 kHz.
    L16,
}

impl Codec {
    /// Telnyx's name for it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Pcmu => "PCMU",
            Self::Pcma => "PCMA",
            Self::L16 => "L16",
        }
    }

    /// The one of this name.
    pub(super) fn named(name: &str) -> Option<Self> {
        [Self::Pcmu, Self::Pcma, Self::L16]
            .into_iter()
            .find(|codec| codec.name() == name)
    }

    pub(super) fn format(self) -> LineFormat {
        let (encoding, sample_rate) = match self {
            Self::Pcmu => (Encoding::MuLaw, 8_000),
            Self::Pcma => (Encoding::ALaw, 8_000),
            Self::L16 => (Encoding::Linear16, 16_000),
        };
        LineFormat { encoding, sample_rate }
    }
}

/// The order of the two bytes of an L16 sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ByteOrder {
    /// High byte first, as RFC 3551 has it.
    Big,
    /// Low byte first.
    Little,
}

/// One way of a line.
pub(super) struct Converter {
    codec: Codec,
    order: ByteOrder,
    resampler: Option<Resampler>,
}

fn swap(bytes: &mut [u8]) {
    bytes.chunks_exact_mut(2).for_each(|sample| sample.swap(0, 1));
}

impl Converter {
    /// From mu-law to the codec.
    pub(super) fn to(codec: Codec, order: ByteOrder) -> Self {
        Self::between(codec, order, (8_000, codec.format().sample_rate))
    }

    /// From the codec to mu-law.
    pub(super) fn from(codec: Codec, order: ByteOrder) -> Self {
        Self::between(codec, order, (codec.format().sample_rate, 8_000))
    }

    fn between(codec: Codec, order: ByteOrder, (from, to): (u32, u32)) -> Self {
        Self {
            codec,
            order,
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

    fn is_swapped(&self) -> bool {
        self.codec == Codec::L16 && self.order == ByteOrder::Big
    }

    /// Mu-law in the codec.
    pub(super) fn encode(&mut self, mulaw: &[u8]) -> Vec<u8> {
        let (mut samples, mut bytes) = (Vec::new(), Vec::new());
        codec::decode(Encoding::MuLaw, mulaw, &mut samples);
        let samples = self.convert(samples);
        codec::encode(self.codec.format().encoding, &samples, &mut bytes);
        if self.is_swapped() {
            swap(&mut bytes);
        }
        bytes
    }

    /// What is in the codec, as mu-law.
    pub(super) fn decode(&mut self, mut bytes: Vec<u8>) -> Vec<u8> {
        if self.is_swapped() {
            swap(&mut bytes);
        }
        let (mut samples, mut mulaw) = (Vec::new(), Vec::new());
        codec::decode(self.codec.format().encoding, &bytes, &mut samples);
        codec::encode(Encoding::MuLaw, &self.convert(samples), &mut mulaw);
        mulaw
    }
}
