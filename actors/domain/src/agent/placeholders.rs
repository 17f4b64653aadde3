//! The variables used in the texts of an agent.

use std::collections::BTreeSet;

use super::{Agent, BuiltInTools};
use crate::template::placeholders;

/// Returns the names used in the spoken texts and instructions of an agent, in order of first use, without duplicates.
pub fn agent_placeholders(agent: &Agent) -> Vec<String> {
    let section = &agent.conversation_config.agent;
    let mut texts = vec![section.prompt.prompt.as_str()];
    texts.extend(section.greeting_message.as_deref());
    texts.extend(tool_texts(&section.prompt.built_in_tools));
    let mut seen = BTreeSet::new();
    texts
        .into_iter()
        .flat_map(placeholders)
        .filter(|name| seen.insert(name.clone()))
        .collect()
}

fn tool_texts(tools: &BuiltInTools) -> impl Iterator<Item = &str> {
    let descriptions = [
        &tools.end_call.description,
        &tools.language_detection.description,
        &tools.skip_turn.description,
        &tools.transfer_to_agent.tool.description,
        &tools.transfer_to_number.tool.description,
        &tools.voicemail_detection.tool.description,
        &tools.voicemail_detection.voicemail_message,
    ];
    let to_agents = tools.transfer_to_agent.transfers.iter();
    let to_numbers = tools.transfer_to_number.transfers.iter();
    descriptions
        .into_iter()
        .chain(to_agents.flat_map(|transfer| [&transfer.condition, &transfer.transfer_message]))
        .chain(to_numbers.map(|transfer| &transfer.condition))
        .filter_map(|text| text.as_deref())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_of_an_agent_is_searched() {
        let mut agent = Agent::default();
        let section = &mut agent.conversation_config.agent;
        section.prompt.prompt = "{{one}}".into();
        section.greeting_message = Some("{{two}} {{one}}".into());
        let tools = &mut section.prompt.built_in_tools;
        tools.end_call.description = Some("{{three}}".into());
        tools.voicemail_detection.voicemail_message = Some("{{four}}".into());
        tools.transfer_to_agent.transfers = vec![crate::agent::AgentTransfer {
            transfer_message: Some("{{five}}".into()),
            ..Default::default()
        }];
        assert_eq!(agent_placeholders(&agent), ["one", "two", "three", "four", "five"]);
    }
}
