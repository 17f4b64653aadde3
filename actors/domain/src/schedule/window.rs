//! When a schedule's windows open and close. Free of I/O; the present time is a parameter.
//!
//! A local time that does not exist is the first instant after the gap; one that comes twice is taken the first time
//! for starts and the last time for ends.

use chrono::{Days, LocalResult, NaiveDate, NaiveDateTime, TimeZone};
use chrono_tz::{GapInfo, Tz};

use crate::{
    schedule::{Schedule, local},
    time::Timestamp,
};

/// What a schedule means for a campaign to which it is attached now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SchedulePlan {
    /// When dialing begins; now, if the window is open.
    pub opens_at: Timestamp,
    /// When the window closes that is open from then on; none without a daily pause.
    pub closes_at: Option<Timestamp>,
    /// The schedule's start is past already: worth a warning.
    pub starts_in_past: bool,
}

/// A stretch of time in which may be dialed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Opening {
    /// Its begin; the asked instant, if it lies in it.
    pub opens_at: Timestamp,
    /// Its end, at which nothing may be dialed any more; none for never.
    pub closes_at: Option<Timestamp>,
}

/// The end of the time that is reckoned with.
const NEVER: Timestamp = Timestamp(i64::MAX);

/// Days that are looked through for a window, at most: one is there every day, but for a day that a zone left out or a
/// window that falls into a gap whole.
const DAYS: usize = 10;

impl Schedule {
    /// What it means when it is attached at `now`. The first day is the given one, else today if its start is still to
    /// come or its window is open, else tomorrow.
    pub fn plan(&self, now: Timestamp) -> SchedulePlan {
        let start = self.first_start(now);
        let opening = self.opening(start, now);
        SchedulePlan {
            opens_at: opening.opens_at,
            closes_at: opening.closes_at,
            starts_in_past: start < now,
        }
    }

    /// The stretch that is open at `at`, else the next one; none of before `opens_from` counts.
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
        // On a day with an hour twice, a window may end after the next one began.
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

    /// When the first of its windows begins, clipped by nothing.
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

    /// The windows that are not over long before `at`, in order.
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

    /// The end of the window that opens on `day`.
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

/// Which one is meant of a local time that comes twice.
#[derive(Clone, Copy)]
enum Twice {
    First,
    Last,
}

/// The instant of a local time; the first one where it comes twice.
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
