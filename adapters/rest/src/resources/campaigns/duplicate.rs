//! `POST /public/v1/campaigns/{campaignId}/duplicate`: a draft with the settings and contacts of a campaign.

use axum::{extract::State, response::Response};
use domain::ports::store::{CampaignRow, KeyTicket, NewCampaign, ResultFilter};
use serde_json::{Map, Value};

use super::{
    Answer,
    begin::{Begin, answer_again},
    command::Target,
    import::{CHUNK, Import},
    settings::dialing_agent,
};
use crate::{
    access::idempotency::{IdempotencyKey, RequestHash, Turn},
    request::{
        body::OptionalJsonObject,
        fields::{Fields, name_of_copy},
    },
    response::error::{ApiError, ApiResult, Conflict, OrNoSuch},
    state::RestState,
};

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
    let mut fields = Fields::of(body, "");
    fields.only(&["name", "contacts"]);
    let name = fields.value("name").and_then(|_| fields.name("name"));
    let with_contacts = match fields.string("contacts") {
        None | Some("all") => true,
        Some("none") => false,
        Some(other) => {
            let message = format!("`{other:.100}` is not one of all, none");
            fields.problem("contacts", "invalid_value", message);
            false
        }
    };
    fields.end()?;
    dialing_agent(&*state.store, row.account, row.agent).await?;
    let new = NewCampaign {
        name: name.unwrap_or_else(|| name_of_copy(&row.name)),
        agent: row.agent,
        schedule: row.schedule.clone(),
        follow_up: row.follow_up.clone(),
        options: row.options,
    };
    let import = Import::begin(state.store.clone(), row.account, new).await?;
    if with_contacts {
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
