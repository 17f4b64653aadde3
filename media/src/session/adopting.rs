//! Switch to another agent in the same session, with another recogniser and another pause policy.

use super::AudioSession;
use crate::turn::endpointing::PausePolicy;

impl AudioSession {
    /// Notes that another recogniser gets the samples from here on.
    pub fn recogniser_replaced(&mut self) {
        self.endpointing.recogniser_replaced();
    }

    /// Sets the pause policy from here on.
    pub fn set_pause_policy(&mut self, policy: PausePolicy) {
        self.endpointing.set_policy(policy);
    }
}
