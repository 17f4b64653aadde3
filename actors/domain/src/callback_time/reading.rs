//! Finds the call-back time in an utterance.

use chrono::{DateTime, Weekday};

use super::spoken_time::{Day, LONGEST, Part, SpokenTime, TimeOfDay};
use crate::spoken::{self, time::Written};

/// Returns the time in an utterance about anything. It must be marked as a time ("in ten minutes", "at three").
pub fn parse(text: &str) -> Option<SpokenTime> {
    Reading::of(text, false).time()
}

/// Returns the time in an answer to "when?", which may be unmarked ("ten minutes", "three", "half past
/// four"). ISO 8601 is also accepted, for people who write.
pub fn parse_answer(text: &str) -> Option<SpokenTime> {
    written(text.trim()).or_else(|| Reading::of(text, true).time())
}

/// Parses ISO 8601, with or without an offset.
fn written(text: &str) -> Option<SpokenTime> {
    if let Ok(instant) = DateTime::parse_from_rfc3339(text) {
        return Some(SpokenTime::Instant(instant.to_utc().into()));
    }
    Written::of(text).local().map(SpokenTime::Local)
}

/// Words without meaning between "in" or "at" and the number.
const FILLERS: [&str; 8] = [
    "about",
    "around",
    "maybe",
    "perhaps",
    "like",
    "say",
    "roughly",
    "approximately",
];
/// Words before a span of time that lies ahead.
const BEFORE_SPAN: [&str; 5] = ["in", "after", "within", "another", "me"];
/// Words before a time of the day.
const BEFORE_CLOCK: [&str; 9] = ["at", "around", "about", "by", "after", "until", "till", "from", "say"];

const WEEKDAYS: [(&str, Weekday); 7] = [
    ("monday", Weekday::Mon),
    ("tuesday", Weekday::Tue),
    ("wednesday", Weekday::Wed),
    ("thursday", Weekday::Thu),
    ("friday", Weekday::Fri),
    ("saturday", Weekday::Sat),
    ("sunday", Weekday::Sun),
];

const ORDINAL_ENDS: [&str; 4] = ["st", "nd", "rd", "th"];

const MINUTES_OF_DAY: u32 = 24 * 60;

/// An utterance as words, and whether a time needs no mark.
struct Reading {
    words: Vec<String>,
    bare: bool,
}

/// A value that begins at a word.
struct Found<T> {
    value: T,
    /// Index of the word after it.
    end: usize,
}

impl Reading {
    fn of(text: &str, bare: bool) -> Self {
        Self {
            words: words(text),
            bare,
        }
    }

    fn word(&self, at: usize) -> &str {
        self.words.get(at).map_or("", String::as_str)
    }

    fn is(&self, at: usize, words: &[&str]) -> bool {
        words.iter().enumerate().all(|(n, word)| self.word(at + n) == *word)
    }

    fn has(&self, words: &[&str]) -> Option<usize> {
        (0..self.words.len()).find(|at| self.is(*at, words))
    }

    fn time(&self) -> Option<SpokenTime> {
        let span = (0..self.words.len()).find_map(|at| self.span(at));
        if let Some(minutes) = span.filter(|minutes| minutes % MINUTES_OF_DAY != 0) {
            return Some(SpokenTime::After(minutes));
        }
        let days = span.map(|minutes| Day::In(minutes / MINUTES_OF_DAY));
        let day = days.unwrap_or_else(|| self.day());
        match (day, self.time_of_day()) {
            (Day::Open, TimeOfDay::Open) => None,
            (day, time) => Some(SpokenTime::On(day, time)),
        }
    }

    /// Returns the minutes of a span that begins here; whole days are a multiple of [`MINUTES_OF_DAY`].
    fn span(&self, at: usize) -> Option<u32> {
        let amount = self.amount(at)?;
        let behind = self.word(amount.end);
        let before = self.word_before(at);
        let marked = BEFORE_SPAN.contains(&before)
            || self.is(amount.end, &["from", "now"])
            || ["later", "hence"].contains(&behind);
        let over = behind == "ago" || ["for", "last", "past"].contains(&before);
        let most = u32::try_from(LONGEST.as_secs() / 60).unwrap_or(u32::MAX);
        (!over && (marked || self.bare) && (1..=most).contains(&amount.value)).then_some(amount.value)
    }

    /// Returns the word before this one, skipping fillers.
    fn word_before(&self, at: usize) -> &str {
        let before = self.words.get(..at).unwrap_or_default();
        let telling = before.iter().rev().find(|word| !FILLERS.contains(&word.as_str()));
        telling.map_or("", String::as_str)
    }

    /// Returns an amount of minutes: "half an hour", "ten minutes", "an hour and a half", "two hours and ten minutes".
    fn amount(&self, at: usize) -> Option<Found<u32>> {
        const FIXED: [(&[&str], u32); 7] = [
            (&["half", "an", "hour"], 30),
            (&["half", "hour"], 30),
            (&["a", "half", "hour"], 30),
            (&["a", "quarter", "of", "an", "hour"], 15),
            (&["quarter", "of", "an", "hour"], 15),
            (&["three", "quarters", "of", "an", "hour"], 45),
            (&["a", "fortnight"], 14 * MINUTES_OF_DAY),
        ];
        if let Some((words, minutes)) = FIXED.iter().find(|(words, _)| self.is(at, words)) {
            let end = at + words.len();
            return Some(Found { value: *minutes, end });
        }
        self.counted(at)
    }

    /// Returns a counted amount of minutes: "ten minutes", "one and a half hours", "an hour and ten minutes".
    fn counted(&self, at: usize) -> Option<Found<u32>> {
        let many = self.quantity(at)?;
        let half = self.is(many.end, &["and", "a", "half"]);
        let unit_at = if half { many.end + 3 } else { many.end };
        let unit = minutes_of(self.word(unit_at))?;
        let mut minutes = many.value.checked_mul(unit)?;
        let mut end = unit_at + 1;
        let half_behind = self.is(end, &["and", "a", "half"]);
        if half || half_behind {
            minutes = minutes.checked_add(unit / 2)?;
            end += if half_behind { 3 } else { 0 };
        } else if unit == 60 {
            let rest_at = if self.word(end) == "and" { end + 1 } else { end };
            let rest = self.number(rest_at).filter(|n| minutes_of(self.word(n.end)) == Some(1));
            if let Some(rest) = rest {
                minutes = minutes.checked_add(rest.value)?;
                end = rest.end + 1;
            }
        }
        Some(Found { value: minutes, end })
    }

    fn quantity(&self, at: usize) -> Option<Found<u32>> {
        const VAGUE: [(&[&str], u32); 7] = [
            (&["a", "couple", "of"], 2),
            (&["couple", "of"], 2),
            (&["a", "couple"], 2),
            (&["a", "few"], 3),
            (&["few"], 3),
            (&["an"], 1),
            (&["a"], 1),
        ];
        let vague = VAGUE.iter().find(|(words, _)| self.is(at, words));
        match vague {
            Some((words, value)) => Some(Found {
                value: *value,
                end: at + words.len(),
            }),
            None => self.number(at),
        }
    }

    /// Returns a number in figures, or in words up to ninety-nine.
    fn number(&self, at: usize) -> Option<Found<u32>> {
        let number = |length: usize| {
            let words = self.words.get(at..at + length)?.join(" ");
            let figures = words.len() <= 4 && words.bytes().all(|byte| byte.is_ascii_digit());
            let figures = if figures {
                Some(&*words)
            } else {
                spoken::token("en", &words)
            };
            Some(Found {
                value: figures?.parse().ok()?,
                end: at + length,
            })
        };
        number(2).or_else(|| number(1))
    }

    fn day(&self) -> Day {
        if self.has(&["day", "after", "tomorrow"]).is_some() {
            return Day::In(2);
        }
        if self.has(&["tomorrow"]).is_some() {
            return Day::In(1);
        }
        let next_week = self.has(&["next", "week"]).is_some();
        for (name, weekday) in WEEKDAYS {
            if let Some(at) = self.has(&[name]) {
                let next = next_week || (at > 0 && self.word(at - 1) == "next");
                return if next {
                    Day::NextWeek(weekday)
                } else {
                    Day::Next(weekday)
                };
            }
        }
        let this = |part: &[&str]| self.has(part).is_some();
        if next_week {
            Day::In(7)
        } else if ["today", "tonight"].iter().any(|word| this(&[word]))
            || ["morning", "afternoon", "evening"]
                .iter()
                .any(|part| this(&["this", part]))
        {
            Day::In(0)
        } else {
            Day::Open
        }
    }

    fn time_of_day(&self) -> TimeOfDay {
        let part = self.part();
        let clock = (0..self.words.len()).find_map(|at| self.clock(at));
        match (clock, part) {
            (Some(TimeOfDay::Face { hour, minute }), Some(part)) => {
                let noon = if part == Part::Morning { 0 } else { 12 };
                TimeOfDay::Clock {
                    hour: hour % 12 + noon,
                    minute,
                }
            }
            (Some(clock), _) => clock,
            (None, Some(part)) => TimeOfDay::Part(part),
            (None, None) => TimeOfDay::Open,
        }
    }

    fn part(&self) -> Option<Part> {
        const PARTS: [(&[&str], Part); 8] = [
            (&["morning"], Part::Morning),
            (&["afternoon"], Part::Afternoon),
            (&["after", "lunch"], Part::Afternoon),
            (&["evening"], Part::Evening),
            (&["tonight"], Part::Evening),
            (&["at", "night"], Part::Evening),
            (&["after", "work"], Part::Evening),
            (&["after", "dinner"], Part::Evening),
        ];
        let greets = |at: usize| at > 0 && self.word(at - 1) == "good";
        PARTS
            .iter()
            .find_map(|(words, part)| self.has(words).filter(|at| !greets(*at)).map(|_| *part))
    }

    /// Returns the time of the day that begins at this word.
    fn clock(&self, at: usize) -> Option<TimeOfDay> {
        if ["noon", "midday"].contains(&self.word(at)) {
            return Some(TimeOfDay::Clock { hour: 12, minute: 0 });
        }
        let counted_on = at > 0 && self.number(at - 1).is_some();
        let marked = (self.bare && !counted_on) || (at > 0 && BEFORE_CLOCK.contains(&self.word(at - 1)));
        self.figures(at)
            .or_else(|| self.past_or_to(at))
            .or_else(|| self.hour_and_minute(at, marked))
    }

    /// Parses "15:30", "3:30 pm".
    fn figures(&self, at: usize) -> Option<TimeOfDay> {
        let (hour, minute) = self.word(at).split_once(':')?;
        let of_24 = hour.starts_with('0');
        let (hour, minute) = (hour.parse().ok()?, minute.parse().ok()?);
        self.shown(hour, minute, at + 1, of_24)
    }

    /// Parses "half past four", "quarter to five", "ten past three", "half four".
    fn past_or_to(&self, at: usize) -> Option<TimeOfDay> {
        let minutes = match self.word(at) {
            "half" => Found { value: 30, end: at + 1 },
            "quarter" => Found { value: 15, end: at + 1 },
            _ => self.number(at).filter(|n| [5, 10, 20, 25].contains(&n.value))?,
        };
        let to = match self.word(minutes.end) {
            "past" | "after" => false,
            "to" | "before" => true,
            _ if self.word(at) == "half" => return self.half_of_the_hour(minutes.end),
            _ => return None,
        };
        let hour = self.number(minutes.end + 1).filter(|n| (1..=12).contains(&n.value))?;
        let (hour_said, minute) = if to {
            (if hour.value == 1 { 12 } else { hour.value - 1 }, 60 - minutes.value)
        } else {
            (hour.value, minutes.value)
        };
        self.shown(hour_said, minute, hour.end, false)
    }

    /// Parses "half four", as the British say it.
    fn half_of_the_hour(&self, at: usize) -> Option<TimeOfDay> {
        let hour = self.number(at).filter(|n| (1..=12).contains(&n.value))?;
        if minutes_of(self.word(hour.end)).is_some() {
            return None;
        }
        self.shown(hour.value, 30, hour.end, false)
    }

    /// Parses "at three", "four thirty", "five o'clock", "6 pm", "1530".
    fn hour_and_minute(&self, at: usize, marked: bool) -> Option<TimeOfDay> {
        let hour = self.number(at)?;
        let figures = self.word(at);
        if figures.len() >= 3
            && marked
            && self.number(hour.end).is_none()
            && figures.bytes().all(|byte| byte.is_ascii_digit())
        {
            return self.shown(hour.value / 100, hour.value % 100, hour.end, true);
        }
        let minute = self.minute(hour.end);
        let (minute, end) = minute.map_or((0, hour.end), |minute| (minute.value, minute.end));
        let told = ["am", "pm", "o'clock"].contains(&self.word(end));
        let behind = self.word(end);
        // Exclude a span, a date or a phone number.
        let is_another = minutes_of(behind).is_some() || ORDINAL_ENDS.contains(&behind) || self.number(end).is_some();
        if is_another || !(marked || told) {
            return None;
        }
        self.shown(hour.value, minute, end, false)
    }

    /// Parses the minutes after an hour: "thirty", "oh five".
    fn minute(&self, at: usize) -> Option<Found<u32>> {
        let zero = ["oh", "o", "zero"].contains(&self.word(at));
        let minute = self.number(if zero { at + 1 } else { at })?;
        let sound = if zero { 1..10 } else { 10..60 };
        let counts = minutes_of(self.word(minute.end)).is_some();
        (sound.contains(&minute.value) && !counts).then_some(minute)
    }

    /// Returns the time of these figures with the words after them: "am", "pm", "o'clock pm".
    fn shown(&self, hour: u32, minute: u32, mut end: usize, of_24: bool) -> Option<TimeOfDay> {
        if self.word(end) == "o'clock" {
            end += 1;
        }
        let (face, minute_is_sound) = ((1..=12).contains(&hour), minute < 60);
        let time = match self.word(end) {
            "am" if face => TimeOfDay::Clock {
                hour: hour % 12,
                minute,
            },
            "pm" if face => TimeOfDay::Clock {
                hour: hour % 12 + 12,
                minute,
            },
            _ if face && !of_24 => TimeOfDay::Face { hour, minute },
            _ if hour < 24 => TimeOfDay::Clock { hour, minute },
            _ => return None,
        };
        minute_is_sound.then_some(time)
    }
}

/// Returns the minutes of a unit.
fn minutes_of(unit: &str) -> Option<u32> {
    match unit {
        "minute" | "minutes" | "min" | "mins" => Some(1),
        "hour" | "hours" => Some(60),
        "day" | "days" => Some(MINUTES_OF_DAY),
        "week" | "weeks" => Some(7 * MINUTES_OF_DAY),
        _ => None,
    }
}

/// Splits a text into lower-case words. Punctuation is removed except apostrophes and the colon of a time,
/// figures are separated from letters, and "p.m." is one word.
fn words(text: &str) -> Vec<String> {
    let lower = text.to_lowercase().replace(['\u{2019}', '\u{2bc}'], "'");
    let lower = lower
        .replace("a.m.", "am ")
        .replace("p.m.", "pm ")
        .replace("a.m", "am")
        .replace("p.m", "pm")
        .replace("o' clock", "o'clock")
        .replace("oclock", "o'clock");
    let mut words = Vec::new();
    for rough in lower.split(|c: char| !(c.is_alphanumeric() || matches!(c, '\'' | ':' | '.'))) {
        let figures = rough.trim_matches(['.', ':', '\'']);
        let (digits, letters) = figures.split_at(figures.find(|c: char| c.is_alphabetic()).unwrap_or(figures.len()));
        let clock = digits.replace('.', ":");
        for word in [clock.trim_matches(':'), letters] {
            words.extend((!word.is_empty()).then(|| word.to_owned()));
        }
    }
    words
}
