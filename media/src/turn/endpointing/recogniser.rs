//! What is known of the recogniser, and what one that listens for turns says of them.

use std::time::Duration;

use super::FINAL_WAIT_MS;

/// What a recogniser promises of its finals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Promise {
    /// How long a final may take after it was asked for, at most. A turn whose final has not come by then ends on the words
    /// so far.
    pub final_within: Duration,
    /// It answers each time it is asked, in order, be it with no words; so a late final is known for what it covers.
    pub answers_each: bool,
    /// It listens for turns itself: [`Told`] comes from it, and it is asked only when nothing does for long.
    pub tells_turns: bool,
    /// It tells words while they are said. One that does not is silent however much is said: a voice without a word is a
    /// voice all the same, and not taken for music.
    pub tells_interims: bool,
}

impl Promise {
    /// In milliseconds.
    pub(super) fn final_wait_ms(&self) -> u64 {
        u64::try_from(self.final_within.as_millis()).unwrap_or(u64::MAX)
    }
}

impl Default for Promise {
    /// A streaming recogniser that leaves turns to others; one measured took 298 ms in the slowest twentieth of cases.
    fn default() -> Self {
        Self {
            final_within: Duration::from_millis(FINAL_WAIT_MS),
            answers_each: false,
            tells_turns: false,
            tells_interims: true,
        }
    }
}

/// What a recogniser says of the user's turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told {
    /// It is over.
    Ended,
    /// It may be over.
    Paused,
    /// It goes on after all.
    Resumed,
}
