//! Scopes that an operation needs, and how they limit its answer.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::{access::scopes, request::schemas::flat};

/// Names of the scopes that an operation needs.
const SCOPES: &str = "x-required-scopes";

/// Returns the schema of an answer, and what a key without `read` gets if that is less.
pub fn or_in_short(method: &str, path: &str, data: Value, read: &BTreeMap<String, Value>) -> Value {
    let whole = data["$ref"].is_string().then(|| flat(&data, read));
    let Some(kept) = scopes::kept(method, path) else {
        return data;
    };
    let names = |schema: &Value| schema["properties"].as_object().map(Map::len);
    if whole
        .as_ref()
        .and_then(names)
        .is_some_and(|fields| fields <= kept.len())
    {
        return data;
    }
    let id = json!({ "type": "string", "format": "uuid" });
    let property = |name: &&str| {
        let described = whole.as_ref().and_then(|schema| schema["properties"].get(name));
        ((*name).to_owned(), described.unwrap_or(&id).clone())
    };
    let mut properties: Map<String, Value> = kept.iter().map(property).collect();
    properties.insert("version".into(), json!({ "type": "integer", "minimum": 1 }));
    let in_short = json!({
        "type": "object", "description": "With a key that lacks `read`", "properties": properties,
        "required": kept.iter().take(1).collect::<Vec<_>>(), "additionalProperties": false,
    });
    json!({ "anyOf": [data, in_short] })
}

/// Adds the scopes that an operation needs to its description, for people and programs.
pub fn show_scopes(method: &str, path: &str, operation: &mut Map<String, Value>) {
    let names: Vec<&str> = scopes::required(method, path)
        .iter()
        .map(|scope| scope.as_str())
        .collect();
    let sentence = scopes::sentence(method, path);
    let text = match operation.get("description").and_then(Value::as_str) {
        Some(note) => format!("{note} {sentence}"),
        None => sentence,
    };
    operation.insert("description".into(), json!(text));
    operation.insert(SCOPES.into(), json!(names));
}
