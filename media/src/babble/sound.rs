//! The sounds of the code and their places in the spectrum, shared by speaker and listener.

/// Milliseconds of a vowel or a hum.
pub(super) const SOUND_MS: u32 = 40;
/// Milliseconds of the pause before a hum.
pub(super) const PAUSE_MS: u32 = 20;
/// Sounds of the steady vowel before the first packet: 160 ms, so that a voice detector has opened before data starts.
pub(super) const LEAD_IN_SOUNDS: usize = 4;
/// The vowel of the lead-in, with middle places like a schwa.
pub(super) const LEAD_IN_VOWEL: u8 = 0b01_01_10;

/// Number of formants of a vowel.
pub(super) const FORMANTS: usize = 3;
/// Number of places of one formant.
pub(super) const PLACES: usize = 4;
/// Number of bands of the spectrum: one for each place of each formant.
pub(super) const BANDS: usize = FORMANTS * PLACES;

/// Returns the middle of a band in Hz: 375 to 3125, 250 apart.
pub(super) const fn band_hz(band: usize) -> f32 {
    375.0 + 250.0 * band as f32
}

/// Returns the band of each formant of a vowel (6 bits).
pub(super) fn bands_of(vowel: u8) -> [usize; FORMANTS] {
    std::array::from_fn(|formant| PLACES * formant + usize::from(vowel >> (4 - 2 * formant) & 3))
}

/// A section of the speaker's plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sound {
    /// Silence in milliseconds.
    Pause(u32),
    /// The sync.
    Hum,
    /// Six bits.
    Vowel(u8),
}

impl Sound {
    /// Returns its duration in samples.
    pub(super) fn samples(self, rate: u32) -> usize {
        let ms = match self {
            Self::Pause(ms) => ms,
            Self::Hum | Self::Vowel(_) => SOUND_MS,
        };
        (ms * rate / 1000) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_vowel_has_its_own_three_bands() {
        let mut all: Vec<_> = (0..64).map(bands_of).collect();
        assert_eq!(bands_of(0b00_01_11), [0, 5, 11]);
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 64);
    }
}
