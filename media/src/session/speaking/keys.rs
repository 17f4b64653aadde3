//! Pressed keys: tones in place of a speech. Nothing interrupts them, and they are not words.

use super::{Current, Speaking};
use crate::{codec, session::SpeechId, tone::generate};

/// Id for keys that are played. No speech of the agent has this number.
const KEYS: SpeechId = SpeechId(u64::MAX);

/// Most keys played at once.
const MOST_KEYS: usize = 64;

impl Speaking {
    /// Returns whether keys are being played.
    pub(in crate::session) fn is_pressing(&self) -> bool {
        self.current.as_ref().is_some_and(|current| current.id == KEYS)
    }

    /// Plays keys, after others that are still playing. The present speech must have been dropped. Nothing
    /// interrupts keys, and they are not words.
    pub(in crate::session) fn press(&mut self, keys: &str) {
        let keys: String = keys.chars().take(MOST_KEYS).collect();
        let samples = generate::keys(&keys, self.format.sample_rate);
        let format = self.format;
        if let Some(live) = self.current.as_mut().and_then(|current| current.live.as_mut()) {
            return live.press(&samples);
        }
        let current = self.current.get_or_insert_with(|| Current::new(KEYS, true, format));
        current.last = true;
        let mut encoded = Vec::new();
        codec::encode(format.encoding, &samples, &mut encoded);
        current.speech.push(&encoded, &[]);
        current.levels.push(&samples);
    }
}
