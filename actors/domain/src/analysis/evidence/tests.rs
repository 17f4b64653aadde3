//! Cases of values with and without evidence.

use chrono::NaiveDate;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::{agent::Entity, analysis::tests::call};

/// Returns the number of the turn in which a value of a kind was said in a call on Thursday, 1 January 2026.
fn evidence(language: &str, kind: &str, value: &str, lines: &str, quote: Option<&str>) -> Option<i64> {
    let agent = json!({ "conversationConfig": { "agent": { "primaryLanguage": language } } });
    let agent: Agent = serde_json::from_value(agent).unwrap();
    let (kind, description) = kind.split_once(' ').unwrap_or((kind, ""));
    let entity = Entity {
        kind: serde_json::from_value(json!(kind)).unwrap(),
        description: description.to_owned(),
        allowed: Vec::new(),
    };
    let (turns, today) = (
        call(&lines.split(" / ").collect::<Vec<_>>()),
        NaiveDate::from_ymd_opt(2026, 1, 1).unwrap(),
    );
    let sought = Sought::of("it", Some(&entity), value);
    let found = Record::of(turns.iter().map(Line::from), &agent, today).evidence(sought, quote);
    found.map(|found| found.turn)
}

/// Each line of `cases.txt` has `+` or `-` for confirmed or not, the agent's language, the entity's type and
/// description, the value, the call, and a quote if there is one.
#[test]
fn values_are_confirmed_if_the_callee_said_or_affirmed_them() {
    let cases = include_str!("cases.txt").lines();
    let cases = cases.filter(|line| !line.is_empty() && !line.starts_with('#'));
    let wrong = |line: &&str| {
        let (mark, case) = line.split_at(2);
        let cells: Vec<&str> = case.split(" | ").collect();
        let found = evidence(cells[0], cells[1], cells[2], cells[3], cells.get(4).copied());
        found.is_some() != (mark == "+ ")
    };
    let wrong: Vec<&str> = cases.filter(wrong).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_quote_must_be_from_the_turn_with_the_value() {
    let lines = "A: Hello, how many people come? / U: Hello. / A: How many? / U: Well, we are four people. / \
                 A: So four? / U: Yes.";
    for (quote, turn) in [
        ("we are four people", Some(3)),
        ("We're 4 people", Some(3)),
        ("Yes.", Some(5)),
        ("So four?", Some(5)),
        ("hello", None),
        ("How many people come?", None),
        ("You are a helpful assistant.", None),
        ("", None),
    ] {
        assert_eq!(evidence("en", "integer", "4", lines, Some(quote)), turn, "{quote}");
    }
    let spread = "A: Phone? / U: My number is 823 / A: Mm-hm. / U: 151 9126";
    for quote in ["My number is 823", "151 9126"] {
        let found = evidence("en", "string", "8231519126", spread, Some(quote));
        assert_eq!(found, Some(3), "{quote}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_words_are_read_without_panic(
        said in "([a-z0-9:.,/ ']|half |four |next |hundred |monday |double |am |\\PC){0,24}",
        value in "[0-9]{1,12}|[0-9:.T-]{1,16}|\\PC{0,8}",
        language in proptest::sample::select(vec!["en", "de", "es", "fr", "hi", "it", "nl", "xx"]),
        kind in proptest::sample::select(vec!["string", "integer", "boolean"]),
    ) {
        let lines = format!("A: {said}? / U: {said} / U: {value}");
        let _ = evidence(language, kind, &value, &lines, Some(&said));
    }
}
