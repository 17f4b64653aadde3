//! `POST /public/v1/calls`: a single call without a campaign.

pub mod in_progress;
pub mod inbound;
pub mod test_call;

use actors::single_calls::PlaceError;
use axum::{extract::State, response::Response};
use domain::{
    account_settings::AccountSettings,
    agent::{Agent, LANGUAGE_OVERRIDE},
    conversation::item,
    id::AgentId,
    ports::store::{Account, CampaignContact, ConversationRow, KeyTicket, NewCall, QueuedCall},
};
use serde_json::{Map, Value};

use super::{
    account::safeguards::Destinations,
    campaigns::{
        begin::{agent_warnings, joined, launch_warning, require_ready, stored_agent_warnings},
        contacts::count_variables,
        settings::dialing_agent,
        variables::OpenVariables,
    },
};
use crate::{
    access::idempotency::{IdempotencyKey, RequestHash},
    caller::Caller,
    request::{
        body::JsonObject,
        call_language,
        call_overrides::{self, is_override},
        contact_fields::{EXTRA_BYTES, EXTRA_FIELDS},
        fields::{Fields, NAME_CHARACTERS, kind},
        query::{NoParameters, Query},
    },
    response::{
        envelope::Reply,
        error::{ApiError, ApiResult, Conflict, OrNoSuch},
    },
    state::RestState,
};

const NAMES: [&str; 6] = [
    "agentId",
    "phoneNumber",
    "name",
    "language",
    "dynamicVariables",
    "overrides",
];

/// Handles the request.
pub async fn create(
    State(state): State<RestState>,
    Caller(account): Caller,
    key: IdempotencyKey,
    _: Query<NoParameters>,
    JsonObject(body): JsonObject,
) -> ApiResult<Response> {
    let turn = key.take(&state, account.id, "create call", || RequestHash::of_json(&body));
    turn.await?
        .answer(
            async |ticket| make(&state, &account, &body, ticket.as_ref()).await,
            async |id| {
                let row = state.store.conversation(account.id, id).await;
                let row = row.or_no_such("conversation")?;
                let warnings = stored_agent_warnings(&state, (account.id, row.agent)).await;
                let open = joined(&warnings);
                Ok(Made { row, open })
            },
            |made| created(&state, made, &account),
        )
        .await
}

fn created(state: &RestState, made: &Made, account: &Account) -> Reply {
    let warnings: Vec<String> = launch_warning(state).into_iter().chain(made.open.clone()).collect();
    Reply::created(item(&made.row, account)).warning(joined(&warnings))
}

/// A queued call, and a warning about its variables and its agent.
struct Made {
    row: ConversationRow,
    open: Option<String>,
}

async fn make(
    state: &RestState,
    account: &Account,
    body: &Map<String, Value>,
    ticket: Option<&KeyTicket>,
) -> ApiResult<Made> {
    let mut fields = Fields::of(body, "");
    let (read, overrides) = (read(&mut fields, &account.settings), call_overrides::read(&mut fields));
    let (Some(mut new), true) = (read, fields.problems.is_empty()) else {
        return Err(ApiError::Invalid(fields.problems));
    };
    let mut destinations = Destinations::of(&*state.store, account.id).await?;
    destinations.check("phoneNumber".into(), &new.phone_number, &mut fields.problems);
    fields.end()?;
    let agent = dialing_agent(&*state.store, account.id, new.agent).await?;
    call_language::check_call(&agent, &new.variables)?;
    let agent = call_overrides::applied(agent, &overrides, &mut new.variables)?;
    require_ready(state, account.id, &agent).await?;
    let open = open_variables(state, account, &agent, &new).await?;
    let warnings = destinations
        .warning()
        .into_iter()
        .chain(open)
        .chain(agent_warnings(state, &agent));
    let open = joined(&warnings.collect::<Vec<_>>());
    let number = new.phone_number.clone();
    match state.switchboard.place_call(account.id, new, ticket.cloned()).await {
        Some(Ok(QueuedCall::Queued(row))) => Ok(Made { row: *row, open }),
        Some(Ok(QueuedCall::DoNotCall)) => Err(ApiError::Conflict(
            Conflict::DoNotCall,
            format!("`{number}` is on this account's do-not-call list; remove it from there to call it"),
        )),
        Some(Err(PlaceError::Store(error))) => Err(error.into()),
        Some(Err(PlaceError::Refused(why))) => Err(ApiError::Unavailable(format!("{why}; try again"))),
        None => {
            tracing::error!("node did not respond to a call request");
            Err(ApiError::Unavailable(
                "the node did not respond in time, and the call may have been queued: check the conversations before you \
                 try again, or send an `Idempotency-Key`"
                    .into(),
            ))
        }
    }
}

/// Returns a warning about the agent's variables without a value in the call, the saved contact or the agent.
async fn open_variables(
    state: &RestState,
    account: &Account,
    agent: &Agent,
    new: &NewCall,
) -> ApiResult<Option<String>> {
    let mut open = OpenVariables::of(&*state.store, account.id, agent).await?;
    let called = CampaignContact {
        phone_number: new.phone_number.clone(),
        contact: None,
        name: new.name.clone(),
        email: None,
        extra: new.variables.clone(),
    };
    count_variables(&state.store, account.id, &[called], &mut open).await?;
    Ok(open.warning())
}

/// Reads the body. Returns `None` if a required field is missing or invalid.
fn read(fields: &mut Fields<'_>, settings: &AccountSettings) -> Option<NewCall> {
    fields.only_or(&NAMES, "; put it into `dynamicVariables`");
    let agent = agent_id(fields);
    let phone_number = fields.required_phone_number("phoneNumber", settings);
    let name = fields.string("name").map(str::trim).filter(|name| !name.is_empty());
    if name.is_some_and(|name| name.chars().count() > NAME_CHARACTERS) {
        let message = format!("has more than {NAME_CHARACTERS} characters");
        fields.problem("name", "too_long", message);
    }
    let variables = variables(fields);
    Some(NewCall {
        agent: agent?,
        phone_number: phone_number?,
        name: name.map(str::to_owned),
        variables,
    })
}

fn agent_id(fields: &mut Fields<'_>) -> Option<AgentId> {
    let text = fields.required_string("agentId")?;
    let id = text.parse::<AgentId>();
    if id.is_err() {
        let message = format!("`{text:.100}` is not an agent's id (a UUID)");
        fields.problem("agentId", "invalid_value", message);
    }
    id.ok()
}

/// Reads `dynamicVariables`, and `language` as one of them.
fn variables(fields: &mut Fields<'_>) -> Map<String, Value> {
    let mut variables = dynamic_variables(fields);
    if let Some(language) = fields.string("language") {
        variables.insert(LANGUAGE_OVERRIDE.to_owned(), language.into());
    }
    variables
}

fn dynamic_variables(fields: &mut Fields<'_>) -> Map<String, Value> {
    let Some(given) = fields.object("dynamicVariables") else {
        return Map::new();
    };
    if given.len() > EXTRA_FIELDS {
        let message = format!("has {} variables; at most {EXTRA_FIELDS} are allowed", given.len());
        fields.problem("dynamicVariables", "too_many", message);
    }
    let mut own = Fields::of(given, "dynamicVariables");
    for (name, value) in given {
        if name.trim().is_empty() || name.chars().count() > NAME_CHARACTERS {
            let shown: String = name.chars().take(NAME_CHARACTERS).collect();
            let message = format!("a variable's name has 1 to {NAME_CHARACTERS} characters");
            own.problem(&shown, "not_allowed", message);
            continue;
        }
        if name == LANGUAGE_OVERRIDE {
            own.problem(
                name,
                "not_allowed",
                "is chosen by the field `language` beside `dynamicVariables`",
            );
            continue;
        }
        if is_override(name) {
            let message = "is chosen by the field `overrides` beside `dynamicVariables`";
            own.problem(name, "not_allowed", message);
            continue;
        }
        match value {
            Value::Bool(_) | Value::Number(_) => {}
            Value::String(text) if text.len() <= EXTRA_BYTES => {}
            Value::String(text) => {
                let message = format!("has {} bytes; at most {EXTRA_BYTES} are allowed", text.len());
                own.problem(name, "too_long", message);
            }
            other => {
                let message = format!("must be a string, a number or a boolean, not {}", kind(other));
                own.problem(name, "wrong_type", message);
            }
        }
    }
    fields.problems.append(&mut own.problems);
    given.clone()
}
