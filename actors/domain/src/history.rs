//! What is said and done in one call: the history a model reads, and the facts that are written down.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Who spoke.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Speaker {
    /// Ringback's agent.
    Agent,
    /// The person at the other end.
    User,
}

/// One entry of a call's history, oldest first. Holds what was *heard*, not what was generated.
#[derive(Debug, Clone, PartialEq)]
pub enum HistoryItem {
    /// Words that were spoken.
    Said {
        /// By whom.
        speaker: Speaker,
        /// The words; for the agent those whose audio was played.
        text: String,
        /// The agent was cut short here by the user.
        interrupted: bool,
        /// Part of the user's speech was not understood.
        damaged: bool,
    },
    /// A tool the model called, with its result.
    Tool {
        /// The tool's name.
        name: String,
        /// Its arguments.
        arguments: Value,
        /// What it answered.
        result: Value,
        /// What else the model's provider wants back with the call.
        echo: Option<Box<Value>>,
    },
    /// The user has been silent for `turnTimeout` and the agent speaks up by itself.
    Silence,
}

/// One turn of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnFact {
    /// Counts from 0 in the call.
    pub seq: i64,
    /// Who spoke.
    pub speaker: Speaker,
    /// What was said; of the agent only what was played.
    pub text: String,
    /// Milliseconds into the call (from the answer) when it began.
    pub started_ms: i64,
    /// … and ended.
    pub ended_ms: i64,
    /// The agent was cut short.
    pub interrupted: bool,
    /// Part of the user's speech was not understood.
    pub damaged: bool,
}

/// Something that happened in a call, for figures and for finding faults.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventFact {
    /// Its name in snake case, such as `barge_in`.
    pub name: String,
    /// Milliseconds into the call.
    pub at_ms: i64,
    /// Figures as JSON text; no transcript and no number.
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
