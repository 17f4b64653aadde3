//! Fields of an agent that one call may override, if the agent allows it.

use serde_json::{Map, Value, json};

use super::{
    document::merge,
    object::Agent,
    schema::{
        shape::{Mode, Walk},
        table::CALL_OVERRIDES,
    },
};
use crate::problem::Problem;

/// Prefix of the names under which a contact or a single call stores its overrides.
pub const OVERRIDE_PREFIX: &str = "override.";

/// Names of the fields that a call may override.
pub const OVERRIDES: [&str; 6] = [
    "prompt",
    "greetingMessage",
    "voiceId",
    "llm",
    "firstSpeaker",
    "maxDurationSeconds",
];

/// Returns the path of an override in the settings of a language preset.
fn path(name: &str) -> Option<&'static str> {
    match name {
        "prompt" => Some("agent.prompt.prompt"),
        "greetingMessage" | "firstSpeaker" => Some("agent.greetingMessage"),
        "voiceId" => Some("tts.voiceId"),
        "llm" => Some("agent.prompt.llm"),
        _ => None,
    }
}

/// Returns the overrides among the fields of a contact or the values of a single call, by name. Parses numbers, which
/// a CSV file stores as text.
pub fn overrides_in(values: &Map<String, Value>) -> Map<String, Value> {
    let read = |name: &str, value: &Value| match value.as_str().map(str::parse::<i64>) {
        Some(Ok(number)) if name == "maxDurationSeconds" => number.into(),
        _ => value.clone(),
    };
    let named = values.iter().filter_map(|(name, value)| {
        let name = name.strip_prefix(OVERRIDE_PREFIX)?;
        OVERRIDES.contains(&name).then(|| (name.to_owned(), read(name, value)))
    });
    named.collect()
}

/// Checks the overrides of a call by the rules of the agent's own fields, and whether the agent allows them. Returns
/// them in their normal form.
///
/// # Errors
///
/// Returns all problems, with the name of the override as the path.
pub fn check_overrides(agent: &Agent, given: &Map<String, Value>) -> Result<Map<String, Value>, Vec<Problem>> {
    let (stored, mut problems) = checked(given);
    for (name, _) in given.iter().filter(|(_, value)| !value.is_null()) {
        if OVERRIDES.contains(&name.as_str()) && !agent.platform_settings.overrides.allow(name) {
            let message = format!(
                "this agent does not allow it; set its `platformSettings.overrides.{name}` to true, or leave it out"
            );
            problems.push(Problem::new(name, "not_allowed", message));
        }
    }
    let own = agent.conversation_config.agent.greeting_message.as_deref();
    let greeting = stored.get("greetingMessage").map_or(own, Value::as_str);
    let is_silent = greeting.is_none_or(|greeting| greeting.trim().is_empty());
    if is_silent && stored.get("firstSpeaker").is_some_and(|first| first == "agent") {
        let message = "the agent has no words to begin with; give `greetingMessage` too, or leave this out";
        problems.push(Problem::new("firstSpeaker", "invalid", message));
    }
    if problems.is_empty() { Ok(stored) } else { Err(problems) }
}

fn checked(given: &Map<String, Value>) -> (Map<String, Value>, Vec<Problem>) {
    match Walk::check(&Value::Object(given.clone()), &CALL_OVERRIDES, Mode::Whole) {
        (Some(Value::Object(stored)), problems) => (stored, problems),
        (_, problems) => (Map::new(), problems),
    }
}

impl Agent {
    /// Returns the agent with checked overrides, which apply in each of its languages.
    #[must_use]
    pub fn with_overrides(&self, overrides: &Map<String, Value>) -> Self {
        let mut agent = self.clone();
        let config = &mut agent.conversation_config;
        let user_begins = overrides.get("firstSpeaker").is_some_and(|first| first == "user");
        let mut dropped = json!({});
        for (name, value) in overrides {
            let text = || value.as_str().unwrap_or_default().to_owned();
            match name.as_str() {
                "prompt" => config.agent.prompt.prompt = text(),
                "greetingMessage" => config.agent.greeting_message = Some(text()),
                "voiceId" => config.tts.voice_id = text(),
                "llm" => config.agent.prompt.llm = text(),
                "maxDurationSeconds" => {
                    let own = config.conversation.max_duration_seconds;
                    config.conversation.max_duration_seconds = value.as_i64().unwrap_or(own);
                }
                _ if user_begins => {}
                _ => continue,
            }
            if let Some(path) = path(name) {
                set_null(&mut dropped, path);
            }
        }
        if user_begins {
            // An agent without a greeting waits for the user's words.
            config.agent.greeting_message = None;
        }
        for preset in config.language_presets.values_mut() {
            if let Some(preset) = preset.get_mut("overrides") {
                merge(preset, &dropped);
            }
        }
        agent.keeps_voice |= overrides.contains_key("voiceId");
        agent
    }

    /// Returns the agent with the overrides among these values, and the names of the overrides. The first values take
    /// precedence. Ignores overrides that the agent does not allow. Returns `None` if no override remains.
    pub fn overridden(&self, values: [&Map<String, Value>; 2]) -> Option<(Self, Vec<String>)> {
        let mut given = overrides_in(values[1]);
        given.extend(overrides_in(values[0]));
        if given.is_empty() {
            return None;
        }
        let (mut overrides, _) = checked(&given);
        overrides.retain(|name, _| self.platform_settings.overrides.allow(name));
        let names: Vec<String> = overrides.keys().cloned().collect();
        (!names.is_empty()).then(|| (self.with_overrides(&overrides), names))
    }
}

/// Sets the value at a path of names to `null`.
fn set_null(at: &mut Value, path: &str) {
    *path.split('.').fold(at, |at, name| &mut at[name]) = Value::Null;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(allowed: &[&str]) -> Agent {
        let allowed: Map<String, Value> = allowed.iter().map(|name| ((*name).to_owned(), json!(true))).collect();
        serde_json::from_value(json!({
            "platformSettings": { "overrides": allowed },
            "conversationConfig": {
                "agent": { "greetingMessage": "Hello.", "prompt": { "prompt": "Be brief.", "temperature": 1.5 } },
                "tts": { "voiceId": "ava", "supportedVoices": [{ "voiceId": "ana", "language": "es" }] },
                "languagePresets": {
                    "de": { "overrides": {
                        "agent": { "greetingMessage": "Hallo.", "prompt": { "prompt": "Kurz.", "temperature": 0.5 } },
                        "tts": { "voiceId": "eva", "speed": 1.5 },
                    } },
                    "es": {},
                },
            },
        }))
        .unwrap()
    }

    fn map(value: Value) -> Map<String, Value> {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn an_override_holds_in_each_language_and_leaves_the_rest_as_it_was() {
        let all = map(
            json!({ "prompt": "Ask.", "greetingMessage": "Hey!", "voiceId": "tom", "llm": "own/small",
            "maxDurationSeconds": 60 }),
        );
        let own = agent(&OVERRIDES);
        assert_eq!(own.with_overrides(&Map::new()), own);
        let made = own.with_overrides(&check_overrides(&own, &all).unwrap());
        for agent in [
            made.clone(),
            made.in_language("de"),
            made.in_language("es"),
            made.in_language("de").in_language("en"),
        ] {
            let config = &agent.conversation_config;
            assert_eq!(config.agent.greeting_message.as_deref(), Some("Hey!"));
            assert_eq!(
                (&*config.agent.prompt.prompt, &*config.agent.prompt.llm),
                ("Ask.", "own/small")
            );
            assert_eq!(
                (&*config.tts.voice_id, config.conversation.max_duration_seconds),
                ("tom", 60)
            );
        }
        let german = made.in_language("de").conversation_config;
        assert_eq!((german.agent.prompt.temperature, german.tts.speed), (0.5, 1.5));
        assert_eq!(own.in_language("es").conversation_config.tts.voice_id, "ana");
    }

    #[test]
    fn a_user_who_speaks_first_is_not_greeted_in_any_language() {
        let own = agent(&OVERRIDES);
        for overrides in [
            json!({ "firstSpeaker": "user" }),
            json!({ "greetingMessage": "Hey!", "firstSpeaker": "user" }),
        ] {
            let made = own.with_overrides(&map(overrides));
            assert_eq!(made.conversation_config.agent.greeting_message, None);
            assert_eq!(made.in_language("de").conversation_config.agent.greeting_message, None);
        }
        let made = own.with_overrides(&map(json!({ "firstSpeaker": "agent" })));
        assert_eq!(made, own);
        let silent = own.with_overrides(&map(json!({ "greetingMessage": "" })));
        let problems = check_overrides(&silent, &map(json!({ "firstSpeaker": "agent" }))).unwrap_err();
        assert_eq!((&*problems[0].path, problems[0].code), ("firstSpeaker", "invalid"));
    }

    #[test]
    fn what_the_agent_does_not_allow_is_refused_and_has_no_effect() {
        let own = agent(&["llm"]);
        let both = json!({ "llm": "own/small", "voiceId": "tom" });
        let problems = check_overrides(&own, &map(both)).unwrap_err();
        assert_eq!(problems.len(), 1);
        assert_eq!((&*problems[0].path, problems[0].code), ("voiceId", "not_allowed"));
        assert!(
            problems[0].message.contains("`platformSettings.overrides.voiceId`"),
            "{problems:?}"
        );
        let kept = map(json!({ "override.llm": "own/small", "override.voiceId": "tom", "override.language": "de" }));
        let (made, names) = own.overridden([&Map::new(), &kept]).unwrap();
        assert_eq!(names, ["llm"]);
        assert_eq!(made.conversation_config.tts.voice_id, "ava");
        assert_eq!(agent(&[]).overridden([&kept, &kept]), None);
        assert_eq!(own.overridden([&map(json!({ "llm": "own/small" })), &Map::new()]), None);
    }

    #[test]
    fn values_obey_the_rules_of_the_agents_own_fields() {
        let own = agent(&OVERRIDES);
        for (name, value, code) in [
            ("prompt", json!(" "), "invalid"),
            ("llm", json!(""), "invalid"),
            ("voiceId", json!("x".repeat(201)), "too_long"),
            ("greetingMessage", json!("x".repeat(10_001)), "too_long"),
            ("greetingMessage", json!(["x"]), "wrong_type"),
            ("firstSpeaker", json!("callee"), "not_allowed"),
            ("maxDurationSeconds", json!(0), "out_of_range"),
            ("maxDurationSeconds", json!("60"), "wrong_type"),
            ("maxDuration", json!(60), "unknown_field"),
        ] {
            let problems = check_overrides(&own, &map(json!({ name: value }))).unwrap_err();
            let found: Vec<_> = problems.iter().map(|problem| (&*problem.path, problem.code)).collect();
            assert_eq!(found, [(name, code)]);
        }
        let cell = overrides_in(&map(
            json!({ "override.maxDurationSeconds": "60", "override.llm": "60" }),
        ));
        assert_eq!(Value::Object(cell), json!({ "maxDurationSeconds": 60, "llm": "60" }));
    }
}
