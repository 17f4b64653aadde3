//! Calling hours compared with wall clocks in the zones, across changes of summer time.

use chrono::{DateTime, Timelike, Utc};
use proptest::prelude::*;

use super::*;

fn at(text: &str) -> Timestamp {
    text.parse::<DateTime<Utc>>().unwrap().into()
}

fn hours(from: &str, to: &str, days: &[Weekday]) -> CallingHours {
    CallingHours {
        mode: Mode::Enforce,
        from: TimeOfDay::parse(from).unwrap(),
        to: TimeOfDay::parse(to).unwrap(),
        days: days.to_vec(),
    }
}

/// Returns whether the wall clock allows a call at this minute, by the plain meaning of the hours.
fn wall_allows(hours: &CallingHours, zone: Tz, at: Timestamp) -> bool {
    let wall = zone.from_utc_datetime(&at.to_utc().naive_utc()).naive_local();
    let minute = u16::try_from(wall.hour() * 60 + wall.minute()).unwrap();
    let listed = Weekday::of(wall.date()).is_some_and(|day| hours.days.contains(&day));
    listed && (hours.from.0..hours.to.0).contains(&minute)
}

#[test]
fn times_of_day_are_two_and_two_digits() {
    for (text, minutes) in [("00:00", 0), ("08:05", 485), ("23:59", 1_439), ("24:00", 1_440)] {
        let time = TimeOfDay::parse(text).unwrap();
        assert_eq!((time.0, time.to_string().as_str()), (minutes, text));
    }
    for text in [
        "8:00",
        "08:60",
        "24:01",
        "25:00",
        "0800",
        "08:00:00",
        "",
        "-1:00",
        "+8:00",
        "०८:००",
    ] {
        assert_eq!(TimeOfDay::parse(text), None, "{text}");
    }
}

#[test]
fn the_begin_is_in_and_the_end_is_out() {
    let hours = CallingHours::default();
    let zone = [Tz::Europe__Berlin];
    let opening = |text: &str| hours.opening(&zone, at(text)).unwrap();
    assert_eq!(opening("2026-01-05T06:59:59.999999Z"), at("2026-01-05T07:00:00Z"));
    assert_eq!(opening("2026-01-05T07:00:00Z"), at("2026-01-05T07:00:00Z"));
    assert_eq!(opening("2026-01-05T19:59:59Z"), at("2026-01-05T19:59:59Z"));
    assert_eq!(opening("2026-01-05T20:00:00Z"), at("2026-01-06T07:00:00Z"));
    // In summer it is an hour earlier, and the night of the change is short.
    assert_eq!(opening("2026-07-05T20:00:00Z"), at("2026-07-06T06:00:00Z"));
    assert_eq!(opening("2026-03-28T21:00:00Z"), at("2026-03-29T06:00:00Z"));
    assert_eq!(opening("2026-10-24T20:00:00Z"), at("2026-10-25T07:00:00Z"));
}

#[test]
fn days_off_are_passed_over() {
    let hours = hours("09:00", "17:00", &[Weekday::Monday]);
    let zone = [Tz::America__New_York];
    assert_eq!(
        hours.opening(&zone, at("2026-06-01T21:00:00Z")),
        Some(at("2026-06-08T13:00:00Z"))
    );
    let never = CallingHours {
        days: Vec::new(),
        ..hours
    };
    assert_eq!(never.opening(&zone, at("2026-06-01T21:00:00Z")), None);
}

#[test]
fn where_a_number_may_lie_in_several_zones_all_must_be_awake() {
    let zones = [Tz::America__New_York, Tz::America__Los_Angeles];
    let hours = CallingHours::default();
    // 8:00 in the east is 5:00 in the west; 21:00 in the east is 18:00 in the west.
    assert_eq!(
        hours.opening(&zones, at("2026-01-05T13:00:00Z")),
        Some(at("2026-01-05T16:00:00Z"))
    );
    assert_eq!(
        hours.opening(&zones, at("2026-01-06T01:59:00Z")),
        Some(at("2026-01-06T01:59:00Z"))
    );
    assert_eq!(
        hours.opening(&zones, at("2026-01-06T02:00:00Z")),
        Some(at("2026-01-06T16:00:00Z"))
    );
    // Opposite sides of the earth are never awake at the same hour.
    let short = self::hours("09:00", "12:00", &Weekday::ALL);
    let far = [Tz::Europe__London, Tz::Pacific__Auckland];
    assert_eq!(short.opening(&far, at("2026-01-05T13:00:00Z")), None);
    assert_eq!(hours.opening(&[], at("2026-01-05T13:00:00Z")), None);
}

#[test]
fn hours_in_a_gap_or_twice_are_taken_as_a_campaigns_window_takes_them() {
    let berlin = [Tz::Europe__Berlin];
    // 02:30 does not exist on 29 March, so the hours begin at 03:00, which is 01:00 UTC.
    let early = hours("02:30", "21:00", &Weekday::ALL);
    assert_eq!(
        early.opening(&berlin, at("2026-03-29T00:00:00Z")),
        Some(at("2026-03-29T01:00:00Z"))
    );
    // 02:30 occurs twice on 25 October, at 00:30 and 01:30 UTC: hours begin at the first and end at the last.
    assert_eq!(
        early.opening(&berlin, at("2026-10-24T23:00:00Z")),
        Some(at("2026-10-25T00:30:00Z"))
    );
    let late = hours("01:00", "02:30", &Weekday::ALL);
    assert_eq!(
        late.opening(&berlin, at("2026-10-25T01:29:00Z")),
        Some(at("2026-10-25T01:29:00Z"))
    );
    assert_eq!(
        late.opening(&berlin, at("2026-10-25T01:30:00Z")),
        Some(at("2026-10-26T00:00:00Z"))
    );
}

#[test]
fn hours_that_a_gap_swallows_come_a_week_later() {
    // 02:15 to 02:45 does not exist on Sunday 8 March.
    let sunday = hours("02:15", "02:45", &[Weekday::Sunday]);
    let next = Some(at("2026-03-15T06:15:00Z"));
    for asked in ["2026-03-01T08:00:00Z", "2026-03-04T12:00:00Z", "2026-03-08T07:30:00Z"] {
        assert_eq!(sunday.opening(&[Tz::America__New_York], at(asked)), next, "{asked}");
    }
}

const ZONES: [Tz; 10] = [
    Tz::UTC,
    Tz::America__New_York,
    Tz::America__Los_Angeles,
    Tz::America__St_Johns,
    Tz::Europe__Berlin,
    Tz::Asia__Kolkata,
    Tz::Australia__Lord_Howe,
    Tz::Australia__Adelaide,
    Tz::Pacific__Chatham,
    Tz::Africa__Casablanca,
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// With hours outside the night, which summer time changes, they agree with the wall clocks at every
    /// minute until the opening.
    #[test]
    fn an_opening_is_the_first_minute_that_every_wall_allows(
        // 2025 to 2027, in whole minutes.
        minute in 28_927_440_i64..30_504_240,
        from in 4_u16..12,
        length in 4_u16..12,
        days in prop::collection::vec(0_usize..7, 1..7),
        zones in prop::collection::vec(0_usize..ZONES.len(), 1..4),
    ) {
        let at = Timestamp(minute * 60_000_000);
        let days: Vec<Weekday> = days.into_iter().map(|day| Weekday::ALL[day]).collect();
        let zones: Vec<Tz> = zones.into_iter().map(|zone| ZONES[zone]).collect();
        let hours = CallingHours {
            mode: Mode::Enforce,
            from: TimeOfDay::of_minutes(from * 60).unwrap(),
            to: TimeOfDay::of_minutes((from + length) * 60).unwrap(),
            days,
        };
        let allowed = |at: Timestamp| zones.iter().all(|zone| wall_allows(&hours, *zone, at));
        let later = |n: i64| Timestamp(at.0 + n * 60_000_000);
        let expected = (0..8 * 24 * 60).map(later).find(|at| allowed(*at));
        let found = hours.opening(&zones, at);
        match expected {
            Some(expected) => prop_assert_eq!(found, Some(expected)),
            None => prop_assert!(found.is_none_or(|found| found >= later(8 * 24 * 60)), "{:?}", found),
        }
    }
}
