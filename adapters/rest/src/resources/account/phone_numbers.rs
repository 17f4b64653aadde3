//! Phone numbers that the account's agents name or the carriers have: what each is used for, and its assignment to an
//! agent.

use std::collections::{BTreeMap, HashSet};

use axum::extract::State;
use domain::{
    agent,
    id::AgentId,
    phone_number::PhoneNumber,
    ports::{
        catalog::Offer,
        store::{Account, AgentRow, NumberFilter, NumberUse},
    },
    time::Timestamp,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use crate::{
    caller::Caller,
    described::{operation::Operation, samples},
    request::{
        body::JsonObject,
        checked::Checked,
        cursor::Binding,
        optimistic::IfMatch,
        path_id::PathId,
        query::{NoParameters, Paging, Query},
    },
    resources::agents,
    response::{
        envelope::Reply,
        error::{ApiError, ApiResult},
    },
    state::RestState,
};

/// A phone number of the account.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NumberDetails {
    /// Phone number in E.164.
    phone_number: PhoneNumber,
    /// Carrier whose account has the number; omitted if no carrier lists it.
    #[serde(skip_serializing_if = "Option::is_none")]
    provider: Option<String>,
    /// Agents of the account that name the number, oldest first; empty if it is free.
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

async fn list(
    State(state): State<RestState>,
    Caller(account): Caller,
    Query(paging): Query<Paging>,
) -> ApiResult<Reply> {
    let binding = Binding::new(account.id, "phone numbers", String::new());
    let after = binding.after::<PhoneNumber>(paging.cursor.as_deref())?;
    let after = after.map(|(_, number)| number);
    let limit = paging.page_size + 1;
    let filter = NumberFilter {
        only: None,
        after: after.clone(),
    };
    let providers = providers(&state).await;
    let uses = state.store.number_uses(account.id, filter, limit).await?;
    let mut numbers = grouped(uses, &providers);
    let mut free = free(&state, &account, (&numbers[..], after), limit, &providers).await?;
    numbers.append(&mut free);
    numbers.sort_by(|one, other| one.phone_number.cmp(&other.phone_number));
    // The list is ordered by number alone.
    let place = |number: &NumberDetails| (Timestamp(0), number.phone_number.to_string());
    Ok(binding.page(numbers, paging.page_size, shown, place))
}

/// Returns the carrier of each number that a carrier lists.
async fn providers(state: &RestState) -> BTreeMap<PhoneNumber, String> {
    let mut providers = BTreeMap::new();
    for Offer { provider, items } in state.numbers.numbers().await {
        for number in items.unwrap_or_default() {
            providers.entry(number).or_insert_with(|| provider.clone());
        }
    }
    providers
}

/// Returns the carriers' first `limit` numbers after `after` that no agent names, neither of this account nor of another.
/// `own` are the account's numbers after `after`; if there are `limit` of them, only numbers up to the last matter.
async fn free(
    state: &RestState,
    account: &Account,
    (own, after): (&[NumberDetails], Option<PhoneNumber>),
    limit: i64,
    providers: &BTreeMap<PhoneNumber, String>,
) -> ApiResult<Vec<NumberDetails>> {
    let limit = usize::try_from(limit).unwrap_or_default();
    let last = own.last().filter(|_| own.len() >= limit).map(|last| &last.phone_number);
    let named: HashSet<&PhoneNumber> = own.iter().map(|number| &number.phone_number).collect();
    let candidates: Vec<&PhoneNumber> = providers
        .keys()
        .filter(|number| after.as_ref().is_none_or(|after| *number > after))
        .filter(|number| last.is_none_or(|last| *number < last) && !named.contains(number))
        .collect();
    let mut free = Vec::new();
    for some in candidates.chunks(limit) {
        let entries: Vec<Value> = some.iter().map(|number| json!({ "number": number })).collect();
        let document = Map::from_iter([("phoneNumbers".to_owned(), json!(entries))]);
        let taken = state.store.taken_numbers(account.id, None, &document).await?;
        let open = some.iter().filter(|number| !taken.contains(number));
        free.extend(open.map(|number| NumberDetails::new((*number).clone(), providers)));
        if free.len() >= limit {
            break;
        }
    }
    Ok(free)
}

fn shown(number: &NumberDetails) -> Value {
    json!(number)
}

impl NumberDetails {
    fn new(phone_number: PhoneNumber, providers: &BTreeMap<PhoneNumber, String>) -> Self {
        Self {
            provider: providers.get(&phone_number).cloned(),
            phone_number,
            agents: Vec::new(),
        }
    }
}

fn grouped(uses: Vec<NumberUse>, providers: &BTreeMap<PhoneNumber, String>) -> Vec<NumberDetails> {
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
        if numbers.last().is_none_or(|number| number.phone_number != phone_number) {
            numbers.push(NumberDetails::new(phone_number, providers));
        }
        if let Some(number) = numbers.last_mut() {
            number.agents.push(agent);
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
    let agent = Checked::<NumberAssignment>::change(&body).end()?.agent_id;
    let providers = providers(&state).await;
    let provider = providers.get(&number).map(String::as_str);
    match agent {
        Some(agent) => change(&state, &account, agent, |row| with(row, &number, provider)).await?,
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
    let details = grouped(uses, &providers).into_iter().next();
    Ok(Reply::ok(
        details.unwrap_or_else(|| NumberDetails::new(number, &providers)),
    ))
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
    text.is_some_and(|text| PhoneNumber::stored(text).as_ref() == Ok(number))
}

fn with(row: &AgentRow, number: &PhoneNumber, provider: Option<&str>) -> Vec<Value> {
    let mut entries = entries(row);
    if !entries.iter().any(|entry| is_of(entry, number)) {
        let mut entry = json!({ "number": number });
        if let Some(provider) = provider {
            entry["provider"] = provider.into();
        }
        entries.push(entry);
    }
    entries
}

fn without(row: &AgentRow, number: &PhoneNumber) -> Vec<Value> {
    let mut entries = entries(row);
    entries.retain(|entry| !is_of(entry, number));
    entries
}

/// The agent to which a number is assigned.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NumberAssignment {
    /// Agent that gets the number; `null` removes it from the `phoneNumbers` of all agents.
    #[schema(required = true, value_type = Option<String>, format = "uuid")]
    pub agent_id: Option<AgentId>,
}

fn sample() -> Value {
    let agent = json!({ "agentId": samples::AGENT, "name": "Ava", "answers": true });
    json!({ "phoneNumber": samples::PHONE, "provider": "twilio", "agents": [agent] })
}

/// Returns the operations of phone numbers.
pub fn operations() -> Vec<Operation> {
    vec![
        Operation::get(
            "/public/v1/phone-numbers",
            "listPhoneNumbers",
            "List phone numbers and their agents",
        )
        .by(list)
        .note(&format!(
            "The numbers that agents of the account name, and those of the carriers that no agent of another account \
             names, in the order of their digits. The lists of {} are kept for 10 minutes; the numbers of a carrier that \
             does not answer are missing.",
            carriers::registry::number_lists()
        ))
        .paged()
        .page::<NumberDetails>(sample()),
        Operation::patch(
            "/public/v1/phone-numbers/{phoneNumber}",
            "assignPhoneNumber",
            "Assign a number to an agent, or take it from all",
        )
        .by(assign)
        .note(
            "Has the effect of a change of the agent's `phoneNumbers`, with the same rules. Agents that only rotate \
             the number as a caller ID keep it.",
        )
        .body::<NumberAssignment>(json!({
            "assign": { "agentId": samples::AGENT },
            "remove": { "agentId": null },
        }))
        .ok::<NumberDetails>(sample())
        .missing("number")
        .conflict(
            "number_in_use",
            "+15550100010: belongs to another account, or is answered by another agent with direction `inbound` or \
             `both`; leave it out, or remove it from that agent first",
        ),
    ]
}
