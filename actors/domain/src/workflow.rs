//! The conversation graph of an agent (`workflow`), as the service reads it.
//!
//! Reading is lenient: both spellings of a name are read (`edgeOrder`, `edge_order`), and a part that cannot be
//! read becomes unknown. The stored JSON never changes. [`Walk`] moves through a graph, and [`findings`] tells what
//! is wrong with it.

mod expression;
mod findings;
pub mod judge;
mod limits;
mod overlay;
mod reading;
mod step;
mod walk;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use self::{
    expression::{Comparison, Expression, Operation, Question},
    findings::{Finding, Known, References, findings},
    limits::limit_problems,
    step::{Candidate, Cause, Entry, HandOver, Hop, Input, Moves, Step, Transfer},
    walk::{MOST_HOPS, Walk},
};
use crate::agent::Entities;

/// A graph.
#[derive(Debug, Clone, PartialEq)]
pub struct Graph {
    nodes: BTreeMap<String, Node>,
    edges: BTreeMap<String, Edge>,
    /// Ways out of each node, in order of evaluation.
    ways: BTreeMap<String, Vec<Way>>,
    /// Whether a call may enter each agent only once.
    pub prevents_loops: bool,
    /// Model that judges `llm` conditions; none for the agent's own.
    pub router: Option<String>,
    /// Findings of the reading itself.
    found: Vec<Finding>,
}

/// A node.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Label for people.
    pub label: Option<String>,
    /// Type, with the fields of that type.
    pub kind: NodeKind,
    /// Changes of the agent while it talks in this node; only of `override_agent` and `say`.
    pub changes: Changes,
    /// Condition under which the node is reached from everywhere.
    pub global: Option<Global>,
    /// Variables that are extracted from the caller's words in this node.
    pub extract: Entities,
}

/// Type of a node.
#[derive(Debug, Clone, PartialEq)]
pub enum NodeKind {
    /// The call begins here.
    Start,
    /// The call ends here.
    End {
        /// Whether the call succeeded, if the node says so.
        outcome: Option<Outcome>,
    },
    /// Sets variables.
    UpdateState {
        /// Assignments, in order.
        updates: Vec<Update>,
    },
    /// The agent talks, with changes.
    OverrideAgent {
        /// Behaviour on entry.
        entry: EntryBehavior,
    },
    /// Speaks a message.
    Say {
        /// The message.
        message: Message,
    },
    /// Runs tools side by side.
    Tool {
        /// Ids of the tools.
        tools: Vec<String>,
    },
    /// Hands the call to another agent, or to another node of this one.
    StandaloneAgent {
        /// Id of the agent; none for this one.
        agent: Option<String>,
        /// Node where the call enters that agent's graph; none for its start.
        entry: Option<String>,
        /// Silence before, in milliseconds.
        delay_ms: u64,
        /// Message before.
        message: Option<String>,
        /// Whether the other agent greets.
        greets: bool,
    },
    /// Transfers the call.
    PhoneNumber(PhoneNode),
    /// A type that the service does not know, or a node that cannot be read.
    Unknown {
        /// Name of the type, or why it cannot be read.
        name: String,
    },
}

/// Result that an `end` node gives a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The call reached its aim.
    Success,
    /// It did not.
    Failure,
}

/// Behaviour of an agent that enters an `override_agent` node.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum EntryBehavior {
    /// It waits after `start` and `say`, else it speaks.
    #[default]
    Auto,
    /// It speaks.
    GenerateImmediately,
    /// It waits for the caller.
    WaitForUser,
}

/// Message of a `say` node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// Spoken as it is, with its placeholders filled in.
    Literal(String),
    /// Written by the model from this instruction.
    Prompt(String),
}

/// Assignment of an `update_state` node.
#[derive(Debug, Clone, PartialEq)]
pub struct Update {
    /// Name of the variable.
    pub variable: String,
    /// Value.
    pub expression: Expression,
    /// Whether the model must give the values that the expression asks for.
    pub required: bool,
}

/// Fields of a `phone_number` node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PhoneNode {
    /// `phone`, `phone_dynamic_variable`, `sip_uri` or `sip_uri_dynamic_variable`.
    pub destination_type: String,
    /// Number, address, or name of the variable that holds it.
    pub destination: String,
    /// `blind`, `conference` or `sip_refer`; none for `blind`.
    pub transfer_type: Option<String>,
    /// Keys to press after the answer.
    pub digits: Option<Text>,
    /// SIP headers: name and value.
    pub headers: Vec<(String, Text)>,
    /// User-to-User information.
    pub uui: Option<UserToUser>,
}

/// User-to-User information of a transfer (RFC 7433).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UserToUser {
    /// Data; may contain placeholders.
    pub data: String,
    /// Protocol discriminator: two hexadecimal digits.
    pub discriminator: Option<String>,
    /// Whether the discriminator is a parameter of its own rather than the first octet.
    pub is_parameter: bool,
}

/// A fixed text, or the name of a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Text {
    /// The text.
    Static(String),
    /// Name of the variable that holds it.
    Dynamic(String),
}

/// Changes of the agent within a node. All are in addition to the agent's own.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Changes {
    /// Part of `conversationConfig`, with names in camelCase and without `null`.
    pub config: Map<String, Value>,
    /// Further instructions.
    pub prompt: Option<String>,
    /// Ids of further documents and groups.
    pub knowledge_base: Vec<String>,
    /// Ids of further tools.
    pub tool_ids: Vec<String>,
}

/// Condition under which a node is reached from everywhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Global {
    /// Condition, judged as that of an `llm` edge.
    pub condition: String,
    /// Turns of the caller before the node can be reached so again.
    pub cooldown_turns: u32,
    /// Whether the call goes back afterwards.
    pub go_back: bool,
}

/// An edge.
#[derive(Debug, Clone, PartialEq)]
pub struct Edge {
    /// Id of the node where it begins.
    pub source: String,
    /// Id of the node where it ends.
    pub target: String,
    /// Condition from source to target.
    pub forward: Option<Condition>,
    /// Condition from target back to source.
    pub backward: Option<Condition>,
}

/// Condition of an edge in one direction.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    /// Label for people.
    pub label: Option<String>,
    /// The condition itself.
    pub test: Test,
}

/// Type of a condition.
#[derive(Debug, Clone, PartialEq)]
pub enum Test {
    /// Holds as soon as the node is done.
    Unconditional,
    /// Judged by the model.
    Llm(String),
    /// Holds if the tool node before was successful, or was not.
    Result(bool),
    /// Holds if the expression is true.
    Expression(Expression),
    /// Holds if nothing else does.
    Else,
    /// A type that the service does not know; it never holds.
    Unknown(String),
}

/// A way out of a node: an edge in one direction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Way {
    /// Id of the edge.
    pub edge: String,
    /// Id of the node it leads to.
    pub to: String,
    /// Whether it goes from target to source.
    pub backward: bool,
}

impl Graph {
    /// Returns the nodes by their ids.
    pub fn nodes(&self) -> &BTreeMap<String, Node> {
        &self.nodes
    }

    /// Returns the edges by their ids.
    pub fn edges(&self) -> &BTreeMap<String, Edge> {
        &self.edges
    }

    /// Returns a node.
    pub fn node(&self, id: &str) -> Option<&Node> {
        self.nodes.get(id)
    }

    /// Returns the id of the first start.
    pub fn start(&self) -> Option<&str> {
        let mut nodes = self.nodes.iter();
        let start = nodes.find(|(_, node)| node.kind == NodeKind::Start);
        start.map(|(id, _)| id.as_str())
    }

    /// Returns the ways out of a node, in order of evaluation.
    pub fn ways(&self, node: &str) -> &[Way] {
        self.ways.get(node).map_or(&[], Vec::as_slice)
    }

    /// Returns the condition of a way.
    pub fn condition(&self, way: &Way) -> Option<&Condition> {
        let edge = self.edges.get(&way.edge)?;
        match way.backward {
            false => edge.forward.as_ref(),
            true => edge.backward.as_ref(),
        }
    }

    /// Returns the variables that a node extracts from the caller's words.
    pub fn extracts(&self, node: &str) -> &[(String, crate::agent::Entity)] {
        self.nodes.get(node).map_or(&[], |node| node.extract.as_slice())
    }
}

#[cfg(test)]
mod tests;
