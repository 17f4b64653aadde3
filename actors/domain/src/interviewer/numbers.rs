//! Numbers in speech: digits, English number words up to the millions, spelled digits, decimals.

use super::phrases::{contains, plain};

const UNITS: [&str; 10] = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine",
];
const TEENS: [&str; 10] = [
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
];
const TENS: [&str; 8] = [
    "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety",
];
/// Words after which the speaker corrects what came before.
const CORRECTIONS: [&str; 4] = [" i mean ", " no wait ", " sorry ", " actually "];
/// Words that also do so in an answer that names one thing.
const IN_ANSWERS: &str = " no ";
/// Words with a number that only ask for time.
const ASKS_FOR_TIME: [&str; 2] = [" one moment ", " one second "];

/// A number word.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Word {
    Unit(f64),
    /// Ten to nineteen, and the tens.
    Tens(f64),
    Hundred,
    /// A thousand or a million.
    Power(f64),
    Point,
    And,
    Literal(f64),
    Minus,
    Other,
}

/// Returns the one number in a text; none if it contains none or two different ones.
pub(crate) fn number(text: &str) -> Option<f64> {
    let mut spoken = spoken(text);
    for phrase in ASKS_FOR_TIME {
        spoken = spoken.replace(phrase, " ");
    }
    let after = corrected(&spoken, true).unwrap_or_default();
    for part in [after, spoken.as_str()] {
        let mut found = rated(part);
        found.dedup();
        match found.as_slice() {
            [] => {}
            [one] => return Some(*one),
            _ => return None,
        }
    }
    let none = ["none", "nobody", "no one", "nothing"];
    none.iter().any(|word| contains(spoken.trim(), word)).then_some(0.0)
}

/// Returns the words after the last correction in a plain text with spaces around it, if there is one.
pub(crate) fn corrected(padded: &str, in_answer: bool) -> Option<&str> {
    let words = CORRECTIONS.iter().chain(in_answer.then_some(&IN_ANSWERS));
    let ends = words.filter_map(|word| padded.rfind(word).map(|at| at + word.len() - 1));
    ends.max().map(|at| &padded[at..])
}

/// Returns the numbers in a text. Of "nine out of ten" only the nine counts.
fn rated(spoken: &str) -> Vec<f64> {
    let before = spoken.split_once(" out of ").map(|(before, _)| numbers(before));
    before
        .filter(|found| !found.is_empty())
        .unwrap_or_else(|| numbers(spoken))
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

/// Returns the text in lower case, with numbers in one piece, padded with spaces.
fn spoken(text: &str) -> String {
    let chars: Vec<char> = text.to_lowercase().chars().collect();
    let digit = |at: Option<usize>| at.and_then(|at| chars.get(at)).is_some_and(char::is_ascii_digit);
    let mut spoken = String::from(" ");
    for (at, c) in chars.iter().enumerate() {
        let between = digit(at.checked_sub(1)) && digit(Some(at + 1));
        match c {
            ',' if between => {}
            '.' if between => spoken.push('.'),
            '-' | '\u{2212}' if !digit(at.checked_sub(1)) && digit(Some(at + 1)) => spoken.push_str(" minus "),
            c if c.is_alphanumeric() => spoken.push(*c),
            _ => spoken.push(' '),
        }
    }
    spoken.push(' ');
    let words = spoken.split_whitespace().collect::<Vec<_>>().join(" ");
    format!(" {} ", words.replace(" and a half", " point five"))
}

fn word(text: &str) -> Word {
    let among = |words: &[&str]| words.iter().position(|word| *word == text);
    #[expect(clippy::cast_precision_loss, reason = "at most nine")]
    let figure = |index: usize| index as f64;
    if let Some(unit) = among(&UNITS) {
        return Word::Unit(figure(unit));
    }
    if let Some(teen) = among(&TEENS) {
        return Word::Tens(10.0 + figure(teen));
    }
    if let Some(tens) = among(&TENS) {
        return Word::Tens(20.0 + 10.0 * figure(tens));
    }
    match text {
        "hundred" => Word::Hundred,
        "thousand" => Word::Power(1e3),
        "million" => Word::Power(1e6),
        "dozen" => Word::Tens(12.0),
        "couple" => Word::Unit(2.0),
        "point" => Word::Point,
        "and" => Word::And,
        "minus" => Word::Minus,
        _ if text.starts_with(|c: char| c.is_ascii_digit()) => match text.parse::<f64>() {
            Ok(literal) if literal.is_finite() => Word::Literal(literal),
            Ok(_) | Err(_) => Word::Other,
        },
        _ => Word::Other,
    }
}

fn numbers(spoken: &str) -> Vec<f64> {
    let mut found = Vec::new();
    let mut open: Option<Group> = None;
    let mut minus = false;
    for word in spoken.split_whitespace().map(word) {
        if open.as_mut().is_some_and(|group| group.take(word)) {
            continue;
        }
        found.extend(open.take().map(Group::value));
        open = Group::start(word, minus);
        minus = word == Word::Minus;
    }
    found.extend(open.map(Group::value));
    found
}

/// Number words that belong together.
struct Group {
    sign: f64,
    /// Sum of the thousands and millions.
    total: f64,
    /// Value below the thousands.
    current: f64,
    last: Word,
    /// Value of the next decimal place, after the point.
    decimal: Option<f64>,
}

impl Group {
    fn start(word: Word, minus: bool) -> Option<Self> {
        let (total, current) = match word {
            Word::Unit(value) | Word::Tens(value) | Word::Literal(value) => (0.0, value),
            Word::Hundred => (0.0, 100.0),
            Word::Power(value) => (value, 0.0),
            Word::Point | Word::And | Word::Minus | Word::Other => return None,
        };
        Some(Self {
            sign: if minus { -1.0 } else { 1.0 },
            total,
            current,
            last: word,
            decimal: None,
        })
    }

    /// Adds the next word; returns false if it does not belong.
    fn take(&mut self, word: Word) -> bool {
        let open = matches!(self.last, Word::Hundred | Word::Power(_));
        match (word, self.last) {
            (Word::Unit(unit), _) if self.decimal.is_some() => {
                let worth = self.decimal.unwrap_or_default();
                self.current += unit * worth;
                self.decimal = Some(worth / 10.0);
            }
            (Word::Unit(unit), Word::Tens(_)) if self.current % 10.0 == 0.0 => self.current += unit,
            // Single digits in a row.
            (Word::Unit(unit), Word::Unit(_)) => self.current = self.current * 10.0 + unit,
            (Word::Unit(value) | Word::Tens(value), _) if open => self.current += value,
            // Years: nineteen eighty-four.
            (Word::Tens(value), Word::Tens(_)) if self.current < 100.0 => self.current = self.current * 100.0 + value,
            (Word::Hundred, Word::Unit(_) | Word::Tens(_) | Word::Literal(_)) => self.current *= 100.0,
            (Word::Power(power), _) if self.current > 0.0 => {
                self.total += self.current * power;
                self.current = 0.0;
            }
            (Word::Point, Word::Unit(_) | Word::Tens(_) | Word::Hundred) if self.decimal.is_none() => {
                self.decimal = Some(0.1);
            }
            (Word::And, _) => return open,
            _ => return false,
        }
        self.last = word;
        true
    }

    fn value(self) -> f64 {
        // Decimals are summed in binary; round to a millionth, which is finer than anybody speaks.
        self.sign * ((self.total + self.current) * 1e6).round() / 1e6
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
