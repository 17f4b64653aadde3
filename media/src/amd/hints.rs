//! Finds the phrases of [`super::phrase`] in words. One pass over the words looks up phrases by their first word.

use std::{collections::HashMap, sync::LazyLock};

use super::phrase::{Hint, PHRASES};

/// A set of hints.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Hints(u32);

type Index = HashMap<&'static str, Vec<(&'static str, Hint)>>;

static BY_FIRST_WORD: LazyLock<Index> = LazyLock::new(|| {
    let mut index = Index::new();
    for &(hint, phrases) in PHRASES {
        for phrase in phrases.split(", ") {
            let first = phrase.split(' ').next().unwrap_or(phrase);
            index.entry(first).or_default().push((phrase, hint));
        }
    }
    index
});

impl Hints {
    /// Returns the hints in words that were normalised by [`normalised`].
    pub(super) fn of(words: &str) -> Self {
        let mut hints = Self::default();
        let mut at = 0;
        for word in words.split(' ') {
            let rest = &words[at..];
            for (phrase, hint) in BY_FIRST_WORD.get(word).into_iter().flatten() {
                let ends = rest.strip_prefix(phrase);
                if ends.is_some_and(|after| after.is_empty() || after.starts_with(' ')) {
                    hints.0 |= 1 << *hint as u32;
                }
            }
            at += word.len() + 1;
        }
        hints
    }

    pub(super) fn has(self, hint: Hint) -> bool {
        self.0 & (1 << hint as u32) != 0
    }

    /// Returns how many of `wanted` are in the set.
    pub(super) fn count(self, wanted: &[Hint]) -> usize {
        wanted.iter().filter(|hint| self.has(**hint)).count()
    }

    /// Returns whether any of `wanted` is in the set.
    pub(super) fn any(self, wanted: &[Hint]) -> bool {
        self.count(wanted) > 0
    }
}

/// Normalises words: lower case, one space between them, no punctuation, no accents on Latin letters.
pub(super) fn normalised(text: &str) -> String {
    let mut words = String::with_capacity(text.len());
    for word in text.split(|c: char| c.is_whitespace() || c == '-') {
        let before = words.len();
        if before > 0 {
            words.push(' ');
        }
        let start = words.len();
        words.extend(word.chars().flat_map(char::to_lowercase).filter_map(letter));
        if words.len() == start {
            words.truncate(before);
        }
    }
    words
}

/// Returns the letter without its accent, or `None` for punctuation. Marks of other scripts belong to their words.
fn letter(c: char) -> Option<char> {
    Some(match c {
        'á' | 'à' | 'â' | 'ä' | 'ã' | 'å' => 'a',
        'é' | 'è' | 'ê' | 'ë' => 'e',
        'í' | 'ì' | 'î' | 'ï' => 'i',
        'ó' | 'ò' | 'ô' | 'ö' | 'õ' => 'o',
        'ú' | 'ù' | 'û' | 'ü' => 'u',
        'ñ' => 'n',
        'ç' => 'c',
        'a'..='z' | '0'..='9' => c,
        c if c.is_ascii() || "¡¿«»‘’“”„–—…।".contains(c) => return None,
        c => c,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_are_written_as_words_are_compared() {
        for (_, phrases) in PHRASES {
            for phrase in phrases.split(", ") {
                assert_eq!(normalised(phrase), phrase);
            }
        }
    }

    #[test]
    fn phrases_are_found_whole_and_in_any_spelling() {
        let of = |text: &str| Hints::of(&normalised(text));
        assert!(of("Leave it after the BEEP!").has(Hint::Tone));
        assert!(of("déjenos algo después del tono").has(Hint::Tone));
        assert!(of("You\u{2019}ve reached Bo").has(Hint::Reached));
        assert!(of("बीप के बाद बोलिए।").has(Hint::Tone));
        assert!(!of("after the tones").has(Hint::Tone), "a longer word is another word");
        assert!(!of("this is").has(Hint::Hello), "`hi` is no part of a word");
        assert!(!of("the isle").has(Hint::Person), "`he is` begins and ends at words");
        assert_eq!(of(""), Hints::default());
        assert_eq!(of(" — … "), Hints::default());
    }
}
