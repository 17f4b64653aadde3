//! Another agent goes on in the same session: with another recogniser, and another patience.

use super::AudioSession;
use crate::turn::endpointing::PausePolicy;

impl AudioSession {
    /// Another recogniser is given the samples from here on.
    pub fn recogniser_replaced(&mut self) {
        self.endpointing.recogniser_replaced();
    }

    /// Another patience with pauses from here on.
    pub fn set_pause_policy(&mut self, policy: PausePolicy) {
        self.endpointing.set_policy(policy);
    }
}
