//! Conversations: the results of attempts.

pub mod end;
pub mod events;
pub mod recording;
pub mod turns;

use axum::extract::State;
use domain::{
    conversation::{self, Conversation},
    id::{AgentId, AttemptId, CampaignId},
    ports::store::{Account, ConversationFilter, ConversationRow, ConversationStatus},
    time::Timestamp,
};

use super::{
    RestState,
    auth::Caller,
    cursor::Binding,
    envelope::Reply,
    error::{ApiResult, OrNoSuch},
    path_id::PathId,
    query::{Parameters, Query, RawQuery, plain_integer},
};

/// Parameters of the list.
#[derive(Debug, Clone)]
pub struct ListParameters {
    filter: ConversationFilter,
    cursor: Option<String>,
    page_size: i64,
}

impl Parameters for ListParameters {
    const NAMES: &'static [&'static str] = &[
        "agentId",
        "campaignId",
        "status",
        "startedBefore",
        "startedAfter",
        "minDuration",
        "cursor",
        "pageSize",
    ];

    fn read(query: &mut RawQuery) -> Self {
        let statuses = ConversationStatus::ALL.map(ConversationStatus::as_str).join(", ");
        Self {
            filter: ConversationFilter {
                agent: query.parsed("agentId", "an agent's id (a UUID)", |text| text.parse::<AgentId>().ok()),
                campaign: query.parsed("campaignId", "a campaign's id (a UUID)", |text| {
                    text.parse::<CampaignId>().ok()
                }),
                status: query.parsed("status", &format!("one of {statuses}"), ConversationStatus::parse),
                started_before: query.parsed("startedBefore", UNIX_TIME, unix_time),
                started_after: query.parsed("startedAfter", UNIX_TIME, unix_time),
                min_duration: query.parsed("minDuration", "whole seconds, 0 or more", plain_integer),
                after: None,
            },
            cursor: query.text("cursor"),
            page_size: query.page_size(),
        }
    }
}

const UNIX_TIME: &str = "a Unix time in whole seconds or milliseconds";

/// Smallest Unix time that is read as milliseconds.
const MILLISECONDS_FROM: i64 = 100_000_000_000;

fn unix_time(text: &str) -> Option<Timestamp> {
    let value = plain_integer(text)?;
    let factor = if value >= MILLISECONDS_FROM { 1_000 } else { 1_000_000 };
    value.checked_mul(factor).map(Timestamp)
}

/// Handles `GET /public/v1/conversations`.
pub async fn list(
    State(state): State<RestState>,
    Caller(account): Caller,
    Query(parameters): Query<ListParameters>,
) -> ApiResult<Reply> {
    let ListParameters {
        mut filter,
        cursor,
        page_size,
    } = parameters;
    let binding = Binding::new(account.id, "conversations", format!("{filter:?}"));
    filter.after = binding.after(cursor.as_deref())?;
    let rows = state.store.conversations(account.id, filter, page_size + 1).await?;
    Ok(binding.page(
        rows,
        page_size,
        |row| conversation::item(row, &account),
        |row| (row.started_at, row.id.to_string()),
    ))
}

/// Parameters of a single conversation.
#[derive(Debug, Clone, Copy)]
pub struct ShowParameters {
    with_turns: bool,
}

impl Parameters for ShowParameters {
    const NAMES: &'static [&'static str] = &["include"];

    fn read(query: &mut RawQuery) -> Self {
        let turns = query.parsed("include", "`turns`", |text| (text == "turns").then_some(()));
        Self {
            with_turns: turns.is_some(),
        }
    }
}

/// Handles `GET /public/v1/conversations/{conversationId}`.
pub async fn show(
    State(state): State<RestState>,
    Caller(account): Caller,
    PathId(id): PathId<AttemptId>,
    Query(ShowParameters { with_turns }): Query<ShowParameters>,
) -> ApiResult<Reply> {
    let row = state
        .store
        .conversation(account.id, id)
        .await
        .or_no_such("conversation")?;
    let mut shown = detail_of(&state, &account, &row).await?;
    if with_turns {
        let facts = state.store.turns(id).await?;
        shown.turns = Some(conversation::turns(&*state.store, id, facts).await?);
    }
    Ok(Reply::ok(shown))
}

/// Returns the full view of a conversation.
async fn detail_of(state: &RestState, account: &Account, row: &ConversationRow) -> ApiResult<Conversation> {
    Ok(conversation::in_full(&*state.store, account, row).await?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_seconds_below_ten_to_the_eleventh_and_milliseconds_from_there() {
        assert_eq!(unix_time("1700000000"), Some(Timestamp(1_700_000_000_000_000)));
        assert_eq!(unix_time("1700000000123"), Some(Timestamp(1_700_000_000_123_000)));
        assert_eq!(unix_time("99999999999"), Some(Timestamp(99_999_999_999_000_000)));
        for bad in ["", "-1", "1.5", "x", "9223372036854775807"] {
            assert_eq!(unix_time(bad), None, "{bad}");
        }
    }
}
