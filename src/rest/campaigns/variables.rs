//! `{{variables}}` of an agent that some contacts of a campaign give no value to.

use actors::{agent::Agent, ports::store::CampaignContact, template};
use serde_json::Value;

/// Names that the service fills in itself.
const SYSTEM_PREFIX: &str = "system__";

/// The variables an agent uses without a value of its own, and how many contacts leave each one open.
#[derive(Debug, Clone, Default)]
pub struct OpenVariables {
    open: Vec<(String, u64)>,
    contacts: u64,
}

impl OpenVariables {
    /// The variables that `agent` expects its contacts to fill.
    pub fn of(agent: &Agent) -> Self {
        let own = &agent.conversation_config.agent.dynamic_variables;
        let open = template::agent_placeholders(agent)
            .into_iter()
            .filter(|name| !name.starts_with(SYSTEM_PREFIX) && own.get(name).is_none_or(is_blank))
            .map(|name| (name, 0))
            .collect();
        Self { open, contacts: 0 }
    }

    /// Counts what `contact` leaves open.
    pub fn count(&mut self, contact: &CampaignContact) {
        self.contacts += 1;
        for (name, count) in &mut self.open {
            if !has_value(contact, name) {
                *count += 1;
            }
        }
    }

    /// What there is to say, if anything.
    pub fn warning(&self) -> Option<String> {
        let texts: Vec<String> = self
            .open
            .iter()
            .filter(|(_, count)| *count > 0)
            .map(|(name, count)| {
                format!(
                    "`{{{{{name}}}}}` has no value for {count} of {} contacts",
                    self.contacts
                )
            })
            .collect();
        (!texts.is_empty()).then(|| format!("{}; it is spoken as nothing there", texts.join(", ")))
    }
}

fn is_blank(value: &Value) -> bool {
    match value {
        Value::String(text) => text.trim().is_empty(),
        Value::Null => true,
        _ => false,
    }
}

fn has_value(contact: &CampaignContact, name: &str) -> bool {
    match name {
        "phoneNumber" => true,
        "name" => contact.name.is_some(),
        "email" => contact.email.is_some(),
        other => contact.extra.get(other).is_some_and(|value| !is_blank(value)),
    }
}

#[cfg(test)]
mod tests {
    use actors::phone_number::PhoneNumber;
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_neither_agent_nor_contact_fills_is_reported() {
        let document = json!({
            "name": "a",
            "conversationConfig": { "agent": {
                "prompt": { "prompt": "{{name}} {{city}} {{shop}} {{system__time}}" },
                "dynamicVariables": { "shop": "Ada's" },
            } },
        });
        let agent = actors::agent::complete(document.as_object().unwrap()).unwrap();
        let mut open = OpenVariables::of(&agent);
        for city in [json!("Bonn"), json!(" ")] {
            let extra = json!({ "city": city });
            open.count(&CampaignContact {
                phone_number: PhoneNumber::parse("+15551234567").unwrap(),
                contact: None,
                name: Some("Ada".into()),
                email: None,
                extra: extra.as_object().unwrap().clone(),
            });
        }
        let warning = open.warning().unwrap();
        assert!(warning.contains("`{{city}}` has no value for 1 of 2"), "{warning}");
        assert!(
            !warning.contains("name}}") && !warning.contains("shop") && !warning.contains("system"),
            "{warning}"
        );
    }
}
