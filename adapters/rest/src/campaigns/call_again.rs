//! `POST /public/v1/campaigns/{campaignId}/call-again`: another attempt for contacts that were not reached.

use axum::{extract::State, response::Response};
use domain::{
    id::AttemptId,
    ports::store::{CampaignStatus, ContactResult, ContactStatus, KeyTicket},
};
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use super::{
    add::{Added, LAUNCH, again, reply},
    command::Target,
};
use crate::{
    RestState,
    body::OptionalJsonObject,
    error::{ApiError, ApiResult, OrNoSuch},
    fields::{Fields, kind},
    idempotency::{IdempotencyKey, RequestHash},
};

/// Contacts per commit.
const CHUNK: i64 = 500;

/// Error of a call that may or may not have been placed. It is never repeated.
const UNKNOWN: &str = "carrier-error: outcome unknown";

/// Last outcome of a contact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ToSchema)]
#[schema(rename_all = "kebab-case")]
pub enum LastOutcome {
    /// Not reached, for any reason; includes the next three.
    Failed,
    /// Nobody answered.
    NoAnswer,
    /// The line was busy.
    Busy,
    /// The call was rejected.
    Rejected,
    /// A machine answered.
    Voicemail,
    /// Cancelled before it was reached.
    Cancelled,
}

impl LastOutcome {
    const ALL: [Self; 6] = [
        Self::Failed,
        Self::NoAnswer,
        Self::Busy,
        Self::Rejected,
        Self::Voicemail,
        Self::Cancelled,
    ];

    fn as_str(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::NoAnswer => "no-answer",
            Self::Busy => "busy",
            Self::Rejected => "rejected",
            Self::Voicemail => "voicemail",
            Self::Cancelled => "cancelled",
        }
    }

    fn status(self) -> ContactStatus {
        match self {
            Self::Failed | Self::NoAnswer | Self::Busy | Self::Rejected => ContactStatus::Failed,
            Self::Voicemail => ContactStatus::Completed,
            Self::Cancelled => ContactStatus::Cancelled,
        }
    }

    fn is_of(self, result: &ContactResult) -> bool {
        let Some(last) = &result.last else { return false };
        let error = last.error.as_deref();
        result.status == self.status()
            && match self {
                Self::Failed => error != Some(UNKNOWN),
                Self::NoAnswer | Self::Busy | Self::Rejected => error == Some(self.as_str()),
                Self::Voicemail => last.voicemail,
                Self::Cancelled => true,
            }
    }
}

/// Handles the request.
pub async fn call_again(
    State(state): State<RestState>,
    target: Target,
    key: IdempotencyKey,
    OptionalJsonObject(body): OptionalJsonObject,
) -> ApiResult<Response> {
    let hash = || {
        let mut hash = RequestHash::of_json(&body);
        hash.part(target.campaign.to_string().as_bytes());
        hash
    };
    let turn = key.take(&state, target.account.id, "call again", hash).await?;
    turn.answer(async |ticket| plan(&state, &target, &body, ticket).await, again, reply)
        .await
}

/// Plans the attempts, [`CHUNK`] contacts per commit in the order of the campaign. A contact with a planned attempt
/// has no final outcome any more, so a repeated request continues where this one ended.
async fn plan(
    state: &RestState,
    target: &Target,
    body: &Map<String, Value>,
    ticket: Option<KeyTicket>,
) -> ApiResult<Added> {
    let row = state.store.campaign(target.account.id, target.campaign).await;
    let row = row.or_no_such("campaign")?;
    let outcomes = outcomes(body)?;
    let mut planned = 0;
    for status in [
        ContactStatus::Failed,
        ContactStatus::Cancelled,
        ContactStatus::Completed,
    ] {
        if outcomes.iter().all(|outcome| outcome.status() != status) {
            continue;
        }
        let mut from = 0;
        loop {
            let page = state.store.contact_results(row.id, Some(status), from, CHUNK).await;
            let results = page.or_no_such("campaign")?.results;
            let Some(end) = results.last() else { break };
            from = end.index + 1;
            let wanted = results
                .iter()
                .filter(|result| outcomes.iter().any(|outcome| outcome.is_of(result)));
            let last: Vec<AttemptId> = wanted.filter_map(|result| Some(result.last.as_ref()?.id)).collect();
            if !last.is_empty() {
                let done = state.store.call_again(row.id, &last, planned, None).await;
                planned = done.or_no_such("campaign")?.contacts;
            }
        }
    }
    let done = state.store.call_again(row.id, &[], planned, ticket.as_ref()).await;
    let done = done.or_no_such("campaign")?;
    let paused = done.status == CampaignStatus::Paused && row.status != CampaignStatus::Paused;
    Ok((json!(done), paused.then(|| LAUNCH.to_owned())))
}

/// Reads `outcomes`; the default is `failed`.
fn outcomes(body: &Map<String, Value>) -> ApiResult<Vec<LastOutcome>> {
    let mut fields = Fields::of(body, "");
    fields.only(&["outcomes"]);
    let items = fields.array("outcomes");
    if items.is_some_and(<[Value]>::is_empty) {
        fields.problem("outcomes", "required", "must hold at least one outcome");
    }
    let mut wanted = Vec::new();
    for (index, item) in items.into_iter().flatten().enumerate() {
        let path = format!("outcomes[{index}]");
        let Value::String(text) = item else {
            fields.problem(&path, "wrong_type", format!("must be a string, not {}", kind(item)));
            continue;
        };
        match LastOutcome::ALL.into_iter().find(|known| known.as_str() == text) {
            Some(known) => wanted.push(known),
            None => {
                let known = LastOutcome::ALL.map(LastOutcome::as_str).join(", ");
                let message = format!("`{text:.100}` is not one of {known}");
                fields.problem(&path, "invalid_value", message);
            }
        }
    }
    if !fields.problems.is_empty() {
        return Err(ApiError::Invalid(fields.problems));
    }
    Ok(if items.is_some() {
        wanted
    } else {
        vec![LastOutcome::Failed]
    })
}
