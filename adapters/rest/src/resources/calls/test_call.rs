//! `POST /public/v1/agents/test-call`: a call with which a saved or unsaved agent is tried out, over a WebSocket or in text.

use actors::lines::WantedAgent;
use axum::{extract::State, response::Response};
use domain::{
    agent::{self, Problem},
    id::{AgentId, AttemptId},
    ports::store::{Account, KeyTicket, TestActions, TestCall, TestMode},
};
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::{
    agent_id,
    inbound::{Made, begin, complete, open_variables, stored},
    variables,
};
use crate::{
    access::idempotency::{IdempotencyKey, RequestHash},
    caller::Caller,
    request::{
        body::JsonObject,
        call_language,
        fields::Fields,
        query::{NoParameters, Query},
    },
    resources::{
        agents,
        campaigns::begin::{joined, require_text, require_voice},
    },
    response::{
        envelope::Reply,
        error::{ApiError, ApiResult, OrNoSuch},
    },
    state::RestState,
};

const TEXT: &str = "text";

const NAMES: [&str; 6] = ["agentId", "agent", "mode", "actions", "language", "dynamicVariables"];

/// Handles the request.
pub async fn create(
    State(state): State<RestState>,
    Caller(account): Caller,
    key: IdempotencyKey,
    _: Query<NoParameters>,
    JsonObject(body): JsonObject,
) -> ApiResult<Response> {
    let turn = key.take(&state, account.id, "create test call", || RequestHash::of_json(&body));
    turn.await?
        .answer(
            async |ticket| make(&state, &account, &body, ticket.as_ref()).await,
            async |id| stored(&state, &account, id).await,
            |made| created(&state, made, body.get("mode") == Some(&TEXT.into())),
        )
        .await
}

/// A test call that has begun.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = TestCallBegun)]
pub struct Begun {
    /// Id of the conversation.
    #[schema(value_type = String, format = "uuid")]
    conversation_id: AttemptId,
    /// WebSocket address to open within 30 s. Whoever has this address is the caller. Left out in `text`.
    #[serde(skip_serializing_if = "Option::is_none")]
    media_url: Option<String>,
}

fn created(state: &RestState, made: &Made, is_text: bool) -> Reply {
    Reply::created(Begun {
        conversation_id: made.back.attempt,
        media_url: (!is_text).then(|| made.media_url(state)),
    })
    .warning(made.open.clone())
}

/// Agent that is tried out.
enum Tried {
    Saved(AgentId),
    Unsaved(Map<String, Value>),
}

/// Fields of the body.
struct Wanted {
    agent: Tried,
    actions: TestActions,
    mode: TestMode,
    variables: Map<String, Value>,
}

async fn make(
    state: &RestState,
    account: &Account,
    body: &Map<String, Value>,
    ticket: Option<&KeyTicket>,
) -> ApiResult<Made> {
    let Wanted {
        agent,
        actions,
        mode,
        variables,
    } = read(body)?;
    let (id, agent, unsaved) = match agent {
        Tried::Saved(id) => {
            let row = state.store.agent(account.id, id).await.or_no_such("agent")?;
            (id, complete(&row)?, None)
        }
        Tried::Unsaved(document) => {
            let checked = agents::check_references(state, account, &document, None).await;
            checked.map_err(below_agent)?;
            let agent = agent::complete(&document).map_err(|_| ApiError::Internal)?;
            (AgentId::new(), agent, Some(document))
        }
    };
    call_language::check_call(&agent, &variables)?;
    let limits = match mode {
        TestMode::Voice => {
            require_voice(state, account.id, &agent).await?;
            (state.limits)(&agent)
        }
        TestMode::Text => {
            require_text(state, account.id, &agent).await?;
            Vec::new()
        }
    };
    let open = open_variables(state, account, &agent, (None, &variables)).await?;
    let warnings: Vec<String> = open.into_iter().chain(limits).collect();
    let wanted = WantedAgent {
        account: account.id,
        agent: id,
        ticket: ticket.cloned(),
        variables,
        test: Some(TestCall { unsaved, actions, mode }),
    };
    begin(state, (None, None), wanted, (&agent, joined(&warnings))).await
}

fn read(body: &Map<String, Value>) -> ApiResult<Wanted> {
    let mut fields = Fields::of(body, "");
    fields.only(&NAMES);
    let agent = match (fields.value("agentId").is_some(), fields.value("agent").is_some()) {
        (_, false) => agent_id(&mut fields).map(Tried::Saved),
        (false, true) => unsaved(&mut fields).map(Tried::Unsaved),
        (true, true) => {
            fields.problem("agent", "not_allowed", "leave out `agentId` or this");
            None
        }
    };
    let mode = match fields.string("mode") {
        None | Some("voice") => TestMode::Voice,
        Some(TEXT) => TestMode::Text,
        Some(other) => {
            fields.problem("mode", "not_allowed", format!("`{other:.40}` is not `voice` or `text`"));
            TestMode::Voice
        }
    };
    let actions = match fields.flag("actions") {
        true => TestActions::Real,
        false => TestActions::Simulated,
    };
    let variables = variables(&mut fields);
    match (agent, fields.problems.is_empty()) {
        (Some(agent), true) => Ok(Wanted {
            agent,
            actions,
            mode,
            variables,
        }),
        _ => Err(ApiError::Invalid(fields.problems)),
    }
}

/// Reads the object of an agent by the rules for a new one.
fn unsaved(fields: &mut Fields<'_>) -> Option<Map<String, Value>> {
    let object = fields.object("agent")?;
    match agent::validate_create(&Value::Object(object.clone())) {
        Ok(document) => Some(document),
        Err(problems) => {
            fields.problems.extend(problems.into_iter().map(below));
            None
        }
    }
}

/// Puts the path of an agent's problem below the field `agent`.
fn below(problem: Problem) -> Problem {
    let path = match problem.path.as_str() {
        "" => "agent".to_owned(),
        path => format!("agent.{path}"),
    };
    Problem { path, ..problem }
}

fn below_agent(error: ApiError) -> ApiError {
    match error {
        ApiError::Invalid(problems) => ApiError::Invalid(problems.into_iter().map(below).collect()),
        other => other,
    }
}
