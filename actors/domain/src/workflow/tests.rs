//! Tests of graphs: reading, findings, walks.

mod callers;
mod examples;
mod findings;
mod official;
mod random;
mod reading;
mod structure;
mod walking;

use std::collections::BTreeMap;

use serde_json::Value;

use super::*;
use crate::{agent::Workflow, id::AgentId};

/// Reads a graph, which must be one.
fn read(workflow: &Value) -> Graph {
    let workflow: Workflow = serde_json::from_value(workflow.clone()).unwrap();
    Graph::read(&workflow).unwrap()
}

/// A call in a graph.
struct Call {
    graph: Graph,
    walk: Walk,
    known: BTreeMap<String, String>,
}

impl Call {
    fn new(workflow: &Value) -> Self {
        Self {
            graph: read(workflow),
            walk: Walk::new(AgentId::new()),
            known: BTreeMap::new(),
        }
    }

    /// Takes an input. Returns the nodes that were reached, with `edge>` before each, and the step.
    fn take(&mut self, input: &Input<'_>) -> (Vec<String>, Step) {
        let Moves { hops, step } = self.walk.step(&self.graph, &self.known, input);
        let told = hops.iter().map(|hop| match &hop.edge {
            Some(edge) => format!("{edge}>{}", hop.to),
            None => format!("{:?}>{}", hop.cause, hop.to),
        });
        (told.collect(), step)
    }

    /// Takes the caller's words and answers each question by words. Returns the nodes and the last step.
    fn hear(&mut self, said: &str) -> (Vec<String>, Step) {
        let (mut path, mut step) = self.take(&Input::Heard { said });
        while let Step::Judge { candidates, questions } = &step {
            let (choice, values) = judge::by_words(candidates, questions, said, self.walk.values());
            let (further, next) = self.take(&Input::Judged { choice, values });
            path.extend(further);
            step = next;
        }
        (path, step)
    }
}

/// Adds nodes and edges to a graph.
fn extended(mut workflow: Value, nodes: &Value, edges: &Value) -> Value {
    workflow["nodes"]
        .as_object_mut()
        .unwrap()
        .extend(nodes.as_object().unwrap().clone());
    workflow["edges"]
        .as_object_mut()
        .unwrap()
        .extend(edges.as_object().unwrap().clone());
    workflow
}
