//! Campaigns: list, read, and the commands that start and end their dialing.

pub mod create;
pub mod import;
pub mod settings;
mod stream;
pub mod variables;
mod view;

use std::time::Duration;

use actors::{
    campaigns::CampaignCommand,
    id::{AccountId, CampaignId},
    ports::store::{CampaignFilter, CampaignRow, CampaignStatus},
    switchboard::SwitchboardMessage,
    time::Timestamp,
};
use axum::{extract::State, response::Response};
use chrono::{DateTime, Utc};

use super::{
    RestState,
    auth::Caller,
    body::OptionalJsonObject,
    envelope::{Pagination, Reply},
    error::{ApiError, ApiResult, OrNoSuch},
    fields::Fields,
    path_id::PathId,
    query::{NoParameters, Parameters, Query, RawQuery},
    request_id::RequestId,
};

pub use stream::Answer;

/// How long a command may take to its commit.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(5);

const NOBODY_IS_CALLED: &str = "the carrier is simulated: nobody is really called";

/// Parameters of the list.
#[derive(Debug, Clone)]
pub struct ListParameters {
    filter: CampaignFilter,
    page_size: i64,
}

impl Parameters for ListParameters {
    const NAMES: &'static [&'static str] = &["name", "status", "active", "cursor", "pageSize"];

    fn read(query: &mut RawQuery) -> Self {
        let statuses = CampaignStatus::ALL.map(CampaignStatus::as_str).join(", ");
        Self {
            filter: CampaignFilter {
                name: query.text("name").filter(|name| !name.is_empty()),
                status: query.parsed("status", &format!("one of {statuses}"), CampaignStatus::parse),
                active: query.boolean("active"),
                before: query.parsed("cursor", "a campaign's `createdAt`", |text| {
                    let at = DateTime::parse_from_rfc3339(text).ok()?;
                    Some(Timestamp::from(at.with_timezone(&Utc)))
                }),
            },
            page_size: query.page_size(),
        }
    }
}

/// `GET /public/v1/campaigns`.
pub async fn list(
    State(state): State<RestState>,
    Caller(account): Caller,
    Query(parameters): Query<ListParameters>,
) -> ApiResult<Reply> {
    let ListParameters { filter, page_size } = parameters;
    let mut rows = state.store.campaigns(account.id, filter, page_size + 1).await?;
    let page = usize::try_from(page_size).unwrap_or_default();
    let has_more = rows.len() > page;
    rows.truncate(page);
    let last = rows.last().filter(|_| has_more);
    let pagination = Pagination {
        page_size,
        has_more,
        next_cursor: last.map(|row| row.created_at.to_iso8601()),
    };
    let items = rows.iter().map(|row| view::campaign(row).into()).collect();
    Ok(Reply::page(items, pagination))
}

/// `GET /public/v1/campaigns/{campaignId}`: with its contacts and progress.
pub async fn show(
    State(state): State<RestState>,
    Caller(account): Caller,
    PathId(id): PathId<CampaignId>,
    request_id: RequestId,
    _: Query<NoParameters>,
) -> ApiResult<Response> {
    let row = state.store.campaign(account.id, id).await.or_no_such("campaign")?;
    Answer::ok(request_id).send(&state, &row).await
}

/// `POST /public/v1/campaigns/{campaignId}/launch`.
pub async fn launch(
    State(state): State<RestState>,
    Caller(account): Caller,
    PathId(id): PathId<CampaignId>,
    request_id: RequestId,
    _: Query<NoParameters>,
    OptionalJsonObject(body): OptionalJsonObject,
) -> ApiResult<Response> {
    no_fields(&body, &[])?;
    let row = command(&state, account.id, id, CampaignCommand::Launch).await?;
    let answer = Answer::ok(request_id).warning(launch_warning(&state));
    answer.send(&state, &row).await
}

/// `POST /public/v1/campaigns/{campaignId}/pause`.
pub async fn pause(
    State(state): State<RestState>,
    Caller(account): Caller,
    PathId(id): PathId<CampaignId>,
    request_id: RequestId,
    _: Query<NoParameters>,
    OptionalJsonObject(body): OptionalJsonObject,
) -> ApiResult<Response> {
    no_fields(&body, &[])?;
    let row = command(&state, account.id, id, CampaignCommand::Pause).await?;
    Answer::ok(request_id).send(&state, &row).await
}

/// `POST /public/v1/campaigns/{campaignId}/stop`, which takes `{ "hangUp": false }`.
pub async fn stop(
    State(state): State<RestState>,
    Caller(account): Caller,
    PathId(id): PathId<CampaignId>,
    request_id: RequestId,
    _: Query<NoParameters>,
    OptionalJsonObject(body): OptionalJsonObject,
) -> ApiResult<Response> {
    let hang_up = no_fields(&body, &["hangUp"])?;
    let row = command(&state, account.id, id, CampaignCommand::Stop { hang_up }).await?;
    Answer::ok(request_id).send(&state, &row).await
}

/// Refuses every field but the flag named, if one is; returns that flag.
fn no_fields(body: &serde_json::Map<String, serde_json::Value>, flag: &[&str]) -> ApiResult<bool> {
    let mut fields = Fields::of(body, "");
    fields.only(flag);
    let value = flag.first().is_some_and(|name| fields.flag(name));
    if fields.problems.is_empty() {
        Ok(value)
    } else {
        Err(ApiError::Invalid(fields.problems))
    }
}

/// What there is to say when dialing begins.
pub fn launch_warning(state: &RestState) -> Option<String> {
    state.carrier_is_simulated.then(|| NOBODY_IS_CALLED.to_owned())
}

/// Gives a command to the node and waits for its commit.
pub async fn command(
    state: &RestState,
    account: AccountId,
    campaign: CampaignId,
    command: CampaignCommand,
) -> ApiResult<CampaignRow> {
    let message = |reply| SwitchboardMessage::Command {
        account,
        campaign,
        command,
        reply,
    };
    match state.switchboard.ask(message, COMMAND_TIMEOUT).await {
        Some(answer) => Ok(answer?),
        None => {
            tracing::error!(%campaign, ?command, "the node did not answer a command");
            Err(ApiError::Unavailable(
                "the node did not answer in time; try again".into(),
            ))
        }
    }
}
