//! Tools that run outside the call: what an agent may use beside the tools it is born with, and one run of one of them.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use async_trait::async_trait;
use serde_json::Value;

use crate::{
    agent::Agent,
    id::{AccountId, AgentId, AttemptId},
    phone_number::PhoneNumber,
};

/// A tool as a model is offered it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolOffer {
    /// What the model calls it; an agent has no two of one name.
    pub name: String,
    /// What it does and when it is wanted.
    pub description: String,
    /// Its arguments: a JSON Schema of an object.
    pub parameters: Value,
    /// The most time of one run; the call gives up after that.
    pub within: Duration,
    /// How its runner finds it again; no model sees it.
    pub key: String,
}

/// The call that a tool runs for.
#[derive(Debug, Clone)]
pub struct ToolScope {
    /// Whose call it is.
    pub account: AccountId,
    /// The conversation.
    pub attempt: AttemptId,
    /// Who speaks at present.
    pub agent_id: AgentId,
    /// The same, complete with defaults.
    pub agent: Arc<Agent>,
    /// Values of the placeholders.
    pub variables: Arc<BTreeMap<String, String>>,
    /// The other person's number.
    pub number: PhoneNumber,
}

/// One run.
#[derive(Debug, Clone)]
pub struct ToolRun {
    /// For which call.
    pub scope: ToolScope,
    /// Which tool, as it was offered.
    pub offer: ToolOffer,
    /// What the model gave: an object, otherwise as it came.
    pub arguments: Value,
    /// Counts the runs of a call.
    pub number: u64,
}

/// Why a run has no result, in words for the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToolFault {
    /// The arguments are not what the tool takes; nothing was done.
    #[error("the arguments are not taken: {0}")]
    Arguments(String),
    /// It is not allowed, or not there; nothing was done.
    #[error("refused: {0}")]
    Refused(String),
    /// It failed; something may have been done.
    #[error("failed: {0}")]
    Failed(String),
    /// It took longer than it may; something may have been done.
    #[error("no answer within {} ms", .0.as_millis())]
    TimedOut(Duration),
}

/// Whoever runs tools. A run is dropped with its call.
#[async_trait]
pub trait ToolRunner: Send + Sync {
    /// What the agent of a call may use; asked as the call begins, and when another agent takes it over.
    ///
    /// # Errors
    ///
    /// It cannot be told at present.
    async fn offered(&self, scope: &ToolScope) -> Result<Vec<ToolOffer>, ToolFault>;

    /// Runs a tool that was offered. What it answers is shown to the model as it is, so it has to be short.
    ///
    /// # Errors
    ///
    /// In words for the model, without secrets.
    async fn run(&self, run: ToolRun) -> Result<Value, ToolFault>;
}

/// Several runners as one. Of two tools with one name the first runner's is offered.
#[async_trait]
impl ToolRunner for Vec<Arc<dyn ToolRunner>> {
    async fn offered(&self, scope: &ToolScope) -> Result<Vec<ToolOffer>, ToolFault> {
        let mut all: Vec<ToolOffer> = Vec::new();
        for (place, runner) in self.iter().enumerate() {
            for offer in runner.offered(scope).await? {
                if all.iter().all(|other| other.name != offer.name) {
                    let key = format!("{place}:{}", offer.key);
                    all.push(ToolOffer { key, ..offer });
                }
            }
        }
        Ok(all)
    }

    async fn run(&self, mut run: ToolRun) -> Result<Value, ToolFault> {
        let found = run.offer.key.split_once(':').and_then(|(place, key)| {
            let runner = self.get(place.parse::<usize>().ok()?)?;
            Some((runner, key.to_owned()))
        });
        let (runner, key) = found.ok_or_else(|| ToolFault::Refused("there is no such tool".into()))?;
        run.offer.key = key;
        runner.run(run).await
    }
}
