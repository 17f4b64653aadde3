//! Words as a recogniser writes them.

use super::Manner;
use crate::{
    chance::Chance,
    sentence::{bare, ends_sentence, is_punctuation},
    voice::SpokenWord,
};

/// Share of the pauses at which a recogniser with punctuation writes a full stop that nobody said, or none where
/// the sentence ended.
const WRONG_STOPS: f64 = 0.12;

/// Time after a word until its punctuation is known, in milliseconds.
const MARKED_MS: u64 = 200;

/// A word that was said.
#[derive(Debug, Clone)]
pub(super) struct Heard {
    /// Word as it is shown at first.
    pub(super) first: String,
    /// Word as it stays.
    pub(super) text: String,
    /// Beginning of the word that is shown before the word is known, and since when.
    pub(super) part: Option<(String, u64)>,
    /// Start of the word in the call.
    pub(super) from_ms: u64,
    /// End of the word in the call.
    pub(super) to_ms: u64,
    /// Time since which it is known.
    pub(super) known_ms: u64,
    /// Time since which it is shown as it stays.
    pub(super) corrected_ms: u64,
}

impl Heard {
    /// Returns the times at which it looks different.
    pub(super) fn changes(&self) -> impl Iterator<Item = u64> {
        let part = self.part.as_ref().map(|(_, at)| *at);
        let marked_ms = self.corrected_ms + MARKED_MS;
        let whole = [self.known_ms, self.corrected_ms, marked_ms];
        part.into_iter().chain(whole)
    }

    fn at(&self, now_ms: u64) -> Option<&str> {
        match &self.part {
            _ if self.corrected_ms <= now_ms => Some(&self.text),
            _ if self.known_ms <= now_ms => Some(&self.first),
            Some((part, at)) if *at <= now_ms => Some(part),
            _ => None,
        }
    }
}

/// Returns a word as a recogniser of this manner writes it.
pub(super) fn written(word: &SpokenWord, manner: &Manner, digits: &[String], chance: &mut Chance) -> String {
    let plain = bare(&word.text);
    let numeral = digits
        .iter()
        .position(|digit| *digit == plain)
        .filter(|_| manner.numerals);
    if !manner.punctuation {
        return numeral.map_or(plain, |numeral| numeral.to_string());
    }
    let is_wrong = word.before_pause && chance.happens(WRONG_STOPS);
    let capital = word.text.trim_matches(is_punctuation);
    let body = numeral.map_or_else(|| capital.to_owned(), |numeral| numeral.to_string());
    let marks: String = match (is_wrong, ends_sentence(&word.text)) {
        (true, true) => String::new(),
        (true, false) => ".".to_owned(),
        (false, _) => word.text.chars().rev().take_while(|c| is_punctuation(*c)).collect(),
    };
    let marks: String = marks.chars().rev().collect();
    format!("{body}{marks}")
}

/// Returns final words.
pub(super) fn settled(words: &[Heard], manner: &Manner) -> String {
    joined(words.iter().map(|word| word.text.as_str()), manner)
}

/// Returns the words known by a time, up to the first that is not. The last one has no punctuation at first.
pub(super) fn interim(words: &[Heard], manner: &Manner, now_ms: u64) -> String {
    let known = words.iter().take_while(|word| word.at(now_ms).is_some());
    let last = known.clone().last();
    let text = joined(known.filter_map(|word| word.at(now_ms)), manner);
    match last.is_some_and(|word| word.corrected_ms + MARKED_MS <= now_ms) {
        true => text,
        false => text.trim_end_matches(is_punctuation).to_owned(),
    }
}

/// Joins words with spaces, and numerals without.
fn joined<'a>(words: impl Iterator<Item = &'a str>, manner: &Manner) -> String {
    let is_numeral = |text: &str| text.chars().next_back().is_some_and(|c| c.is_ascii_digit());
    let mut text = String::new();
    for word in words {
        let runs_on = manner.numerals && is_numeral(&text) && word.starts_with(|c: char| c.is_ascii_digit());
        if !text.is_empty() && !runs_on {
            text.push(' ');
        }
        text.push_str(word);
    }
    text
}
