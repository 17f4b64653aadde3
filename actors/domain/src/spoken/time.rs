//! Days and times of day in speech, as the dates and minutes that they may mean.

use chrono::{Datelike, Days, NaiveDate, NaiveDateTime, NaiveTime, Timelike};

use super::Word;

/// Days from today within which a date without a year lies.
const NEAR: i64 = 366;

/// Returns the date, the time or both of a value as models write them: ISO 8601.
pub(crate) fn written(value: &str) -> (Option<NaiveDate>, Option<u32>) {
    let minutes = |time: NaiveTime| time.hour() * 60 + time.minute();
    let value = value.trim();
    let value = value.split(['Z', '+']).next().unwrap_or(value);
    let both = [
        "%Y-%m-%dT%H:%M",
        "%Y-%m-%dT%H:%M:%S",
        "%Y-%m-%d %H:%M",
        "%Y-%m-%d %H:%M:%S",
    ];
    let mut both = both
        .iter()
        .filter_map(|format| NaiveDateTime::parse_from_str(value, format).ok());
    match both.next() {
        Some(both) => (Some(both.date()), Some(minutes(both.time()))),
        None => (
            NaiveDate::parse_from_str(value, "%Y-%m-%d").ok(),
            NaiveTime::parse_from_str(value, "%H:%M").ok().map(minutes),
        ),
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
    let calendar: Vec<NaiveDate> = (0..words.len()).flat_map(|at| of_month(words, at, today)).collect();
    if !calendar.is_empty() {
        return calendar;
    }
    let is_next = words.iter().any(|word| word.is(&["<next>"]));
    let mut dates = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let mut in_days = Vec::new();
        if let Some(weekday) = numbered(word, "<day") {
            let ahead = (weekday + 7 - today.weekday().num_days_from_monday()) % 7;
            in_days.extend([ahead, if ahead == 0 || is_next { ahead + 7 } else { ahead }]);
        }
        in_days.extend(numbered(word, "<+"));
        let unit = words.get(at + 2).and_then(|unit| numbered(unit, "<days"));
        if let (true, Some(count), Some(unit)) = (word.is(&["<in>"]), number::<u32>(words.get(at + 1)), unit) {
            in_days.push(count.min(1_000) * unit);
        }
        dates.extend(
            in_days
                .into_iter()
                .filter_map(|days| today.checked_add_days(Days::new(days.into()))),
        );
    }
    dates
}

/// Returns the dates of a day and a month side by side, or of a marked day alone, that begin at a word.
fn of_month(words: &[Word], at: usize, today: NaiveDate) -> Vec<NaiveDate> {
    let beside = |name: &str| words.iter().skip(at + 1).take(3).find_map(|word| numbered(word, name));
    let day_behind = || {
        words
            .iter()
            .skip(at + 1)
            .take(2)
            .find_map(|word| number(Some(word)).filter(|day| (1..=31).contains(day)))
    };
    let (day, month): (Option<u32>, Option<u32>) = match words.get(at).and_then(|word| numbered(word, "<month")) {
        Some(month) => (day_behind(), Some(month)),
        None => (number(words.get(at)), beside("<month")),
    };
    let marked = words.get(at + 1).is_some_and(|word| word.is(&["<th>", "<date>"]))
        || at > 0 && words.get(at - 1).is_some_and(|word| word.is(&["<the>"]));
    let (Some(day), true) = (day, month.is_some() || marked) else {
        return Vec::new();
    };
    let year = (0..words.len()).find_map(|at| year(words, at));
    let years = year.map_or(today.year() - 1..=today.year() + 1, |year| year..=year);
    let months = month.map_or(1..=12, |month| month..=month);
    let near = |date: &NaiveDate| match month {
        Some(_) => year.is_some() || (*date - today).num_days().abs() < NEAR,
        None => (0..31).contains(&(*date - today).num_days()),
    };
    let dates = years.flat_map(|year| {
        months
            .clone()
            .filter_map(move |month| NaiveDate::from_ymd_opt(year, month, day))
    });
    dates.filter(near).collect()
}

/// Returns the year that begins at a word: 1984, or nineteen eighty-four.
fn year(words: &[Word], at: usize) -> Option<i32> {
    let (first, second) = (number::<i32>(words.get(at))?, number::<i32>(words.get(at + 1)));
    let joined = second
        .filter(|year| (10..100).contains(year))
        .map_or(first, |second| first * 100 + second);
    [first, joined].into_iter().find(|year| (1900..2100).contains(year))
}

/// Returns the minutes of the day that the words may mean. An hour of twelve means both, unless a part of the day
/// is named.
pub(crate) fn times(words: &[Word]) -> Vec<u32> {
    let is_short = words.iter().filter(|word| !word.text.starts_with('<')).count() <= 2;
    let found = (0..words.len()).filter_map(|at| time(words, at, is_short));
    let both = |(at, minutes): (usize, u32)| {
        let clause = words.get(at).map(|word| word.clause);
        let named = |token: &str| {
            words
                .iter()
                .any(|word| Some(word.clause) == clause && word.is(&[token]))
        };
        match (named("<am>"), named("<pm>"), minutes) {
            (_, _, 780..) => vec![minutes],
            (true, false, _) => vec![minutes % 720],
            (false, true, _) => vec![minutes % 720 + 720],
            _ => vec![minutes % 720, minutes % 720 + 720],
        }
    };
    found.flat_map(both).collect()
}

/// Returns the place and the minutes of the time whose hour is at a word.
fn time(words: &[Word], at: usize, is_short: bool) -> Option<(usize, u32)> {
    let word = |offset: usize| words.get(at + offset);
    let before = |offset: usize| at.checked_sub(offset).and_then(|at| words.get(at));
    let is = |word: Option<&Word>, tokens: &[&str]| word.is_some_and(|word| word.is(tokens));
    let (hour, fraction) = words
        .get(at)?
        .text
        .split_once('.')
        .unwrap_or((&words.get(at)?.text, "0"));
    let (mut hour, mut minute) = (hour.parse::<u32>().ok()?, fraction.parse::<u32>().ok()?);
    minute = if fraction == "5" { 30 } else { minute };
    let figures = words.get(at)?.text.len();
    if (3..=4).contains(&figures) && fraction == "0" && hour > 24 {
        (hour, minute) = (hour / 100, hour % 100);
    }
    let marked = is(before(1), &["<at>", "ⓣ"])
        || is(word(1), &["<h>", "<am>", "<pm>", "ⓣ"])
        || before(1).is_some_and(|word| word.kind() == Some('d'));
    let minutes_at = if is(word(1), &["<h>", "ⓣ", "<and>"]) { 2 } else { 1 };
    let behind = number::<u32>(word(minutes_at)).filter(|minute| (0..60).contains(minute));
    let offset = |word: Option<&Word>| {
        word?
            .text
            .trim_start_matches("<")
            .trim_end_matches('>')
            .trim_matches(':')
            .parse::<i64>()
            .ok()
    };
    let is_offset = |word: &&Word| word.text.contains(':');
    let mut moved = before(1)
        .filter(is_offset)
        .or_else(|| (1..=2).find_map(|n| word(n).filter(is_offset)))
        .and_then(|word| offset(Some(word)));
    if let (Some(minutes), true) = (number::<i64>(before(2)), is(before(1), &["<past>", "<to>"])) {
        let counted = [5, 10, 20, 25].contains(&minutes);
        moved = counted.then_some(if is(before(1), &["<to>"]) { -minutes } else { minutes });
    } else if is(word(2), &["<half>"]) {
        minute = 30;
    } else if let Some(behind) = behind.filter(|behind| minutes_at == 2 || *behind >= 10) {
        minute = behind;
    }
    let is_time = marked || moved.is_some() || minute > 0 || is_short;
    let is_minute = is(before(1), &["ⓣ"]) || is(before(2), &["ⓣ"]);
    let minutes = i64::from(hour * 60 + minute) + moved.unwrap_or_default();
    (hour <= 24 && minute < 60 && is_time && !is_minute).then_some((at, u32::try_from(minutes.rem_euclid(1_440)).ok()?))
}
