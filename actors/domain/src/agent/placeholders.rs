//! The placeholders in the texts of an agent that its contacts have to fill.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::{
    disclosure::BUSINESS,
    object::Agent,
    tools::{BuiltInTool, BuiltInTools},
};
use crate::template::{MAIL_VARIABLES, SYSTEM_VARIABLES, is_blank, placeholders};

/// Returns the placeholders without a value in all texts that an agent can say, show to its model or put into
/// a mail: in order of first use, without duplicates. `tools` are the descriptions of its HTTP tools.
pub fn open_placeholders(agent: &Agent, tools: &[String]) -> Vec<String> {
    let config = &agent.conversation_config;
    let section = &config.agent;
    let own = &section.dynamic_variables;
    let entities = &agent.platform_settings.data_collection.entities;
    let described = |entity: &'_ Value| entity.get("description").and_then(Value::as_str).map(str::to_owned);
    let mut open = Open::default();
    let texts = [&section.prompt.prompt, &config.conversation.listening_announcement];
    let texts = texts.into_iter().chain(&section.greeting_message);
    let texts = texts
        .map(String::as_str)
        .chain(tool_texts(&section.prompt.built_in_tools));
    open.add(texts.chain(tools.iter().map(String::as_str)), &[own], &SYSTEM_VARIABLES);
    let entity_texts: Vec<String> = entities.values().filter_map(described).collect();
    open.add(entity_texts.iter().map(String::as_str), &[own], &SYSTEM_VARIABLES);
    let known = SYSTEM_VARIABLES.into_iter().chain([BUSINESS]).collect::<Vec<_>>();
    open.add(agent.disclosure_texts(), &[own], &known);
    let presets = config.language_presets.values();
    for section in presets.filter_map(|preset| preset.pointer("/overrides/agent")) {
        let texts = ["/prompt/prompt", "/greetingMessage"];
        let texts = texts.into_iter().filter_map(|path| section.pointer(path)?.as_str());
        let of_preset = section.get("dynamicVariables").and_then(Value::as_object);
        let filled: Vec<&Map<String, Value>> = of_preset.into_iter().chain([own]).collect();
        open.add(texts, &filled, &SYSTEM_VARIABLES);
    }
    let mail = &agent.platform_settings.call_actions.post_call_email;
    let subject = mail.email_configuration.get("subject").and_then(Value::as_str);
    let filled = SYSTEM_VARIABLES.into_iter().chain(MAIL_VARIABLES);
    let names: Vec<&str> = entities.keys().map(String::as_str).chain(filled).collect();
    open.add(subject.filter(|_| mail.enabled).into_iter(), &[own], &names);
    open.names
}

/// Placeholders found so far.
#[derive(Default)]
struct Open {
    names: Vec<String>,
    seen: BTreeSet<String>,
}

impl Open {
    /// Adds the placeholders of these texts that neither the values nor the names of others fill.
    fn add<'a>(&mut self, texts: impl Iterator<Item = &'a str>, values: &[&Map<String, Value>], others: &[&str]) {
        let filled = |name: &str| {
            let mut given = values.iter().filter_map(|values| values.get(name));
            others.contains(&name) || given.any(|value| !is_blank(value))
        };
        for name in texts.flat_map(placeholders).filter(|name| !filled(name)) {
            if self.seen.insert(name.clone()) {
                self.names.push(name);
            }
        }
    }
}

/// Returns the texts of the tools that are enabled.
fn tool_texts(tools: &BuiltInTools) -> impl Iterator<Item = &str> {
    fn of(tool: &BuiltInTool) -> Option<&Option<String>> {
        tool.enabled.then_some(&tool.description)
    }
    let (agents, numbers) = (&tools.transfer_to_agent, &tools.transfer_to_number);
    let voicemail = &tools.voicemail_detection;
    let described = [
        &tools.end_call,
        &tools.language_detection,
        &tools.skip_turn,
        &agents.tool,
        &numbers.tool,
        &voicemail.tool,
    ];
    let to_agents = agents.transfers.iter().filter(|_| agents.tool.enabled);
    let to_numbers = numbers.transfers.iter().filter(|_| numbers.tool.enabled);
    described
        .into_iter()
        .filter_map(of)
        .chain(voicemail.tool.enabled.then_some(&voicemail.voicemail_message))
        .chain(to_agents.flat_map(|transfer| [&transfer.condition, &transfer.transfer_message]))
        .chain(to_numbers.map(|transfer| &transfer.condition))
        .filter_map(|text| text.as_deref())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_text_of_an_agent_is_searched() {
        let agent: Agent = serde_json::from_value(json!({
            "conversationConfig": {
                "agent": {
                    "prompt": { "prompt": "{{one}} {{own}} {{system__time}}", "builtInTools": {
                        "endCall": { "enabled": true, "description": "{{three}}" },
                        "skipTurn": { "enabled": false, "description": "{{off}}" },
                        "voicemailDetection": {
                            "enabled": true, "description": "{{four}}", "voicemailMessage": "{{five}}",
                        },
                        "transferToAgent": { "enabled": true, "transfers": [
                            { "condition": "{{six}}", "transferMessage": "{{seven}}" },
                        ] },
                        "transferToNumber": { "enabled": true, "transfers": [{ "condition": "{{eight}}" }] },
                    } },
                    "greetingMessage": "{{two}} {{one}} {{blank}}",
                    "dynamicVariables": { "own": 1, "blank": " " },
                },
                "conversation": { "listeningAnnouncement": "{{own}} {{announced}}" },
                "languagePresets": {
                    "de": { "overrides": { "agent": {
                        "greetingMessage": "{{own}} {{eleven}} {{german}}", "prompt": { "prompt": "{{ten}}" },
                        "dynamicVariables": { "german": "ja" },
                    } } },
                    "fr": {},
                },
            },
            "platformSettings": {
                "dataCollection": { "entities": { "day": { "description": "{{nine}}" }, "note": {} } },
                "callActions": { "postCallEmail": { "enabled": true, "emailConfiguration": {
                    "subject": "{{day}} {{status}} {{system__call_duration_secs}} {{twelve}} {{system__time}} {{own}}",
                } } },
            },
        }))
        .unwrap();
        let open = open_placeholders(&agent, &["{{tool}} {{one}}".to_owned()]);
        let expected = [
            "one",
            "announced",
            "two",
            "blank",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "tool",
            "nine",
            "ten",
            "eleven",
            "twelve",
        ];
        assert_eq!(open, expected);
    }
}
