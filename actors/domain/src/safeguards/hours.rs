//! Local calling hours: when a number may be called if it may be in one of several time zones.
//!
//! A local time that does not exist counts as the first instant after the gap. A time that occurs twice
//! counts as the first occurrence for the beginning and the last for the end, as in a campaign's window.

use std::fmt;

use chrono::{Datelike, Days, LocalResult, NaiveDate, NaiveDateTime, NaiveTime, TimeZone};
use chrono_tz::{GapInfo, Tz};
use serde::{Deserialize, Serialize};

use super::mode::Mode;
use crate::time::Timestamp;

/// Minutes of a day.
const DAY_MINUTES: u16 = 24 * 60;

/// Days examined for an opening. Each weekday occurs at least twice, because the hours of one may fall into a
/// gap of the clock.
const DAYS: u64 = 16;

/// A time as `HH:MM`; `24:00` is the end of the day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(try_from = "String", into = "String")]
#[schema(value_type = String, pattern = "^(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)$", example = "08:00")]
pub struct TimeOfDay(u16);

impl TimeOfDay {
    /// Creates the time this many minutes after midnight; none after the end of the day.
    pub fn of_minutes(minutes: u16) -> Option<Self> {
        (minutes <= DAY_MINUTES).then_some(Self(minutes))
    }

    /// Parses `HH:MM`.
    pub fn parse(text: &str) -> Option<Self> {
        let (hours, minutes) = text.split_once(':')?;
        let two = |part: &str| (part.len() == 2 && part.bytes().all(|b| b.is_ascii_digit())).then(|| part.parse().ok());
        let (hours, minutes): (u16, u16) = (two(hours)??, two(minutes)??);
        (minutes < 60).then(|| Self::of_minutes(hours * 60 + minutes)).flatten()
    }

    /// Returns the local time on a day; none beyond the calendar.
    fn on(self, day: NaiveDate) -> Option<NaiveDateTime> {
        if self.0 == DAY_MINUTES {
            return day
                .checked_add_days(Days::new(1))
                .map(|next| next.and_time(NaiveTime::MIN));
        }
        let (hours, minutes) = (u32::from(self.0 / 60), u32::from(self.0 % 60));
        NaiveTime::from_hms_opt(hours, minutes, 0).map(|time| day.and_time(time))
    }
}

impl fmt::Display for TimeOfDay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02}:{:02}", self.0 / 60, self.0 % 60)
    }
}

impl From<TimeOfDay> for String {
    fn from(time: TimeOfDay) -> Self {
        time.to_string()
    }
}

impl TryFrom<String> for TimeOfDay {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text).ok_or_else(|| format!("`{text}` is not a time of day"))
    }
}

/// A day of the week.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "each is what it is called")]
pub enum Weekday {
    Monday,
    Tuesday,
    Wednesday,
    Thursday,
    Friday,
    Saturday,
    Sunday,
}

spelled!(Weekday, Monday "monday", Tuesday "tuesday", Wednesday "wednesday", Thursday "thursday", Friday "friday",
    Saturday "saturday", Sunday "sunday");

impl Weekday {
    fn of(day: NaiveDate) -> Option<Self> {
        let index = usize::try_from(day.weekday().num_days_from_monday()).ok()?;
        Self::ALL.get(index).copied()
    }
}

/// The callee's local calling hours, in the time zones of the number's first digits. If a number may be in
/// several zones, a call must be within the hours in all of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct CallingHours {
    /// `off` by default.
    #[schema(required)]
    pub mode: Mode,
    /// Beginning of the hours; `08:00` by default.
    #[schema(required)]
    pub from: TimeOfDay,
    /// End of the hours, later than `from`; `21:00` by default.
    #[schema(required)]
    pub to: TimeOfDay,
    /// Days of the week; all by default.
    #[schema(required, min_items = 1)]
    pub days: Vec<Weekday>,
}

impl Default for CallingHours {
    fn default() -> Self {
        Self {
            mode: Mode::Off,
            from: TimeOfDay(8 * 60),
            to: TimeOfDay(21 * 60),
            days: Weekday::ALL.to_vec(),
        }
    }
}

impl CallingHours {
    /// Returns the first instant from `at` on that is within the hours in every one of the zones; `at` itself
    /// if it is. None if that never happens or no zone is known.
    pub fn opening(&self, zones: &[Tz], at: Timestamp) -> Option<Timestamp> {
        let give_up = Timestamp(at.0.saturating_add(DAYS as i64 * 86_400_000_000));
        let mut candidate = at;
        if zones.is_empty() {
            return None;
        }
        while candidate <= give_up {
            let before = candidate;
            for zone in zones {
                candidate = self.opening_in(*zone, candidate)?;
            }
            if candidate == before {
                return Some(candidate);
            }
        }
        None
    }

    fn opening_in(&self, zone: Tz, at: Timestamp) -> Option<Timestamp> {
        let today = zone.from_utc_datetime(&at.to_utc().naive_utc()).date_naive();
        // If an hour occurs twice, a day's hours may end after its midnight.
        let first = today.checked_sub_days(Days::new(1))?;
        first.iter_days().take(DAYS as usize + 1).find_map(|day| {
            let listed = Weekday::of(day).is_some_and(|weekday| self.days.contains(&weekday));
            let (opens, closes) = self.window(zone, day).filter(|_| listed)?;
            (opens < closes && closes > at).then(|| opens.max(at))
        })
    }

    /// Returns the hours of one day.
    fn window(&self, zone: Tz, day: NaiveDate) -> Option<(Timestamp, Timestamp)> {
        let (from, to) = (self.from.on(day)?, self.to.on(day)?);
        Some((instant(zone, from, Twice::First)?, instant(zone, to, Twice::Last)?))
    }
}

/// Occurrence that is meant of a local time that occurs twice.
#[derive(Clone, Copy)]
enum Twice {
    First,
    Last,
}

fn instant(zone: Tz, local: NaiveDateTime, twice: Twice) -> Option<Timestamp> {
    let at = match (zone.from_local_datetime(&local), twice) {
        (LocalResult::Single(at), _)
        | (LocalResult::Ambiguous(at, _), Twice::First)
        | (LocalResult::Ambiguous(_, at), Twice::Last) => at,
        (LocalResult::None, _) => GapInfo::new(&local, &zone)?.end?,
    };
    Some(at.to_utc().into())
}

#[cfg(test)]
#[path = "hours_tests.rs"]
mod tests;
