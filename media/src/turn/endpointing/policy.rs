//! How long the silence must last: until the chance that the turn is over is that of `turnEagerness`, within bounds.

use super::{evidence::Evidence, model::MODEL, pauses::MAX_PAUSE_MS, recogniser::ASK_MS};
use crate::turn::{expectation::Progress, words::Ending};

/// A base pause in milliseconds, and the chance that the turn is over at which an agent with it takes its turn.
type Point = (u64, f32);

/// The point of `eager`.
const EAGER: Point = (250, 0.70);

/// The point of `normal`.
const NORMAL: Point = (450, 0.85);

/// The point of `patient`.
const PATIENT: Point = (800, 0.95);

/// Least pause in milliseconds while something is being spelled. People leave up to 1500 ms between two
/// groups of digits, and voice is detected about 100 ms after it begins.
const SPELLING_PAUSE_MS: u64 = 1_700;

/// Least pause in milliseconds while so little is spelled that more must follow.
const SHORT_PAUSE_MS: u64 = 2_800;

/// Milliseconds added to twice the base pause after a hesitation: people think for up to two seconds in mid-sentence.
const HESITATION_MS: u64 = 1_600;

/// The same after a phrase that often needs an object.
const OPEN_MS: u64 = 600;

/// Milliseconds by which the pause after words that may be finished can grow with each turn of this caller that the
/// agent answered into.
const CUT_OFF_MS: u64 = 800;

/// Most milliseconds by which the evidence shortens the pause. An agent that is patient with pauses must not
/// be hurried by a sentence end that the recogniser guessed.
const MOST_HURRIED_MS: u64 = 200;

/// Policy for the pause that ends a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PausePolicy {
    /// Usual pause in milliseconds, and so the readiness to take the turn: eager 250, normal 450, patient 800.
    pub base_ms: u64,
    /// Pause that is always used instead.
    pub fixed_ms: Option<u64>,
    /// Whether to wait longer while digits or letters are spelled.
    pub spelling_patience: bool,
}

impl PausePolicy {
    /// Returns the pause that ends a turn of this evidence.
    pub(super) fn pause_ms(self, evidence: &Evidence) -> u64 {
        if !evidence.has_words {
            return self.wordless_ms();
        }
        let [least, most] = self.bounds_ms(evidence);
        let wanted = || evidence.silence_ms(self.chance(), &MODEL).clamp(least, most);
        self.fixed_ms.unwrap_or_else(wanted)
    }

    /// Returns the pause that ends a turn without words.
    pub(super) fn wordless_ms(self) -> u64 {
        self.fixed_ms.unwrap_or(self.base_ms)
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

    /// Returns the shortest and the longest pause that the evidence may ask for. In the corpus nearly every turn
    /// pauses; real callers rarely do after words that may be finished, until one of them has.
    fn bounds_ms(self, evidence: &Evidence) -> [u64; 2] {
        let short = (self.base_ms * 3 / 5).max(self.base_ms.saturating_sub(MOST_HURRIED_MS));
        let (ending, progress) = (evidence.ending, evidence.progress);
        let least = match progress {
            Progress::Short => SHORT_PAUSE_MS,
            _ if ending == Ending::Hesitating => self.base_ms * 2 + HESITATION_MS,
            _ if evidence.is_dictated => SPELLING_PAUSE_MS,
            Progress::Unknown if ending == Ending::Open => self.base_ms * 2 + OPEN_MS,
            _ => short.max(ASK_MS),
        };
        let is_dictation = evidence.is_dictated || matches!(progress, Progress::Short | Progress::Begun);
        let most = match (ending, progress) {
            _ if is_dictation && !self.spelling_patience => self.base_ms,
            _ if is_dictation => MAX_PAUSE_MS,
            (Ending::Hesitating | Ending::Open, _) => MAX_PAUSE_MS,
            (Ending::Plain, Progress::Unknown | Progress::Given) if evidence.is_unfinished => MAX_PAUSE_MS,
            _ => self.base_ms + u64::from(evidence.cut_offs) * CUT_OFF_MS,
        };
        let most = most.clamp(ASK_MS, MAX_PAUSE_MS);
        [least.min(most), most]
    }
}
