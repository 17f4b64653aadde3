//! Knowledge of agents: documents opened for a call, and the passages that match its last turn.

use std::sync::Arc;

use async_trait::async_trait;

use crate::{
    id::AccountId,
    knowledge::{Knowledge, Question},
};

/// The knowledge cannot be opened now.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("knowledge unavailable: {0}")]
pub struct KnowledgeError(pub String);

/// The documents of all accounts.
#[async_trait]
pub trait KnowledgeBase: Send + Sync {
    /// Opens the documents of an account's agent as they are now. `held` are the ids of documents and groups
    /// in its `knowledgeBase`; ids that do not belong to the account are ignored.
    async fn open(&self, account: AccountId, held: &[String]) -> Result<Arc<dyn OpenKnowledge>, KnowledgeError>;
}

/// Opened documents, which do not change any more.
#[async_trait]
pub trait OpenKnowledge: Send + Sync {
    /// Returns the passages that a reply may use: those that match the last turn, or general ones if nothing
    /// was said yet.
    async fn find(&self, question: Option<&Question>) -> Knowledge;
}
