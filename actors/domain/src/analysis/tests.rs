//! Analyses of whole calls.

use proptest::{collection::vec, prelude::*};

use super::*;
use crate::ports::{language_model::Speaker, store::SentimentLabel};

/// Builds a call from lines `A: …` (the agent), `A! …` (cut short) and `U: …`, one every five seconds.
pub(super) fn call(lines: &[&str]) -> Vec<TurnFact> {
    let turn = |(index, line): (i64, &&str)| TurnFact {
        seq: index,
        speaker: if line.starts_with('A') {
            Speaker::Agent
        } else {
            Speaker::User
        },
        text: line[3..].to_owned(),
        started_ms: index * 5000,
        ended_ms: index * 5000 + 4000,
        interrupted: line.starts_with("A!"),
        damaged: false,
        detail: Default::default(),
    };
    (0..).zip(lines).map(turn).collect()
}

fn answered<'a>(collected: &'a BTreeMap<String, String>) -> AnalysisInput<'a> {
    AnalysisInput {
        agent_name: "Garage Nord",
        collected,
        answered: true,
        voicemail: false,
        cancelled: false,
        transferred: false,
        handed_over: false,
        error: None,
    }
}

fn nothing() -> BTreeMap<String, String> {
    BTreeMap::new()
}

/// Returns `label mm:ss` of each moment.
fn moments(analysis: &Analysis) -> Vec<String> {
    let moments = analysis.key_moments.iter();
    moments
        .map(|moment| format!("{} {}", moment.label, moment.timestamp))
        .collect()
}

#[test]
fn a_call_that_collects_data_is_summed_up_by_it() {
    let turns = call(&[
        "A: Hello, this is Garage Nord.",
        "U: Hello?",
        "A: What is your full name?",
        "U: Ada Lovelace",
        "A! Thank you. What is your preferred",
        "U: Tuesday would be wonderful, thank you.",
        "A: Thank you, that's everything. Goodbye!",
    ]);
    let collected = BTreeMap::from([("day".into(), "Tuesday".into()), ("name".into(), "Ada Lovelace".into())]);
    let analysis = analyse(&turns, answered(&collected));
    assert_eq!(
        analysis.summary,
        r#"Garage Nord collected day "Tuesday", name "Ada Lovelace"."#
    );
    assert_eq!(
        moments(&analysis),
        [
            "first_answer 00:15",
            "data_collected 00:15",
            "interruption 00:20",
            "data_collected 00:25",
            "goodbye 00:30"
        ]
    );
    assert_eq!(analysis.key_moments[0].text, "Ada Lovelace");
    assert_eq!(analysis.sentiment.sentiment_overall, SentimentLabel::Positive);
    let labels = analysis
        .sentiment
        .sentiment_by_turn
        .iter()
        .map(|turn| turn.sentiment_label);
    assert_eq!(
        labels.skip(3).take(3).collect::<Vec<_>>(),
        [
            SentimentLabel::Neutral,
            SentimentLabel::Positive,
            SentimentLabel::Positive
        ]
    );
}

#[test]
fn what_the_user_wants_stands_in_the_summary() {
    for (said, label, summary) in [
        (
            "Please don't call me again",
            "opt_out",
            "The user asked not to be called again.",
        ),
        (
            "Call me back tomorrow",
            "call_back_requested",
            "The user asked to be called at another time.",
        ),
        (
            "You have the wrong number",
            "wrong_number",
            "The user said it was the wrong number.",
        ),
        (
            "This is ridiculous",
            "objection",
            "The user objected: \"This is ridiculous\"",
        ),
        (
            "I am not interested",
            "objection",
            "The user objected: \"I am not interested\"",
        ),
        (
            "I hate this horrible, awful call",
            "objection",
            "The user objected: \"I hate this horrible, awful call\"",
        ),
    ] {
        let analysis = analyse(&call(&["A: Hello.", &format!("U: {said}")]), answered(&nothing()));
        assert_eq!(
            analysis.summary,
            format!("Garage Nord spoke with the user; no data was collected. {summary}")
        );
        assert_eq!(moments(&analysis), [format!("{label} 00:05")]);
    }
}

#[test]
fn without_data_the_weightiest_words_are_quoted() {
    let turns = call(&[
        "A: How can I help you?",
        "U: Hello there",
        "U: My winter tyres need changing",
        "A: Which tyres?",
        "U: Winter",
    ]);
    let summary = analyse(&turns, answered(&nothing())).summary;
    assert!(
        summary.ends_with("The user said: \"My winter tyres need changing\""),
        "{summary}"
    );
    let equals = call(&["U: Flat tyres", "U: Worn brakes"]);
    let summary = analyse(&equals, answered(&nothing())).summary;
    assert!(summary.ends_with("\"Flat tyres\""), "of equals the first: {summary}");
    let long = format!("U: {}", "tyres ".repeat(100));
    let summary = analyse(&call(&[&long]), answered(&nothing())).summary;
    assert!(summary.len() < 250 && summary.ends_with("tyres…\""), "{summary}");
}

#[test]
fn calls_that_reached_nobody_have_one_line() {
    let empty = nothing();
    let unanswered = |error, cancelled| AnalysisInput {
        answered: false,
        error,
        cancelled,
        ..answered(&empty)
    };
    for (input, summary) in [
        (unanswered(Some("busy"), false), "Not reached: busy."),
        (unanswered(Some("no-answer"), false), "Not reached: no answer."),
        (
            unanswered(Some("carrier-error: 503"), false),
            "Not reached: carrier-error: 503.",
        ),
        (unanswered(None, false), "Not reached."),
        (unanswered(None, true), "Cancelled before it was answered."),
        (
            unanswered(Some("do-not-call"), true),
            "Not called: the number is on the do-not-call list.",
        ),
        (
            AnalysisInput {
                voicemail: true,
                ..answered(&empty)
            },
            "Reached voicemail; no message was left.",
        ),
        (answered(&empty), "The call was answered, but the user said nothing."),
        (
            AnalysisInput {
                error: Some("media-lost"),
                ..answered(&empty)
            },
            "The call was answered, but the user said nothing. The call broke off: media-lost.",
        ),
    ] {
        let analysis = analyse(&[], input);
        assert_eq!(analysis.summary, summary);
        assert_eq!(analysis.sentiment.sentiment_overall, SentimentLabel::Neutral);
        assert!(analysis.key_moments.is_empty());
    }
}

#[test]
fn a_machine_has_no_mood_and_no_wishes() {
    let turns = call(&[
        "U: Sorry, I hate to miss you. Don't call again!",
        "A: This is Garage Nord.",
    ]);
    let analysis = analyse(
        &turns,
        AnalysisInput {
            voicemail: true,
            ..answered(&nothing())
        },
    );
    assert_eq!(analysis.summary, "Reached voicemail; a message was left.");
    assert_eq!(analysis.sentiment.sentiment_overall, SentimentLabel::Neutral);
    assert!(analysis.key_moments.is_empty());
}

#[test]
fn mood_is_the_users_not_the_agents() {
    let overall = |lines: &[&str]| analyse(&call(lines), answered(&nothing())).sentiment.sentiment_overall;
    assert_eq!(
        overall(&["A: Wonderful, great, excellent!", "U: This is awful."]),
        SentimentLabel::Negative
    );
    assert_eq!(
        overall(&["A: This is awful.", "U: I love it."]),
        SentimentLabel::Positive
    );
    assert_eq!(
        overall(&["A: Do you own a car?", "U: No, I don\u{2019}t."]),
        SentimentLabel::Neutral
    );
}

#[test]
fn timestamps_are_minutes_and_seconds() {
    let mut turns = call(&["A: Goodbye."]);
    turns[0].started_ms = 125_999;
    assert_eq!(moments(&analyse(&turns, answered(&nothing()))), ["goodbye 02:05"]);
}

#[test]
fn a_person_was_not_reached_only_if_somebody_asked_and_nobody_took_over() {
    let issue = "the user asked for a person and was not put through".to_owned();
    for (words, handed_over, expected) in [
        ("Can I speak to somebody, please?", false, true),
        ("Can I speak to somebody, please?", true, false),
        ("To speak to somebody, press 0.", false, false),
        ("For sales press one. To speak to an agent, press nine.", false, false),
        ("Say agent to speak to a representative or press star.", false, false),
    ] {
        let turns = call(&["A: Hello, this is Garage Nord.", &format!("U: {words}")]);
        let empty = nothing();
        let input = AnalysisInput {
            handed_over,
            ..answered(&empty)
        };
        let issues = analyse(&turns, input).issues;
        assert_eq!(issues.contains(&issue), expected, "{words}: {issues:?}");
    }
}

#[test]
fn a_yes_to_the_question_whether_they_opt_out_is_that_moment() {
    for (asked, answer, expected) in [
        ("Do you want us never to call you again?", "Yes, please.", true),
        ("M\u{f6}chten Sie, dass wir Sie nie wieder anrufen?", "Ja.", true),
        ("Do you want us never to call you again?", "No, go on.", false),
        ("Do you own a car?", "Yes.", false),
    ] {
        let turns = call(&[
            "U: I am fed up with calls.",
            &format!("A: {asked}"),
            &format!("U: {answer}"),
        ]);
        let found = moments(&analyse(&turns, answered(&nothing())));
        assert_eq!(
            found.contains(&"opt_out 00:10".to_owned()),
            expected,
            "{answer}: {found:?}"
        );
    }
}

proptest! {
    #[test]
    fn any_call_is_analysed_within_bounds(texts in vec(("[AU]", "\\PC{0,60}", any::<i64>()), 0..12), value in "\\PC{0,10}") {
        let turns: Vec<TurnFact> = (0..).zip(&texts).map(|(seq, (speaker, text, started_ms))| TurnFact {
            seq,
            speaker: if speaker == "A" { Speaker::Agent } else { Speaker::User },
            text: text.clone(),
            started_ms: *started_ms,
            ended_ms: *started_ms,
            interrupted: false,
            damaged: false, detail: Default::default(),
        }).collect();
        let collected = BTreeMap::from([("x".into(), value)]);
        let analysis = analyse(&turns, answered(&collected));
        prop_assert!((-1.0..=1.0).contains(&analysis.sentiment.sentiment_score));
        prop_assert_eq!(analysis.sentiment.sentiment_by_turn.len(), turns.len());
        prop_assert!(!analysis.summary.is_empty() && analysis.summary.chars().count() < 800);
        prop_assert_eq!(analyse(&turns, answered(&collected)), analysis);
    }
}
