//! `GET /public/v1/conversations/export`: all conversations that pass the filters, as one streamed file.

use std::collections::BTreeMap;

use axum::{body::Body, extract::State, response::Response};
use bytes::Bytes;
use domain::{
    conversation::Conversation,
    id::AttemptId,
    ports::store::{Account, ConversationPage, StoreError},
};
use futures_util::stream;
use serde_json::json;

use super::{
    detail_of,
    filters::{Resolved, Wanted, filters, next_place},
};
use crate::{
    RestState,
    auth::Caller,
    error::{ApiError, ApiResult},
    query::{Parameters, Query, RawQuery},
    results_file::{attachment, harmless, written},
};

/// Conversations that are read, and held in memory, at a time.
const PAGE: i64 = 50;

/// Headers of the CSV file.
pub const HEADERS: [&str; 22] = [
    "conversationId",
    "agentId",
    "agentName",
    "campaignId",
    "status",
    "direction",
    "contactNumber",
    "callerNumber",
    "startTimeUnix",
    "endTimeUnix",
    "conversationDuration",
    "errorMessage",
    "voiceMailDetected",
    "callTransferred",
    "carrier",
    "summary",
    "sentiment",
    "issues",
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
}

impl Parameters for ExportParameters {
    const NAMES: &'static [&'static str] = filters!["format"];

    fn read(query: &mut RawQuery) -> Self {
        let format = query.parsed("format", "`csv` or `jsonl`", |text| match text {
            "csv" => Some(Format::Csv),
            "jsonl" => Some(Format::JsonLines),
            _ => None,
        });
        Self {
            wanted: Wanted::read(query),
            format: format.unwrap_or(Format::Csv),
        }
    }
}

/// Handles the request.
pub async fn export(
    State(state): State<RestState>,
    Caller(account): Caller,
    Query(ExportParameters { wanted, format }): Query<ExportParameters>,
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
        with_headers: format == Format::Csv,
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
    with_headers: bool,
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
        let mut lines = Lines::new(self.format);
        if std::mem::take(&mut self.with_headers) {
            lines.csv.write_record(HEADERS)?;
        }
        for listed in &page.rows {
            // The conversation may have been deleted meanwhile.
            if let Some(full) = self.in_full(listed.id).await? {
                lines.add(&full)?;
            }
        }
        if let Some(place) = next_place(&page, PAGE) {
            let next = self
                .wanted
                .page(&self.state, self.account.id, (Some(place), PAGE))
                .await?;
            self.next = Some(next);
        }
        Ok(Some((lines.finish()?, self)))
    }

    async fn in_full(&self, id: AttemptId) -> ApiResult<Option<Conversation>> {
        match self.state.store.conversation(self.account.id, id).await {
            Ok(row) => Ok(Some(detail_of(&self.state, &self.account, &row).await?)),
            Err(StoreError::NotFound) => Ok(None),
            Err(other) => Err(other.into()),
        }
    }
}

/// Lines of one piece.
struct Lines {
    format: Format,
    csv: csv::Writer<Vec<u8>>,
    json: Vec<u8>,
}

impl Lines {
    fn new(format: Format) -> Self {
        let csv = csv::Writer::from_writer(Vec::new());
        Self {
            format,
            csv,
            json: Vec::new(),
        }
    }

    fn add(&mut self, conversation: &Conversation) -> Result<(), ExportError> {
        match self.format {
            Format::Csv => self.csv.write_record(cells(conversation))?,
            Format::JsonLines => {
                serde_json::to_writer(&mut self.json, conversation)?;
                self.json.push(b'\n');
            }
        }
        Ok(())
    }

    fn finish(self) -> Result<Bytes, ExportError> {
        Ok(Bytes::from(match self.format {
            Format::Csv => written(self.csv)?,
            Format::JsonLines => self.json,
        }))
    }
}

fn cells(of: &Conversation) -> [String; 22] {
    let text = |text: &Option<String>| harmless(text.clone().unwrap_or_default());
    let collected: BTreeMap<&str, &str> = of
        .data_collected
        .items
        .iter()
        .map(|item| (&*item.entity, &*item.value))
        .collect();
    let sentiment = of
        .sentiment
        .as_ref()
        .map(|sentiment| sentiment.sentiment_overall.as_str());
    let cost = of.cost.as_ref();
    [
        of.conversation_id.to_string(),
        of.agent_id.to_string(),
        harmless(of.agent_name.clone()),
        of.campaign_id.map(|id| id.to_string()).unwrap_or_default(),
        of.status.as_str().to_owned(),
        of.direction.as_str().to_owned(),
        // A phone number keeps its plus; only digits follow, so it is no formula.
        of.contact_number.clone().map(String::from).unwrap_or_default(),
        of.caller_number.clone().map(String::from).unwrap_or_default(),
        of.start_time_unix.to_string(),
        of.end_time_unix.map(|end| end.to_string()).unwrap_or_default(),
        of.conversation_duration.to_string(),
        text(&of.error_message),
        of.voice_mail_detected.to_string(),
        of.call_transferred.to_string(),
        text(&of.carrier),
        text(&of.summary),
        sentiment.unwrap_or_default().to_owned(),
        harmless(of.issues.as_ref().map(|issues| issues.join("\n")).unwrap_or_default()),
        harmless(if collected.is_empty() {
            String::new()
        } else {
            json!(collected).to_string()
        }),
        text(&of.transcript),
        cost.map(|cost| cost.total.clone()).unwrap_or_default(),
        cost.map(|cost| cost.currency.clone()).unwrap_or_default(),
    ]
}
