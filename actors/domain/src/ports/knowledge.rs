//! Knowledge of agents: documents opened for a call, and the passages that match its last turn.

use std::sync::Arc;

use async_trait::async_trait;
use serde::Serialize;

use crate::{
    id::{AccountId, DocumentId},
    knowledge::{Knowledge, Question},
};

/// The knowledge cannot be opened now.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("knowledge unavailable: {0}")]
pub struct KnowledgeError(pub String);

/// A passage that matches a question.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FoundPassage {
    /// Document that contains it.
    #[schema(value_type = String, format = "uuid")]
    pub document_id: DocumentId,
    /// Name of the document.
    pub document_name: String,
    /// Heading above the passage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heading: Option<String>,
    /// Text of the passage.
    pub text: String,
    /// Score; higher is better. Comparable within one search only.
    pub score: f64,
    /// Whether a reply to the question gets the passage.
    pub given: bool,
}

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

    /// Returns the passages that match a question, found in the same way, best first.
    async fn passages(&self, question: &Question) -> Vec<FoundPassage>;
}
