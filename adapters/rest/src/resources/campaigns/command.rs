//! The common start of all commands for one campaign, and the way to the node.

use actors::campaign::{CampaignCommand, CommandError};
use axum::{extract::FromRequestParts, http::request::Parts};
use domain::{
    id::{AccountId, CampaignId},
    ports::store::{Account, CampaignRow, CampaignStatus},
    scope::Scope,
};

use crate::{
    caller::{Caller, CallerKey},
    request::{
        path_id::PathId,
        query::{NoParameters, Query},
    },
    response::{
        error::{ApiError, ApiResult, Conflict},
        request_id::RequestId,
    },
    state::RestState,
};

/// Campaign in the path of an operation without parameters, with the caller.
#[derive(Debug, Clone)]
pub struct Target {
    /// Account of the caller. It is not checked yet that the campaign belongs to it.
    pub account: Account,
    /// Id of the campaign.
    pub campaign: CampaignId,
    /// Id of the request.
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
    /// Sends a command to the campaign's node and waits for its commit.
    pub async fn command(&self, state: &RestState, order: CampaignCommand) -> ApiResult<CampaignRow> {
        command(state, self.account.id, self.campaign, order).await
    }
}

/// Returns a 403 if a change of contacts, agent or schedule would place calls by itself and the key may not.
pub fn require_to_feed(row: &CampaignRow, key: &CallerKey) -> ApiResult<()> {
    let waits = matches!(
        row.status,
        CampaignStatus::Waiting | CampaignStatus::Running | CampaignStatus::Delayed
    );
    if waits || row.active || row.scheduled {
        key.require(Scope::Calls)?;
    }
    Ok(())
}

/// Sends a command to the node and waits for its commit.
pub async fn command(
    state: &RestState,
    account: AccountId,
    campaign: CampaignId,
    command: CampaignCommand,
) -> ApiResult<CampaignRow> {
    match state.switchboard.command(account, campaign, command.clone()).await {
        Some(Err(CommandError::InvalidTransition(status))) => {
            let message = not_allowed(&command, status);
            Err(ApiError::Conflict(Conflict::InvalidTransition, message))
        }
        Some(answer) => Ok(answer?),
        None => {
            tracing::error!(%campaign, ?command, "node did not respond to a command");
            Err(ApiError::Unavailable(
                "the node did not respond in time; try again".into(),
            ))
        }
    }
}

/// Describes a command that is not allowed in a campaign's state, and the commands that are.
fn not_allowed(command: &CampaignCommand, status: CampaignStatus) -> String {
    let refused = match command {
        CampaignCommand::Launch => "launched",
        CampaignCommand::Pause => "paused",
        CampaignCommand::Stop { .. } => "stopped",
        CampaignCommand::Schedule(_) => "scheduled",
        CampaignCommand::Update(_) => "changed in this way",
        CampaignCommand::Delete => "deleted",
    };
    let way_out = match status {
        CampaignStatus::Draft | CampaignStatus::Stopped | CampaignStatus::Failed => "allowed now: launch, schedule",
        CampaignStatus::Waiting => "allowed now: launch, schedule, pause, stop",
        CampaignStatus::Running | CampaignStatus::Delayed => "allowed now: pause, stop",
        CampaignStatus::Paused => "allowed now: launch, schedule, stop",
        CampaignStatus::Completed => "to dial again, replace its contacts and launch it",
    };
    format!("a {} campaign cannot be {refused}; {way_out}", status.as_str())
}
