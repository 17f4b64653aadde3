//! The graph and its parts.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{expression::Expression, finding::Finding};
use crate::agent::{Entities, Entity};

/// A graph.
#[derive(Debug, Clone, PartialEq)]
pub struct Graph {
    pub(super) nodes: BTreeMap<String, Node>,
    pub(super) edges: BTreeMap<String, Edge>,
    /// Ways out of each node, in order of evaluation.
    pub(super) ways: BTreeMap<String, Vec<Way>>,
    /// Whether a call may enter each agent only once.
    pub(super) prevents_loops: bool,
    /// Model that judges `llm` conditions; none for the agent's own.
    pub router: Option<String>,
    /// Findings of the reading itself.
    pub(super) found: Vec<Finding>,
}

/// A node.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    pub kind: NodeKind,
    pub changes: Changes,
    pub global: Option<Global>,
    /// Variables that are extracted from the caller's words in this node.
    pub extract: Entities,
}

/// Type of a node, with the fields of that type.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub(crate) enum NodeKind {
    Start,
    End {
        outcome: Option<Outcome>,
    },
    UpdateState {
        updates: Vec<Update>,
    },
    /// The agent talks, with the changes of the node.
    OverrideAgent {
        #[serde(default)]
        entry_behavior: EntryBehavior,
    },
    Say {
        message: Message,
        /// Whether the edges wait for the caller's answer.
        #[serde(default)]
        wait_for_user_response: bool,
    },
    /// Runs tools side by side.
    Tool {
        tools: Vec<String>,
    },
    /// Hands the call to another agent, or without `agent_id` to another node of this one.
    StandaloneAgent {
        agent_id: Option<String>,
        node_id: Option<String>,
        #[serde(default)]
        delay_ms: u64,
        transfer_message: Option<String>,
        #[serde(default)]
        enable_transferred_agent_first_message: bool,
    },
    PhoneNumber {
        transfer_destination: PhoneDestination,
        transfer_type: Option<String>,
    },
    /// A node that cannot be read. It cannot be entered.
    #[serde(skip)]
    Unknown,
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
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum EntryBehavior {
    /// It waits after `start` and `say`, else it speaks.
    #[default]
    Auto,
    GenerateImmediately,
    WaitForUser,
}

/// Message of a `say` node, or before a hand-over.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Message {
    /// Spoken as it is, with its placeholders filled in.
    Literal {
        /// The text.
        text: String,
    },
    /// Written by the model.
    Prompt {
        /// Instruction to the model.
        prompt: String,
    },
}

/// Assignment of an `update_state` node.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Update {
    pub variable_name: String,
    pub expression: Expression,
    /// False if the model may leave out the values that the expression asks for.
    pub required: Option<bool>,
}

/// Destination of a `phone_number` node. With `dynamic_variable` in its type, a variable holds it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub(crate) enum PhoneDestination {
    Phone { phone_number: String },
    PhoneDynamicVariable { phone_number: String },
    SipUri { sip_uri: String },
    SipUriDynamicVariable { sip_uri: String },
}

/// Changes of the agent while it talks in a node. All are in addition to the agent's own.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct Changes {
    /// Part of `conversationConfig`, in our spelling and without `null`.
    #[serde(rename = "conversationConfig")]
    pub config: Map<String, Value>,
    #[serde(rename = "additionalPrompt")]
    pub prompt: Option<String>,
    #[serde(rename = "additionalKnowledgeBase")]
    pub knowledge_base: Vec<String>,
    #[serde(rename = "additionalToolIds")]
    pub tool_ids: Vec<String>,
}

/// Condition under which a node is reached from everywhere.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Global {
    pub condition: String,
    /// Turns of the caller before the node can be reached so again.
    #[serde(default)]
    pub cooldown_turns: u32,
    /// Whether the call goes back afterwards.
    #[serde(default)]
    pub go_back: bool,
}

/// An edge.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Edge {
    pub source: String,
    pub target: String,
    /// Condition from source to target.
    pub forward_condition: Option<Condition>,
    /// Condition from target back to source.
    pub backward_condition: Option<Condition>,
}

/// Condition of an edge in one direction.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct Condition {
    pub label: Option<String>,
    #[serde(flatten)]
    pub test: Test,
}

/// Type of a condition.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Test {
    /// Holds as soon as the node is done.
    Unconditional,
    /// Judged by the model.
    Llm {
        condition: String,
    },
    /// Result of the tool node before.
    Result {
        successful: bool,
    },
    Expression {
        expression: Expression,
    },
    /// Holds if nothing else does.
    Else,
}

/// A way out of a node: an edge in one direction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Way {
    /// Id of the edge.
    pub edge: String,
    /// Id of the node it leads to.
    pub to: String,
    /// Whether it goes from target to source.
    pub backward: bool,
}

impl Edge {
    /// Returns the conditions with the names of their fields.
    pub(super) fn tests(&self) -> impl Iterator<Item = (&'static str, &Test)> {
        let both = [
            ("forwardCondition", &self.forward_condition),
            ("backwardCondition", &self.backward_condition),
        ];
        both.into_iter()
            .filter_map(|(name, condition)| Some((name, &condition.as_ref()?.test)))
    }
}

impl Graph {
    pub(crate) fn node(&self, id: &str) -> Option<&Node> {
        self.nodes.get(id)
    }

    /// Returns the id of the first start.
    pub(super) fn start(&self) -> Option<&str> {
        let start = self.nodes.iter().find(|(_, node)| node.kind == NodeKind::Start);
        start.map(|(id, _)| id.as_str())
    }

    /// Returns the ways out of a node, in order of evaluation.
    pub(super) fn ways(&self, node: &str) -> &[Way] {
        self.ways.get(node).map_or(&[], Vec::as_slice)
    }

    /// Returns the condition of a way.
    pub(super) fn condition(&self, way: &Way) -> Option<&Condition> {
        let edge = self.edges.get(&way.edge)?;
        let condition = if way.backward {
            &edge.backward_condition
        } else {
            &edge.forward_condition
        };
        condition.as_ref()
    }

    /// Returns the variables that a node extracts from the caller's words.
    pub fn extracts(&self, node: &str) -> &[(String, Entity)] {
        self.nodes.get(node).map_or(&[], |node| node.extract.as_slice())
    }
}
