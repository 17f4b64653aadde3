//! How long the silence must last: the chance that the turn is over must be that of `turnEagerness`, within bounds.

use super::{ASK_MS, MAX_PAUSE_MS, evidence::Evidence, model::MODEL};
use crate::turn::{expectation::Progress, words::Ending};

/// Chance that the turn is over at which an agent takes its turn: `eager`, a base pause of 250 ms.
const EAGER: (u64, f32) = (250, 0.80);

/// The same for `normal`.
const NORMAL: (u64, f32) = (450, 0.90);

/// The same for `patient`.
const PATIENT: (u64, f32) = (800, 0.96);

/// Least pause in milliseconds while so little is spelled that more must follow. People leave up to 1500 ms
/// between two groups of digits.
const SHORT_PAUSE_MS: u64 = 2_800;

/// Most milliseconds by which the evidence shortens the pause. An agent that is patient with pauses must not
/// be hurried by a sentence end that the recogniser guessed.
const MOST_HURRIED_MS: u64 = 200;

/// Policy for the pause that ends a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PausePolicy {
    /// Pause in milliseconds after words that give no hint: eager 250, normal 450, patient 800.
    pub base_ms: u64,
    /// Pause that is always used instead.
    pub fixed_ms: Option<u64>,
    /// Whether to wait longer while digits or letters are spelled.
    pub spelling_patience: bool,
}

impl PausePolicy {
    /// Returns the pause that ends a turn of this evidence.
    pub(super) fn pause_ms(self, evidence: &Evidence) -> u64 {
        if let Some(fixed) = self.fixed_ms {
            return fixed;
        }
        if !evidence.has_words {
            return self.base_ms;
        }
        let wanted = evidence.silence_ms(self.chance(), &MODEL);
        let most = self.most_ms(evidence).min(MAX_PAUSE_MS);
        wanted.clamp(self.least_ms(evidence).min(most), most)
    }

    /// Returns the chance that the turn is over at which it ends.
    fn chance(self) -> f32 {
        let (lower, upper) = match self.base_ms <= NORMAL.0 {
            true => (EAGER, NORMAL),
            false => (NORMAL, PATIENT),
        };
        let share = (self.base_ms as f32 - lower.0 as f32) / (upper.0 - lower.0) as f32;
        (lower.1 + share * (upper.1 - lower.1)).clamp(0.5, 0.99)
    }

    fn least_ms(self, evidence: &Evidence) -> u64 {
        let short = (self.base_ms * 3 / 5).max(self.base_ms.saturating_sub(MOST_HURRIED_MS));
        match evidence.progress {
            Progress::Short => SHORT_PAUSE_MS,
            _ => short.max(ASK_MS),
        }
    }

    /// Returns the longest pause that the evidence may ask for. In the corpus nearly every turn has a pause, which
    /// real callers rarely make after a finished sentence.
    fn most_ms(self, evidence: &Evidence) -> u64 {
        let dictated = match evidence.progress {
            Progress::Begun | Progress::Short => true,
            Progress::Unknown => evidence.ending == Ending::Spelling,
            Progress::Whole | Progress::Given | Progress::Enough => false,
        };
        match evidence.ending {
            _ if dictated && !self.spelling_patience => self.base_ms.max(ASK_MS),
            _ if dictated || evidence.is_unfinished => MAX_PAUSE_MS,
            Ending::Hesitating | Ending::Open => MAX_PAUSE_MS,
            Ending::Complete => self.base_ms * 4 / 3,
            Ending::Plain | Ending::Spelling => self.base_ms * 2,
        }
    }
}
