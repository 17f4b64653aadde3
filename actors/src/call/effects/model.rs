//! What the model is asked, as which agent, and with which tools and knowledge.

pub mod another_agent;
pub mod outside_tools;
pub mod placeholders;
pub mod planned;
pub mod replying;
pub mod workflow;

use std::sync::Arc;

use tokio::task::AbortHandle;

use self::{another_agent::Found, outside_tools::OutsideTools, workflow::Graphs};
use crate::call::knowledge::CallKnowledge;
use domain::{agent::Agent, knowledge::Excerpt, ports::tool_runner::ToolOffer};

/// The reply in progress, and what it is made with.
pub struct ModelSide {
    tools: OutsideTools,
    /// The agent the call began with. Its rules also bind the agents that take the call over.
    began_with: Arc<Agent>,
    /// Another agent that was looked up.
    found: Option<Found>,
    knowledge: CallKnowledge,
    /// In a test call, the passages of the reply whose turn is not recorded yet.
    passages: Vec<Excerpt>,
    graphs: Graphs,
    reply_generation: u64,
    reply_task: Option<AbortHandle>,
}

impl ModelSide {
    pub fn new(began_with: Arc<Agent>, knowledge: CallKnowledge) -> Self {
        Self {
            tools: OutsideTools::default(),
            began_with,
            found: None,
            knowledge,
            passages: Vec::new(),
            graphs: Graphs::default(),
            reply_generation: 0,
            reply_task: None,
        }
    }

    pub fn awaits(&self, generation: u64) -> bool {
        generation == self.reply_generation
    }

    pub fn set_node_offers(&mut self, offers: Arc<[ToolOffer]>) {
        self.graphs.offers = offers;
    }

    pub fn take_passages(&mut self) -> Vec<Excerpt> {
        std::mem::take(&mut self.passages)
    }
}
