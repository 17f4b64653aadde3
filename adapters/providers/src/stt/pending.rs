//! Outstanding answers of a recogniser: requested finals, and signs of life while a voice goes on.

use std::time::Duration;

use tokio::time::Instant;

/// A recogniser that was asked for a voice's words hangs if it sends nothing at all for this long.
pub(super) const ANSWER_WITHIN: Duration = Duration::from_millis(1_200);

/// Time limit for a requested final, whatever else is sent meanwhile. It is six times what the slowest hundredth takes.
const FINAL_WITHIN: Duration = Duration::from_millis(2_500);

/// A recogniser hangs if it sends nothing at all for this long while a voice goes on. Interims come every second.
const WORDS_WITHIN: Duration = Duration::from_secs(4);

/// Requested final that is outstanding.
pub(super) struct Asked {
    pub(super) since: Instant,
    /// Buffer position up to which it was requested.
    position: u64,
    /// Whether the audio may contain words.
    voiced: bool,
}

/// Outstanding answers of one connection.
#[derive(Default)]
pub(super) struct Pending {
    asked: Vec<Asked>,
    /// Time since which there was voice but no words came.
    unheard_since: Option<Instant>,
}

impl Pending {
    /// Returns the number of outstanding finals.
    pub(super) fn finals(&self) -> usize {
        self.asked.len()
    }

    /// Returns the oldest outstanding final.
    pub(super) fn first(&self) -> Option<&Asked> {
        self.asked.first()
    }

    /// Records that voice is being sent.
    pub(super) fn voice(&mut self) {
        self.unheard_since.get_or_insert_with(Instant::now);
    }

    /// Records the request for a final up to a position.
    pub(super) fn ask(&mut self, position: u64, voiced: bool) {
        self.asked.push(Asked {
            since: Instant::now(),
            position,
            voiced,
        });
    }

    /// Records that words came, which shows that the recogniser is alive. Requested finals stay outstanding.
    pub(super) fn told(&mut self) {
        let owes = self.asked.iter().any(|asked| asked.voiced);
        self.unheard_since = owes.then(Instant::now);
    }

    /// Removes the oldest outstanding final and returns its position.
    pub(super) fn settle(&mut self) -> Option<u64> {
        (!self.asked.is_empty()).then(|| self.asked.remove(0).position)
    }

    /// Returns whether the recogniser has not yet answered although there was voice.
    pub(super) fn is_owing(&self) -> bool {
        self.hung_at().is_some()
    }

    /// Returns when the recogniser will count as hanging.
    pub(super) fn hung_at(&self) -> Option<Instant> {
        let Some(asked) = self.asked.iter().find(|asked| asked.voiced) else {
            return self.unheard_since.map(|since| since + WORDS_WITHIN);
        };
        let quiet_since = self.unheard_since.unwrap_or(asked.since);
        Some((quiet_since + ANSWER_WITHIN).min(asked.since + FINAL_WITHIN))
    }
}
