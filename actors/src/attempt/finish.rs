//! Writes an outcome together with the attempt that follows it. An attempt can be ended by its call, by the
//! line pool (if the call crashed) or by a node (if a dead process left it behind). All of them use this
//! module, so that they plan the next attempt alike.

use chrono_tz::Tz;

use domain::{
    agent,
    id::{AccountId, AgentId, CampaignId},
    ports::{
        Ports,
        store::{
            CallDirection, CampaignRow, Claim, ClaimedAttempt, NextAttempt, Outcome, StoreError, StoreResult, Tries,
        },
    },
    retry::{CallBackWish, RetryRules, call_back, may_be_called_back, may_be_followed, next_attempt},
};

/// Outcome error of a live call that lost its media when the process that held it died.
pub const MEDIA_LOST: &str = "media-lost";

/// The attempt that ended, and the campaign and contact data needed to plan the next one.
#[derive(Debug, Clone, Copy)]
pub struct Ended {
    /// The claim that proves the attempt is ours.
    pub claim: Claim,
    /// Account that owns the attempt.
    pub account: AccountId,
    /// Agent that held the call.
    pub agent: AgentId,
    /// Campaign of the attempt. `None` for a single call, to which only the agent's retry rules apply.
    pub campaign: Option<CampaignId>,
    /// Position among the attempts for its contact.
    pub tries: Tries,
    /// Direction. No attempt follows an inbound call, since we did not try to reach anybody.
    pub direction: CallDirection,
    /// Call-back that the callee asked for.
    pub call_back: Option<CallBackWish>,
}

impl From<&ClaimedAttempt> for Ended {
    /// Describes an attempt that we dial.
    fn from(attempt: &ClaimedAttempt) -> Self {
        Self {
            claim: attempt.claim,
            account: attempt.account,
            agent: attempt.agent,
            campaign: attempt.campaign,
            tries: attempt.tries,
            direction: CallDirection::Outbound,
            call_back: None,
        }
    }
}

/// Plans the next attempt and writes it with the outcome in one transaction. An outcome that the store
/// refuses must not keep its attempt open, so it is cleaned and written again. Other store errors are
/// returned, and the caller tries again.
pub async fn finish(ports: &Ports, ended: &Ended, outcome: &Outcome) -> StoreResult<()> {
    let next = plan_next(ports, ended, outcome).await?;
    match ports.store.finish(ended.claim, outcome.clone(), next).await {
        Err(StoreError::Refused(error)) => {
            tracing::error!(attempt = %ended.claim.attempt, error, "outcome refused, writing a cleaned copy");
            ports.store.finish(ended.claim, outcome.cleaned(), next).await
        }
        written => written,
    }
}

async fn plan_next(ports: &Ports, ended: &Ended, outcome: &Outcome) -> StoreResult<Option<NextAttempt>> {
    if ended.direction == CallDirection::Inbound {
        return Ok(None);
    }
    let wish = ended.call_back.filter(|_| may_be_called_back(ended.tries, outcome));
    if wish.is_none() && !may_be_followed(outcome) {
        return Ok(None);
    }
    let rules = match ended.campaign {
        None => of_agent(ports, ended.account, ended.agent).await?,
        Some(campaign) => match ports.store.campaign(ended.account, campaign).await {
            Ok(row) => rules(ports, &row).await?,
            // The campaign was removed meanwhile.
            Err(StoreError::NotFound) => return Ok(None),
            Err(error) => return Err(error),
        },
    };
    let now = ports.clock.now();
    let asked_for = wish.and_then(|wish| call_back(&rules, wish, now));
    Ok(asked_for.or_else(|| next_attempt(&rules, ended.tries, outcome, now)))
}

/// Returns the current rules: those of the agent that the campaign has now.
async fn rules(ports: &Ports, row: &CampaignRow) -> StoreResult<RetryRules> {
    let of_agent = of_agent(ports, row.account, row.agent).await?;
    let zone = row.schedule.timezone.as_deref().and_then(|zone| zone.parse().ok());
    Ok(RetryRules {
        follow_up: row.follow_up.clone(),
        schedule: row.attached_schedule(),
        zone: zone.unwrap_or(of_agent.zone),
        ..of_agent
    })
}

/// Returns the retry rules of an agent, without those of a campaign.
async fn of_agent(ports: &Ports, account: AccountId, agent: AgentId) -> StoreResult<RetryRules> {
    let agent = match ports.store.agent(account, agent).await {
        Ok(agent) => agent::complete(&agent.document).ok(),
        Err(StoreError::NotFound | StoreError::Damaged(_)) => None,
        Err(error) => return Err(error),
    };
    let agent = agent.unwrap_or_default();
    let retry = agent.platform_settings.call_retry;
    Ok(RetryRules {
        zone: agent
            .conversation_config
            .agent
            .prompt
            .timezone
            .parse()
            .unwrap_or(Tz::UTC),
        retry_count: retry.retry_count.unwrap_or(0),
        retry_delay_min: retry.retry_delay.unwrap_or(agent::RETRY_DELAY_MIN),
        ..RetryRules::default()
    })
}
