//! Agents: made, read and patched as documents; their rules are the domain's.

use actors::{
    agent::{self, Problem},
    id::AgentId,
    ports::store::{Account, AgentRow, StoreError},
};
use serde_json::{Map, Value, json};

use super::{
    RestState, agent_references,
    auth::Caller,
    body::JsonObject,
    envelope::Reply,
    error::{ApiError, ApiResult, OrNoSuch},
    idempotency::{IdempotencyKey, RequestHash, Turn},
    path_id::PathId,
    query::{NoParameters, Query},
};

/// How often a patch is tried when other requests change the agent meanwhile: each time one of them got through, so
/// that so many clients at once are served.
const PATCH_TRIES: usize = 64;

/// `POST /public/v1/agents/create`.
pub async fn create(
    State(state): State<RestState>,
    Caller(account): Caller,
    key: IdempotencyKey,
    _: Query<NoParameters>,
    JsonObject(body): JsonObject,
) -> ApiResult<Response> {
    let hash = || RequestHash::of_json(&body);
    match key.take(&state, account.id, "create agent", hash).await? {
        Turn::Again(replay) => {
            let row = state.store.agent(account.id, replay.id()?).await.or_no_such("agent")?;
            Ok(replay.mark(created(&row)))
        }
        Turn::First(held) => {
            let made = make(&state, &account, body, held.ticket()).await;
            Ok(created(&held.end(made).await?).into_response())
        }
    }
}

async fn make(
    state: &RestState,
    account: &Account,
    body: Map<String, Value>,
    ticket: Option<&KeyTicket>,
) -> ApiResult<AgentRow> {
    let document = agent::validate_create(&Value::Object(body)).map_err(ApiError::Invalid)?;
    check_references(&state, &account, &document).await?;
    let row = state.store.create_agent(account.id, document).await?;
    Ok(Reply::created(json!({ "agentId": row.id })))
}

/// `GET /public/v1/agents/{agentId}`.
pub async fn show(
    State(state): State<RestState>,
    Caller(account): Caller,
    PathId(id): PathId<AgentId>,
    _: Query<NoParameters>,
) -> ApiResult<Reply> {
    let row = state.store.agent(account.id, id).await.or_no_such("agent")?;
    Ok(Reply::ok(view(&row, &account)?))
}

/// `PATCH /public/v1/agents/{agentId}`.
pub async fn patch(
    State(state): State<RestState>,
    Caller(account): Caller,
    PathId(id): PathId<AgentId>,
    _: Query<NoParameters>,
    JsonObject(patch): JsonObject,
) -> ApiResult<Reply> {
    let patch = Value::Object(patch);
    let mut outcome = Err(StoreError::Stale);
    for _ in 0..PATCH_TRIES {
        let row = state.store.agent(account.id, id).await.or_no_such("agent")?;
        let document = agent::merge_patch(&row.document, &patch).map_err(ApiError::Invalid)?;
        check_references(&state, &account, &document).await?;
        outcome = state.store.update_agent(account.id, id, row.version, document).await;
        if outcome != Err(StoreError::Stale) {
            break;
        }
    }
    Ok(Reply::ok(view(&outcome.or_no_such("agent")?, &account)?))
}

/// Ids in a document must exist in the account, and its webhook must not be a private address. Tools have no place of
/// their own yet, so that none of them exists.
async fn check_references(state: &RestState, account: &Account, document: &Map<String, Value>) -> ApiResult<()> {
    let store = &*state.store;
    let mut problems = Vec::new();
    for (path, text) in agent::referenced_agents(document) {
        let known = match text.parse() {
            Ok(id) => store.agent(account.id, id).await.map(drop),
            Err(_) => Err(StoreError::NotFound),
        };
        match known {
            Ok(()) => {}
            Err(StoreError::NotFound) => problems.push(missing(path, "agent", &text)),
            Err(other) => return Err(other.into()),
        }
    }
    problems.extend(agent_references::knowledge(store, account.id, document).await?);
    let tools = agent::referenced_tools(document).into_iter();
    problems.extend(tools.map(|(path, text)| missing(path, "tool", &text)));
    problems.extend(agent_references::webhook(&state.address_policy, document));
    if problems.is_empty() {
        Ok(())
    } else {
        Err(ApiError::Invalid(problems))
    }
}

fn missing(path: String, thing: &str, id: &str) -> Problem {
    Problem::new(path, "not_found", format!("there is no {thing} `{id}` in this account"))
}

fn view(row: &AgentRow, account: &Account) -> ApiResult<Value> {
    let complete = agent::complete(&row.document).and_then(serde_json::to_value);
    let complete = complete.map_err(|error| StoreError::Damaged(format!("agent {}: {error}", row.id)))?;
    let mut shown = Map::new();
    shown.insert("agentId".into(), json!(row.id));
    if let Value::Object(fields) = complete {
        shown.extend(fields);
    }
    let metadata = json!({
        "createdAt": row.created_at.to_iso8601(),
        "updatedAt": row.updated_at.to_iso8601(),
        "createdBy": { "userId": account.id, "userEmail": account.email },
    });
    shown.insert("metadata".into(), metadata);
    Ok(Value::Object(shown))
}
