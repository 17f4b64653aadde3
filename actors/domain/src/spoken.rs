//! Speech in comparable words: numbers, days, times, yes and no have one form in every language.

pub(crate) mod time;

use std::{
    collections::{BTreeMap, HashMap},
    sync::LazyLock,
};

use crate::opt_out::clauses;

/// Longest phrase of the tables, in words.
const LONGEST: usize = 5;

/// Phrases of each language, and the token that each stands for. Those of `count`, `day` and `month` are numbered.
static TABLES: LazyLock<BTreeMap<&str, HashMap<String, String>>> = LazyLock::new(|| {
    let blocks = include_str!("spoken/words.txt").split("\n\n");
    let blocks = blocks.filter_map(|block| block.split_once('\n'));
    let table = |lines: &'static str| {
        let lines = lines.lines().filter_map(|line| line.split_once(": "));
        let entries = lines.flat_map(|(token, phrases)| {
            phrases.split(" | ").enumerate().map(move |(number, phrase)| {
                let token = match token {
                    "count" => number.to_string(),
                    "day" => format!("<day{number}>"),
                    "month" => format!("<month{}>", number + 1),
                    one => one.to_owned(),
                };
                (clauses(phrase).concat().join(" "), token)
            })
        });
        entries.collect()
    };
    blocks.map(|(language, lines)| (language, table(lines))).collect()
});

/// A word or token, and the number of its clause.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Word {
    pub text: String,
    pub clause: usize,
}

impl Word {
    pub fn is(&self, tokens: &[&str]) -> bool {
        tokens.contains(&self.text.as_str())
    }

    pub fn figure(&self) -> Option<f64> {
        let begins = self.text.starts_with(|c: char| c.is_ascii_digit());
        self.text.parse().ok().filter(|_| begins)
    }

    /// Returns the kind of a number, day or month. Of one kind, a later word can correct an earlier one.
    pub fn kind(&self) -> Option<char> {
        let begins = |token: &str| self.text.starts_with(token);
        match () {
            () if self.figure().is_some() => Some('n'),
            () if begins("<day") && !begins("<days") || begins("<+") => Some('d'),
            () if begins("<month") => Some('m'),
            () => None,
        }
    }
}

/// Returns the language with a table for this code, if there is one.
pub(crate) fn known(language: &str) -> Option<&'static str> {
    TABLES.keys().find(|known| **known == language).copied()
}

/// Returns the token of a phrase. Hindi is spoken with English words in it.
fn token(language: &str, phrase: &str) -> Option<&'static str> {
    let of = |language| TABLES.get(language)?.get(phrase).map(String::as_str);
    of(language).or_else(|| of("en").filter(|_| language == "hi"))
}

/// Returns the tokens that a word stands for in any language.
pub(crate) fn tokens(word: &str) -> impl Iterator<Item = &'static str> {
    TABLES.values().filter_map(move |table| Some(table.get(word)?.as_str()))
}

/// Reads a text in a language.
pub(crate) fn read(text: &str, language: &str) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    for (clause, said) in clauses(&separated(text, language)).iter().enumerate() {
        let mut at = 0;
        while let Some(first) = said.get(at) {
            let most = if is_spelled(said, at, language) {
                0
            } else {
                LONGEST.min(said.len() - at)
            };
            let mut phrases = (1..=most).rev().map(|length| (length, said[at..at + length].join(" ")));
            let known = phrases.find_map(|(length, phrase)| Some((length, token(language, &phrase)?)));
            let (length, text) = known.unwrap_or((1, first));
            at += length;
            match words.as_slice() {
                // "M as in Martha" is an M.
                [.., letter, link]
                    if link.is(&["<as>"]) && is_letter(&letter.text) && text.starts_with(&letter.text) =>
                {
                    words.pop();
                }
                _ => words.extend(text.split(' ').map(|text| Word {
                    text: text.to_owned(),
                    clause,
                })),
            }
        }
    }
    let words = counted(&words);
    parted(&joined(&words, language))
}

fn is_letter(word: &str) -> bool {
    word.chars().count() == 1 && word.chars().all(char::is_alphabetic)
}

/// Returns whether a word is a letter that is spelled: beside another one, or before "as in".
fn is_spelled(said: &[String], at: usize, language: &str) -> bool {
    let letter = |at: Option<usize>| at.and_then(|at| said.get(at)).is_some_and(|word| is_letter(word));
    let links = |length: usize| {
        let link = said.get(at + 1..at + 1 + length);
        link.is_some_and(|link| token(language, &link.join(" ")) == Some("<as>"))
    };
    letter(Some(at)) && (said.len() == 1 || letter(at.checked_sub(1)) || letter(Some(at + 1)) || links(1) || links(2))
}

/// Returns the text with its signs as words of their own, and figures apart from letters.
fn separated(text: &str, language: &str) -> String {
    let lower = text.to_lowercase().replace("a.m", "am").replace("p.m", "pm");
    let chars: Vec<char> = lower.chars().collect();
    let mut separated = String::with_capacity(text.len());
    for (at, c) in chars.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|at| chars.get(at)).copied().unwrap_or(' ');
        let after = chars.get(at + 1).copied().unwrap_or(' ');
        let in_number = before.is_ascii_digit() && after.is_ascii_digit();
        let sign = match c {
            '@' => "ⓐ",
            '.' if before.is_alphanumeric() && after.is_alphanumeric() => "ⓓ",
            ',' if in_number => "ⓒ",
            ':' if in_number => "ⓣ",
            '-' | '\u{2212}' if !before.is_alphanumeric() && after.is_ascii_digit() => "ⓗ",
            '_' => "ⓤ",
            '%' => "percent",
            '€' => "euro",
            '$' => "dollar",
            '£' => "pound",
            '₹' => "rupee",
            _ => "",
        };
        if !sign.is_empty() {
            separated.extend([" ", sign, " "]);
            continue;
        }
        if c.is_alphabetic() && before.is_ascii_digit() || c.is_ascii_digit() && before.is_alphabetic() {
            separated.push(' ');
        }
        separated.push(*c);
    }
    match language {
        "de" => ["hundert", "tausend", "einhalb"]
            .iter()
            .fold(separated, |text, part| text.replace(part, &format!(" {part} "))),
        _ => separated,
    }
}

/// Returns the words with articles read as a one where they count, and repeated digits written out.
fn counted(words: &[Word]) -> Vec<Word> {
    let near = |word: Option<&Word>| {
        word.is_some_and(|word| {
            word.figure().is_some() || word.text.starts_with("<10") || word.is(&["<12>", "<at>", "<h>"])
        })
    };
    let mut counted: Vec<Word> = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let clause = || words.iter().filter(|other| other.clause == word.clause).count();
        let mut word = word.clone();
        if word.is(&["<1>"])
            && (near(at.checked_sub(1).and_then(|at| words.get(at))) || near(words.get(at + 1)) || clause() <= 3)
        {
            word.text = "1".to_owned();
        }
        let times = match counted.last().map(|last| last.text.as_str()) {
            Some("<x2>") => 2,
            Some("<x3>") => 3,
            _ => 1,
        };
        if times > 1 && word.text.chars().count() == 1 {
            counted.pop();
            word.text = word.text.repeat(times);
        }
        counted.push(word);
    }
    counted
}

/// Returns the words with the parts of each number joined: "two hundred and five" is 205, "two point five" 2.5.
fn joined(words: &[Word], language: &str) -> Vec<Word> {
    let mut joined = Vec::new();
    let mut rest = words;
    while let Some(first) = rest.first() {
        let (text, length) = amount(rest, language).unwrap_or((first.text.clone(), 1));
        joined.push(Word { text, ..*first });
        rest = &rest[length..];
    }
    joined
}

/// Returns the number that begins the words, and the number of its words.
fn amount(words: &[Word], language: &str) -> Option<(String, usize)> {
    let (mut total, mut current, mut bound) = (0.0, None::<f64>, f64::INFINITY);
    let (mut at, mut text) = (0, String::new());
    while let Some(word) = words.get(at) {
        let power: Option<f64> = word
            .text
            .strip_prefix("<1")
            .and_then(|rest| format!("1{}", rest.strip_suffix('>')?).parse().ok());
        let next = figure(&words[at..], language);
        match (power.filter(|power| *power > 1.0), next, current) {
            (Some(100.0), _, base) if base.is_none_or(|base| base < 100.0) => {
                (current, bound) = (Some(base.unwrap_or(1.0) * 100.0), 100.0);
            }
            (Some(power), ..) if power > 100.0 || power == 12.0 => {
                total += current.take().unwrap_or(1.0) * power;
                bound = power;
            }
            (_, Some((figures, length)), base) => {
                let number: f64 = figures.parse().ok()?;
                match base {
                    None if number < bound => (current, text) = (Some(number), figures),
                    Some(base) if bound == 100.0 && number < 100.0 => current = Some(base + number),
                    _ => break,
                }
                bound = if base.is_none() { f64::INFINITY } else { 0.0 };
                at += length - 1;
            }
            _ if word.is(&["<and>"])
                && bound.is_finite()
                && bound > 0.0
                && words.get(at + 1).is_some_and(|next| next.figure().is_some()) => {}
            _ => break,
        }
        at += 1;
    }
    let sum = total + current.unwrap_or_default();
    let is_plain =
        total == 0.0 && current.map(|sum| sum.to_string()) == text.parse::<f64>().ok().map(|sum| sum.to_string());
    (at > 0).then(|| (if is_plain { text } else { sum.to_string() }, at))
}

/// Returns the figures with their decimals that begin the words.
fn figure(words: &[Word], language: &str) -> Option<(String, usize)> {
    let text = |at: usize| {
        words
            .get(at)
            .filter(|word| word.figure().is_some())
            .map(|word| word.text.as_str())
    };
    if words.first()?.is(&["<half>"]) {
        return Some((format!("{}.5", text(1)?), 2));
    }
    let mut figures = text(0)?.to_owned();
    let mut at = 1;
    while let (Some(mark), Some(more)) = (words.get(at), text(at + 1)) {
        match (mark.text.as_str(), language) {
            ("ⓒ", "en" | "hi") | ("ⓓ", "de" | "es" | "fr") if more.len() == 3 && !figures.contains('.') => {
                figures.push_str(more);
            }
            ("ⓒ" | "ⓓ", _) if !figures.contains('.') => {
                figures = format!("{figures}.{more}");
                while let Some(digit) = text(at + 2).filter(|digit| digit.len() == 1) {
                    figures.push_str(digit);
                    at += 1;
                }
            }
            _ => break,
        }
        at += 2;
    }
    if words.get(at).is_some_and(|word| word.is(&["<half>"])) && !figures.contains('.') {
        return Some((format!("{figures}.5"), at + 1));
    }
    Some((figures, at))
}

/// Returns the words with new clauses behind "but" and "and", except within a list of numbers or days.
fn parted(words: &[Word]) -> Vec<Word> {
    let mut parts = 0;
    let part = |(at, word): (usize, &Word)| {
        let lists = || words.iter().skip(at + 1).take(2).any(|word| word.kind().is_some());
        parts += usize::from(word.is(&["<but>"]) || word.is(&["<and>"]) && !lists());
        Word {
            text: word.text.clone(),
            clause: word.clause + parts,
        }
    };
    words.iter().enumerate().map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str, language: &str) -> String {
        let words: Vec<String> = read(text, language).into_iter().map(|word| word.text).collect();
        words.join(" ")
    }

    #[test]
    fn numbers_have_one_form_in_every_language() {
        for (language, text, expected) in [
            ("en", "two hundred and five", "205"),
            ("en", "twelve hundred", "1200"),
            ("en", "two thousand three hundred forty one", "2341"),
            ("en", "1,200", "1200"),
            ("en", "1.5 million", "1500000"),
            ("en", "two point five", "2.5"),
            ("en", "three and a half", "3.5"),
            ("en", "a hundred", "100"),
            ("en", "two dozen", "24"),
            ("en", "five five five, oh one double two", "5 5 5 0 1 22"),
            ("en", "nineteen eighty-four", "19 84"),
            ("en", "twenty-five", "25"),
            ("de", "fünfundzwanzig", "25"),
            ("de", "zweihundertdreißig", "230"),
            ("de", "tausendzweihundert", "1200"),
            ("de", "drei Komma fünf", "3.5"),
            ("de", "dreieinhalb", "3.5"),
            ("de", "1.200", "1200"),
            ("de", "3,5", "3.5"),
            ("es", "treinta y cinco", "35"),
            ("es", "doscientos cincuenta", "250"),
            ("es", "mil doscientos", "1200"),
            ("es", "tres coma cinco", "3.5"),
            ("fr", "quatre-vingt-douze", "92"),
            ("fr", "soixante et onze", "71"),
            ("fr", "deux cent cinquante", "250"),
            ("fr", "mille deux cents", "1200"),
            ("hi", "पच्चीस", "25"),
            ("hi", "ढाई सौ", "250"),
            ("hi", "do lakh", "200000"),
            ("hi", "साढ़े तीन", "3.5"),
            ("en", "m as in mike a r i a", "m a r i a"),
        ] {
            assert_eq!(said(text, language), expected, "{language}: {text}");
        }
    }
}
