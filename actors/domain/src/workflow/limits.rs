//! Limits of a graph, checked when it is saved.

use serde_json::{Map, Value};

use crate::problem::Problem;

/// Returns the limits that a document's graph exceeds.
pub fn limit_problems(_document: &Map<String, Value>) -> Vec<Problem> {
    Vec::new()
}
