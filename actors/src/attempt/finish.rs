//! Writes an outcome together with the attempt that follows it. Whoever ends an attempt, its call, the line pool for a
//! call that crashed, or a node for what a dead process left behind, does it here, so that all plan alike.

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

/// The outcome's error of a live call whose media were lost with the process that held it.
pub const MEDIA_LOST: &str = "media-lost";

/// The attempt that ended, and what it belongs to.
#[derive(Debug, Clone, Copy)]
pub struct Ended {
    /// Proof that it is ours.
    pub claim: Claim,
    /// Owner.
    pub account: AccountId,
    /// Who dialed.
    pub agent: AgentId,
    /// Its campaign; none for a single call, which only its agent's retries follow.
    pub campaign: Option<CampaignId>,
    /// Where it stands among its contact's attempts.
    pub tries: Tries,
    /// Who began it. Nothing follows a call from outside: nobody was to be reached.
    pub direction: CallDirection,
    /// What the callee asked for.
    pub call_back: Option<CallBackWish>,
}

impl From<&ClaimedAttempt> for Ended {
    /// An attempt that we dial, for when it ends.
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

/// Plans what follows and writes both in one transaction. An outcome that the store never takes as it is must not keep
/// its attempt open: it is written cleaned. The store's errors are for the caller to try again.
pub async fn finish(ports: &Ports, ended: &Ended, outcome: &Outcome) -> StoreResult<()> {
    let next = plan_next(ports, ended, outcome).await?;
    match ports.store.finish(ended.claim, outcome.clone(), next).await {
        Err(StoreError::Refused(error)) => {
            tracing::error!(attempt = %ended.claim.attempt, error, "outcome was refused, and is written without what was odd in it");
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
            // It was removed meanwhile.
            Err(StoreError::NotFound) => return Ok(None),
            Err(error) => return Err(error),
        },
    };
    let now = ports.clock.now();
    let asked_for = wish.and_then(|wish| call_back(&rules, wish, now));
    Ok(asked_for.or_else(|| next_attempt(&rules, ended.tries, outcome, now)))
}

/// The rules as they are now: those of the agent that the campaign has now.
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

/// What an agent says, without a campaign.
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
        retry_delay_min: retry.retry_delay.unwrap_or(0),
        ..RetryRules::default()
    })
}
