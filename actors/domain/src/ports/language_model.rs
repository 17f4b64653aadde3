//! The language model, which decides what the agent says and does next.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use futures_util::stream::BoxStream;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::{store::CallDirection, tool_runner::ToolOffer, usage::Meter};
pub use crate::history::{HistoryItem, Speaker};
use crate::{agent::Agent, knowledge::Knowledge, time::Timestamp};

/// A request for a reply.
#[derive(Debug, Clone)]
pub struct ReplyRequest {
    /// The agent with its defaults filled in; its texts still contain `{{placeholders}}`.
    pub agent: Arc<Agent>,
    /// Values of the placeholders.
    pub variables: Arc<BTreeMap<String, String>>,
    /// Tools that run outside the call, offered in addition to the agent's own.
    pub tools: Arc<[ToolOffer]>,
    /// Direction of the call.
    pub direction: CallDirection,
    /// The call so far.
    pub history: Vec<HistoryItem>,
    /// Notes that people gave during the call and that hold for this reply, oldest first.
    pub notes: Vec<Note>,
    /// Passages of the agent's documents.
    pub knowledge: Knowledge,
    /// The present time, for the prompt.
    pub now: Timestamp,
    /// Consecutive replies that failed before this one. Another provider than that of the last one is asked first.
    pub failures: usize,
    /// Counts usage.
    pub meter: Meter,
}

/// A note that people gave to the model during the call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// The note.
    pub text: String,
    /// How long it holds.
    pub holds_for: NoteScope,
}

/// How long a note to the model holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum NoteScope {
    /// For the agent's next turn.
    Turn,
    /// For the rest of the call.
    #[default]
    Call,
}

spelled!(NoteScope, Turn "turn", Call "call");

/// An item of a streamed reply.
#[derive(Debug, Clone, PartialEq)]
pub enum ReplyEvent {
    /// More text to speak.
    Text(String),
    /// A tool call. The call itself knows `collect` (`{ "entity", "value" }`), `callLater` (`{ "at" }`, the
    /// time in the callee's words or in ISO 8601) and the built-in tools (`endCall` …).
    Tool {
        /// The tool's name.
        name: String,
        /// Arguments of the tool call.
        arguments: Value,
        /// Extra data of the provider, to be sent back with the history.
        echo: Option<Box<Value>>,
    },
}

/// A reply that failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LanguageError {
    /// The provider rejects the request and would do so again.
    #[error("refused by the language model: {0}")]
    Rejected(String),
    /// The provider is busy.
    #[error("language model is busy")]
    Busy {
        /// Pause requested by the provider, if it named one.
        retry_after: Option<Duration>,
    },
    /// The provider is unreachable or unhealthy.
    #[error("language model unavailable: {0}")]
    Unavailable(String),
    /// The answer breaks the provider's own format.
    #[error("invalid answer from the language model: {0}")]
    Protocol(String),
}

/// A language model.
pub trait LanguageModel: Send + Sync {
    /// Streams a reply. The end of the stream is the end of the reply; dropping it cancels the rest.
    fn reply(&self, request: ReplyRequest) -> BoxStream<'static, Result<ReplyEvent, LanguageError>>;
}
