//! `POST /public/v1/campaigns`: a campaign whose contacts come as JSON.

use std::collections::HashMap;

use actors::{
    agent::{Agent, Problem},
    campaigns::CampaignCommand,
    id::{AccountId, AgentId, ContactId},
    phone_number::PhoneNumber,
    ports::store::{CampaignContact, CampaignRow, CampaignStatus, KeyTicket, Store, StoreError},
};
use axum::{extract::State, response::Response};
use serde_json::{Map, Value};

use super::{
    Answer,
    command::command,
    import::{CHUNK, Import},
    launch_warning,
    settings::{Settings, dialing_agent},
    variables::OpenVariables,
};
use crate::rest::{
    RestState,
    auth::Caller,
    body::JsonObject,
    contact_fields,
    error::{ApiError, ApiResult, Conflict, OrNoSuch},
    fields::{Fields, kind, whole},
    idempotency::{IdempotencyKey, Replay, RequestHash, Turn},
    query::{NoParameters, Query},
    request_id::RequestId,
};

const NAMES: [&str; 12] = [
    "name",
    "agentId",
    "contacts",
    "launch",
    "scheduled",
    "startTime",
    "endTime",
    "timezone",
    "followUpCall",
    "followUpAttempts",
    "followUpIntervals",
    "maxConcurrentCalls",
];

/// The handler.
pub async fn create(
    State(state): State<RestState>,
    Caller(account): Caller,
    key: IdempotencyKey,
    request_id: RequestId,
    _: Query<NoParameters>,
    JsonObject(body): JsonObject,
) -> ApiResult<Response> {
    let launch = body.get("launch").and_then(Value::as_bool).unwrap_or(false);
    let hash = || RequestHash::of_json(&body);
    match key.take(&state, account.id, "create campaign", hash).await? {
        Turn::Again(replay) => answer_again(&state, account.id, &replay, launch, request_id).await,
        Turn::First(held) => {
            let made = make(&state, account.id, &body, held.ticket()).await;
            let (row, warning) = held.end(made).await?;
            answer(&state, row, launch, warning, request_id).await
        }
    }
}

/// The saved campaign, and what there is to say about its contacts.
async fn make(
    state: &RestState,
    account: AccountId,
    body: &Map<String, Value>,
    ticket: Option<&KeyTicket>,
) -> ApiResult<(CampaignRow, Option<String>)> {
    let mut fields = Fields::of(body, "");
    let settings = settings(&mut fields);
    let contacts = contacts(&mut fields);
    check_contact_ids(&*state.store, account, &contacts, &mut fields.problems).await?;
    let (Some(name), Some(agent_id), true) = (settings.name.clone(), settings.agent, fields.problems.is_empty()) else {
        return Err(ApiError::Invalid(fields.problems));
    };
    let agent = dialing_agent(&*state.store, account, agent_id).await?;
    if settings.launch {
        require_ready(state, &agent)?;
    }
    let contacts: Vec<CampaignContact> = contacts.into_iter().map(|(_, contact)| contact).collect();
    let mut open = OpenVariables::of(&agent);
    contacts.iter().for_each(|contact| open.count(contact));
    let import = Import::begin(state.store.clone(), account, settings.into_new(name, agent_id)).await?;
    for chunk in contacts.chunks(CHUNK) {
        import.append(chunk).await?;
    }
    let row = import.finish(ticket).await?;
    Ok((row, open.warning()))
}

/// Refuses an agent that could not be launched, before anything is saved.
pub fn require_ready(state: &RestState, agent: &Agent) -> ApiResult<()> {
    (state.readiness)(agent).map_err(|missing| ApiError::Conflict(Conflict::NotConfigured, missing))
}

/// Launches if asked, and answers 201. A launch that is refused leaves the draft and is told as a warning: the
/// campaign is there.
pub async fn answer(
    state: &RestState,
    row: CampaignRow,
    launch: bool,
    warning: Option<String>,
    request_id: RequestId,
) -> ApiResult<Response> {
    let mut warnings: Vec<String> = warning.into_iter().collect();
    let mut row = row;
    if launch {
        match command(state, row.account, row.id, CampaignCommand::Launch).await {
            Ok(launched) => {
                row = launched;
                warnings.extend(launch_warning(state));
            }
            Err(error) => {
                // A command that came too late, or one of the same request sent again, may have been carried out.
                row = state.store.campaign(row.account, row.id).await?;
                warnings.push(match is_untouched(&row) {
                    true => format!("the campaign was created but not launched: {}", error.message()),
                    false => launch_warning(state).unwrap_or_default(),
                });
                warnings.retain(|warning| !warning.is_empty());
            }
        }
    }
    let warning = (!warnings.is_empty()).then(|| warnings.join("; "));
    Answer::created(request_id).warning(warning).send(state, &row).await
}

/// Answers the same request, sent again. If the first one died between its commit and its launch, that is made up for;
/// a campaign that was ever launched is not launched again.
pub async fn answer_again(
    state: &RestState,
    account: AccountId,
    replay: &Replay,
    launch: bool,
    request_id: RequestId,
) -> ApiResult<Response> {
    let row = state
        .store
        .campaign(account, replay.id()?)
        .await
        .or_no_such("campaign")?;
    let launch = launch && is_untouched(&row);
    Ok(replay.mark(answer(state, row, launch, None, request_id).await?))
}

/// As it was made: its state never changed.
fn is_untouched(row: &CampaignRow) -> bool {
    row.status == CampaignStatus::Draft && row.version == 1
}

fn settings(fields: &mut Fields<'_>) -> Settings {
    fields.only(&NAMES);
    let name = fields.name("name");
    let agent = fields.required_string("agentId").and_then(|text| {
        let id = text.parse::<AgentId>();
        if id.is_err() {
            fields.problem(
                "agentId",
                "invalid_value",
                format!("`{text:.100}` is not an agent's id (a UUID)"),
            );
        }
        id.ok()
    });
    let settings = Settings {
        name,
        agent,
        launch: fields.flag("launch"),
        scheduled: fields.flag("scheduled"),
        schedule: actors::ports::store::ScheduleText {
            start_time: fields.string("startTime").map(str::to_owned),
            end_time: fields.string("endTime").map(str::to_owned),
            timezone: fields.string("timezone").map(str::to_owned),
        },
        follow_up_call: fields.flag("followUpCall"),
        follow_up_attempts: fields.integer("followUpAttempts", 1..=100),
        follow_up_intervals: intervals(fields),
        max_concurrent_calls: fields.integer("maxConcurrentCalls", 1..=100_000),
    };
    settings.check(&mut fields.problems);
    settings
}

fn intervals(fields: &mut Fields<'_>) -> Option<Vec<i64>> {
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

/// The sound contacts with their index; what is wrong with the others goes into `fields`.
fn contacts(fields: &mut Fields<'_>) -> Vec<(usize, CampaignContact)> {
    match fields.value("contacts") {
        None => fields.problem("contacts", "required", "is required"),
        Some(Value::Array(items)) if items.is_empty() => {
            fields.problem("contacts", "required", "must hold at least one contact");
        }
        Some(_) => {}
    }
    let mut seen: HashMap<PhoneNumber, usize> = HashMap::new();
    let mut contacts = Vec::new();
    for (index, item) in fields.array("contacts").unwrap_or_default().iter().enumerate() {
        let path = format!("contacts[{index}]");
        let Value::Object(map) = item else {
            let message = format!("must be an object, not {}", kind(item));
            fields.problem(&path, "wrong_type", message);
            continue;
        };
        let mut own = Fields::of(map, path);
        let contact = contact(&mut own);
        if let Some(contact) = contact {
            match seen.get(&contact.phone_number) {
                Some(first) => {
                    let message = format!("`{}` repeats contacts[{first}]", contact.phone_number);
                    own.problem("phoneNumber", "duplicate_number", message);
                }
                None => {
                    seen.insert(contact.phone_number.clone(), index);
                    contacts.push((index, contact));
                }
            }
        }
        fields.problems.append(&mut own.problems);
    }
    contacts
}

fn contact(fields: &mut Fields<'_>) -> Option<CampaignContact> {
    let read = contact_fields::read(fields, &["metadata"], &["contactId"]);
    let contact = fields.string("contactId").and_then(|text| {
        let id = text.parse::<ContactId>();
        if id.is_err() {
            fields.problem(
                "contactId",
                "invalid_value",
                format!("`{text:.100}` is not a contact's id (a UUID)"),
            );
        }
        id.ok()
    });
    Some(CampaignContact {
        phone_number: read.phone_number?,
        contact,
        name: read.name,
        email: read.email,
        extra: read.extra,
    })
}

/// A `contactId` must be of a saved contact of the account, with the same number.
async fn check_contact_ids(
    store: &dyn Store,
    account: AccountId,
    contacts: &[(usize, CampaignContact)],
    problems: &mut Vec<Problem>,
) -> ApiResult<()> {
    for (index, contact) in contacts {
        let Some(id) = contact.contact else { continue };
        let path = format!("contacts[{index}].contactId");
        match store.contact(account, id).await {
            Ok(saved) if saved.phone_number == contact.phone_number => {}
            Ok(_) => problems.push(Problem::new(
                path,
                "not_allowed",
                "this contact is saved with another phone number",
            )),
            Err(StoreError::NotFound) => {
                let message = format!("there is no contact `{id}` in this account");
                problems.push(Problem::new(path, "not_found", message));
            }
            Err(other) => return Err(other.into()),
        }
    }
    Ok(())
}
