//! The agent object, typed: what clients write, with all defaults filled in.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{config::ConversationConfig, platform::PlatformSettings};
use crate::phone_number::PhoneNumber;

/// Directions of calls that an agent takes part in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// It places calls.
    #[default]
    Outbound,
    /// It takes incoming calls.
    Inbound,
    /// Both.
    Both,
}

/// A phone number of an agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AgentPhoneNumber {
    /// Carrier.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// Number in E.164.
    pub number: String,
    /// Label for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

/// `workflow`: the conversation graph.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Workflow {
    /// Map of id to edge.
    #[schema(value_type = Object)]
    pub edges: Map<String, Value>,
    /// Map of id to node.
    #[schema(value_type = Object)]
    pub nodes: Map<String, Value>,
    /// Whether a call may enter each agent only once. Also read as `prevent_subagent_loops`.
    pub prevent_subagent_loops: bool,
    /// Model that judges `llm` conditions, as in `agent.prompt.llm`. If unset, the agent's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(extensions(("x-ringback-extension" = json!(true))))]
    pub router: Option<String>,
}

/// The part of an agent that clients write. Serialises with all defaults filled in.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Agent {
    /// Display name.
    pub name: String,
    /// Directions of its calls.
    pub direction: Direction,
    /// Tags for organising agents.
    pub tags: Vec<String>,
    /// Conversation settings.
    pub conversation_config: ConversationConfig,
    /// Settings around its calls.
    pub platform_settings: PlatformSettings,
    /// Phone numbers of the agent.
    pub phone_numbers: Vec<AgentPhoneNumber>,
    /// Conversation graph.
    pub workflow: Workflow,
    /// Conversation settings in the agent's own language, while it speaks another one.
    #[serde(skip)]
    pub(super) own_language: Option<Arc<ConversationConfig>>,
    /// Whether a call overrides the voice. A change of language then keeps it.
    #[serde(skip)]
    pub(super) keeps_voice: bool,
}

impl Agent {
    /// Returns whether it takes incoming calls.
    pub fn takes_calls(&self) -> bool {
        match self.direction {
            Direction::Inbound | Direction::Both => true,
            Direction::Outbound => false,
        }
    }

    /// Returns whether it takes calls to this number at this carrier. A number without a carrier matches any carrier.
    pub fn answers(&self, number: &PhoneNumber, carrier: &str) -> bool {
        let mut own = self.phone_numbers.iter();
        self.takes_calls()
            && own.any(|own| {
                let here = own.provider.as_deref().is_none_or(|provider| provider == carrier);
                here && PhoneNumber::stored(&own.number).as_ref() == Ok(number)
            })
    }

    /// Returns all texts of its own that the agent may say.
    pub fn disclosure_texts(&self) -> impl Iterator<Item = &str> {
        let settings = &self.platform_settings.disclosure;
        let presets = self.conversation_config.language_presets.values();
        let texts = settings
            .text
            .as_deref()
            .into_iter()
            .chain(presets.filter_map(text_of_preset));
        texts.filter(|_| settings.enabled)
    }
}

/// Returns the text of a language's preset, if it has one.
pub(crate) fn text_of_preset(preset: &Value) -> Option<&str> {
    preset.pointer("/overrides/disclosure/text")?.as_str()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_agent_answers_its_own_numbers_at_their_carriers() {
        let number = PhoneNumber::parse("+15551234567").unwrap();
        let answers = |direction: &str, numbers: Value, carrier: &str| {
            let agent = json!({ "direction": direction, "phoneNumbers": numbers });
            serde_json::from_value::<Agent>(agent)
                .unwrap()
                .answers(&number, carrier)
        };
        let anywhere = json!([{ "number": "+1 (555) 123-4567" }]);
        let there = json!([{ "number": "+15551234568" }, { "number": "+15551234567", "provider": "twilio" }]);
        for direction in ["inbound", "both"] {
            assert!(answers(direction, anywhere.clone(), "telnyx"));
            assert!(answers(direction, there.clone(), "twilio"));
            assert!(!answers(direction, there.clone(), "telnyx"));
            assert!(!answers(direction, json!([]), "telnyx"));
        }
        assert!(!answers("outbound", anywhere, "twilio"));
    }
}
