//! Numbers in words and figures.

use super::word::Word;

/// A number that was said.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Number {
    /// Its value; of "nineteen ninety-nine" both 1999 and 19.99.
    pub values: [f64; 2],
    /// Index of its first word.
    pub begin: usize,
    /// Index behind its last word.
    pub end: usize,
}

/// Returns the numbers in words that were read. Figures side by side are one: "four two" is 42.
pub(crate) fn numbers(words: &[Word]) -> Vec<Number> {
    let mut end = 0;
    let runs = words.chunk_by(|a, b| a.clause == b.clause && a.is_figure() == b.is_figure());
    let number = |run: &[Word]| {
        let begin = end;
        end += run.len();
        let figures: Vec<&str> = run.iter().map(|word| word.text.as_str()).collect();
        let is_negative = begin
            .checked_sub(1)
            .and_then(|at| words.get(at))
            .is_some_and(|word| word.is(&["ⓗ"]));
        let value =
            |separator: &str| Some(figures.join(separator).parse::<f64>().ok()? * if is_negative { -1.0 } else { 1.0 });
        let whole = value("").filter(|_| run.first().is_some_and(Word::is_figure))?;
        let cents = value(".").filter(|_| matches!(figures.as_slice(), [_, cents] if cents.len() == 2));
        Some(Number {
            values: [whole, cents.unwrap_or(whole)],
            begin,
            end,
        })
    };
    runs.filter_map(number).collect()
}

/// Returns the words with the parts of each number joined: "two hundred and five" is 205, "two point five" 2.5.
pub(super) fn joined(words: &[Word], language: &str) -> Vec<Word> {
    let words = counted(words);
    let mut joined: Vec<Word> = Vec::new();
    let mut rest = words.as_slice();
    while let Some(first) = rest.first() {
        let (text, length) = amount(rest, language).unwrap_or((first.text.clone(), 1));
        joined.push(Word { text, ..first.clone() });
        rest = &rest[length..];
        let is_cents = rest.first().is_some_and(|word| word.is(&["ⓜcent"]));
        if join_price(&mut joined, is_cents) && is_cents {
            rest = &rest[1..];
        }
    }
    joined
}

/// Joins the price at the end of the words, as in "nineteen dollars ninety-nine". Returns whether there is one.
fn join_price(words: &mut Vec<Word>, is_cents: bool) -> bool {
    let unit = words.iter().rposition(|word| word.text.starts_with('ⓜ'));
    let Some((at, [.., whole, unit])) = unit.map(|at| (at, &words[..=at])) else {
        return false;
    };
    let cents = match &words[at + 1..] {
        [cents] => cents,
        [and, cents] if is_cents && and.is(&["<and>"]) => cents,
        _ => return false,
    };
    let is_whole = |word: &Word| word.is_figure() && !word.text.contains('.');
    if !is_whole(whole) || !is_whole(cents) || cents.text.len() != 2 || unit.is(&["ⓜpercent"]) {
        return false;
    }
    let text = format!("{}.{}", whole.text, cents.text);
    words.truncate(at + 1);
    words[at - 1].text = text;
    true
}

/// Returns the words with articles and "oh" read as figures where they count, and repeated digits written out.
fn counted(words: &[Word]) -> Vec<Word> {
    let mut counted: Vec<Word> = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let beside = |is: &dyn Fn(&Word) -> bool| {
            let sides = [at.checked_sub(1), Some(at + 1)];
            let mut sides = sides.into_iter().flatten().filter_map(|at| words.get(at));
            sides.any(|side| side.clause == word.clause && is(side))
        };
        let is_brief = || words.iter().filter(|other| other.clause == word.clause).count() <= 3;
        let is_power = |word: &Word| word.text.starts_with("<10") || word.is(&["<12>"]);
        let is_figure = |word: &Word| word.is_figure() || word.is(&["<0>", "<x2>", "<x3>"]);
        let digit = match word.text.as_str() {
            "<a>" if words.get(at + 1).is_some_and(is_power) => "1",
            "<1>" if beside(&|word| is_figure(word) || is_power(word) || word.is(&["<at>", "<h>"])) || is_brief() => {
                "1"
            }
            "<0>" if beside(&is_figure) => "0",
            text => text,
        };
        let times = match counted.last().map(|last| last.text.as_str()) {
            Some("<x2>") => 2,
            Some("<x3>") => 3,
            _ => 1,
        };
        let times = if digit.chars().count() == 1 { times } else { 1 };
        counted.truncate(counted.len() - usize::from(times > 1));
        counted.push(Word {
            text: digit.repeat(times),
            ..word.clone()
        });
    }
    counted
}

/// Returns the number that begins the words, and the number of its words.
fn amount(words: &[Word], language: &str) -> Option<(String, usize)> {
    let (mut total, mut current, mut bound) = (0.0, None::<f64>, f64::INFINITY);
    let (mut at, mut text) = (0, String::new());
    while let Some(word) = words.get(at) {
        let power = word
            .text
            .strip_prefix("<1")
            .and_then(|rest| format!("1{}", rest.strip_suffix('>')?).parse().ok());
        match (
            power.filter(|power| *power > 1.0),
            figure(&words[at..], language),
            current,
        ) {
            (Some(100.0), _, base) if base.is_none_or(|base| base < 100.0) => {
                (current, bound) = (Some(base.unwrap_or(1.0) * 100.0), 100.0);
            }
            (Some(power), ..) if power != 100.0 => {
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
                && (1.0..f64::MAX).contains(&bound)
                && words.get(at + 1).is_some_and(Word::is_figure) => {}
            _ => break,
        }
        at += 1;
    }
    let sum = total + current.unwrap_or_default();
    let is_plain = total == 0.0 && text.parse::<f64>().ok() == current;
    (at > 0).then(|| (if is_plain { text } else { sum.to_string() }, at))
}

/// Returns the figures with their decimals that begin the words.
fn figure(words: &[Word], language: &str) -> Option<(String, usize)> {
    let text = |at: usize| {
        words
            .get(at)
            .filter(|word| word.is_figure())
            .map(|word| word.text.as_str())
    };
    if words.first()?.is(&["<half>"]) {
        return Some((format!("{}.5", text(1)?), 2));
    }
    let mut figures = text(0)?.to_owned();
    let mut at = 1;
    while let (Some(mark), Some(more)) = (words.get(at), text(at + 1)) {
        match (mark.text.as_str(), language) {
            ("ⓒ", "en" | "hi") if more.len() == 3 && !figures.contains('.') => figures.push_str(more),
            ("ⓓ", language) if more.len() == 3 && !["en", "hi"].contains(&language) => figures.push_str(more),
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
