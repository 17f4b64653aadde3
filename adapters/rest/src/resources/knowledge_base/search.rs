//! `POST /public/v1/knowledge-base/search`: the passages that a question finds, searched as in a call.

use axum::extract::State;
use domain::{
    agent,
    id::{AgentId, DocumentId},
    knowledge::Question,
    ports::{knowledge::FoundPassage, store::StoreError},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::Semaphore;
use utoipa::ToSchema;

use super::group::{DOCUMENT_IDS, check_documents};
use crate::{
    caller::Caller,
    described::bodies,
    request::{
        body::JsonObject,
        checked::Checked,
        query::{NoParameters, Query},
    },
    response::{
        envelope::Reply,
        error::{ApiError, ApiResult, OrNoSuch},
    },
    state::RestState,
};

/// Searches of this node at once. Each may index the documents first.
static SEARCHING: Semaphore = Semaphore::const_new(2);

/// A question, and the documents to search: those of an agent, or some.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KnowledgeQuestion {
    /// Words as a person may say them.
    #[schema(max_length = 600, pattern = r"\S")]
    pub question: String,
    /// Agent whose documents are searched.
    #[schema(value_type = Option<String>, format = "uuid")]
    pub agent_id: Option<AgentId>,
    /// Documents that are searched, without repetition.
    #[schema(value_type = Option<Vec<bodies::DocumentId>>, max_items = 200)]
    pub document_ids: Option<Vec<DocumentId>>,
}

/// Passages that a question finds.
#[derive(Debug, Serialize, ToSchema)]
pub struct KnowledgeFound {
    /// At most 30 passages, best first.
    passages: Vec<FoundPassage>,
}

/// Handles the request.
pub async fn search(
    State(state): State<RestState>,
    Caller(account): Caller,
    _: Query<NoParameters>,
    JsonObject(body): JsonObject,
) -> ApiResult<Reply> {
    let is_blank = body.get("question").is_some_and(Value::is_string);
    let mut body = Checked::<KnowledgeQuestion>::of(&body);
    body.recode("question", "too_long", "out_of_range");
    if is_blank {
        body.recode("question", "required", "out_of_range");
    }
    check_documents(&state, &account, &mut body).await?;
    if !body.is_refused("") && body.sound("agentId").is_some() == body.sound(DOCUMENT_IDS).is_some() {
        body.problem("agentId", ("required", "give either `agentId` or `documentIds`".into()));
    }
    let KnowledgeQuestion {
        question,
        agent_id,
        document_ids,
    } = body.end()?;
    let held: Vec<String> = match agent_id {
        Some(id) => {
            let row = state.store.agent(account.id, id).await.or_no_such("agent")?;
            let agent = agent::complete(&row.document);
            let agent = agent.map_err(|error| StoreError::Damaged(format!("agent {id}: {error}")))?;
            agent.conversation_config.agent.prompt.knowledge_base
        }
        None => document_ids.iter().flatten().map(ToString::to_string).collect(),
    };
    let _turn = SEARCHING.acquire().await.map_err(|_| ApiError::Internal)?;
    let opened = state.knowledge.open(account.id, &held).await.map_err(|error| {
        tracing::warn!(%error, "documents not opened");
        ApiError::Unavailable("the documents cannot be read at the moment; try again".into())
    })?;
    let passages = opened.passages(&Question::of_words(question.trim())).await;
    Ok(Reply::ok(KnowledgeFound { passages }))
}
