//! The language in which a call begins: one of its agent's.

use domain::agent::{Agent, LANGUAGE_OVERRIDE, Problem};
use serde_json::Value;

use crate::error::{ApiError, ApiResult};

/// Beginning of names that choose settings of one call.
const PREFIX: &str = "override.";

/// Languages shown in a message.
const LISTED: usize = 20;

/// Returns why a column or field cannot have this name: it names an override that does not exist.
pub fn unknown_override(name: &str) -> Option<String> {
    let is_override = name
        .get(..PREFIX.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(PREFIX));
    (is_override && name != LANGUAGE_OVERRIDE).then(|| {
        format!("names beginning with `{PREFIX}` change a call, and the only one is `{LANGUAGE_OVERRIDE}`; rename it")
    })
}

/// Returns why a call cannot begin in this language with an agent that has `languages`.
pub fn refusal(languages: &[String], wanted: &str) -> Option<String> {
    let has = languages.iter().any(|own| own == wanted);
    (!has).then(|| {
        let listed: Vec<String> = languages.iter().take(LISTED).map(|own| format!("`{own}`")).collect();
        format!(
            "is not a language of this agent ({}); choose one of them, or add it to the agent's `languagePresets`",
            listed.join(", ")
        )
    })
}

/// Checks the language that the values of a call choose, if they choose one.
pub fn check(agent: &Agent, wanted: Option<&Value>, path: impl FnOnce() -> String) -> Result<(), Problem> {
    let Some(wanted) = wanted else { return Ok(()) };
    let code = wanted.as_str().map_or_else(|| wanted.to_string(), str::to_owned);
    match refusal(&agent.first_languages(), &code) {
        Some(why) => Err(Problem::new(path(), "invalid_value", format!("`{code:.40}` {why}"))),
        None => Ok(()),
    }
}

/// Checks the language of a single call.
pub fn check_call(agent: &Agent, values: &serde_json::Map<String, Value>) -> ApiResult<()> {
    let checked = check(agent, values.get(LANGUAGE_OVERRIDE), || "language".to_owned());
    checked.map_err(|problem| ApiError::Invalid(vec![problem]))
}
