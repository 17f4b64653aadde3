//! The history of a call that a model reads, and the facts that are stored.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Speaker of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Speaker {
    /// Ringback's agent.
    Agent,
    /// The other person.
    User,
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
}

/// An event of a call, for metrics and debugging.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventFact {
    /// Its name in snake case, such as `barge_in`.
    pub name: String,
    /// Time, in milliseconds into the call.
    pub at_ms: i64,
    /// Details as JSON text; without transcripts and phone numbers.
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
