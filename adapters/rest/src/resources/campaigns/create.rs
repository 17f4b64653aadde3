//! `POST /public/v1/campaigns`: a campaign whose contacts come as JSON.

use axum::{extract::State, response::Response};
use domain::ports::store::{Account, CampaignRow, KeyTicket};
use serde::Deserialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::{
    begin::{Begin, answer, answer_again, joined, require_ready},
    contacts::{self, MoreContacts},
    import::{CHUNK, Import},
    settings::{self, CampaignSettings, FollowUpFields, dialing_agent},
    variables::OpenVariables,
};
use crate::{
    access::idempotency::{IdempotencyKey, RequestHash, Turn},
    caller::{Caller, CallerKey},
    request::{
        body::JsonObject,
        checked::Checked,
        query::{NoParameters, Query},
    },
    response::{
        error::{ApiError, ApiResult},
        request_id::RequestId,
    },
    state::RestState,
};

/// A campaign to create. `launch` and `scheduled` exclude each other. A schedule needs `startTime` and `timezone`.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NewCampaign {
    #[serde(flatten)]
    settings: CampaignSettings,
    #[serde(flatten)]
    follow_up: FollowUpFields,
    #[serde(flatten)]
    #[expect(dead_code, reason = "`contacts::read` takes them out of the body")]
    contacts: MoreContacts,
}

/// Handles the request.
pub async fn create(
    State(state): State<RestState>,
    Caller(account): Caller,
    caller: CallerKey,
    key: IdempotencyKey,
    request_id: RequestId,
    _: Query<NoParameters>,
    JsonObject(body): JsonObject,
) -> ApiResult<Response> {
    let asked = |name: &str| body.get(name).and_then(Value::as_bool).unwrap_or(false);
    let begin = Begin::of(asked("launch"), asked("scheduled"));
    begin.require_scope(&caller)?;
    let hash = || RequestHash::of_json(&body);
    let has_key = key.is_given();
    match key.take(&state, account.id, "create campaign", hash).await? {
        Turn::Again(replay) => answer_again(&state, account.id, &replay, begin, request_id).await,
        Turn::First(held) => {
            let made = make(&state, &account, &body, held.ticket()).await;
            let made = held.end(made).await?;
            answer(&state, made, begin, has_key, request_id).await
        }
    }
}

/// Saves the campaign. Returns it with warnings about its contacts.
async fn make(
    state: &RestState,
    account: &Account,
    body: &Map<String, Value>,
    ticket: Option<&KeyTicket>,
) -> ApiResult<(CampaignRow, Option<String>)> {
    let mut body = Checked::<NewCampaign>::of(body);
    let follow_up = FollowUpFields::of(&mut body);
    settings::check(&mut body, &follow_up);
    let given = contacts::read_required(&*state.store, account, &mut body).await?;
    let NewCampaign {
        settings, follow_up, ..
    } = body.end()?;
    let (contacts, destinations) = given.ok_or(ApiError::Internal)?;
    let account = account.id;
    let agent = dialing_agent(&*state.store, account, settings.agent_id).await?;
    if settings.begins() {
        require_ready(state, account, &agent).await?;
    }
    contacts::check_choices(state, &agent, &contacts)?;
    let mut open = OpenVariables::of(&*state.store, account, &agent).await?;
    contacts::count_variables(&state.store, account, &contacts, &mut open).await?;
    let import = Import::begin(state.store.clone(), account, settings.into_new(follow_up.made())).await?;
    for chunk in contacts.chunks(CHUNK) {
        import.append(chunk).await?;
    }
    let row = import.finish(ticket).await?;
    let warnings: Vec<String> = destinations.warning().into_iter().chain(open.warning()).collect();
    Ok((row, joined(&warnings)))
}
