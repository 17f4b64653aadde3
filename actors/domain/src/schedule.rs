//! A campaign's schedule, parsed from its three texts. Free of I/O and of the present time.

mod window;

pub use window::*;

use chrono::{DateTime, Datelike, NaiveDate, NaiveDateTime, NaiveTime, TimeZone};
use chrono_tz::Tz;
use serde::Deserialize;

use crate::{problem::Problem, time::Timestamp};

/// A campaign's schedule as the client sent it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScheduleText {
    /// Start time: `HH:MM[:SS]`, or ISO 8601 with or without an offset.
    #[schema(required = false, value_type = String, example = "09:00")]
    pub start_time: Option<String>,
    /// End time in the same format; without it there is no daily pause.
    #[schema(required = false, value_type = String, example = "17:30")]
    pub end_time: Option<String>,
    /// IANA name of the time zone.
    #[schema(required = false, value_type = String, example = "Europe/Berlin")]
    pub timezone: Option<String>,
}

/// Times when a campaign may dial: from a first day on, in a daily window in its time zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schedule {
    pub(super) zone: Tz,
    /// First day, if it was given.
    pub(super) first_day: Option<NaiveDate>,
    /// First opening, if it was given as an instant. A local time may occur twice, an instant does not.
    pub(super) first_instant: Option<Timestamp>,
    pub(super) start: NaiveTime,
    /// End of the window; none means no daily pause.
    pub(super) end: Option<NaiveTime>,
}

/// A start or end in its written form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moment {
    Bare(NaiveTime),
    Local(NaiveDateTime),
    Instant(Timestamp),
}

impl Moment {
    fn time_of_day(self, zone: Tz) -> NaiveTime {
        match self {
            Self::Bare(time) => time,
            Self::Local(local) => local.time(),
            Self::Instant(instant) => local(instant, zone).time(),
        }
    }
}

/// Returns the wall-clock time in `zone`.
pub fn local(instant: Timestamp, zone: Tz) -> NaiveDateTime {
    zone.from_utc_datetime(&instant.to_utc().naive_utc()).naive_local()
}

impl Schedule {
    /// Parses a schedule. Returns none if no field is set, or all problems with their paths (`startTime`,
    /// `endTime`, `timezone`).
    pub fn parse(text: &ScheduleText) -> Result<Option<Self>, Vec<Problem>> {
        if text == &ScheduleText::default() {
            return Ok(None);
        }
        let mut problems = Self::malformed(text);
        for (path, value, what) in [
            (
                "startTime",
                &text.start_time,
                "a schedule needs the time at which it starts",
            ),
            (
                "timezone",
                &text.timezone,
                "a schedule needs an IANA time zone, such as `Europe/Berlin`",
            ),
        ] {
            if value.is_none() {
                problems.push(Problem::new(path, "required", what));
            }
        }
        let read = |text: &Option<String>| text.as_deref().and_then(moment);
        match (read(&text.start_time), text.timezone.as_deref().and_then(zone)) {
            (Some(start), Some(zone)) if problems.is_empty() => Ok(Some(Self::new(start, read(&text.end_time), zone))),
            _ => Err(problems),
        }
    }

    /// Returns the values that cannot be parsed, whether or not the others are present.
    pub fn malformed(text: &ScheduleText) -> Vec<Problem> {
        let mut problems = Vec::new();
        for (path, value) in [("startTime", &text.start_time), ("endTime", &text.end_time)] {
            if let Some(value) = value.as_deref().filter(|value| moment(value).is_none()) {
                let message = format!(
                    "`{value}` is not a time: give `HH:MM`, `HH:MM:SS`, or ISO 8601 such as `2026-06-01T09:00` or \
                     `2026-06-01T09:00:00+02:00`, up to the year {LAST_YEAR}"
                );
                problems.push(Problem::new(path, "invalid", message));
            }
        }
        if let Some(value) = text.timezone.as_deref().filter(|value| zone(value).is_none()) {
            let message = format!("`{value}` is not an IANA time zone; give one such as `Europe/Berlin` or `UTC`");
            problems.push(Problem::new("timezone", "invalid", message));
        }
        problems
    }

    fn new(start: Moment, end: Option<Moment>, zone: Tz) -> Self {
        let (first_day, first_instant) = match start {
            Moment::Bare(_) => (None, None),
            Moment::Local(local) => (Some(local.date()), None),
            Moment::Instant(instant) => (Some(local(instant, zone).date()), Some(instant)),
        };
        let start = start.time_of_day(zone);
        // A window that ends when the next one begins has no pause.
        let end = end.map(|end| end.time_of_day(zone)).filter(|end| *end != start);
        Self {
            zone,
            first_day,
            first_instant,
            start,
            end,
        }
    }
}

fn zone(text: &str) -> Option<Tz> {
    text.parse().ok()
}

fn moment(text: &str) -> Option<Moment> {
    if let Some(time) = time(text) {
        return Some(Moment::Bare(time));
    }
    let (date, rest) = text.split_once('T')?;
    let date = date_of(date)?;
    let (clock, offset) = match rest.find(['Z', '+', '-']) {
        Some(at) => (&rest[..at], Some(&rest[at..])),
        None => (rest, None),
    };
    let local = date.and_time(time_with_fraction(clock)?);
    let Some(offset) = offset else {
        return Some(Moment::Local(local));
    };
    let utc = local.checked_sub_signed(chrono::TimeDelta::seconds(offset_s(offset)?))?;
    Some(Moment::Instant(
        DateTime::from_naive_utc_and_offset(utc, chrono::Utc).into(),
    ))
}

/// Parses exactly this many digits.
fn digits(text: &str, count: usize) -> Option<u32> {
    if text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit()) {
        text.parse().ok()
    } else {
        None
    }
}

/// Last year accepted. In every zone the next opening after a day of this year still has a year of four
/// digits, as clients expect.
const LAST_YEAR: i32 = 9998;

/// Parses `YYYY-MM-DD`.
fn date_of(text: &str) -> Option<NaiveDate> {
    let mut parts = text.splitn(3, '-');
    let year = digits(parts.next()?, 4)?;
    let (month, day) = (digits(parts.next()?, 2)?, digits(parts.next()?, 2)?);
    NaiveDate::from_ymd_opt(i32::try_from(year).ok()?, month, day).filter(|date| date.year() <= LAST_YEAR)
}

/// Parses `HH:MM[:SS]`.
fn time(text: &str) -> Option<NaiveTime> {
    let mut parts = text.splitn(3, ':');
    let (hour, minute) = (digits(parts.next()?, 2)?, digits(parts.next()?, 2)?);
    let second = match parts.next() {
        Some(second) => digits(second, 2)?,
        None => 0,
    };
    NaiveTime::from_hms_opt(hour, minute, second)
}

/// Parses `HH:MM:SS` with a fraction, as clients write dates; the fraction is ignored.
fn time_with_fraction(text: &str) -> Option<NaiveTime> {
    let Some((clock, fraction)) = text.split_once(['.', ',']) else {
        return time(text);
    };
    let whole = clock.len() == "HH:MM:SS".len() && (1..=9).contains(&fraction.len());
    let fraction = fraction.bytes().all(|byte| byte.is_ascii_digit());
    time(clock).filter(|_| whole && fraction)
}

/// Parses `Z`, `±HH:MM`, `±HHMM` or `±HH` into seconds east of Greenwich.
fn offset_s(text: &str) -> Option<i64> {
    if text == "Z" {
        return Some(0);
    }
    let (sign, rest) = match text.as_bytes().first()? {
        b'+' => (1, &text[1..]),
        _ => (-1, text.strip_prefix('-')?),
    };
    let (hours, minutes) = match rest.len() {
        2 => (rest, "00"),
        4 => rest.split_at_checked(2)?,
        _ => rest.split_once(':')?,
    };
    let (hours, minutes) = (digits(hours, 2)?, digits(minutes, 2)?);
    (hours < 24 && minutes < 60).then(|| sign * i64::from(hours * 3600 + minutes * 60))
}

#[cfg(test)]
#[path = "schedule_tests.rs"]
mod tests;
