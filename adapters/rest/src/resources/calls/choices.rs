//! What one call chooses: its language, its variables, and the fields of its agent that it overrides.

use domain::agent::{LANGUAGE_OVERRIDE, Problem};
use serde_json::{Map, Value};

use crate::request::{
    call_overrides::is_override,
    checked::{Checked, Reason},
    contact_fields::{EXTRA_BYTES, EXTRA_FIELDS},
    fields::{NAME_CHARACTERS, wrong_type},
};

/// Checks `dynamicVariables` of a body.
pub fn check_variables<T>(body: &mut Checked<T>) {
    let Some(Value::Object(given)) = body.sound("dynamicVariables") else {
        return;
    };
    let mut problems = Vec::new();
    if given.len() > EXTRA_FIELDS {
        let message = format!("has {} variables; at most {EXTRA_FIELDS} are allowed", given.len());
        problems.push(Problem::new("dynamicVariables", "too_many", message));
    }
    for (name, value) in given {
        if let Some((code, message)) = refused_variable(name, value) {
            let name: String = name.chars().take(NAME_CHARACTERS).collect();
            problems.push(Problem::new(format!("dynamicVariables.{name}"), code, message));
        }
    }
    body.extend(problems);
}

/// Returns why a call cannot have a variable.
fn refused_variable(name: &str, value: &Value) -> Option<Reason> {
    if name.trim().is_empty() || name.chars().count() > NAME_CHARACTERS {
        let message = format!("a variable's name has 1 to {NAME_CHARACTERS} characters");
        return Some(("not_allowed", message));
    }
    let beside = match name {
        LANGUAGE_OVERRIDE => Some("language"),
        name => is_override(name).then_some("overrides"),
    };
    if let Some(field) = beside {
        let message = format!("is chosen by the field `{field}` beside `dynamicVariables`");
        return Some(("not_allowed", message));
    }
    match value {
        Value::Bool(_) | Value::Number(_) => None,
        Value::String(text) if text.len() <= EXTRA_BYTES => None,
        Value::String(text) => {
            let message = format!("has {} bytes; at most {EXTRA_BYTES} are allowed", text.len());
            Some(("too_long", message))
        }
        other => Some(wrong_type(other, "a string, a number or a boolean")),
    }
}

/// Returns the variables of a call, with its language as one of them.
pub fn variables(given: Option<Map<String, Value>>, language: Option<String>) -> Map<String, Value> {
    let mut variables = given.unwrap_or_default();
    if let Some(language) = language {
        variables.insert(LANGUAGE_OVERRIDE.to_owned(), language.into());
    }
    variables
}
