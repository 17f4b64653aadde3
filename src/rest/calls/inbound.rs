//! `POST /public/v1/calls/inbound`: a call from outside that its caller holds by a WebSocket, at the plain media door.

use std::time::Duration;

use actors::{
    agent,
    id::{AgentId, AttemptId},
    lines::MOST_WITHOUT_SOCKET,
    phone_number::PhoneNumber,
    ports::{
        carrier::{CarrierCallId, InboundCall, InboundRefusal, WayBack},
        store::{Account, KeyTicket, StoreError},
    },
    switchboard::SwitchboardMessage,
};
use axum::{
    extract::State,
    response::{IntoResponse, Response},
};
use serde_json::{Map, Value, json};

use super::{agent_id, phone_number};
use crate::{
    carriers::plain,
    rest::{
        RestState,
        auth::Caller,
        body::JsonObject,
        campaigns::begin::require_voice,
        envelope::Reply,
        error::{ApiError, ApiResult, OrNoSuch},
        fields::Fields,
        idempotency::{IdempotencyKey, RequestHash, Turn},
        query::{NoParameters, Query},
    },
};

const NAMES: [&str; 3] = ["agentId", "from", "to"];

/// How long the node may take to find a line.
const TAKEN_WITHIN: Duration = Duration::from_secs(5);

/// The handler.
pub async fn create(
    State(state): State<RestState>,
    Caller(account): Caller,
    key: IdempotencyKey,
    _: Query<NoParameters>,
    JsonObject(body): JsonObject,
) -> ApiResult<Response> {
    let hash = || RequestHash::of_json(&body);
    match key.take(&state, account.id, "create inbound call", hash).await? {
        Turn::Again(replay) => {
            let back = stored(&state, &account, replay.id()?).await?;
            Ok(replay.mark(created(&state, &back)))
        }
        Turn::First(held) => {
            let made = make(&state, &account, &body, held.ticket()).await;
            Ok(created(&state, &held.end(made).await?).into_response())
        }
    }
}

fn created(state: &RestState, back: &WayBack) -> Reply {
    let media_url = plain::media_url(&state.public_url, back);
    Reply::created(json!({ "conversationId": back.attempt, "mediaUrl": media_url }))
}

/// The way to a call that was made before, whether it lives or not.
async fn stored(state: &RestState, account: &Account, attempt: AttemptId) -> ApiResult<WayBack> {
    let conversation = state.store.conversation(account.id, attempt).await;
    conversation.or_no_such("conversation")?;
    let token = match state.store.dial_token(attempt).await {
        Ok(token) => token,
        Err(StoreError::NotFound) => {
            let over = state.store.sent_with(attempt).await?;
            over.ok_or(ApiError::no_such("conversation"))?.token
        }
        Err(error) => return Err(error.into()),
    };
    Ok(WayBack::of(attempt, &token))
}

async fn make(
    state: &RestState,
    account: &Account,
    body: &Map<String, Value>,
    ticket: Option<&KeyTicket>,
) -> ApiResult<WayBack> {
    let (id, from, to) = read(body)?;
    let row = state.store.agent(account.id, id).await.or_no_such("agent")?;
    let agent = agent::complete(&row.document).map_err(|error| StoreError::Damaged(format!("agent {id}: {error}")))?;
    if !agent.takes_calls() {
        let message = "this agent's direction is `outbound`: it takes no calls";
        return Err(ApiError::field("agentId", "not_allowed", message));
    }
    if let Some(to) = to.as_ref().filter(|to| !agent.answers(to, plain::NAME)) {
        let message = format!("`{to}` is none of this agent's numbers whose provider is `plain`, or that have none");
        return Err(ApiError::field("to", "not_allowed", message));
    }
    require_voice(state, &agent)?;
    let call = InboundCall {
        carrier: plain::NAME,
        call: CarrierCallId(uuid::Uuid::now_v7().to_string()),
        from,
        to: to.unwrap_or_else(PhoneNumber::withheld),
    };
    let message = |reply| SwitchboardMessage::DialIn {
        call,
        account: account.id,
        agent: id,
        ticket: ticket.cloned(),
        reply,
    };
    let answer = state.switchboard.ask(message, TAKEN_WITHIN).await;
    answer.unwrap_or(Err(InboundRefusal::Unavailable)).map_err(refused)
}

/// What the body asks for.
fn read(body: &Map<String, Value>) -> ApiResult<(AgentId, Option<PhoneNumber>, Option<PhoneNumber>)> {
    let mut fields = Fields::of(body, "");
    fields.only(&NAMES);
    let agent = agent_id(&mut fields);
    let mut number = |name| {
        let text = fields.string(name)?;
        phone_number(&mut fields, name, text)
    };
    let (from, to) = (number("from"), number("to"));
    match (agent, fields.problems.is_empty()) {
        (Some(agent), true) => Ok((agent, from, to)),
        _ => Err(ApiError::Invalid(fields.problems)),
    }
}

fn refused(refusal: InboundRefusal) -> ApiError {
    match refusal {
        // It was there a moment ago.
        InboundRefusal::NobodyAnswers => ApiError::no_such("agent"),
        InboundRefusal::TooMany => ApiError::TooManyCalls(format!(
            "{MOST_WITHOUT_SOCKET} calls of this account wait for their media socket: open the `mediaUrl` of each within \
             30 s, or wait until they end"
        )),
        InboundRefusal::Busy | InboundRefusal::Unavailable => ApiError::Unavailable(format!("{refusal}; try again")),
    }
}
