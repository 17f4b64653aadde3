//! Tools that run outside the call: the offers to an agent in addition to its built-in tools, and a run of one of them.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use async_trait::async_trait;
use serde_json::Value;

use crate::{
    agent::Agent,
    id::{AccountId, AgentId, AttemptId},
    phone_number::PhoneNumber,
};

/// Name of the tool that makes an appointment.
pub const BOOK_APPOINTMENT: &str = "bookAppointment";

/// A tool as it is offered to a model.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolOffer {
    /// Name for the model; unique for an agent.
    pub name: String,
    /// Description for the model, of what it does and when to use it; may contain placeholders.
    pub description: String,
    /// Arguments, as a JSON Schema of an object.
    pub parameters: Value,
    /// Time limit of one run; the call gives up after it.
    pub within: Duration,
    /// Key by which its runner finds it again; models never see it.
    pub key: String,
}

/// Call that a tool runs for.
#[derive(Debug, Clone)]
pub struct ToolScope {
    /// Owner of the call.
    pub account: AccountId,
    /// The conversation.
    pub attempt: AttemptId,
    /// Id of the agent that speaks now.
    pub agent_id: AgentId,
    /// The same agent, with its defaults filled in.
    pub agent: Arc<Agent>,
    /// Values of the placeholders.
    pub variables: Arc<BTreeMap<String, String>>,
    /// Number of the other person.
    pub number: PhoneNumber,
}

/// One run of a tool.
#[derive(Debug, Clone)]
pub struct ToolRun {
    /// Call for which the tool runs.
    pub scope: ToolScope,
    /// The tool, as it was offered.
    pub offer: ToolOffer,
    /// Arguments from the model: an object, otherwise as they came.
    pub arguments: Value,
    /// Number of the run in its call.
    pub number: u64,
}

/// Reason why a run has no result, as a text for the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToolFault {
    /// The tool does not accept the arguments; nothing was done.
    #[error("invalid arguments: {0}")]
    Arguments(String),
    /// The tool is not allowed or does not exist; nothing was done.
    #[error("refused: {0}")]
    Refused(String),
    /// It failed; something may have been done.
    #[error("failed: {0}")]
    Failed(String),
    /// It exceeded its time limit; something may have been done.
    #[error("no answer within {} ms", .0.as_millis())]
    TimedOut(Duration),
}

/// Runs tools. A run is dropped together with its call.
#[async_trait]
pub trait ToolRunner: Send + Sync {
    /// Returns the tools that the agent of a call may use. Called at the start of the call and when another
    /// agent takes over.
    ///
    /// # Errors
    ///
    /// Returns an error if the tools cannot be looked up now.
    async fn offered(&self, scope: &ToolScope) -> Result<Vec<ToolOffer>, ToolFault>;

    /// Runs an offered tool. Its answer is shown to the model unchanged, so it must be short.
    ///
    /// # Errors
    ///
    /// Returns an error as a text for the model, without secrets.
    async fn run(&self, run: ToolRun) -> Result<Value, ToolFault>;
}

/// Several runners as one. If two tools have the same name, the first runner's is offered.
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
