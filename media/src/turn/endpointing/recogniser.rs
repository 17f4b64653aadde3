//! Capabilities of the recogniser, the requests it has not answered, and the turn signals of one that listens for turns.

use std::{collections::VecDeque, time::Duration};

/// Time in milliseconds without voice after which the recogniser is asked for its final words and the turn
/// may be over. It is longer than the gaps between words; the detector needs 64 to 96 ms to notice that voice
/// has stopped.
pub(super) const ASK_MS: u64 = 100;

/// Time in milliseconds the recogniser has for its final words after the request. A measured one took 298 ms
/// in the slowest twentieth of cases, counted from the end of the voice.
pub(super) const FINAL_WAIT_MS: u64 = 400;

/// Most requested finals that may be outstanding.
const MOST_UNANSWERED: usize = 8;

/// Time in milliseconds after which a requested final will not come any more.
const UNANSWERED_MS: u64 = 6_000;

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

/// Times of the requests for finals that have not come, of a recogniser that answers each request.
#[derive(Debug, Default)]
pub(super) struct Requests(VecDeque<u64>);

impl Requests {
    /// Notes a request.
    pub(super) fn asked(&mut self, at_ms: u64) {
        if self.0.len() < MOST_UNANSWERED {
            self.0.push_back(at_ms);
        }
    }

    /// Counts a final. Returns whether it is the last of those requested.
    pub(super) fn answered(&mut self, at_ms: u64) -> bool {
        while self.0.front().is_some_and(|asked| asked + UNANSWERED_MS < at_ms) {
            self.0.pop_front();
        }
        self.0.pop_front();
        self.0.is_empty()
    }
}
