//! Campaigns: list, read, and the commands that start and end dialing.

pub mod add;
pub mod begin;
pub mod call_again;
pub mod command;
pub mod contacts;
pub mod create;
pub mod duplicate;
pub mod events;
pub mod import;
pub mod results;
pub mod settings;
mod stream;
pub mod update;
pub mod variables;
pub mod view;

use actors::campaign::CampaignCommand;
use axum::{extract::State, response::Response};
use domain::{
    ports::store::{CampaignFilter, CampaignStatus},
    time::Timestamp,
};
use serde::Deserialize;
use utoipa::ToSchema;

use crate::{
    caller::Caller,
    described::common::NoFields,
    request::{
        body::OptionalBody,
        query::{Parameters, Query, RawQuery},
    },
    response::{
        envelope::{Pagination, Reply},
        error::{ApiResult, OrNoSuch},
    },
    state::RestState,
};
use command::Target;
use view::Campaign;

pub use stream::Answer;

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
                before: query.parsed("cursor", "a campaign's `createdAt`", Timestamp::from_iso8601),
            },
            page_size: query.page_size(),
        }
    }
}

/// Handles `GET /public/v1/campaigns`.
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
        ..Pagination::default()
    };
    let items: Vec<Campaign> = rows.iter().map(Campaign::of).collect();
    Ok(Reply::page(items, pagination))
}

/// Handles `GET /public/v1/campaigns/{campaignId}`. Includes contacts and progress.
pub async fn show(State(state): State<RestState>, target: Target) -> ApiResult<Response> {
    let row = state.store.campaign(target.account.id, target.campaign).await;
    Answer::ok(target.request_id)
        .send(&state, &row.or_no_such("campaign")?)
        .await
}

/// Handles `POST /public/v1/campaigns/{campaignId}/launch`.
pub async fn launch(State(state): State<RestState>, target: Target, _: OptionalBody<NoFields>) -> ApiResult<Response> {
    let row = target.command(&state, CampaignCommand::Launch).await?;
    let warnings = begin::launch_warnings(&state, &row).await;
    let answer = Answer::ok(target.request_id).warning(begin::joined(&warnings));
    answer.send(&state, &row).await
}

/// Handles `POST /public/v1/campaigns/{campaignId}/pause`.
pub async fn pause(State(state): State<RestState>, target: Target, _: OptionalBody<NoFields>) -> ApiResult<Response> {
    let row = target.command(&state, CampaignCommand::Pause).await?;
    Answer::ok(target.request_id).send(&state, &row).await
}

/// Options of a stop.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StopOptions {
    /// Whether to hang up the calls in progress, too.
    #[schema(default = false)]
    pub hang_up: Option<bool>,
}

/// Handles `POST /public/v1/campaigns/{campaignId}/stop`. The body may contain `{ "hangUp": false }`.
pub async fn stop(
    State(state): State<RestState>,
    target: Target,
    OptionalBody(body): OptionalBody<StopOptions>,
) -> ApiResult<Response> {
    let hang_up = body.hang_up.unwrap_or_default();
    let row = target.command(&state, CampaignCommand::Stop { hang_up }).await?;
    Answer::ok(target.request_id).send(&state, &row).await
}
