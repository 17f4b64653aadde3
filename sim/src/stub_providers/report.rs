//! Report on a finished call, as the stubs of language models write one: from the transcript in the request,
//! in the requested shape.

use serde_json::{Value, json};

use super::language_model::text_of;

/// Returns the report that a request asks for by its shape, or `None` if it asks for a reply.
pub(super) fn wanted(request: &Value) -> Option<Value> {
    let chat = request.pointer("/response_format/json_schema/schema");
    let tool = || {
        let forced = request.pointer("/tool_choice/name")?;
        let mut tools = request["tools"].as_array()?.iter();
        tools.find(|tool| tool["name"] == *forced)?.get("input_schema")
    };
    let schema = chat.or_else(tool)?;
    let record = request["messages"].as_array()?.last()?;
    Some(report(schema, &text_of(&record["content"])))
}

fn report(schema: &Value, record: &str) -> Value {
    let lines: Vec<Value> = record
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    let spoken_by = |line: &&Value, speaker: &str| line["speaker"] == speaker;
    let users: Vec<&Value> = lines.iter().filter(|line| spoken_by(line, "user")).collect();
    let last = users.last().map(|line| line["words"].clone()).unwrap_or_default();
    let mut report = json!({
        "summary": format!("A call of {} lines; the user's last words: {last}", lines.len()),
        "sentiment": 0.25,
        "moods": users.iter().take(1).map(|line| json!({ "line": line["line"], "score": 0.5 })).collect::<Vec<_>>(),
        "moments": users.iter().map(|line| json!({ "line": line["line"], "label": "said" })).collect::<Vec<_>>(),
        "appointment": null,
    });
    let wants = |name: &str| schema["properties"].get(name).is_some();
    if wants("data") {
        report["data"] = data(schema, &users).into();
    }
    if wants("issues") {
        report["issues"] = json!([]);
    }
    report
}

/// Returns the words of the user after an entity's name and "is".
fn data(schema: &Value, users: &[&Value]) -> Vec<Value> {
    let names = schema.pointer("/properties/data/items/properties/entity/enum");
    let names = names
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str);
    let told = names.filter_map(|name| {
        let words = users.iter().filter_map(|line| line["words"].as_str());
        let mut told = words.filter_map(|words| Some((words, words.split_once(&format!("{name} is "))?.1)));
        let (quote, value) = told.next()?;
        let value = value.split(['.', ',']).next().unwrap_or(value).trim();
        Some(json!({ "entity": name, "value": value, "quote": quote }))
    });
    told.collect()
}
