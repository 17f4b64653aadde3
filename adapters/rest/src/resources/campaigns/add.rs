//! `POST /public/v1/campaigns/{campaignId}/contacts`: adds contacts to a saved campaign.

use axum::{extract::State, response::Response};
use domain::ports::store::{Account, CampaignRow, CampaignStatus, KeyTicket, StoreError};
use serde_json::{Map, Value, json};

use super::{
    begin::joined,
    command::{Target, require_to_feed},
    contacts::{self, MoreContacts},
    import::Import,
    update::{agent_of, hide},
};
use crate::{
    access::idempotency::{IdempotencyKey, RequestHash},
    caller::CallerKey,
    request::{body::JsonObject, checked::Checked},
    response::{
        envelope::Reply,
        error::{ApiError, ApiResult, OrNoSuch},
    },
    state::RestState,
};

/// Maximum contacts per request. They are added in one commit, which delays other writes.
const AT_ONCE: u64 = 100_000;

/// Result of adding contacts, and a warning.
pub type Added = (Value, Option<String>);

/// Handles the request.
pub async fn add(
    State(state): State<RestState>,
    target: Target,
    caller: CallerKey,
    key: IdempotencyKey,
    JsonObject(body): JsonObject,
) -> ApiResult<Response> {
    let row = state.store.campaign(target.account.id, target.campaign).await;
    let row = row.or_no_such("campaign")?;
    require_to_feed(&row, &caller)?;
    let hash = || RequestHash::of_json(&body).about(target.campaign);
    let turn = key.take(&state, target.account.id, "add contacts", hash).await?;
    turn.answer(
        async |ticket| append(&state, (&target.account, &row), &body, ticket).await,
        again,
        reply,
    )
    .await
}

/// Returns the result of an earlier request.
pub async fn again(result: Value) -> ApiResult<Added> {
    Ok((result, None))
}

/// Returns the response.
pub fn reply((result, warning): &Added) -> Reply {
    Reply::ok(result).warning(warning.clone())
}

async fn append(
    state: &RestState,
    (account, row): (&Account, &CampaignRow),
    body: &Map<String, Value>,
    ticket: Option<KeyTicket>,
) -> ApiResult<Added> {
    let mut body = Checked::<MoreContacts>::of(body);
    let given = contacts::read_required(&*state.store, account, &mut body).await?;
    body.end()?;
    let (contacts, destinations) = given.ok_or(ApiError::Internal)?;
    check_number(contacts.len() as u64)?;
    let agent = agent_of(state, row, None).await?;
    let (import, open) = hide(state, row, agent.as_ref(), &contacts).await?;
    let warnings = destinations.warning().into_iter().chain(open).collect();
    commit(state, row, import, warnings, ticket.as_ref()).await
}

/// Refuses more contacts than one request may add.
pub fn check_number(contacts: u64) -> ApiResult<()> {
    if contacts <= AT_ONCE {
        return Ok(());
    }
    let message =
        format!("a request may add at most {AT_ONCE} contacts, not {contacts}; send them in several requests");
    Err(ApiError::PayloadTooLarge(message))
}

/// Adds the contacts of an import to a campaign.
pub async fn commit(
    state: &RestState,
    row: &CampaignRow,
    import: Import,
    mut warnings: Vec<String>,
    ticket: Option<&KeyTicket>,
) -> ApiResult<Added> {
    let hidden = import.campaign().ok_or(ApiError::Internal)?;
    // If this fails, the import is dropped and thus abandoned.
    let added = match state.store.add_contacts(row.id, hidden, ticket).await {
        Err(StoreError::Refused(why)) => return Err(ApiError::PayloadTooLarge(why)),
        added => added.or_no_such("campaign")?,
    };
    import.taken();
    warnings.extend(to_launch(row, added.status));
    Ok((json!(added), joined(&warnings)))
}

/// Returns the warning about a completed campaign that was paused because it has contacts to dial again.
pub fn to_launch(row: &CampaignRow, now: CampaignStatus) -> Option<String> {
    let is_paused = now == CampaignStatus::Paused && row.status != CampaignStatus::Paused;
    is_paused.then(|| "the campaign was completed and is paused now; launch it to go on".to_owned())
}
