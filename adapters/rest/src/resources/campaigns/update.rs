//! Changes of a saved campaign: `PATCH`, `POST …/schedule` and `DELETE`.

use actors::campaign::{CampaignCommand, CampaignUpdate};
use axum::{extract::State, response::Response};
use domain::{
    agent::Agent,
    id::AgentId,
    ports::store::{Account, CampaignContact, CampaignRow, CampaignStatus, FollowUp, ScheduleText},
    scope::Scope,
};
use serde_json::{Map, Value};

use super::{
    Answer,
    begin::{beginning_warnings, joined},
    command::{Target, require_to_feed},
    contacts,
    create::{agent_id, intervals},
    import::{CHUNK, Import},
    options,
    settings::{FollowUpFields, dialing_agent, schedule_texts},
    variables::OpenVariables,
};
use crate::{
    caller::CallerKey,
    request::{
        body::JsonObject,
        fields::{Fields, check_name, kind},
        optimistic::IfMatch,
    },
    response::{
        envelope::Reply,
        error::{ApiError, ApiResult, Conflict, OrNoSuch},
    },
    state::RestState,
};

const NAMES: [&str; 12] = [
    "name",
    "agentId",
    "contacts",
    "contactIds",
    "active",
    "scheduled",
    "startTime",
    "endTime",
    "timezone",
    "followUpCall",
    "followUpAttempts",
    "followUpIntervals",
];

/// Schedule fields that `null` clears.
const CLEARED: [&str; 3] = ["startTime", "endTime", "timezone"];

/// Handles `PATCH /public/v1/campaigns/{campaignId}`.
pub async fn patch(
    State(state): State<RestState>,
    target: Target,
    caller: CallerKey,
    expected: IfMatch,
    JsonObject(body): JsonObject,
) -> ApiResult<Response> {
    let row = state.store.campaign(target.account.id, target.campaign).await;
    let row = row.or_no_such("campaign")?;
    expected.check(row.version)?;
    let (mut update, contacts) = read(&state, (&target.account, &row), &body).await?;
    if update.scheduled.is_some() || update.active.is_some() {
        caller.require(Scope::Calls)?;
    }
    update.version = expected.0;
    let begins = update.scheduled == Some(true) || update.active == Some(true);
    let rescheduled = update.start_time.is_some() || update.end_time.is_some() || update.timezone.is_some();
    if rescheduled || update.agent.is_some() || contacts.is_some() {
        require_to_feed(&row, &caller)?;
    }
    let agent = agent_of(&state, &row, update.agent).await?;
    let mut warnings = Vec::new();
    let import = match contacts {
        None => None,
        // Checked before the import, since the command would certainly be refused.
        Some(_) if row.status == CampaignStatus::Running => return Err(running()),
        Some(contacts) => {
            let (import, warning) = hide(&state, &row, agent.as_ref(), &contacts).await?;
            warnings.extend(warning);
            Some(import)
        }
    };
    update.contacts = import.as_ref().and_then(Import::campaign);
    // If the command is refused, the import is dropped and thus abandoned.
    let command = CampaignCommand::Update(Box::new(update));
    let changed = target.command(&state, command).await?;
    if let Some(import) = import {
        import.taken();
    }
    if begins {
        warnings.extend(beginning_warnings(&state, &changed).await);
    } else if rescheduled {
        warnings.extend(schedule_texts::start_in_past(&changed));
    }
    let answer = Answer::ok(target.request_id).warning(joined(&warnings));
    answer.send(&state, &changed).await
}

/// Returns the agent that will dial. An agent that can no longer dial only prevents a start.
pub async fn agent_of(state: &RestState, row: &CampaignRow, new: Option<AgentId>) -> ApiResult<Option<Agent>> {
    let agent = dialing_agent(&*state.store, row.account, new.unwrap_or(row.agent)).await;
    match agent {
        Err(ApiError::NotFound(_) | ApiError::Invalid(_)) if new.is_none() => Ok(None),
        found => Ok(Some(found?)),
    }
}

fn running() -> ApiError {
    let message = "the campaign is running; pause or stop it first";
    ApiError::Conflict(Conflict::CampaignRunning, message.into())
}

/// Saves the contacts as a hidden import. Returns it with warnings about the contacts.
pub async fn hide(
    state: &RestState,
    row: &CampaignRow,
    agent: Option<&Agent>,
    contacts: &[CampaignContact],
) -> ApiResult<(Import, Option<String>)> {
    if let Some(agent) = agent {
        contacts::check_choices(state, agent, contacts)?;
    }
    let mut open = match agent {
        Some(agent) => OpenVariables::of(&*state.store, row.account, agent).await?,
        None => OpenVariables::default(),
    };
    contacts::count_variables(&state.store, row.account, contacts, &mut open).await?;
    let import = Import::hidden(state, row).await?;
    for chunk in contacts.chunks(CHUNK) {
        import.append(chunk).await?;
    }
    Ok((import, open.warning()))
}

/// Reads the body. Includes the contacts if they are to be replaced.
async fn read(
    state: &RestState,
    (account, row): (&Account, &CampaignRow),
    body: &Map<String, Value>,
) -> ApiResult<(CampaignUpdate, Option<Vec<CampaignContact>>)> {
    let mut fields = Fields::of(body, "");
    let names = options::with_names(&NAMES);
    fields.only(&names);
    refuse_nulls(&mut fields, body, &names);
    let mut update = CampaignUpdate {
        name: name(&mut fields),
        agent: agent_id(&mut fields),
        options: options::read(|name, range| fields.integer(name, range)),
        start_time: clearable(&mut fields, body, "startTime"),
        end_time: clearable(&mut fields, body, "endTime"),
        timezone: clearable(&mut fields, body, "timezone"),
        scheduled: flag(&mut fields, "scheduled"),
        active: flag(&mut fields, "active"),
        ..CampaignUpdate::default()
    };
    if update.scheduled == Some(true) && update.active == Some(false) {
        let message = "`scheduled` true queues the campaign and `active` false stops it: send only one of them";
        fields.problem("active", "not_allowed", message);
    }
    update.follow_up = follow_up(&mut fields, &row.follow_up);
    let given = ScheduleText {
        start_time: update.start_time.clone().flatten(),
        end_time: update.end_time.clone().flatten(),
        timezone: update.timezone.clone().flatten(),
    };
    fields.problems.extend(schedule_texts::problems(&given, false));
    let contacts = contacts::read_all(&*state.store, account, &mut fields).await?;
    fields.end()?;
    Ok((update, contacts.map(|(contacts, _)| contacts)))
}

fn refuse_nulls(fields: &mut Fields<'_>, body: &Map<String, Value>, names: &[&str]) {
    for name in names.iter().filter(|name| !CLEARED.contains(name)) {
        if body.get(*name).is_some_and(Value::is_null) {
            let message = "cannot be null: leave it out to keep it as it is";
            fields.problem(name, "wrong_type", message);
        }
    }
}

fn name(fields: &mut Fields<'_>) -> Option<String> {
    let text = fields.string("name")?;
    check_name(text)
        .map_err(|(code, message)| fields.problem("name", code, message))
        .ok()
}

fn flag(fields: &mut Fields<'_>, name: &str) -> Option<bool> {
    let value = fields.value(name)?;
    if value.as_bool().is_none() {
        fields.problem(name, "wrong_type", format!("must be a boolean, not {}", kind(value)));
    }
    value.as_bool()
}

/// Reads a text, or null to clear it.
fn clearable(fields: &mut Fields<'_>, body: &Map<String, Value>, name: &str) -> Option<Option<String>> {
    match body.get(name)? {
        Value::Null => Some(None),
        _ => fields.string(name).map(|text| Some(text.to_owned())),
    }
}

/// Merges the body into the stored follow-ups. Returns `None` if the body does not mention them.
fn follow_up(fields: &mut Fields<'_>, stored: &FollowUp) -> Option<FollowUp> {
    let named = ["followUpCall", "followUpAttempts", "followUpIntervals"];
    named.iter().find(|name| fields.value(name).is_some())?;
    let before = fields.problems.len();
    let call = flag(fields, "followUpCall").unwrap_or(stored.enabled);
    let attempts = fields.integer("followUpAttempts", 1..=100);
    let minutes = intervals(fields);
    if fields.problems.len() > before {
        return None;
    }
    // Stored values replace missing ones while follow-ups are on.
    let kept = stored.enabled && call;
    let kept_minutes: Vec<i64> = stored
        .intervals_minutes
        .iter()
        .map(|minutes| i64::from(*minutes))
        .collect();
    let minutes = minutes.or_else(|| kept.then_some(kept_minutes));
    let wanted = FollowUpFields {
        call,
        attempts: attempts.or_else(|| kept.then_some(i64::from(stored.attempts))),
        intervals: minutes.as_deref(),
    };
    wanted.check(&mut fields.problems);
    (fields.problems.len() == before).then(|| wanted.made())
}

/// Handles `POST /public/v1/campaigns/{campaignId}/schedule`.
pub async fn schedule(
    State(state): State<RestState>,
    target: Target,
    JsonObject(body): JsonObject,
) -> ApiResult<Response> {
    let row = state.store.campaign(target.account.id, target.campaign).await;
    row.or_no_such("campaign")?;
    let mut fields = Fields::of(&body, "");
    fields.only(&CLEARED);
    let text = ScheduleText {
        start_time: fields.string("startTime").map(str::to_owned),
        end_time: fields.string("endTime").map(str::to_owned),
        timezone: fields.string("timezone").map(str::to_owned),
    };
    let mut found = schedule_texts::problems(&text, true);
    found.retain(|problem| fields.problems.iter().all(|known| known.path != problem.path));
    fields.problems.extend(found);
    fields.end()?;
    let row = target.command(&state, CampaignCommand::Schedule(text)).await?;
    let answer = Answer::ok(target.request_id).warning(joined(&beginning_warnings(&state, &row).await));
    answer.send(&state, &row).await
}

/// Handles `DELETE /public/v1/campaigns/{campaignId}`.
pub async fn delete(State(state): State<RestState>, target: Target) -> ApiResult<Reply> {
    target.command(&state, CampaignCommand::Delete).await?;
    Ok(Reply::deleted("campaignId", target.campaign))
}
