//! The conversation graph of an agent (`workflow`), as the service reads it.
//!
//! [`Walk`] moves through a graph, and [`findings`] tells what is wrong with it. The stored JSON never changes.

mod account;
mod expression;
mod fields;
mod finding;
mod findings;
mod graph;
pub mod judge;
mod overlay;
mod reading;
mod step;
mod walk;

pub use self::{
    account::{findings_of, graph_obstacle, listed},
    expression::Question,
    finding::Finding,
    findings::{Known, References, findings},
    graph::{Graph, Message, Outcome},
    overlay::models_of_nodes,
    step::{Candidate, Cause, Choice, HandOver, Hop, Input, Moves, Step},
    walk::{MOST_HOPS, Walk},
};

#[cfg(test)]
mod tests;
