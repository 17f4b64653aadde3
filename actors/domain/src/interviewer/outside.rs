//! Tools that run outside the call: which one answers what the caller says, and how its answer is spoken.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::{appointment, asking, phrases, question::in_words};
use crate::ports::tool_runner::ToolOffer;

/// Fewest letters of a word by which a tool is recognised.
const TELLING_LETTERS: usize = 4;
/// Number of such words that a request must share with the tool's name and description.
const TELLING_WORDS: usize = 2;
/// Words that say nothing of a tool's subject.
const COMMON: [&str; 36] = [
    "about", "again", "answer", "answers", "asks", "call", "caller", "callers", "could", "does", "find", "from",
    "give", "gives", "have", "help", "know", "like", "look", "looks", "need", "person", "please", "return", "returns",
    "should", "tell", "tells", "that", "their", "they", "this", "want", "what", "when", "your",
];
/// Longest answer that is spoken, in characters.
const SPOKEN_CHARS: usize = 300;

/// Said if no document or tool answers a question.
pub(super) const NOT_KNOWN: &str = "I'm sorry, I can't tell you that.";

/// State of the tools outside the call, and what they may need.
#[derive(Default)]
pub(super) struct Outside {
    /// Tools that have not answered yet.
    running: Vec<String>,
    /// Answers that were not told yet, in words.
    found: Vec<String>,
    /// Values collected, by name.
    pub values: BTreeMap<String, Value>,
}

impl Outside {
    /// Takes a run of a tool with its result.
    pub fn take(&mut self, name: &str, result: &Value) {
        match result["status"] == "running" {
            true => self.running.push(name.to_owned()),
            false => self.found.push(spoken(result).unwrap_or_else(|| NOT_KNOWN.to_owned())),
        }
    }

    /// Drops the answers that a text of the agent tells. Half of one is enough.
    pub fn told(&mut self, text: &str) {
        let said = phrases::plain(text);
        self.found.retain(|found| {
            let found = phrases::plain(found);
            let half = found.char_indices().nth(found.chars().count() / 2);
            !half.is_some_and(|(half, _)| said.contains(&found[..half]))
        });
    }

    /// Returns the answers to tell; none if there are none.
    pub fn found(&self) -> Option<String> {
        (!self.found.is_empty()).then(|| self.found.join(" "))
    }

    /// Returns the tool to ask for a request, and its arguments. A tool that is running is not asked again.
    pub fn wanted(&self, tools: &[ToolOffer], request: &str) -> Option<(String, Value)> {
        fitting(tools, request, &self.values).filter(|(name, _)| !self.running.contains(name))
    }
}

/// Returns the tool that fits a request of the caller, and its arguments. A tool fits if it shares enough
/// words with the request, and if its required arguments were collected.
fn fitting(tools: &[ToolOffer], request: &str, collected: &BTreeMap<String, Value>) -> Option<(String, Value)> {
    if !asking::requests(request) {
        return None;
    }
    let asked = telling_words(request);
    let usable = tools.iter().filter(|tool| !appointment::is_tool(&tool.name));
    let fits = usable.filter_map(|tool| {
        let own = telling_words(&format!("{} {}", in_words(&tool.name), tool.description));
        let shared = own.intersection(&asked).count();
        let arguments = arguments(&tool.parameters, collected).filter(|_| shared >= TELLING_WORDS)?;
        Some((shared, tool, arguments))
    });
    // The first of equals wins.
    let best = fits.reduce(|best, next| if next.0 > best.0 { next } else { best });
    best.map(|(_, tool, arguments)| (tool.name.clone(), arguments))
}

/// Returns the words that tell a subject, without a plural's ending.
fn telling_words(text: &str) -> BTreeSet<String> {
    let plain = phrases::plain(text);
    let words = plain.split(|c: char| !c.is_alphanumeric());
    let telling = words.filter(|word| word.chars().count() >= TELLING_LETTERS && !COMMON.contains(word));
    telling.map(|word| word.trim_end_matches('s').to_owned()).collect()
}

/// Returns the collected values that a tool takes; none if a required one is missing.
fn arguments(parameters: &Value, collected: &BTreeMap<String, Value>) -> Option<Value> {
    let required = parameters["required"].as_array().into_iter().flatten();
    if !required
        .into_iter()
        .all(|name| name.as_str().is_some_and(|name| collected.contains_key(name)))
    {
        return None;
    }
    let taken = parameters["properties"].as_object().into_iter().flatten();
    let taken = taken.filter_map(|(name, _)| Some((name.clone(), collected.get(name)?.clone())));
    Some(Value::Object(taken.collect::<Map<_, _>>()))
}

/// Returns the words for a tool's result; none if they cannot be told, because it failed or answered
/// something that is no sentence, value or flat list of values.
fn spoken(result: &Value) -> Option<String> {
    let words = match result.get("answer")? {
        Value::Object(fields) => {
            let told: Option<Vec<String>> = fields
                .iter()
                .map(|(name, value)| Some(format!("{}: {}", in_words(name), plain_value(value)?)))
                .collect();
            match fields.values().next() {
                Some(Value::String(only)) if fields.len() == 1 => only.clone(),
                _ => told?.join(", "),
            }
        }
        value => plain_value(value)?,
    };
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
    let fits = !words.is_empty() && words.chars().count() <= SPOKEN_CHARS;
    let ends = words.ends_with(['.', '!', '?']);
    fits.then(|| if ends { words } else { words + "." })
}

fn plain_value(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(yes) => Some(if *yes { "yes" } else { "no" }.to_owned()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;

    fn tool(name: &str, description: &str, parameters: Value) -> ToolOffer {
        ToolOffer {
            name: name.into(),
            description: description.into(),
            parameters,
            within: Duration::from_secs(5),
            key: name.into(),
        }
    }

    #[test]
    fn a_tool_is_asked_if_its_words_fit_and_its_arguments_are_known() {
        let tools = [
            tool(
                "openingHours",
                "Tells when the practice is open.",
                json!({ "type": "object" }),
            ),
            tool(
                "orderStatus",
                "Looks up the status of the caller's order.",
                json!({ "type": "object", "properties": { "orderNumber": {}, "name": {} }, "required": ["orderNumber"] }),
            ),
            tool(
                "bookAppointment",
                "Books an appointment at an open time.",
                json!({ "type": "object" }),
            ),
        ];
        let known = BTreeMap::from([
            ("orderNumber".to_owned(), json!("A7")),
            ("day".to_owned(), json!("Monday")),
        ]);
        let named = |text: &str, known: &BTreeMap<String, Value>| fitting(&tools, text, known);
        let hours = Some(("openingHours".to_owned(), json!({})));
        assert_eq!(named("What are your opening hours?", &BTreeMap::new()), hours);
        let order = Some(("orderStatus".to_owned(), json!({ "orderNumber": "A7" })));
        assert_eq!(named("I'd like to know the status of my order.", &known), order);
        for text in [
            // Its number was not collected.
            "What is the status of my order?",
            // One word, no request, another subject, a tool of the calendar.
            "What are your hours?",
            "Opening hours.",
            "What does it cost to park here?",
            "Can I book an appointment at an open time?",
        ] {
            assert_eq!(named(text, &BTreeMap::new()), None, "{text}");
        }
    }

    #[test]
    fn an_answer_is_spoken_if_it_is_plain() {
        for (answer, words) in [
            (json!("We open at nine."), Some("We open at nine.")),
            (json!({ "message": "It is on its way" }), Some("It is on its way.")),
            (json!({ "isFree": false, "price": 60 }), Some("is free: no, price: 60.")),
            (json!(12), Some("12.")),
            (json!(null), None),
            (json!([1, 2]), None),
            (json!({ "hours": { "monday": 9 } }), None),
            (json!("x".repeat(301)), None),
        ] {
            let result = json!({ "status": 200, "answer": answer });
            assert_eq!(spoken(&result).as_deref(), words, "{answer}");
        }
        assert_eq!(spoken(&json!({ "error": "failed" })), None);
    }
}
