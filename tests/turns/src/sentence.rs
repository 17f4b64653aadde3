//! A sentence as it is said: words, and the pauses between them.

use std::fmt::Write as _;

/// A word as it is written, with its punctuation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// The word.
    pub text: String,
    /// Whether it is a filled pause, such as `um`.
    pub filler: bool,
}

/// A part of a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// A word.
    Word(Word),
    /// A silence inside the turn.
    Pause {
        /// Length in milliseconds.
        ms: u64,
        /// Whether the words before it could be the end of the turn. Otherwise they are unfinished.
        whole: bool,
    },
}

/// A sentence. It does not begin or end with a pause.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sentence {
    /// Its parts, in order.
    pub parts: Vec<Part>,
}

impl Sentence {
    /// Returns its words.
    pub fn words(&self) -> impl Iterator<Item = &Word> {
        self.parts.iter().filter_map(|part| match part {
            Part::Word(word) => Some(word),
            Part::Pause { .. } => None,
        })
    }

    /// Returns its words in lower case without punctuation and filled pauses: equal sentences have the same.
    pub fn bare(&self) -> String {
        let words = self.words().filter(|word| !word.filler).map(|word| bare(&word.text));
        let words: Vec<String> = words.filter(|word| !word.is_empty()).collect();
        words.join(" ")
    }

    /// Returns its words with the pauses in milliseconds: `[450]` after unfinished words, `[450 whole]` after
    /// words that could be the end.
    pub fn marked(&self) -> String {
        let mut text = String::new();
        for part in &self.parts {
            if !text.is_empty() {
                text.push(' ');
            }
            // Writing to a string cannot fail.
            let _ = match part {
                Part::Word(word) => write!(text, "{}", word.text),
                Part::Pause { ms, whole: false } => write!(text, "[{ms}]"),
                Part::Pause { ms, whole: true } => write!(text, "[{ms} whole]"),
            };
        }
        text
    }
}

/// Returns a word in lower case without its punctuation.
pub fn bare(word: &str) -> String {
    word.trim_matches(is_punctuation).to_lowercase()
}

/// Returns whether a character is punctuation. Signs of Indic scripts are not, though they are no letters.
pub fn is_punctuation(c: char) -> bool {
    matches!(
        c,
        '.' | ',' | '?' | '!' | '¿' | '¡' | ';' | ':' | '।' | '"' | '(' | ')' | '…'
    )
}

/// Returns whether a word ends a statement or a question.
pub fn ends_sentence(word: &str) -> bool {
    word.ends_with(['.', '?', '!', '।'])
}
