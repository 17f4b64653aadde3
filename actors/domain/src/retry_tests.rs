//! Tests of retries and follow-ups.

use super::*;
use crate::ports::store::ScheduleText;

const NOW: Timestamp = Timestamp(1_780_300_800_000_000); // 2026-06-01T08:00:00Z

fn outcome(status: ConversationStatus, error: Option<&str>, voicemail: bool) -> Outcome {
    Outcome {
        status,
        error: error.map(str::to_owned),
        voicemail,
        transferred: false,
        collected: Default::default(),
        times: Default::default(),
        facts_follow: false,
        refusal: None,
    }
}

fn failed(error: &str) -> Outcome {
    outcome(ConversationStatus::Failed, Some(error), false)
}

fn rules() -> RetryRules {
    RetryRules {
        retry_count: 2,
        retry_delay_min: 5,
        follow_up: FollowUp {
            enabled: true,
            attempts: 2,
            intervals_minutes: vec![60, 120],
        },
        schedule: None,
        zone: Tz::UTC,
    }
}

/// Returns kinds and minutes of all attempts that follow if each one ends with this outcome.
fn series(rules: &RetryRules, outcome: &Outcome) -> Vec<(AttemptKind, i64)> {
    let mut tries = Tries::default();
    let mut all = Vec::new();
    while let Some(next) = next_attempt(rules, tries, outcome, NOW) {
        all.push((next.kind, (next.due_at.0 - NOW.0) / 60_000_000));
        tries = tries.next(next.kind);
        assert!(all.len() < 50, "it never ends");
    }
    all
}

#[test]
fn retries_come_first_and_count_anew_in_each_follow_up() {
    let retry = (AttemptKind::Retry, 5);
    let (first, second) = ((AttemptKind::FollowUp, 60), (AttemptKind::FollowUp, 120));
    let all = [retry, retry, first, retry, retry, second, retry, retry];
    for error in ["busy", "no-answer", "carrier-error: 503 from the carrier"] {
        assert_eq!(series(&rules(), &failed(error)), all, "{error}");
    }
    for error in ["rejected", "media-lost", "agent-error: call crashed"] {
        assert_eq!(series(&rules(), &failed(error)), [first, second], "{error}");
    }
    let voicemail = outcome(ConversationStatus::Completed, None, true);
    assert_eq!(series(&rules(), &voicemail), [first, second]);
}

#[test]
fn nothing_follows_what_is_settled() {
    for settled in [
        failed("invalid-number"),
        failed(UNKNOWN_OUTCOME),
        failed(&format!("{UNKNOWN_OUTCOME}, no call found")),
        outcome(ConversationStatus::Completed, None, false),
        outcome(ConversationStatus::Cancelled, None, false),
        outcome(ConversationStatus::Cancelled, Some("do-not-call"), false),
    ] {
        assert!(!may_be_followed(&settled));
        assert_eq!(series(&rules(), &settled), [], "{settled:?}");
    }
}

#[test]
fn without_rules_nothing_follows() {
    assert_eq!(series(&RetryRules::default(), &failed("busy")), []);
    let off = RetryRules {
        follow_up: FollowUp {
            enabled: false,
            ..rules().follow_up
        },
        ..rules()
    };
    assert_eq!(series(&off, &failed("rejected")), []);
    assert_eq!(series(&off, &failed("busy")).len(), 2);
}

#[test]
fn due_times_are_moved_into_the_window() {
    let text = ScheduleText {
        start_time: Some("08:00".into()),
        end_time: Some("08:30".into()),
        timezone: Some("UTC".into()),
    };
    let schedule = Schedule::parse(&text).unwrap().unwrap();
    let rules = RetryRules {
        schedule: Some((schedule, NOW)),
        ..rules()
    };
    let day = 24 * 60;
    let (retry, at_once) = ((AttemptKind::Retry, 5), (AttemptKind::FollowUp, day));
    assert_eq!(
        series(&rules, &failed("busy")),
        [retry, retry, at_once, retry, retry, at_once, retry, retry]
    );
    // At its very end the window is already closed.
    let edge = Timestamp(NOW.0 + 25 * 60_000_000);
    let next = next_attempt(&rules, Tries::default(), &failed("busy"), edge).unwrap();
    assert_eq!(next.due_at, Timestamp(NOW.0 + day * 60_000_000));
}

fn wish(text: &str) -> CallBackWish {
    CallBackWish {
        time: crate::callback_time::parse_answer(text).unwrap(),
        said_at: NOW,
    }
}

#[test]
fn a_wish_is_read_back_as_it_was_written() {
    for text in [
        "in ten minutes",
        "at three",
        "tomorrow at 15:30",
        "on Monday morning",
        "2026-01-07T09:30",
        "2026-01-07T09:30:00Z",
    ] {
        let wish = wish(text);
        let written = serde_json::to_string(&wish).unwrap();
        assert_eq!(
            serde_json::from_str::<CallBackWish>(&written).unwrap(),
            wish,
            "{written}"
        );
    }
}

#[test]
fn a_call_back_is_due_at_its_time_or_at_the_next_opening() {
    let due_min = |rules: &RetryRules, text| {
        let next = call_back(rules, wish(text), Timestamp(NOW.0 + 3_000_000)).unwrap();
        assert_eq!(next.kind, AttemptKind::CallBack);
        (next.due_at.0 - NOW.0) / 60_000_000
    };
    let open = RetryRules {
        zone: Tz::Europe__Berlin,
        ..rules()
    };
    assert_eq!(due_min(&open, "in ten minutes"), 10);
    // It is ten in Berlin.
    assert_eq!(due_min(&open, "at three"), 5 * 60);
    let text = ScheduleText {
        start_time: Some("09:00".into()),
        end_time: Some("12:00".into()),
        timezone: Some("Europe/Berlin".into()),
    };
    let windowed = RetryRules {
        schedule: Schedule::parse(&text).unwrap().map(|schedule| (schedule, NOW)),
        ..open
    };
    assert_eq!(due_min(&windowed, "in ten minutes"), 10);
    assert_eq!(due_min(&windowed, "at three"), 23 * 60, "the next morning");
    let late = CallBackWish {
        time: SpokenTime::After(31 * 24 * 60),
        said_at: NOW,
    };
    assert_eq!(call_back(&windowed, late, NOW), None);
}

#[test]
fn a_person_is_called_back_a_few_times_and_a_machine_never() {
    let talked = outcome(ConversationStatus::Completed, None, false);
    let tries = |call_backs| Tries {
        call_backs,
        ..Tries::default()
    };
    assert!(may_be_called_back(tries(0), &talked));
    assert!(may_be_called_back(tries(MOST_CALL_BACKS - 1), &failed("media-lost")));
    assert!(!may_be_called_back(tries(MOST_CALL_BACKS), &talked));
    assert!(!may_be_called_back(
        tries(0),
        &outcome(ConversationStatus::Completed, None, true)
    ));
    assert!(!may_be_called_back(
        tries(0),
        &outcome(ConversationStatus::Cancelled, None, false)
    ));
}
