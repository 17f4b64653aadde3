//! Agents: made, read and patched as documents; their rules are the domain's.

use axum::{
    extract::State,
    response::{IntoResponse, Response},
};
use domain::{
    agent::{self, Problem},
    id::AgentId,
    phone_number::PhoneNumber,
    ports::store::{Account, AgentFilter, AgentRow, KeyTicket, Removal, StoreError},
};
use serde_json::{Map, Value, json};

use super::{
    RestState, agent_references,
    auth::Caller,
    body::JsonObject,
    cursor::Binding,
    envelope::Reply,
    error::{ApiError, ApiResult, Conflict, OrNoSuch},
    idempotency::{IdempotencyKey, RequestHash, Turn},
    path_id::PathId,
    query::{NoParameters, Paging, Parameters, Query, RawQuery},
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
    check_references(state, account, &document).await?;
    match state.store.create_agent(account.id, document.clone(), ticket).await {
        Err(StoreError::Exists(_)) => Err(number_in_use(state, account, None, &document).await),
        made => Ok(made?),
    }
}

fn created(row: &AgentRow) -> Reply {
    Reply::created(json!({ "agentId": row.id }))
}

/// Parameters of the list.
#[derive(Debug, Clone)]
pub struct ListParameters {
    tag: Option<String>,
    paging: Paging,
}

impl Parameters for ListParameters {
    const NAMES: &'static [&'static str] = &["tag", "cursor", "pageSize"];

    fn read(query: &mut RawQuery) -> Self {
        Self {
            tag: query.text("tag").filter(|tag| !tag.is_empty()),
            paging: Paging::read(query),
        }
    }
}

/// `GET /public/v1/agents`, newest first. A page may be shorter than asked for where agents are large.
pub async fn list(
    State(state): State<RestState>,
    Caller(account): Caller,
    Query(ListParameters { tag, paging }): Query<ListParameters>,
) -> ApiResult<Reply> {
    let binding = Binding::new(account.id, "agents", format!("{tag:?}"));
    let after = binding.after(paging.cursor.as_deref())?;
    let filter = AgentFilter { tag, after };
    let page = state.store.agents(account.id, filter, paging.page_size).await?;
    let items = page.rows.iter().map(|row| view(row, &account));
    let items = items.collect::<ApiResult<Vec<Value>>>()?;
    let last = page.rows.last().filter(|_| page.more);
    let last = last.map(|row| (row.created_at, row.id.to_string()));
    Ok(Reply::page(items, binding.pagination(paging.page_size, last)))
}

/// `DELETE /public/v1/agents/{agentId}`.
pub async fn delete(
    State(state): State<RestState>,
    Caller(account): Caller,
    PathId(id): PathId<AgentId>,
    _: Query<NoParameters>,
) -> ApiResult<Reply> {
    match state.store.delete_agent(account.id, id).await.or_no_such("agent")? {
        Removal::Done => Ok(Reply::ok(json!({ "agentId": id, "deleted": true }))),
        Removal::Held(holders) => Err(ApiError::held("agent", &holders)),
    }
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
    let mut document = Map::new();
    for _ in 0..PATCH_TRIES {
        let row = state.store.agent(account.id, id).await.or_no_such("agent")?;
        document = agent::merge_patch(&row.document, &patch).map_err(ApiError::Invalid)?;
        check_references(&state, &account, &document).await?;
        let update = state.store.update_agent(account.id, id, row.version, document.clone());
        outcome = update.await;
        if outcome != Err(StoreError::Stale) {
            break;
        }
    }
    if let Err(StoreError::Exists(_)) = outcome {
        return Err(number_in_use(&state, &account, Some(id), &document).await);
    }
    Ok(Reply::ok(view(&outcome.or_no_such("agent")?, &account)?))
}

/// Names the numbers that the agent cannot have.
async fn number_in_use(
    state: &RestState,
    account: &Account,
    agent: Option<AgentId>,
    document: &Map<String, Value>,
) -> ApiError {
    let numbers = match state.store.taken_numbers(account.id, agent, document).await {
        Ok(numbers) => numbers,
        Err(error) => return error.into(),
    };
    if numbers.is_empty() {
        // Given up this moment: the general words will do.
        return StoreError::Exists("number").into();
    }
    let numbers: Vec<&str> = numbers.iter().map(PhoneNumber::as_str).collect();
    ApiError::Conflict(
        Conflict::NumberInUse,
        format!(
            "{}: belongs to another account, or another agent whose direction is `inbound` or `both` answers it; leave \
             it out, or take it from that agent first",
            numbers.join(", ")
        ),
    )
}

/// Ids in a document must exist in the account, and its webhook must not be a private address.
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
    problems.extend(agent_references::tools(store, account.id, document).await?);
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
