//! Format of a line: encoding and rate.

/// Sample encoding on a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// G.711 mu-law, one byte a sample.
    MuLaw,
    /// G.711 A-law, one byte a sample.
    ALaw,
    /// Linear 16-bit, little-endian.
    Linear16,
}

impl Encoding {
    /// Returns the number of bytes of one sample.
    pub fn bytes_per_sample(self) -> usize {
        match self {
            Self::MuLaw | Self::ALaw => 1,
            Self::Linear16 => 2,
        }
    }
}

/// Encoding and rate of a line, mono.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LineFormat {
    /// Sample encoding.
    pub encoding: Encoding,
    /// Samples per second.
    pub sample_rate: u32,
}

impl LineFormat {
    /// Format that telephone carriers stream: 8 kHz mu-law.
    pub const MULAW_8000: Self = Self {
        encoding: Encoding::MuLaw,
        sample_rate: 8_000,
    };

    /// Returns what lines of this rate usually carry: mu-law at 8 kHz, otherwise linear samples.
    pub fn of_rate(sample_rate: u32) -> Self {
        match sample_rate {
            8_000 => Self::MULAW_8000,
            _ => Self {
                encoding: Encoding::Linear16,
                sample_rate,
            },
        }
    }

    /// Returns the number of bytes of `ms` milliseconds.
    pub fn bytes_for_ms(self, ms: u32) -> usize {
        (self.sample_rate as usize * ms as usize / 1000) * self.encoding.bytes_per_sample()
    }
}
