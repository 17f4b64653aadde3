//! `POST /public/v1/calls`: a single call without a campaign.

pub mod choices;
pub mod in_progress;
pub mod inbound;
pub mod test_call;

use actors::single_calls::PlaceError;
use axum::{extract::State, response::Response};
use domain::{
    account_settings::AccountSettings,
    agent::Agent,
    conversation::item,
    id::AgentId,
    phone_number::PhoneNumber,
    ports::store::{self, Account, CampaignContact, ConversationRow, KeyTicket, QueuedCall},
};
use serde::Deserialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::{
    account::safeguards::{Destinations, NOT_ALLOWED},
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
    described::{
        bodies::{CallOverrides, Variable, VariableName},
        common::PhoneNumberSent,
    },
    request::{
        body::JsonObject,
        call_language, call_overrides,
        checked::Checked,
        contact_fields,
        query::{NoParameters, Query},
    },
    response::{
        envelope::Reply,
        error::{ApiError, ApiResult, Conflict, OrNoSuch},
    },
    state::RestState,
};

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
    let (mut new, overrides) = read(body, &account.settings)?;
    let mut destinations = Destinations::of(&*state.store, account.id).await?;
    if let Some(message) = destinations.refuses(&new.phone_number) {
        return Err(ApiError::field("phoneNumber", NOT_ALLOWED, message));
    }
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
    new: &store::NewCall,
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

/// A call to place.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewCall {
    /// Agent of the account that dials.
    #[schema(value_type = String, format = "uuid")]
    agent_id: AgentId,
    /// Phone number to call.
    #[schema(value_type = PhoneNumberSent)]
    phone_number: PhoneNumber,
    /// Name of the callee.
    #[schema(max_length = 200)]
    name: Option<String>,
    /// Language in which the call begins: the agent's `primaryLanguage`, or one of its `languagePresets`.
    #[schema(example = "es")]
    language: Option<String>,
    /// Values of at most 100 `{{placeholders}}`: strings, numbers or booleans.
    #[schema(value_type = Option<BTreeMap<VariableName, Variable>>)]
    dynamic_variables: Option<Map<String, Value>>,
    /// Fields of the agent that this call overrides. The agent's `platformSettings.overrides` must allow each.
    #[schema(value_type = Option<CallOverrides>)]
    overrides: Option<Map<String, Value>>,
}

/// Reads the body. Returns the call and its overrides.
fn read(body: &Map<String, Value>, settings: &AccountSettings) -> ApiResult<(store::NewCall, Map<String, Value>)> {
    let mut body = Checked::<NewCall>::of(body);
    body.explain_unknown("; put it into `dynamicVariables`");
    body.parse("phoneNumber", |text| contact_fields::phone_number(settings, text));
    choices::check_variables(&mut body);
    body.recode("overrides.", "required", "invalid");
    let body = body.end()?;
    let new = store::NewCall {
        agent: body.agent_id,
        phone_number: body.phone_number,
        name: contact_fields::person(body.name),
        variables: choices::variables(body.dynamic_variables, body.language),
    };
    Ok((new, body.overrides.unwrap_or_default()))
}
