//! Times of appointments: parsing of a model's or caller's words, wording for people, and the search for free times.

use std::time::Duration;

use chrono::{DateTime, Days, NaiveDate, NaiveTime, Timelike};
use chrono_tz::Tz;
use domain::{
    callback_time::{SpokenTime, parse_answer},
    schedule::first_instant,
    time::Timestamp,
};

use super::port::Span;

/// How far ahead an appointment may be.
pub(super) const FARTHEST: Duration = Duration::from_secs(90 * 24 * 3_600);

/// Length of an appointment if the calendar does not define it.
pub(super) const LENGTH: Duration = Duration::from_secs(30 * 60);

/// Hours, in the agent's time zone, in which times are offered if the calendar only reports busy times.
const OFFERED: std::ops::Range<u32> = 8..20;

fn local(at: Timestamp, zone: Tz) -> DateTime<Tz> {
    at.to_utc().with_timezone(&zone)
}

/// Formats a time as people say it: "Tuesday, November 24 at 3:00 PM".
pub(super) fn said(at: Timestamp, zone: Tz) -> String {
    local(at, zone).format("%A, %B %-d at %-I:%M %p").to_string()
}

/// Parses a time relative to `now` in `zone`: ISO 8601 with or without an offset, or in words.
pub(super) fn read(text: &str, now: Timestamp, zone: Tz) -> Option<Timestamp> {
    let at = match parse_answer(text.trim())? {
        SpokenTime::Instant(at) => at,
        SpokenTime::Local(local) => first_instant(zone, local),
        spoken => spoken.instant(now, zone)?,
    };
    // Rounded down to whole minutes.
    Some(Timestamp(at.0 - at.0.rem_euclid(60_000_000)))
}

/// Parses one end of a time span. A date alone means its first or last instant.
pub(super) fn read_end(text: &str, last: bool, now: Timestamp, zone: Tz) -> Option<Timestamp> {
    match NaiveDate::parse_from_str(text.trim(), "%Y-%m-%d") {
        Ok(date) => {
            let date = date.checked_add_days(Days::new(u64::from(last)))?;
            Some(first_instant(zone, date.and_time(NaiveTime::MIN)))
        }
        Err(_) => read(text, now, zone),
    }
}

/// Returns the free starts at full and half hours of the day that no busy span overlaps.
pub(super) fn between(busy: &[(Timestamp, Timestamp)], span: Span) -> Vec<Timestamp> {
    let step = i64::try_from(LENGTH.as_micros()).unwrap_or(i64::MAX);
    let first = span.from.0.div_euclid(step) + i64::from(span.from.0.rem_euclid(step) > 0);
    let steps = (first..).map(|nth| Timestamp(nth * step));
    steps
        .take_while(|at| at.plus(LENGTH) <= span.to)
        .filter(|at| OFFERED.contains(&local(*at, span.zone).hour()))
        .filter(|at| !busy.iter().any(|(from, to)| *from < at.plus(LENGTH) && *at < *to))
        .collect()
}

#[cfg(test)]
mod tests {
    use chrono_tz::Europe::Berlin;

    use super::*;

    fn at(text: &str) -> Timestamp {
        DateTime::parse_from_rfc3339(text).unwrap().to_utc().into()
    }

    #[test]
    fn times_are_read_as_they_are_given() {
        let now = at("2026-11-23T09:00:00Z");
        for (text, expected) in [
            ("2026-11-24T15:00:00+01:00", "2026-11-24T14:00:00Z"),
            ("2026-11-24T15:00:59Z", "2026-11-24T15:00:00Z"),
            ("2026-11-24T15:00", "2026-11-24T14:00:00Z"),
            ("2026-07-01 09:30", "2026-07-01T07:30:00Z"),
            ("tomorrow at three", "2026-11-24T14:00:00Z"),
        ] {
            assert_eq!(read(text, now, Berlin), Some(at(expected)), "{text}");
        }
        for text in ["", "soon", "2026-13-01T00:00", "\u{0}"] {
            assert_eq!(read(text, now, Berlin), None, "{text}");
        }
        let day = |last| read_end("2026-11-24", last, now, Berlin).unwrap();
        assert_eq!(day(false), at("2026-11-23T23:00:00Z"));
        assert_eq!(day(true), at("2026-11-24T23:00:00Z"));
        assert_eq!(
            said(at("2026-11-24T14:00:00Z"), Berlin),
            "Tuesday, November 24 at 3:00 PM"
        );
        assert_eq!(
            at("2026-11-24T14:00:00Z").to_iso8601_in(Berlin),
            "2026-11-24T15:00:00+01:00"
        );
    }

    #[test]
    fn free_times_lie_in_the_day_between_what_is_busy() {
        let span = Span {
            from: at("2026-11-24T06:10:00Z"),
            to: at("2026-11-24T23:00:00Z"),
            zone: Berlin,
        };
        let whole = between(&[], span);
        assert_eq!(whole.first(), Some(&at("2026-11-24T07:00:00Z")));
        assert_eq!(whole.last(), Some(&at("2026-11-24T18:30:00Z")));
        let busy = [
            (at("2026-11-24T06:00:00Z"), at("2026-11-24T08:00:00Z")),
            (at("2026-11-24T08:45:00Z"), at("2026-11-24T18:00:00Z")),
        ];
        let free: Vec<String> = between(&busy, span)
            .into_iter()
            .map(|at| at.to_iso8601_in(Berlin))
            .collect();
        assert_eq!(
            free,
            [
                "2026-11-24T09:00:00+01:00",
                "2026-11-24T19:00:00+01:00",
                "2026-11-24T19:30:00+01:00"
            ]
        );
    }
}
