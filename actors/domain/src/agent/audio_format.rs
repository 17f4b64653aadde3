//! Audio formats that agents and clients name.

use media::format::{Encoding, LineFormat};
use serde::Serializer;

/// A named format. Linear samples have 16 bits, low byte first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AudioFormat {
    /// Name in agents and client messages.
    pub name: &'static str,
    /// Encoding and sample rate.
    pub line: LineFormat,
}

impl AudioFormat {
    /// All formats.
    pub const ALL: [Self; 7] = [
        Self::linear("pcm_8000", 8_000),
        Self::DEFAULT,
        Self::linear("pcm_22050", 22_050),
        Self::linear("pcm_24000", 24_000),
        Self::linear("pcm_44100", 44_100),
        Self::linear("pcm_48000", 48_000),
        Self {
            name: "ulaw_8000",
            line: LineFormat::MULAW_8000,
        },
    ];

    /// The format that an agent reads back if it sets none.
    pub const DEFAULT: Self = Self::linear("pcm_16000", 16_000);

    const fn linear(name: &'static str, sample_rate: u32) -> Self {
        Self {
            name,
            line: LineFormat {
                encoding: Encoding::Linear16,
                sample_rate,
            },
        }
    }

    /// Returns the format with this name.
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name == name)
    }
}

/// Serialises the format that an agent sets, or else the default.
#[expect(clippy::ref_option, reason = "serde passes a reference to the field")]
pub(super) fn serialize<S: Serializer>(set: &Option<String>, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(set.as_deref().unwrap_or(AudioFormat::DEFAULT.name))
}
