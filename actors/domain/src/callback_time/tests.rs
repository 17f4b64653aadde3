//! Phrases and the times they mean, and phrases that mean no time.

use chrono::{TimeZone, Weekday};
use chrono_tz::Tz;
use proptest::prelude::*;

use super::*;
use crate::time::Timestamp;

/// Returns a time on Sunday, 22 November 2026.
fn at(zone: Tz, hour: u32, minute: u32) -> Timestamp {
    zone.with_ymd_and_hms(2026, 11, 22, hour, minute, 0)
        .unwrap()
        .to_utc()
        .into()
}

/// Returns the day and wall-clock time meant by a text that is said on that Sunday at 10:20 in Berlin: "23
/// 15:00" is on the 23rd.
fn meant(text: &str) -> Option<String> {
    meant_at(text, 10, 20)
}

fn meant_at(text: &str, hour: u32, minute: u32) -> Option<String> {
    let zone = Tz::Europe__Berlin;
    let instant = parse_answer(text)?.instant(at(zone, hour, minute), zone)?;
    Some(crate::schedule::local(instant, zone).format("%-d %-H:%M").to_string())
}

#[test]
fn spans_count_from_now() {
    for (text, expected) in [
        ("in ten minutes", "22 10:30"),
        ("Call me again in about 20 min, please", "22 10:40"),
        ("in half an hour", "22 10:50"),
        ("in a quarter of an hour", "22 10:35"),
        ("in an hour", "22 11:20"),
        ("in an hour and a half", "22 11:50"),
        ("in one and a half hours", "22 11:50"),
        ("in two hours", "22 12:20"),
        ("in twenty-five minutes", "22 10:45"),
        ("in 2 hours and 10 minutes", "22 12:30"),
        ("give me ten minutes", "22 10:30"),
        ("a couple of hours from now", "22 12:20"),
        ("ten minutes", "22 10:30"),
        ("in three days at noon", "25 12:00"),
        ("in a week", "29 10:00"),
    ] {
        assert_eq!(meant(text).as_deref(), Some(expected), "{text}");
    }
}

#[test]
fn clocks_and_days_mean_the_next_plausible_time() {
    for (text, expected) in [
        ("at 15:30", "22 15:30"),
        ("at 09:30", "23 9:30"),
        ("at half past four", "22 16:30"),
        ("half four", "22 16:30"),
        ("at quarter to five", "22 16:45"),
        ("a quarter past eleven", "22 11:15"),
        ("ten past three", "22 15:10"),
        ("at three", "22 15:00"),
        ("at nine", "23 9:00"),
        ("at 3pm", "22 15:00"),
        ("3:45 p.m.", "22 15:45"),
        ("at seven a.m.", "23 7:00"),
        ("five o'clock", "22 17:00"),
        ("at four thirty", "22 16:30"),
        ("at twelve", "22 12:00"),
        ("at noon tomorrow", "23 12:00"),
        ("tomorrow at three", "23 15:00"),
        ("tomorrow", "23 10:00"),
        ("tomorrow morning", "23 9:00"),
        ("tomorrow morning at eight", "23 8:00"),
        ("tomorrow evening at eight", "23 20:00"),
        ("this afternoon", "22 14:00"),
        ("this evening at seven", "22 19:00"),
        ("tonight", "22 18:00"),
        ("in the morning", "23 9:00"),
        ("on Monday morning", "23 9:00"),
        ("on Sunday", "29 10:00"),
        ("on Tuesday at ten", "24 10:00"),
        ("next week on Tuesday", "24 10:00"),
        ("next week", "29 10:00"),
        ("the day after tomorrow at 14:15", "24 14:15"),
        ("after work", "22 18:00"),
        ("1630", "22 16:30"),
        ("four", "22 16:00"),
        ("2026-11-25T15:30", "25 15:30"),
        ("2026-11-25 15:30:59", "25 15:30"),
        ("2026-11-25T15:30:00Z", "25 16:30"),
        ("2026-11-25T15:30:00-05:00", "25 21:30"),
    ] {
        assert_eq!(meant(text).as_deref(), Some(expected), "{text}");
    }
}

#[test]
fn what_has_passed_today_is_tomorrow_unless_today_was_said() {
    assert_eq!(meant_at("at three", 16, 0).as_deref(), Some("23 15:00"));
    assert_eq!(meant_at("at eight", 15, 0).as_deref(), Some("22 20:00"));
    assert_eq!(meant_at("at eight", 20, 30).as_deref(), Some("23 8:00"));
    assert_eq!(
        meant_at("today at ten", 15, 0).as_deref(),
        Some("22 22:00"),
        "the only one left"
    );
    assert_eq!(meant_at("today at noon", 15, 0), None);
    assert_eq!(meant_at("this morning", 15, 0), None);
    assert_eq!(meant_at("at 15:00", 15, 0).as_deref(), Some("23 15:00"));
}

#[test]
fn a_time_too_far_or_in_the_past_is_none() {
    for text in [
        "in 31 days",
        "in six weeks",
        "in 0 minutes",
        "2026-11-21T15:30",
        "2027-01-01T09:00:00Z",
    ] {
        assert_eq!(meant(text), None, "{text}");
    }
    assert_eq!(meant("in 29 days").as_deref(), Some("21 10:00"));
}

#[test]
fn what_is_no_time_is_none() {
    for text in [
        "",
        "later",
        "I don't know",
        "good morning",
        "good evening",
        "two hours ago",
        "I have been waiting for ten minutes",
        "at 25:00",
        "at 12:60",
        "call me on my mobile",
    ] {
        assert_eq!(parse(text), None, "{text}");
    }
    // An unmarked time counts only in an answer to "when?".
    for text in ["I have two children", "ten minutes", "three", "I am thirty five"] {
        assert_eq!(parse(text), None, "{text}");
    }
    for text in ["call me at five five five", "the 3rd", "555 0100"] {
        assert_eq!(parse_answer(text), None, "{text}");
    }
}

#[test]
fn a_time_is_said_back_in_short_words() {
    for (text, expected) in [
        ("in ten minutes", "in 10 minutes"),
        ("in an hour", "in 1 hour"),
        ("in an hour and a half", "in 1 hour and 30 minutes"),
        ("tomorrow at three", "tomorrow at 3"),
        ("at half past four", "at 4:30"),
        ("at 15:30", "at 15:30"),
        ("on Monday morning", "on Monday in the morning"),
        ("next week on Tuesday", "next week on Tuesday"),
        ("today at noon", "today at noon"),
        ("2026-12-01T15:30", "on December 1 at 15:30"),
    ] {
        assert_eq!(parse_answer(text).unwrap().to_string(), expected, "{text}");
    }
}

/// Generates times whose spoken form must be understood as the same time.
fn spoken() -> impl Strategy<Value = SpokenTime> {
    let weekday = (0_u8..7).prop_map(|n| Weekday::try_from(n).unwrap());
    let day = prop_oneof![
        (1_u32..30).prop_map(Day::In),
        weekday.clone().prop_map(Day::Next),
        weekday.prop_map(Day::NextWeek),
    ];
    let part = prop_oneof![Just(Part::Morning), Just(Part::Afternoon), Just(Part::Evening)];
    let time = prop_oneof![
        (1_u32..13, 0_u32..60).prop_map(|(hour, minute)| TimeOfDay::Face { hour, minute }),
        (13_u32..24, 0_u32..60).prop_map(|(hour, minute)| TimeOfDay::Clock { hour, minute }),
        Just(TimeOfDay::Clock { hour: 12, minute: 0 }),
        part.prop_map(TimeOfDay::Part),
    ];
    prop_oneof![
        (1_u32..24 * 60).prop_map(SpokenTime::After),
        (day.clone(), time.clone()).prop_map(|(day, time)| SpokenTime::On(day, time)),
        day.prop_map(|day| SpokenTime::On(day, TimeOfDay::Open)),
        time.prop_map(|time| SpokenTime::On(Day::Open, time)),
    ]
}

proptest! {
    #[test]
    fn what_is_said_back_means_the_same(time in spoken()) {
        let text = time.to_string();
        prop_assert_eq!(parse(&text), Some(time), "{}", text);
        let polite = format!("Well, could you perhaps try {text}, please?");
        prop_assert_eq!(parse(&polite), Some(time), "{}", polite);
    }

    #[test]
    fn any_words_are_read_without_a_panic_and_mean_a_time_ahead(
        text in "([a-z0-9:.' ]|half |past |to |at |in |minutes |tomorrow |monday |pm |\\PC){0,24}",
        zone in proptest::sample::select(chrono_tz::TZ_VARIANTS.to_vec()),
        now in 1_700_000_000_i64..2_100_000_000,
    ) {
        let now = Timestamp(now * 1_000_000);
        if let Some(instant) = parse_answer(&text).and_then(|time| time.instant(now, zone)) {
            prop_assert!(instant > now && instant <= now.plus(LONGEST), "{text}");
        }
    }

    /// In every zone and at every change of its clocks, the wall clock shows the time that was said, or the
    /// first time after the gap that skips it.
    #[test]
    fn a_time_of_the_day_is_what_the_clock_on_the_wall_shows(
        time in spoken(),
        zone in proptest::sample::select(chrono_tz::TZ_VARIANTS.to_vec()),
        now in 1_700_000_000_i64..2_100_000_000,
    ) {
        let now = Timestamp(now * 1_000_000);
        let (SpokenTime::On(day, said), Some(instant)) = (time, time.instant(now, zone)) else {
            return Ok(());
        };
        let local = crate::schedule::local(instant, zone);
        let today = crate::schedule::local(now, zone).date();
        let dates: Vec<_> = day.dates(today).collect();
        let meant: Vec<_> = dates.iter().flat_map(|date| said.on(*date)).map(|(local, _)| local).collect();
        let exact = meant.contains(&local);
        let after_a_gap = meant.iter().any(|meant| {
            zone.from_local_datetime(meant).earliest().is_none() && crate::schedule::first_instant(zone, *meant) == instant
        });
        prop_assert!(exact || after_a_gap, "{time}: {local} of {meant:?} in {zone}");
    }
}
