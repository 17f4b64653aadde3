//! Results of a campaign's contacts: as pages of a list, and as one streamed CSV file.

use std::sync::Arc;

use axum::{
    body::Body,
    extract::State,
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use domain::{
    agent::Entities,
    conversation,
    id::CampaignId,
    ports::store::{AgentRow, CampaignRow, ContactPage, ContactResult, ContactStatus, Store, StoreError},
    time::Timestamp,
};
use futures_util::stream;
use serde_json::json;

use super::{command::Target, view::ShownResult};
use crate::{
    RestState,
    auth::Caller,
    cursor::Binding,
    envelope::{Pagination, Reply},
    error::{ApiError, ApiResult, OrNoSuch},
    path_id::PathId,
    query::{Parameters, Query, RawQuery},
};

/// Parameters of the list.
#[derive(Debug, Clone)]
pub struct ListParameters {
    status: Option<ContactStatus>,
    cursor: Option<String>,
    page_size: i64,
}

impl Parameters for ListParameters {
    const NAMES: &'static [&'static str] = &["status", "cursor", "pageSize"];

    fn read(query: &mut RawQuery) -> Self {
        let statuses = ContactStatus::ALL.map(ContactStatus::as_str).join(", ");
        Self {
            status: query.parsed("status", &format!("one of {statuses}"), ContactStatus::parse),
            cursor: query.text("cursor"),
            page_size: query.page_size(),
        }
    }
}

/// Handles `GET /public/v1/campaigns/{campaignId}/contacts`.
pub async fn list(
    State(state): State<RestState>,
    Caller(account): Caller,
    Query(parameters): Query<ListParameters>,
    PathId(id): PathId<CampaignId>,
) -> ApiResult<Reply> {
    let (status, page_size) = (parameters.status, parameters.page_size);
    let row = state.store.campaign(account.id, id).await.or_no_such("campaign")?;
    let filter = format!("{id} {}", status.map_or("", ContactStatus::as_str));
    let binding = Binding::new(account.id, "campaign contacts", filter);
    let mut known = None;
    let from = match parameters.cursor {
        None => 0,
        Some(cursor) => {
            let (index, list) = place(&binding, &cursor)?;
            known = Some(list);
            index
        }
    };
    let page = state.store.contact_results(id, status, from, page_size + 1).await?;
    if known.is_some_and(|known| known != page.list) {
        return Err(bad_cursor());
    }
    let ContactPage { list, mut results } = page;
    let page = usize::try_from(page_size).unwrap_or_default();
    let has_more = results.len() > page;
    results.truncate(page);
    let last = results.last().filter(|_| has_more);
    let pagination = Pagination {
        page_size,
        has_more,
        next_cursor: last.map(|last| binding.cursor(Timestamp(last.index + 1), &list.to_string())),
    };
    let entities = entities(&*state.store, &row).await?;
    let items = results.iter().map(|result| ShownResult::of(result, &entities));
    Ok(Reply::page(items.collect(), pagination))
}

/// Returns the index and the list in a cursor.
fn place(binding: &Binding, cursor: &str) -> ApiResult<(i64, i64)> {
    let place = binding.place(cursor);
    let place = place.and_then(|(index, list)| Some((index.0, list.parse().ok()?)));
    place.ok_or_else(bad_cursor)
}

fn bad_cursor() -> ApiError {
    ApiError::field(
        "cursor",
        "invalid_cursor",
        "is damaged, or belongs to a list with another filter or replaced contacts; start again without it",
    )
}

/// Returns the entities of the campaign's agent, or none if the agent was deleted.
async fn entities(store: &dyn Store, row: &CampaignRow) -> ApiResult<Entities> {
    let agent: Option<AgentRow> = match store.agent(row.account, row.agent).await {
        Ok(agent) => Some(agent),
        Err(StoreError::NotFound) => None,
        Err(other) => return Err(other.into()),
    };
    Ok(conversation::entities(agent.as_ref()))
}

/// Rows of the file per read.
const PAGE: i64 = 1_000;

const HEADERS: [&str; 9] = [
    "phoneNumber",
    "name",
    "contactId",
    "status",
    "errorMessage",
    "attempts",
    "lastConversationId",
    "voiceMailDetected",
    "dataCollected",
];

/// Handles `GET /public/v1/campaigns/{campaignId}/results.csv`.
pub async fn file(State(state): State<RestState>, target: Target) -> ApiResult<Response> {
    let Target { account, campaign, .. } = target;
    let row = state.store.campaign(account.id, campaign).await;
    row.or_no_such("campaign")?;
    // Reads the first page before the response begins, so that an unavailable store is still a 503.
    let first = state.store.contact_results(campaign, None, 0, PAGE).await?;
    let reading = Reading {
        store: state.store,
        list: first.list,
        campaign,
        next: Some(first),
        from: 0,
        begun: false,
    };
    let body = Body::from_stream(stream::try_unfold(reading, Reading::page));
    let mut response = body.into_response();
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("text/csv; charset=utf-8"),
    );
    let name = format!("attachment; filename=\"results-{campaign}.csv\"");
    if let Ok(name) = HeaderValue::from_str(&name) {
        headers.insert(header::CONTENT_DISPOSITION, name);
    }
    Ok(response)
}

/// Progress of writing the file.
struct Reading {
    store: Arc<dyn Store>,
    campaign: CampaignId,
    /// List of contacts that is read. Contacts of another list would make the file a mixture.
    list: i64,
    next: Option<ContactPage>,
    from: i64,
    begun: bool,
}

impl Reading {
    /// Returns the next piece. An error ends the response early, so that clients notice that it is incomplete.
    async fn page(mut self) -> Result<Option<(Bytes, Self)>, FileError> {
        let page = match self.next.take() {
            Some(first) => first,
            None => self.store.contact_results(self.campaign, None, self.from, PAGE).await?,
        };
        if page.list != self.list {
            return Err(FileError::Replaced);
        }
        let page = page.results;
        let Some(last) = page.last() else {
            if self.begun {
                return Ok(None);
            }
            self.begun = true;
            return Ok(Some((lines(&[], true)?, self)));
        };
        self.from = last.index + 1;
        let piece = lines(&page, !self.begun)?;
        self.begun = true;
        Ok(Some((piece, self)))
    }
}

/// Reason why the file ended early.
#[derive(Debug, thiserror::Error)]
enum FileError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the contacts were replaced while they were read")]
    Replaced,
    #[error(transparent)]
    Csv(#[from] csv::Error),
}

fn lines(page: &[ContactResult], with_headers: bool) -> Result<Bytes, FileError> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    if with_headers {
        writer.write_record(HEADERS)?;
    }
    for result in page {
        writer.write_record(cells(result))?;
    }
    let bytes = writer
        .into_inner()
        .map_err(|error| csv::Error::from(error.into_error()))?;
    Ok(Bytes::from(bytes))
}

fn cells(result: &ContactResult) -> [String; 9] {
    let last = result.last.as_ref();
    let collected = last.filter(|last| !last.collected.is_empty());
    let cells = [
        result.who.name.clone().unwrap_or_default(),
        result.who.contact.map(String::from).unwrap_or_default(),
        result.status.as_str().to_owned(),
        last.and_then(|last| last.error.clone()).unwrap_or_default(),
        last.map_or(0, |last| last.number).to_string(),
        last.map(|last| last.id.to_string()).unwrap_or_default(),
        last.is_some_and(|last| last.voicemail).to_string(),
        collected.map_or_else(String::new, |last| json!(last.collected).to_string()),
    ];
    let [
        name,
        contact,
        status,
        error,
        attempts,
        conversation,
        voicemail,
        collected,
    ] = cells.map(harmless);
    // A phone number must begin with a plus, and contains only digits after it.
    let number = String::from(result.who.phone_number.clone());
    [
        number,
        name,
        contact,
        status,
        error,
        attempts,
        conversation,
        voicemail,
        collected,
    ]
}

/// Prevents a cell from being read as a formula: if it begins like one, an apostrophe is put before it.
fn harmless(cell: String) -> String {
    // Some spreadsheets convert the wide forms into the plain ones.
    let formula = ['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠'];
    if cell.starts_with(formula) {
        format!("'{cell}")
    } else {
        cell
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_that_begins_like_a_formula_is_escaped() {
        for (cell, expected) in [
            ("=1+1", "'=1+1"),
            ("+1", "'+1"),
            ("-1", "'-1"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("\t=1", "'\t=1"),
            ("\r=1", "'\r=1"),
            ("＝1", "'＝1"),
            ("a=1", "a=1"),
            ("", ""),
        ] {
            assert_eq!(harmless(cell.to_owned()), expected);
        }
    }
}
