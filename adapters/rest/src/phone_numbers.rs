//! Phone numbers that the account's agents name: what each is used for, and its assignment to an agent.

use axum::{
    Router,
    extract::State,
    routing::{get, patch},
};
use domain::{
    agent,
    id::AgentId,
    phone_number::PhoneNumber,
    ports::store::{Account, AgentRow, NumberFilter, NumberUse},
    time::Timestamp,
};
use serde::Serialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use super::{
    RestState, agents,
    auth::Caller,
    body::JsonObject,
    campaigns::create::agent_id,
    cursor::Binding,
    envelope::Reply,
    error::{ApiError, ApiResult},
    fields::Fields,
    optimistic::IfMatch,
    path_id::PathId,
    query::{NoParameters, Paging, Query},
};

/// A phone number of the account.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NumberDetails {
    /// Phone number in E.164.
    phone_number: PhoneNumber,
    /// Agents that name the number, oldest first.
    agents: Vec<AgentOfNumber>,
}

/// An agent that names a number.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentOfNumber {
    /// Id of the agent.
    #[schema(value_type = String, format = "uuid")]
    agent_id: AgentId,
    /// Name of the agent.
    name: String,
    /// Whether the agent answers calls to the number. Otherwise the number is a caller ID of its calls only.
    answers: bool,
}

/// Returns the routes of phone numbers.
pub fn routes() -> Router<RestState> {
    Router::new()
        .route("/public/v1/phone-numbers", get(list))
        .route("/public/v1/phone-numbers/{phoneNumber}", patch(assign))
}

async fn list(
    State(state): State<RestState>,
    Caller(account): Caller,
    Query(paging): Query<Paging>,
) -> ApiResult<Reply> {
    let binding = Binding::new(account.id, "phone numbers", String::new());
    let after = binding.after::<PhoneNumber>(paging.cursor.as_deref())?;
    let filter = NumberFilter {
        only: None,
        after: after.map(|(_, number)| number),
    };
    let uses = state
        .store
        .number_uses(account.id, filter, paging.page_size + 1)
        .await?;
    // The list is ordered by number alone.
    let place = |number: &NumberDetails| (Timestamp(0), number.phone_number.to_string());
    Ok(binding.page(grouped(uses), paging.page_size, shown, place))
}

fn shown(number: &NumberDetails) -> Value {
    json!(number)
}

fn grouped(uses: Vec<NumberUse>) -> Vec<NumberDetails> {
    let mut numbers: Vec<NumberDetails> = Vec::new();
    for NumberUse {
        phone_number,
        agent,
        agent_name,
        answered,
    } in uses
    {
        let agent = AgentOfNumber {
            agent_id: agent,
            name: agent_name,
            answers: answered,
        };
        match numbers.last_mut().filter(|number| number.phone_number == phone_number) {
            Some(number) => number.agents.push(agent),
            None => numbers.push(NumberDetails {
                phone_number,
                agents: vec![agent],
            }),
        }
    }
    numbers
}

async fn uses_of(state: &RestState, account: &Account, number: &PhoneNumber) -> ApiResult<Vec<NumberUse>> {
    let filter = NumberFilter {
        only: Some(number.clone()),
        after: None,
    };
    Ok(state.store.number_uses(account.id, filter, 1).await?)
}

/// Adds the number to the `phoneNumbers` of an agent. Without an agent, removes it from those of all agents.
async fn assign(
    State(state): State<RestState>,
    Caller(account): Caller,
    PathId(number): PathId<PhoneNumber>,
    _: Query<NoParameters>,
    JsonObject(body): JsonObject,
) -> ApiResult<Reply> {
    let mut fields = Fields::of(&body, "");
    fields.only(&["agentId"]);
    if !body.contains_key("agentId") {
        fields.problem(
            "agentId",
            "required",
            "is required: an agent's id, or null to remove the number",
        );
    }
    let agent = agent_id(&mut fields);
    fields.end()?;
    match agent {
        Some(agent) => change(&state, &account, agent, |row| with(row, &number)).await?,
        None => {
            let uses = uses_of(&state, &account, &number).await?;
            if uses.is_empty() {
                return Err(ApiError::no_such("number"));
            }
            for found in uses {
                change(&state, &account, found.agent, |row| without(row, &number)).await?;
            }
        }
    }
    let uses = uses_of(&state, &account, &number).await?;
    let details = grouped(uses).into_iter().next();
    Ok(Reply::ok(details.unwrap_or(NumberDetails {
        phone_number: number,
        agents: Vec::new(),
    })))
}

/// Saves an agent with other numbers, by the rules of `PATCH /agents/{agentId}`.
async fn change(
    state: &RestState,
    account: &Account,
    agent: AgentId,
    numbers: impl Fn(&AgentRow) -> Vec<Value>,
) -> ApiResult<()> {
    let document = |row: &AgentRow| -> ApiResult<Map<String, Value>> {
        let patch = json!({ "phoneNumbers": numbers(row) });
        agent::merge_patch(&row.document, &patch).map_err(ApiError::Invalid)
    };
    agents::save(state, account, (agent, IfMatch(None)), document)
        .await
        .map(drop)
}

/// Returns the stored entries of an agent's `phoneNumbers`.
fn entries(row: &AgentRow) -> Vec<Value> {
    let entries = row.document.get("phoneNumbers").and_then(Value::as_array);
    entries.cloned().unwrap_or_default()
}

fn is_of(entry: &Value, number: &PhoneNumber) -> bool {
    let text = entry.get("number").and_then(Value::as_str);
    text.is_some_and(|text| PhoneNumber::parse(text).as_ref() == Ok(number))
}

fn with(row: &AgentRow, number: &PhoneNumber) -> Vec<Value> {
    let mut entries = entries(row);
    if !entries.iter().any(|entry| is_of(entry, number)) {
        entries.push(json!({ "number": number }));
    }
    entries
}

fn without(row: &AgentRow, number: &PhoneNumber) -> Vec<Value> {
    let mut entries = entries(row);
    entries.retain(|entry| !is_of(entry, number));
    entries
}
