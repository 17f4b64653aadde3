//! The ports: traits for everything outside the domain, with their data and errors. Adapters implement them.

pub mod analyst;
pub mod carrier;
pub mod catalog;
pub mod health;
pub mod knowledge;
pub mod language_model;
pub mod media_leg;
pub mod recordings;
pub mod services;
pub mod store;
pub mod synthesizer;
pub mod tool_runner;
pub mod transcriber;
pub mod usage;

use std::sync::Arc;

use crate::{
    agent::{Agent, Direction},
    time::Clock,
};

/// Why an agent cannot be called: a sentence that names the setting it needs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotReady(pub String);

/// Check that an agent's calls have every setting they need.
pub type Readiness = Arc<dyn Fn(&Agent) -> Result<(), NotReady> + Send + Sync>;

/// Why an agent cannot place calls.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CannotDial {
    /// The agent only takes calls.
    #[error("this agent's direction is `inbound`: it cannot dial")]
    Inbound,
    /// A setting is missing.
    #[error(transparent)]
    NotReady(#[from] NotReady),
}

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
    /// The analyst, which makes fixed sentences in languages that have none.
    pub analyst: Arc<dyn analyst::Analyst>,
    /// Tools that run outside the call.
    pub tools: Arc<dyn tool_runner::ToolRunner>,
    /// The agents' knowledge.
    pub knowledge: Arc<dyn knowledge::KnowledgeBase>,
    /// The health of the providers.
    pub health: Arc<dyn health::ProviderHealth>,
    /// The check that an agent's outbound calls can be held and go out.
    pub readiness: Readiness,
    /// The storage of recordings.
    pub recordings: Arc<dyn recordings::Recordings>,
    /// The wall clock.
    pub clock: Arc<dyn Clock>,
}

impl Ports {
    /// Checks that an agent may place calls.
    ///
    /// # Errors
    ///
    /// Returns an error if it only takes calls or a setting is missing.
    pub fn may_dial(&self, agent: &Agent) -> Result<(), CannotDial> {
        if agent.direction == Direction::Inbound {
            return Err(CannotDial::Inbound);
        }
        Ok((self.readiness)(agent)?)
    }

    /// Returns why no call of this agent can be placed now. It may become possible later.
    pub fn obstacle(&self, agent: &Agent) -> Option<String> {
        match self.may_dial(agent) {
            Ok(()) => self.health.obstacle(agent),
            Err(why) => Some(why.to_string()),
        }
    }
}
