//! `POST /public/v1/campaigns/{campaignId}/duplicate`: a draft with the settings and contacts of a campaign.

use axum::{extract::State, response::Response};
use domain::ports::store::{CampaignRow, KeyTicket, NewCampaign, ResultFilter};
use serde::Deserialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::{
    Answer,
    begin::{Begin, answer_again},
    command::Target,
    import::{CHUNK, Import},
    settings::dialing_agent,
};
use crate::{
    access::idempotency::{IdempotencyKey, RequestHash, Turn},
    described::common::Name,
    request::{body::OptionalJsonObject, checked::Checked, fields::name_of_copy},
    response::error::{ApiError, ApiResult, Conflict, OrNoSuch},
    state::RestState,
};

/// Contacts of a copy.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum CopiedContacts {
    /// All contacts, none of them called.
    All,
    /// No contacts.
    None,
}

/// Options of a copy.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CampaignCopy {
    /// Name of the copy; without it, the name with ` (copy)`.
    #[schema(required = false, value_type = Name)]
    pub name: Option<Name>,
    /// Contacts of the copy; `all` by default.
    #[schema(required = false, value_type = CopiedContacts)]
    pub contacts: Option<CopiedContacts>,
}

/// Handles the request.
pub async fn duplicate(
    State(state): State<RestState>,
    target: Target,
    key: IdempotencyKey,
    OptionalJsonObject(body): OptionalJsonObject,
) -> ApiResult<Response> {
    let hash = || RequestHash::of_json(&body).about(target.campaign);
    let account = target.account.id;
    match key.take(&state, account, "duplicate campaign", hash).await? {
        Turn::Again(replay) => answer_again(&state, account, &replay, Begin::Later, target.request_id).await,
        Turn::First(held) => {
            let copied = copy(&state, &target, &body, held.ticket()).await;
            let copied = held.end(copied).await?;
            Answer::created(target.request_id).send(&state, &copied).await
        }
    }
}

async fn copy(
    state: &RestState,
    target: &Target,
    body: &Map<String, Value>,
    ticket: Option<&KeyTicket>,
) -> ApiResult<CampaignRow> {
    let row = state.store.campaign(target.account.id, target.campaign).await;
    let row = row.or_no_such("campaign")?;
    let body = Checked::<CampaignCopy>::of(body).coded("contacts", "not_allowed", "invalid_value");
    let body = body.end()?;
    dialing_agent(&*state.store, row.account, row.agent).await?;
    let new = NewCampaign {
        name: body.name.map_or_else(|| name_of_copy(&row.name), |name| name.0),
        agent: row.agent,
        schedule: row.schedule.clone(),
        follow_up: row.follow_up.clone(),
        options: row.options,
    };
    let import = Import::begin(state.store.clone(), row.account, new).await?;
    if body.contacts != Some(CopiedContacts::None) {
        copy_contacts(state, &row, &import).await?;
    }
    import.finish(ticket).await
}

/// Copies the contacts that the campaign had when it was read, except erased ones.
async fn copy_contacts(state: &RestState, row: &CampaignRow, import: &Import) -> ApiResult<()> {
    let list = async || {
        Ok::<_, ApiError>(
            state
                .store
                .contact_results(row.id, ResultFilter::default(), 0, 1)
                .await?
                .list,
        )
    };
    let before = list().await?;
    let mut from = 0;
    while from < row.contact_count {
        let limit = (row.contact_count - from).min(CHUNK as i64);
        let mut contacts = state.store.campaign_contacts(row.id, from, limit).await?;
        from += limit;
        contacts.retain(|contact| !contact.phone_number.is_erased());
        import.append(&contacts).await?;
    }
    if list().await? == before {
        return Ok(());
    }
    let message = "its contacts were replaced at the same time; send the request again";
    Err(ApiError::Conflict(Conflict::Changed, message.into()))
}
