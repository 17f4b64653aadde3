//! The introduction for an assistant that asks who is calling and why. It is built from what the agent would
//! say anyway.

use std::collections::BTreeMap;

use domain::agent::Agent;

/// Longest first sentence of a prompt, in bytes, that is taken for an introduction. A longer one is an instruction.
const LONGEST_ROLE: usize = 160;

/// Returns name and purpose: the greeting without its questions, or without a greeting the agent's name, its
/// role (if the prompt begins with "You are") and the person it wants to reach.
pub(super) fn introduction(agent: &Agent, greeting: Option<&str>, variables: &BTreeMap<String, String>) -> String {
    let name = agent.name.trim();
    let said = statements(greeting.unwrap_or_default());
    let named = name.is_empty() || said.to_lowercase().contains(&name.to_lowercase());
    let mut text = match named {
        true => String::new(),
        false => format!("This is {name}."),
    };
    if !said.is_empty() {
        push(&mut text, &said);
        return text;
    }
    let prompt = agent.conversation_config.agent.prompt.prompt.as_str();
    if let Some(role) = role(prompt) {
        push(&mut text, &format!("I am {role}"));
    }
    if let Some(wanted) = variables.get("name").filter(|name| !name.trim().is_empty()) {
        push(&mut text, &format!("I am calling for {}.", wanted.trim()));
    }
    match text.is_empty() {
        true => "I am calling for the person at this number.".to_owned(),
        false => text,
    }
}

fn push(text: &mut String, more: &str) {
    if !text.is_empty() {
        text.push(' ');
    }
    text.push_str(more);
}

/// Returns the sentences that are not questions, since nobody is there to answer yet.
fn statements(text: &str) -> String {
    let sentences = text.split_inclusive(['.', '!', '?']).map(str::trim);
    let told = sentences.filter(|sentence| !sentence.is_empty() && !sentence.ends_with('?'));
    told.collect::<Vec<_>>().join(" ")
}

/// Returns the role in a prompt: "Ava from Greenfield Dental." from "You are Ava from Greenfield Dental. You
/// book check-ups."
fn role(prompt: &str) -> Option<&str> {
    let rest = prompt.trim_start().strip_prefix("You are ")?;
    let end = rest.find(['.', '\n'])?;
    let role = rest.get(..=end)?;
    let plain = role.ends_with('.') && role.len() <= LONGEST_ROLE && !role.contains(['{', '}', ':', '#']);
    plain.then_some(role)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn introduced(name: &str, greeting: Option<&str>, prompt: &str, wanted: Option<&str>) -> String {
        let agent: Agent = serde_json::from_value(json!({
            "name": name,
            "conversationConfig": { "agent": { "prompt": { "prompt": prompt } } }
        }))
        .unwrap();
        let variables = wanted
            .map(|wanted| ("name".to_owned(), wanted.to_owned()))
            .into_iter()
            .collect();
        introduction(&agent, greeting, &variables)
    }

    #[test]
    fn name_and_purpose_come_from_what_the_agent_has() {
        let greeting =
            Some("Hello Maria, this is Ava from Greenfield Dental. You are due for a check-up. Is now fine?");
        assert_eq!(
            introduced("Ava", greeting, "", None),
            "Hello Maria, this is Ava from Greenfield Dental. You are due for a check-up."
        );
        assert_eq!(
            introduced("Ava", Some("Hi! How are you?"), "", None),
            "This is Ava. Hi!"
        );
        assert_eq!(
            introduced(
                "Ava",
                None,
                "You are a clerk of Greenfield Dental. Never laugh.",
                Some("Bo")
            ),
            "This is Ava. I am a clerk of Greenfield Dental. I am calling for Bo."
        );
        assert_eq!(introduced("Ava", None, "Sell, sell, sell.", None), "This is Ava.");
        assert_eq!(introduced("Ava", None, "You are {{role}}. Go.", None), "This is Ava.");
        assert_eq!(
            introduced("", None, "", None),
            "I am calling for the person at this number."
        );
    }
}
