//! `GET /public/v1/calls/live`: the account's calls in progress, over all nodes.

use std::collections::HashMap;

use actors::live_feed::LivePresent;
use axum::extract::State;
use domain::{
    id::{AgentId, AttemptId, CampaignId},
    phone_number::PhoneNumber,
    ports::store::{CallDirection, CallInProgress, CalleeRecord, ConversationStatus, InProgressFilter},
    scope::Scope,
    time::Timestamp,
};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    caller::{Caller, CallerKey},
    request::{
        cursor::Binding,
        query::{Paging, Parameters, Query, RawQuery},
    },
    resources::conversations::live::tickets::require_allowed,
    response::{envelope::Reply, error::ApiResult},
    state::RestState,
};

/// A call in progress.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LiveCall {
    /// Id of the conversation.
    #[schema(value_type = String, format = "uuid")]
    conversation_id: AttemptId,
    /// Id of the agent with which the call began.
    #[schema(value_type = String, format = "uuid")]
    agent_id: AgentId,
    /// Name of the agent.
    agent_name: String,
    /// Id of the campaign, if it belongs to one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = "uuid")]
    campaign_id: Option<CampaignId>,
    /// Name of the campaign.
    #[serde(skip_serializing_if = "Option::is_none")]
    campaign_name: Option<String>,
    /// The other person at the start of the call.
    #[serde(flatten)]
    callee: CalleeRecord,
    /// Number of the other person. Left out if a caller withheld it.
    #[serde(skip_serializing_if = "Option::is_none")]
    phone_number: Option<PhoneNumber>,
    /// Direction of the call.
    direction: CallDirection,
    /// Status: `in_progress`.
    status: ConversationStatus,
    /// When it was dialed or came in; ISO 8601, UTC.
    #[schema(format = DateTime)]
    started_at: String,
    /// When it was answered; ISO 8601, UTC. Left out while it rings.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    answered_at: Option<String>,
    /// Person who has taken the call over from the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    operator: Option<LiveOperator>,
    /// State, last words and mood at this moment. Only with `present=true`, and left out if the node of the call did not answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    present: Option<LivePresent>,
    /// True if it is a test call.
    #[serde(skip_serializing_if = "Option::is_none")]
    test: Option<bool>,
}

/// Person who has taken a call over.
#[derive(Debug, Serialize, ToSchema)]
pub struct LiveOperator {
    /// Name, as in the events of the conversation.
    by: String,
    /// When the person took the call over; ISO 8601, UTC.
    #[schema(format = DateTime)]
    since: String,
}

fn view(call: &CallInProgress, present: Option<LivePresent>) -> LiveCall {
    let (campaign_id, campaign_name) = call.campaign.clone().unzip();
    LiveCall {
        conversation_id: call.id,
        agent_id: call.agent,
        agent_name: call.agent_name.clone(),
        campaign_id,
        campaign_name,
        callee: call.callee.clone(),
        phone_number: Some(call.phone_number.clone()).filter(|number| !number.is_nobodys()),
        direction: call.direction,
        status: ConversationStatus::InProgress,
        started_at: call.started_at.to_iso8601(),
        answered_at: call.answered_at.map(Timestamp::to_iso8601),
        operator: call.operator.as_ref().map(|operator| LiveOperator {
            by: operator.by.clone(),
            since: operator.since.to_iso8601(),
        }),
        present,
        test: call.is_test.then_some(true),
    }
}

/// Asks the nodes that hold these calls for their present states.
async fn present(state: &RestState, calls: Vec<AttemptId>) -> HashMap<AttemptId, LivePresent> {
    let mut told = state.switchboard.present(&calls).await;
    let elsewhere: Vec<AttemptId> = calls.into_iter().filter(|id| !told.contains_key(id)).collect();
    told.extend(state.peers.present(&elsewhere).await);
    told
}

/// Parameters of the list.
#[derive(Debug, Clone)]
pub struct ListParameters {
    filter: InProgressFilter,
    present: bool,
    paging: Paging,
}

impl Parameters for ListParameters {
    const NAMES: &'static [&'static str] = &["agentId", "campaignId", "test", "present", "cursor", "pageSize"];

    fn read(query: &mut RawQuery) -> Self {
        Self {
            filter: InProgressFilter {
                agent: query.parsed("agentId", "an agent's id (a UUID)", |text| text.parse().ok()),
                campaign: query.parsed("campaignId", "a campaign's id (a UUID)", |text| text.parse().ok()),
                is_test: query.parsed("test", "`true` or `false`", |text| text.parse().ok()),
                after: None,
            },
            present: query.boolean("present").unwrap_or(false),
            paging: Paging::read(query),
        }
    }
}

/// Handles the request.
pub async fn list(
    State(state): State<RestState>,
    (Caller(account), key): (Caller, CallerKey),
    Query(parameters): Query<ListParameters>,
) -> ApiResult<Reply> {
    let ListParameters {
        mut filter,
        present: is_told,
        paging,
    } = parameters;
    if is_told {
        key.require(Scope::Live)?;
        require_allowed(&state, account.id).await?;
    }
    let binding = Binding::new(account.id, "calls in progress", format!("{filter:?}"));
    filter.after = binding.after(paging.cursor.as_deref())?;
    let limit = paging.page_size + 1;
    let calls = state.store.calls_in_progress(account.id, filter, limit).await?;
    let page = calls.iter().take(usize::try_from(paging.page_size).unwrap_or_default());
    let told = match is_told {
        true => present(&state, page.map(|call| call.id).collect()).await,
        false => HashMap::new(),
    };
    let place = |call: &CallInProgress| (call.started_at, call.id.to_string());
    let shown = |call: &CallInProgress| view(call, told.get(&call.id).cloned());
    Ok(binding.page(calls, paging.page_size, shown, place))
}
