//! Start of a campaign after it is saved, and the warnings about it.

use actors::campaign::CampaignCommand;
use axum::response::Response;
use domain::{
    agent::{self, Agent},
    id::{AccountId, AgentId},
    ports::{
        NotReady,
        store::{CampaignRow, CampaignStatus},
    },
    scope::Scope,
    workflow::graph_obstacle,
};

use super::{Answer, command::command, settings::schedule_texts};
use crate::{
    access::idempotency::Replay,
    caller::CallerKey,
    response::{
        error::{ApiError, ApiResult, Conflict, OrNoSuch},
        request_id::RequestId,
    },
    state::RestState,
};

const NOBODY_IS_CALLED: &str = "the carrier is simulated: nobody is really called";

const UNDISCLOSED: &str = "the agent does not say that an AI speaks, which the EU requires; set its \
                           `platformSettings.disclosure.enabled` to true";

/// Start that a creating request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begin {
    /// The campaign stays a draft.
    Later,
    /// Dial now.
    Now,
    /// Wait for the schedule.
    OnSchedule,
}

impl Begin {
    /// Returns the start that `launch` and `scheduled` ask for. Both at once are refused elsewhere.
    pub fn of(launch: bool, scheduled: bool) -> Self {
        match (launch, scheduled) {
            (true, _) => Self::Now,
            (false, true) => Self::OnSchedule,
            (false, false) => Self::Later,
        }
    }

    /// Returns a 403 if the key may not place the calls.
    pub fn require_scope(self, key: &CallerKey) -> ApiResult<()> {
        match self {
            Self::Later => Ok(()),
            Self::Now | Self::OnSchedule => key.require(Scope::Calls),
        }
    }

    fn command(self, row: &CampaignRow) -> Option<CampaignCommand> {
        match self {
            Self::Later => None,
            Self::Now => Some(CampaignCommand::Launch),
            Self::OnSchedule => Some(CampaignCommand::Schedule(row.schedule.clone())),
        }
    }
}

/// Refuses an agent that could not be launched, before anything is saved.
pub async fn require_ready(state: &RestState, account: AccountId, agent: &Agent) -> ApiResult<()> {
    (state.dialing)(agent).map_err(not_configured)?;
    require_graph(state, account, agent).await
}

/// Refuses an agent that could not talk.
pub async fn require_voice(state: &RestState, account: AccountId, agent: &Agent) -> ApiResult<()> {
    (state.talking)(agent).map_err(not_configured)?;
    require_graph(state, account, agent).await
}

/// Refuses an agent whose conversation graph cannot be used.
async fn require_graph(state: &RestState, account: AccountId, agent: &Agent) -> ApiResult<()> {
    match graph_obstacle(&*state.store, account, agent).await? {
        Some(why) => Err(not_configured(NotReady(why))),
        None => Ok(()),
    }
}

/// Refuses an agent that could not answer in text.
pub async fn require_text(state: &RestState, account: AccountId, agent: &Agent) -> ApiResult<()> {
    (state.texting)(agent).map_err(not_configured)?;
    require_graph(state, account, agent).await
}

fn not_configured(NotReady(missing): NotReady) -> ApiError {
    ApiError::Conflict(Conflict::NotConfigured, missing)
}

/// Returns the warning to show when dialing begins, now or later.
pub fn launch_warning(state: &RestState) -> Option<String> {
    state.carrier_is_simulated.then(|| NOBODY_IS_CALLED.to_owned())
}

/// Returns the warnings about an agent that dials: that it does not say what it is, and its providers' limits.
pub fn agent_warnings(state: &RestState, agent: &Agent) -> Vec<String> {
    let undisclosed = !agent.platform_settings.disclosure.enabled;
    let undisclosed = undisclosed.then(|| UNDISCLOSED.to_owned());
    undisclosed.into_iter().chain((state.limits)(agent)).collect()
}

/// Returns the warnings about the calls of a campaign that begins now or later: whether anybody is called, and those
/// about its agent.
pub async fn launch_warnings(state: &RestState, row: &CampaignRow) -> Vec<String> {
    let of_agent = stored_agent_warnings(state, (row.account, row.agent)).await;
    launch_warning(state).into_iter().chain(of_agent).collect()
}

/// Returns the warnings about a stored agent that dials.
pub async fn stored_agent_warnings(state: &RestState, (account, agent): (AccountId, AgentId)) -> Vec<String> {
    let agent = state.store.agent(account, agent).await.ok();
    let agent = agent.and_then(|agent| agent::complete(&agent.document).ok());
    agent.map(|agent| agent_warnings(state, &agent)).unwrap_or_default()
}

/// Returns the warnings about a campaign that was just launched or scheduled.
pub async fn beginning_warnings(state: &RestState, row: &CampaignRow) -> Vec<String> {
    let mut warnings = launch_warnings(state, row).await;
    warnings.extend(schedule_texts::start_in_past(row));
    warnings
}

/// Joins several warnings into one. Returns `None` if there are none.
pub fn joined(warnings: &[String]) -> Option<String> {
    (!warnings.is_empty()).then(|| warnings.join("; "))
}

/// Launches or schedules the campaign if asked, and answers 201. If that is refused, the campaign stays a
/// draft and the answer has a warning, since the campaign exists. If it is only refused for now and the
/// request has an idempotency key, the answer is an error: the same request sent again with its key completes
/// the launch.
pub async fn answer(
    state: &RestState,
    (row, warning): (CampaignRow, Option<String>),
    begin: Begin,
    has_key: bool,
    request_id: RequestId,
) -> ApiResult<Response> {
    let mut warnings: Vec<String> = warning.into_iter().collect();
    let mut row = row;
    if let Some(order) = begin.command(&row) {
        match command(state, row.account, row.id, order).await {
            Ok(begun) => {
                row = begun;
                warnings.extend(beginning_warnings(state, &row).await);
            }
            Err(error) => {
                // A command that came too late, or a repetition of the same request, may have been carried out.
                row = state.store.campaign(row.account, row.id).await?;
                match is_untouched(&row) {
                    true if has_key && passes(&error) => return Err(to_be_repeated(&row, begin, &error)),
                    true => warnings.push(not_begun(begin, &error)),
                    false => warnings.extend(beginning_warnings(state, &row).await),
                }
            }
        }
    }
    Answer::created(request_id)
        .warning(joined(&warnings))
        .send(state, &row)
        .await
}

/// Returns whether the same command may succeed a moment later, here or at another node.
fn passes(error: &ApiError) -> bool {
    matches!(
        error,
        ApiError::Unavailable(_) | ApiError::Overloaded | ApiError::StorageFull | ApiError::RateLimited(_)
    )
}

fn to_be_repeated(row: &CampaignRow, begin: Begin, error: &ApiError) -> ApiError {
    let (id, why) = (row.id, not_begun(begin, error));
    ApiError::Unavailable(format!(
        "{why}; it is the draft {id}. Send the same request with the same `Idempotency-Key` again: no other campaign is made"
    ))
}

fn not_begun(begin: Begin, error: &ApiError) -> String {
    let what = match begin {
        Begin::OnSchedule => "scheduled",
        Begin::Now | Begin::Later => "launched",
    };
    format!("the campaign was created but not {what}: {}", error.message())
}

/// Answers a repetition of the same request. If the first one died between its commit and its launch, the
/// launch is done now. A campaign that was launched once is not launched again.
pub async fn answer_again(
    state: &RestState,
    account: AccountId,
    replay: &Replay,
    begin: Begin,
    request_id: RequestId,
) -> ApiResult<Response> {
    let row = state.store.campaign(account, replay.id()?).await;
    let row = row.or_no_such("campaign")?;
    let begin = if is_untouched(&row) { begin } else { Begin::Later };
    Ok(replay.mark(answer(state, (row, None), begin, true, request_id).await?))
}

/// Returns whether the campaign's state never changed since it was created.
fn is_untouched(row: &CampaignRow) -> bool {
    row.status == CampaignStatus::Draft && row.version == 1
}
