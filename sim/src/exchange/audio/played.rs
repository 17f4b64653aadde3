//! Audio that phones played, sample by sample, for tests that measure silence and clicks.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use media::{codec, format::Encoding};

use super::line::FRAME;

/// Audio of one phone, from the opening of its media on. Where nothing played, there is silence.
#[derive(Debug, Clone, Default)]
pub(crate) struct Played(Arc<Mutex<Vec<u8>>>);

impl Played {
    /// Adds a frame of 20 ms, which may be empty or short.
    pub(crate) fn add(&self, frame: &[u8]) {
        let mut kept = locked(&self.0);
        kept.extend_from_slice(frame);
        let silence = codec::silence(Encoding::MuLaw);
        kept.extend(std::iter::repeat_n(silence, FRAME.saturating_sub(frame.len())));
    }

    fn samples(&self) -> Vec<i16> {
        let mut samples = Vec::new();
        codec::decode(Encoding::MuLaw, &locked(&self.0), &mut samples);
        samples
    }
}

/// Audio of all phones, each with its latest call.
#[derive(Debug, Default)]
pub(crate) struct PlayedAudio(Mutex<BTreeMap<String, Played>>);

impl PlayedAudio {
    /// Begins the audio of a number's next call.
    pub(crate) fn begin(&self, number: &str) -> Played {
        let played = Played::default();
        locked(&self.0).insert(number.to_owned(), played.clone());
        played
    }

    /// Returns the samples of a number's latest call, at 8 kHz.
    pub(crate) fn samples(&self, number: &str) -> Vec<i16> {
        locked(&self.0).get(number).map(Played::samples).unwrap_or_default()
    }
}

fn locked<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    // No panic leaves the audio half-changed.
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_that_is_short_is_followed_by_silence() {
        let played_audio = PlayedAudio::default();
        let played = played_audio.begin("+15550100010");
        played.add(&[0x80; FRAME]);
        played.add(&[0x80; 40]);
        played.add(&[]);
        let samples = played_audio.samples("+15550100010");
        assert_eq!(samples.len(), 3 * FRAME);
        let loud = |samples: &[i16]| samples.iter().filter(|sample| sample.abs() > 1_000).count();
        assert_eq!((loud(&samples), loud(&samples[FRAME + 40..])), (FRAME + 40, 0));
        assert!(played_audio.samples("+15550100011").is_empty());
    }
}
