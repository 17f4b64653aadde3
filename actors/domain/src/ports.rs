//! The ports: traits for everything outside the domain, with their data and errors. Adapters live in the root package.

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

/// Everything a node needs from outside, handed down the tree.
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
    /// What the agent says next.
    pub language_model: Arc<dyn language_model::LanguageModel>,
    /// Tools that run outside the call.
    pub tools: Arc<dyn tool_runner::ToolRunner>,
    /// What agents know.
    pub knowledge: Arc<dyn knowledge::KnowledgeBase>,
    /// How the providers are.
    pub health: Arc<dyn health::ProviderHealth>,
    /// Where recordings are kept.
    pub recordings: Arc<dyn recordings::Recordings>,
    /// The wall clock.
    pub clock: Arc<dyn Clock>,
}
