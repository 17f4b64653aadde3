//! `POST /public/v1/agents/test-call`: a call with which a saved or unsaved agent is tried out over a WebSocket.

use actors::lines::WantedAgent;
use axum::{extract::State, response::Response};
use domain::{
    agent::{self, Problem},
    id::AgentId,
    ports::store::{Account, KeyTicket, TestActions, TestCall},
};
use serde_json::{Map, Value};

use super::{
    agent_id,
    inbound::{Made, begin, complete, created, open_variables, stored},
    variables,
};
use crate::{
    RestState, agents,
    auth::Caller,
    body::JsonObject,
    call_language,
    campaigns::begin::{joined, require_voice},
    error::{ApiError, ApiResult, OrNoSuch},
    fields::Fields,
    idempotency::{IdempotencyKey, RequestHash},
    query::{NoParameters, Query},
};

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
            |made| created(&state, made),
        )
        .await
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
    require_voice(state, account.id, &agent).await?;
    let open = open_variables(state, account, &agent, (None, &variables)).await?;
    let warnings: Vec<String> = open.into_iter().chain((state.limits)(&agent)).collect();
    let wanted = WantedAgent {
        account: account.id,
        agent: id,
        ticket: ticket.cloned(),
        variables,
        test: Some(TestCall { unsaved, actions }),
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
    if let Some(mode) = fields.string("mode").filter(|mode| *mode != "voice") {
        let message = format!("`{mode:.40}` is not `voice`");
        fields.problem("mode", "not_allowed", message);
    }
    let actions = match fields.flag("actions") {
        true => TestActions::Real,
        false => TestActions::Simulated,
    };
    let variables = variables(&mut fields);
    match (agent, fields.problems.is_empty()) {
        (Some(agent), true) => Ok(Wanted {
            agent,
            actions,
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
