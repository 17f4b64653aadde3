//! An agent's `{{variables}}` that have no value for some contacts of a campaign.

use std::collections::HashMap;

use domain::{
    agent::{self, Agent},
    id::{AccountId, ToolId},
    ports::store::{CampaignContact, Store},
    template::is_blank,
};
use serde_json::{Map, Value};

use crate::response::error::ApiResult;

/// Maximum number of variables in a warning.
const LISTED: usize = 20;

/// Variables that an agent uses without a value of its own, and how many contacts fill each.
///
/// Counting a contact takes time in proportion to its fields. A prompt may have tens of thousands of
/// variables, and a campaign a million contacts.
#[derive(Debug, Clone, Default)]
pub struct OpenVariables {
    /// Variables in the order in which the agent uses them.
    names: Vec<String>,
    filled: HashMap<String, u64>,
    contacts: u64,
}

impl OpenVariables {
    /// Returns the variables that `agent` and its HTTP tools expect contacts to fill.
    pub async fn of(store: &dyn Store, account: AccountId, agent: &Agent) -> ApiResult<Self> {
        let ids = agent.conversation_config.agent.prompt.tool_ids.iter();
        let ids: Vec<ToolId> = ids.filter_map(|id| id.parse().ok()).collect();
        let tools = match ids.is_empty() {
            true => Vec::new(),
            false => store.tools_of(account, &ids).await?,
        };
        let described: Vec<String> = tools.into_iter().map(|row| row.tool.description).collect();
        Ok(Self::named(agent::open_placeholders(agent, &described)))
    }

    fn named(names: Vec<String>) -> Self {
        Self {
            filled: names.iter().map(|name| (name.clone(), 0)).collect(),
            names,
            contacts: 0,
        }
    }

    /// Returns whether there are such variables.
    pub fn any(&self) -> bool {
        !self.names.is_empty()
    }

    /// Counts the variables that `contact` fills, also through the saved contact with its number.
    pub fn count(&mut self, contact: &CampaignContact, saved: Option<&Map<String, Value>>) {
        self.contacts += 1;
        let own = [
            ("phoneNumber", true),
            ("name", contact.name.is_some()),
            ("email", contact.email.is_some()),
        ];
        let own_names = own.map(|(name, _)| name);
        let extra = contact
            .extra
            .iter()
            .chain(
                saved
                    .into_iter()
                    .flatten()
                    .filter(|(name, _)| !fills(&contact.extra, name)),
            )
            .filter(|(name, value)| !own_names.contains(&name.as_str()) && !is_blank(value))
            .map(|(name, _)| name.as_str());
        let filled = own.into_iter().filter_map(|(name, filled)| filled.then_some(name));
        for name in filled.chain(extra) {
            if let Some(count) = self.filled.get_mut(name) {
                *count += 1;
            }
        }
    }

    /// Returns a warning about missing values, if any.
    pub fn warning(&self) -> Option<String> {
        let mut open = self.names.iter().filter_map(|name| {
            let missing = self.contacts - self.filled.get(name).copied().unwrap_or(0);
            (missing > 0).then_some((name, missing))
        });
        let texts: Vec<String> = open
            .by_ref()
            .take(LISTED)
            .map(|(name, missing)| {
                let shown: String = name.chars().take(100).collect();
                match self.contacts {
                    1 => format!("`{{{{{shown}}}}}` has no value"),
                    all => format!("`{{{{{shown}}}}}` has no value for {missing} of {all} contacts"),
                }
            })
            .collect();
        let rest = match open.count() {
            0 => String::new(),
            more => format!(", and {more} more variables"),
        };
        let place = if self.contacts == 1 { "" } else { " there" };
        (!texts.is_empty()).then(|| format!("{}{rest}; it is left empty{place}", texts.join(", ")))
    }
}

/// Returns whether a contact has its own value, which replaces the saved one.
fn fills(extra: &Map<String, Value>, name: &str) -> bool {
    extra.get(name).is_some_and(|value| !is_blank(value))
}

#[cfg(test)]
mod tests {
    use domain::phone_number::PhoneNumber;
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
        let agent = domain::agent::complete(document.as_object().unwrap()).unwrap();
        let mut open = OpenVariables::named(agent::open_placeholders(&agent, &[]));
        for city in [json!("Bonn"), json!(" ")] {
            let extra = json!({ "city": city });
            let contact = CampaignContact {
                phone_number: PhoneNumber::parse("+15551234567").unwrap(),
                contact: None,
                name: Some("Ada".into()),
                email: None,
                extra: extra.as_object().unwrap().clone(),
            };
            open.count(&contact, None);
        }
        assert!(open.any());
        let warning = open.warning().unwrap();
        assert!(warning.contains("`{{city}}` has no value for 1 of 2"), "{warning}");
        assert!(
            !warning.contains("name}}") && !warning.contains("shop") && !warning.contains("system"),
            "{warning}"
        );
    }
}
