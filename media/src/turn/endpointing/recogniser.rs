//! Capabilities of the recogniser, and the turn signals of one that listens for turns.

use std::time::Duration;

use super::FINAL_WAIT_MS;

/// Capabilities of a recogniser.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    /// Longest time from the request to the final. If the final has not come by then, the turn ends on the
    /// words so far.
    pub final_within: Duration,
    /// Whether it answers each request, in order, even without words, so that it is known what a late final covers.
    pub answers_each: bool,
    /// Whether it listens for turns itself: [`Told`] comes from it, and it is asked only if it reports
    /// nothing for long.
    pub tells_turns: bool,
    /// Whether it reports words while they are said. If it does not, its silence means nothing, and voice
    /// without a word is not taken for music.
    pub tells_interims: bool,
}

impl Capabilities {
    /// Returns the final's time limit in milliseconds.
    pub(super) fn final_wait_ms(&self) -> u64 {
        u64::try_from(self.final_within.as_millis()).unwrap_or(u64::MAX)
    }
}

impl Default for Capabilities {
    /// Returns the capabilities of a streaming recogniser without turn detection. A measured one took 298 ms in
    /// the slowest twentieth of cases.
    fn default() -> Self {
        Self {
            final_within: Duration::from_millis(FINAL_WAIT_MS),
            answers_each: false,
            tells_turns: false,
            tells_interims: true,
        }
    }
}

/// Signal of a recogniser about the user's turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told {
    /// The turn is over.
    Ended,
    /// The turn may be over.
    Paused,
    /// The turn continues after all.
    Resumed,
}
