//! `POST /public/v1/knowledge-base/search`: the passages that a question finds, searched as in a call.

use axum::extract::State;
use domain::{
    agent,
    knowledge::{QUESTION_CHARACTERS, Question},
    ports::{knowledge::FoundPassage, store::StoreError},
};
use serde::Serialize;
use tokio::sync::Semaphore;
use utoipa::ToSchema;

use super::group::{DOCUMENT_IDS, document_ids};
use crate::{
    caller::Caller,
    request::{
        body::JsonObject,
        fields::Fields,
        query::{NoParameters, Query},
    },
    resources::campaigns::create::agent_id,
    response::{
        envelope::Reply,
        error::{ApiError, ApiResult, OrNoSuch},
    },
    state::RestState,
};

/// Searches of this node at once. Each may index the documents first.
static SEARCHING: Semaphore = Semaphore::const_new(2);

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
    let mut fields = Fields::of(&body, "");
    fields.only(&["question", "agentId", DOCUMENT_IDS]);
    let words = fields.required_string("question").unwrap_or_default().trim();
    let length = words.chars().count();
    if fields.problems.is_empty() && !(1..=QUESTION_CHARACTERS).contains(&length) {
        let message = format!("has {length} characters; write 1 to {QUESTION_CHARACTERS}");
        fields.problem("question", "out_of_range", message);
    }
    let agent = agent_id(&mut fields);
    let documents = document_ids(&state, &account, &mut fields).await?;
    if fields.problems.is_empty() && agent.is_some() == documents.is_some() {
        fields.problem("agentId", "required", "give either `agentId` or `documentIds`");
    }
    fields.end()?;
    let held: Vec<String> = match agent {
        Some(id) => {
            let row = state.store.agent(account.id, id).await.or_no_such("agent")?;
            let agent = agent::complete(&row.document);
            let agent = agent.map_err(|error| StoreError::Damaged(format!("agent {id}: {error}")))?;
            agent.conversation_config.agent.prompt.knowledge_base
        }
        None => documents.iter().flatten().map(ToString::to_string).collect(),
    };
    let _turn = SEARCHING.acquire().await.map_err(|_| ApiError::Internal)?;
    let opened = state.knowledge.open(account.id, &held).await.map_err(|error| {
        tracing::warn!(%error, "documents not opened");
        ApiError::Unavailable("the documents cannot be read at the moment; try again".into())
    })?;
    let passages = opened.passages(&Question::of_words(words)).await;
    Ok(Reply::ok(KnowledgeFound { passages }))
}
