//! Recording of both sides of a session.

use super::{AudioSession, clock};

impl AudioSession {
    /// Stops recording. Returns the rest of the recording.
    pub fn stop_recording(&mut self) -> Vec<i16> {
        let left = self.take_recording(true);
        self.mixer = None;
        left
    }

    /// Returns the recorded audio that will not change, interleaved (user, agent), if it is a second or more,
    /// or everything if `all`. The result is empty if the call is not recorded.
    pub fn take_recording(&mut self, all: bool) -> Vec<i16> {
        let position = self.hearing.position(self.now_ms);
        let rate = self.hearing.sample_rate();
        let Some(mixer) = &mut self.mixer else {
            return Vec::new();
        };
        // This much audio may still come late and is not yet returned as silence.
        let late = clock::STALL_MS * u64::from(rate) / 1_000;
        let up_to = mixer.user_position().max(position.saturating_sub(late));
        match all || up_to >= mixer.taken() + u64::from(rate) {
            true => mixer.take(up_to),
            false => Vec::new(),
        }
    }

    pub(super) fn truncate_recording(&mut self) {
        if let Some(mixer) = &mut self.mixer {
            mixer.truncate_agent(self.speaking.recorded_end());
        }
    }
}
