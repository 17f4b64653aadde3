//! The demo with another voice than babble. The simulated phones do not understand its words, so they follow
//! a script and answer whenever the agent has finished.

use std::collections::BTreeMap;

use sim::exchange::{Script, Step};

/// Names and answers of the callees: preferred day, first visit.
const CALLEES: [[&str; 3]; 3] = [
    ["Maria Lopez", "On Friday.", "Yes."],
    ["James Carter", "Next Tuesday.", "No, I have been there before."],
    ["Aisha Khan", "Monday would be good.", "Yes, it is."],
];

/// Returns the callees' contacts.
pub fn contacts() -> String {
    let rows = CALLEES
        .iter()
        .enumerate()
        .map(|(n, [name, ..])| format!("+1555010001{n},{name},cooperative,{}", script_name(n)));
    std::iter::once("phone,name,persona,script".to_owned())
        .chain(rows)
        .collect::<Vec<_>>()
        .join("\n")
}

/// Returns the phones' scripts.
pub fn scripts() -> BTreeMap<String, Script> {
    let script = |[_, day, first]: &[&str; 3]| {
        let mut steps = vec![Step::WaitMs(500), Step::Say("Hello, who is this?".into())];
        for answer in ["Okay.", day, first, "Thank you, goodbye."] {
            steps.push(Step::UntilAgentSaid);
            steps.push(Step::WaitMs(150));
            steps.push(Step::Say(answer.into()));
        }
        steps.push(Step::WaitMs(3_000));
        steps.push(Step::HangUp);
        Script::of(steps)
    };
    let named = CALLEES.iter().enumerate();
    named.map(|(n, callee)| (script_name(n), script(callee))).collect()
}

fn script_name(n: usize) -> String {
    format!("patient-{}", n + 1)
}
