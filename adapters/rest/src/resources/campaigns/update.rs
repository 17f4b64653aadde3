//! Changes of a saved campaign: `PATCH`, `POST …/schedule` and `DELETE`.

use actors::campaign::{CampaignCommand, CampaignUpdate};
use axum::{extract::State, response::Response};
use domain::{
    agent::Agent,
    campaign_options::CampaignOptions,
    id::AgentId,
    ports::store::{Account, CampaignContact, CampaignRow, CampaignStatus, FollowUp, ScheduleText},
    scope::Scope,
};
use serde::Deserialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::{
    Answer,
    begin::{beginning_warnings, joined},
    command::{Target, require_to_feed},
    contacts::{self, MoreContacts},
    import::{CHUNK, Import},
    settings::{FollowUpFields, dialing_agent, schedule_texts},
    variables::OpenVariables,
};
use crate::{
    caller::CallerKey,
    described::common::Name,
    request::{
        body::JsonObject,
        checked::{Checked, present},
        optimistic::IfMatch,
    },
    response::{
        envelope::Reply,
        error::{ApiError, ApiResult, Conflict, OrNoSuch},
    },
    state::RestState,
};

/// Changes of a campaign. Omitted fields stay unchanged. `null` clears parts of the schedule. `contacts` and `contactIds`
/// replace the current ones.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CampaignPatch {
    /// New name.
    #[schema(required = false, value_type = Name)]
    name: Option<Name>,
    /// New agent.
    #[schema(required = false, value_type = String, format = "uuid")]
    agent_id: Option<AgentId>,
    /// False stops the campaign; true queues or launches it.
    #[schema(required = false, value_type = bool)]
    active: Option<bool>,
    /// True attaches the schedule; false removes it.
    #[schema(required = false, value_type = bool)]
    scheduled: Option<bool>,
    /// Start time: `HH:MM[:SS]`, or ISO 8601 with or without an offset.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>, example = "09:00")]
    start_time: Option<Option<String>>,
    /// End time in the same format; without it there is no daily pause.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>, example = "17:30")]
    end_time: Option<Option<String>>,
    /// IANA name of the time zone.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>, example = "Europe/Berlin")]
    timezone: Option<Option<String>>,
    #[serde(flatten)]
    follow_up: FollowUpFields,
    #[serde(flatten)]
    #[expect(dead_code, reason = "`contacts::read` takes them out of the body")]
    contacts: MoreContacts,
    /// Options.
    #[serde(flatten)]
    options: CampaignOptions,
}

/// Schedule of the dialing.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewSchedule {
    /// Start time: `HH:MM[:SS]`, or ISO 8601 with or without an offset.
    #[schema(example = "09:00")]
    start_time: String,
    /// End time in the same format; without it there is no daily pause.
    #[schema(example = "17:30")]
    end_time: Option<String>,
    /// IANA name of the time zone.
    #[schema(example = "Europe/Berlin")]
    timezone: String,
}

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
    let mut body = Checked::<CampaignPatch>::change(body);
    if ["scheduled", "active"].map(|name| body.get(name)) == [Some(true), Some(false)] {
        let message = "`scheduled` true queues the campaign and `active` false stops it: send only one of them";
        body.problem("active", ("not_allowed", message.into()));
    }
    let follow_up = follow_up(&mut body, &row.follow_up);
    let malformed = schedule_texts::problems(&schedule_texts::given(&body), false);
    body.extend(malformed);
    let contacts = contacts::read(&*state.store, account, &mut body).await?;
    let patch = body.end()?;
    let is_given = patch.follow_up.is_given();
    let update = CampaignUpdate {
        version: None,
        name: patch.name.map(|name| name.0),
        agent: patch.agent_id,
        follow_up: is_given.then(|| follow_up.made()),
        options: patch.options,
        start_time: patch.start_time,
        end_time: patch.end_time,
        timezone: patch.timezone,
        contacts: None,
        scheduled: patch.scheduled,
        active: patch.active,
    };
    Ok((update, contacts.map(|(contacts, _)| contacts)))
}

/// Merges the body's follow-ups into the stored ones, which replace missing ones while follow-ups are on.
fn follow_up(body: &mut Checked<CampaignPatch>, stored: &FollowUp) -> FollowUpFields {
    let mut wanted = FollowUpFields::of(body);
    if body.is_refused("followUp") || !wanted.is_given() {
        return wanted;
    }
    let call = wanted.follow_up_call.unwrap_or(stored.enabled);
    wanted.follow_up_call = Some(call);
    if stored.enabled && call {
        wanted.follow_up_attempts.get_or_insert(stored.attempts);
        let minutes = &mut wanted.follow_up_intervals;
        minutes.get_or_insert_with(|| stored.intervals_minutes.clone());
    }
    body.extend(wanted.problems());
    wanted
}

/// Handles `POST /public/v1/campaigns/{campaignId}/schedule`.
pub async fn schedule(
    State(state): State<RestState>,
    target: Target,
    JsonObject(body): JsonObject,
) -> ApiResult<Response> {
    let row = state.store.campaign(target.account.id, target.campaign).await;
    row.or_no_such("campaign")?;
    let mut body = Checked::<NewSchedule>::of(&body);
    let problems = schedule_texts::problems(&schedule_texts::given(&body), true);
    body.conclude(problems);
    let body = body.end()?;
    let text = ScheduleText {
        start_time: Some(body.start_time),
        end_time: body.end_time,
        timezone: Some(body.timezone),
    };
    let row = target.command(&state, CampaignCommand::Schedule(text)).await?;
    let answer = Answer::ok(target.request_id).warning(joined(&beginning_warnings(&state, &row).await));
    answer.send(&state, &row).await
}

/// Handles `DELETE /public/v1/campaigns/{campaignId}`.
pub async fn delete(State(state): State<RestState>, target: Target) -> ApiResult<Reply> {
    target.command(&state, CampaignCommand::Delete).await?;
    Ok(Reply::deleted("campaignId", target.campaign))
}
