//! Days and times of day in speech, as the dates and minutes that they may mean.

use std::ops::RangeInclusive;

use chrono::{Datelike, Days, NaiveDate, NaiveDateTime, NaiveTime, Timelike};

use super::word::Word;

/// Days from today within which a date without a year lies.
const NEAR: i64 = 366;

/// The day and the time of a value, as far as it has them.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Written {
    /// Its date.
    pub date: Option<NaiveDate>,
    /// Its time of day.
    pub time: Option<NaiveTime>,
}

impl Written {
    /// Parses a value as models write them: ISO 8601, or a date in figures.
    pub fn of(value: &str) -> Self {
        let value = value.trim().to_uppercase();
        let value = value.split(['Z', '+']).next().unwrap_or_default();
        let (date, time) = value.split_once(['T', ' ']).unwrap_or((value, value));
        let mut dates = ["%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y"].into_iter();
        let mut times = ["%H:%M", "%H:%M:%S"].into_iter();
        let written = Self {
            date: dates.find_map(|format| NaiveDate::parse_from_str(date, format).ok()),
            time: times.find_map(|format| NaiveTime::parse_from_str(time, format).ok()),
        };
        // Of two words, both must be read.
        let is_whole = date == value || written.date.is_some() && written.time.is_some();
        if is_whole { written } else { Self::default() }
    }

    /// Returns the date with the time in whole minutes, if it has both.
    pub fn local(self) -> Option<NaiveDateTime> {
        let time = self.time?;
        self.date?.and_hms_opt(time.hour(), time.minute(), 0)
    }
}

fn number<T: TryFrom<u32>>(word: Option<&Word>) -> Option<T> {
    T::try_from(word?.text.parse::<u32>().ok()?).ok()
}

/// Returns the number in a token such as `<day3>`.
fn numbered(word: &Word, name: &str) -> Option<u32> {
    word.text.strip_prefix(name)?.strip_suffix('>')?.parse().ok()
}

/// Returns the dates that the words may mean when they are said on this day. A day of a month excludes days of a
/// week beside it.
pub(crate) fn dates(words: &[Word], today: NaiveDate) -> Vec<NaiveDate> {
    let year = (0..words.len()).find_map(|at| year(words, at));
    let calendar: Vec<NaiveDate> = (0..words.len())
        .flat_map(|at| of_month(words, at, year, today))
        .collect();
    if !calendar.is_empty() {
        return calendar;
    }
    let (mut days, mut later) = (Vec::new(), Vec::new());
    for (at, word) in words.iter().enumerate() {
        if let Some(weekday) = numbered(word, "<day") {
            let ahead = (weekday + 7 - today.weekday().num_days_from_monday()) % 7;
            days.extend([ahead, if ahead == 0 { 7 } else { ahead }]);
        }
        days.extend(numbered(word, "<+"));
        let unit = words.get(at + 2).and_then(|unit| numbered(unit, "<days"));
        let count = match words.get(at + 1) {
            Some(one) if one.is(&["<1>", "<a>"]) => Some(1),
            other => number::<u32>(other),
        };
        later.extend(
            count
                .zip(unit)
                .filter(|_| word.is(&["<in>"]))
                .map(|(count, unit)| count.min(1_000) * unit),
        );
    }
    let is_next = words.iter().any(|word| word.is(&["<next>"]));
    let shifts = later.iter().copied().chain(is_next.then_some(7));
    let shifted: Vec<u32> = shifts
        .flat_map(|shift| days.iter().map(move |days| days + shift))
        .collect();
    let date = |days: u32| today.checked_add_days(Days::new(days.into()));
    days.into_iter().chain(later).chain(shifted).filter_map(date).collect()
}

/// Returns the dates that begin at a word: a day beside a month's name, in figures, or marked and alone.
fn of_month(words: &[Word], at: usize, year: Option<i32>, today: NaiveDate) -> Vec<NaiveDate> {
    let word = |offset: usize| words.get(at + offset);
    let is = |offset: usize, tokens: &[&str]| word(offset).is_some_and(|word| word.is(tokens));
    let dates = |day: u32, months: RangeInclusive<u32>| {
        let is_month = months.start() == months.end();
        let near = if is_month { -NEAR..NEAR } else { 0..31 };
        let years = year.map_or(today.year() - 1..=today.year() + 1, |year| year..=year);
        let dates = years.flat_map(|year| {
            months
                .clone()
                .map(move |month| NaiveDate::from_ymd_opt(year, month, day))
        });
        let is_near = |date: &NaiveDate| is_month && year.is_some() || near.contains(&(*date - today).num_days());
        dates.flatten().filter(is_near).collect::<Vec<_>>()
    };
    let date = |day: u32, month: u32| dates(day, month..=month);
    if let Some(month) = word(0).and_then(|word| numbered(word, "<month")) {
        let day = (1..=2).find_map(|offset| number(word(offset)).filter(|day| (1..=31).contains(day)));
        return day.map(|day| date(day, month)).unwrap_or_default();
    }
    let is_before = |tokens: &[&str]| at > 0 && words[at - 1].is(tokens);
    let is_time = is_before(&["<at>"]) || is(1, &["<h>"]);
    let decimal = word(0).filter(|_| !is_time).and_then(|word| word.text.split_once('.'));
    if let Some((Ok(day), Ok(month))) = decimal.map(|(day, month)| (day.parse(), month.parse())) {
        return date(day, month);
    }
    let Some(day) = number(word(0)) else { return Vec::new() };
    let name = (1..=3).find_map(|offset| numbered(word(offset)?, "<month"));
    match (name, number(word(2))) {
        (Some(month), _) => date(day, month),
        (None, Some(month)) if is(1, &["ⓢ"]) => [date(day, month), date(month, day)].concat(),
        (None, Some(month)) if is(1, &["<th>"]) && is(3, &["<th>"]) => date(day, month),
        _ if is(1, &["<th>", "<date>"]) || is_before(&["<the>"]) => dates(day, 1..=12),
        _ => Vec::new(),
    }
}

/// Returns the year that begins at a word: 1984, or nineteen eighty-four.
fn year(words: &[Word], at: usize) -> Option<i32> {
    let (first, second) = (number::<i32>(words.get(at))?, number::<i32>(words.get(at + 1)));
    let joined = second
        .filter(|year| first < 100 && (10..100).contains(year))
        .map_or(first, |second| first * 100 + second);
    [first, joined].into_iter().find(|year| (1900..2100).contains(year))
}

/// Returns the minutes of the day that the words may mean. An hour of twelve means both, unless a part of the day
/// is named.
pub(crate) fn times(words: &[Word]) -> Vec<u32> {
    let is_short = words.iter().filter(|word| !word.text.starts_with('<')).count() <= 2;
    let both = |(at, said): (usize, &Word)| {
        let minute = time(words, at, is_short)?;
        let named = |token: &str| words.iter().any(|word| word.clause == said.clause && word.is(&[token]));
        Some(match (named("<am>"), named("<pm>"), minute) {
            (_, _, 780..) => vec![minute],
            (true, false, _) => vec![minute % 720],
            (false, true, _) => vec![minute % 720 + 720],
            _ => vec![minute % 720, minute % 720 + 720],
        })
    };
    words.iter().enumerate().filter_map(both).flatten().collect()
}

/// Returns the minute of the day whose hour is at a word.
fn time(words: &[Word], at: usize, is_short: bool) -> Option<u32> {
    let word = |offset: isize| at.checked_add_signed(offset).and_then(|at| words.get(at));
    let is = |offset: isize, tokens: &[&str]| word(offset).is_some_and(|word| word.is(tokens));
    let (hour, fraction) = word(0)?.text.split_once('.').unwrap_or((&word(0)?.text, "0"));
    let (mut hour, mut minute) = (hour.parse::<u32>().ok()?, fraction.parse::<u32>().ok()?);
    let minutes_at = if is(1, &["<h>", "ⓣ", "<and>"]) { 2 } else { 1 };
    let behind = match number(word(minutes_at)) {
        Some(0) => number(word(minutes_at + 1)).filter(|minute| *minute < 10),
        minute => minute.filter(|minute| *minute < 60 && (minutes_at == 2 || *minute >= 10)),
    };
    let moved = moved(words, at);
    if fraction == "5" || is(2, &["<half>"]) {
        minute = 30;
    } else if (100..2_400).contains(&hour) {
        (hour, minute) = (hour / 100, hour % 100);
    } else if let (None, Some(behind)) = (moved, behind) {
        minute = behind;
    }
    let is_marked = is(-1, &["<at>"]) || word(-1).is_some_and(|word| word.kind() == Some('d'));
    let is_time = is_marked || is(1, &["<h>", "<am>", "<pm>", "ⓣ"]) || moved.is_some() || minute > 0 || is_short;
    let is_minute = is(-1, &["ⓣ"]) || is(-2, &["ⓣ"]);
    let minutes = i64::from(hour) * 60 + i64::from(minute) + moved.unwrap_or_default();
    let is_sound = hour <= 24 && minute < 60 && is_time && !is_minute;
    u32::try_from(minutes.rem_euclid(1_440)).ok().filter(|_| is_sound)
}

/// Returns the minutes by which a time is off its hour: "half past", "y cuarto", "ten to", "moins dix".
fn moved(words: &[Word], at: usize) -> Option<i64> {
    let word = |offset: isize| at.checked_add_signed(offset).and_then(|at| words.get(at));
    let is = |offset: isize, tokens: &[&str]| word(offset).is_some_and(|word| word.is(tokens));
    let before = word(-1).and_then(|word| word.text.strip_prefix("<:")?.strip_suffix('>')?.parse::<i64>().ok());
    let behind = |offset: isize| word(offset)?.text.strip_prefix('<')?.strip_suffix(":>")?.parse().ok();
    let link = if before.is_some() { -2 } else { -1 };
    let sign = if is(link, &["<to>"]) { -1 } else { 1 };
    let is_round = |minutes: &i64| [5, 10, 20, 25].contains(minutes) && is(link, &["<past>", "<to>"]);
    let counted = number(word(link - 1)).filter(is_round).map(|minutes| minutes * sign);
    let less = (1..=2).find(|offset| is(*offset, &["<less>"]));
    let less = less.and_then(|offset| number::<i64>(word(offset + 1)));
    let before = before.map(|minutes| minutes + counted.unwrap_or_default()).or(counted);
    before
        .or_else(|| (1..=2).find_map(behind))
        .or_else(|| less.map(|minutes| -minutes))
}
