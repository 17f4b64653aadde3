//! The ports: traits for everything outside the domain, with their data and errors. Adapters implement them.

pub mod analyst;
pub mod carrier;
pub mod health;
pub mod knowledge;
pub mod language_model;
pub mod media_leg;
pub mod recordings;
pub mod store;
pub mod synthesizer;
pub mod tool_runner;
pub mod transcriber;
pub mod usage;

use std::sync::Arc;

use crate::time::Clock;

/// Why an agent cannot be called: a sentence that names the setting it needs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotReady(pub String);

/// Everything that a node needs from outside, passed down the actor tree.
#[derive(Clone)]
pub struct Ports {
    /// The database.
    pub store: Arc<dyn store::Store>,
    /// The carriers that place calls.
    pub carriers: carrier::Carriers,
    /// Speech to text.
    pub transcriber: Arc<dyn transcriber::Transcriber>,
    /// Text to speech.
    pub synthesizer: Arc<dyn synthesizer::Synthesizer>,
    /// The language model, which decides what the agent says next.
    pub language_model: Arc<dyn language_model::LanguageModel>,
    /// Tools that run outside the call.
    pub tools: Arc<dyn tool_runner::ToolRunner>,
    /// The agents' knowledge.
    pub knowledge: Arc<dyn knowledge::KnowledgeBase>,
    /// The health of the providers.
    pub health: Arc<dyn health::ProviderHealth>,
    /// The storage of recordings.
    pub recordings: Arc<dyn recordings::Recordings>,
    /// The wall clock.
    pub clock: Arc<dyn Clock>,
}
