//! Errors of a recogniser: replaced, missing and added words, words that are wrong at first, and missing
//! punctuation. Pure.
//!
//! Digits, single letters, number words and addresses are never wrong: the effect of a wrong digit on the
//! data is the recogniser's affair, and turn-taking cannot repair it. The only word of an utterance is never
//! left out.

use domain::ports::transcriber::TranscriptEvent;

use super::{
    faults::Imperfection,
    hash::{mixed, mixed_text, share},
};

/// Words that are easily confused.
const ALIKE: [(&str, &str); 24] = [
    ("yes", "yet"),
    ("yeah", "year"),
    ("no", "know"),
    ("my", "by"),
    ("name", "same"),
    ("is", "his"),
    ("it", "at"),
    ("day", "they"),
    ("monday", "someday"),
    ("tuesday", "choose day"),
    ("friday", "fry day"),
    ("morning", "mourning"),
    ("right", "write"),
    ("hello", "yellow"),
    ("sorry", "sari"),
    ("wait", "weight"),
    ("good", "could"),
    ("please", "police"),
    ("call", "cold"),
    ("think", "thing"),
    ("would", "wood"),
    ("but", "bat"),
    ("like", "light"),
    ("thank", "tank"),
];

/// Replacements for words that are not in [`ALIKE`].
const COMMON: [&str; 6] = ["that", "there", "then", "this", "them", "some"];

/// Words that are added between others.
const FILLERS: [&str; 4] = ["a", "the", "so", "uh"];

const NUMBERS: [&str; 32] = [
    "zero",
    "oh",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
    "twenty",
    "thirty",
    "forty",
    "fifty",
    "sixty",
    "seventy",
    "eighty",
    "ninety",
    "hundred",
    "double",
    "triple",
];

/// Error of a single word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WordError {
    Right,
    Other,
    LeftOut,
    WithMore,
    /// Shown as another word until the next one follows.
    TakenBack,
}

/// Errors of one stream.
pub(crate) struct Errors {
    faults: Imperfection,
    /// Hash of all text said before this utterance.
    past: u64,
    shown: String,
}

impl Errors {
    pub(crate) fn new(faults: Imperfection) -> Self {
        Self {
            faults,
            past: mixed(faults.seed, 0x776f_7264_7300),
            shown: String::new(),
        }
    }

    /// Returns the event with errors, or `None` if it shows nothing new.
    pub(crate) fn apply(&mut self, event: TranscriptEvent) -> Option<TranscriptEvent> {
        match event {
            TranscriptEvent::Interim { text } => {
                let text = self.words(&text, false);
                (text != self.shown).then(|| {
                    self.shown.clone_from(&text);
                    TranscriptEvent::Interim { text }
                })
            }
            TranscriptEvent::Final { text, damaged } => {
                let told = self.words(&text, true);
                self.past = mixed_text(self.past, &text);
                self.shown.clear();
                Some(TranscriptEvent::Final { text: told, damaged })
            }
            other @ (TranscriptEvent::TurnEnded
            | TranscriptEvent::TurnPaused
            | TranscriptEvent::TurnResumed
            | TranscriptEvent::Failed(_)) => Some(other),
        }
    }

    fn words(&self, text: &str, is_final: bool) -> String {
        let words: Vec<&str> = text.split_whitespace().collect();
        let last = words.len().saturating_sub(1);
        let mut told: Vec<String> = Vec::with_capacity(words.len());
        for (at, word) in words.iter().enumerate() {
            // The last word of an interim may be incomplete.
            let whole = is_final || at < last;
            let hash = mixed_text(mixed(self.past, at as u64), word);
            let error = if whole {
                self.error(word, hash)
            } else {
                WordError::Right
            };
            let newest = !is_final && at + 1 == last;
            match error {
                WordError::TakenBack if newest => told.push(other(word, hash)),
                WordError::LeftOut if last > 0 => {}
                WordError::Other => told.push(other(word, hash)),
                WordError::WithMore => {
                    told.push(self.punctuated(word));
                    told.push(pick(&FILLERS, hash).to_owned());
                }
                WordError::Right | WordError::LeftOut | WordError::TakenBack => told.push(self.punctuated(word)),
            }
        }
        told.retain(|word| !word.is_empty());
        told.join(" ")
    }

    fn error(&self, word: &str, hash: u64) -> WordError {
        if is_exact(word) {
            return WordError::Right;
        }
        let errors = f64::from(self.faults.word_errors) / 100.0;
        // Most errors of a recogniser are substitutions.
        match share(hash) / errors {
            drawn if drawn < 0.6 => WordError::Other,
            drawn if drawn < 0.8 => WordError::LeftOut,
            drawn if drawn < 1.0 => WordError::WithMore,
            drawn if drawn < 2.0 => WordError::TakenBack,
            _ => WordError::Right,
        }
    }

    fn punctuated(&self, word: &str) -> String {
        if self.faults.punctuation {
            return word.to_owned();
        }
        word.trim_matches(['.', ',', ';', ':', '!', '?', '"']).to_owned()
    }
}

fn plain(word: &str) -> String {
    word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase()
}

/// Returns whether a word is never wrong.
fn is_exact(word: &str) -> bool {
    let plain = plain(word);
    plain.chars().count() <= 1
        || word.contains('@')
        || word.contains(media::babble::MISSING)
        || plain.contains(|c: char| c.is_numeric() || c == '.')
        || plain.split('-').any(|part| NUMBERS.contains(&part))
}

/// Returns a word that this one may be confused with.
fn other(word: &str, hash: u64) -> String {
    let plain = plain(word);
    let alike = ALIKE.iter().find(|(right, _)| *right == plain);
    alike.map_or_else(|| pick(&COMMON, hash), |(_, wrong)| wrong).to_owned()
}

fn pick<'a>(among: &[&'a str], hash: u64) -> &'a str {
    among[(mixed(hash, 2) % among.len() as u64) as usize]
}
