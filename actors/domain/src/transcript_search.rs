//! Search in transcripts: words of texts, queries, and the places of a call that a query matches.
//!
//! A query consists of words and `"exact phrases"`, all of which must occur. `word*` matches every word that begins
//! with `word`. Other characters only separate words.

use serde::Serialize;
use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};
use unicode_segmentation::UnicodeSegmentation;
use utoipa::ToSchema;

use crate::history::TurnFact;

/// Maximum characters of a query.
const QUERY_CHARACTERS: usize = 500;
/// Maximum words of a query.
const QUERY_WORDS: usize = 32;
/// Minimum characters before a `*`. A shorter prefix would match too many words.
const PREFIX_CHARACTERS: usize = 3;
/// Characters of a word that are compared.
const WORD_CHARACTERS: usize = 40;
/// Maximum indexed words of a call, and their maximum bytes: hours of talk.
const INDEXED_WORDS: usize = 50_000;
const INDEXED_BYTES: usize = 500_000;
/// Maximum places of a call that are shown.
const MATCHES: usize = 3;
/// Words that are shown on each side of a match.
const AROUND: usize = 12;
/// Maximum characters of a shown text.
const SHOWN_CHARACTERS: usize = 300;

/// Marks the beginning of a turn in the index, so that no phrase spans two turns. No word contains it.
pub const TURN: &str = "¶";

/// Returns the words of a text: in lower case, without the accents of Latin letters.
pub fn words(text: &str) -> Vec<String> {
    let lower = text.nfkd().collect::<String>().to_lowercase();
    // The marks of other scripts may be their vowels.
    let accent = |c: char| is_combining_mark(c) && ('\u{300}'..='\u{36f}').contains(&c);
    let plain: String = lower.nfd().filter(|c| !accent(*c)).nfc().collect();
    let parts = plain
        .unicode_words()
        .flat_map(|word| word.split(|c: char| c == '\u{2019}' || (c.is_ascii() && !c.is_ascii_alphanumeric())));
    // A mark at the beginning belongs to what was cut off.
    let parts = parts.map(|part| part.trim_start_matches(|c: char| !c.is_alphanumeric() || is_combining_mark(c)));
    let parts = parts.filter(|part| !part.is_empty());
    parts.map(|part| part.chars().take(WORD_CHARACTERS).collect()).collect()
}

/// Returns the texts of a call, each with the number of its turn: first the lines about the other person.
fn texts<'a>(callee: &'a str, turns: &'a [TurnFact]) -> impl Iterator<Item = (Option<i64>, &'a str)> {
    let turns = turns.iter().map(|turn| (Some(turn.seq), &*turn.text));
    callee.lines().map(|line| (None, line)).chain(turns)
}

/// Returns the words of a call in the order of the index. `scope` are ids; each becomes a word of its own that
/// no text contains. `callee` tells of the other person, in lines.
pub fn indexed(scope: &[String], callee: &str, turns: &[TurnFact]) -> Vec<String> {
    let mut all: Vec<String> = scope.iter().map(|id| scope_word(id)).collect();
    let mut bytes = 0;
    for (_, text) in texts(callee, turns) {
        all.push(TURN.to_owned());
        for word in words(text) {
            bytes += word.len() + 1;
            if bytes > INDEXED_BYTES || all.len() >= INDEXED_WORDS {
                return all;
            }
            all.push(word);
        }
    }
    all
}

/// Returns the word by which calls with this id are found.
pub fn scope_word(id: &str) -> String {
    format!("§{}", id.replace('-', ""))
}

/// Words that must follow each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Term {
    /// The words, at least one.
    pub words: Vec<String>,
    /// Whether the last one is a prefix.
    pub is_prefix: bool,
}

impl Term {
    /// Returns the index of the first word of the first match.
    fn place_in(&self, words: &[String]) -> Option<usize> {
        let last = self.words.len() - 1;
        let fits = |(at, word): (usize, &String)| match self.is_prefix && at == last {
            true => word.starts_with(&self.words[at]),
            false => *word == self.words[at],
        };
        words
            .windows(self.words.len())
            .position(|window| window.iter().enumerate().all(fits))
    }
}

/// A search in transcripts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// Terms that must all occur; at least one.
    pub terms: Vec<Term>,
}

/// Reason why a query is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidQuery {
    /// Too many characters.
    #[error("has {0} characters; at most {QUERY_CHARACTERS} are allowed")]
    TooLong(usize),
    /// Too many words.
    #[error("has {0} words; at most {QUERY_WORDS} are allowed")]
    TooManyWords(usize),
    /// No word.
    #[error("contains no word; write words, \"exact phrases\" or beginnings of words such as `appoint*`")]
    NoWord,
    /// A prefix that is too short.
    #[error("has fewer than {PREFIX_CHARACTERS} characters before a `*`; write more of the word")]
    ShortPrefix,
}

impl Query {
    /// Parses a query.
    ///
    /// # Errors
    ///
    /// Returns an error if it is too long or contains nothing to search for.
    pub fn parse(text: &str) -> Result<Self, InvalidQuery> {
        let length = text.chars().count();
        if length > QUERY_CHARACTERS {
            return Err(InvalidQuery::TooLong(length));
        }
        let mut terms = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('"') {
            terms.extend(before.split_whitespace().map(loose));
            rest = match after.split_once('"') {
                Some((phrase, after)) => {
                    let (words, is_prefix) = (words(phrase), false);
                    terms.push(Term { words, is_prefix });
                    after
                }
                // An unpaired quotation mark is text.
                None => after,
            };
        }
        terms.extend(rest.split_whitespace().map(loose));
        terms.retain(|term| !term.words.is_empty());
        let count = terms.iter().map(|term| term.words.len()).sum();
        let is_short = |term: &Term| {
            let last = term.words.last().map_or(0, |word| word.chars().count());
            term.is_prefix && last < PREFIX_CHARACTERS
        };
        match count {
            0 => Err(InvalidQuery::NoWord),
            1..=QUERY_WORDS if terms.iter().any(is_short) => Err(InvalidQuery::ShortPrefix),
            1..=QUERY_WORDS => Ok(Self { terms }),
            _ => Err(InvalidQuery::TooManyWords(count)),
        }
    }

    /// Returns whether each term occurs in some text of the call.
    pub fn matches(&self, callee: &str, turns: &[TurnFact]) -> bool {
        let texts: Vec<Vec<String>> = texts(callee, turns).map(|(_, text)| words(text)).collect();
        let occurs = |term: &Term| texts.iter().any(|words| term.place_in(words).is_some());
        self.terms.iter().all(occurs)
    }

    /// Returns the first places of a call at which a term occurs, at most one for each text.
    pub fn places(&self, callee: &str, turns: &[TurnFact]) -> Vec<SearchMatch> {
        let found = texts(callee, turns).filter_map(|(turn, text)| {
            let text = self.shown(text)?;
            Some(SearchMatch { turn, text })
        });
        found.take(MATCHES).collect()
    }

    fn shown(&self, text: &str) -> Option<String> {
        let parts: Vec<&str> = text.split_whitespace().collect();
        let of_part =
            |(at, part): (usize, &&str)| words(part).into_iter().map(move |word| (word, at)).collect::<Vec<_>>();
        let (words, at): (Vec<String>, Vec<usize>) = parts.iter().enumerate().flat_map(of_part).unzip();
        let first = self.terms.iter().filter_map(|term| term.place_in(&words)).min()?;
        let at = *at.get(first)?;
        let (from, to) = (at.saturating_sub(AROUND), parts.len().min(at + AROUND + 1));
        let before = if from > 0 { "… " } else { "" };
        let after = if to < parts.len() { " …" } else { "" };
        let shown = format!("{before}{}{after}", parts[from..to].join(" "));
        Some(shown.chars().take(SHOWN_CHARACTERS).collect())
    }
}

/// Returns the term of a text without white space and quotation marks.
fn loose(text: &str) -> Term {
    let stem = text.trim_end_matches('*');
    Term {
        words: words(stem),
        is_prefix: stem.len() < text.len() && stem.ends_with(|c: char| c.is_alphanumeric() || is_combining_mark(c)),
    }
}

/// A place of a call that matches a search.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SearchMatch {
    /// Number of the turn. Left out if the match is in the name or the fields of the other person.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0)]
    pub turn: Option<i64>,
    /// Words around the match; `…` stands for words that were left out.
    #[schema(max_length = 300)]
    pub text: String,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::history::Speaker;

    fn turn(seq: i64, text: &str) -> TurnFact {
        TurnFact {
            seq,
            speaker: Speaker::User,
            text: text.to_owned(),
            started_ms: 0,
            ended_ms: 1,
            interrupted: false,
            damaged: false,
            detail: Default::default(),
        }
    }

    fn finds(query: &str, turns: &[&str]) -> bool {
        let turns: Vec<TurnFact> = turns.iter().map(|text| turn(0, text)).collect();
        Query::parse(query).unwrap().matches("Zoë Moss\nGraz", &turns)
    }

    #[test]
    fn words_phrases_and_prefixes_are_found_whatever_their_case_and_accents() {
        let call = [
            "I need a Café table.",
            "On Tuesday, at O'Brien's; über 3,000 €",
            "你好世界 नमस्ते",
        ];
        for query in [
            "cafe",
            "CAFÉ",
            "table tuesday",
            "\"a cafe table\"",
            "tues*",
            "o'brien",
            "\"O’Brien’s\"",
            "uber",
            "3,000",
            "世界",
            "नमस्ते",
            "table\" need",
            "cafe*",
            "AND-need",
            "(table)",
            "\"zoe moss\" tuesday graz",
            "table:",
            "\"need a\" tuesday *",
        ] {
            let expected = query != "AND-need";
            assert_eq!(finds(query, &call), expected, "{query}");
        }
        for query in [
            "caf",
            "\"table need\"",
            "\"table on\"",
            "\"moss graz\"",
            "tuesdays",
            "need OR nothing",
            "世你",
            "NEAR(need table)",
        ] {
            assert!(!finds(query, &call), "{query}");
        }
    }

    #[test]
    fn a_query_without_a_word_or_with_too_many_is_refused() {
        use InvalidQuery::{NoWord, ShortPrefix, TooLong, TooManyWords};
        for (query, why) in [
            ("***", NoWord),
            ("\"\" - ()", NoWord),
            ("ab*", ShortPrefix),
            (&"a ".repeat(33), TooManyWords(33)),
            (&"x".repeat(10_000), TooLong(10_000)),
        ] {
            assert_eq!(Query::parse(query), Err(why), "{query}");
        }
    }

    #[test]
    fn a_match_is_shown_with_the_words_around_it() {
        let long = format!("{}needle, {}", "hay ".repeat(40), "straw ".repeat(40));
        let turns = [
            turn(0, "no"),
            turn(4, "A needle."),
            turn(7, &long),
            turn(9, "needle"),
            turn(11, "needle"),
        ];
        let places = Query::parse("need*").unwrap().places("", &turns);
        let found: Vec<i64> = places.iter().filter_map(|place| place.turn).collect();
        assert_eq!(found, [4, 7, 9]);
        let of_callee = Query::parse("vera").unwrap().places("Dr. Vera Moss\nGraz", &turns);
        let text = "Dr. Vera Moss".to_owned();
        assert_eq!(of_callee, [SearchMatch { turn: None, text }]);
        assert_eq!(places[0].text, "A needle.");
        let around = format!("… {}needle, {}…", "hay ".repeat(12), "straw ".repeat(12));
        assert_eq!(places[1].text, around);
    }

    proptest! {
        #[test]
        fn every_text_is_found_by_its_own_words_and_no_query_panics(text in "[\\PC\"*' ]{0,120}", query in "[\\PC\"*()^:{}+-]{0,80}") {
            let call = [turn(0, &text)];
            if let Ok(query) = Query::parse(&query) {
                let places = query.places("", &call);
                prop_assert!(!query.matches("", &call) || !places.is_empty());
            }
            let own: Vec<String> = words(&text).into_iter().take(32).collect();
            if !own.is_empty() && own.join(" ").chars().count() <= 490 {
                let phrase = format!("\"{}\"", own.join(" "));
                prop_assert!(Query::parse(&phrase).unwrap().matches("", &call), "{phrase}");
            }
        }

        #[test]
        fn a_word_is_one_token_of_every_index(text in "\\PC{0,120}") {
            for word in words(&text) {
                prop_assert!(!word.is_empty() && !word.contains(['\'', '"', '\\', ' ', '\0', '¶', '§']), "{word:?}");
                prop_assert!(word.chars().all(|c| !c.is_ascii() || c.is_ascii_alphanumeric()), "{word:?}");
            }
        }
    }
}
