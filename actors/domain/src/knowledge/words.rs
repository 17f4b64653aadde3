//! Words of a text in the form the index stores: split by Unicode's rules, in lower case, without function words.

use std::collections::HashMap;

use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};

use super::language::{Language, is_stop_word, tokens};

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
