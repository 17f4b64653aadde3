//! What agents know: documents that were opened for a call, and what of them fits its last words.

use std::sync::Arc;

use async_trait::async_trait;

use crate::{
    id::AccountId,
    knowledge::{Knowledge, Question},
};

/// Knowledge that cannot be opened now.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("knowledge unavailable: {0}")]
pub struct KnowledgeError(pub String);

/// Everybody's documents.
#[async_trait]
pub trait KnowledgeBase: Send + Sync {
    /// The documents that an account's agent holds, by the ids of documents and groups in its `knowledgeBase`, as they are
    /// now. Ids that are not the account's count for nothing.
    async fn open(&self, account: AccountId, held: &[String]) -> Result<Arc<dyn OpenKnowledge>, KnowledgeError>;
}

/// Documents that do not change any more.
#[async_trait]
pub trait OpenKnowledge: Send + Sync {
    /// What a reply may draw on: by the last words, or what is the same for all replies while nothing was said.
    async fn find(&self, question: Option<&Question>) -> Knowledge;
}
