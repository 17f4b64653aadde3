//! Filters of conversations: their query parameters, and pages of matching conversations.

use std::path::PathBuf;

use domain::{
    id::{AccountId, AgentId, CampaignId, ContactId},
    phone_number::PhoneNumber,
    ports::store::{
        AgentFilter, CallDirection, CallOutcome, ConversationFilter, ConversationPage, ConversationPlace,
        ConversationRow, ConversationSort, ConversationStatus, SentimentLabel, Store, StoreError,
    },
    time::Timestamp,
    transcript_search,
};
use storage::recordings::file_of;

use crate::{
    request::query::{Parameters, RawQuery, plain_integer},
    response::error::{ApiError, ApiResult},
    state::RestState,
};

/// Names of the filters.
macro_rules! filters {
    ($($more:literal),*) => {
        &[
            "agentId",
            "campaignId",
            "contactId",
            "direction",
            "hasIssue",
            "hasRecording",
            "minDuration",
            "outcome",
            "phoneNumber",
            "search",
            "sentiment",
            "startedAfter",
            "startedBefore",
            "status",
            "tag",
            $($more),*
        ]
    };
}
pub(super) use filters;

/// Conversations whose recordings are checked at a time, and maximum number of such checks per page.
const LOOKED_AT: i64 = 200;
const LOOKS: usize = 10;

/// Maximum agents of the filter `tag`.
const AGENTS: usize = 500;

/// Filters of a list or an export.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// Filters of the store.
    pub filter: ConversationFilter,
    contact: Option<ContactId>,
    tag: Option<String>,
    has_recording: Option<bool>,
}

/// Filters whose contact and tag were looked up.
#[derive(Debug, Clone)]
pub struct Resolved {
    /// None if nothing can match.
    filter: Option<ConversationFilter>,
    has_recording: Option<bool>,
}

/// Parameters of the list.
#[derive(Debug, Clone)]
pub struct ListParameters {
    pub(super) wanted: Wanted,
    pub(super) cursor: Option<String>,
    pub(super) page_size: i64,
    pub(super) with_total: bool,
}

impl Parameters for ListParameters {
    const NAMES: &'static [&'static str] = filters!["cursor", "include", "pageSize", "sortBy", "sortDirection"];

    fn read(query: &mut RawQuery) -> Self {
        let mut wanted = Wanted::read(query);
        let keys = one_of(&ConversationSort::ALL.map(ConversationSort::as_str));
        let sort = query.parsed("sortBy", &keys, ConversationSort::parse);
        let filter = &mut wanted.filter;
        filter.sort = sort.unwrap_or_default();
        filter.ascending = query.ascending();
        let is_usual = filter.sort == ConversationSort::StartTime && !filter.ascending;
        if filter.search.is_some() && !is_usual {
            let name = if sort.is_some() { "sortBy" } else { "sortDirection" };
            query.problem(
                name,
                "not_allowed",
                "`search` lists the newest first; leave one of the two out",
            );
        }
        let total = query.parsed("include", "`total`", |text| (text == "total").then_some(()));
        Self {
            wanted,
            cursor: query.text("cursor"),
            page_size: query.page_size(),
            with_total: total.is_some(),
        }
    }
}

/// A filter with two ends, either of which may be missing.
#[derive(Debug, Clone, Copy)]
pub struct TimeSpan {
    /// Start.
    pub start: Option<Timestamp>,
    /// End, not before the start.
    pub end: Option<Timestamp>,
}

impl TimeSpan {
    /// Reads the two parameters; a span whose end is before its start is a problem of its end.
    pub fn read(query: &mut RawQuery, start_name: &str, end_name: &str) -> Self {
        let start = query.parsed(start_name, UNIX_TIME, unix_time);
        let end = query.parsed(end_name, UNIX_TIME, unix_time);
        if start.zip(end).is_some_and(|(start, end)| end < start) {
            query.problem(
                end_name,
                "out_of_range",
                format!("is before `{start_name}`; exchange the two"),
            );
        }
        Self { start, end }
    }
}

/// Description of the values that [`unix_time`] accepts.
const UNIX_TIME: &str = "a Unix time in whole seconds or milliseconds";

/// Smallest Unix time that is read as milliseconds.
const MILLISECONDS_FROM: i64 = 100_000_000_000;

/// Parses a Unix time. Returns `None` if it is invalid.
fn unix_time(text: &str) -> Option<Timestamp> {
    let value = plain_integer(text)?;
    let factor = if value >= MILLISECONDS_FROM { 1_000 } else { 1_000_000 };
    value.checked_mul(factor).map(Timestamp)
}

/// Reads a phone number. In a query a `+` that is not percent-encoded arrives as a space.
fn phone_number(text: &str) -> Option<PhoneNumber> {
    let plus = text.strip_prefix(' ').map(|rest| format!("+{rest}"));
    let text = plus.as_deref().unwrap_or(text);
    // Calls of earlier versions may have numbers of an earlier rule.
    PhoneNumber::parse(text).or_else(|_| PhoneNumber::stored(text)).ok()
}

fn one_of(words: &[&str]) -> String {
    format!("one of {}", words.join(", "))
}

impl Wanted {
    /// Reads the filters.
    pub(super) fn read(query: &mut RawQuery) -> Self {
        let statuses = one_of(&ConversationStatus::ALL.map(ConversationStatus::as_str));
        let outcomes = one_of(&CallOutcome::ALL.map(CallOutcome::as_str));
        let sentiments = one_of(&SentimentLabel::ALL.map(SentimentLabel::as_str));
        let started = TimeSpan::read(query, "startedAfter", "startedBefore");
        let search = query.search().map(|text| transcript_search::Query::parse(&text));
        if let Some(Err(why)) = &search {
            query.problem("search", "invalid_value", why.to_string());
        }
        Self {
            filter: ConversationFilter {
                agent: query.parsed("agentId", "an agent's id (a UUID)", |text| text.parse::<AgentId>().ok()),
                campaign: query.parsed("campaignId", "a campaign's id (a UUID)", |text| {
                    text.parse::<CampaignId>().ok()
                }),
                status: query.parsed("status", &statuses, ConversationStatus::parse),
                started_before: started.end,
                started_after: started.start,
                min_duration: query.parsed("minDuration", "whole seconds, 0 or more", plain_integer),
                number: query.parsed("phoneNumber", "a phone number such as +15551234567", phone_number),
                direction: query.parsed("direction", "`inbound` or `outbound`", CallDirection::parse),
                outcome: query.parsed("outcome", &outcomes, CallOutcome::parse),
                sentiment: query.parsed("sentiment", &sentiments, SentimentLabel::parse),
                has_issue: query.boolean("hasIssue"),
                search: search.and_then(Result::ok),
                agents: None,
                sort: ConversationSort::StartTime,
                ascending: false,
                after: None,
            },
            contact: query.parsed("contactId", "a contact's id (a UUID)", |text| {
                text.parse::<ContactId>().ok()
            }),
            tag: query.text("tag").filter(|tag| !tag.is_empty()),
            has_recording: query.boolean("hasRecording"),
        }
    }

    /// Looks up the saved contact and the agents with the tag, once for all pages of an export.
    pub(super) async fn resolved(&self, state: &RestState, account: AccountId) -> ApiResult<Resolved> {
        Ok(Resolved {
            filter: self.store_filter(state, account).await?,
            has_recording: self.has_recording,
        })
    }

    /// Returns the store's filter with the number of the saved contact and the agents with the tag; none if nothing
    /// can match.
    async fn store_filter(&self, state: &RestState, account: AccountId) -> ApiResult<Option<ConversationFilter>> {
        let mut filter = self.filter.clone();
        if let Some(tag) = &self.tag {
            let agents = tagged(&*state.store, account, tag).await?;
            if agents.is_empty() {
                return Ok(None);
            }
            filter.agents = Some(agents);
        }
        let Some(contact) = self.contact else {
            return Ok(Some(filter));
        };
        let number = match state.store.contact(account, contact).await {
            Ok(contact) => contact.phone_number,
            Err(StoreError::NotFound) => return Ok(None),
            Err(other) => return Err(other.into()),
        };
        let is_other = filter.number.is_some_and(|asked| asked != number);
        filter.number = Some(number);
        Ok((!is_other).then_some(filter))
    }
}

impl Resolved {
    /// Returns a page of the conversations after a place, with at most `limit` rows.
    pub(super) async fn page(
        &self,
        state: &RestState,
        account: AccountId,
        (after, limit): (Option<ConversationPlace>, i64),
    ) -> ApiResult<ConversationPage> {
        let Some(mut filter) = self.filter.clone() else {
            return Ok(ConversationPage::default());
        };
        filter.after = after;
        let Some(has_recording) = self.has_recording else {
            return Ok(state.store.conversation_page(account, filter, limit).await?);
        };
        let mut rows = Vec::new();
        for _ in 0..LOOKS {
            let page = state
                .store
                .conversation_page(account, filter.clone(), LOOKED_AT)
                .await?;
            filter.after = self.next_place(&page, LOOKED_AT);
            rows.extend(with_recordings(state.recordings_dir.clone(), page.rows, has_recording).await?);
            let found = i64::try_from(rows.len()).unwrap_or(i64::MAX);
            if found >= limit || filter.after.is_none() {
                rows.truncate(usize::try_from(limit).unwrap_or_default());
                return Ok(ConversationPage { rows, reached: None });
            }
        }
        let reached = filter.after;
        Ok(ConversationPage { rows, reached })
    }

    /// Returns the place after which to go on behind a page that was read with this limit, if there may be more.
    pub(super) fn next_place(&self, page: &ConversationPage, limit: i64) -> Option<ConversationPlace> {
        let is_full = i64::try_from(page.rows.len()).is_ok_and(|rows| rows == limit);
        page.reached
            .or_else(|| self.place(page.rows.last().filter(|_| is_full)?))
    }

    /// Returns the place of a row in the list.
    pub(super) fn place(&self, row: &ConversationRow) -> Option<ConversationPlace> {
        Some(self.filter.as_ref()?.place(row))
    }

    /// Counts the conversations. None with the filter for recordings, which looks at files.
    pub(super) async fn total(&self, state: &RestState, account: AccountId) -> ApiResult<Option<(i64, bool)>> {
        let Some(filter) = self.filter.clone() else {
            return Ok(Some((0, true)));
        };
        if self.has_recording.is_some() {
            return Ok(None);
        }
        Ok(Some(state.store.count_conversations(account, filter).await?))
    }
}

/// Returns the agents with a tag, at most the newest [`AGENTS`].
async fn tagged(store: &dyn Store, account: AccountId, tag: &str) -> ApiResult<Vec<AgentId>> {
    let mut agents = Vec::new();
    let mut after = None;
    while agents.len() < AGENTS {
        let filter = AgentFilter {
            tag: Some(tag.to_owned()),
            after,
            ..AgentFilter::default()
        };
        let page = store.agents(account, filter, 100).await?;
        after = page.rows.last().map(|row| (row.created_at, row.id));
        agents.extend(page.rows.iter().map(|row| row.id));
        if !page.more {
            break;
        }
    }
    agents.truncate(AGENTS);
    Ok(agents)
}

/// Keeps the conversations with a recording on this node, or those without.
async fn with_recordings(
    folder: PathBuf,
    mut rows: Vec<ConversationRow>,
    has_recording: bool,
) -> ApiResult<Vec<ConversationRow>> {
    let looking = tokio::task::spawn_blocking(move || {
        rows.retain(|row| (row.ended_at.is_some() && file_of(&folder, row.id).exists()) == has_recording);
        rows
    });
    looking.await.map_err(|_| ApiError::Internal)
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
