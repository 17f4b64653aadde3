//! Evidence about the end of the turn in a pause, as numbers for the model.

use super::{
    model::{Features, Model},
    pauses::{Habits, MAX_PAUSE_MS, Pauses},
};
use crate::turn::{
    expectation::{Expectation, Progress},
    words::{self, Ending, Mark},
};

/// Score of a last word below which a phrase is unfinished.
const UNFINISHED_SCORE: i16 = -40;

/// Circumstances of the words.
#[derive(Debug, Clone, Copy, Default)]
pub struct Circumstances {
    /// Pauses in this turn.
    pub pauses: Pauses,
    /// How this caller pauses.
    pub habits: Habits,
    /// Whether this recogniser has shown punctuation.
    pub punctuates: bool,
    /// Whether it reports words while they are said.
    pub tells_interims: bool,
    /// Silence in milliseconds since the last voiced block.
    pub silent_ms: u64,
}

/// Evidence about the end of a turn.
#[derive(Debug, Clone, Copy)]
pub struct Evidence {
    /// The numbers for the model.
    pub features: Features,
    /// Silence in milliseconds when these words were known.
    pub silent_ms: u64,
    /// Turns of this caller that the agent answered into.
    pub cut_offs: u32,
    /// Whether there is any word.
    pub has_words: bool,
    /// How the words end.
    pub ending: Ending,
    /// How far they are the expected answer.
    pub progress: Progress,
    /// Whether something is being spelled: the expected number of digits and letters is not reached or, if none is
    /// expected, no full stop has closed it.
    pub is_dictated: bool,
    /// Whether no punctuation follows and the last word seldom ends a turn.
    pub is_unfinished: bool,
}

/// Knowledge of a session at a moment of a turn.
#[derive(Debug, Clone)]
pub struct Moment {
    /// The words so far.
    pub words: String,
    /// The answer that the agent asked for.
    pub asked: Expectation,
    /// The circumstances of the words.
    pub circumstances: Circumstances,
    /// Whether the recogniser has told all words of the voice so far.
    pub is_settled: bool,
}

impl Moment {
    /// Returns the evidence that a model has.
    pub fn evidence(&self, model: &Model<'_>) -> Evidence {
        Evidence::of(&self.words, &self.asked, &self.circumstances, model)
    }
}

impl Evidence {
    /// Collects what these words tell, if the agent asked for such an answer.
    pub fn of(words: &str, asked: &Expectation, circumstances: &Circumstances, model: &Model<'_>) -> Self {
        let text = Text::of(words, model);
        let (ending, progress) = (words::ending(words), asked.progress(words));
        let mark = words::mark(words);
        let Circumstances { pauses, habits, .. } = circumstances;
        let wanted = asked.units_wanted();
        let features = [
            ending as i16,
            progress as i16,
            mark as i16,
            i16::from(circumstances.punctuates),
            text.words,
            text.since_mark,
            text.scores[0],
            text.scores[1],
            text.scores[2],
            text.units,
            wanted.map_or(-1, |wanted| short(wanted as u64) - text.units),
            text.trailing_units,
            text.trailing_units.min(text.words - pauses.words_before),
            text.words - pauses.words_before,
            text.last_unit,
            text.last_length,
            text.first_score,
            asked.kind(),
            short(u64::from(habits.turns)),
            habits.pauses_a_turn(),
            short(habits.median_ms()),
            short(habits.longest_ms()),
            short(u64::from(pauses.count)),
            short(pauses.last_ms),
            short(pauses.voiced_ms),
            short(pauses.voiced_since_ms),
            i16::from(circumstances.tells_interims),
            text.least_score,
        ];
        Self {
            features,
            silent_ms: circumstances.silent_ms,
            cut_offs: habits.cut_offs,
            has_words: words::any(words),
            ending,
            progress,
            is_dictated: match progress {
                Progress::Begun | Progress::Short => wanted.is_some() || mark != Mark::Stop,
                Progress::Unknown => ending == Ending::Spelling,
                Progress::Whole | Progress::Given | Progress::Enough => false,
            },
            is_unfinished: mark == Mark::Nothing && text.scores[0] < UNFINISHED_SCORE,
        }
    }

    /// Returns the chance that the turn is over after this much silence, from 0 to 1. The longer the silence, the
    /// fewer pauses within turns are left that it could be.
    pub fn chance(&self, silent_ms: u64, model: &Model<'_>) -> f32 {
        let odds = model.log_odds(&self.features).exp();
        odds / (odds + self.left(silent_ms, model))
    }

    /// Returns the least silence in milliseconds after which the turn is over with this chance.
    pub fn silence_ms(&self, chance: f32, model: &Model<'_>) -> u64 {
        let odds = model.log_odds(&self.features).exp();
        let least = odds * (1.0 - chance) / chance;
        let steps = (0..MAX_PAUSE_MS).step_by(10);
        let mut enough = steps.filter(|ms| self.left(*ms, model) <= least);
        enough.next().unwrap_or(MAX_PAUSE_MS)
    }

    /// Returns the share of the pauses within turns, of those that had lasted when the words were known, that last
    /// longer than this.
    fn left(&self, silent_ms: u64, model: &Model<'_>) -> f32 {
        let known = model.lasting(self.silent_ms).max(f32::EPSILON);
        model.lasting(silent_ms.max(self.silent_ms)) / known
    }
}

/// Numbers of a text.
#[derive(Debug, Default)]
struct Text {
    words: i16,
    since_mark: i16,
    /// Scores of the last word, the one before, and the one before that.
    scores: [i16; 3],
    first_score: i16,
    /// Least score of the words since the last mark.
    least_score: i16,
    units: i16,
    trailing_units: i16,
    /// 0 if the last word is neither a letter nor a number, 1 if it is a letter, 2 if it is a number.
    last_unit: i16,
    last_length: i16,
}

impl Text {
    fn of(words: &str, model: &Model<'_>) -> Self {
        let mut text = Self::default();
        let mut is_marked = false;
        let mut lower = Lower::default();
        for token in words.split_whitespace() {
            let bare = words::unmarked(token);
            if bare.is_empty() {
                continue;
            }
            if std::mem::take(&mut is_marked) {
                text.since_mark = 0;
                text.least_score = 0;
            }
            is_marked = bare.len() < token.len() && words::mark(token) != Mark::Nothing;
            text.add(lower.of(bare), model);
        }
        text
    }

    fn add(&mut self, word: &str, model: &Model<'_>) {
        let score = model.score(word).unwrap_or(0);
        let [last, before, _] = self.scores;
        self.scores = [score, last, before];
        if self.words == 0 {
            self.first_score = score;
        }
        self.words = self.words.saturating_add(1);
        self.since_mark = self.since_mark.saturating_add(1);
        self.least_score = self.least_score.min(score);
        let digits = word.chars().filter(char::is_ascii_digit).count();
        let units = digits.max(usize::from(words::is_unit(word)));
        self.units = self.units.saturating_add(short(units as u64));
        self.trailing_units = match units {
            0 => 0,
            units => self.trailing_units.saturating_add(short(units as u64)),
        };
        self.last_length = short(word.chars().count() as u64);
        self.last_unit = match (units, self.last_length) {
            (0, _) => 0,
            (_, 1) if digits == 0 => 1,
            _ => 2,
        };
    }
}

/// Room for a word in lower case.
struct Lower([u8; 48]);

impl Default for Lower {
    fn default() -> Self {
        Self([0; 48])
    }
}

impl Lower {
    /// Returns a word in lower case, or as it is if it is long.
    fn of<'a>(&'a mut self, word: &'a str) -> &'a str {
        let mut length = 0;
        for c in word.chars().flat_map(char::to_lowercase) {
            let Some(room) = self.0.get_mut(length..length + c.len_utf8()) else {
                return word;
            };
            length += c.encode_utf8(room).len();
        }
        let lower = self.0.get(..length).unwrap_or_default();
        std::str::from_utf8(lower).unwrap_or(word)
    }
}

fn short(number: u64) -> i16 {
    i16::try_from(number).unwrap_or(i16::MAX)
}
