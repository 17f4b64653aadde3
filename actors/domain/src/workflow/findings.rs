//! Findings about a graph: what is wrong with it, and what has no effect.

use std::collections::BTreeSet;

use super::Graph;

/// Something to report about a graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Dotted path in the agent, such as `workflow.edges.e1.target`.
    pub path: String,
    /// Message for people.
    pub message: String,
    /// Whether the graph cannot be used because of it. Otherwise a part has no effect.
    pub blocks: bool,
}

/// Things outside a graph that it may refer to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Known {
    /// Those of its references that exist in the account.
    pub references: References,
    /// Variables that the agent declares or collects, and those of every call.
    pub variables: BTreeSet<String>,
}

/// Ids of tools, agents and documents or groups.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct References {
    /// Tools.
    pub tools: BTreeSet<String>,
    /// Agents.
    pub agents: BTreeSet<String>,
    /// Documents and groups.
    pub documents: BTreeSet<String>,
}

/// Returns what is to report about a graph.
pub fn findings(graph: &Graph, _known: &Known) -> Vec<Finding> {
    graph.found.clone()
}
