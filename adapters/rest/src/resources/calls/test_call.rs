//! `POST /public/v1/agents/test-call`: a call with which a saved or unsaved agent is tried out, over a WebSocket or in text.

use actors::lines::WantedAgent;
use axum::{extract::State, response::Response};
use domain::{
    agent::{self, Problem},
    id::{AgentId, AttemptId},
    ports::store::{Account, KeyTicket, TestActions, TestCall, TestMode},
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::{
    ToSchema,
    openapi::{Ref, RefOr, Schema},
};

use super::{
    choices,
    inbound::{Made, begin, complete, open_variables, stored},
};
use crate::{
    access::idempotency::{IdempotencyKey, RequestHash},
    caller::Caller,
    described::bodies::{Variable, VariableName},
    request::{
        body::JsonObject,
        call_language,
        checked::Checked,
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
            |made| created(&state, made, body.get("mode") == Some(&"text".into())),
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

/// A call with which an agent is tried out. It has either `agentId` or `agent`.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewTestCall {
    /// Agent of the account.
    #[schema(value_type = Option<String>, format = "uuid")]
    agent_id: Option<AgentId>,
    /// Agent that is not saved.
    #[schema(schema_with = new_agent)]
    #[expect(dead_code, reason = "is read by the rules for a new agent")]
    agent: Option<Value>,
    /// Medium of the call; `voice` by default.
    mode: Option<TestMode>,
    /// Whether tools, appointments and transfers really happen; false by default.
    actions: Option<bool>,
    /// Language in which the call begins: the agent's `primaryLanguage`, or one of its `languagePresets`.
    #[schema(example = "es")]
    language: Option<String>,
    /// Values of at most 100 `{{placeholders}}`: strings, numbers or booleans.
    #[schema(value_type = Option<BTreeMap<VariableName, Variable>>)]
    dynamic_variables: Option<Map<String, Value>>,
}

fn new_agent() -> RefOr<Schema> {
    let mut agent = Ref::from_schema_name("NewAgent");
    "Agent that is not saved.".clone_into(&mut agent.description);
    RefOr::Ref(agent)
}

fn read(body: &Map<String, Value>) -> ApiResult<Wanted> {
    let given = ["agentId", "agent"].map(|name| body.get(name).is_some_and(|value| !value.is_null()));
    let mut body = Checked::<NewTestCall>::of(body);
    let mut unsaved = None;
    match (given, body.sound("agent")) {
        ([true, true], _) => body.problem("agent", ("not_allowed", "leave out `agentId` or this".into())),
        ([false, false], _) => body.problem("agentId", ("required", "is required".into())),
        // An unsaved agent is read by the rules for a new one.
        (_, Some(agent)) => match agent::validate_create(agent) {
            Ok(document) => unsaved = Some(document),
            Err(problems) => body.extend(problems.into_iter().map(below)),
        },
        _ => {}
    }
    choices::check_variables(&mut body);
    let body = body.end()?;
    let agent = match (body.agent_id, unsaved) {
        (Some(id), _) => Tried::Saved(id),
        (None, document) => Tried::Unsaved(document.ok_or(ApiError::Internal)?),
    };
    Ok(Wanted {
        agent,
        actions: match body.actions {
            Some(true) => TestActions::Real,
            Some(false) | None => TestActions::Simulated,
        },
        mode: body.mode.unwrap_or_default(),
        variables: choices::variables(body.dynamic_variables, body.language),
    })
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
