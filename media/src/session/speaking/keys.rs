//! Keys that are pressed: tones in the place of a speech, which nothing interrupts and which are no words.

use super::{Current, Speaking};
use crate::{codec, session::SpeechId, tone::generate};

/// Stands for keys that are played: no speech of the agent has this number.
pub(super) const KEYS: SpeechId = SpeechId(u64::MAX);

/// Keys played at once, at most.
const MOST_KEYS: usize = 64;

impl Speaking {
    /// Whether keys are being played.
    pub(in crate::session) fn is_pressing(&self) -> bool {
        self.current.as_ref().is_some_and(|current| current.id == KEYS)
    }

    /// Plays keys, behind others that play; a speech must have been dropped. Nothing interrupts them, and they are no
    /// words.
    pub(in crate::session) fn press(&mut self, keys: &str) {
        let keys: String = keys.chars().take(MOST_KEYS).collect();
        let samples = generate::keys(&keys, self.format.sample_rate);
        let format = self.format;
        let current = self.current.get_or_insert_with(|| Current::new(KEYS, true, format));
        current.last = true;
        let mut encoded = Vec::new();
        codec::encode(format.encoding, &samples, &mut encoded);
        current.speech.push(&encoded, &[]);
        current.levels.push(&samples);
    }
}
