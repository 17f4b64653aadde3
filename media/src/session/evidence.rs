//! Knowledge about the end of the user's turn, for those who train and explain the model.

use super::AudioSession;
use crate::turn::endpointing::evidence::Moment;

impl AudioSession {
    /// Returns the knowledge about the end of the user's present turn.
    pub fn moment(&mut self, now_ms: u64) -> Option<Moment> {
        let at_ms = self.stream_time(now_ms);
        self.endpointing.moment(at_ms)
    }
}
