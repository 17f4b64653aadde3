//! Inputs of a walk, and the steps that it asks its call for.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    expression::Question,
    graph::{Message, Outcome},
};
use crate::{
    agent::UsableTransfer,
    id::{AgentId, ToolId},
};

/// An event for the walk.
#[derive(Debug, Clone, PartialEq)]
pub enum Input<'a> {
    /// The call begins, or the agent with this graph takes it over from another agent.
    Begin,
    /// The present node is taken up again, because the call's process died or its end was prevented. Nothing that
    /// reaches outside is done twice.
    Resumed {
        /// Result of what the node had begun; none if nothing is known of it.
        done: Option<bool>,
    },
    /// The caller's turn ended.
    Heard {
        /// Words of the caller.
        said: &'a str,
    },
    /// The message of a [`Step::Say`] was heard or interrupted.
    Spoken,
    /// All tools of a [`Step::RunTools`] answered or timed out.
    ToolsDone {
        /// Whether all were successful.
        successful: bool,
    },
    /// Answer to a [`Step::Judge`].
    Judged {
        /// The choice.
        choice: Choice,
        /// Values in the order of the questions; none for a value that the model did not give.
        values: Vec<Option<Value>>,
    },
    /// The present node could not be entered: its agent is gone, its tools are unavailable, its destination refused.
    NotEntered,
}

/// Choice among the candidates of a [`Step::Judge`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// The candidate with this index.
    Candidate(usize),
    /// None of them: the call stays, or goes on by an edge for that.
    Stay,
    /// The answer is late or failed. The call stays.
    Missed,
}

/// Next step of the call.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Ask the model once for a choice among the candidates and "stay", and for the values. Answered by
    /// [`Input::Judged`]; without a model, by [`super::judge::by_words`].
    Judge {
        /// Conditions to choose from; may be empty.
        candidates: Vec<Candidate>,
        /// Values to get from the conversation; may be empty.
        questions: Vec<Question>,
    },
    /// Let the agent reply.
    Reply,
    /// Wait: for the caller, or for what was asked for before.
    Wait,
    /// Speak a message. Answered by [`Input::Spoken`].
    Say {
        /// Id of the node, whose changes of the agent hold for the message.
        node: String,
        /// The message.
        message: Message,
    },
    /// Use this node's changes of the agent from here on.
    Adopt {
        /// Id of the node.
        node: String,
        /// Whether the agent speaks now, or waits for the caller.
        reply: bool,
    },
    /// Run these tools side by side. Answered by [`Input::ToolsDone`] or [`Input::NotEntered`].
    RunTools {
        /// Id of the node.
        node: String,
        /// Ids of the tools; not empty.
        tools: Vec<ToolId>,
    },
    /// Transfer the call. Answered by [`Input::NotEntered`] if that fails.
    Transfer {
        /// Id of the node.
        node: String,
        /// The transfer.
        transfer: UsableTransfer,
    },
    /// Hand the call to another agent: [`super::Walk::handed_to`] begins there. Answered by [`Input::NotEntered`]
    /// if there is no such agent.
    HandTo {
        /// Id of the node.
        node: String,
        /// The other agent.
        to: HandOver,
    },
    /// End the call in order, with a goodbye if none was said.
    End {
        /// Id of the node.
        node: String,
        /// Result of the call.
        outcome: Option<Outcome>,
    },
}

/// A condition that the router chooses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Candidate {
    /// Id of the edge; none for a global node.
    pub edge: Option<String>,
    /// Id of the node it leads to.
    pub to: String,
    /// Whether the edge is taken backward.
    pub backward: bool,
    /// The condition.
    pub condition: String,
}

/// A hand-over to another agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandOver {
    /// Id of the agent.
    pub agent: AgentId,
    /// Id of the node where the call enters that agent's graph; none for its start.
    pub entry: Option<String>,
    /// Silence before, in milliseconds.
    pub delay_ms: u64,
    /// Message before; may contain placeholders.
    pub message: Option<String>,
    /// Whether the other agent greets.
    pub greets: bool,
}

/// Result of an input.
#[derive(Debug, Clone, PartialEq)]
pub struct Moves {
    /// Moves that were made, in order.
    pub hops: Vec<Hop>,
    /// Next step.
    pub step: Step,
}

/// A move from node to node, or the reason why there is none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hop {
    /// Id of the node that was left; none at the beginning.
    pub from: Option<String>,
    /// Id of the node that was reached.
    pub to: String,
    /// Id of the edge; none if no edge was taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edge: Option<String>,
    /// Whether the edge was taken from target to source.
    pub backward: bool,
    /// Cause of the move.
    pub cause: Cause,
    /// Condition or label of the edge.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub judged: Option<String>,
}

/// Cause of a move.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The call entered the graph.
    Begin,
    /// An unconditional edge.
    Unconditional,
    /// An edge that the router chose.
    Llm,
    /// The result of a tool node.
    Result,
    /// An expression.
    Expression,
    /// Nothing else held.
    Else,
    /// The condition of a global node.
    Global,
    /// The end of a global node.
    GoBack,
    /// A `standalone_agent` node within the same agent.
    Jump,
    /// The node could not be entered, and has no edge for that.
    NotEntered,
    /// Too many moves without a word of the caller; the call stays.
    TooManyHops,
}
