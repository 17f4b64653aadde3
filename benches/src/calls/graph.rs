//! Conversation graph of the agent: four nodes that ask on, between which the model chooses after each turn.

use serde_json::{Value, json};

/// Returns the graph. Answers of the phones lead from node to node, most of them nowhere.
pub fn workflow() -> Value {
    let talks =
        |label: &str, prompt: &str| json!({ "type": "override_agent", "label": label, "additionalPrompt": prompt });
    let judged = |source: &str, target: &str, condition: &str| {
        json!({
            "source": source, "target": target, "forwardCondition": { "type": "llm", "condition": condition },
        })
    };
    json!({
        "nodes": {
            "start": { "type": "start" },
            "person": talks("Person", "Get to know the person."),
            "visit": talks("Visit", "Be brief, a visit is being planned."),
            "home": talks("Home", "Be friendly, this is about the person's home."),
            "complaint": talks("Complaint", "Apologise first."),
        },
        "edges": {
            "begin": { "source": "start", "target": "person" },
            "to_visit": judged("person", "visit", "The caller chooses Monday, Tuesday or Friday"),
            "to_home": judged("visit", "home", "The caller lives in Springfield, Riverside or Fairview"),
            "to_person": judged("home", "person", "The caller comes in the morning or the evening"),
            "from_person": judged("person", "complaint", "The caller complains about a defect"),
            "from_visit": judged("visit", "complaint", "The caller complains about a delay"),
            "from_home": judged("home", "complaint", "The caller complains about the noise"),
        },
    })
}

/// Returns the number of moves in these conversations, without those that begin them.
pub fn moves(conversations: &[Value]) -> usize {
    let nodes = |one: &Value| one["workflowPath"].as_array().map_or(0, Vec::len);
    let moves = conversations.iter().map(|one| nodes(one).saturating_sub(2));
    moves.sum()
}
