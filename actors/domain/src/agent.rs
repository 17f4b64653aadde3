//! The agent object of the contract, typed and complete: every default is filled in when a stored document is read.

mod calendars;
mod changes;
mod config;
mod description;
mod document;
mod figure;
mod placeholders;
mod platform;
mod rules;
mod shape;
mod table;
mod tools;
mod transfers;

pub use calendars::CalendarProvider;
pub use changes::Successor;
pub use config::*;
pub use description::*;
pub use document::*;
pub use placeholders::agent_placeholders;
pub use platform::*;
pub use tools::*;
pub use transfers::UsableTransfer;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::phone_number::PhoneNumber;
pub use crate::problem::Problem;

/// Names of carriers that an agent's numbers may be at. `plain` is the door for calls that their caller holds by a
/// WebSocket; no call goes out there.
pub const PROVIDERS: [&str; 7] = [
    "twilio",
    "signalwire",
    "telnyx",
    "vonage",
    "asterisk",
    "simulated",
    "plain",
];

/// Which calls an agent takes part in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// It dials.
    #[default]
    Outbound,
    /// It is called.
    Inbound,
    /// Both.
    Both,
}

/// A number that reaches an agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AgentPhoneNumber {
    /// Carrier.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// E.164.
    pub number: String,
    /// For people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

/// `workflow`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Workflow {
    /// Map of id to edge.
    #[schema(value_type = Object)]
    pub edges: Map<String, Value>,
    /// Map of id to node.
    #[schema(value_type = Object)]
    pub nodes: Map<String, Value>,
    /// Whether subagents may call each other in a circle.
    pub prevent_subagent_loops: bool,
}

/// The part of an agent that clients write. Serialises with every default filled in.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Agent {
    /// Display name.
    pub name: String,
    /// Which calls it takes part in.
    pub direction: Direction,
    /// For organising agents.
    pub tags: Vec<String>,
    /// How it talks.
    pub conversation_config: ConversationConfig,
    /// What happens around its calls.
    pub platform_settings: PlatformSettings,
    /// Its numbers.
    pub phone_numbers: Vec<AgentPhoneNumber>,
    /// Its workflow.
    pub workflow: Workflow,
}

impl Agent {
    /// Whether it takes calls at all.
    pub fn takes_calls(&self) -> bool {
        match self.direction {
            Direction::Inbound | Direction::Both => true,
            Direction::Outbound => false,
        }
    }

    /// Whether it takes calls to this number that come in at this carrier. A number without a carrier is at any.
    pub fn answers(&self, number: &PhoneNumber, carrier: &str) -> bool {
        let mut own = self.phone_numbers.iter();
        self.takes_calls()
            && own.any(|own| {
                let here = own.provider.as_deref().is_none_or(|provider| provider == carrier);
                here && PhoneNumber::parse(&own.number).as_ref() == Ok(number)
            })
    }
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
