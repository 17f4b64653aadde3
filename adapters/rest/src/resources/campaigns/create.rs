//! `POST /public/v1/campaigns`: a campaign whose contacts come as JSON.

use axum::{extract::State, response::Response};
use domain::{
    id::AgentId,
    ports::store::{Account, CampaignRow, KeyTicket, ScheduleText},
};
use serde_json::{Map, Value};

use super::{
    begin::{Begin, answer, answer_again, joined, require_ready},
    contacts,
    import::{CHUNK, Import},
    options,
    settings::{Settings, dialing_agent},
    variables::OpenVariables,
};
use crate::{
    access::idempotency::{IdempotencyKey, RequestHash, Turn},
    caller::{Caller, CallerKey},
    request::{
        body::JsonObject,
        fields::{Fields, kind, whole},
        query::{NoParameters, Query},
    },
    response::{
        error::{ApiError, ApiResult},
        request_id::RequestId,
    },
    state::RestState,
};

const NAMES: [&str; 12] = [
    "name",
    "agentId",
    "contacts",
    "contactIds",
    "launch",
    "scheduled",
    "startTime",
    "endTime",
    "timezone",
    "followUpCall",
    "followUpAttempts",
    "followUpIntervals",
];

/// Handles the request.
pub async fn create(
    State(state): State<RestState>,
    Caller(account): Caller,
    caller: CallerKey,
    key: IdempotencyKey,
    request_id: RequestId,
    _: Query<NoParameters>,
    JsonObject(body): JsonObject,
) -> ApiResult<Response> {
    let asked = |name: &str| body.get(name).and_then(Value::as_bool).unwrap_or(false);
    let begin = Begin::of(asked("launch"), asked("scheduled"));
    begin.require_scope(&caller)?;
    let hash = || RequestHash::of_json(&body);
    let has_key = key.is_given();
    match key.take(&state, account.id, "create campaign", hash).await? {
        Turn::Again(replay) => answer_again(&state, account.id, &replay, begin, request_id).await,
        Turn::First(held) => {
            let made = make(&state, &account, &body, held.ticket()).await;
            let made = held.end(made).await?;
            answer(&state, made, begin, has_key, request_id).await
        }
    }
}

/// Saves the campaign. Returns it with warnings about its contacts.
async fn make(
    state: &RestState,
    account: &Account,
    body: &Map<String, Value>,
    ticket: Option<&KeyTicket>,
) -> ApiResult<(CampaignRow, Option<String>)> {
    let mut fields = Fields::of(body, "");
    let settings = settings(&mut fields);
    let given = contacts::read_all(&*state.store, account, &mut fields).await?;
    let account = account.id;
    if given.is_none() {
        fields.problem("contacts", "required", "is required, or `contactIds`");
    }
    let sound = given.filter(|_| fields.problems.is_empty());
    let (Some(name), Some(agent_id), Some((contacts, destinations))) = (settings.name.clone(), settings.agent, sound)
    else {
        return Err(ApiError::Invalid(fields.problems));
    };
    let agent = dialing_agent(&*state.store, account, agent_id).await?;
    if settings.launch || settings.scheduled {
        require_ready(state, account, &agent).await?;
    }
    contacts::check_choices(state, &agent, &contacts)?;
    let mut open = OpenVariables::of(&*state.store, account, &agent).await?;
    contacts::count_variables(&state.store, account, &contacts, &mut open).await?;
    let import = Import::begin(state.store.clone(), account, settings.into_new(name, agent_id)).await?;
    for chunk in contacts.chunks(CHUNK) {
        import.append(chunk).await?;
    }
    let row = import.finish(ticket).await?;
    let warnings: Vec<String> = destinations.warning().into_iter().chain(open.warning()).collect();
    Ok((row, joined(&warnings)))
}

fn settings(fields: &mut Fields<'_>) -> Settings {
    fields.only(&options::with_names(&NAMES));
    let name = fields.name("name");
    if fields.value("agentId").is_none() {
        fields.problem("agentId", "required", "is required");
    }
    let agent = agent_id(fields);
    let settings = Settings {
        name,
        agent,
        launch: fields.flag("launch"),
        scheduled: fields.flag("scheduled"),
        schedule: ScheduleText {
            start_time: fields.string("startTime").map(str::to_owned),
            end_time: fields.string("endTime").map(str::to_owned),
            timezone: fields.string("timezone").map(str::to_owned),
        },
        follow_up_call: fields.flag("followUpCall"),
        follow_up_attempts: fields.integer("followUpAttempts", 1..=100),
        follow_up_intervals: intervals(fields),
        options: options::read(|name, range| fields.integer(name, range)),
    };
    settings.check(&mut fields.problems);
    settings
}

/// Reads `agentId`, if it is present.
pub fn agent_id(fields: &mut Fields<'_>) -> Option<AgentId> {
    let text = fields.string("agentId")?;
    let id = text.parse::<AgentId>();
    if id.is_err() {
        let message = format!("`{text:.100}` is not an agent's id (a UUID)");
        fields.problem("agentId", "invalid_value", message);
    }
    id.ok()
}

/// Reads `followUpIntervals`, if it is present.
pub fn intervals(fields: &mut Fields<'_>) -> Option<Vec<i64>> {
    let items = fields.array("followUpIntervals")?;
    let mut minutes = Vec::new();
    for (index, item) in items.iter().enumerate() {
        match whole(item) {
            Some(value) => minutes.push(value),
            None => {
                let message = format!("must be a whole number of minutes, not {}", kind(item));
                fields.problem(&format!("followUpIntervals[{index}]"), "wrong_type", message);
            }
        }
    }
    (minutes.len() == items.len()).then_some(minutes)
}
