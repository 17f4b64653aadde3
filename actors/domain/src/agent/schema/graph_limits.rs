//! Limits of the conversation graph, checked when an agent is saved.

use std::io;

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

/// Returns the limits that the nodes and edges of an agent exceed. Expressions in too much JSON are not looked at.
pub fn graph_problems(nodes: &Map<String, Value>, edges: &Map<String, Value>) -> Vec<Problem> {
    let mut problems = Vec::new();
    let is_small = is_small(nodes, edges);
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
            let levels = if is_small { expression_levels(entry) } else { 0 };
            if levels > MOST_LEVELS {
                let message = format!("has an expression of {levels} levels; at most {MOST_LEVELS} are allowed");
                report(&format!("{path}.{id}"), message);
            }
        }
    }
    if !is_small {
        let message = format!("is larger than {MOST_BYTES} bytes as JSON; shorten texts or remove nodes");
        report("workflow", message);
    }
    problems
}

/// Returns whether the JSON is within the byte limit.
fn is_small(nodes: &Map<String, Value>, edges: &Map<String, Value>) -> bool {
    let mut left = BytesLeft(MOST_BYTES);
    [nodes, edges]
        .into_iter()
        .all(|map| serde_json::to_writer(&mut left, map).is_ok())
}

/// A writer that keeps nothing and fails as soon as it is given more than this many bytes.
struct BytesLeft(usize);

impl io::Write for BytesLeft {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
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
