//! The walk of a call through a graph: a state machine without I/O.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Entry, Graph, Input, Moves, Step};
use crate::id::AgentId;

/// Most moves without a word of the caller.
pub const MOST_HOPS: u32 = 12;

/// Place of a call in a graph. Another process continues the call from the serialised walk.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Walk {
    /// Id of the present node; none before the beginning.
    at: Entry,
    /// Agents that the call went through, with the present one last.
    agents: Vec<AgentId>,
    /// Moves since the caller's last words.
    hops: u32,
    /// Turns of the caller for which a global node cannot be reached.
    cooldowns: BTreeMap<String, u32>,
    /// Values that the graph set.
    values: BTreeMap<String, Value>,
}

impl Walk {
    /// Creates the walk of a call that this agent begins.
    pub fn new(agent: AgentId) -> Self {
        Self {
            at: None,
            agents: vec![agent],
            hops: 0,
            cooldowns: BTreeMap::new(),
            values: BTreeMap::new(),
        }
    }

    /// Returns the walk after a hand-over to an agent, whose graph the call enters at this node.
    #[must_use]
    pub fn handed_to(&self, agent: AgentId, entry: Entry) -> Self {
        let mut agents = self.agents.clone();
        agents.push(agent);
        Self {
            at: entry,
            agents,
            cooldowns: BTreeMap::new(),
            ..self.clone()
        }
    }

    /// Returns the id of the present node; none before the beginning.
    pub fn at(&self) -> Option<&str> {
        self.at.as_deref()
    }

    /// Returns the values that the graph set. They take precedence over the call's own.
    pub fn values(&self) -> &BTreeMap<String, Value> {
        &self.values
    }

    /// Takes an event, and returns the moves and the next step. `known` are the values of the call.
    pub fn step(&mut self, _graph: &Graph, _known: &BTreeMap<String, String>, _input: &Input<'_>) -> Moves {
        Moves {
            hops: Vec::new(),
            step: Step::Reply,
        }
    }
}
