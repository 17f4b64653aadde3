//! Choices of one call: the fields of its agent that it overrides, and its language.

use std::collections::HashMap;

use domain::{
    agent::{Agent, LANGUAGE_OVERRIDE, OVERRIDE_PREFIX, OVERRIDES, Problem, check_overrides, overrides_in},
    ports::Readiness,
};
use serde_json::{Map, Value};

use crate::{
    request::call_language,
    response::error::{ApiError, ApiResult},
};

/// Combinations of model and voice whose result is cached during the check of a file.
const REMEMBERED: usize = 1_000;

/// Returns whether a field of a contact or a variable with this name is an override of the agent.
pub fn is_override(name: &str) -> bool {
    name.strip_prefix(OVERRIDE_PREFIX)
        .is_some_and(|name| OVERRIDES.contains(&name))
}

/// Returns the problem of a column or field that names an unknown override, or is spelled as in a single call.
pub fn unknown_override(name: &str) -> Option<String> {
    let begins = |prefix: &str| {
        name.get(..prefix.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(prefix))
    };
    let is_meant = begins(OVERRIDE_PREFIX) || begins("overrides.") || name.eq_ignore_ascii_case("overrides");
    (is_meant && name != LANGUAGE_OVERRIDE && !is_override(name)).then(|| {
        let known = OVERRIDES.map(|name| format!("`{OVERRIDE_PREFIX}{name}`")).join(", ");
        format!(
            "names beginning with `{OVERRIDE_PREFIX}` change a call, and they are `{LANGUAGE_OVERRIDE}`, {known}; rename it"
        )
    })
}

/// Checks the overrides of a single call, adds them to its variables, and returns the agent as it speaks in the call.
pub fn applied(agent: Agent, given: &Map<String, Value>, variables: &mut Map<String, Value>) -> ApiResult<Agent> {
    if given.is_empty() {
        return Ok(agent);
    }
    let overrides = check_overrides(&agent, given).map_err(|mut problems| {
        for problem in &mut problems {
            problem.path = format!("overrides.{}", problem.path);
        }
        ApiError::Invalid(problems)
    })?;
    let overridden = agent.with_overrides(&overrides);
    let kept = overrides.into_iter();
    variables.extend(kept.map(|(name, value)| (format!("{OVERRIDE_PREFIX}{name}"), value)));
    Ok(overridden)
}

/// Checks the overrides and the language that contacts of a campaign choose.
pub struct ContactChoices {
    agent: Agent,
    languages: Vec<String>,
    talking: Readiness,
    /// Whether the agent can talk without overrides. Otherwise the launch is refused, and contacts are not blamed.
    is_ready: bool,
    /// Missing settings by model and voice; `None` if the agent can talk with them.
    known: HashMap<[Option<Value>; 2], Option<String>>,
}

impl ContactChoices {
    /// Creates the check for the contacts of an agent.
    pub fn of(agent: &Agent, talking: &Readiness) -> Self {
        Self {
            agent: agent.clone(),
            languages: agent.first_languages(),
            talking: talking.clone(),
            is_ready: talking(agent).is_ok(),
            known: HashMap::new(),
        }
    }

    /// Returns the problems of a contact's fields, with the name of the field as the path.
    pub fn problems(&mut self, fields: &Map<String, Value>) -> Vec<Problem> {
        let mut problems = Vec::new();
        if let Some(language) = fields.get(LANGUAGE_OVERRIDE) {
            problems.extend(call_language::check(&self.languages, language, LANGUAGE_OVERRIDE));
        }
        let given = overrides_in(fields);
        if given.is_empty() {
            return problems;
        }
        let found = match check_overrides(&self.agent, &given) {
            Ok(overrides) => self.lack(&overrides).into_iter().collect(),
            Err(found) => found,
        };
        problems.extend(found.into_iter().map(|problem| Problem {
            path: format!("{OVERRIDE_PREFIX}{}", problem.path),
            ..problem
        }));
        problems
    }

    /// Returns the problem of a model or a voice that lacks a setting.
    fn lack(&mut self, overrides: &Map<String, Value>) -> Option<Problem> {
        let chosen = ["llm", "voiceId"].map(|name| overrides.get(name).cloned());
        let name = match &chosen {
            [Some(_), _] => "llm",
            [None, Some(_)] => "voiceId",
            [None, None] => return None,
        };
        if !self.is_ready {
            return None;
        }
        let lack = match self.known.get(&chosen) {
            Some(lack) => lack.clone(),
            None => {
                let lack = (self.talking)(&self.agent.with_overrides(overrides))
                    .err()
                    .map(|lack| lack.0);
                if self.known.len() < REMEMBERED {
                    self.known.insert(chosen, lack.clone());
                }
                lack
            }
        };
        Some(Problem::new(name, "not_configured", lack?))
    }
}
