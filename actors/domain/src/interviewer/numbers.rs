//! Numbers in English speech: the one number of an answer, and spelled digits.

use super::phrases::plain;
use crate::spoken::{self, Word};

const UNITS: [&str; 10] = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine",
];
/// Words after which the speaker corrects what came before.
const CORRECTIONS: [&str; 4] = [" i mean ", " no wait ", " sorry ", " actually "];
/// Words that also do so in an answer that names one thing.
const IN_ANSWERS: &str = " no ";

/// Returns the one number in a text; none if it contains none or two different ones.
pub(crate) fn number(text: &str) -> Option<f64> {
    let words = spoken::read(text, "en");
    let corrected = words.iter().rposition(|word| word.is(&["<fix>", "<no>"]));
    let after = &words[corrected.map_or(words.len(), |at| at + 1)..];
    let mut found = [after, &words].map(rated).into_iter().find(|found| !found.is_empty())?;
    found.dedup();
    found.pop().filter(|_| found.is_empty())
}

/// Returns the numbers in words. Of "nine out of ten" only the nine counts.
fn rated(words: &[Word]) -> Vec<f64> {
    let is_ordinal = |end: usize| words.get(end).is_some_and(|word| word.is(&["<th>"]));
    let numbers = |words: &[Word]| -> Vec<f64> {
        let numbers = spoken::numbers(words)
            .into_iter()
            .filter(|number| !is_ordinal(number.end));
        numbers.map(|number| number.values[0]).collect()
    };
    let out_of = words
        .windows(2)
        .position(|pair| matches!(pair, [out, of] if out.is(&["out"]) && of.is(&["of"])));
    let before = out_of.map(|at| numbers(&words[..at]));
    before
        .filter(|found| !found.is_empty())
        .unwrap_or_else(|| numbers(words))
}

/// Returns the words after the last correction in a plain text with spaces around it, if there is one.
pub(crate) fn corrected(padded: &str, in_answer: bool) -> Option<&str> {
    let words = CORRECTIONS.iter().chain(in_answer.then_some(&IN_ANSWERS));
    let ends = words.filter_map(|word| padded.rfind(word).map(|at| at + word.len() - 1));
    ends.max().map(|at| &padded[at..])
}

/// Returns the digits of a text that consists of digits and digit words, such as a spelled phone number.
pub(super) fn digits(text: &str) -> Option<String> {
    let mut digits = String::new();
    let mut times = 1;
    let plain = plain(text);
    for word in plain.split(' ') {
        match (word, run(word)) {
            ("double", _) => times = 2,
            ("triple", _) => times = 3,
            (_, Some(run)) => digits.push_str(&run.repeat(std::mem::replace(&mut times, 1))),
            ("plus" | "and" | "dash" | "space", None) => {}
            (_, None) => return None,
        }
    }
    (!digits.is_empty()).then_some(digits)
}

/// Returns the digits that a word of plain text stands for.
pub(super) fn run(word: &str) -> Option<String> {
    match word {
        "oh" | "o" => Some("0".to_owned()),
        "" => None,
        _ if word.bytes().all(|byte| byte.is_ascii_digit()) => Some(word.to_owned()),
        _ => UNITS.iter().position(|unit| *unit == word).map(|unit| unit.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_are_understood_as_people_say_them() {
        for (text, expected) in [
            ("four", Some(4.0)),
            ("There will be 12 of us.", Some(12.0)),
            ("twenty-five", Some(25.0)),
            ("one hundred and five", Some(105.0)),
            ("a hundred", Some(100.0)),
            ("two thousand three hundred forty one", Some(2341.0)),
            ("1,200", Some(1200.0)),
            ("3 thousand", Some(3000.0)),
            ("four two", Some(42.0)),
            ("nineteen eighty-four", Some(1984.0)),
            ("two point five", Some(2.5)),
            ("three and a half", Some(3.5)),
            ("-3", Some(-3.0)),
            ("minus seven", Some(-7.0)),
            ("four, no, five", Some(5.0)),
            ("five, sorry", Some(5.0)),
            ("No, four", Some(4.0)),
            ("none", Some(0.0)),
            ("a dozen", Some(12.0)),
            ("nine out of ten", Some(9.0)),
            ("eight, no, nine out of ten", Some(9.0)),
            ("we ran out of five", Some(5.0)),
            ("One moment, please.", None),
            ("One second. Fifty.", Some(50.0)),
            ("four or five", None),
            ("plenty", None),
            ("", None),
        ] {
            assert_eq!(number(text), expected, "{text}");
        }
    }

    #[test]
    fn spelled_digits_become_a_string() {
        assert_eq!(digits("five five five, oh one double two").as_deref(), Some("5550122"));
        assert_eq!(digits("555 1234").as_deref(), Some("5551234"));
        assert_eq!(digits("five apples"), None);
        assert_eq!(digits(""), None);
    }

    proptest! {
        #[test]
        fn any_words_are_read_without_panic(text in "[a-z0-9 ,.é-]{0,60}") {
            let _ = (number(&text), digits(&text));
        }

        #[test]
        fn a_whole_number_in_digits_reads_as_itself(value in 0_u32..1_000_000) {
            prop_assert_eq!(number(&format!("It's {value}, I think.")), Some(f64::from(value)));
        }
    }
}
