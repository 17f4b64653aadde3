//! Report on a finished call, as the stubs of language models write one: from the transcript in the request,
//! in the requested shape.

use std::collections::BTreeMap;

use domain::workflow::{Candidate, Choice, Question, judge};
use serde_json::{Value, json};

use crate::stub_providers::language_model::text_of;

/// Returns the report that a request asks for by its shape, or `None` if it asks for a reply.
pub(super) fn wanted(request: &Value) -> Option<Value> {
    let chat = request.pointer("/response_format/json_schema/schema");
    let tool = || {
        let forced = request.pointer("/tool_choice/name")?;
        let mut tools = request["tools"].as_array()?.iter();
        tools.find(|tool| tool["name"] == *forced)?.get("input_schema")
    };
    let schema = chat.or_else(tool)?;
    let messages = request["messages"].as_array()?;
    let record = text_of(&messages.last()?["content"]);
    let asks_router = |(name, _): (&String, &Value)| name == "route" || name == "value1";
    if schema["properties"].as_object()?.iter().any(asks_router) {
        let system = request.get("system").unwrap_or(&messages.first()?["content"]);
        return Some(route(schema, &text_of(system), &record));
    }
    Some(report(schema, &record))
}

/// Returns the answer of the router of a conversation graph: by the words that the user's last ones share with the
/// conditions in the instructions.
fn route(schema: &Value, system: &str, record: &str) -> Value {
    let after = |line: &str, name: &str| {
        Some(
            line.strip_prefix("- ")?
                .strip_prefix(name)?
                .strip_prefix(": ")?
                .to_owned(),
        )
    };
    let told = |name: &str| system.lines().find_map(|line| after(line, name)).unwrap_or_default();
    let asked = schema["properties"].as_object().into_iter().flatten();
    let values: Vec<(&String, &Value)> = asked.filter(|(name, _)| *name != "route").collect();
    let questions: Vec<Question> = values
        .iter()
        .map(|(name, kind)| Question {
            prompt: told(name),
            value_schema: json!({ "type": kind["type"][0] }),
            ..Question::default()
        })
        .collect();
    let choices = schema["properties"]["route"]["enum"].as_array();
    let numbers = choices
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .filter(|choice| *choice != "stay");
    let candidates: Vec<Candidate> = numbers
        .map(|number| Candidate {
            edge: None,
            to: number.to_owned(),
            backward: false,
            condition: told(number),
        })
        .collect();
    let lines = record
        .lines()
        .rev()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    // The shape of the answer may follow the record.
    let entries = lines.skip_while(|line| line.get("speaker").or_else(|| line.get("tool")).is_none());
    let last = entries.take_while(|line| line["speaker"] == "user");
    let said: Vec<String> = last
        .filter_map(|line| line["words"].as_str().map(str::to_owned))
        .collect();
    let (choice, found) = judge::by_words(&candidates, &questions, &said.join(" "), &BTreeMap::new());
    let mut answer = json!({});
    if choices.is_some() {
        answer["route"] = match choice {
            Choice::Candidate(index) => candidates[index].to.as_str().into(),
            Choice::Stay | Choice::Missed => "stay".into(),
        };
    }
    for ((name, _), value) in values.into_iter().zip(found) {
        answer[name] = value.unwrap_or_default();
    }
    answer
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
