//! The language in which a call begins: one of its agent's.

use domain::agent::{Agent, LANGUAGE_OVERRIDE, Problem};
use serde_json::Value;

use crate::response::error::{ApiError, ApiResult};

/// Languages shown in a message.
const LISTED: usize = 20;

/// Returns why a call cannot begin in this language with an agent that has `languages`.
pub fn check(languages: &[String], wanted: &Value, path: &str) -> Option<Problem> {
    let code = wanted.as_str().map_or_else(|| wanted.to_string(), str::to_owned);
    let has = languages.contains(&code);
    (!has).then(|| {
        let listed: Vec<String> = languages.iter().take(LISTED).map(|own| format!("`{own}`")).collect();
        let message = format!(
            "`{code:.40}` is not a language of this agent ({}); choose one of them, or add it to the agent's \
             `languagePresets`",
            listed.join(", ")
        );
        Problem::new(path, "invalid_value", message)
    })
}

/// Checks the language of a single call.
pub fn check_call(agent: &Agent, values: &serde_json::Map<String, Value>) -> ApiResult<()> {
    let wanted = values.get(LANGUAGE_OVERRIDE);
    let problem = wanted.and_then(|wanted| check(&agent.first_languages(), wanted, "language"));
    problem.map_or(Ok(()), |problem| Err(ApiError::Invalid(vec![problem])))
}
