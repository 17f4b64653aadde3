//! Scores of calls made up for each definition, and checks of the suite's data.

use std::collections::BTreeSet;

use domain::time::Timestamp;

use super::*;
use crate::exchange::{LogEntry, LogEvent};

#[test]
fn there_are_sixty_conversations_with_names_of_their_own_and_a_known_end() {
    let all = all();
    assert!(all.len() >= 60, "{}", all.len());
    let names: BTreeSet<&str> = all.iter().map(|scenario| scenario.name.as_str()).collect();
    assert_eq!(names.len(), all.len());
    for scenario in &all {
        let last = scenario.expect.last().unwrap();
        assert!(last.starts_with("ended "), "{}: {last}", scenario.name);
        let known = ["agent: ", "agent (cut): ", "user: ", "paused", "resumed", "ended "];
        for line in &scenario.expect {
            assert!(
                known.iter().any(|start| line.starts_with(start)),
                "{}: {line}",
                scenario.name
            );
        }
    }
}

fn scenario(name: &str) -> Scenario {
    all().into_iter().find(|scenario| scenario.name == name).unwrap()
}

fn heard(text: &str, from_ms: u64, to_ms: u64) -> LogEvent {
    LogEvent::Heard {
        text: text.into(),
        from_ms,
        to_ms,
        whole: true,
    }
}

fn said(text: &str, from_ms: u64, to_ms: u64, over_agent: bool, aside: bool) -> LogEvent {
    LogEvent::Said {
        text: text.into(),
        from_ms,
        to_ms,
        over_agent,
        aside,
    }
}

fn cleared(at_ms: u64) -> LogEvent {
    LogEvent::Cleared {
        at_ms,
        unplayed_ms: 500,
    }
}

/// Returns the verdict on a call with these entries and this transcript.
fn verdict(name: &str, events: Vec<LogEvent>, transcript: &str) -> Verdict {
    let accepted = LogEvent::Accepted {
        attempt: "a".into(),
        to: "+15550400001".into(),
        from: None,
        persona: "cooperative".into(),
        unknown_persona: None,
        script: None,
        unknown_script: None,
    };
    let log: Vec<LogEntry> = std::iter::once(accepted)
        .chain(events)
        .map(|event| LogEntry {
            at: Timestamp(0),
            call_id: "CA1".into(),
            event,
        })
        .collect();
    let conversation = json!({ "status": "completed", "transcript": transcript });
    Verdict::of(&scenario(name), &Observed::of(&log, "+15550400001", &conversation))
}

#[test]
fn a_call_without_a_fault_has_dead_air_only() {
    let events = vec![
        heard("Which day?", 1_000, 2_000),
        said("It would be Friday.", 2_600, 4_000, false, false),
        heard("Goodbye!", 4_450, 5_000),
    ];
    let verdict = verdict(
        "pause-600",
        events,
        "Agent: Which day?\nUser: It would be Friday.\nAgent: Goodbye!",
    );
    assert_eq!(verdict.faults(), Vec::<String>::new());
    assert_eq!((verdict.turns, verdict.dead_air_ms), (1, vec![450]));
}

#[test]
fn an_agent_that_begins_in_a_pause_of_the_callee_cuts_it_off() {
    let events = vec![
        said("It would be Friday.", 2_600, 4_000, false, false),
        heard("Pardon?", 3_500, 4_200),
    ];
    let verdict = verdict("pause-600", events, "User: It would be\nAgent: Pardon?");
    assert_eq!((verdict.cut_offs, verdict.dead_air_ms.len()), (1, 0));
    assert_eq!(verdict.faults(), ["1 cut-offs"]);
}

#[test]
fn words_over_the_agent_need_a_clear_within_a_second_and_no_return() {
    let over = |extra: Vec<LogEvent>, heard_to: u64| {
        let mut events = vec![
            said("Could you say that again?", 3_000, 4_500, true, false),
            heard("Is this your first visit?", 2_000, heard_to),
        ];
        events.extend(extra);
        verdict("interrupt-1500", events, "Agent: Is this your first visit?")
    };
    assert_eq!(over(vec![], 4_800).missed_barge_ins, 1);
    assert_eq!(over(vec![cleared(4_100)], 4_200).missed_barge_ins, 1);
    assert_eq!(over(vec![], 3_300).missed_barge_ins, 0, "it had nearly ended");
    let stopped = over(vec![cleared(3_200)], 3_240);
    assert_eq!((stopped.barge_ins, stopped.missed_barge_ins), (1, 0));
    let back = LogEvent::Resumed {
        at_ms: 3_900,
        after_ms: 700,
    };
    assert_eq!(over(vec![cleared(3_200), back], 4_800).missed_barge_ins, 1);
}

#[test]
fn a_reply_that_a_murmur_drops_for_good_is_a_false_barge_in_and_a_slow_return_a_fault() {
    let murmured = |extra: Vec<LogEvent>, transcript: &str| {
        let mut events = vec![said("Mm-hm.", 3_000, 3_500, true, true), cleared(3_200)];
        events.extend(extra);
        verdict("mm-hm-middle", events, transcript)
    };
    let dropped = murmured(vec![heard("Is this", 2_000, 3_200)], "Agent: Is this");
    assert_eq!(dropped.faults(), ["1 false barge-ins"]);
    let resumed = |after_ms| {
        let resumed = LogEvent::Resumed {
            at_ms: 3_500 + after_ms,
            after_ms,
        };
        let extra = vec![resumed, heard("Is this your first visit?", 2_000, 5_000)];
        murmured(extra, "Agent: Is this your first visit?")
    };
    assert_eq!(resumed(200).faults(), Vec::<String>::new());
    assert_eq!(resumed(420).faults(), ["resumed after 420 ms"]);
}

#[test]
fn an_agent_that_stops_for_its_echo_is_told_from_one_that_stops_for_the_callee() {
    let stop = |events: Vec<LogEvent>| verdict("echo-16", events, "Agent: Is this your first visit?").echo_stops;
    assert_eq!(
        stop(vec![heard("Is this your first visit?", 2_000, 4_000), cleared(3_000)]),
        1
    );
    assert_eq!(
        stop(vec![said("Wait, please.", 2_900, 3_500, true, false), cleared(3_100)]),
        0
    );
}

#[test]
fn what_was_heard_is_compared_word_by_word() {
    let differing = |heard_text: &str, transcript: &str| {
        verdict("pause-600", vec![heard(heard_text, 0, 1_000)], transcript).heard_mismatch
    };
    assert_eq!(differing("Thank you. Is this", "Agent: Thank you.\nAgent: Is this"), 0);
    assert_eq!(differing("Thank you. Is th…", "Agent: Thank you. Is this"), 1);
    assert_eq!(
        differing(
            "Thank you. Is th… this your visit?",
            "Agent: Thank you. Is this your visit?"
        ),
        1
    );
    assert_eq!(differing("Thank you.", "Agent: Thank you. Is this your"), 3);
    assert_eq!(differing("One two three four", "Agent: One four"), 2);
}

#[test]
fn a_score_counts_scenarios_and_keeps_the_worst_mismatch() {
    let mut score = Score::default();
    let good = Verdict {
        turns: 2,
        dead_air_ms: vec![400, 600],
        ..Verdict::default()
    };
    let bad = Verdict {
        turns: 1,
        cut_offs: 1,
        heard_mismatch: 3,
        ..Verdict::default()
    };
    score.add(&scenario("pause-600"), good);
    score.add(&scenario("pause-800"), bad);
    let json = score.json();
    assert_eq!(
        (&json["scenarios"], &json["withoutFault"], &json["turns"]),
        (&json!(2), &json!(1), &json!(3))
    );
    assert_eq!(json["deadAirMs"]["p95"], 600.0);
    assert_eq!(json["faults"]["pause-800"][0], "1 cut-offs");
    assert_eq!(score.total.heard_mismatch, 3);
    assert!(!score.holds());
}
