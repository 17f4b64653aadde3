//! The ways out of the present node, and their conditions.

use serde_json::Value;

use super::moving::Moving;
use crate::workflow::{
    expression::{Expression, Question, is_true},
    graph::{Test, Way},
    step::Candidate,
};

/// Ways out of a node.
#[derive(Default)]
pub(super) struct FoundWay<'a> {
    /// The first way that holds.
    pub way: Option<&'a Way>,
    /// The way to take if no condition holds.
    pub fallback: Option<&'a Way>,
    /// Whether a condition depends on the model.
    pub is_open: bool,
}

impl<'a> Moving<'a> {
    fn ways(&self) -> &'a [Way] {
        let graph = self.graph;
        self.walk.at.as_deref().map_or(&[], |at| graph.ways(at))
    }

    /// Returns the questions of the ways out, in their order.
    pub(super) fn questions(&self) -> Vec<&'a Question> {
        let graph = self.graph;
        let tests = self.ways().iter().filter_map(|way| Some(&graph.condition(way)?.test));
        let expressions = tests.filter_map(|test| match test {
            Test::Expression { expression } => Some(expression),
            _ => None,
        });
        expressions.flat_map(Expression::questions).collect()
    }

    /// Returns the conditions that a model chooses from; with the global nodes if the caller's turn ended.
    pub(super) fn candidates(&self, heard: bool) -> Vec<Candidate> {
        let own = self
            .ways()
            .iter()
            .filter_map(|way| match &self.graph.condition(way)?.test {
                Test::Llm { condition } => Some(Candidate {
                    edge: Some(way.edge.clone()),
                    to: way.to.clone(),
                    backward: way.backward,
                    condition: condition.clone(),
                }),
                _ => None,
            });
        let nodes = self.graph.nodes.iter().filter(|_| heard);
        let global = nodes.filter_map(|(id, node)| {
            let global = node.global.as_ref()?;
            let is_open = self.walk.at.as_ref() != Some(id) && !self.walk.cooldowns.contains_key(id);
            is_open.then(|| Candidate {
                edge: None,
                to: id.clone(),
                backward: false,
                condition: global.condition.clone(),
            })
        });
        own.chain(global).collect()
    }

    /// Looks for the first way that holds without a model, and with its answers for expressions. An unconditional way
    /// behind an `llm` way counts only after that was judged.
    pub(super) fn first_way(&self, answers: &[Option<Value>]) -> FoundWay<'a> {
        let mut answers = answers.iter();
        let mut found = FoundWay::default();
        let (mut after_llm, mut otherwise) = (None, None);
        let mut has_llm = false;
        for way in self.ways() {
            let Some(condition) = self.graph.condition(way) else {
                continue;
            };
            let holds = match &condition.test {
                Test::Unconditional if has_llm && self.walk.result != Some(false) => {
                    after_llm = after_llm.or(Some(way));
                    false
                }
                Test::Unconditional => true,
                Test::Llm { .. } => {
                    has_llm = true;
                    false
                }
                Test::Result { successful } => self.walk.result == Some(*successful),
                Test::Expression { expression } => {
                    let value = expression.value(&self.scope(), &mut answers);
                    found.is_open |= value.is_none() && expression.questions().next().is_some();
                    value.is_some_and(|value| is_true(&value))
                }
                Test::Else => {
                    otherwise = otherwise.or(Some(way));
                    false
                }
            };
            if holds {
                found.way = found.way.or(Some(way));
            }
        }
        found.is_open |= has_llm;
        found.fallback = after_llm.or(otherwise);
        found
    }
}
