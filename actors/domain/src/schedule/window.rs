//! Opening and closing times of a schedule's windows. Free of I/O; the present time is a parameter.
//!
//! A local time that does not exist counts as the first instant after the gap. A time that occurs twice
//! counts as the first occurrence for starts and the last for ends.

use chrono::{Days, LocalResult, NaiveDate, NaiveDateTime, TimeZone};
use chrono_tz::{GapInfo, Tz};

use crate::{
    schedule::{Schedule, local},
    time::Timestamp,
};

/// Effect of a schedule on a campaign to which it is attached now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SchedulePlan {
    /// Time when dialing begins; now if the window is open.
    pub opens_at: Timestamp,
    /// End of the window that is open from then on; none without a daily pause.
    pub closes_at: Option<Timestamp>,
    /// Whether the schedule's start is already past, which deserves a warning.
    pub starts_in_past: bool,
}

/// A period in which calls may be dialed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Opening {
    /// Its beginning; the given instant if that lies within it.
    pub opens_at: Timestamp,
    /// Its end, from which nothing may be dialed any more; none if it never ends.
    pub closes_at: Option<Timestamp>,
}

/// Latest instant used.
const NEVER: Timestamp = Timestamp(i64::MAX);

/// Most days examined for a window. There is one every day, except on a day that a zone skipped, or if the
/// whole window falls into a gap.
const DAYS: usize = 10;

impl Schedule {
    /// Returns the effect of attaching the schedule at `now`. The first day is the given one; otherwise today
    /// if its start is still to come or its window is open; otherwise tomorrow.
    pub fn plan(&self, now: Timestamp) -> SchedulePlan {
        let start = self.first_start(now);
        let opening = self.opening(start, now);
        SchedulePlan {
            opens_at: opening.opens_at,
            closes_at: opening.closes_at,
            starts_in_past: start < now,
        }
    }

    /// Returns the period that is open at `at`, otherwise the next one. Periods before `opens_from` do not count.
    pub fn opening(&self, opens_from: Timestamp, at: Timestamp) -> Opening {
        let at = at.max(opens_from);
        if self.end.is_none() {
            return Opening {
                opens_at: at,
                closes_at: None,
            };
        }
        let mut windows = self.windows_from(at).filter(|(_, closes_at)| *closes_at > at);
        let Some((opens_at, mut closes_at)) = windows.next() else {
            return Opening {
                opens_at: NEVER,
                closes_at: None,
            };
        };
        // On a day on which an hour occurs twice, a window may end after the next one began.
        for (opens_at, next) in windows {
            if opens_at > closes_at {
                break;
            }
            closes_at = closes_at.max(next);
        }
        Opening {
            opens_at: opens_at.max(at),
            closes_at: Some(closes_at),
        }
    }

    /// Returns the beginning of its first window, even if that is in the past.
    fn first_start(&self, now: Timestamp) -> Timestamp {
        if let Some(instant) = self.first_instant {
            return instant;
        }
        if let Some(day) = self.first_day {
            return self.opens_on(day);
        }
        let today = local(now, self.zone).date();
        if self.end.is_none() {
            return self.opens_on(today);
        }
        let mut windows = self.windows_from(now);
        windows.find(|(_, closes_at)| *closes_at > now).map_or(NEVER, |w| w.0)
    }

    /// Returns the windows in order, skipping those that ended long before `at`.
    fn windows_from(&self, at: Timestamp) -> impl Iterator<Item = (Timestamp, Timestamp)> {
        let day = local(at, self.zone).date();
        let first = day.checked_sub_days(Days::new(2)).unwrap_or(day);
        let days = first.iter_days().take(DAYS);
        let windows = days.map(|day| (self.opens_on(day), self.closes_of(day)));
        windows.filter(|(opens_at, closes_at)| opens_at < closes_at)
    }

    fn opens_on(&self, day: NaiveDate) -> Timestamp {
        resolve(self.zone, day.and_time(self.start), Twice::First)
    }

    /// Returns the end of the window that opens on `day`.
    fn closes_of(&self, day: NaiveDate) -> Timestamp {
        let Some(end) = self.end else { return NEVER };
        let day = if end > self.start {
            Some(day)
        } else {
            day.checked_add_days(Days::new(1))
        };
        day.map_or(NEVER, |day| resolve(self.zone, day.and_time(end), Twice::Last))
    }
}

/// Occurrence that is meant of a local time that occurs twice.
#[derive(Clone, Copy)]
enum Twice {
    First,
    Last,
}

/// Returns the instant of a local time; the first one if it occurs twice.
pub fn first_instant(zone: Tz, local: NaiveDateTime) -> Timestamp {
    resolve(zone, local, Twice::First)
}

fn resolve(zone: Tz, local: NaiveDateTime, twice: Twice) -> Timestamp {
    let instant = match (zone.from_local_datetime(&local), twice) {
        (LocalResult::Single(instant), _)
        | (LocalResult::Ambiguous(instant, _), Twice::First)
        | (LocalResult::Ambiguous(_, instant), Twice::Last) => Some(instant),
        (LocalResult::None, _) => GapInfo::new(&local, &zone).and_then(|gap| gap.end),
    };
    instant.map_or(NEVER, |instant| instant.to_utc().into())
}

#[cfg(test)]
#[path = "window_tests.rs"]
mod tests;
