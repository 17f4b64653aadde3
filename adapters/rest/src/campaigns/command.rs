//! What every command for one campaign begins with, and the way to the node.

use actors::campaign::CampaignCommand;
use axum::{extract::FromRequestParts, http::request::Parts};
use domain::{
    id::{AccountId, CampaignId},
    ports::store::{Account, CampaignRow},
};
use serde_json::{Map, Value};

use crate::{
    RestState,
    auth::Caller,
    error::{ApiError, ApiResult},
    fields::Fields,
    path_id::PathId,
    query::{NoParameters, Query},
    request_id::RequestId,
};

/// The campaign in the path of an operation without parameters, and who asks for it.
#[derive(Debug, Clone)]
pub struct Target {
    /// Who asks. Nobody has looked yet whether the campaign is theirs.
    pub account: Account,
    /// Which.
    pub campaign: CampaignId,
    /// The request's id.
    pub request_id: RequestId,
}

impl<S: Sync + Send> FromRequestParts<S> for Target {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> ApiResult<Self> {
        let Caller(account) = Caller::from_request_parts(parts, state).await?;
        Query::<NoParameters>::from_request_parts(parts, state).await?;
        let PathId(campaign) = PathId::from_request_parts(parts, state).await?;
        let Ok(request_id) = RequestId::from_request_parts(parts, state).await;
        Ok(Self {
            account,
            campaign,
            request_id,
        })
    }
}

impl Target {
    /// Gives the campaign's node a command and waits for its commit.
    pub async fn command(&self, state: &RestState, order: CampaignCommand) -> ApiResult<CampaignRow> {
        command(state, self.account.id, self.campaign, order).await
    }
}

/// Gives a command to the node and waits for its commit.
pub async fn command(
    state: &RestState,
    account: AccountId,
    campaign: CampaignId,
    command: CampaignCommand,
) -> ApiResult<CampaignRow> {
    match state.switchboard.command(account, campaign, command.clone()).await {
        Some(answer) => Ok(answer?),
        None => {
            tracing::error!(%campaign, ?command, "the node did not answer a command");
            Err(ApiError::Unavailable(
                "the node did not answer in time; try again".into(),
            ))
        }
    }
}

/// Refuses every field but the flag named, if one is; returns that flag.
pub fn no_fields(body: &Map<String, Value>, flag: &[&str]) -> ApiResult<bool> {
    let mut fields = Fields::of(body, "");
    fields.only(flag);
    let value = flag.first().is_some_and(|name| fields.flag(name));
    if fields.problems.is_empty() {
        Ok(value)
    } else {
        Err(ApiError::Invalid(fields.problems))
    }
}
