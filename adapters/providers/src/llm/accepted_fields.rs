//! Optional request fields: which of them each model accepts, learned from its refusals.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use serde_json::{Map, Value};

use crate::protocols::llm::refusal::{About, Told};

/// Field that says how much a model thinks before it answers.
pub(super) const EFFORT: &str = "reasoning_effort";

/// Efforts that suit a call, the lowest first.
const EFFORTS: [&str; 3] = ["none", "minimal", "low"];

/// Fields that a request can do without. Models differ in which of them they accept.
static OPTIONAL: [&str; 7] = [
    "temperature",
    "thinking",
    "output_config",
    EFFORT,
    "stream_options",
    "max_completion_tokens",
    "response_format",
];

/// Maximum number of corrections of one request.
pub(super) const MOST_CORRECTIONS: usize = OPTIONAL.len() + EFFORTS.len();

/// Maximum number of corrections that are remembered, over all models.
const MOST_LEARNED: usize = 256;

/// Change of a request that a refusal asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Correction {
    pub field: &'static str,
    /// Value to send; `None` leaves the field out.
    pub value: Option<&'static str>,
    /// Whether the refusal is about the field. Otherwise the error may only quote our own text. That says
    /// nothing about the model, and must not change later requests.
    pub is_certain: bool,
}

impl Correction {
    /// Returns the change of this request, if the refusal is about an optional field. `efforts` are those that
    /// were refused already.
    pub(super) fn of(told: &Told, body: &Map<String, Value>, efforts: &[String]) -> Option<Self> {
        let mut given = OPTIONAL.into_iter().filter(|field| body.contains_key(*field));
        let given = given.find_map(|field| Some(field).zip(told.about(words(field))));
        let (field, (about, word)) = given.or_else(|| Some(EFFORT).zip(told.about(words(EFFORT))))?;
        let untried = |effort: &&str| told.contains_word(effort) && !efforts.iter().any(|tried| tried == effort);
        let value = EFFORTS.into_iter().find(untried).filter(|_| field == EFFORT);
        let is_certain = about == About::Named || !body.values().any(|value| mentions(value, word));
        // A field that was not sent can only be added.
        let is_useful = given.is_some() || (value.is_some() && is_certain);
        is_useful.then_some(Self {
            field,
            value,
            is_certain,
        })
    }

    /// Changes a request.
    pub(super) fn apply(&self, body: &mut Map<String, Value>) {
        change(body, self.field, self.value);
    }
}

/// Corrections by model and field.
#[derive(Default)]
pub(super) struct AcceptedFields {
    learned: Mutex<BTreeMap<(String, &'static str), Option<&'static str>>>,
}

impl AcceptedFields {
    /// Changes a request to what its model was found to accept.
    pub(super) fn apply(&self, model: &str, body: &mut Map<String, Value>) {
        let learned = self.learned.lock().unwrap_or_else(PoisonError::into_inner);
        for ((_, field), value) in learned.iter().filter(|((of, _), _)| of == model) {
            change(body, field, *value);
        }
    }

    /// Remembers a correction for a model.
    pub(super) fn learn(&self, model: &str, correction: &Correction) {
        let mut learned = self.learned.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (model.to_owned(), correction.field);
        if learned.len() < MOST_LEARNED || learned.contains_key(&key) {
            learned.insert(key, correction.value);
        }
    }
}

fn change(body: &mut Map<String, Value>, field: &str, value: Option<&str>) {
    match value {
        Some(value) => drop(body.insert(field.to_owned(), value.into())),
        None => drop(body.shift_remove(field)),
    }
}

/// Returns the words by which refusals mean a field, its name first. Gemini also writes of the thinking that an
/// effort becomes, such as `This model only works in thinking mode`.
fn words(field: &'static str) -> &'static [&'static str] {
    match field {
        EFFORT => &[
            EFFORT,
            "thinking mode",
            "thinking_",
            "Thinking is not",
            "Thinking level",
            "Thinking budget",
        ],
        _ => {
            let at = OPTIONAL.iter().position(|optional| *optional == field);
            at.map_or(&[], |at| &OPTIONAL[at..=at])
        }
    }
}

/// Returns whether a text or field name within a value contains these words.
fn mentions(value: &Value, words: &str) -> bool {
    match value {
        Value::String(text) => text.contains(words),
        Value::Array(items) => items.iter().any(|item| mentions(item, words)),
        Value::Object(fields) => fields
            .iter()
            .any(|(name, value)| name.contains(words) || mentions(value, words)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Returns the effort that follows a refusal: `Some(None)` if it is left out, `None` if nothing is changed.
    fn after(sent: Option<&str>, refused: &[&str], text: &str, param: Option<&str>) -> Option<Option<&'static str>> {
        let mut body = json!({ "messages": [{ "role": "user", "content": "I am thinking_" }] });
        if let Some(effort) = sent {
            body[EFFORT] = effort.into();
        }
        let told = json!({ "error": { "message": text, "param": param } }).to_string();
        let efforts: Vec<String> = refused.iter().map(|effort| (*effort).to_owned()).collect();
        let correction = Correction::of(&Told::read(told.as_bytes()), body.as_object()?, &efforts)?;
        (correction.field == EFFORT).then_some(correction.value)
    }

    #[test]
    fn the_effort_becomes_what_the_refusal_asks_for() {
        let tools = "Function tools with reasoning_effort are not supported for gpt-5.6 in /v1/chat/completions.";
        let none = format!("{tools} To use function tools, use /v1/responses or set reasoning_effort to 'none'.");
        let never = format!("{tools} Please use /v1/responses instead.");
        let minimal =
            "'reasoning_effort' does not support 'none' with this model. Supported values are: 'minimal', 'low'.";
        let gemini = "Invalid reasoning_effort: minimal. Valid values are: high, low, medium, none";
        let named = Some(EFFORT);
        assert_eq!(after(None, &[], &none, named), Some(Some("none")));
        assert_eq!(after(Some("low"), &["low"], &none, named), Some(Some("none")));
        assert_eq!(after(Some("none"), &["none"], &never, named), Some(None));
        assert_eq!(after(Some("none"), &["none"], minimal, named), Some(Some("minimal")));
        assert_eq!(after(Some("minimal"), &["minimal"], gemini, None), Some(Some("none")));
        let budget = "Budget 0 is invalid. This model only works in thinking mode.";
        assert_eq!(after(Some("none"), &["minimal", "none"], budget, None), Some(None));
        // A value that was refused before is not sent again, and our own words in a refusal add no field.
        assert_eq!(after(None, &["none"], &none, named), None);
        assert_eq!(after(None, &[], "none of this: I am thinking_", None), None);
    }
}
