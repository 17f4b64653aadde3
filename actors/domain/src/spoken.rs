//! Speech in comparable words: numbers, days, times, yes and no have one form in every language.
//!
//! Numbers become figures. Other known words become tokens such as `<day1>` for Tuesday, `<+1>` for tomorrow or `<yes>`;
//! `<:30>` shifts the hour after it by 30 minutes, `<15:>` shifts the hour before it by 15. Signs become circled letters:
//! ⓓ is a dot, ⓜ begins a unit.

mod clauses;
mod number;
mod settled;
pub(crate) mod time;
mod word;

use std::{
    collections::{BTreeMap, HashMap},
    sync::LazyLock,
};

pub(crate) use self::{
    clauses::clauses,
    number::{Number, numbers},
    settled::{is_correction, is_link, settled, yes_or_no},
    word::Word,
};

/// Longest phrase of the tables, in words.
const LONGEST: usize = 5;

/// Phrases of each language, and their tokens. In `count`, `ordinal`, `day` and `month` the position gives the number;
/// `compounds` lists
/// the parts at which long words are split.
static TABLES: LazyLock<BTreeMap<&str, HashMap<String, String>>> = LazyLock::new(|| {
    let blocks = include_str!("spoken/words.txt").split("\n\n");
    let blocks = blocks.filter_map(|block| block.split_once('\n'));
    let table = |lines: &'static str| {
        let lines = lines.lines().filter_map(|line| line.split_once(": "));
        lines.flat_map(|(token, phrases)| entries(token, phrases)).collect()
    };
    blocks.map(|(language, lines)| (language, table(lines))).collect()
});

fn entries(token: &str, phrases: &'static str) -> impl Iterator<Item = (String, String)> {
    phrases.split(" | ").enumerate().map(move |(number, phrase)| {
        let token = match token {
            "count" => number.to_string(),
            "ordinal" => format!("{} <th>", number + 1),
            "day" => format!("<day{number}>"),
            "month" => format!("<month{}>", number + 1),
            one => one.to_owned(),
        };
        (clauses(phrase).concat().join(" "), token)
    })
}

/// Returns the language with a table for this code, if there is one.
pub(crate) fn known(language: &str) -> Option<&'static str> {
    TABLES.keys().find(|known| **known == language).copied()
}

/// Returns the tokens of a phrase in a language. Hindi is spoken with English words in it.
pub(crate) fn token(language: &str, phrase: &str) -> Option<&'static str> {
    let of = |language| TABLES.get(language)?.get(phrase).map(String::as_str);
    of(language).or_else(|| of("en").filter(|_| language == "hi"))
}

/// Reads a text in a language.
pub(crate) fn read(text: &str, language: &str) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    for (clause, said) in clauses(&separated(text, language)).iter().enumerate() {
        let mut at = 0;
        while let Some(first) = said.get(at) {
            let most = if is_spelled(said, at, language) { 0 } else { LONGEST };
            let mut phrases = (1..=most.min(said.len() - at)).rev();
            let known = phrases.find_map(|length| Some((length, token(language, &said[at..at + length].join(" "))?)));
            let (length, text) = known.unwrap_or((1, first));
            let phrase = said[at..at + length].join(" ");
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
                    said: phrase.clone(),
                    clause,
                })),
            }
        }
    }
    parted(number::joined(&words, language))
}

fn is_letter(word: &str) -> bool {
    word.chars().count() == 1 && word.chars().all(|c| c.is_alphabetic() && !('ⓐ'..='ⓩ').contains(&c))
}

/// Returns whether a word is a letter that is spelled: alone, beside another one, or before "as in".
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
    let mut currency = None;
    for (at, c) in chars.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|at| chars.get(at)).copied().unwrap_or(' ');
        let after = chars.get(at + 1).copied().unwrap_or(' ');
        let in_number = before.is_ascii_digit() && after.is_ascii_digit();
        if currency.is_some() && !c.is_ascii_digit() && !in_number {
            separated.extend([" ", currency.take().unwrap_or_default(), " "]);
        }
        let sign = match c {
            '@' => "ⓐ",
            '.' if before.is_alphanumeric() && after.is_alphanumeric() => "ⓓ",
            ',' if in_number => "ⓒ",
            ':' if in_number => "ⓣ",
            '/' if in_number => "ⓢ",
            '-' | '\u{2212}' if !before.is_alphanumeric() && after.is_ascii_digit() => "ⓗ",
            '_' => "ⓤ",
            '%' => "ⓜpercent",
            '€' => "ⓜeuro",
            '$' => "ⓜdollar",
            '£' => "ⓜpound",
            '₹' => "ⓜrupee",
            _ => "",
        };
        if sign.starts_with('ⓜ') && after.is_ascii_digit() {
            currency = Some(sign);
        } else if !sign.is_empty() {
            separated.extend([" ", sign, " "]);
        } else {
            if c.is_alphabetic() && before.is_ascii_digit() || c.is_ascii_digit() && before.is_alphabetic() {
                separated.push(' ');
            }
            separated.push(*c);
        }
    }
    separated.extend([" ", currency.unwrap_or_default()]);
    let compounds = token(language, "compounds").unwrap_or_default().split_whitespace();
    compounds.fold(separated, |text, part| text.replace(part, &format!(" {part} ")))
}

/// Returns the words with new clauses behind "but" and "and", except within a list of numbers or days.
fn parted(mut words: Vec<Word>) -> Vec<Word> {
    let mut parts = 0;
    for at in 0..words.len() {
        let lists = words.iter().skip(at + 1).take(2).any(|word| word.kind().is_some());
        let Some(word) = words.get_mut(at) else { break };
        parts += usize::from(word.is(&["<but>"]) || word.is(&["<and>"]) && !lists);
        word.clause += parts;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

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
            ("en", "nineteen dollars and ninety-nine cents", "19.99 ⓜdollar"),
            ("de", "zwölf Euro fünfzig", "12.50 ⓜeuro"),
            ("en", "$50", "50 ⓜdollar"),
            ("it", "duecentocinquanta", "250"),
            ("pt", "duzentos e cinquenta", "250"),
            ("nl", "tweehonderdvijftig", "250"),
        ] {
            let words: Vec<String> = read(text, language).into_iter().map(|word| word.text).collect();
            assert_eq!(words.join(" "), expected, "{language}: {text}");
        }
    }
}
