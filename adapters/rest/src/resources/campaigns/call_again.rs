//! `POST /public/v1/campaigns/{campaignId}/call-again`: another attempt for contacts that were not reached.

use axum::{extract::State, response::Response};
use domain::{
    id::AttemptId,
    ports::store::{CampaignRow, ContactResult, ContactStatus, KeyTicket, StoreError},
    retry::UNKNOWN_OUTCOME,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use super::{
    add::{Added, again, reply, to_launch},
    begin::joined,
    command::Target,
};
use crate::{
    access::idempotency::{IdempotencyKey, RequestHash},
    request::{body::OptionalJsonObject, checked::Checked},
    response::error::{ApiError, ApiResult, Conflict, OrNoSuch},
    state::RestState,
};

/// Contacts that are read at once.
const PAGE: i64 = 500;

/// Contacts per commit. The campaign waits for each commit, so a large one would delay its dials.
const CHUNK: usize = 50;

/// Last outcome of a contact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
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
    /// Cancelled before it was reached, but not because the number must not be dialed.
    Cancelled,
}

impl LastOutcome {
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
                // Somebody may have been called.
                Self::Failed => !error.is_some_and(|error| error.starts_with(UNKNOWN_OUTCOME)),
                Self::NoAnswer | Self::Busy | Self::Rejected => error == Some(self.as_str()),
                Self::Voicemail => last.voicemail,
                Self::Cancelled => !matches!(error, Some("do-not-call" | "restricted")),
            }
    }
}

/// Contacts to call again.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CallAgainOptions {
    /// Last outcomes of the contacts; `failed` by default, which includes `no-answer`, `busy` and `rejected`.
    #[schema(min_items = 1)]
    pub outcomes: Option<Vec<LastOutcome>>,
}

/// Returns the last attempts with one of these outcomes. An attempt from `newest` on is left out: it was planned
/// by this request and ended meanwhile.
fn chosen(results: &[ContactResult], outcomes: &[LastOutcome], newest: AttemptId) -> Vec<AttemptId> {
    let wanted = results
        .iter()
        .filter(|result| outcomes.iter().any(|outcome| outcome.is_of(result)));
    let last = wanted.filter_map(|result| Some(result.last.as_ref()?.id));
    last.filter(|id| *id < newest).collect()
}

/// Handles the request.
pub async fn call_again(
    State(state): State<RestState>,
    target: Target,
    key: IdempotencyKey,
    OptionalJsonObject(body): OptionalJsonObject,
) -> ApiResult<Response> {
    let hash = || RequestHash::of_json(&body).about(target.campaign);
    let turn = key.take(&state, target.account.id, "call again", hash).await?;
    // A disconnecting client does not interrupt this, so that the key is kept until everything is planned.
    let answered = tokio::spawn(async move {
        let make = async move |ticket| plan(&state, &target, &body, ticket).await;
        turn.answer(make, again, reply).await
    });
    answered.await.map_err(|_| ApiError::Internal)?
}

async fn plan(
    state: &RestState,
    target: &Target,
    body: &Map<String, Value>,
    ticket: Option<KeyTicket>,
) -> ApiResult<Added> {
    let row = state.store.campaign(target.account.id, target.campaign).await;
    let row = row.or_no_such("campaign")?;
    let body = Checked::<CallAgainOptions>::of(body).coded("outcomes[", "not_allowed", "invalid_value");
    let outcomes = body.end()?.outcomes.unwrap_or_else(|| vec![LastOutcome::Failed]);
    if let Some(why) = row.calls_nobody_again(0) {
        return Err(ApiError::Conflict(Conflict::InvalidTransition, why));
    }
    let (planned, refused) = plan_all(state, &row, &outcomes).await?;
    let rest = match refused {
        Some(why) if planned == 0 => return Err(ApiError::Conflict(Conflict::InvalidTransition, why)),
        refused => refused.map(|why| format!("not all of them were planned: {why}")),
    };
    let done = state.store.call_again(row.id, &[], planned, ticket.as_ref()).await;
    let done = done.or_no_such("campaign")?;
    let warnings: Vec<String> = rest.into_iter().chain(to_launch(&row, done.status)).collect();
    Ok((json!(done), joined(&warnings)))
}

/// Plans the attempts, some contacts per commit in the order of the campaign. Returns their number, and why the
/// rest was refused. A contact whose attempt is planned has no final outcome any more, so a repeated request goes
/// on where this one ended.
async fn plan_all(state: &RestState, row: &CampaignRow, outcomes: &[LastOutcome]) -> ApiResult<(i64, Option<String>)> {
    let (newest, mut planned) = (AttemptId::new(), 0);
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
            let page = state
                .store
                .contact_results(row.id, Some(status).into(), from, PAGE)
                .await;
            let results = page.or_no_such("campaign")?.results;
            let Some(end) = results.last() else { break };
            from = end.index + 1;
            for last in chosen(&results, outcomes, newest).chunks(CHUNK) {
                planned = match state.store.call_again(row.id, last, planned, None).await {
                    Err(StoreError::Refused(why)) => return Ok((planned, Some(why))),
                    done => done.or_no_such("campaign")?.contacts,
                };
            }
        }
    }
    Ok((planned, None))
}

#[cfg(test)]
mod tests {
    use domain::{
        phone_number::PhoneNumber,
        ports::store::{Callee, LastAttempt},
    };

    use super::*;

    #[test]
    fn a_request_does_not_choose_an_attempt_that_it_planned_itself() {
        let (before, newest) = (AttemptId::new(), AttemptId::new());
        let result = |id| ContactResult {
            index: 0,
            who: Callee {
                phone_number: PhoneNumber::erased(),
                name: None,
                contact: None,
            },
            status: ContactStatus::Completed,
            last: Some(LastAttempt {
                id,
                number: 2,
                error: None,
                voicemail: true,
                collected: Default::default(),
                evidence: Default::default(),
            }),
        };
        let results = [before, newest, AttemptId::new()].map(result);
        assert_eq!(chosen(&results, &[LastOutcome::Voicemail], newest), [before]);
    }
}
