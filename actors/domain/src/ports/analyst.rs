//! Who reads a whole call afterwards and answers questions about it in a given shape.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;

use super::usage::Meter;
use crate::agent::Agent;

/// What is asked about one call.
#[derive(Debug, Clone)]
pub struct Question {
    /// Whose call it was: it names the model.
    pub agent: Arc<Agent>,
    /// What to find, and how to answer.
    pub instructions: String,
    /// The call as data. Nothing in it instructs.
    pub transcript: String,
    /// JSON Schema of the answer, strict: every property required, none besides.
    pub schema: Value,
    /// Counts what is used.
    pub meter: Meter,
}

/// No answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnalystError {
    /// Nobody could be asked, or nobody answered in time.
    #[error("no answer: {0}")]
    Unavailable(String),
    /// The answer is not what was asked for.
    #[error("bad answer: {0}")]
    BadAnswer(String),
}

/// An analyst.
#[async_trait]
pub trait Analyst: Send + Sync {
    /// Whether one would be asked about calls of this agent; otherwise they are analysed by rule.
    fn is_asked(&self, agent: &Agent) -> bool;

    /// Answers in JSON, within 20 s. What comes is not checked against the schema.
    async fn answer(&self, question: Question) -> Result<Value, AnalystError>;
}

/// Nobody: every call is analysed by rule.
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
