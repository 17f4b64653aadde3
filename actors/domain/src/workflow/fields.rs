//! The fields of nodes, of edges and of the objects in them, and reports of those that have no effect.

use serde_json::Value;

use super::finding::Found;
use crate::suggestion::suggestion;

/// Fields of the official types that have no effect.
const WITHOUT_EFFECT: [&str; 10] = [
    "reroutes",
    "branchId",
    "preserveClientTtsOverrides",
    "preserveVoiceSettings",
    "textTranslations",
    "waitForSpeechCompletion",
    "sipReferPlayDialtone",
    "customSipHeaders",
    "uui",
    "postDialDigits",
];

const OF_EVERY_NODE: [&str; 6] = ["type", "label", "position", "edgeOrder", "extract", "global"];
const OF_EDGE: [&str; 4] = ["source", "target", "forwardCondition", "backwardCondition"];

/// Returns the further fields of a type of nodes; none if there is no such type.
fn of_node(kind: &str) -> Option<&'static [&'static str]> {
    let fields: &[&str] = match kind {
        "start" => &[],
        "end" => &["outcome"],
        "update_state" => &["updates"],
        "override_agent" => &[
            "conversationConfig",
            "additionalPrompt",
            "additionalKnowledgeBase",
            "additionalToolIds",
            "entryBehavior",
        ],
        "say" => &[
            "conversationConfig",
            "additionalPrompt",
            "additionalKnowledgeBase",
            "additionalToolIds",
            "message",
            "waitForUserResponse",
        ],
        "tool" => &["tools"],
        "standalone_agent" => &[
            "agentId",
            "nodeId",
            "delayMs",
            "transferMessage",
            "enableTransferredAgentFirstMessage",
        ],
        "phone_number" => &["transferDestination", "transferType"],
        _ => return None,
    };
    Some(fields)
}

/// Returns the fields of the object, or of the objects in the list, that a field holds, and its name for people; none if
/// they are not looked at here.
fn within(field: &str) -> Option<(&'static str, &'static [&'static str])> {
    let (name, fields): (&str, &[&str]) = match field {
        "message" => ("a message", &["type", "text", "prompt"]),
        "global" => ("`global`", &["condition", "cooldownTurns", "goBack"]),
        "transferDestination" => ("a destination", &["type", "phoneNumber", "sipUri"]),
        "updates" => ("an update", &["type", "variableName", "expression", "required"]),
        "forwardCondition" | "backwardCondition" => (
            "a condition",
            &["type", "label", "condition", "successful", "expression"],
        ),
        "expression" | "condition" | "trueExpression" | "falseExpression" | "children" | "left" | "right" => (
            "an expression",
            &[
                "type",
                "value",
                "name",
                "prompt",
                "valueSchema",
                "required",
                "children",
                "left",
                "right",
                "condition",
                "trueExpression",
                "falseExpression",
            ],
        ),
        _ => return None,
    };
    Some((name, fields))
}

/// Reports the fields of a node that have no effect. The type itself is reported elsewhere.
pub(super) fn report_node(path: &str, given: &Value, found: &mut Found) {
    let kind = given.get("type").and_then(Value::as_str).unwrap_or_default();
    if let Some(own) = of_node(kind) {
        let known = [&OF_EVERY_NODE[..], own].concat();
        report(path, given, &format!("a node of type `{kind}`"), &known, found);
    }
}

/// Reports the fields of an edge that have no effect.
pub(super) fn report_edge(path: &str, given: &Value, found: &mut Found) {
    report(path, given, "an edge", &OF_EDGE, found);
}

fn report(path: &str, given: &Value, owner: &str, known: &[&str], found: &mut Found) {
    if let Value::Array(items) = given {
        for (index, item) in items.iter().enumerate() {
            report(&format!("{path}[{index}]"), item, owner, known, found);
        }
    }
    for (name, value) in given.as_object().into_iter().flatten() {
        if found.is_full() {
            return;
        }
        let path = format!("{path}.{name}");
        if WITHOUT_EFFECT.contains(&name.as_str()) {
            if !matches!(value, Value::Bool(false)) && *value != Value::Array(Vec::new()) {
                found.warn(&path, "has no effect here");
            }
        } else if !known.contains(&name.as_str()) {
            let likely = suggestion(name, known);
            found.warn(&path, format!("is not a field of {owner} and has no effect{likely}"));
        } else if let Some((owner, known)) = within(name) {
            report(&path, value, owner, known, found);
        }
    }
}
