//! `POST /public/v1/agents/{agentId}/duplicate`: a copy of an agent under another name.

use axum::{extract::State, response::Response};
use domain::{
    agent::{self, named_numbers},
    id::AgentId,
    phone_number::PhoneNumber,
    ports::store::{Account, AgentRow, KeyTicket},
};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use super::{check_references, created, with_graph_warning};
use crate::{
    access::idempotency::{IdempotencyKey, RequestHash},
    caller::Caller,
    described::common::Name,
    request::{
        body::OptionalJsonObject,
        checked,
        fields::name_of_copy,
        path_id::PathId,
        query::{NoParameters, Query},
    },
    resources::campaigns::begin::joined,
    response::error::{ApiError, ApiResult, OrNoSuch},
    state::RestState,
};

/// Numbers named in a warning.
const LISTED: usize = 20;

/// A copy to make.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentCopy {
    /// Name of the copy; without it `NAME (copy)`.
    pub name: Option<Name>,
}

/// Handles the request.
pub async fn duplicate(
    State(state): State<RestState>,
    Caller(account): Caller,
    PathId(id): PathId<AgentId>,
    key: IdempotencyKey,
    _: Query<NoParameters>,
    OptionalJsonObject(body): OptionalJsonObject,
) -> ApiResult<Response> {
    let hash = || RequestHash::of_json(&body).about(id);
    let turn = key.take(&state, account.id, "duplicate agent", hash);
    let original = async || state.store.agent(account.id, id).await.or_no_such("agent");
    turn.await?
        .answer(
            async |ticket| {
                let original = original().await?;
                let copy = copy(&state, &account, &original, &body, ticket.as_ref()).await?;
                Ok(warned(&state, copy, left_out(&original)).await)
            },
            async |copy| {
                let copy = state.store.agent(account.id, copy).await.or_no_such("agent")?;
                let left_out = original().await.ok().and_then(|original| left_out(&original));
                Ok(warned(&state, copy, left_out).await)
            },
            |(copy, left_out): &(AgentRow, Option<String>)| created(&state, copy, left_out.clone()),
        )
        .await
}

/// Returns the copy with its warnings.
async fn warned(state: &RestState, copy: AgentRow, left_out: Option<String>) -> (AgentRow, Option<String>) {
    let (copy, graph) = with_graph_warning(state, copy).await;
    let warnings: Vec<String> = left_out.into_iter().chain(graph).collect();
    (copy, joined(&warnings))
}

async fn copy(
    state: &RestState,
    account: &Account,
    original: &AgentRow,
    body: &Map<String, Value>,
    ticket: Option<&KeyTicket>,
) -> ApiResult<AgentRow> {
    let name = checked::read::<AgentCopy>(body)?.name;
    let mut change = json!({ "name": name.map_or_else(|| name_of_copy(original.name()), |name| name.0) });
    if !answered(original).is_empty() {
        change["phoneNumbers"] = Value::Null;
    }
    let document = agent::merge_patch(&original.document, &change).map_err(ApiError::Invalid)?;
    check_references(state, account, &document, Some(&original.document)).await?;
    Ok(state.store.create_agent(account.id, document, ticket).await?)
}

/// Returns the numbers that only one agent can have.
fn answered(original: &AgentRow) -> Vec<PhoneNumber> {
    let numbers = named_numbers(&original.document).into_iter();
    numbers
        .filter_map(|(number, answered)| answered.then_some(number))
        .collect()
}

/// Returns a warning that names the numbers that are not copied.
fn left_out(original: &AgentRow) -> Option<String> {
    let numbers = answered(original);
    let named: Vec<&str> = numbers.iter().take(LISTED).map(PhoneNumber::as_str).collect();
    (!named.is_empty()).then(|| {
        format!(
            "`phoneNumbers` is not copied, because one agent answers a number: {}; give the copy numbers of its own",
            named.join(", ")
        )
    })
}
