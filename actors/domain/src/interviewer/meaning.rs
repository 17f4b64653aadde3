//! Meaning of a user's turn in an interview.

use serde_json::Value;

use super::phrases::Intent;
use crate::callback_time::SpokenTime;

/// A turn of the user.
#[derive(Debug, Clone, Default)]
pub(super) struct Turn {
    pub text: String,
    pub damaged: bool,
}

/// Interpretation of a user's turn.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Meaning {
    /// An answer to the open question.
    Answer(Value),
    /// A continuation of the previous answer: the index of its question, and the whole answer.
    More(usize, Value),
    /// Something else.
    Aside(Intent),
    /// A wish to be called at this time.
    CallAt(SpokenTime),
    /// A wish to be called by a caller who called us.
    NoCall,
    /// Not an answer, although one was due.
    Unclear,
    /// A mere sound of attention; the answer is still to come.
    Attention,
    /// No answer was due, because the question was not heard yet.
    NotAsked,
}
