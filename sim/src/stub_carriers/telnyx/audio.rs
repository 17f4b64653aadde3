//! Audio between a telephone's mu-law and the codec of a stream.

use media::{codec, format::Encoding, resample::Resampler};

use carriers::telnyx::line::{ByteOrder, Codec};

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
