//! Limits of the conversation graph, checked when an agent is saved.

use serde_json::{Map, Value};

use crate::problem::Problem;

/// Deepest expression.
const MOST_LEVELS: usize = 32;
/// Most nodes.
const MOST_NODES: usize = 200;
/// Most edges.
const MOST_EDGES: usize = 1_000;
/// Longest id of a node or an edge, in characters.
const MOST_ID_CHARS: usize = 100;
/// Most JSON of all nodes and edges, in bytes.
const MOST_BYTES: usize = 64 * 1024;

/// Returns the limits that the nodes and edges of an agent exceed.
pub fn graph_problems(nodes: &Map<String, Value>, edges: &Map<String, Value>) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut report = |path: &str, message: String| problems.push(Problem::new(path, "too_long", message));
    for (path, map, most) in [
        ("workflow.nodes", nodes, MOST_NODES),
        ("workflow.edges", edges, MOST_EDGES),
    ] {
        if map.len() > most {
            report(path, format!("has {} entries; at most {most} are allowed", map.len()));
        }
        for (id, entry) in map {
            let chars = id.chars().count();
            if chars > MOST_ID_CHARS {
                let message = format!("has an id of {chars} characters; at most {MOST_ID_CHARS} are allowed");
                report(&format!("{path}.{id:.MOST_ID_CHARS$}"), message);
            }
            let levels = expression_levels(entry);
            if levels > MOST_LEVELS {
                let message = format!("has an expression of {levels} levels; at most {MOST_LEVELS} are allowed");
                report(&format!("{path}.{id}"), message);
            }
        }
    }
    let bytes: usize = [nodes, edges].into_iter().map(json_bytes).sum();
    if bytes > MOST_BYTES {
        report(
            "workflow",
            format!("has {bytes} bytes as JSON; at most {MOST_BYTES} are allowed"),
        );
    }
    problems
}

fn json_bytes(map: &Map<String, Value>) -> usize {
    let entries = map
        .iter()
        .map(|(id, entry)| id.len() + entry.to_string().len() + "\"\":,".len());
    entries.sum()
}

/// Returns the levels of the deepest expression in a value.
fn expression_levels(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(expression_levels).max().unwrap_or(0),
        Value::Object(fields) => {
            let below = fields
                .iter()
                .filter(|(name, _)| !matches!(name.as_str(), "valueSchema" | "value_schema"));
            let deepest = below.map(|(_, value)| expression_levels(value)).max().unwrap_or(0);
            deepest + usize::from(is_expression(fields))
        }
        _ => 0,
    }
}

fn is_expression(fields: &Map<String, Value>) -> bool {
    let kind = fields.get("type").and_then(Value::as_str).unwrap_or_default();
    let is_leaf = matches!(kind, "dynamic_variable" | "llm")
        && !fields.contains_key("condition")
        && !fields.contains_key("expression");
    is_leaf || kind.ends_with("_operator") || kind.ends_with("_literal")
}
