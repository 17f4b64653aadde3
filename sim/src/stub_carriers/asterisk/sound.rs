//! Audio between channels: linear samples at 8 kHz inside, each channel's own codec outside.

use media::format::{Encoding, LineFormat};

/// Sound passed from one channel of a bridge to the others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sound {
    /// Linear samples at 8 kHz.
    Audio(Vec<i16>),
    /// A pressed key.
    Key(char),
}

/// Returns the format with this name.
pub fn format(name: &str) -> Option<LineFormat> {
    let (encoding, sample_rate) = match name {
        "slin16" => (Encoding::Linear16, 16_000),
        "slin" => (Encoding::Linear16, 8_000),
        "ulaw" => (Encoding::MuLaw, 8_000),
        "alaw" => (Encoding::ALaw, 8_000),
        _ => return None,
    };
    Some(LineFormat { encoding, sample_rate })
}
