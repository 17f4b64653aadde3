//! Windows across daylight saving, midnight and dates, by example and by property.

use proptest::prelude::*;

use super::*;
use crate::schedule::ScheduleText;

fn schedule(start: &str, end: Option<&str>, zone: &str) -> Schedule {
    let text = ScheduleText {
        start_time: Some(start.to_owned()),
        end_time: end.map(str::to_owned),
        timezone: Some(zone.to_owned()),
    };
    Schedule::parse(&text).unwrap().unwrap()
}

fn at(text: &str) -> Timestamp {
    chrono::DateTime::parse_from_rfc3339(text).unwrap().to_utc().into()
}

#[track_caller]
fn planned(start: &str, end: Option<&str>, zone: &str, now: &str, expected: (&str, Option<&str>, bool)) {
    let plan = schedule(start, end, zone).plan(at(now));
    let (opens_at, closes_at, starts_in_past) = expected;
    assert_eq!(plan.opens_at.to_iso8601(), at(opens_at).to_iso8601());
    assert_eq!(plan.closes_at, closes_at.map(at));
    assert_eq!(plan.starts_in_past, starts_in_past);
}

#[test]
fn a_bare_time_means_today_if_it_is_to_come_or_open_else_tomorrow() {
    let day = |now, expected| planned("09:00", Some("17:00"), "Europe/Paris", now, expected);
    let today = ("2026-06-01T09:00:00+02:00", Some("2026-06-01T17:00:00+02:00"), false);
    day("2026-06-01T08:00:00+02:00", today);
    let now = "2026-06-01T12:00:00+02:00";
    day(now, (now, Some("2026-06-01T17:00:00+02:00"), true));
    let tomorrow = ("2026-06-02T09:00:00+02:00", Some("2026-06-02T17:00:00+02:00"), false);
    day("2026-06-01T17:00:00+02:00", tomorrow);
    // Without an end there is no pause: after today's start it begins at once.
    planned("09:00", None, "Europe/Paris", now, (now, None, true));
    planned(
        "13:00",
        None,
        "Europe/Paris",
        now,
        ("2026-06-01T13:00:00+02:00", None, false),
    );
    // In the small hours yesterday's window is still open.
    let night = "2026-06-02T02:00:00+02:00";
    planned(
        "22:00",
        Some("06:00"),
        "Europe/Paris",
        night,
        (night, Some("2026-06-02T06:00:00+02:00"), true),
    );
}

#[test]
fn a_date_sets_the_first_day() {
    let now = "2026-06-01T12:00:00Z";
    let far = ("2026-07-01T09:00:00Z", Some("2026-07-01T17:00:00Z"), false);
    planned("2026-07-01T09:00", Some("17:00"), "UTC", now, far);
    planned("2026-07-01T09:00Z", Some("2026-07-09T17:00Z"), "UTC", now, far);
    planned(
        "2026-05-01T09:00",
        Some("17:00"),
        "UTC",
        now,
        (now, Some("2026-06-01T17:00:00Z"), true),
    );
    let next = ("2026-06-02T09:00:00Z", Some("2026-06-02T11:00:00Z"), true);
    planned("2026-05-01T09:00", Some("11:00"), "UTC", now, next);
    planned("2026-05-01T09:00", None, "UTC", now, (now, None, true));
    // The window of the day before, which would be open now, does not count.
    let night = "2026-06-01T02:00:00Z";
    let first = ("2026-06-01T22:00:00Z", Some("2026-06-02T06:00:00Z"), false);
    planned("2026-06-01T22:00", Some("06:00"), "UTC", night, first);
}

#[test]
fn a_time_in_the_gap_moves_behind_it_and_one_that_comes_twice_is_taken_by_its_role() {
    // In Berlin 02:00 to 03:00 does not exist on 2026-03-29 and occurs twice on 2026-10-25.
    let spring = "2026-03-29T00:00:00+01:00";
    let moved = ("2026-03-29T03:00:00+02:00", Some("2026-03-29T04:00:00+02:00"), false);
    planned("02:30", Some("04:00"), "Europe/Berlin", spring, moved);
    let cut = ("2026-03-29T01:00:00+01:00", Some("2026-03-29T03:00:00+02:00"), false);
    planned("01:00", Some("02:30"), "Europe/Berlin", spring, cut);
    // A window that falls entirely into the gap does not exist on that day.
    let skipped = ("2026-03-30T02:10:00+02:00", Some("2026-03-30T02:50:00+02:00"), false);
    planned("02:10", Some("02:50"), "Europe/Berlin", spring, skipped);
    let autumn = "2026-10-25T00:00:00+02:00";
    let long = ("2026-10-25T02:30:00+02:00", Some("2026-10-25T02:45:00+01:00"), false);
    planned("02:30", Some("02:45"), "Europe/Berlin", autumn, long);
    // An instant is unambiguous.
    let second = ("2026-10-25T02:30:00+01:00", Some("2026-10-25T17:00:00+01:00"), false);
    planned("2026-10-25T01:30Z", Some("17:00"), "Europe/Berlin", autumn, second);
    // The pause from 02:15 to 02:30 is lost in the hour that occurs twice.
    let through = ("2026-10-25T00:00:00+02:00", Some("2026-10-26T02:15:00+01:00"), true);
    planned("02:30", Some("02:15"), "Europe/Berlin", autumn, through);
}

#[test]
fn equal_times_mean_no_pause() {
    let now = "2026-06-01T12:00:00Z";
    planned("09:00", Some("09:00"), "UTC", now, (now, None, true));
}

#[test]
fn it_never_ends_in_a_panic_at_any_distance() {
    for start in [
        "0001-01-01T00:00",
        "9998-12-31T23:59:59",
        "9998-12-31T23:59Z",
        "0000-01-01T00:00+23:59",
    ] {
        for zone in ["Pacific/Kiritimati", "Pacific/Niue"] {
            for end in [None, Some("00:00"), Some("23:59:59")] {
                let schedule = schedule(start, end, zone);
                for now in [i64::MIN, -1, 0, 1_800_000_000_000_000, i64::MAX] {
                    schedule.plan(Timestamp(now));
                    schedule.opening(Timestamp(now), Timestamp(now));
                }
            }
        }
    }
}

fn zones() -> impl Strategy<Value = &'static str> {
    prop::sample::select(
        chrono_tz::TZ_VARIANTS
            .iter()
            .map(|zone| zone.name())
            .collect::<Vec<_>>(),
    )
}

prop_compose! {
    fn any_schedule()(
        zone in zones(), start in 0..86_400u32, end in prop::option::of(0..86_400u32), day in prop::option::of(0..6_000i64)
    ) -> Schedule {
        let clock = |s: u32| format!("{:02}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
        let date = day.map(|day| chrono::NaiveDate::from_ymd_opt(2020, 1, 1).unwrap() + chrono::Days::new(day as u64));
        let start = match date {
            Some(date) => format!("{date}T{}", clock(start)),
            None => clock(start),
        };
        schedule(&start, end.map(clock).as_deref(), zone)
    }
}

const YEAR_2020: i64 = 1_577_836_800_000_000;
const YEAR_2038: i64 = 2_145_916_800_000_000;

proptest! {
    #[test]
    fn openings_follow_each_other_and_none_is_in_the_past(schedule in any_schedule(), now in YEAR_2020..YEAR_2038) {
        let now = Timestamp(now);
        let plan = schedule.plan(now);
        prop_assert!(plan.opens_at >= now);
        let opens_from = plan.opens_at;
        let mut at = now;
        let mut last_close = None;
        for _ in 0..6 {
            let opening = schedule.opening(opens_from, at);
            prop_assert!(opening.opens_at >= at && opening.opens_at >= opens_from);
            // At any time within the period, the result is the same period.
            prop_assert_eq!(schedule.opening(opens_from, opening.opens_at), opening);
            if let Some(close) = last_close {
                prop_assert!(opening.opens_at > close, "a pause lies between two stretches");
            }
            let Some(close) = opening.closes_at else { break };
            prop_assert!(close > opening.opens_at);
            let inside = Timestamp(close.0 - 1).max(opening.opens_at);
            let again = schedule.opening(opens_from, inside);
            prop_assert_eq!((again.opens_at, again.closes_at), (inside, Some(close)));
            prop_assert!(schedule.opening(opens_from, close).opens_at > close);
            last_close = Some(close);
            at = close;
        }
    }

    #[test]
    fn what_was_resolved_gives_the_same_answer_later(
        schedule in any_schedule(), now in YEAR_2020..YEAR_2038, later in 0..40 * 86_400_000_000i64
    ) {
        let plan = schedule.plan(Timestamp(now));
        let first = schedule.opening(plan.opens_at, Timestamp(now));
        prop_assert_eq!((first.opens_at, first.closes_at), (plan.opens_at, plan.closes_at));
        // Before the first opening, it is always the result.
        let asked = Timestamp(now + later);
        if asked < plan.opens_at {
            prop_assert_eq!(schedule.opening(plan.opens_at, asked), first);
        } else if plan.closes_at.is_some_and(|close| asked < close) {
            prop_assert_eq!(schedule.opening(plan.opens_at, asked).opens_at, asked);
        }
    }
}
