//! Judgement of conditions without a model: by shared words, numbers, yes and no, and what was collected.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Candidate, Question};

/// Returns the choice among the candidates (none to stay) and the values, as the words of the caller tell them.
/// `values` are those that the graph set.
pub fn by_words(
    _candidates: &[Candidate],
    questions: &[Question],
    _said: &str,
    _values: &BTreeMap<String, Value>,
) -> (Option<usize>, Vec<Option<Value>>) {
    (None, vec![None; questions.len()])
}
