//! Judgements of several rules together.

use chrono::{DateTime, Utc};

use super::*;
use crate::safeguards::{AllowedPrefixes, hours::CallingHours};

fn at(text: &str) -> Timestamp {
    text.parse::<DateTime<Utc>>().unwrap().into()
}

fn number() -> PhoneNumber {
    PhoneNumber::parse("+12125550100").unwrap()
}

/// Facts at midnight in New York.
fn facts(number: &PhoneNumber) -> PermitFacts<'_> {
    PermitFacts {
        number,
        now: at("2026-01-05T05:00:00Z"),
        number_free_at: None,
        calls_today: 0,
        dial_before: None,
    }
}

fn all(mode: Mode) -> Safeguards {
    Safeguards {
        calling_hours: CallingHours {
            mode,
            ..CallingHours::default()
        },
        calls_per_number: CallsPerNumber {
            mode,
            per_day: Some(1),
            per_week: Some(3),
        },
        allowed_prefixes: AllowedPrefixes {
            mode,
            prefixes: vec!["+1".into()],
        },
        daily_calls: DailyCalls {
            mode,
            limit: Some(10),
            ..DailyCalls::default()
        },
        live_listening: true,
    }
}

#[test]
fn nothing_is_said_while_all_is_off() {
    let number = number();
    let hard = PermitFacts {
        number_free_at: Some(at("2027-01-01T00:00:00Z")),
        calls_today: 99,
        ..facts(&number)
    };
    assert_eq!(all(Mode::Off).judge(&hard), Judgement::default());
    assert_eq!(all(Mode::Off).calls_per_number.windows().count(), 0);
}

#[test]
fn warnings_of_every_rule_are_noted_and_the_permit_is_given() {
    let rules = Safeguards {
        allowed_prefixes: AllowedPrefixes {
            mode: Mode::Warn,
            prefixes: vec!["+44".into()],
        },
        ..all(Mode::Warn)
    };
    let number = number();
    let hard = PermitFacts {
        number_free_at: Some(at("2026-01-06T00:00:00Z")),
        calls_today: 10,
        ..facts(&number)
    };
    let judgement = rules.judge(&hard);
    assert_eq!(judgement.refusal, None);
    let said: Vec<_> = judgement
        .notes
        .iter()
        .map(|note| (note.rule.as_str(), note.did))
        .collect();
    assert_eq!(
        said,
        [
            ("allowedPrefixes", "warned"),
            ("callsPerNumber", "warned"),
            ("callingHours", "warned"),
            ("dailyCalls", "warned")
        ]
    );
    assert!(
        judgement.notes[2]
            .fact()
            .detail
            .contains("08:00-21:00 in America/New_York")
    );
}

#[test]
fn what_has_to_wait_waits_for_all_rules_together() {
    let number = number();
    let now = all(Mode::Enforce).judge(&facts(&number));
    assert_eq!(now.refusal, Some(Refusal::PutOff(at("2026-01-05T13:00:00Z"))));
    // The number is free again at night, so the call waits until the morning after.
    let often = PermitFacts {
        number_free_at: Some(at("2026-01-06T04:00:00Z")),
        ..facts(&number)
    };
    let judgement = all(Mode::Enforce).judge(&often);
    assert_eq!(judgement.refusal, Some(Refusal::PutOff(at("2026-01-06T13:00:00Z"))));
    assert_eq!((judgement.notes.len(), judgement.notes[0].did), (1, "put_off"));
    // An attempt that waits anyway does not use up the day's calls.
    let full = PermitFacts {
        calls_today: 10,
        ..often
    };
    assert_eq!(all(Mode::Enforce).judge(&full).refusal, judgement.refusal);
}

#[test]
fn a_destination_that_is_not_allowed_is_refused_for_good() {
    let london = PhoneNumber::parse("+442079460000").unwrap();
    let Some(Refusal::NotAllowed(error)) = all(Mode::Enforce).judge(&facts(&london)).refusal else {
        panic!("not refused")
    };
    assert!(
        error.starts_with("not-allowed: ") && error.contains("allowedPrefixes"),
        "{error}"
    );
    // The same applies to a number whose location is unknown.
    let free = PhoneNumber::parse("+80012345678").unwrap();
    let mut rules = all(Mode::Enforce);
    rules.allowed_prefixes.mode = Mode::Off;
    let Some(Refusal::NotAllowed(error)) = rules.judge(&facts(&free)).refusal else {
        panic!("not refused")
    };
    assert!(error.contains("callingHours"), "{error}");
}

#[test]
fn the_days_calls_end_at_the_zones_midnight() {
    let rule = |zone: &str| DailyCalls {
        timezone: zone.to_owned(),
        ..all(Mode::Enforce).daily_calls
    };
    let now = at("2026-01-05T18:31:00Z");
    assert_eq!(day_start(&rule("UTC"), now), at("2026-01-05T00:00:00Z"));
    assert_eq!(day_start(&rule("Asia/Kolkata"), now), at("2026-01-05T18:30:00Z"));
    assert_eq!(day_end(&rule("Asia/Kolkata"), now), at("2026-01-06T18:30:00Z"));
    let number = number();
    let noon = PermitFacts {
        now: at("2026-01-05T17:00:00Z"),
        calls_today: 9,
        ..facts(&number)
    };
    assert_eq!(all(Mode::Enforce).judge(&noon), Judgement::default());
    let full = PermitFacts {
        calls_today: 10,
        ..noon
    };
    let Some(Refusal::DayUsedUp(why)) = all(Mode::Enforce).judge(&full).refusal else {
        panic!("given")
    };
    assert!(why.contains("2026-01-06T00:00:00Z"), "{why}");
}

#[test]
fn a_single_call_waits_no_longer_than_it_may() {
    let number = number();
    let mut single = PermitFacts {
        dial_before: Some(at("2026-01-05T13:00:01Z")),
        ..facts(&number)
    };
    let rules = all(Mode::Enforce);
    assert_eq!(
        rules.judge(&single).refusal,
        Some(Refusal::PutOff(at("2026-01-05T13:00:00Z")))
    );
    single.dial_before = Some(at("2026-01-05T13:00:00Z"));
    let Some(Refusal::NotAllowed(error)) = rules.judge(&single).refusal else {
        panic!("not refused")
    };
    assert!(error.contains("callingHours"), "{error}");
    // The day's calls are used up shortly before midnight, and long before it.
    let mut late = PermitFacts {
        now: at("2026-01-05T23:59:00Z"),
        calls_today: 10,
        dial_before: Some(at("2026-01-06T00:59:00Z")),
        ..facts(&number)
    };
    assert_eq!(
        rules.judge(&late).refusal,
        Some(Refusal::PutOff(at("2026-01-06T00:00:00Z")))
    );
    late.now = at("2026-01-05T17:00:00Z");
    late.dial_before = Some(at("2026-01-05T18:00:00Z"));
    assert!(matches!(rules.judge(&late).refusal, Some(Refusal::NotAllowed(_))));
}
