//! `POST /public/v1/calls/inbound`: an inbound call through the plain media link, whose caller uses a WebSocket.

use actors::lines::{MOST_WITHOUT_SOCKET, WantedAgent};
use axum::{extract::State, response::Response};
use domain::{
    account_settings::AccountSettings,
    agent::{self, Agent},
    id::{AgentId, AttemptId},
    phone_number::PhoneNumber,
    ports::{
        carrier::{CarrierCallId, InboundCall, InboundRefusal, WayBack},
        store::{Account, AgentRow, CampaignContact, KeyTicket, StoreError},
    },
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::choices;
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
    resources::campaigns::{begin::require_voice, contacts::count_variables, variables::OpenVariables},
    response::{
        envelope::Reply,
        error::{ApiError, ApiResult, OrNoSuch},
    },
    state::RestState,
};
use carriers::plain::{self, format::Formats};

/// Handles the request.
pub async fn create(
    State(state): State<RestState>,
    Caller(account): Caller,
    key: IdempotencyKey,
    _: Query<NoParameters>,
    JsonObject(body): JsonObject,
) -> ApiResult<Response> {
    let turn = key.take(&state, account.id, "create inbound call", || {
        RequestHash::of_json(&body)
    });
    turn.await?
        .answer(
            async |ticket| make(&state, &account, &body, ticket.as_ref()).await,
            async |id| stored(&state, &account, id).await,
            |made| created(&state, made),
        )
        .await
}

/// Media socket of a new inbound call.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = InboundCall)]
pub struct NewMediaSocket {
    /// Id of the conversation.
    #[schema(value_type = String, format = "uuid")]
    pub conversation_id: AttemptId,
    /// WebSocket address to open within 30 s. Whoever has this address is the caller.
    pub media_url: String,
}

/// A call, its agent's formats, and a warning.
pub struct Made {
    pub(super) back: WayBack,
    formats: Formats,
    pub(super) open: Option<String>,
}

impl Made {
    /// Returns the address of the media socket.
    pub fn media_url(&self, state: &RestState) -> String {
        plain::media_url(&state.public_url, &self.back, self.formats)
    }
}

/// Returns the answer with the address of the media socket.
fn created(state: &RestState, made: &Made) -> Reply {
    Reply::created(NewMediaSocket {
        conversation_id: made.back.attempt,
        media_url: made.media_url(state),
    })
    .warning(made.open.clone())
}

/// Returns the way back to a call created by an earlier request, whether or not it is still active.
pub async fn stored(state: &RestState, account: &Account, attempt: AttemptId) -> ApiResult<Made> {
    let conversation = state.store.conversation(account.id, attempt).await;
    let agent = conversation.or_no_such("conversation")?.agent;
    let formats = match state.store.kept_agent(account.id, agent).await {
        Ok(row) => Formats::of(&complete(&row)?),
        Err(StoreError::NotFound) => Formats::default(),
        Err(error) => return Err(error.into()),
    };
    let token = match state.store.dial_token(attempt).await {
        Ok(token) => token,
        Err(StoreError::NotFound) => {
            let over = state.store.sent_with(attempt).await?;
            over.ok_or(ApiError::no_such("conversation"))?.token
        }
        Err(error) => return Err(error.into()),
    };
    let back = WayBack::of(attempt, &token);
    let open = None;
    Ok(Made { back, formats, open })
}

/// Returns a stored agent with its defaults.
pub fn complete(row: &AgentRow) -> Result<Agent, StoreError> {
    agent::complete(&row.document).map_err(|error| StoreError::Damaged(format!("agent {}: {error}", row.id)))
}

async fn make(
    state: &RestState,
    account: &Account,
    body: &Map<String, Value>,
    ticket: Option<&KeyTicket>,
) -> ApiResult<Made> {
    let NewInboundCall {
        agent_id: id,
        from,
        to,
        language,
        dynamic_variables,
        overrides,
    } = read(body, &account.settings)?;
    let mut variables = choices::variables(dynamic_variables, language);
    let row = state.store.agent(account.id, id).await.or_no_such("agent")?;
    let agent = complete(&row)?;
    if !agent.takes_calls() {
        let message = "this agent's direction is `outbound`: it does not take calls";
        return Err(ApiError::field("agentId", "not_allowed", message));
    }
    if let Some(to) = to.as_ref().filter(|to| !agent.answers(to, plain::NAME)) {
        let message = format!("`{to}` is not a number of this agent with provider `plain` or without a provider");
        return Err(ApiError::field("to", "not_allowed", message));
    }
    call_language::check_call(&agent, &variables)?;
    let agent = call_overrides::applied(agent, &overrides.unwrap_or_default(), &mut variables)?;
    require_voice(state, account.id, &agent).await?;
    let open = open_variables(state, account, &agent, (from.as_ref(), &variables)).await?;
    let wanted = WantedAgent {
        account: account.id,
        agent: id,
        ticket: ticket.cloned(),
        variables,
        test: None,
    };
    begin(state, (from, to), wanted, (&agent, open)).await
}

/// Begins the call from a number to a number, either of which may be unknown.
pub async fn begin(
    state: &RestState,
    (from, to): (Option<PhoneNumber>, Option<PhoneNumber>),
    wanted: WantedAgent,
    (agent, open): (&Agent, Option<String>),
) -> ApiResult<Made> {
    let call = InboundCall {
        carrier: plain::NAME,
        call: CarrierCallId(uuid::Uuid::now_v7().to_string()),
        from,
        to: to.unwrap_or_else(PhoneNumber::withheld),
    };
    let back = state.switchboard.announce(call, Some(wanted)).await.map_err(refused)?;
    let formats = Formats::of(agent);
    Ok(Made { back, formats, open })
}

/// Returns a warning about the agent's variables without a value in the call, the saved contact or the agent.
pub async fn open_variables(
    state: &RestState,
    account: &Account,
    agent: &Agent,
    (from, variables): (Option<&PhoneNumber>, &Map<String, Value>),
) -> ApiResult<Option<String>> {
    let mut open = OpenVariables::of(&*state.store, account.id, agent).await?;
    let given = |name: &str| variables.get(name).and_then(Value::as_str).map(str::to_owned);
    let caller = CampaignContact {
        phone_number: from.cloned().unwrap_or_else(PhoneNumber::withheld),
        contact: None,
        name: given("name"),
        email: given("email"),
        extra: variables.clone(),
    };
    count_variables(&state.store, account.id, &[caller], &mut open).await?;
    Ok(open.warning())
}

/// A call through a WebSocket that its caller opens.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NewInboundCall {
    /// Agent of the account that takes the call.
    #[schema(value_type = String, format = "uuid")]
    agent_id: AgentId,
    /// Phone number of the caller.
    #[schema(value_type = Option<PhoneNumberSent>)]
    from: Option<PhoneNumber>,
    /// Number of the agent that was called.
    #[schema(value_type = Option<PhoneNumberSent>)]
    to: Option<PhoneNumber>,
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

fn read(body: &Map<String, Value>, settings: &AccountSettings) -> ApiResult<NewInboundCall> {
    let mut body = Checked::<NewInboundCall>::of(body);
    for number in ["from", "to"] {
        body.parse(number, |text| contact_fields::phone_number(settings, text));
    }
    choices::check_variables(&mut body);
    body.recode("overrides.", "required", "invalid");
    body.end()
}

fn refused(refusal: InboundRefusal) -> ApiError {
    match refusal {
        // It existed a moment ago.
        InboundRefusal::NobodyAnswers => ApiError::no_such("agent"),
        InboundRefusal::TooMany => ApiError::TooManyCalls(format!(
            "{MOST_WITHOUT_SOCKET} calls of this account are waiting for their media socket or are held in text: open the \
             `mediaUrl` of each within 30 s, end them, or wait until they end"
        )),
        InboundRefusal::Busy | InboundRefusal::Unavailable => ApiError::Unavailable(format!("{refusal}; try again")),
    }
}
