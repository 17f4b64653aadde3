//! Switch to another agent in the same session, with another recogniser and another pause policy.

use super::{AudioSession, SessionError};
use crate::turn::endpointing::PausePolicy;

impl AudioSession {
    /// Notes that another recogniser gets the samples from here on, at its rate in Hz.
    ///
    /// # Errors
    /// Returns an error if the line cannot be converted to that rate. The samples then keep the old one.
    pub fn recogniser_replaced(&mut self, rate: u32) -> Result<(), SessionError> {
        self.hearing.recogniser_replaced(rate)?;
        self.endpointing.recogniser_replaced();
        Ok(())
    }

    /// Sets the pause policy from here on.
    pub fn set_pause_policy(&mut self, policy: PausePolicy) {
        self.endpointing.set_policy(policy);
    }
}
