//! The analyst, which answers questions outside the talk in a given shape: what happened in a finished call, or
//! how sentences read in another language.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;

use super::usage::Meter;
use crate::agent::Agent;

/// A question about a record.
#[derive(Debug, Clone)]
pub struct Question {
    /// Agent that names the model.
    pub agent: Arc<Agent>,
    /// Instructions: what to find and how to answer.
    pub instructions: String,
    /// Subject of the question, such as the lines of a call: one JSON object per line, as data. Nothing in it
    /// counts as an instruction.
    pub record: String,
    /// JSON Schema of the answer. It is strict: every property is required and no others are allowed.
    pub schema: Value,
    /// Counts usage.
    pub meter: Meter,
}

/// Reason why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnalystError {
    /// No provider could be asked, or none answered in time.
    #[error("no answer: {0}")]
    Unavailable(String),
    /// The answer does not fit the question.
    #[error("invalid answer: {0}")]
    BadAnswer(String),
}

/// An analyst.
#[async_trait]
pub trait Analyst: Send + Sync {
    /// Returns whether an analyst answers questions for this agent. Otherwise its calls are analysed by rules.
    fn is_asked(&self, agent: &Agent) -> bool;

    /// Answers in JSON within 20 s. The answer is not checked against the schema.
    async fn answer(&self, question: Question) -> Result<Value, AnalystError>;
}

/// No analyst: every call is analysed by rules.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoAnalyst;

#[async_trait]
impl Analyst for NoAnalyst {
    fn is_asked(&self, _: &Agent) -> bool {
        false
    }

    async fn answer(&self, _: Question) -> Result<Value, AnalystError> {
        Err(AnalystError::Unavailable("there is no analyst".into()))
    }
}
