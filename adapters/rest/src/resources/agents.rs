//! Agents: created, read and patched as documents. Their rules are in the domain crate.

pub mod tools;
pub mod transfer_rules;

pub mod duplicate;
pub mod versions;

use axum::{extract::State, response::Response};
use domain::{
    agent::{self, Agent, Problem},
    conversation::CreatedBy,
    id::AgentId,
    phone_number::PhoneNumber,
    ports::store::{Account, AgentFilter, AgentRow, KeyTicket, StoreError},
};
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::campaigns::begin::joined;
use crate::{
    access::idempotency::{IdempotencyKey, RequestHash},
    caller::Caller,
    request::{
        agent_references,
        body::JsonObject,
        cursor::Binding,
        optimistic::{IfMatch, until_written},
        path_id::PathId,
        query::{NoParameters, Paging, Parameters, Query, RawQuery},
    },
    response::{
        envelope::Reply,
        error::{ApiError, ApiResult, Conflict, OrNoSuch, removed},
    },
    state::RestState,
};

/// An agent in a response. Its own fields are described by the domain's table.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ShownAgent {
    agent_id: AgentId,
    #[serde(flatten)]
    agent: Agent,
    metadata: AgentMetadata,
}

/// Id of a new agent.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentCreated {
    /// Id of the agent.
    #[schema(value_type = String, format = "uuid")]
    pub agent_id: AgentId,
}

/// When and by whom an agent was created, and when it was changed.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentMetadata {
    /// When the agent was created; ISO 8601, UTC.
    #[schema(format = DateTime)]
    pub created_at: String,
    /// When the agent was last changed; ISO 8601, UTC.
    #[schema(format = DateTime)]
    pub updated_at: String,
    /// User who created the agent.
    pub created_by: CreatedBy,
}

/// Handles `POST /public/v1/agents/create`.
pub async fn create(
    State(state): State<RestState>,
    Caller(account): Caller,
    key: IdempotencyKey,
    _: Query<NoParameters>,
    JsonObject(body): JsonObject,
) -> ApiResult<Response> {
    let turn = key.take(&state, account.id, "create agent", || RequestHash::of_json(&body));
    turn.await?
        .answer(
            async |ticket| {
                let row = make(&state, &account, body, ticket.as_ref()).await?;
                Ok(with_graph_warning(&state, row).await)
            },
            async |id| {
                let row = state.store.agent(account.id, id).await.or_no_such("agent")?;
                Ok(with_graph_warning(&state, row).await)
            },
            |(row, warning): &(AgentRow, Option<String>)| created(&state, row, warning.clone()),
        )
        .await
}

/// Returns a new agent with the warning about its conversation graph.
async fn with_graph_warning(state: &RestState, row: AgentRow) -> (AgentRow, Option<String>) {
    let warning = agent_references::graph(&*state.store, &row).await;
    (row, warning)
}

/// Returns the answer about a new agent, with a further warning if there is one.
fn created(state: &RestState, row: &AgentRow, warning: Option<String>) -> Reply {
    let agent = agent::complete(&row.document).ok();
    let mut warnings: Vec<String> = warning.into_iter().collect();
    warnings.extend(agent.into_iter().flat_map(|agent| (state.limits)(&agent)));
    Reply::created(AgentCreated { agent_id: row.id })
        .version(row.version)
        .warning(joined(&warnings))
}

async fn make(
    state: &RestState,
    account: &Account,
    body: Map<String, Value>,
    ticket: Option<&KeyTicket>,
) -> ApiResult<AgentRow> {
    let document = agent::validate_create(&Value::Object(body)).map_err(ApiError::Invalid)?;
    check_references(state, account, &document, None).await?;
    match state.store.create_agent(account.id, document.clone(), ticket).await {
        Err(StoreError::Exists(_)) => Err(number_in_use(state, account, None, &document).await),
        made => Ok(made?),
    }
}

/// Parameters of the list.
#[derive(Debug, Clone)]
pub struct ListParameters {
    tag: Option<String>,
    search: Option<String>,
    paging: Paging,
}

impl Parameters for ListParameters {
    const NAMES: &'static [&'static str] = &["tag", "search", "cursor", "pageSize"];

    fn read(query: &mut RawQuery) -> Self {
        Self {
            tag: query.text("tag").filter(|tag| !tag.is_empty()),
            search: query.search(),
            paging: Paging::read(query),
        }
    }
}

/// Handles `GET /public/v1/agents`, newest first. If agents are large, a page may be shorter than requested.
pub async fn list(
    State(state): State<RestState>,
    Caller(account): Caller,
    Query(ListParameters { tag, search, paging }): Query<ListParameters>,
) -> ApiResult<Reply> {
    let searched = search.as_ref().map(|text| format!("{text:?}")).unwrap_or_default();
    let binding = Binding::new(account.id, "agents", format!("{tag:?}{searched}"));
    let after = binding.after(paging.cursor.as_deref())?;
    let filter = AgentFilter {
        tag,
        name: search,
        after,
    };
    let page = state.store.agents(account.id, filter, paging.page_size).await?;
    let items = page.rows.iter().map(|row| view(row, &account));
    let items = items.collect::<ApiResult<Vec<ShownAgent>>>()?;
    let last = page.rows.last().filter(|_| page.more);
    let last = last.map(|row| (row.created_at, row.id.to_string()));
    Ok(Reply::page(items, binding.pagination(paging.page_size, last)))
}

/// Handles `DELETE /public/v1/agents/{agentId}`.
pub async fn delete(
    State(state): State<RestState>,
    Caller(account): Caller,
    PathId(id): PathId<AgentId>,
    _: Query<NoParameters>,
) -> ApiResult<Reply> {
    let removal = state.store.delete_agent(account.id, id).await;
    removed(removal.or_no_such("agent")?, "agent")?;
    Ok(Reply::deleted("agentId", id))
}

/// Handles `GET /public/v1/agents/{agentId}`, with the warning about the agent's conversation graph.
pub async fn show(
    State(state): State<RestState>,
    Caller(account): Caller,
    PathId(id): PathId<AgentId>,
    _: Query<NoParameters>,
) -> ApiResult<Reply> {
    let row = state.store.agent(account.id, id).await.or_no_such("agent")?;
    let warning = agent_references::graph(&*state.store, &row).await;
    Ok(Reply::ok(view(&row, &account)?).version(row.version).warning(warning))
}

/// Handles `PATCH /public/v1/agents/{agentId}`.
pub async fn patch(
    State(state): State<RestState>,
    Caller(account): Caller,
    PathId(id): PathId<AgentId>,
    expected: IfMatch,
    _: Query<NoParameters>,
    JsonObject(patch): JsonObject,
) -> ApiResult<Reply> {
    let patch = Value::Object(patch);
    save(&state, &account, (id, expected), |row| {
        agent::merge_patch(&row.document, &patch).map_err(ApiError::Invalid)
    })
    .await
}

/// Saves the document that `change` makes of the present agent, if that has the expected version. Returns the agent
/// with its warnings.
pub async fn save(
    state: &RestState,
    account: &Account,
    (id, expected): (AgentId, IfMatch),
    change: impl Fn(&AgentRow) -> ApiResult<Map<String, Value>>,
) -> ApiResult<Reply> {
    let outcome = until_written(async || {
        let row = state.store.agent(account.id, id).await.or_no_such("agent")?;
        expected.check(row.version)?;
        let document = change(&row)?;
        check_references(state, account, &document, Some(&row.document)).await?;
        let update = state.store.update_agent(account.id, id, row.version, document.clone());
        match update.await {
            Err(StoreError::Exists(_)) => Err(number_in_use(state, account, Some(id), &document).await),
            outcome => Ok(outcome),
        }
    });
    let row = outcome.await?.or_no_such("agent")?;
    // The change is written, so that a failure here must not look like one of the change.
    let ignored = agent_references::ignored_rules(&*state.store, &row)
        .await
        .ok()
        .flatten();
    let shown = view(&row, account)?;
    let mut warnings = (state.limits)(&shown.agent);
    warnings.extend(agent_references::ignored_transfers(&row));
    warnings.extend(ignored);
    warnings.extend(agent_references::graph(&*state.store, &row).await);
    Ok(Reply::ok(shown).version(row.version).warning(joined(&warnings)))
}

/// Returns an error that names the numbers the agent cannot have.
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
        // They became free this moment, so the general message is enough.
        return StoreError::Exists("number").into();
    }
    let numbers: Vec<&str> = numbers.iter().map(PhoneNumber::as_str).collect();
    ApiError::Conflict(
        Conflict::NumberInUse,
        format!(
            "{}: belongs to another account, or is answered by another agent with direction `inbound` or `both`; leave \
             it out, or remove it from that agent first",
            numbers.join(", ")
        ),
    )
}

/// Checks that the ids in a document exist in the account, and that its webhook is not a private address.
pub async fn check_references(
    state: &RestState,
    account: &Account,
    document: &Map<String, Value>,
    stored: Option<&Map<String, Value>>,
) -> ApiResult<()> {
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
    problems.extend(agent_references::transfer_rules(store, account.id, document, stored).await?);
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

fn view(row: &AgentRow, account: &Account) -> ApiResult<ShownAgent> {
    let agent = agent::complete(&row.document);
    Ok(ShownAgent {
        agent_id: row.id,
        agent: agent.map_err(|error| StoreError::Damaged(format!("agent {}: {error}", row.id)))?,
        metadata: AgentMetadata {
            created_at: row.created_at.to_iso8601(),
            updated_at: row.updated_at.to_iso8601(),
            created_by: CreatedBy::of(account),
        },
    })
}
