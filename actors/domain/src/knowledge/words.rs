//! Words of a text in the form the index stores: split by Unicode's rules, in lower case, without function words.

use std::{
    collections::{HashMap, HashSet},
    sync::LazyLock,
};

use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};
use unicode_segmentation::UnicodeSegmentation;

use super::language::{Language, STOP_WORDS};

/// Longest word, in bytes, that is indexed; a longer one tells nothing and slows down the stemmer.
const LONGEST_WORD: usize = 64;

static STOPPED: LazyLock<[(Language, HashSet<&str>); 5]> =
    LazyLock::new(|| STOP_WORDS.map(|(language, words)| (language, words.split_whitespace().collect())));

/// Terms of texts, cached per word, because stemming is most of the work.
#[derive(Default)]
pub(super) struct Words {
    known: HashMap<Language, HashMap<String, Option<Box<str>>>>,
}

impl Words {
    /// Returns the terms of a text, in order.
    pub(super) fn of(&mut self, language: Language, text: &str) -> Vec<Box<str>> {
        let known = self.known.entry(language).or_default();
        let terms = tokens(text).filter_map(|token| match known.get(&token) {
            Some(term) => term.clone(),
            None => {
                let wanted = !is_stop_word(&token, Some(language));
                let term = wanted.then(|| term(&token, language));
                known.insert(token, term.clone());
                term
            }
        });
        terms.collect()
    }

    /// Returns the languages seen so far.
    pub(super) fn languages(&self) -> Vec<Language> {
        let mut languages: Vec<Language> = self.known.keys().copied().collect();
        languages.sort_unstable();
        languages
    }
}

/// Splits a text into lower-case words. Elisions (`l'hôtel`) and endings after an apostrophe are separate words.
pub(super) fn tokens(text: &str) -> impl Iterator<Item = String> {
    text.unicode_words()
        .flat_map(|word| word.split(['\'', '\u{2019}', '.', '_']))
        .filter(|word| word.len() <= LONGEST_WORD)
        .map(|word| word.nfkc().collect::<String>().to_lowercase())
        .filter(|word| word.chars().nth(1).is_some() || word.chars().any(char::is_numeric))
}

/// Returns whether a word is a function word of its language, or of any language if it is unknown.
pub(super) fn is_stop_word(token: &str, language: Option<Language>) -> bool {
    let mut lists = STOPPED
        .iter()
        .filter(|(of, _)| language.is_none_or(|language| *of == language));
    lists.any(|(_, words)| words.contains(token))
}

/// Returns the indexed form of a word: its stem, without accents.
pub(super) fn term(token: &str, language: Language) -> Box<str> {
    let stem = language.stem(token);
    if stem.is_ascii() {
        return stem.into();
    }
    // Only Latin letters lose their marks, because the marks of Devanagari are its vowels.
    let plain = stem
        .nfd()
        .filter(|c| !(is_combining_mark(*c) && ('\u{300}'..='\u{36f}').contains(c)));
    plain.nfc().collect::<String>().into_boxed_str()
}
