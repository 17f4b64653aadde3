//! What is known of the recogniser, and what one that listens for turns says of them.

use super::FINAL_WAIT_MS;

/// What a recogniser promises of its finals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recogniser {
    /// How long a final may take after it was asked for. A turn whose final does not come ends on the words so far
    /// then.
    pub final_wait_ms: u64,
    /// It answers each time it is asked, in order, be it with no words; so a late final is known for what it covers.
    pub answers_each: bool,
    /// It listens for turns itself: [`Told`] comes from it, and it is asked only when nothing does for long.
    pub tells_turns: bool,
    /// It tells words while they are said. One that does not is silent however much is said: a voice without a word is a
    /// voice all the same.
    pub tells_interims: bool,
}

impl Default for Recogniser {
    fn default() -> Self {
        Self {
            final_wait_ms: FINAL_WAIT_MS,
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
