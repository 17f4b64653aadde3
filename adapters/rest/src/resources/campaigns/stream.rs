//! A campaign with its contacts, streamed page by page from the store, so that memory does not grow with the campaign.

use std::sync::Arc;

use axum::{
    body::Body,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use domain::ports::store::{CampaignContact, CampaignRow, CampaignStatus, Store, StoreError, StoreResult};
use futures_util::{StreamExt, stream};
use serde_json::json;
use tokio::task::JoinHandle;

use super::view::{Campaign, Pacing, ShownContact};
use crate::{
    response::{
        envelope::{Enveloped, InShort, Reply, etag},
        error::ApiResult,
        request_id::RequestId,
    },
    state::RestState,
};

/// Contacts per read.
const PAGE: i64 = 1_000;

/// Parts of the response around a campaign.
#[derive(Debug)]
pub struct Answer {
    status: StatusCode,
    warning: Option<String>,
    request_id: RequestId,
}

impl Answer {
    /// Creates a 200.
    pub fn ok(request_id: RequestId) -> Self {
        Self {
            status: StatusCode::OK,
            warning: None,
            request_id,
        }
    }

    /// Creates a 201.
    pub fn created(request_id: RequestId) -> Self {
        Self {
            status: StatusCode::CREATED,
            ..Self::ok(request_id)
        }
    }

    /// Adds a warning, if there is one. A failed or delayed campaign adds its reason by itself.
    #[must_use]
    pub fn warning(self, warning: Option<String>) -> Self {
        Self { warning, ..self }
    }

    /// Returns the response. Reads the first page before it begins, so that an unavailable store is still
    /// a 503. If the store becomes unavailable later, the body ends early, so that clients notice that it is
    /// incomplete.
    pub async fn send(self, state: &RestState, row: &CampaignRow) -> ApiResult<Response> {
        let progress = state.store.progress(row.id).await?;
        let first = state.store.campaign_contacts(row.id, 0, PAGE).await?;
        // The campaign is of use without its pace, which is counted anew each time.
        let recent = state.store.recent_dials(row.id, Pacing::MINUTES).await.ok();
        let campaign = Campaign {
            pacing: recent.map(|recent| Pacing::of(row, &progress, recent)),
            progress: Some(progress),
            ..Campaign::of(row)
        };
        let put_off = put_off(&*state.store, row).await?;
        let reason = row
            .reason
            .as_ref()
            .map(|reason| format!("the campaign is {}: {reason}", row.status.as_str()));
        let warnings: Vec<String> = self.warning.clone().into_iter().chain(reason).chain(put_off).collect();
        let warning = (!warnings.is_empty()).then(|| warnings.join("; "));
        let in_short = Reply::ok(&campaign).version(row.version).warning(warning);
        let (head, tail) = self.frame(&campaign, in_short.warning_text());
        let pages = pages(Arc::clone(&state.store), row, first);
        let body = stream::once(async { Ok(Bytes::from(head)) })
            .chain(pages)
            .chain(stream::once(async { Ok(Bytes::from(tail)) }));
        let mut response = (self.status, Body::from_stream(body)).into_response();
        response
            .headers_mut()
            .insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        response.headers_mut().extend(etag(row.version));
        response.extensions_mut().insert(Enveloped);
        response.extensions_mut().insert(InShort(in_short));
        Ok(response)
    }

    /// Returns the envelope up to the first contact, and after the last one.
    fn frame(&self, campaign: &Campaign, warning: Option<&str>) -> (String, String) {
        let mut head = format!("{{\"success\":true,\"data\":{}", json!(campaign));
        head.pop();
        head.push_str(",\"contacts\":[");
        let mut tail = "]}".to_owned();
        if let Some(warning) = warning {
            tail.push_str(&format!(",\"warning\":{}", json!(warning)));
        }
        tail.push_str(&format!(",\"requestId\":{}}}", json!(self.request_id.as_str())));
        (head, tail)
    }
}

/// Returns how many contacts wait because of the account's rules.
async fn put_off(store: &dyn Store, row: &CampaignRow) -> StoreResult<Option<String>> {
    if !matches!(row.status, CampaignStatus::Waiting | CampaignStatus::Running) {
        return Ok(None);
    }
    let rules = store.put_off(row.id).await?;
    let parts: Vec<String> = rules
        .into_iter()
        .map(|(rule, contacts)| format!("{contacts} for `{}`", rule.as_str()))
        .collect();
    let all = parts.join(", ");
    Ok((!parts.is_empty()).then(|| format!("contacts wait for the account's safeguards: {all}")))
}

/// Progress of writing the contacts.
struct Progressing {
    store: Arc<dyn Store>,
    row: CampaignRow,
    /// Next page, which is read while the previous one is sent.
    next: Option<JoinHandle<StoreResult<Vec<CampaignContact>>>>,
    sent: i64,
}

impl Progressing {
    fn read(&self, from: i64) -> Option<JoinHandle<StoreResult<Vec<CampaignContact>>>> {
        if from >= self.row.contact_count {
            return None;
        }
        let (store, id) = (Arc::clone(&self.store), self.row.id);
        Some(tokio::spawn(
            async move { store.campaign_contacts(id, from, PAGE).await },
        ))
    }

    /// Returns the page as text, with a separator after the previous one.
    fn text(&mut self, page: &[CampaignContact]) -> Result<Bytes, StoreError> {
        let mut text = Vec::with_capacity(page.len() * 160);
        for contact in page {
            if self.sent > 0 {
                text.push(b',');
            }
            let written = serde_json::to_writer(&mut text, &ShownContact(contact));
            written.map_err(|error| StoreError::Damaged(error.to_string()))?;
            self.sent += 1;
        }
        Ok(Bytes::from(text))
    }
}

fn pages(
    store: Arc<dyn Store>,
    row: &CampaignRow,
    first: Vec<CampaignContact>,
) -> impl stream::Stream<Item = Result<Bytes, StoreError>> + Send + use<> {
    let mut start = Progressing {
        store,
        row: row.clone(),
        next: None,
        sent: 0,
    };
    start.next = (!first.is_empty()).then(|| tokio::spawn(async { Ok(first) }));
    stream::try_unfold(start, |mut state| async move {
        let Some(reading) = state.next.take() else {
            return Ok(None);
        };
        let page = reading
            .await
            .unwrap_or_else(|_| Err(StoreError::Unavailable("the reading of a page ended".to_owned())))?;
        if page.is_empty() {
            return Ok(None);
        }
        state.next = state.read(state.sent + page.len() as i64);
        let text = state.text(&page)?;
        Ok(Some((text, state)))
    })
}
