//! The history of a call that a model reads, and the facts that are stored.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::excerpt::Excerpt;

/// Speaker of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Speaker {
    /// Ringback's agent.
    Agent,
    /// The other person.
    User,
    /// A person of the team who speaks in place of the agent.
    Operator,
}

/// One entry of a call's history, oldest first. It contains what was *heard*, not what was generated.
#[derive(Debug, Clone, PartialEq)]
pub enum HistoryItem {
    /// Spoken text.
    Said {
        /// Speaker.
        speaker: Speaker,
        /// The text; for the agent only the part whose audio was played.
        text: String,
        /// Whether the user interrupted the agent here.
        interrupted: bool,
        /// Whether part of the user's speech was not understood.
        damaged: bool,
    },
    /// A tool the model called, with its result.
    Tool {
        /// The tool's name.
        name: String,
        /// Arguments of the tool call.
        arguments: Value,
        /// Result of the tool call.
        result: Value,
        /// Extra data that the model's provider wants back with the call.
        echo: Option<Box<Value>>,
    },
    /// The user has been silent for `turnTimeout` and the agent speaks up by itself.
    Silence,
}

/// One turn of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnFact {
    /// Number of the turn, counted from 0.
    pub seq: i64,
    /// Speaker.
    pub speaker: Speaker,
    /// Text; for the agent only the part that was played.
    pub text: String,
    /// Start, in milliseconds from the answer.
    pub started_ms: i64,
    /// End, in milliseconds from the answer.
    pub ended_ms: i64,
    /// Whether the agent was interrupted.
    pub interrupted: bool,
    /// Whether part of the user's speech was not understood.
    pub damaged: bool,
    /// Further facts about the agent's turn.
    #[serde(default)]
    pub detail: TurnDetail,
}

/// Further facts about an agent's turn, as far as they are known.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnDetail {
    /// Voice, as `provider:voice` or as the agent names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub voice: Option<String>,
    /// Language model of the words, as `provider/model` or as the agent names it. None for fixed texts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Tokens that the call's models used since the model's turn before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Tokens>,
    /// Text that was being said when the user interrupted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intended: Option<String>,
    /// Passages of the agent's documents that the model was given for the words. In test calls only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passages: Vec<Excerpt>,
}

/// Tokens of language models.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Tokens {
    /// Tokens read, including cached ones.
    #[schema(minimum = 0)]
    pub input: u64,
    /// Tokens among them from the provider's prompt cache.
    #[schema(minimum = 0)]
    pub cached: u64,
    /// Tokens written.
    #[schema(minimum = 0)]
    pub output: u64,
}

impl Tokens {
    /// Returns the tokens since an earlier count. Returns `None` if there are none.
    pub fn since(self, earlier: Self) -> Option<Self> {
        let since = Self {
            input: self.input.saturating_sub(earlier.input),
            cached: self.cached.saturating_sub(earlier.cached),
            output: self.output.saturating_sub(earlier.output),
        };
        (since != Self::default()).then_some(since)
    }
}

/// An event of a call: what happened, for readers, metrics and debugging.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventFact {
    /// Its name in snake case, such as `barge_in`.
    pub name: String,
    /// Time, in milliseconds into the call.
    pub at_ms: i64,
    /// Details as JSON text, without secrets.
    pub detail: String,
}

/// A fact of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fact {
    /// A turn.
    Turn(TurnFact),
    /// An event.
    Event(EventFact),
}
