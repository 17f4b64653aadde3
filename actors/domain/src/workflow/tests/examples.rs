//! The examples of the documentation are saved without a finding, and callers of each kind come to the right end.

use std::{fs, path::PathBuf};

use serde_json::{Value, json};

use super::*;
use crate::agent::validate_create;

pub(super) fn example(name: &str) -> Value {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("../../docs/examples/workflows/{name}.json"));
    let workflow: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    let agent = json!({ "name": "A", "conversationConfig": { "agent": { "prompt": { "prompt": "x" } } }, "workflow": workflow });
    validate_create(&agent).unwrap();
    assert_eq!(findings(&read(&workflow), &Known::default()), Vec::new(), "{name}");
    assert_eq!(judge::unjudged(&read(&workflow)), [""; 0], "{name}");
    workflow
}

#[test]
fn callers_of_each_example_come_to_the_right_end_without_a_model() {
    for (name, turns, nodes) in [
        (
            "qualification",
            vec!["Yes, tell me more.", "About eighty."],
            vec!["size", "large", "qualified"],
        ),
        (
            "qualification",
            vec!["Sure.", "We are twelve people."],
            vec!["size", "small", "qualified"],
        ),
        (
            "qualification",
            vec!["No, thank you."],
            vec!["not_now", "not_interested"],
        ),
        (
            "qualification",
            vec!["Yes.", "Well, who knows?", "Fifty."],
            vec!["size", "large", "qualified"],
        ),
        (
            "appointment",
            vec!["Tuesday please.", "In the morning.", "Yes."],
            vec!["time", "confirm", "booked", "end"],
        ),
        (
            "appointment",
            vec![
                "Friday.",
                "In the afternoon.",
                "No.",
                "Monday.",
                "In the morning.",
                "Yes.",
            ],
            vec!["time", "confirm", "day", "time", "confirm", "booked", "end"],
        ),
        (
            "survey",
            vec!["Nine.", "Yes."],
            vec!["recommend", "count", "happy", "end"],
        ),
        (
            "survey",
            vec!["Nine.", "No."],
            vec!["recommend", "count", "unhappy", "end"],
        ),
        (
            "survey",
            vec!["Hm.", "Three.", "Yes."],
            vec!["recommend", "count", "unhappy", "end"],
        ),
        ("reception", vec!["I would like an offer."], vec!["sales"]),
        ("reception", vec!["My router is broken."], vec!["support"]),
        (
            "reception",
            vec!["What are your opening hours?", "There is a question about my invoice."],
            vec!["hours", "desk", "billing"],
        ),
        (
            "reception",
            vec!["Good morning.", "Can I speak to a human, please?"],
            vec!["person"],
        ),
    ] {
        let mut call = Call::new(&example(name));
        call.take(&Input::Begin);
        let mut path = Vec::new();
        let mut step = Step::Wait;
        for said in &turns {
            let (reached, next) = call.hear(said);
            path.extend(reached);
            step = next;
            while matches!(step, Step::Say { .. }) {
                let (reached, next) = call.take(&Input::Spoken);
                path.extend(reached);
                step = next;
            }
        }
        let reached: Vec<&str> = path.iter().filter_map(|hop| hop.split('>').nth(1)).collect();
        assert_eq!(reached, nodes, "{name}: {turns:?}");
        assert!(
            matches!(step, Step::End { .. } | Step::Transfer { .. }),
            "{name}: {turns:?} {step:?}"
        );
    }
}
