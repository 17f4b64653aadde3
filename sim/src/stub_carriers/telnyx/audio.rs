//! Audio conversion between a telephone's mu-law and the codec of a stream.

use media::format::{Encoding, LineFormat};

use crate::stub_carriers::sound;

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
    /// Returns Telnyx's name for it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Pcmu => "PCMU",
            Self::Pcma => "PCMA",
            Self::L16 => "L16",
        }
    }

    /// Returns the codec with this name.
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

/// Byte order of an L16 sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ByteOrder {
    /// High byte first, as in RFC 3551.
    Big,
    /// Low byte first.
    Little,
}

/// Converter of one direction, between a telephone's mu-law and the codec of a stream.
pub(super) struct Converter {
    /// Whether the bytes of samples change places.
    swaps: bool,
    line: sound::Converter,
}

fn swap(bytes: &mut [u8]) {
    bytes.chunks_exact_mut(2).for_each(|sample| sample.swap(0, 1));
}

impl Converter {
    /// Creates a converter from mu-law to the codec.
    pub(super) fn to(codec: Codec, order: ByteOrder) -> Self {
        Self::of(codec, order, sound::Converter::to(codec.format()))
    }

    /// Creates a converter from the codec to mu-law.
    pub(super) fn from(codec: Codec, order: ByteOrder) -> Self {
        Self::of(codec, order, sound::Converter::from(codec.format()))
    }

    fn of(codec: Codec, order: ByteOrder, line: sound::Converter) -> Self {
        Self {
            swaps: codec == Codec::L16 && order == ByteOrder::Big,
            line,
        }
    }

    /// Converts mu-law to the codec.
    pub(super) fn encode(&mut self, mulaw: &[u8]) -> Vec<u8> {
        let mut bytes = self.line.encode(sound::from_phone(mulaw));
        if self.swaps {
            swap(&mut bytes);
        }
        bytes
    }

    /// Converts from the codec to mu-law.
    pub(super) fn decode(&mut self, mut bytes: Vec<u8>) -> Vec<u8> {
        if self.swaps {
            swap(&mut bytes);
        }
        sound::to_phone(self.line.decode(&bytes))
    }
}
