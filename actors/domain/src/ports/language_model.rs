//! The language model: what the agent says and does next.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use futures_util::stream::BoxStream;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{store::CallDirection, tool_runner::ToolOffer, usage::Meter};
use crate::{agent::Agent, knowledge::Knowledge, time::Timestamp};

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

/// What is asked of the model.
#[derive(Debug, Clone)]
pub struct ReplyRequest {
    /// The agent, complete with defaults; its texts still hold `{{placeholders}}`.
    pub agent: Arc<Agent>,
    /// Values of the placeholders.
    pub variables: Arc<BTreeMap<String, String>>,
    /// Tools that run outside the call, offered beside the agent's own.
    pub tools: Arc<[ToolOffer]>,
    /// Who called whom.
    pub direction: CallDirection,
    /// The call so far.
    pub history: Vec<HistoryItem>,
    /// What the agent's documents say.
    pub knowledge: Knowledge,
    /// The time, for what is said of it.
    pub now: Timestamp,
    /// Replies in a row that failed before this one: another provider than that of the last one is asked first.
    pub failures: usize,
    /// Counts what is used.
    pub meter: Meter,
}

/// What the model streams.
#[derive(Debug, Clone, PartialEq)]
pub enum ReplyEvent {
    /// More words to speak.
    Text(String),
    /// A tool call. `collect` (`{ "entity", "value" }`), `callLater` (`{ "at" }`, the time in the callee's words or in
    /// ISO 8601) and the built-in tools (`endCall` …) are known to the call.
    Tool {
        /// The tool's name.
        name: String,
        /// Its arguments.
        arguments: Value,
        /// What else the provider put into the call, and wants back with the history.
        echo: Option<Box<Value>>,
    },
}

/// A reply that failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LanguageError {
    /// The provider refuses it and will again.
    #[error("refused by the language model: {0}")]
    Rejected(String),
    /// The provider is busy.
    #[error("language model is busy")]
    Busy {
        /// When to ask again, if it said so.
        retry_after: Option<Duration>,
    },
    /// Not reachable or not well.
    #[error("language model unavailable: {0}")]
    Unavailable(String),
    /// Not in the provider's own format.
    #[error("language model spoke out of turn: {0}")]
    Protocol(String),
}

/// A language model.
pub trait LanguageModel: Send + Sync {
    /// Answers. The stream's end is the end of the reply; dropping it cancels the rest.
    fn reply(&self, request: ReplyRequest) -> BoxStream<'static, Result<ReplyEvent, LanguageError>>;
}
