//! Requested times, and the instants they mean.

use std::{fmt, time::Duration};

use chrono::{Datelike, Days, NaiveDate, NaiveDateTime, NaiveTime, Weekday};
use chrono_tz::Tz;
use serde::{Deserialize, Serialize};

use crate::{schedule, time::Timestamp};

/// Longest delay of a call.
pub const LONGEST: Duration = Duration::from_secs(30 * 24 * 3600);

/// Hours for call-backs if the person did not say whether before or after noon.
const DAYTIME_HOURS: std::ops::Range<u32> = 8..21;

/// A requested time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum SpokenTime {
    /// Number of minutes from now.
    After(u32),
    /// An instant, given with its UTC offset.
    Instant(Timestamp),
    /// A date and time in the callee's time zone.
    Local(NaiveDateTime),
    /// A day and a time of the day; one of them may be open.
    On(Day, TimeOfDay),
}

/// A day, relative to today.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Day {
    /// No day was named.
    Open,
    /// Number of days from today; 0 is today.
    In(u32),
    /// The next day of this name after today.
    Next(Weekday),
    /// The day of this name in the next calendar week; weeks begin on Monday.
    NextWeek(Weekday),
}

/// A time of the day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TimeOfDay {
    /// No time was named.
    Open,
    /// A time on a 24-hour clock.
    Clock {
        /// Hour, 0 to 23.
        hour: u32,
        /// Minute, 0 to 59.
        minute: u32,
    },
    /// A time on a 12-hour clock, before or after noon.
    Face {
        /// Hour, 1 to 12.
        hour: u32,
        /// Minute, 0 to 59.
        minute: u32,
    },
    /// A part of the day.
    Part(Part),
}

/// A part of the day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Part {
    /// The morning, which begins at 9:00.
    Morning,
    /// The afternoon, which begins at 14:00.
    Afternoon,
    /// The evening, which begins at 18:00.
    Evening,
}

impl Part {
    fn begins(self) -> u32 {
        match self {
            Self::Morning => 9,
            Self::Afternoon => 14,
            Self::Evening => 18,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Morning => "morning",
            Self::Afternoon => "afternoon",
            Self::Evening => "evening",
        }
    }
}

impl SpokenTime {
    /// Returns the instant that is meant if this is said at `now` in `zone`. It is later than `now`, by at
    /// most [`LONGEST`]. Returns none if there is no such instant, as for "today at noon" in the evening.
    pub fn instant(self, now: Timestamp, zone: Tz) -> Option<Timestamp> {
        let ahead = |at: &Timestamp| *at > now && *at <= now.plus(LONGEST);
        match self {
            Self::After(minutes) => Some(now.plus(Duration::from_secs(60 * u64::from(minutes)))).filter(ahead),
            Self::Instant(at) => Some(at).filter(ahead),
            Self::Local(local) => Some(schedule::first_instant(zone, local)).filter(ahead),
            Self::On(day, time) => {
                let today = schedule::local(now, zone).date();
                let candidates = day.dates(today).flat_map(|date| time.on(date));
                let instants: Vec<_> = candidates
                    .map(|(local, plausible)| (schedule::first_instant(zone, local), plausible))
                    .filter(|(at, _)| ahead(at))
                    .collect();
                let best = instants.iter().find(|(_, plausible)| *plausible);
                best.or(instants.first()).map(|(at, _)| *at)
            }
        }
    }
}

impl Day {
    /// Returns the possible days, the most likely first. Without a name that is today, then tomorrow, then
    /// the day after for a time that tomorrow does not have.
    pub(super) fn dates(self, today: NaiveDate) -> impl Iterator<Item = NaiveDate> {
        let to = |weekday: Weekday| (7 + weekday.days_since(today.weekday())) % 7;
        let (first, last) = match self {
            Self::Open => (0, 2),
            Self::In(days) => (days, days),
            Self::Next(weekday) => match to(weekday) {
                0 => (7, 7),
                days => (days, days),
            },
            Self::NextWeek(weekday) => {
                let monday = 7 - today.weekday().num_days_from_monday();
                let day = monday + weekday.num_days_from_monday();
                (day, day)
            }
        };
        (first..=last).filter_map(move |days| today.checked_add_days(Days::new(u64::from(days))))
    }
}

impl TimeOfDay {
    /// Returns the possible times on a day, in order, each with whether people would mean it.
    pub(super) fn on(self, date: NaiveDate) -> Vec<(NaiveDateTime, bool)> {
        let at = |hour: u32, minute: u32, plausible: bool| {
            let time = NaiveTime::from_hms_opt(hour, minute, 0)?;
            Some((date.and_time(time), plausible))
        };
        let times = match self {
            Self::Open => [at(10, 0, true), None],
            Self::Part(part) => [at(part.begins(), 0, true), None],
            Self::Clock { hour, minute } => [at(hour, minute, true), None],
            Self::Face { hour, minute } => {
                let plausible = |hour| at(hour, minute, DAYTIME_HOURS.contains(&hour));
                [plausible(hour % 12), plausible(hour % 12 + 12)]
            }
        };
        times.into_iter().flatten().collect()
    }
}

/// Formats the time as it is said back: "in 10 minutes", "tomorrow at 3", "on Monday in the morning".
impl fmt::Display for SpokenTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::After(minutes) => match (minutes / 60, minutes % 60) {
                (0, minutes) => write!(f, "in {}", count(minutes, "minute")),
                (hours, 0) => write!(f, "in {}", count(hours, "hour")),
                (hours, minutes) => write!(f, "in {} and {}", count(hours, "hour"), count(minutes, "minute")),
            },
            Self::Instant(_) => f.write_str("then"),
            Self::Local(local) => write!(f, "on {} at {}", local.format("%B %-d"), local.format("%-H:%M")),
            Self::On(Day::Open, time) => write!(f, "{time}"),
            Self::On(day, TimeOfDay::Open) => write!(f, "{day}"),
            Self::On(day, time) => write!(f, "{day} {time}"),
        }
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open | Self::In(0) => f.write_str("today"),
            Self::In(1) => f.write_str("tomorrow"),
            Self::In(days) => write!(f, "in {days} days"),
            Self::Next(weekday) => write!(f, "on {}", name(*weekday)),
            Self::NextWeek(weekday) => write!(f, "next week on {}", name(*weekday)),
        }
    }
}

impl fmt::Display for TimeOfDay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open => f.write_str("at 10"),
            Self::Part(part) => write!(f, "in the {}", part.name()),
            Self::Clock { hour: 12, minute: 0 } => f.write_str("at noon"),
            Self::Clock { hour, minute } => write!(f, "at {hour}:{minute:02}"),
            Self::Face { hour, minute: 0 } => write!(f, "at {hour}"),
            Self::Face { hour, minute } => write!(f, "at {hour}:{minute:02}"),
        }
    }
}
fn count(number: u32, unit: &str) -> String {
    format!("{number} {unit}{}", if number == 1 { "" } else { "s" })
}

fn name(weekday: Weekday) -> &'static str {
    match weekday {
        Weekday::Mon => "Monday",
        Weekday::Tue => "Tuesday",
        Weekday::Wed => "Wednesday",
        Weekday::Thu => "Thursday",
        Weekday::Fri => "Friday",
        Weekday::Sat => "Saturday",
        Weekday::Sun => "Sunday",
    }
}
