//! Keys that the agent presses.

use super::{AudioSession, speaking::Drop};

impl AudioSession {
    /// Presses keys. Their tones replace the present speech, or an operator's audio while they play. `0` to `9`, `*`, `#`, `A` to `D`; `w` is a pause
    /// of half a second.
    pub fn press(&mut self, keys: &str, now_ms: u64) {
        let now_ms = self.advance(now_ms);
        if !self.speaking.is_pressing() && !self.speaking.is_live() {
            self.drop_speech(Drop::Ended, now_ms);
            self.backchannel = None;
        }
        self.speaking.press(keys);
        self.settle();
    }
}
