//! `GET /public/v1/conversations/export`: all conversations that pass the filters, as one streamed file.

use std::collections::BTreeMap;

use axum::{body::Body, extract::State, response::Response};
use bytes::Bytes;
use domain::{
    conversation::Conversation,
    id::AttemptId,
    ports::store::{Account, ConversationPage, Sentiment, StoreError},
    time::Timestamp,
};
use futures_util::stream;
use serde_json::{Value, json};

use super::{
    detail_of,
    filters::{Resolved, Wanted, filters},
};
use crate::{
    caller::Caller,
    request::query::{Parameters, Query, RawQuery},
    resources::results_file::{CollectedColumns, FileParameters, Lines, attachment, harmless},
    response::error::{ApiError, ApiResult},
    state::RestState,
};

/// Conversations that are read, and held in memory, at a time.
const PAGE: i64 = 50;

/// Headers of the CSV file. Those of the collected values follow.
pub const HEADERS: [&str; 24] = [
    "conversationId",
    "agentId",
    "agentName",
    "campaignId",
    "status",
    "direction",
    "contactNumber",
    "contactName",
    "callerNumber",
    "startTime",
    "endTime",
    "conversationDuration",
    "errorMessage",
    "voiceMailDetected",
    "callTransferred",
    "carrier",
    "summary",
    "sentiment",
    "issues",
    "variables",
    "dataCollected",
    "transcript",
    "cost",
    "currency",
];

/// Format of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Csv,
    JsonLines,
}

/// Parameters of the export.
#[derive(Debug, Clone)]
pub struct ExportParameters {
    wanted: Wanted,
    format: Format,
    file: FileParameters,
}

impl Parameters for ExportParameters {
    const NAMES: &'static [&'static str] = filters!["bom", "format"];

    fn read(query: &mut RawQuery) -> Self {
        let format = query.parsed("format", "`csv` or `jsonl`", |text| match text {
            "csv" => Some(Format::Csv),
            "jsonl" => Some(Format::JsonLines),
            _ => None,
        });
        Self {
            wanted: Wanted::read(query),
            format: format.unwrap_or(Format::Csv),
            file: FileParameters::read(query),
        }
    }
}

/// Handles the request.
pub async fn export(
    State(state): State<RestState>,
    Caller(account): Caller,
    Query(ExportParameters { wanted, format, file }): Query<ExportParameters>,
) -> ApiResult<Response> {
    // Reads before the response begins, so that an unavailable store is still a 503.
    let wanted = wanted.resolved(&state, account.id).await?;
    let first = wanted.page(&state, account.id, (None, PAGE)).await?;
    let reading = Reading {
        state,
        account,
        wanted,
        format,
        next: Some(first),
        begins: (format == Format::Csv).then_some(file),
        collected: CollectedColumns::default(),
    };
    let body = Body::from_stream(stream::try_unfold(reading, Reading::piece));
    let (content_type, name) = match format {
        Format::Csv => ("text/csv; charset=utf-8", "conversations.csv"),
        Format::JsonLines => ("application/jsonl", "conversations.jsonl"),
    };
    Ok(attachment(body, content_type, name))
}

/// Reason why the file ended early.
#[derive(Debug, thiserror::Error)]
enum ExportError {
    #[error("conversations cannot be read: {0:?}")]
    Unread(ApiError),
    #[error("the service stops")]
    Stopping,
    #[error(transparent)]
    Csv(#[from] csv::Error),
    #[error(transparent)]
    Json(#[from] serde_json::Error),
}

impl From<ApiError> for ExportError {
    fn from(error: ApiError) -> Self {
        Self::Unread(error)
    }
}

/// Progress of writing the file.
struct Reading {
    state: RestState,
    account: Account,
    wanted: Resolved,
    format: Format,
    /// Page to write; `None` after the last one.
    next: Option<ConversationPage>,
    /// Parameters of a CSV file before its header line is written.
    begins: Option<FileParameters>,
    collected: CollectedColumns,
}

impl Reading {
    /// Returns the next piece. An error ends the response early, so that clients notice that it is incomplete.
    async fn piece(mut self) -> Result<Option<(Bytes, Self)>, ExportError> {
        let Some(page) = self.next.take() else {
            return Ok(None);
        };
        if *self.state.stopping.borrow() {
            return Err(ExportError::Stopping);
        }
        let (mut csv, mut json) = (Lines::default(), Vec::new());
        if let Some(parameters) = self.begins.take() {
            self.find_collected(&page).await?;
            let headers = HEADERS.map(str::to_owned).into_iter().chain(self.collected.headers());
            csv = Lines::first(parameters);
            csv.add(headers)?;
        }
        for listed in &page.rows {
            // The conversation may have been deleted meanwhile.
            if let Some(full) = self.in_full(listed.id).await? {
                match self.format {
                    Format::Csv => csv.add(self.cells(&full))?,
                    Format::JsonLines => {
                        serde_json::to_writer(&mut json, &full)?;
                        json.push(b'\n');
                    }
                }
            }
        }
        if let Some(place) = self.wanted.next_place(&page, PAGE) {
            let next = self
                .wanted
                .page(&self.state, self.account.id, (Some(place), PAGE))
                .await?;
            self.next = Some(next);
        }
        let piece = match self.format {
            Format::Csv => csv.into_bytes(),
            Format::JsonLines => json,
        };
        Ok(Some((Bytes::from(piece), self)))
    }

    /// Finds the names of all collected values, from the first page on.
    async fn find_collected(&mut self, first: &ConversationPage) -> ApiResult<()> {
        let mut page = first.clone();
        loop {
            page.rows
                .iter()
                .for_each(|row| self.collected.add(row.collected.keys()));
            let Some(place) = self.wanted.next_place(&page, PAGE) else {
                return Ok(());
            };
            page = self
                .wanted
                .page(&self.state, self.account.id, (Some(place), PAGE))
                .await?;
        }
    }

    async fn in_full(&self, id: AttemptId) -> ApiResult<Option<Conversation>> {
        match self.state.store.conversation(self.account.id, id).await {
            Ok(row) => Ok(Some(detail_of(&self.state, &self.account, &row).await?)),
            Err(StoreError::NotFound) => Ok(None),
            Err(other) => Err(other.into()),
        }
    }
}

impl Reading {
    fn cells(&self, of: &Conversation) -> impl Iterator<Item = String> {
        let item = &of.item;
        let collected = of.data_collected.items.iter();
        let collected: BTreeMap<&str, &str> = collected.map(|item| (&*item.entity, &*item.value)).collect();
        let overall = |sentiment: &Sentiment| sentiment.sentiment_overall.as_str().to_owned();
        let cost = item.cost.as_ref();
        let object = |empty: bool, object: Value| if empty { None } else { Some(object.to_string()) };
        let variables = item.callee.variables.clone().unwrap_or_default();
        let time = |unix_s: i64| Timestamp(unix_s * 1_000_000).to_iso8601_in(self.account.settings.timezone);
        let cells: [Option<String>; 24] = [
            Some(item.conversation_id.to_string()),
            Some(item.agent_id.to_string()),
            Some(item.agent_name.clone()),
            item.campaign_id.map(|id| id.to_string()),
            Some(item.status.as_str().to_owned()),
            Some(item.direction.as_str().to_owned()),
            item.contact_number.clone().map(String::from),
            item.callee.contact_name.clone(),
            item.caller_number.clone().map(String::from),
            Some(time(item.start_time_unix)),
            item.end_time_unix.map(time),
            Some(item.conversation_duration.to_string()),
            item.error_message.clone(),
            Some(item.voice_mail_detected.to_string()),
            Some(item.call_transferred.to_string()),
            of.carrier.clone(),
            item.summary.clone(),
            of.sentiment.as_ref().map(overall),
            of.issues.as_ref().map(|issues| issues.join("\n")),
            object(variables.is_empty(), json!(variables)),
            object(collected.is_empty(), json!(collected)),
            of.transcript.clone(),
            cost.map(|cost| cost.total.clone()),
            cost.map(|cost| cost.currency.clone()),
        ];
        let cells = cells.map(|cell| harmless(cell.unwrap_or_default()));
        cells
            .into_iter()
            .chain(self.collected.cells(&collected).collect::<Vec<_>>())
    }
}
