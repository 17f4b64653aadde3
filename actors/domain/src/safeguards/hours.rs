//! The callee's local hours: when a number may be called that lies in one of several zones.
//!
//! A local time that does not exist is the first instant after the gap; one that comes twice is taken the first time
//! for the begin and the last time for the end, as a campaign's window does.

use std::fmt;

use chrono::{Datelike, Days, LocalResult, NaiveDate, NaiveDateTime, NaiveTime, TimeZone};
use chrono_tz::{GapInfo, Tz};
use serde::{Deserialize, Serialize};

use super::Mode;
use crate::time::Timestamp;

/// Minutes of a day.
const DAY_MINUTES: u16 = 24 * 60;

/// Days that are looked through for an opening: each weekday comes at least twice, as the hours of one may lie in a gap
/// of the clock.
const DAYS: u64 = 16;

/// `HH:MM`; `24:00` is the day's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(try_from = "String", into = "String")]
#[schema(value_type = String, pattern = "^(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)$", example = "08:00")]
pub struct TimeOfDay(u16);

impl TimeOfDay {
    /// So many minutes after midnight; none beyond the day's end.
    pub fn of_minutes(minutes: u16) -> Option<Self> {
        (minutes <= DAY_MINUTES).then_some(Self(minutes))
    }

    /// Reads `HH:MM`.
    pub fn parse(text: &str) -> Option<Self> {
        let (hours, minutes) = text.split_once(':')?;
        let two = |part: &str| (part.len() == 2 && part.bytes().all(|b| b.is_ascii_digit())).then(|| part.parse().ok());
        let (hours, minutes): (u16, u16) = (two(hours)??, two(minutes)??);
        (minutes < 60).then(|| Self::of_minutes(hours * 60 + minutes)).flatten()
    }

    /// The local time it is on a day; none beyond the calendar.
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
        Self::parse(&text).ok_or_else(|| format!("`{text}` is no time of day"))
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

/// The callee's local hours, by the zones of the number's first digits; where a number may lie in several zones it must
/// be within the hours in all of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct CallingHours {
    /// `off` by default.
    #[schema(required)]
    pub mode: Mode,
    /// From then on; `08:00` by default.
    #[schema(required)]
    pub from: TimeOfDay,
    /// Not any more from then on, later than `from`; `21:00` by default.
    #[schema(required)]
    pub to: TimeOfDay,
    /// On these days; all of them by default.
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
    /// The first instant from `at` on that lies within the hours in every one of the zones: `at` itself where it does,
    /// none where that never happens, or where no zone is known.
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
        // A day's hours may end after its midnight where an hour comes twice.
        let first = today.checked_sub_days(Days::new(1))?;
        first.iter_days().take(DAYS as usize + 1).find_map(|day| {
            let listed = Weekday::of(day).is_some_and(|weekday| self.days.contains(&weekday));
            let (opens, closes) = self.window(zone, day).filter(|_| listed)?;
            (opens < closes && closes > at).then(|| opens.max(at))
        })
    }

    /// The hours of one day.
    fn window(&self, zone: Tz, day: NaiveDate) -> Option<(Timestamp, Timestamp)> {
        let (from, to) = (self.from.on(day)?, self.to.on(day)?);
        Some((instant(zone, from, Twice::First)?, instant(zone, to, Twice::Last)?))
    }
}

/// Which one is meant of a local time that comes twice.
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
