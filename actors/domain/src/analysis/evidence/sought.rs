//! A collected value, and whether words contain it.

use chrono::{NaiveDate, Timelike};

use crate::{
    agent::{Entity, EntityKind},
    interviewer::in_words,
    knowledge::{language_of, terms},
    spoken::{Number, Word, is_link, numbers, read, time},
};

/// Fewest digits of a number that may be spread over turns, such as a telephone number.
const LONG_NUMBER: usize = 5;

/// A value that is looked for in a call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sought<'a> {
    /// Name of its entity.
    name: &'a str,
    description: &'a str,
    kind: EntityKind,
    value: &'a str,
}

impl<'a> Sought<'a> {
    /// A text of no entity.
    pub fn text(value: &'a str) -> Self {
        Self::of("", None, value)
    }

    /// A value of an entity with this name.
    pub fn of(name: &'a str, entity: Option<&'a Entity>, value: &'a str) -> Self {
        Self {
            name,
            description: entity.map_or("", |entity| &entity.description),
            kind: entity.map(|entity| entity.kind).unwrap_or_default(),
            value,
        }
    }

    fn number(&self) -> Option<f64> {
        let is_number = matches!(self.kind, EntityKind::Integer | EntityKind::Number);
        self.value.parse().ok().filter(|_| is_number)
    }

    /// Returns the flag that the value is, also if it is the text "yes" or "no".
    pub fn flag(&self) -> Option<bool> {
        match (self.kind, self.value, read(self.value, "en").as_slice()) {
            (EntityKind::Boolean, value, _) => value.parse().ok(),
            (_, _, [word]) if word.is(&["<yes>"]) => Some(true),
            (_, _, [word]) if word.is(&["<no>"]) => Some(false),
            _ => None,
        }
    }

    pub fn is_negative(&self, language: &str) -> bool {
        read(self.value, language).iter().any(|word| word.is(&Word::NO))
    }

    /// Returns whether the value is long enough to be said in several turns.
    pub fn may_be_spread(&self) -> bool {
        let digits = self.value.chars().filter(char::is_ascii_digit).count();
        self.number().is_none() || digits >= LONG_NUMBER
    }

    /// Returns whether words contain the value.
    pub fn is_in(&self, words: &[Word], language: &str, today: NaiveDate) -> bool {
        if let Some(wanted) = self.number() {
            return is_counted(wanted, words) || wanted >= 10_000.0 && contains(words, &read(self.value, "en"), false);
        }
        let digits: String = self.value.chars().filter(char::is_ascii_digit).collect();
        let is_international = self.value.trim_start().starts_with('+');
        let codes = (1..=3).filter(|_| is_international);
        let mut national = codes
            .filter_map(|code| digits.get(code..))
            .filter(|digits| digits.len() > LONG_NUMBER + 1);
        let has = |text: &str, language: &str| {
            let value = read(text, language);
            let is_said = contains(words, &value, false) || contains(words, &value, true) || is_told(words, &value);
            is_said || is_timed(text, &value, words, today)
        };
        let value = self.value.to_lowercase();
        let respelled = value.replace('ä', "ae").replace('ö', "oe").replace('ü', "ue");
        let mut texts = [&value, &respelled].into_iter();
        texts.any(|text| has(text, language) || has(text, "en"))
            || national.any(|digits| has(digits, "en") || has(&format!("0{digits}"), "en"))
    }

    /// Returns whether a question is about the entity. One in another language than the description's cannot be
    /// compared and counts as being about it.
    pub fn is_topic_of(&self, question: &str) -> bool {
        let asked = language_of(question).unwrap_or("en");
        let described = language_of(self.description).unwrap_or("en");
        self.shares_words(question) || asked != described
    }

    pub fn shares_words(&self, text: &str) -> bool {
        let own = terms(&format!("{} {}", in_words(self.name), self.description), text);
        terms(text, text).iter().any(|term| own.contains(term))
    }
}

/// Returns whether words contain a number, alone or digit by digit, other than in a time or a date.
fn is_counted(wanted: f64, words: &[Word]) -> bool {
    let is_time = |number: &Number| {
        let before = number.begin.checked_sub(1).and_then(|at| words.get(at));
        let in_clock = |word: &Word| word.is(&["<at>", "ⓣ", "<past>"]) && wanted <= 24.0 || word.text.contains(':');
        let is_clock = |word: &Word| word.is(&["<h>", "<am>", "<pm>", "ⓣ", "<past>"]);
        let is_month = |word: &Word| word.text.starts_with("<month");
        let links = |word: &&Word| is_link(word) || is_month(word);
        let mut behind = words.iter().skip(number.end).take(3).take_while(links);
        before.is_some_and(in_clock) || words.get(number.end).is_some_and(is_clock) || behind.any(is_month)
    };
    let is_wanted = |number: &Number| number.values.iter().any(|value| (value - wanted).abs() < 1e-9);
    let mut wanted = numbers(words).into_iter().filter(is_wanted);
    wanted.any(|number| !is_time(&number))
}

/// Returns whether the words contain a value, in one or several words: "a d a" contains "Ada". Loosely, words that
/// only link others are passed over.
pub(super) fn contains(words: &[Word], value: &[Word], loosely: bool) -> bool {
    let counts = |word: &&Word| !(word.is(&["<um>", "<th>", "ⓗ", "ⓤ"]) || loosely && is_link(word));
    let wanted: String = value.iter().filter(counts).map(form).collect();
    let words: Vec<&Word> = words.iter().filter(counts).collect();
    let splits_figures = |at: usize| {
        let sides = words.get(at.saturating_sub(1)..=at);
        matches!(sides, Some([a, b]) if a.is_figure() && b.is_figure() && a.clause == b.clause)
    };
    !wanted.is_empty()
        && (0..words.len()).filter(|begin| !splits_figures(*begin)).any(|begin| {
            let mut rest = wanted.as_str();
            let used = words[begin..].iter().take_while(|word| {
                let left = rest.strip_prefix(form(word)).filter(|left| left.len() < rest.len());
                rest = left.unwrap_or(rest);
                left.is_some()
            });
            let end = begin + used.count();
            rest.is_empty() && !splits_figures(end)
        })
}

/// Returns the form in which a word is compared. As a value, "great" is not "okay".
fn form(word: &Word) -> &str {
    match word.is(&Word::YES) || word.is(&Word::NO) {
        true => &word.said,
        false => &word.text,
    }
}

/// Returns whether a clause contains each word of a text of several words, in whatever order.
fn is_told(words: &[Word], value: &[Word]) -> bool {
    let its: Vec<&Word> = value.iter().filter(|word| !is_link(word)).collect();
    let is_word = |word: &&Word| word.text.chars().all(char::is_alphabetic) && word.text.chars().count() > 2;
    let mut clauses = words.chunk_by(|a, b| a.clause == b.clause);
    its.len() > 1
        && its.iter().all(is_word)
        && clauses.any(|clause| {
            its.iter()
                .all(|word| clause.iter().any(|other| other.text == word.text))
        })
}

/// Returns whether words contain the date and the time of a value, whatever else it says.
fn is_timed(text: &str, value: &[Word], words: &[Word], today: NaiveDate) -> bool {
    let written = time::Written::of(text);
    let is_written = written.date.is_some() || written.time.is_some();
    let is_clock = |word: &Word| word.is(&["<h>", "<am>", "<pm>", "ⓣ"]) || word.text.contains(':');
    let (dates, times) = match is_written {
        true => (
            written.date.into_iter().collect(),
            written
                .time
                .iter()
                .map(|time| time.hour() * 60 + time.minute())
                .collect(),
        ),
        false if value.iter().any(is_clock) => (time::dates(value, today), time::times(value)),
        false => (time::dates(value, today), Vec::new()),
    };
    if dates.is_empty() && times.is_empty() {
        return false;
    }
    let (said, told) = (time::dates(words, today), time::times(words));
    let is_rest = |word: &&Word| word.kind().is_none() && !word.text.starts_with(['<', 'ⓣ']) && !is_link(word);
    let mut rest = value.iter().filter(|_| !is_written).filter(is_rest);
    (dates.is_empty() || dates.iter().any(|date| said.contains(date)))
        && (times.is_empty() || times.iter().any(|time| told.contains(time)))
        && rest.all(|word| words.iter().any(|other| other.text == word.text))
}
