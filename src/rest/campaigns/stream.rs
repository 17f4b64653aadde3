//! A campaign with its contacts, streamed from the store page by page: memory does not grow with the campaign.

use std::sync::Arc;

use actors::ports::store::{CampaignContact, CampaignRow, Store, StoreError};
use axum::{
    body::Body,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use serde_json::{Value, json};

use super::view;
use crate::rest::{RestState, envelope::Enveloped, error::ApiResult, request_id::RequestId};

/// Contacts read at once.
const PAGE: i64 = 1_000;

/// What goes around a campaign.
#[derive(Debug)]
pub struct Answer {
    status: StatusCode,
    warning: Option<String>,
    request_id: RequestId,
}

impl Answer {
    /// A 200.
    pub fn ok(request_id: RequestId) -> Self {
        Self {
            status: StatusCode::OK,
            warning: None,
            request_id,
        }
    }

    /// A 201.
    pub fn created(request_id: RequestId) -> Self {
        Self {
            status: StatusCode::CREATED,
            ..Self::ok(request_id)
        }
    }

    /// With a warning, if there is something to say. A failed or delayed campaign says why by itself.
    #[must_use]
    pub fn warning(self, warning: Option<String>) -> Self {
        Self { warning, ..self }
    }

    /// The response. Its first page is read before it begins, so that a store that is away still is a 503; one that
    /// goes away later breaks the body off, which no client takes for a whole one.
    pub async fn send(self, state: &RestState, row: &CampaignRow) -> ApiResult<Response> {
        let progress = state.store.progress(row.id).await?;
        let first = state.store.campaign_contacts(row.id, 0, PAGE).await?;
        let mut campaign = view::campaign(row);
        campaign.insert("progress".into(), json!(progress));
        let (head, tail) = self.frame(campaign, row);
        let pages = pages(Arc::clone(&state.store), row, first);
        let body = stream::once(async { Ok(Bytes::from(head)) })
            .chain(pages)
            .chain(stream::once(async { Ok(Bytes::from(tail)) }));
        let mut response = (self.status, Body::from_stream(body)).into_response();
        response
            .headers_mut()
            .insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        response.extensions_mut().insert(Enveloped);
        Ok(response)
    }

    /// The envelope up to the first contact, and from behind the last one.
    fn frame(&self, campaign: serde_json::Map<String, Value>, row: &CampaignRow) -> (String, String) {
        let mut head = format!("{{\"success\":true,\"data\":{}", Value::Object(campaign));
        head.pop();
        head.push_str(",\"contacts\":[");
        let reason = row
            .reason
            .as_ref()
            .map(|reason| format!("the campaign is {}: {reason}", row.status.as_str()));
        let warnings: Vec<String> = self.warning.clone().into_iter().chain(reason).collect();
        let mut tail = "]}".to_owned();
        if !warnings.is_empty() {
            tail.push_str(&format!(",\"warning\":{}", json!(warnings.join("; "))));
        }
        tail.push_str(&format!(",\"requestId\":{}}}", json!(self.request_id.as_str())));
        (head, tail)
    }
}

/// How far the contacts were written.
struct Progressing {
    store: Arc<dyn Store>,
    row: CampaignRow,
    next: Option<Vec<CampaignContact>>,
    sent: i64,
}

fn pages(
    store: Arc<dyn Store>,
    row: &CampaignRow,
    first: Vec<CampaignContact>,
) -> impl stream::Stream<Item = Result<Bytes, StoreError>> + Send + use<> {
    let start = Progressing {
        store,
        row: row.clone(),
        next: Some(first),
        sent: 0,
    };
    stream::try_unfold(start, |mut state| async move {
        let page = match state.next.take() {
            Some(first) => first,
            None if state.sent >= state.row.contact_count => return Ok(None),
            None => state.store.campaign_contacts(state.row.id, state.sent, PAGE).await?,
        };
        if page.is_empty() {
            return Ok(None);
        }
        let mut text = String::new();
        for contact in &page {
            if state.sent > 0 {
                text.push(',');
            }
            text.push_str(&Value::Object(view::contact(contact)).to_string());
            state.sent += 1;
        }
        Ok(Some((Bytes::from(text), state)))
    })
}
